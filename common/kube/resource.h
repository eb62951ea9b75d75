/* Names of Kubernetes resources: group, version, plural, kind, and the URL paths made of them. */
#ifndef KUBE_RESOURCE_H
#define KUBE_RESOURCE_H

#include <stdbool.h>

#include "base/arena.h"

/* Another name under which a cluster may serve the same objects. */
struct kube_version {
    const char *group, *version;
};

struct kube_resource {
    const char *group;   /* "" for the core group */
    const char *version; /* "v1" */
    const char *plural;  /* "deployments" */
    const char *kind;    /* "Deployment" */
    bool cluster_scoped;
    bool meshed; /* lies in the cluster of the mesh, where that is not the one of the Canaries */
    bool scales; /* an autoscaler: each object scales what its spec.scaleTargetRef names */
    /* Asked for in this order where `version` is not served, with objects of the same shape; the
     * last has no group. NULL: none. A client remembers what its cluster serves. */
    const struct kube_version *also;
    /* A field of status that is news to who only cares about specs: the cluster writes there what a
     * new spec has become. NULL: none. */
    const char *news;
};

/* The resources that several parts name; variants define their own beside their code. */
extern const struct kube_resource kube_deployments, kube_daemonsets, kube_replicasets,
    kube_controllerrevisions, kube_services, kube_configmaps, kube_secrets, kube_events, kube_hpas,
    kube_scaledobjects, kube_leases, kube_knative_services, kube_knative_revisions;

/* "apps/v1", or "v1" for the core group; owned by the arena. */
const char *kube_api_version(struct arena *arena, const struct kube_resource *resource);
/* "/apis/apps/v1/namespaces/NS/deployments[/NAME][/SUB]"; namespace NULL: all; name, sub may be
 * NULL. */
const char *kube_path(struct arena *arena, const struct kube_resource *resource,
                      const char *namespace_, const char *name, const char *sub);
/* True when both name the same group, version and plural. */
bool kube_resource_same(const struct kube_resource *a, const struct kube_resource *b);

/* It may be the name of a namespace: an RFC 1123 label. */
bool kube_is_label(const char *text);

#endif
