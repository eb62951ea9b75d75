/*
 * Meshes that split the traffic of an object of the user's (an Ingress, an ApisixRoute): that one,
 * the source, leads to the apex Service and is never written. A copy of it, which is ours, leads to
 * the two sides and takes precedence; when it is gone, the source counts again.
 */
#ifndef ROUTER_COMMON_SOURCE_H
#define ROUTER_COMMON_SOURCE_H

#include "router/common_route.h"

/* The names of a router (router.h) that writes one such copy, of the kind `copied`. */
const char *const *source_names(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource,
                                const struct kube_resource *copied, const char *name);
/* {metadata: {labels, annotations}} as the source has them, but for notes of tools about the very
 * object, and for keys that begin with `except` (may be NULL). */
struct json_object *source_metadata(struct tick *tick, struct json_object *source,
                                    const char *except);
/* A copy of a tree in which every list of objects is ours as a whole. */
struct json_object *source_tree(struct arena *arena, struct json_object *tree);
/* The copy is deleted where it is ours; one that was there before the Canary is left as it is.
 * *found: such a one, or NULL. GO or NEED_FACTS. */
enum verdict source_remove(struct tick *tick, const struct kube_resource *resource,
                           const char *name, struct json_object **found);
/* One that is not ours is released (edit_released()). GO or NEED_FACTS. */
enum verdict source_disown(struct tick *tick, const struct kube_resource *resource,
                           const char *name);

/* --- Ingresses: the source is the one of spec.ingressRef */

extern const struct kube_resource source_ingresses;

/* What is written into the copy. */
struct source_writing {
    struct json_object *source; /* of which it is a copy; where that is gone, the live copy */
    struct json_object *live;   /* the copy as it is, NULL: there is none */
    const struct weights *weights;
    bool moves; /* the weights are being set; false: they are kept */
};

/* What one ingress controller has of its own. */
struct source_ingress {
    bool both; /* its paths lead to primary and canary; false: to the canary alone */
    bool bare; /* GitOps tools are not told to leave it alone */
    /* Annotations of the source that begin so are the controller's, and not copied. NULL: none. */
    const char *(*own)(struct tick *tick);
    /* Puts the weights into the annotations of `wanted`. */
    void (*write)(struct tick *tick, struct json_object *wanted,
                  const struct source_writing *writing);
    /* The weights of a copy; NULL: all to the primary. */
    struct weights (*read)(struct tick *tick, struct json_object *live);
    /* The copy takes requests, so that some do not reach the source. */
    bool (*takes)(struct tick *tick, struct json_object *live);
};

/* router.h's functions of such a router. It asks for ingressRef and a port, and settled() for a
 * source that leads to the apex Service. */
const char *const *source_ingress_names(struct arena *arena, const struct canary *canary,
                                        const struct kube_resource *resource);
const char *source_ingress_check(struct arena *arena, const struct canary *canary);
struct json_object *source_ingress_claims(struct arena *arena, struct json_object *ingress);
enum verdict source_ingress_reconcile(struct tick *tick);
enum verdict source_ingress_get(struct tick *tick, struct weights *out);
enum verdict source_ingress_settled(struct tick *tick, const char **why);
enum verdict source_ingress_set(struct tick *tick, const struct weights *weights);
enum verdict source_ingress_revert(struct tick *tick, bool anew);
enum verdict source_ingress_disown(struct tick *tick);

#endif
