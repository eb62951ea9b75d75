/* What every part of the engine works with; made by engine.c, lives as long as the engine. */
#ifndef ENGINE_CONTEXT_H
#define ENGINE_CONTEXT_H

#include "base/clock.h"
#include "kube/client.h"
#include "kube/event.h"
#include "net/client.h"
#include "tick/tick.h"

struct engine_context {
    struct loop *loop;
    struct kube_client *kube;
    struct kube_client *mesh; /* of what is meshed (kube/resource.h); may be the same */
    struct http_client *http;
    struct event_recorder *events; /* NULL: this process observes, and tells nobody */
    struct watchset *watches;
    struct outbox *outbox;
    struct alerts *alerts;
    struct secrets *secrets;
    struct metric_share *metrics;
    struct template_kept *templates; /* metric/template.h */
    struct plans *plans;             /* the last of each Canary, for those who look */
    struct told *told;               /* the last events, for the same; NULL: nobody looks */
    struct clock_steps steps;        /* of the wall clock */
    const struct settings *settings;
    const char *event_webhook; /* --event-webhook, NULL if none */
    /* Asked before every write: a process that is not the leader writes nothing. */
    bool (*may_write)(void *arg);
    void *may_write_arg;
    /* How long the first list of a resource is waited for before an object of it is read. */
    int64_t list_patience_ms;
    int64_t other_look_ms, other_patience_ms;
    int writes; /* sent and not answered yet */
    /* Called when that becomes 0. */
    void (*wrote)(void *arg);
};

static inline struct kube_client *context_kube(const struct engine_context *context,
                                               const struct kube_resource *resource)
{
    return resource->meshed ? context->mesh : context->kube;
}

#endif
