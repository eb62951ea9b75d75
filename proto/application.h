/*
 * The Application view: an Application of apps.kurator.dev/v1alpha1 as the rules of the fleet read
 * it. It names a workload and how new versions of it are released, and on which clusters of a fleet.
 *
 * application_view() reads a tree once, strictly, into plain structs that live in the arena and
 * borrow strings from the tree. Two spellings are read: that of Kurator's CRD, and that of the
 * design it was made from (testLoader as an object, webhooks as a list, bounds as texts). What
 * delivers manifests (source, kustomization, helm) is left to those who do that, and not looked at.
 */
#ifndef PROTO_APPLICATION_H
#define PROTO_APPLICATION_H

#include "proto/canary.h"

enum { APPLICATION_MAX_POLICIES = 100, ROLLOUT_MAX_METRICS = 100, ROLLOUT_MAX_COMMANDS = 100 };

/* A measurement of the analysis. */
struct rollout_metric {
    const char *name; /* also that of the MetricTemplate, unless it is one of the built-in two */
    int interval_s;   /* above 0; 60 */
    bool has_min, has_max;
    double min, max;
    struct json_object *custom; /* the spec of a MetricTemplate: {provider, query}; NULL: none */
};
/* request-success-rate or request-duration, whose query is the router's. */
bool rollout_metric_is_builtin(const struct rollout_metric *metric);

/* What the load tester runs during the analysis. */
struct rollout_command {
    const char *text;
    int timeout_s; /* above 0; 60 */
};

/* rolloutPolicy.trafficRouting. Trees go into the Canary as they are; NULL: not given. */
struct rollout_routing {
    int timeout_s; /* 0: none */
    struct json_object *gateways, *hosts, *retries, *headers, *cors_policy, *match;
    const char *host;     /* of the Ingress rule, given with provider nginx; else without effect */
    const char *protocol; /* that Kuma is told of the Service; NULL: none */
    bool weighted;        /* canaryStrategy is given */
    int max_weight, step_weight, step_weight_promotion; /* 0: not given */
    struct json_object *step_weights;                   /* rising, NULL: not given */
    int iterations;                                     /* analysisTimes; 0: not given */
};

/* rolloutPolicy.trafficAnalysis, with its defaults where it is not given. */
struct rollout_analysis {
    int interval_s; /* above 0; 60 */
    int threshold;  /* of failed checks; 0: not given */
    struct rollout_metric *metrics;
    int n_metrics;
    struct rollout_command *commands; /* of all webhooks, in their order */
    int n_commands;
    const char *cookie_name;  /* of sessionAffinity; NULL: none */
    int64_t cookie_max_age_s; /* 0: not given */
};

enum rollout_revert { REVERT_UNSAID, REVERT_NO, REVERT_YES };

/* A mesh or an ingress, with what it wants around a workload: a row of rollout_provider.c. */
struct rollout_provider {
    const char *name;
    const char *ingress_class; /* requests come in by the rule of an Ingress; NULL: they do not */
    const char *protocol_key; /* ends the annotation of a Service with the protocol of a port; NULL:
                                * none is read */
    /* Where in the metadata of a Namespace a mesh looks for leave to add its proxies, and where it
     * takes an answer as well. No map: it needs no leave. */
    struct {
        const char *map, *key;
        const char *also_map, *also_key;
        const char *also; /* the only value there that is leave; NULL: any */
    } injection;
};
/* NULL is the one of who names none; NULL is returned when there is none of this name. */
const struct rollout_provider *rollout_provider_find(const char *name);
/* "a, b or c" */
const char *rollout_provider_names(struct arena *arena);

struct rollout {
    const struct rollout_provider *provider; /* never NULL */
    struct canary_ref workload; /* nothing in it is empty; the namespace is the Application's where
                                 * none is given */
    const char *service_name;
    int port;                              /* 1..65535 */
    bool loader;                           /* a load tester is made beside the workload */
    bool keep_loader;                      /* and stays when the rollout goes */
    struct json_object *primary, *preview; /* {labels, annotations} of the Services, or NULL */
    struct rollout_routing routing;
    struct rollout_analysis analysis;
    int deadline_s; /* rolloutTimeoutSeconds; 0: not given */
    bool skip_analysis;
    bool suspend;
    enum rollout_revert revert; /* revertOnDeletion */
};

/* Which clusters: those of a fleet that have all the labels. */
struct application_destination {
    const char *fleet;          /* NULL: the cluster that the Application lies in */
    struct json_object *labels; /* {key: value}; NULL: every cluster of the fleet */
};

struct application_policy {
    const char *name; /* "{Application}-{index}" where none is given; no two have the same */
    struct application_destination destination; /* its own, else the Application's */
    struct rollout *rollout;                    /* NULL: nothing is released step by step */
};

struct application {
    struct json_object *json; /* the whole object, borrowed */
    const char *name;
    const char *namespace_;             /* "default" when the object names none */
    const char *uid, *resource_version; /* "" when the object has none yet */
    int64_t generation;
    bool deleting;
    struct application_policy *policies;
    int n_policies;
};

/*
 * Reads object into *out. ERR_INVALID names the field and what was expected, e.g.
 * "spec.syncPolicies[0].rollout.port: expected a whole number from 1 to 65535, found 0".
 */
enum err application_view(struct arena *arena, struct json_object *object, struct application *out,
                          struct errinfo *ei) MUST_USE;

#endif
