/* Kubernetes resources: names, versions and URL paths, and selectors of labels. */
#ifndef KUBE_RESOURCE_H
#define KUBE_RESOURCE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* Another version in which a cluster may serve the same objects. */
struct kube_version {
    const char *group, *version;
};

struct kube_resource {
    const char *group;   /* "" for the core group */
    const char *version; /* "v1" */
    const char *plural;  /* "deployments" */
    const char *kind;    /* "Deployment" */
    bool cluster_scoped;
    bool meshed; /* lives in the mesh's cluster, if that differs from the Canaries' cluster */
    bool scales; /* an autoscaler: scales the object in its spec.scaleTargetRef */
    /* Versions to try in this order if `version` is not served, with objects of the same shape; the
     * last has no group. NULL if none. A client remembers the version that its cluster serves. */
    const struct kube_version *also;
    /* A status field that matters even to readers of the spec, since the cluster writes the
     * result of a new spec to it. NULL if none. */
    const char *news;
};

/* Resources used by several parts; variants define their own. */
extern const struct kube_resource kube_deployments, kube_daemonsets, kube_replicasets,
    kube_controllerrevisions, kube_services, kube_configmaps, kube_secrets, kube_events, kube_hpas,
    kube_scaledobjects, kube_leases, kube_knative_services, kube_knative_revisions;

/* "apps/v1", or "v1" for the core group; owned by the arena. */
const char *kube_api_version(struct arena *arena, const struct kube_resource *resource);
/* "/apis/apps/v1/namespaces/NS/deployments[/NAME][/SUB]"; namespace NULL for all; name, sub may be
 * NULL. */
const char *kube_path(struct arena *arena, const struct kube_resource *resource,
                      const char *namespace_, const char *name, const char *sub);
/* Returns true if group, version and plural are equal. */
bool kube_resource_same(const struct kube_resource *a, const struct kube_resource *b);

/* Returns true for an RFC 1123 label, such as the name of a namespace. */
bool kube_is_label(const char *text);
/* Returns true for an RFC 1123 subdomain, such as the name of a Deployment: labels of any length
 * separated by dots, at most 253 characters in all. */
bool kube_is_name(const char *text);

/*
 * A resourceVersion as one number, its mark: two versions of an object are the same if their marks
 * are. For numeric versions, as in Kubernetes, the mark is that number and shows the newer one; for
 * any other text it is a hash. Never 0. NULL counts as "", which stands for an object that does not
 * exist.
 */
uint64_t version_mark(const char *text);
/* The version itself, 0 if it is not a number and cannot be compared. */
uint64_t version_number(uint64_t mark);

/*
 * --- Label selectors of Kubernetes, in the syntax of queries: "app=x,tier!=y,env in (a, b),env
 * notin (c),key,!key". A selector belongs to the arena it was parsed with.
 */
enum { SELECTOR_MAX_TERMS = 64 };

struct selector;

/* Validate the key and the value of a label. */
bool selector_is_key(const char *text);
bool selector_is_value(const char *text);

/* NULL selects nothing, "" everything. ERR_INVALID with the position. */
enum err selector_parse(struct arena *arena, const char *text, const struct selector **out,
                        struct errinfo *ei) MUST_USE;
/* labels: the metadata.labels object, may be NULL. */
bool selector_match(const struct selector *selector, struct json_object *labels);
/* The original text. Borrowed from the selector. */
const char *selector_text(const struct selector *selector);

#endif
