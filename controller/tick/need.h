/*
 * The questions of a rule: objects of the cluster, metrics, webhooks. A known fact is returned
 * (true), and so is an object that a watch shows (tick->answer). An unknown one is recorded as a
 * need of the tick, and the rule returns RULE_NEEDS_FACTS: it is called again from the top with
 * the fact (fact.h). Trees are borrowed, live as long as the tick, and are never changed.
 */
#ifndef TICK_NEED_H
#define TICK_NEED_H

#include "tick/tick.h"

struct metric_group; /* metric/backend.h */
struct metric_pick;

/*
 * The live object, or *out NULL if it does not exist. The namespace is ignored for cluster-scoped
 * resources. A denied object stays unknown and ends the tick.
 */
bool need_object(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                 const char *name, struct json_object **out);

/*
 * For an object that a user names: if its watch does not show it, it is read before it counts as
 * absent, since it may be new.
 */
bool need_object_surely(struct tick *tick, const struct kube_resource *resource,
                        const char *namespace_, const char *name, struct json_object **out);

/* A deleted namespaced object as the watch last showed it; NULL if this process has not seen it. */
bool need_last_seen(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                    const char *name, struct json_object **out);
/*
 * For a namespaced resource that the tick can do without: *denied receives the reason why it may
 * not be read (*out is then NULL), or NULL.
 */
bool need_object_if_allowed(struct tick *tick, const struct kube_resource *resource,
                            const char *namespace_, const char *name, struct json_object **out,
                            const char **denied);

/* For any resource; read at each tick that needs it and not watched: for rare needs. */
bool need_object_once(struct tick *tick, const struct kube_resource *resource,
                      const char *namespace_, const char *name, struct json_object **out,
                      const char **denied);

/*
 * An object that counts as absent if its resource is not served, or may not be watched: it is
 * never read, so that it costs no request except for the one watch of all Canaries.
 */
bool need_object_if_watched(struct tick *tick, const struct kube_resource *resource,
                            const char *namespace_, const char *name, struct json_object **out);

/*
 * All objects of a namespace: an array, NULL if empty. Read from the API server at each tick that
 * needs it, so only for rare events; it does not wake the Canary: relevant objects are needed by
 * name as well.
 */
bool need_objects(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  struct json_object **out);
/* For a resource that the tick can do without, like need_object_if_allowed(). */
bool need_objects_if_allowed(struct tick *tick, const struct kube_resource *resource,
                             const char *namespace_, struct json_object **out, const char **denied);

/*
 * The objects with all of these labels (a map of strings), and possibly others; none if they may
 * not be read.
 */
bool need_selected(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                   struct json_object *labels, struct json_object **out);

/*
 * Objects of an autoscaler resource that scale this workload: an array, NULL if none. Contains at
 * least the name and scaleTargetRef of each, and possibly others with another scaleTargetRef. Costs
 * no request except for the watch; adding, deleting or redirecting one wakes the Canary. NULL if
 * the resource is not served, or may not be watched.
 */
bool need_scalers(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  const char *kind, const char *name, struct json_object **out);

/*
 * Objects of the resource that this Canary controls with the name NAME-primary: at least their
 * names, and possibly others, as above.
 */
bool need_copies(struct tick *tick, const struct kube_resource *resource, struct json_object **out);

/*
 * Workloads of the resource with this label in their selector and a value ending in "-primary": at
 * least their names, and possibly others, as above.
 */
#define TICK_LABELLED "Pods" /* in place of the kind in such a need */
bool need_labelled(struct tick *tick, const struct kube_resource *resource, const char *key,
                   const char *value, struct json_object **out);

/*
 * True if an object of the resource was needed in this tick and the API server does not serve it:
 * the CRD is missing or lacks this version. For the rules, such an object does not exist.
 */
bool tick_is_unserved(const struct tick *tick, const struct kube_resource *resource);

/*
 * A metric query. `backend` is the provider type (metric/backend.h), the other fields make up its
 * request. An answer belongs to all of them: any difference makes it another query.
 */
struct metric_question {
    const char *id;             /* the subject, for messages: "metrics[0]", "probe[0]" */
    const char *owner;          /* the namespace that it is sent for; NULL if several */
    const char *backend;        /* "prometheus" */
    const char *address;        /* base URL */
    const char *query;          /* rendered; NULL only probes the backend */
    const char *path, *body;    /* web: of spec.provider, rendered; NULL if none */
    int64_t interval_ms;        /* CANARY_UNSET if none */
    struct json_object *spec;   /* MetricTemplate's spec.provider; NULL for other metrics */
    struct json_object *secret; /* the Secret object; NULL if none */
    /*
     * Credentials of the process itself, by variable (metric/backend.h); set by the engine. NULL if
     * the Secret has the credentials, or the backend uses none of its own.
     */
    struct json_object *ambient;
    const char *ca_pem; /* the only trusted certificates, from caSecretRef; NULL if none */
    /*
     * The only namespace whose objects it may read with the permissions of the controller; NULL:
     * any.
     */
    const char *only_namespace;
    int64_t at_s; /* prometheus: evaluated at this Unix time; 0: on arrival */
    /* prometheus: > 0: evaluated this many times, every_s apart, the last time at at_s */
    int times;
    int64_t every_s;
    /* prometheus: of the series by `le`, takes the one with the smallest bound not below this one,
     * and names that bound in the answer's note; 0: no such choice */
    double bucket;
    bool histogram; /* prometheus: all series by `le`, as a histogram */
    /* Group query for many workloads; NULL if not allowed. */
    const struct metric_group *group;
    /* In a group query: the wanted workloads, and their answers. */
    struct metric_pick *picks;
    int n_picks;
};
enum metric_outcome { METRIC_VALUE, METRIC_NO_VALUES, METRIC_ERROR };
struct metric_answer {
    enum metric_outcome outcome;
    double value;
    const double *values; /* of a question with `times`, the oldest first; NaN if there is none */
    int n_values;
    /* Of a question with `histogram`: upper bounds, ascending. Each has one value per time, and at
     * least one: the count of observations not above it. */
    const double *bounds;
    int n_bounds;
    const char *text; /* NO_VALUES and ERROR: one sentence */
    const char *note; /* for messages: the candidates, "NaN"; NULL if there is nothing to add */
    int64_t at_ms;    /* the time of the value; 0 if none */
    int64_t retry_ms; /* ERROR: do not retry before; 0 if not specified */
    /*
     * ERROR: no answer is possible with the current configuration: unknown host, no connection,
     * TLS, 401, 403. It says nothing about a revision.
     */
    bool unreachable;
};
bool need_metric(struct tick *tick, const struct metric_question *question,
                 const struct metric_answer **out);

/*
 * The answer of a webhook of the Canary. Webhooks are called one at a time, in order, at most once
 * per tick and revision.
 */
struct hook_answer {
    bool passed;      /* 2xx up to 202, or 204 (proto/COMPATIBILITY.md) */
    const char *text; /* the response body (truncated), or why there was none */
    bool unasked;     /* nothing was sent: one of its Secrets is missing or wrong, see text */
};
/* checksum: that of the revision in question. */
bool need_hook(struct tick *tick, int webhook_index, enum phase phase, const char *checksum,
               const struct hook_answer **out);

/* The answer of this webhook in this tick, about any revision; NULL if none. */
const struct hook_answer *tick_hook_answer(const struct tick *tick, int webhook_index);

#endif
