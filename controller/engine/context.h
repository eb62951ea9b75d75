/* Shared by all parts of the engine; made by engine.c, lives as long as the engine. */
#ifndef ENGINE_CONTEXT_H
#define ENGINE_CONTEXT_H

#include "base/clock.h"
#include "kube/event.h"
#include "kube/kube_client.h"
#include "net/client.h"
#include "tick/tick.h"

struct engine_context {
    struct loop *loop;
    struct kube_client *kube;
    struct kube_client *mesh; /* for meshed resources (kube/resource.h); may equal kube */
    struct http_client *http;
    struct event_recorder *events; /* NULL in shadow mode, which sends none */
    struct object_cache *cache;
    struct outbox *outbox;
    struct alert_deliveries *alerts;
    struct secrets *secrets;
    struct metric_share *metrics;
    struct template_kept *templates;     /* metric/template.h */
    struct recent_plans *recent_plans;   /* the last plan of each Canary, for debugging */
    struct traces *traces;               /* --otlp-endpoint; NULL without it and in shadow mode */
    struct recent_events *recent_events; /* for the release page; NULL: not recorded */
    struct clock_steps steps;            /* of the wall clock */
    const struct settings *settings;
    const char *event_webhook; /* --event-webhook, NULL if none */
    /* Called before every write: only the leader writes. */
    bool (*may_write)(void *arg);
    void *may_write_arg;
    /*
     * True while this process leads, also while it stops and may no longer write: the events of
     * its writes are still sent. Same argument.
     */
    bool (*may_report)(void *arg);
    /* How long to wait for the first list of a resource before reading an object directly. */
    int64_t list_patience_ms;
    int64_t peer_probe_ms, peer_patience_ms;
    int writes; /* sent and not yet answered */
    /* Called when writes drops to 0. */
    void (*wrote)(void *arg);
};

static inline struct kube_client *context_kube(const struct engine_context *context,
                                               const struct kube_resource *resource)
{
    return resource->meshed ? context->mesh : context->kube;
}

#endif
