/*
 * The vocabulary of a tick: what the rules know (facts), what they ask for (needs) and what they
 * want done (plan).
 *
 * The engine makes a tick, gives it the canary and the time, and calls decide(). A rule that needs
 * to know something calls need_object(), need_metric() or need_hook(): a known fact comes back
 * (true); an unknown one is recorded and the rule returns VERDICT_NEED_FACTS. The engine fetches
 * every recorded need, puts the facts in with fact_*(), resets the plan and calls decide() again
 * from the top, until nothing is missing. A need that cannot be fetched (the API is down) never
 * reaches the rules: the engine ends the tick, says so, and holds.
 *
 * Everything lives in tick->arena. Nothing here does I/O or reads a clock; trees in facts are never
 * changed: a rule that wants another version of an object makes a copy.
 */
#ifndef TICK_TICK_H
#define TICK_TICK_H

#include "kube/resource.h"
#include "proto/canary.h"

struct http_result;
struct metric_group; /* metric/backend.h */
struct metric_pick;
struct template_budget; /* metric/template.h */
struct template_kept;
struct channel; /* notify/notify.h */

/* flagger.app/v1beta1 canaries: effects on the Canary itself but for its status, which has a kind
 * of effect of its own. */
extern const struct kube_resource tick_canaries;
/* flagger.app/v1alpha1 releaserequests: what a person asks of a release, under the Canary's name. */
extern const struct kube_resource tick_requests;

/* The controller's options that rules read. */
struct settings {
    const char *mesh_provider;                 /* "istio" */
    const char *metrics_server;                /* "http://prometheus:9090" */
    const char *const *selector_labels;        /* NULL-ended: app, name, app.kubernetes.io/name */
    const char *const *include_label_prefixes; /* NULL-ended; "*" is all */
    const char *cluster_name;                  /* "" if none */
    const char *controller; /* the lease of this controller, "NAMESPACE/NAME"; NULL: it has none */
    /* Where the alerts of Canaries without analysis.alerts go; NULL: nowhere. */
    const struct channel *alerts;
    const char
        *canaries_url; /* before NAMESPACE/NAME: where people read of a Canary; NULL: nowhere */
    const char
        *ingress_prefix; /* of annotations of NGINX; NULL or "": nginx.ingress.kubernetes.io */
    const char *ingress_class; /* of the routes of Contour; NULL or "": none */
    bool config_tracking;
    bool no_cross_namespace_refs;
    bool group_queries; /* built-in queries are asked for many workloads at once */
    bool mesh_apart;    /* the mesh has a cluster of its own: what lies there has no owner */
    int64_t min_analysis_interval_ms; /* floor of spec.analysis.interval, 10 s */
};

enum verdict {
    VERDICT_GO,         /* done here, go on to the next rule */
    VERDICT_NEED_FACTS, /* something was asked for: ask again from the top */
    VERDICT_STOP,       /* the plan is complete, this tick goes no further */
};

/* An alert of this Canary that this process has taken over to send. */
struct alert_state {
    const char *key;
    bool done;                    /* it was delivered wherever it could be, or given up */
    const char *trouble;          /* why some channel has not taken it, one sentence; NULL: none */
    const char *const *delivered; /* names of channels that have, NULL-ended */
};

/*
 * Another controller that looks after this Canary as well (decide/act/driver.h): the one that its
 * status names, or from which it was taken over a moment ago.
 */
enum other_state {
    OTHER_UNKNOWN, /* whether it lives is still to be seen; the engine calls again then */
    OTHER_LIVES,
    OTHER_GONE, /* nobody renews its lease, or it looks after this Canary no more */
};
struct other_controller {
    const char *lease; /* "NAMESPACE/NAME"; NULL: there is none */
    enum other_state state;
    const char *trouble; /* why its lease cannot be read: it is taken for living; NULL: it can */
    bool told;           /* that it drives this Canary */
};

/* A write that the API server has refused for good a moment ago, and not for want of a right. */
struct refused_write {
    const char *resource, *name; /* "services", "podinfo-canary" */
    const char *text; /* what the API server said; NULL: none was refused, or it was told */
};

struct tick {
    struct arena *arena;
    int64_t now_ms; /* wall clock */
    /* When the wall clock was last set forward: what was written down before is not as old as it
     * seems. 0: not since this process began. */
    int64_t stepped_at_ms;
    /* What the rules follow: `live`, or what was accepted before it (tick_follow()). */
    const struct canary *canary;
    const struct canary *live; /* as read */
    /* Why the spec as read cannot be read; `live` has the one that was accepted before. NULL: it
     * can. */
    const char *mistake;
    /* Why this Canary must wait for another one that has the same target or Services (NULL: it need
     * not); barred: nothing of what it was accepted with is its own any more. */
    const char *rival;
    bool barred;
    /* Another Canary, "name.namespace", that goes on with the target when this one goes; NULL:
     * none. */
    const char *heir;
    /* As many releases of other Canaries are under way as may be: no further one begins. */
    bool queued;
    struct other_controller other;
    /* This process has written its name into the status already. If it is not there, the CRD in the
     * cluster, Flagger's, has dropped it. */
    bool claimed;
    const struct alert_state *alerts;
    int n_alerts;
    const struct settings *settings;
    const char *provider; /* canary->provider or the settings' */
    /*
     * True when an analysis interval has passed since a plan of this canary last said `stepped`,
     * when none has yet in this process, and always in the idle phases (Initialized, Succeeded,
     * Failed). Watch events wake the rules at any time: change detection and repair run always;
     * gates, checks, weight steps, traffic shifts and the events that repeat while something lasts
     * only when due, so that their cadence is the interval whatever happens around them.
     */
    bool due;
    struct fact *facts;
    struct need *needs;
    struct plan *plan;
    /* The rest of this round's budget for templates; NULL: none was rendered yet. */
    struct template_budget *budget;
    struct template_kept *templates; /* parsed before; NULL: none are kept */
    const char *kind;                /* canary->target.kind, for event texts */
    const char *broken;              /* see tick_broken(); NULL: all is well */
    /* A rule has asked in this round for what nobody lets us read, or the last run could not write for
     * the same reason: what the API server said. NULL: neither. The rest of the plan counts for
     * nothing then (decide/act/denied.h). */
    const char *denied, *unwritable;
    struct refused_write refused_write; /* the last run ended with (decide/act/refused_write.h) */
};

/* canary and settings must outlive the tick; the plan starts empty. Lives in the arena. */
struct tick *tick_new(struct arena *arena, const struct canary *canary,
                      const struct settings *settings, int64_t now_ms, bool due);
/* The Canary as it was read now, in place of what the tick knew of it; the facts stay. */
void tick_see(struct tick *tick, const struct canary *canary);
/* Empties needs and plan, keeps facts, and follows `live` again: before each further decide(). */
void tick_reset(struct tick *tick);
/* From now on the tick is about this view of the same Canary, which must outlive it. */
void tick_follow(struct tick *tick, const struct canary *canary);
/*
 * Something that a rule relies on does not hold. Rules have no assert(): one bad state must not end
 * the process for all Canaries. What was decided is not carried out; the engine tells it as an
 * error of this Canary and tries again later. The first sentence stays. Returns VERDICT_STOP.
 */
enum verdict tick_broken(struct tick *tick, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* How often a Canary is looked at: analysis.interval, not below the settings' floor; the floor
 * itself when it is being deleted, for a person waits. */
int64_t tick_canary_interval_ms(const struct canary *canary, const struct settings *settings);
int64_t tick_interval_ms(const struct tick *tick);

/* --- facts */

/* The live object, or *out NULL when it does not exist. Of a cluster-scoped one the namespace does not
 * count. One that may not be read stays unknown, and ends the tick. */
bool need_object(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                 const char *name, struct json_object **out);

/* ... that a person has named: when its watch does not show it, it is read before it is said not to
 * exist, for somebody may have made it a moment ago. */
bool need_object_surely(struct tick *tick, const struct kube_resource *resource,
                        const char *namespace_, const char *name, struct json_object **out);

/* A namespaced object that is gone, as the watch last showed it; NULL: this process has not seen it.
 */
bool need_last_seen(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                    const char *name, struct json_object **out);
/* ... of a namespaced resource that the tick can do without: *denied says why it may not be read,
 * *out is NULL then; NULL: it may. */
bool need_object_if_allowed(struct tick *tick, const struct kube_resource *resource,
                            const char *namespace_, const char *name, struct json_object **out,
                            const char **denied);

/* ... of any resource, which is read at each tick that asks and not watched: for what is asked for seldom,
 * and may be there or not. */
bool need_object_once(struct tick *tick, const struct kube_resource *resource,
                      const char *namespace_, const char *name, struct json_object **out,
                      const char **denied);

/*
 * ... which does not exist where its resource is not served, or may not be watched: nobody reads
 * it then, so that it costs no request but those of the watch, one for all Canaries.
 */
bool need_object_if_watched(struct tick *tick, const struct kube_resource *resource,
                            const char *namespace_, const char *name, struct json_object **out);

/*
 * All objects of a namespace: an array, NULL for none. It is read from the API server at each tick
 * that asks, so it is for what happens once; and it wakes nobody: what of it matters is asked for
 * by its name as well.
 */
bool need_objects(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  struct json_object **out);
/* ... which the tick can do without, as above. */
bool need_objects_if_allowed(struct tick *tick, const struct kube_resource *resource,
                             const char *namespace_, struct json_object **out, const char **denied);

/* ... those with all of these labels (a map of texts); others may be among them. None where they may
 * not be read. */
bool need_selected(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                   struct json_object *labels, struct json_object **out);

/*
 * The objects of the resource, an autoscaler's, that scale this workload: an array, NULL for none. At
 * least the name and the scaleTargetRef of each are in it, and others may be, of another
 * scaleTargetRef. It costs no request but those of the watch, and one that comes, goes, or scales
 * another workload is news. None where the resource is not served, or may not be watched.
 */
bool need_scalers(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  const char *kind, const char *name, struct json_object **out);

/* The objects of the resource that this Canary controls and that are called NAME-primary: as above, at
 * least their names, and others may be among them. */
bool need_copies(struct tick *tick, const struct kube_resource *resource, struct json_object **out);

/* The workloads of the resource whose selector has this label, with a value that ends in "-primary":
 * as above, at least their names, and others may be among them. */
#define TICK_LABELLED "Pods" /* stands for the kind in such a need */
bool need_labelled(struct tick *tick, const struct kube_resource *resource, const char *key,
                   const char *value, struct json_object **out);

/* An object of the resource was asked for in this tick, and the API server does not serve it: its
 * CRD is missing, or not served in this version. To the rules such an object does not exist. */
bool tick_is_unserved(const struct tick *tick, const struct kube_resource *resource);

/*
 * The value of a metric. `backend` is the provider type (metric/backend.h), the rest is what its
 * request is made of. An answer belongs to all of it: a question that differs in anything is
 * another one.
 */
struct metric_question {
    const char *id;             /* who asks, for people: "metrics[0]", "probe[0]" */
    const char *owner;          /* the namespace that it is asked for, NULL: several */
    const char *backend;        /* "prometheus" */
    const char *address;        /* base URL */
    const char *query;          /* rendered; NULL: does the backend answer at all (its probe)? */
    int64_t interval_ms;        /* CANARY_UNSET if none */
    struct json_object *spec;   /* MetricTemplate's spec.provider, NULL for other metrics */
    struct json_object *secret; /* the Secret object, NULL if none */
    /* What the process itself has been given, by variable (metric/backend.h); the engine sets it. NULL: the
     * Secret has the credentials, or the backend knows no others. */
    struct json_object *ambient;
    const char *ca_pem; /* the only certificates to believe, of caSecretRef; NULL: none */
    /* The only namespace of which it may read objects with the rights of the controller; NULL: of any. */
    const char *only_namespace;
    int64_t at_s;  /* prometheus: evaluated at this Unix time; 0: when it arrives */
    double bucket; /* prometheus: of series by `le`, the one with the least bound that is not below
                    * this one, which the answer's note says; 0: no such choice */
    /* How it may be asked for many workloads in one query; NULL: it may not. */
    const struct metric_group *group;
    /* Of such a query: whose answers are wanted; they are written there. */
    struct metric_pick *picks;
    int n_picks;
};
enum metric_outcome { METRIC_VALUE, METRIC_NO_VALUES, METRIC_ERROR };
struct metric_answer {
    enum metric_outcome outcome;
    double value;
    const char *text; /* NO_VALUES and ERROR: one sentence */
    const char *note; /* for people: what there was to choose from, "NaN"; NULL: nothing to say */
    int64_t at_ms;    /* the time that the value is of; 0: it has none */
    int64_t retry_ms; /* ERROR: not to be asked again for so long; 0: it does not say */
    /* ERROR: as all is configured, no answer can come: no such host, no connection, TLS, 401, 403. It says
     * nothing of a revision. */
    bool unreachable;
};
bool need_metric(struct tick *tick, const struct metric_question *question,
                 const struct metric_answer **out);

/* What a webhook of the canary said. Asked alone and in order, and sent at most once a tick about
 * the same revision. */
struct hook_answer {
    bool passed;      /* 2xx up to 202, or 204 (proto/COMPATIBILITY.md) */
    const char *text; /* the response body (cut), or why there was none */
    bool unasked;     /* nothing was sent: a Secret of it is missing or wrong, see text */
};
/* checksum: of the revision that it is asked about. */
bool need_hook(struct tick *tick, int webhook_index, enum phase phase, const char *checksum,
               const struct hook_answer **out);

/* What this webhook has answered in this tick, whatever it was asked about; NULL: nothing. */
const struct hook_answer *tick_hook_answer(const struct tick *tick, int webhook_index);

/* --- what the engine does with needs */

enum need_kind { NEED_OBJECT, NEED_METRIC, NEED_HOOK };
struct need {
    struct need *next;
    enum need_kind kind;
    const char *key;                      /* unique per fact */
    const struct kube_resource *resource; /* OBJECT */
    const char *namespace_, *name;        /* name NULL: a list of all */
    /* Of a list: "Deployment/podinfo", what its objects scale, or "Canary/podinfo", what controls them;
     * NULL: of all. */
    const char *scales;
    const char *query; /* of a list: of which objects, as the request says it; NULL: of all */
    bool surely;       /* to be read, whatever its watch shows */
    bool watched;      /* ... only what the watch shows */
    bool last;         /* ... as it was before it was deleted */
    struct metric_question metric; /* METRIC */
    int webhook;                   /* HOOK */
    enum phase phase;
    const char *checksum;
};
/* The tree is borrowed and must live as long as the tick; NULL: it does not exist. Of a list, the
 * object that has the items. */
void fact_object(struct tick *tick, const struct need *need, struct json_object *object);
/* ... its watch does not show it. */
void fact_unseen(struct tick *tick, const struct need *need);
/* ... it does not exist, for the API server does not serve its resource. */
void fact_unserved(struct tick *tick, const struct need *need);
/* ... nobody may read it. The sentence is copied. */
void fact_denied(struct tick *tick, const struct need *need, const char *sentence);
void fact_metric(struct tick *tick, const struct need *need, struct metric_answer answer);
void fact_hook(struct tick *tick, const struct need *need, struct hook_answer answer);
/* A rule has asked for the object; the key is its need's. */
bool fact_is_used(const struct tick *tick, const char *key);
/* The object is so from now on, whatever was read of it. */
void fact_replace(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  const char *name, struct json_object *object);
/* Forgets the facts of a kind: objects after a conflict, while metrics and hooks stay, so that
 * nothing is sent twice. */
void facts_forget(struct tick *tick, enum need_kind kind);

/* --- the plan */

enum effect_kind {
    EFFECT_CREATE, /* resource, namespace, body */
    EFFECT_PATCH,  /* resource, namespace, name, body: an RFC 7386 patch, with
                    * metadata.resourceVersion in it when  the rule relied on what it read */
    EFFECT_DELETE, /* resource, namespace, name; body: DeleteOptions or NULL. Already gone is fine.
                    */
    EFFECT_STATUS, /* body: {"status": ...}, a patch of the Canary's status subresource, with the
                    * resourceVersion that the rules have seen */
    EFFECT_EVENT,  /* event_type, text, phase: a Kubernetes Event, a log line and the event webhooks
                    */
    EFFECT_ALERT,  /* severity, text, reason, with_metadata, key, delivered */
    EFFECT_WEIGHTS, /* gauges: primary_weight, canary_weight */
    EFFECT_METRIC, /* gauges: the analysed value and its bounds: text is the metric's name, value */
    EFFECT_OUTCOME, /* counters: text is "completed" or "skipped"; success says which */
    EFFECT_HOOK, /* an informing hook (post-rollout): webhook, phase; failure is a Warning event */
};

struct effect {
    struct effect *next;
    enum effect_kind kind;
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object *body;
    struct json_object *read; /* of a patch: what the rules have read; NULL: an earlier effect of
                                 this plan has changed it since */
    const char *event_type;   /* "Normal", "Warning" */
    const char *severity;     /* "info", "warn", "error" */
    const char *text;
    /* Of an alert: why, for people, where the text does not say it; NULL: it does. */
    const char *reason;
    const char *key;               /* of an alert: the same when it is told once more */
    struct json_object *delivered; /* names of the channels that have taken it before; or NULL */
    const char *why; /* what a write is for, "weights 90/10": for logs and golden cases; NULL: see
                        the body */
    bool with_metadata;
    bool success;
    int webhook;
    int primary_weight, canary_weight;
    double value;
    bool has_min, has_max;
    double min, max;
    enum phase phase; /* what an event or hook payload says */
};

/* When decide() wants to be called again without any event. */
enum again {
    AGAIN_NEVER,    /* only when something it depends on changes */
    AGAIN_INTERVAL, /* one analysis interval after this tick began */
    AGAIN_NOW,      /* as soon as the effects are done, on what was written; after ten in a row
                     * the engine waits for the interval: something then undoes what the rules
                     * write */
};

/*
 * The effect was carried out and has left its object at this version: later effects of the plan on
 * the same object count on that one, and no more on what the rules have read.
 */
void effect_done(struct effect *effect, const char *version);
/* It writes an object, other than the status of the Canary. */
bool effect_writes(const struct effect *effect);

/* Writes stand before what only tells of them (events, alerts, gauges, counters, informing hooks):
 * a write that fails leaves nothing told that did not happen, and a retry tells nothing twice. */
struct plan {
    struct effect *first, **last;
    int count;
    enum again again;
    int64_t wake_ms; /* and at the latest after so long; 0: as `again` says */
    bool stepped;    /* a gate, check, weight step or shift ran: the interval starts anew */
    /* A rule asked what an object's status says: another answer may be another plan. */
    bool reads_status;
    bool waits; /* a step was due and waits, the event says for what */
    bool held;  /* by what the API server denies: tried again as after a failure */
    /* For whoever counts the releases under way: a new revision waits for its turn (struct tick's
     * `queued`); one is being released, although the phase does not say so yet. */
    bool queues, begins;
    bool claims; /* it writes into the status that this controller drives the Canary */
};

void plan_create(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                 struct json_object *body);
/* Patch that turns `from` (as read; its resourceVersion becomes the precondition) into `to`;
 * nothing when equal. Returns true when an effect was planned. */
bool plan_update(struct tick *tick, const struct kube_resource *resource, struct json_object *from,
                 struct json_object *to);
/* For what no patch may change (an immutable field): deletes `from`, just as it was read, and
 * creates `to` in its place. */
void plan_replace(struct tick *tick, const struct kube_resource *resource, struct json_object *from,
                  struct json_object *to);
/* Deletes this very object, and none that has taken its name since. */
void plan_delete(struct tick *tick, const struct kube_resource *resource, struct json_object *live);
void plan_status(struct tick *tick, struct json_object *patch);
void plan_event(struct tick *tick, const char *type, enum phase phase, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Returns the effect; the rules give it its key when the plan is whole (decide/act/alerts.h). */
struct effect *plan_alert(struct tick *tick, const char *severity, bool with_metadata,
                          const char *fmt, ...) PRINTF_LIKE(4, 5);
void plan_weights(struct tick *tick, int primary, int canary);
/* Returns the effect, for its bounds. */
struct effect *plan_metric(struct tick *tick, const char *metric, double value);
void plan_outcome(struct tick *tick, bool success, const char *how);
void plan_hook(struct tick *tick, int webhook_index, enum phase phase);
/* The plan creates, patches or deletes this object. */
bool plan_writes(const struct tick *tick, const struct kube_resource *resource,
                 const char *namespace_, const char *name);
/* Says what the last effect of the plan is for (effect->why). */
void plan_why(struct tick *tick, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * VERDICT_STOP, with a Warning event of the text when due (its phase is the canary's; the plan has
 * then stepped, so that a state that lasts is told of once an interval).
 */
enum verdict plan_stop(struct tick *tick, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * The plan as text, one line per effect and a last line `again interval, stepped`: for golden
 * cases, dry runs and debug logs. Owned by the arena.
 */
const char *plan_print(struct tick *tick);
/*
 * What the plan does, a line per effect, for people who may not see what objects hold: no bodies,
 * no texts of events and alerts (a webhook's answer may stand in one). Gauges are left out; NULL
 * when nothing else is in it. At most `max` bytes, whole lines and a last one "...". Owned by the
 * arena.
 */
const char *plan_outline(const struct tick *tick, size_t max);

#endif
