/*
 * The Canary view: a Canary object as the rules read it.
 *
 * canary_view() reads a tree once, strictly, into plain structs that live in the arena and borrow
 * strings from the tree; nothing is ever written back from them. Both spellings are read:
 * spec.analysis and v1alpha3's spec.canaryAnalysis (analysis wins where both are there),
 * thresholdRange and threshold. Defaults of controller/decide/RULES.md §2 are applied where a field
 * says so. Absent optional numbers are CANARY_UNSET.
 */
#ifndef PROTO_CANARY_H
#define PROTO_CANARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "proto/phase.h"

enum { CANARY_UNSET = -1 };

struct canary_ref {
    const char *api_version; /* may be "" where the CRD does not ask for it */
    const char *kind;
    const char *name;
    const char *namespace_; /* NULL: the Canary's own */
};

/* spec.service: what is needed by name; routers read the rest from `json`. */
struct canary_service {
    struct json_object *json;        /* spec.service, NULL if there is none */
    const char *name;                /* apex; default targetRef.name */
    const char *primary_name;        /* "{name}-primary" */
    const char *canary_name;         /* "{name}-canary" */
    int port;                        /* 0 if none */
    const char *port_name;           /* default "http" */
    struct json_object *target_port; /* int or string; NULL: port */
    const char *app_protocol;        /* NULL if none */
    bool port_discovery;
    bool headless;
    const char *traffic_distribution;            /* NULL if none */
    struct json_object *apex, *primary, *canary; /* {labels, annotations} or NULL */
    const char **unmanaged_labels;      /* keys of unmanagedMetadata: NULL-ended, never NULL */
    const char **unmanaged_annotations; /* the same */
    struct json_object *gateway_refs;   /* array or NULL */
    struct json_object *hosts;          /* array or NULL */
};

/* What a metric that says nothing, or a metric server that fails, means for the step. */
enum canary_policy {
    POLICY_FAIL, /* a failed check, as in Flagger */
    POLICY_HOLD, /* the step waits, at most spec.progressDeadlineSeconds; then as above */
    POLICY_PASS, /* nothing */
    POLICY_WAIT, /* the step waits, however long */
};

/* By how much the canary may be worse than the primary: bad requests are at most
 * (1 + ratio) * the primary's share of them + points. Shares: 0.002 is 0.2 %. */
struct canary_tolerance {
    double ratio, points;
};

/* When the evidence is not enough for a step after judge.max_wait_ms. */
enum canary_inconclusive {
    INCONCLUSIVE_WAIT,     /* the step waits on */
    INCONCLUSIVE_PROMOTE,  /* it is made, with a warning */
    INCONCLUSIVE_ROLLBACK, /* the release is rolled back */
};

/* spec.analysis.judge: the canary is compared with the primary (controller/judge). */
struct canary_judge {
    bool given;                                  /* nothing else is set without it */
    double false_alarm_rate;                     /* of a release, above 0, 0.01 */
    struct canary_tolerance error_rate, latency; /* none */
    int64_t every_ms;                            /* whole seconds, at least 5 s; 10 s */
    int64_t min_requests; /* of the canary at a step, enough without a verdict; 100 */
    int64_t max_wait_ms;  /* that a step waits for evidence; 10 min */
    int64_t warm_up_ms;   /* that pods must be ready before they count; 10 s */
    enum canary_inconclusive on_inconclusive; /* WAIT */
};

/* spec.analysis.metrics[].judge */
struct canary_metric_judge {
    bool given;
    bool off; /* it is compared with its thresholds alone */
    bool has_tolerance;
    struct canary_tolerance tolerate;
};

struct canary_metric {
    const char *name;
    int64_t interval_ms;  /* CANARY_UNSET: none given ("1m" for builtin and inline metrics is the
                             metric's rule) */
    const char *interval; /* as written, NULL if none */
    const char *query;    /* inline PromQL or NULL */
    struct canary_ref template_ref; /* name NULL: none */
    struct json_object *variables;  /* templateVariables or NULL */
    bool has_threshold;             /* `threshold` is given */
    double threshold;
    bool has_range;        /* thresholdRange is given, and then `threshold` says nothing */
    bool has_min, has_max; /* of thresholdRange */
    double min, max;
    enum canary_policy no_data; /* FAIL */
    struct canary_metric_judge judge;
};
/* request-success-rate; request-duration; one of them, whose query is the router's. */
bool canary_metric_is_success_rate(const struct canary_metric *metric);
bool canary_metric_is_duration(const struct canary_metric *metric);
bool canary_metric_is_builtin(const struct canary_metric *metric);

/* The empty type is HOOK_ROLLOUT. */
enum hook_type {
#define HOOK_TYPE(id, name, gate) HOOK_##id,
#include "proto/hook_type.def"
#undef HOOK_TYPE
};
/* "confirm-rollout" and so on. */
const char *hook_type_name(enum hook_type type);
/* False: no type has this name. NULL and "" are HOOK_ROLLOUT. */
bool hook_type_find(const char *name, enum hook_type *out);
/* The release waits until such a hook says yes. */
bool hook_type_is_gate(enum hook_type type);

/* The longest that a call may take; of hooks that only inform (event, post-rollout). */
enum { HOOK_MAX_MS = 3600 * 1000, HOOK_INFORMING_MAX_MS = 300 * 1000 };
int64_t hook_type_max_ms(enum hook_type type);

struct canary_webhook {
    enum hook_type type;
    const char *name;
    const char *url;
    struct json_object *metadata; /* object or NULL */
    int64_t timeout_ms;           /* above 0; 10 s when missing or shorter than two characters */
    int64_t longer_ms; /* that the spec asks for, above the longest that it may be; 0: it is not */
    int retries;       /* 0 */
    bool mute_alert;
    bool disable_tls;          /* no certificate verification */
    int64_t deadline_ms;       /* of a confirm hook, above 0; 0: none */
    bool approve_at_deadline;  /* and then the release goes on instead of being rolled back */
    const char **headers_from; /* n_headers_from Secrets of the Canary's namespace */
    int n_headers_from;
    const char *ca_secret; /* of the Canary's namespace: whom to believe; NULL: none */
    const char *ca_key;    /* its key, NULL: ca.crt */
};

struct canary_alert {
    const char *name;
    const char *severity; /* "info" (also when none is given), "warn", "error" */
    struct canary_ref provider;
};

/* spec.analysis.sessionAffinity; cookie_name is NULL when there is none. */
struct canary_affinity {
    const char *cookie_name;
    const char *primary_cookie_name; /* NULL: clients of the primary are not held */
    int64_t max_age_s;               /* of the canary's cookie, 86400 */
    const char *domain, *path;       /* attributes of both, NULL if none */
    const char *same_site;           /* "Strict", "Lax", "None" or NULL */
    bool secure, http_only, partitioned;
};

struct canary_analysis {
    struct json_object *json; /* NULL: no analysis at all, which means skipAnalysis */
    int64_t interval_ms;      /* 60 s when absent; the floor is the caller's */
    int iterations;           /* 0 */
    int threshold;            /* failed checks; at least 1 */
    bool mirror;
    int mirror_weight;    /* 0 */
    int max_weight;       /* effective: 1..100, controller/decide/RULES.md §2 */
    int max_weight_given; /* as written, 0 if none */
    int step_weight;      /* 0 if none */
    int *step_weights;    /* n_step_weights of them */
    int n_step_weights;
    int step_weight_promotion;
    int primary_ready_threshold; /* percent, 100 */
    int canary_ready_threshold;  /* percent, 100 */
    bool waits_for_primary;      /* also one without a ready pod, for however long; false */
    bool finishes;               /* another revision waits until the release has ended; false */
    bool any_capacity;           /* a share may grow whatever pods the canary has; false */
    int matched_share;           /* percent of the requests that `match` may name, 100 */
    struct json_object *match;   /* non-empty array or NULL */
    struct canary_affinity affinity;
    struct canary_metric *metrics;
    int n_metrics;
    enum canary_policy on_metric_error; /* FAIL or HOLD; FAIL */
    enum canary_policy on_no_requests;  /* of the canary, before it is promoted; HOLD */
    enum canary_policy on_unreachable;  /* WAIT, or as onMetricError says */
    struct canary_judge judge;
    struct canary_webhook *webhooks;
    int n_webhooks;
    struct canary_alert *alerts;
    int n_alerts;
    bool legacy; /* read from spec.canaryAnalysis */
};

struct canary_status {
    enum phase phase;
    int canary_weight;
    int failed_checks;
    int iterations;
    const char *last_applied_spec;       /* "" if none */
    const char *last_promoted_spec;      /* "" if none */
    struct json_object *tracked_configs; /* NULL: nil */
    const char *last_transition_time;
    /* cookies of session affinity as "NAME=VALUE", NULL if none */
    const char *affinity_cookie, *primary_affinity_cookie, *previous_affinity_cookie;
    /* What the routes are made by, and for. Flagger drops both: NULL tells that it wrote the status
     * last, and that the hashes are those of its version. */
    const char *provider;
    const char *service_name;
    /* What a wait speaks of; Flagger's CRD drops these as well. */
    int capacity_replicas;         /* asked of the primary before it takes all traffic; 0: none */
    const char *capacity_revision; /* which waits for that to begin; NULL: none */
    /* What the canary was asked for before its share grows, what its target had before that, and the
     * pods that all traffic needed; 0: none. */
    int share_replicas, share_own, share_total;
    const char *gate_revision; /* which waits at the first gate; NULL: none */
    bool serves_everything;    /* the canary, and not only what an A/B test matches */
    /* The lease of the controller that drives it, "NAMESPACE/NAME"; NULL: of none. */
    const char *controller;
    /* The last spec that was acted on, as it was read. Flagger drops it as well; NULL: none. */
    struct json_object *accepted_spec;
    struct json_object *json; /* NULL if there is no status */
};

enum strategy { STRATEGY_CANARY, STRATEGY_BLUE_GREEN, STRATEGY_AB_TESTING };
/* "canary", "blue-green", "ab-testing" (metric label deployment_strategy). */
const char *strategy_name(enum strategy strategy);

struct canary {
    struct json_object *json; /* the whole object, borrowed */
    const char *name;
    const char *namespace_;             /* "default" when the object names none */
    const char *uid, *resource_version; /* "" when the object has none yet */
    int64_t generation;
    const char *api_version; /* of the object as read */
    bool deleting;
    const char *provider;       /* NULL: the controller's --mesh-provider */
    const char *metrics_server; /* NULL: the controller's */
    struct canary_ref target;
    struct canary_ref autoscaler;        /* name NULL: none */
    struct json_object *autoscaler_json; /* spec.autoscalerRef */
    struct canary_ref ingress, route;    /* name NULL: none */
    struct canary_ref *companions;       /* of which the primary gets copies: kind and name */
    int n_companions;
    int progress_deadline_s; /* 600 */
    bool skip_analysis;      /* also when there is no analysis */
    bool suspend;
    /* False only where the spec says so; Flagger takes an absent one for false
     * (proto/COMPATIBILITY.md). */
    bool revert_on_deletion;
    struct canary_service service;
    struct canary_analysis analysis;
    struct canary_status status;
    enum strategy strategy;
};

/*
 * Reads object into *out. ERR_INVALID names the field and what was expected, e.g.
 * "spec.analysis.stepWeights[2]: expected a weight above 20, found 10". What the schema cannot
 * express is checked here too: weights 0..100 and rising, durations, one of
 * stepWeight/stepWeights/iterations, hook types, URLs.
 */
enum err canary_view(struct arena *arena, struct json_object *object, struct canary *out,
                     struct errinfo *ei) MUST_USE;

/* The revision that the status speaks of, as webhooks are told it: its `checksum`. Owned by the
 * arena. */
const char *canary_checksum(struct arena *arena, const struct canary *canary);

#endif
