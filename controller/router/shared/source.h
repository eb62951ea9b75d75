/*
 * Meshes that split the traffic of an object of the user (an Ingress, an ApisixRoute): that object,
 * the source, leads to the apex Service and is never written. A copy of ours leads to the two sides
 * and takes precedence; once it is deleted, the source is in effect again.
 */
#ifndef ROUTER_SHARED_SOURCE_H
#define ROUTER_SHARED_SOURCE_H

#include "router/shared/route.h"

/* The names of the objects of a router (router.h) that writes one such copy, of the kind
 * `copied`. */
const char *const *source_names(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource,
                                const struct kube_resource *copied, const char *name);
/* {metadata: {labels, annotations}} of the source, without the notes that tools keep about the
 * object itself, and without keys that begin with `except` (may be NULL). */
struct json_object *source_metadata(struct tick *tick, struct json_object *source,
                                    const char *except);
/* A copy of a tree in which every list of objects is ours entirely. */
struct json_object *source_tree(struct arena *arena, struct json_object *tree);
/* Deletes the copy if it is ours. A copy that existed before the Canary is left unchanged and
 * returned in *found, else NULL. CONTINUE or NEEDS_FACTS. */
enum rule_result source_remove(struct tick *tick, const struct kube_resource *resource,
                               const char *name, struct json_object **found);
/* Releases a copy that is not ours (edit_released()). CONTINUE or NEEDS_FACTS. */
enum rule_result source_disown(struct tick *tick, const struct kube_resource *resource,
                               const char *name);

/* --- Ingresses: the source is the Ingress in spec.ingressRef */

extern const struct kube_resource source_ingresses;

/* Input for writing a copy. */
struct source_writing {
    struct json_object *source; /* the source; the live copy if it is missing */
    struct json_object *live;   /* the live copy, NULL if there is none */
    const struct weights *weights;
    bool moves; /* the weights are being set; false: they are kept */
};

/* Specifics of an ingress controller. */
struct source_ingress {
    bool both; /* paths lead to primary and canary; false: to the canary only */
    bool bare; /* without annotations for GitOps tools */
    /* Prefix of the controller's annotations, which are not copied. NULL if there is none. */
    const char *(*own)(struct tick *tick);
    /* Writes the weights into the annotations of `wanted`. */
    void (*write)(struct tick *tick, struct json_object *wanted,
                  const struct source_writing *writing);
    /* The weights of a copy; NULL: all to the primary. */
    struct weights (*read)(struct tick *tick, struct json_object *live);
    /* True if the copy takes requests, so that some requests do not reach the source. */
    bool (*takes)(struct tick *tick, struct json_object *live);
};

/* router.h's functions for such a router. Requires ingressRef and a port; settled() requires a
 * source that leads to the apex Service. */
const char *const *source_ingress_names(struct arena *arena, const struct canary *canary,
                                        const struct kube_resource *resource);
const char *source_ingress_check(struct arena *arena, const struct canary *canary);
struct json_object *source_ingress_claims(struct arena *arena, struct json_object *ingress);
enum rule_result source_ingress_reconcile(struct tick *tick);
enum rule_result source_ingress_get(struct tick *tick, struct weights *out);
enum rule_result source_ingress_settled(struct tick *tick, const char **why);
enum rule_result source_ingress_set(struct tick *tick, const struct weights *weights);
enum rule_result source_ingress_revert(struct tick *tick, bool recreate);
enum rule_result source_ingress_disown(struct tick *tick);

#endif
