/*
 * The Application view: an Application of apps.kurator.dev/v1alpha1 for the rules of the fleet. It
 * names a workload, how its new versions are released, and the clusters.
 *
 * application_view() reads a tree once, strictly, into plain structs that live in the arena and
 * borrow strings from the tree. Both formats are read: the one of Kurator's CRD, and the one of its
 * design document (testLoader as an object, webhooks as a list, bounds as strings). The parts that
 * deliver manifests (source, kustomization, helm) are ignored.
 */
#ifndef PROTO_APPLICATION_H
#define PROTO_APPLICATION_H

#include "proto/canary.h"

enum { APPLICATION_MAX_POLICIES = 100, ROLLOUT_MAX_METRICS = 100, ROLLOUT_MAX_COMMANDS = 100 };

/* A measurement of the analysis. */
struct rollout_metric {
    const char *name; /* also the name of the MetricTemplate, unless built in */
    int interval_s;   /* above 0; default 60 */
    bool has_min, has_max;
    double min, max;
    struct json_object *custom; /* the spec of a MetricTemplate: {provider, query}; NULL if none */
};
/* True for request-success-rate and request-duration, for which the router supplies the query. */
bool rollout_metric_is_builtin(const struct rollout_metric *metric);

/* A command of the load tester during the analysis. */
struct rollout_command {
    const char *text;
    int timeout_s; /* above 0; default 60 */
};

/* rolloutPolicy.trafficRouting. Trees go into the Canary unchanged; NULL if missing. */
struct rollout_routing {
    int timeout_s; /* 0 if none */
    struct json_object *gateways, *hosts, *retries, *headers, *cors_policy, *match;
    const char *host; /* host of the Ingress rule; required with provider nginx, otherwise unused */
    const char *protocol; /* protocol of the Service for Kuma; NULL if none */
    bool weighted;        /* canaryStrategy is present */
    int max_weight, step_weight, step_weight_promotion; /* 0 if missing */
    struct json_object *step_weights;                   /* rising; NULL if missing */
    int iterations;                                     /* analysisTimes; 0 if missing */
};

/* rolloutPolicy.trafficAnalysis, with defaults. */
struct rollout_analysis {
    int interval_s; /* above 0; default 60 */
    int threshold;  /* limit for failed checks; 0 if missing */
    struct rollout_metric *metrics;
    int n_metrics;
    struct rollout_command *commands; /* commands of all webhooks, in order */
    int n_commands;
    const char *cookie_name;  /* cookie of sessionAffinity; NULL if none */
    int64_t cookie_max_age_s; /* 0 if missing */
};

enum rollout_revert { REVERT_UNSAID, REVERT_NO, REVERT_YES };

/* A mesh or an ingress controller, with the settings that it needs around a workload. */
struct rollout_provider {
    const char *name;
    const char *ingress_class; /* class of the Ingress for its requests; NULL if it needs none */
    const char *
        /* Prefix of the Service annotation that names the protocol of a port; NULL if not used. */
        protocol_key;
    /* Metadata of a Namespace that allows a mesh to inject its proxies, and an alternative. map is
     * NULL if no permission is needed. */
    struct {
        const char *map, *key;
        const char *also_map, *also_key;
        const char *also; /* the only value that allows it; NULL for any */
    } injection;
};

struct rollout {
    const struct rollout_provider *provider; /* never NULL */
    struct canary_ref workload; /* no field is empty; the namespace defaults to the Application's */
    const char *service_name;
    int port;                              /* 1..65535 */
    bool loader;                           /* creates a load tester for the workload */
    bool keep_loader;                      /* keeps it when the rollout is deleted */
    struct json_object *primary, *preview; /* {labels, annotations} of the Services, or NULL */
    struct rollout_routing routing;
    struct rollout_analysis analysis;
    int deadline_s; /* rolloutTimeoutSeconds; 0 if missing */
    bool skip_analysis;
    bool suspend;
    enum rollout_revert revert; /* revertOnDeletion */
};

/* The clusters of a fleet that have all the labels. */
struct application_destination {
    const char *fleet;          /* NULL: the cluster that contains the Application */
    struct json_object *labels; /* {key: value}; NULL: every cluster of the fleet */
};

struct application_policy {
    const char *name;                           /* "{Application}-{index}" by default; unique */
    struct application_destination destination; /* the policy's own, or the Application's */
    struct rollout *rollout;                    /* NULL: no progressive release */
};

struct application {
    struct json_object *json; /* the whole object, borrowed */
    const char *name;
    const char *namespace_;             /* "default" if missing */
    const char *uid, *resource_version; /* "" if not created yet */
    int64_t generation;
    bool deleting;
    struct application_policy *policies;
    int n_policies;
};

/*
 * Reads object into *out. ERR_INVALID names the field and the expected value, e.g.
 * "spec.syncPolicies[0].rollout.port: expected a whole number from 1 to 65535, found 0".
 */
enum err application_view(struct arena *arena, struct json_object *object, struct application *out,
                          struct errinfo *ei) MUST_USE;

/* Shared with the reader of a ReleasePlan; both functions record the first mistake in `r`. */
enum { APPLICATION_MAX_NAME = 253, APPLICATION_MAX_LABEL = 63 };
/* Reads the destination in parent. False if it has none; *out is then unchanged. */
bool application_read_destination(struct json_reader *r, struct json_object *parent,
                                  struct application_destination *out);
/* A valid name for a Kubernetes object, of at most `max` characters. */
const char *application_read_name(struct json_reader *r, struct json_object *obj, const char *key,
                                  enum json_need need, size_t max);

#endif
