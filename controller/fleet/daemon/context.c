#include "fleet/daemon/context.h"

#include <stdlib.h>

struct tracked_request {
    LIST_ENTRY(tracked_request) link;
    struct members_context *context; /* NULL after tracked_end_all() */
    struct kube_call *call;
    kube_done_fn done;
    void *arg;
    bool writes, freed;
};

static void on_done(void *arg, const struct kube_result *result)
{
    struct tracked_request *tracked = arg;
    struct members_context *context = tracked->context;
    bool writes = tracked->writes;

    if (context)
        LIST_REMOVE(tracked, link);
    if (!tracked->freed)
        tracked->done(tracked->arg, result);
    free(tracked);
    if (context && writes && --context->writes == 0)
        context->wrote(context->may_write_arg);
}

struct tracked_request *tracked_send(struct members_context *context, struct kube_client *kube,
                                     const struct kube_request *request, kube_done_fn done,
                                     void *arg)
{
    struct tracked_request *tracked = heap_alloc(sizeof(*tracked));
    struct kube_request own = *request;

    *tracked =
        (struct tracked_request){.context = context,
                                 .done = done,
                                 .arg = arg,
                                 .writes = request->verb != KUBE_GET && request->verb != KUBE_LIST};
    LIST_INSERT_HEAD(&context->requests, tracked, link);
    if (tracked->writes) {
        context->writes++;
        own.may_send = context->may_write;
        own.may_send_arg = context->may_write_arg;
    }
    tracked->call = kube_send(kube, &own, on_done, tracked);
    return tracked;
}

void tracked_free(struct tracked_request *tracked)
{
    if (!tracked)
        return;
    tracked->freed = true;
    kube_cancel(tracked->call);
}

void tracked_end_all(struct members_context *context)
{
    struct tracked_request *tracked;

    while ((tracked = LIST_FIRST(&context->requests))) {
        LIST_REMOVE(tracked, link);
        tracked->context = NULL;
        tracked_free(tracked);
    }
}
