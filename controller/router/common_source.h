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

/* --- Ingresses */

extern const struct kube_resource source_ingresses;

/* Source and copy of spec.ingressRef, NULL where they do not exist. False: not known yet. */
bool source_need_ingresses(struct tick *tick, struct json_object **source,
                           struct json_object **copy);
const char *source_ingress_copy(struct arena *arena, const struct canary *canary);
/* The names of a router of Ingresses. */
const char *const *source_ingress_names(struct arena *arena, const struct canary *canary,
                                        const struct kube_resource *resource);
/* A copy for plan_create() and plan_update(): labels, annotations and spec as `wanted` says them, laid
 * over the live one (NULL: a new one). `bare`: GitOps tools are not told to leave it alone. `why` as
 * of plan_why(). */
void source_write_ingress(struct tick *tick, struct json_object *live, struct json_object *wanted,
                          bool bare, const char *why);
/* The path of the source leads to the apex Service. */
bool source_is_apex_path(const struct canary *canary, struct json_object *path);
/* NULL, or why there is nothing to copy: the source is not there, or does not lead to the apex
 * Service. */
const char *source_ingress_mistake(struct tick *tick, struct json_object *source);
/* router.h's check() and settled() of such a router: ingressRef and a port; the source is usable. */
const char *source_ingress_check(struct arena *arena, const struct canary *canary);
enum verdict source_ingress_settled(struct tick *tick, const char **why);

#endif
