/*
 * The rules of the fleet: what a rollout of an Application needs on one member cluster, and what
 * has to be done there (FLEET.md). Pure: facts in, plan out.
 *
 * fleet_plan() reads objects through the caller's struct fleet_eyes. If an object is not known yet,
 * the plan is `unknown`: the caller fetches the object and calls again from the top. The steps of a
 * plan are carried out in order, and the first one that fails ends it; the next plan derives the
 * rest again. Everything lives in the arena; trees that were read are never changed.
 */
#ifndef FLEET_FLEET_H
#define FLEET_FLEET_H

#include "fleet/rules/select.h"
#include "kube/resource.h"
#include "proto/application.h"

extern const struct kube_resource fleet_namespaces, fleet_ingresses, fleet_templates,
    fleet_canaries;

/* The annotation that names the owner of an object: "NAMESPACE/NAME/POLICY" of the Application. */
#define FLEET_MARK "flagger.app/application"
/* A second annotation, on a load tester that outlives its rollout. */
#define FLEET_KEEP "flagger.app/keep"
/* ... and the management cluster of that Application, identified by the uid of its namespace
 * kube-system. An object of another management cluster is not ours; an object without the
 * annotation is older than the annotation. */
#define FLEET_MANAGER "flagger.app/fleet-manager"
/* The label of everything created for an Application, so that only such objects are watched. */
#define FLEET_LABEL       "flagger.app/managed-by"
#define FLEET_LABEL_VALUE "fleet"

/* A policy of an Application on one member cluster. */
struct fleet_place {
    const struct application *app;
    const struct application_policy *policy;
    const char *manager;         /* identity of the management cluster, in the marks */
    bool leaves;                 /* its objects are removed, as if it had no rollout */
    const char *loader_image;    /* image of load testers */
    const struct grants *grants; /* where it may act; never NULL */
};

/* Puts the object into *out, NULL for an object that does not exist. False if that is not known
 * yet. The namespace is "" for objects without one. */
struct fleet_eyes {
    bool (*look)(void *arg, const struct kube_resource *resource, const char *namespace_,
                 const char *name, struct json_object **out);
    void *arg;
};

enum fleet_verb { FLEET_CREATE, FLEET_PATCH, FLEET_DELETE };
struct fleet_step {
    struct fleet_step *next;
    enum fleet_verb verb;
    const struct kube_resource *resource;
    const char *namespace_, *name; /* namespace "" for objects without one */
    struct json_object *body;      /* CREATE: the object; PATCH: an RFC 7386 patch, with the
                                    * resourceVersion that was read; DELETE: options, with its uid */
    struct json_object *object;    /* the object after the step; NULL: gone */
};

struct fleet_plan {
    bool unknown;        /* a fact is missing: nothing else in the plan is valid */
    const char *refused; /* one sentence: a user has to change something first */
    bool denied;         /* refused because the namespace does not grant it */
    const char *waits;   /* one sentence: why the rest has to wait */
    struct fleet_step *first, **last;
    int count;
    /* [{apiVersion, kind, namespace, name}]: the objects that are ours once the plan is done, and
     * those that were ours and will be deleted. It is recorded before the first step. */
    struct json_object *inventory;
};

/* inventory: as the last plan left it; NULL if there was no plan yet. */
struct fleet_plan *fleet_plan(struct arena *arena, const struct fleet_place *place,
                              struct json_object *inventory, const struct fleet_eyes *eyes);

/* --- derive.c: the objects that a rollout needs on a member cluster, without the mark. Trees
 * belong to the arena; parts of the Application are copied. */

/* The Canary. service and live are the existing Service and Canary, NULL if there is none; ingress
 * is the name of the Ingress that leads to the Service, NULL if there is none. */
struct json_object *derive_canary(struct arena *arena, const struct rollout *rollout,
                                  const char *ingress, struct json_object *service,
                                  struct json_object *live);
/* The Service's port that the rollout names; NULL if it has no such port. */
struct json_object *derive_port(const struct rollout *rollout, struct json_object *service);

/* The load tester's Deployment and Service, both with this name. deployment is the existing one,
 * whose selector is immutable, or NULL. */
const char *derive_loader_name(struct arena *arena, const struct rollout *rollout);
struct json_object *derive_loader_deployment(struct arena *arena, const struct fleet_place *place,
                                             struct json_object *deployment);
struct json_object *derive_loader_service(struct arena *arena, const struct rollout *rollout,
                                          struct json_object *deployment);

/* The MetricTemplate of a metric that defines its own. */
struct json_object *derive_template(struct arena *arena, const struct rollout_metric *metric);
/* The rules of an Ingress that lead from the host to the Service. */
struct json_object *derive_ingress(struct arena *arena, const struct rollout *rollout);
/* True if the Ingress already leads there, whatever created it. */
bool derive_ingress_leads(struct json_object *ingress, const struct rollout *rollout);
/* The labels that the mesh needs on the Namespace to inject proxies; NULL if none is missing.
 * *mistake is set if the Namespace opts out. namespace_ is NULL if it does not exist yet. */
struct json_object *derive_namespace(struct arena *arena, const struct rollout *rollout,
                                     struct json_object *namespace_, const char **mistake);

#endif
