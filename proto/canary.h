/*
 * The Canary view: a Canary object for the rules.
 *
 * canary_view() reads a tree once, strictly, into plain structs that live in the arena and borrow
 * strings from the tree; nothing is ever written back from them. Old and new fields are read:
 * spec.analysis and v1alpha3's spec.canaryAnalysis (analysis takes precedence), thresholdRange and
 * threshold. Comments name the defaults (controller/decide/RULES.md). Absent optional numbers are
 * CANARY_UNSET.
 */
#ifndef PROTO_CANARY_H
#define PROTO_CANARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/zone.h"
#include "proto/phase.h"
#include "proto/weight.h"

enum { CANARY_UNSET = -1 };

struct canary_ref {
    const char *api_version; /* may be "" if the CRD does not require it */
    const char *kind;
    const char *name;
    const char *namespace_; /* NULL: the Canary's own */
};

/* Limits for the number of spec.service.routeRefs, of the rules of one, and for the index of a
 * rule. */
enum { CANARY_MAX_ROUTE_REFS = 16, CANARY_MAX_ROUTE_RULES = 64, CANARY_MAX_ROUTE_RULE = 1023 };

/* An element of spec.service.routeRefs: a route of the user in which only weights are written. */
struct canary_route_ref {
    const char *kind; /* "HTTPRoute" */
    const char *name; /* in the namespace of the Canary */
    /* Names and indices of its rules, not empty; NULL: every rule with a backend of the Canary. */
    struct json_object *rules;
};

/* spec.service: fields used by rules; routers read the rest from `json`. */
struct canary_service {
    struct json_object *json;        /* NULL if missing */
    const char *name;                /* name of the apex Service; default targetRef.name */
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
    const char **unmanaged_labels;      /* keys in unmanagedMetadata: NULL-terminated, never NULL */
    const char **unmanaged_annotations; /* the same */
    struct json_object *gateway_refs;   /* array or NULL */
    struct json_object *hosts;          /* array or NULL */
    struct canary_route_ref *route_refs;
    int n_route_refs; /* above 0: no route is created */
};

/* Effect on the step if a metric has no values, or if the metric server fails. */
enum canary_policy {
    POLICY_FAIL, /* a failed check, as in Flagger */
    POLICY_HOLD, /* the step waits, at most spec.progressDeadlineSeconds; then FAIL */
    POLICY_PASS, /* no effect */
    POLICY_WAIT, /* the step waits without limit */
};

/* Tolerance of the canary relative to the primary: its share of bad requests is at most (1 + ratio)
 * * the primary's share + points. Shares: 0.002 is 0.2 %. For a compared number, points is an
 * amount in its own unit, and it is enough to be within either; for latency, ratio is the fraction
 * by which it may be longer. */
struct canary_tolerance {
    double ratio, points;
};

/* Action if the evidence for a step is insufficient after judge.max_wait_ms. */
enum canary_inconclusive {
    INCONCLUSIVE_WAIT,     /* the step keeps waiting */
    INCONCLUSIVE_PROMOTE,  /* the step is made, with a warning */
    INCONCLUSIVE_ROLLBACK, /* the release is rolled back */
};

/* spec.analysis.judge: compares the canary with the primary (controller/judge). */
struct canary_judge {
    bool given;                                  /* false: no other field is set */
    double false_alarm_rate;                     /* per release, above 0; default 0.01 */
    struct canary_tolerance error_rate, latency; /* default none */
    int64_t every_ms;                            /* whole seconds, at least 5 s; default 10 s */
    int64_t min_requests; /* the canary's in a step, enough without a verdict; default 100 */
    int64_t max_wait_ms;  /* limit for waiting for evidence in a step; default 10 min */
    int64_t warm_up_ms;   /* time that pods must be ready before they count; default 10 s */
    enum canary_inconclusive on_inconclusive; /* default WAIT */
};

/* spec.analysis.metrics[].judge */
struct canary_metric_judge {
    bool given;
    bool off;   /* only its thresholds are used */
    bool lower; /* for a compared number: a lower one is worse */
    bool has_tolerance;
    struct canary_tolerance tolerate;
};

/* The figures of a load test from many pods. Times are in milliseconds, a rate in percent. */
enum load_figure {
    FIGURE_FAILURE_RATE,
    FIGURE_FAILURES,
    FIGURE_REQUESTS,
    FIGURE_P50,
    FIGURE_P90,
    FIGURE_P95,
    FIGURE_P99,
    FIGURE_MAX,
};
/* loadTest of a metric: its value is a figure from the load test that a webhook of the Canary runs
 * (webhook_is_load()). */
struct canary_load_test {
    bool given;
    enum load_figure figure;
    const char *webhook; /* NULL: the only load test */
};
/* Its key in the load tester's response, "failureRate". */
const char *load_figure_key(enum load_figure figure);

struct canary_metric {
    const char *name;
    /* CANARY_UNSET if missing (the default "1m" for builtin and inline metrics is applied by the
     * metric's rule). */
    int64_t interval_ms;
    const char *interval;           /* as written, NULL if none */
    const char *query;              /* inline PromQL or NULL */
    struct canary_ref template_ref; /* name is NULL if none */
    struct json_object *variables;  /* templateVariables or NULL */
    bool has_threshold;             /* `threshold` is present */
    double threshold;
    bool has_range;        /* thresholdRange is present, and `threshold` is ignored */
    bool has_min, has_max; /* whether thresholdRange has them */
    double min, max;
    enum canary_policy no_data; /* default FAIL */
    /* compare is given. The template is queried for both sides, and the judge compares the numbers;
     * for request-duration it compares the histograms. */
    bool compares;
    bool past; /* compare: past. The primary's numbers are those of the last days (also compares) */
    struct canary_metric_judge judge;
    struct canary_load_test load_test;
};
/* True for request-success-rate; for request-duration; for either of them: the router supplies
 * their queries. */
bool canary_metric_is_success_rate(const struct canary_metric *metric);
bool canary_metric_is_duration(const struct canary_metric *metric);
bool canary_metric_is_builtin(const struct canary_metric *metric);
/* request-duration with compare: primary: the whole latency is judged. */
bool canary_metric_is_latency(const struct canary_metric *metric);

/* The empty type is HOOK_ROLLOUT. */
enum hook_type {
#define HOOK_TYPE(id, name, gate) HOOK_##id,
#include "proto/hook_type.def"
#undef HOOK_TYPE
};
/* "confirm-rollout" etc. */
const char *hook_type_name(enum hook_type type);
/* False if no type has this name. NULL and "" are HOOK_ROLLOUT. */
bool hook_type_find(const char *name, enum hook_type *out);
/* True if the release waits until such a hook passes. */
bool hook_type_is_gate(enum hook_type type);

/* Limits for a call, and for calls of hooks that only inform (event, post-rollout). */
enum { HOOK_MAX_MS = 3600 * 1000, HOOK_INFORMING_MAX_MS = 300 * 1000 };
int64_t hook_type_max_ms(enum hook_type type);
enum { CANARY_MAX_RETRIES = 20 };

struct canary_webhook {
    enum hook_type type;
    const char *name;
    const char *url;
    struct json_object *metadata; /* object or NULL */
    int64_t timeout_ms;           /* above 0; 10 s if missing or shorter than two characters */
    int more_retries;             /* number of retries in the spec if above the limit; else 0 */
    int64_t longer_ms;            /* timeout in the spec if above the limit; else 0 */
    int retries;                  /* default 0 */
    bool mute_alert;
    bool disable_tls;          /* no certificate verification */
    int64_t deadline_ms;       /* for a confirm hook, above 0; 0 if none */
    bool approve_at_deadline;  /* then the release continues and is not rolled back */
    const char **headers_from; /* n_headers_from Secrets in the Canary's namespace */
    int n_headers_from;
    const char *ca_secret; /* Secret in the Canary's namespace with the accepted CA; NULL if none */
    const char *ca_key;    /* key in it, NULL: ca.crt */
};

struct canary_alert {
    const char *name;
    const char *severity; /* "info" (default), "warn", "error" */
    struct canary_ref provider;
};

/* spec.analysis.sessionAffinity; cookie_name is NULL if there is none. */
struct canary_affinity {
    const char *cookie_name;
    const char *primary_cookie_name; /* NULL: clients of the primary get no cookie */
    int64_t max_age_s;               /* for the canary's cookie; default 86400 */
    const char *domain, *path;       /* attributes of both cookies, NULL if none */
    const char *same_site;           /* "Strict", "Lax", "None" or NULL */
    bool secure, http_only, partitioned;
};

/*
 * spec.analysis.steps[]: a copy of requests first, then the requests that match, then weights. The
 * first two may be missing.
 */
struct canary_step {
    int weight; /* hundredths of a percent (proto/weight.h), above the previous; 0 if none */
    int mirror; /* percentage of the requests that are copied; 0 if none */
    struct json_object *match; /* non-empty array; NULL if none */
    int64_t for_ms;            /* minimum duration; 0 if none */
    bool gate;                 /* the release pauses at its end */
    /* Names of the metrics and rollout webhooks that are checked during it; NULL: all of them. */
    struct json_object *checks;
};
/* True if metrics and rollout webhooks with this name are checked during the step; step NULL:
 * always. */
bool canary_step_checks(const struct canary_step *step, const char *name);

/* Shares of the primary while the traffic moves to it, in their order. */
struct canary_return_step {
    int weight; /* share of the primary, in hundredths of a percent, above the previous step's */
    int64_t for_ms; /* minimum duration; 0 if none */
};
struct canary_return {
    struct canary_return_step *steps;
    int n_steps; /* 0: all traffic moves at once */
};

/* spec.analysis.bake: before its promotion, the new version has all traffic for some time while the
 * primary keeps the old version. */
struct canary_bake {
    int64_t for_ms; /* above 0; 0: no bake */
    /* Names of the metrics that are checked during the bake, not empty; NULL: all of them. */
    struct json_object *metrics;
};

/* True if metrics with this name are checked during the bake. */
bool canary_bake_checks(const struct canary_bake *bake, const char *name);

/* spec.rollback: rolling back without an analysis; one of the two is set, or both are 0. */
struct canary_way_back {
    int64_t window_ms; /* time since the revision was replaced */
    int revisions;     /* number of promotions since then */
};

enum { CANARY_MAX_WINDOWS = 16 };

/* An element of spec.pushes.windows, in local time. */
struct canary_window {
    unsigned days; /* days on which it opens: one bit each, Monday the lowest */
    int from, to;  /* minutes of the day; if `to` is not above `from`, it closes on the next day */
    struct zone zone;
};

/* spec.pushes: when releases may start. */
struct canary_pushes {
    int per_day;      /* maximum number of releases that start in one day; 0: no limit */
    struct zone zone; /* time zone of days and windows */
    struct canary_window *windows;
    int n_windows; /* 0: releases may start at any time */
};
/* The first time from now on at which a window is open, Unix time in milliseconds: now if one is
 * open, or if there are no windows. */
int64_t canary_pushes_open_ms(const struct canary_pushes *pushes, int64_t now_ms);
/* When the current day began, and when the next day begins. */
int64_t canary_pushes_day_ms(const struct canary_pushes *pushes, int64_t now_ms);
int64_t canary_pushes_next_day_ms(const struct canary_pushes *pushes, int64_t now_ms);

/* spec.analysis.canaryScale: one of the three, if given. */
struct canary_scale {
    bool given;
    int replicas;      /* 0 if none */
    int percent;       /* percentage of the primary's pods; 0 if none */
    bool match_weight; /* the number of pods for the first step */
};

/* If a revision is pushed while another one is being released: it replaces that one, or it waits
 * until that release has ended; only the last one waits, or each waits for its turn. */
enum canary_new_revision { NEW_REVISION_RESTART, NEW_REVISION_FINISH, NEW_REVISION_QUEUE };

struct canary_analysis {
    struct json_object *json; /* NULL if there is no analysis, which means skipAnalysis */
    int64_t interval_ms;      /* 60 s if missing; the caller applies the minimum */
    int64_t max_duration_ms;  /* limit of the analysis, above 0; 0 if none */
    int iterations;           /* 0 */
    int threshold;            /* number of failed checks; at least 1 */
    bool mirror;
    int mirror_weight; /* 0 */
    /* Weights are in hundredths of a percent (proto/weight.h). */
    int max_weight;       /* effective, above 0 */
    int max_weight_given; /* as written, 0 if none */
    int step_weight;      /* 0 if none */
    int *step_weights;    /* n_step_weights of them; the weights of `steps` if there are any */
    int n_step_weights;
    struct canary_step *steps; /* n_steps of them, spec.analysis.steps; at least one has a weight */
    int n_steps;
    /* The steps to which `match`, and `mirror` with mirror_weight, belong; NULL: the whole
     * analysis. */
    const struct canary_step *match_step, *mirror_step;
    const char *match_at, *mirror_at; /* their paths, "spec.analysis.match" */
    int step_weight_promotion;        /* 0 if none */
    struct canary_return promotion;   /* in place of step_weight_promotion */
    struct canary_return rollback;
    struct canary_bake bake;
    int primary_ready_threshold; /* percent, 100 */
    int canary_ready_threshold;  /* percent, 100 */
    bool waits_for_primary; /* even for one without a ready pod, without limit; default false */
    enum canary_new_revision on_new_revision; /* default RESTART */
    bool any_capacity; /* a share may grow whatever the canary's pods; default false */
    struct canary_scale scale;
    int matched_share;         /* percentage of the requests that `match` may select; default 100 */
    struct json_object *match; /* non-empty array or NULL */
    struct canary_affinity affinity;
    struct canary_metric *metrics;
    int n_metrics;
    enum canary_policy on_metric_error; /* FAIL or HOLD; default FAIL */
    enum canary_policy on_no_requests;  /* to the canary, before promotion; default HOLD */
    enum canary_policy on_unreachable;  /* WAIT, or the value of onMetricError */
    struct canary_judge judge;
    struct canary_webhook *webhooks;
    int n_webhooks;
    struct canary_alert *alerts;
    int n_alerts;
    bool legacy; /* it was read from spec.canaryAnalysis */
};

/* The index of the webhook whose load test the metric is about; -1 if there is none, or if it could
 * be one of several. */
int canary_load_webhook(const struct canary_analysis *analysis,
                        const struct canary_load_test *load_test);

struct canary_status {
    enum phase phase;
    int canary_weight; /* hundredths of a percent (proto/weight.h) */
    int failed_checks;
    int iterations;
    const char *last_applied_spec;       /* "" if none */
    const char *last_promoted_spec;      /* "" if none */
    struct json_object *tracked_configs; /* NULL for nil */
    const char *last_transition_time;
    /* Cookies of session affinity as "NAME=VALUE", NULL if none. */
    const char *affinity_cookie, *primary_affinity_cookie, *previous_affinity_cookie;
    /* Provider and name of the routes. Flagger drops both: NULL means that Flagger was the last to
     * write the status, with the hashes of its version. */
    const char *provider;
    const char *service_name;
    /* State of waits; Flagger's CRD drops these fields as well. */
    /* Replicas requested of the primary before it takes all traffic; 0 if none. */
    int capacity_replicas;
    const char *capacity_revision; /* revision that waits to start; NULL if none */
    /* Replicas requested for the canary before its share grows, its target's own replicas before
     * that, and the replicas needed for all traffic; 0 if none. */
    int share_replicas, share_own, share_total;
    const char *gate_revision; /* revision that waits at the first gate; NULL if none */
    /* The canary serves all requests, not only those that an A/B test matches. */
    bool serves_everything;
    /* Lease of the controller that manages it, "NAMESPACE/NAME"; NULL if none. */
    const char *controller;
    /* The last accepted spec, as it was read. Flagger drops it as well; NULL if none. */
    struct json_object *accepted_spec;
    struct json_object *json; /* NULL if missing */
};

enum strategy { STRATEGY_CANARY, STRATEGY_BLUE_GREEN, STRATEGY_AB_TESTING };
/* "canary", "blue-green", "ab-testing" (metric label deployment_strategy). */
const char *strategy_name(enum strategy strategy);

struct canary {
    struct json_object *json; /* the whole object, borrowed */
    const char *name;
    const char *namespace_;             /* "default" if missing */
    const char *uid, *resource_version; /* "" if not created yet */
    int64_t generation;
    const char *api_version; /* apiVersion of the object as read */
    bool deleting;
    const char *provider;       /* NULL: --mesh-provider of the controller */
    const char *metrics_server; /* NULL: the controller's */
    struct canary_ref target;
    struct canary_ref autoscaler;        /* name is NULL if none */
    struct json_object *autoscaler_json; /* spec.autoscalerRef */
    struct canary_ref ingress, route;    /* name is NULL if none */
    struct canary_ref *companions;       /* objects copied for the primary: kind and name */
    int n_companions;
    int progress_deadline_s; /* default 600 */
    bool skip_analysis;      /* also true without an analysis */
    bool suspend;
    /* False only if the spec says so; in Flagger the default is false (proto/COMPATIBILITY.md). */
    bool revert_on_deletion;
    struct canary_way_back way_back;
    struct canary_pushes pushes;
    struct canary_service service;
    struct canary_analysis analysis;
    struct canary_status status;
    enum strategy strategy;
};

/*
 * Reads object into *out. ERR_INVALID names the field and the expected value, e.g.
 * "spec.analysis.stepWeights[2]: expected a weight above 20, found 10". Rules that the schema
 * cannot express are checked here: weights 0..100 and rising, durations, one of
 * stepWeight/stepWeights/iterations, hook types, URLs.
 */
enum err canary_view(struct arena *arena, struct json_object *object, struct canary *out,
                     struct errinfo *ei) MUST_USE;

/* The revision in the status in the form that webhooks use, their `checksum`. Owned by the
 * arena. */
const char *canary_checksum(struct arena *arena, const struct canary *canary);
/* True without spec.service: a worker that fetches its work itself, with spec.analysis.steps. */
bool canary_is_worker(const struct canary *canary);

#endif
