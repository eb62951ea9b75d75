#include "engine/read_one.h"

#include <stdlib.h>

#include "kube/status.h"

struct read_one {
    struct kube_call *call;
    read_done_fn done;
    void *arg;
    bool freed;
};

static void on_object(void *arg, const struct kube_result *result)
{
    struct read_one *read = arg;
    if (!read->freed) {
        if (result->err == ERR_OK)
            read->done(read->arg, ERR_OK, result->body, result->info);
        else if (result->err == ERR_NOT_FOUND)
            read->done(read->arg,
                       kube_status_unserved(result->status, result->body) ? ERR_NOT_FOUND : ERR_OK,
                       NULL, result->info);
        else
            read->done(read->arg, result->err, result->outline ? result->body : NULL, result->info);
    }
    free(read);
}

struct read_one *read_one_start(struct engine_context *context,
                                const struct kube_resource *resource, const char *namespace_,
                                const char *name, const char *query, read_done_fn done, void *arg)
{
    struct read_one *read = heap_alloc(sizeof(*read));
    *read = (struct read_one){.done = done, .arg = arg};
    struct kube_request request = {.verb = name ? KUBE_GET : KUBE_LIST,
                                   .resource = resource,
                                   .namespace_ = resource->cluster_scoped ? NULL : namespace_,
                                   .name = name,
                                   .query = query,
                                   .keeps = true};
    read->call = kube_send(context_kube(context, resource), &request, on_object, read);
    return read;
}

void read_one_free(struct read_one *read)
{
    if (!read)
        return;
    read->freed = true;
    kube_cancel(read->call);
}
