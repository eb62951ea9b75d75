/*
 * The plan of a tick: the effects that the rules want, in order, and the time of the next call of
 * the rules. Rules add effects with plan_*(); the engine carries them out one by one. Everything
 * lives in the arena of the tick.
 */
#ifndef TICK_PLAN_H
#define TICK_PLAN_H

#include "tick/tick.h"

enum effect_kind {
    EFFECT_CREATE, /* resource, namespace, body */
    /* resource, namespace, body: an RFC 7386 patch, with metadata.resourceVersion if the rule
     * relied on the object as read */
    EFFECT_PATCH,
    /* resource, namespace, name; body: DeleteOptions or NULL. An absent object is not an error. */
    EFFECT_DELETE,
    /* body: {"status": ...}, a patch of the Canary's status subresource, with the resourceVersion
     * that the rules read */
    EFFECT_STATUS,
    /* event_type, text, phase: a Kubernetes Event, a log line and the event webhooks */
    EFFECT_EVENT,
    EFFECT_ALERT,   /* severity, text, reason, with_metadata, key, delivered */
    EFFECT_WEIGHTS, /* metrics: primary_weight, canary_weight */
    EFFECT_METRIC,  /* metrics: text is the metric's name, value the analysed one; its bounds */
    EFFECT_OUTCOME, /* counters: text is "completed" or "skipped"; success: false for a failure */
    /* an informing hook (post-rollout): webhook, phase; a failure is a Warning event */
    EFFECT_HOOK,
};

struct effect {
    struct effect *next;
    enum effect_kind kind;
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object *body;
    /* For a patch: the object as read; NULL if an earlier effect of this plan has changed it. */
    struct json_object *read;
    const char *event_type; /* "Normal", "Warning" */
    const char *severity;   /* "info", "warn", "error" */
    const char *text;
    /* For an alert: the reason, for its readers, unless the text has it; otherwise NULL. */
    const char *reason;
    const char *key; /* for an alert: stays the same when the alert is repeated */
    /* For an alert about a change of the serving version: the name of the change (notify/notify.h),
     * the image that serves after it, and the time; NULL for other alerts. */
    const char *change, *image, *at;
    struct json_object *delivered; /* names of channels that have already accepted it; or NULL */
    /* Purpose of a write, "weights 90/10": for logs and golden cases; NULL if the body shows it. */
    const char *why;
    bool with_metadata;
    bool success;
    int webhook;
    int primary_weight, canary_weight; /* proto/weight.h */
    double value;
    bool has_min, has_max;
    double min, max;
    enum phase phase; /* phase in the event or hook payload */
};

/* When to call decide() again without an event. */
enum requeue {
    REQUEUE_NEVER,    /* only when a dependency changes */
    REQUEUE_INTERVAL, /* one analysis interval after this tick began */
    REQUEUE_NOW, /* as soon as the effects are done, on the written state; after ten in a row the engine waits for the interval: something then undoes the writes */
};

/*
 * The effect was applied and left its object at this version: later effects of the plan on the
 * same object test that version instead of the one read.
 */
void effect_done(struct effect *effect, const char *version);
/* True if it writes an object other than the status of the Canary. */
bool effect_writes(const struct effect *effect);

/*
 * Writes precede their notifications (events, alerts, metrics, informing hooks), so a failed write
 * is never announced and a retry never announces twice.
 */
struct plan {
    struct effect *first, **last;
    int count;
    enum requeue requeue;
    int64_t wake_ms; /* call again no later than this time; 0: as `again` says */
    bool stepped;    /* a gate, check, weight step or shift ran: the interval restarts */
    /* A rule has read the status of an object: a change may change the plan. */
    bool reads_status;
    bool waits;          /* a due step waits, with an event or for the time in its spec */
    const char *blocked; /* why routes cannot be made or written (plan_block()); or NULL */
    bool held;           /* by missing permissions: retried like a failure */
    /*
     * For the limit of concurrent releases: a new revision waits for its slot (struct tick's
     * `queued`); a release is under way although the phase does not show it yet.
     */
    bool queues, begins;
    const char *change; /* of the serving version, reported by the last alert; NULL if none */
    bool claims;        /* writes our name into the status as the driving controller */
};

void plan_create(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                 struct json_object *body);
/*
 * Patch that turns `from` (as read; its resourceVersion is the precondition) into `to`; plans
 * nothing if they are equal. Returns true if an effect was planned.
 */
bool plan_update(struct tick *tick, const struct kube_resource *resource, struct json_object *from,
                 struct json_object *to);
/*
 * For changes that no patch can make (an immutable field): deletes `from`, exactly as read, and
 * creates `to` instead.
 */
void plan_replace(struct tick *tick, const struct kube_resource *resource, struct json_object *from,
                  struct json_object *to);
/* Deletes exactly this object, not a later one of the same name. */
void plan_delete(struct tick *tick, const struct kube_resource *resource, struct json_object *live);
void plan_status(struct tick *tick, struct json_object *patch);
void plan_event(struct tick *tick, const char *type, enum phase phase, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Returns the effect; the rules set its key when the plan is complete (decide/alerts.h). */
struct effect *plan_alert(struct tick *tick, const char *severity, bool with_metadata,
                          const char *fmt, ...) PRINTF_LIKE(4, 5);
void plan_weights(struct tick *tick, int primary, int canary);
/* Returns the effect, for its bounds. */
struct effect *plan_metric(struct tick *tick, const char *metric, double value);
void plan_outcome(struct tick *tick, bool success, const char *how);
void plan_hook(struct tick *tick, int webhook_index, enum phase phase);
/* True if the plan creates, patches or deletes this object. */
bool plan_writes(const struct tick *tick, const struct kube_resource *resource,
                 const char *namespace_, const char *name);
/* Sets the purpose of the last effect of the plan (effect->why). */
void plan_why(struct tick *tick, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * RULE_DONE, with a Warning event when due (with the Canary's phase; the plan has then stepped,
 * so that a lasting state is reported once an interval).
 */
enum rule_result plan_stop(struct tick *tick, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* plan_stop() for routers: an object maintained by users is missing or wrong, and no route can be
 * made or written until it is corrected. The condition RoutesSettled says so. */
enum rule_result plan_block(struct tick *tick, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * The plan as text, one line per effect and a last line `again interval, stepped`: for golden
 * cases, dry runs and debug logs. Owned by the arena.
 */
const char *plan_print(struct tick *tick);
/*
 * An outline of the plan, a line per effect, for readers without permission to see object contents:
 * no bodies, no texts of events and alerts (they may quote a webhook). Metrics are left out; NULL
 * if that leaves nothing. At most `max` bytes, whole lines and a last one "...". Owned by the
 * arena.
 */
const char *plan_outline(const struct tick *tick, size_t max);

#endif
