#include "members/ask.h"

#include <stdlib.h>

struct ask {
    LIST_ENTRY(ask) link;
    struct members_context *context; /* NULL: it is gone */
    struct kube_call *call;
    kube_done_fn done;
    void *arg;
    bool writes, freed;
};

static void on_done(void *arg, const struct kube_result *result)
{
    struct ask *ask = arg;
    struct members_context *context = ask->context;
    bool writes = ask->writes;

    if (context)
        LIST_REMOVE(ask, link);
    if (!ask->freed)
        ask->done(ask->arg, result);
    free(ask);
    if (context && writes && --context->writes == 0)
        context->wrote(context->may_write_arg);
}

struct ask *ask_start(struct members_context *context, struct kube_client *kube,
                      const struct kube_request *request, kube_done_fn done, void *arg)
{
    struct ask *ask = heap_alloc(sizeof(*ask));
    struct kube_request own = *request;

    *ask = (struct ask){.context = context,
                        .done = done,
                        .arg = arg,
                        .writes = request->verb != KUBE_GET && request->verb != KUBE_LIST};
    LIST_INSERT_HEAD(&context->asks, ask, link);
    if (ask->writes) {
        context->writes++;
        own.may_send = context->may_write;
        own.may_send_arg = context->may_write_arg;
    }
    ask->call = kube_send(kube, &own, on_done, ask);
    return ask;
}

void ask_free(struct ask *ask)
{
    if (!ask)
        return;
    ask->freed = true;
    kube_cancel(ask->call);
}

void ask_end_all(struct members_context *context)
{
    struct ask *ask;

    while ((ask = LIST_FIRST(&context->asks))) {
        LIST_REMOVE(ask, link);
        ask->context = NULL;
        ask_free(ask);
    }
}
