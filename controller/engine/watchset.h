/*
 * The watches of the controller: one store of digests per resource, begun when the first rule asks
 * for an object of it, so that a cluster pays only for the meshes it uses. Secrets and ConfigMaps
 * are watched as metadata.
 */
#ifndef ENGINE_WATCHSET_H
#define ENGINE_WATCHSET_H

#include "engine/claims.h"
#include "kube/store.h"

/* What is remembered of a watched object. */
struct seen {
    struct digest digest;
    struct claim_set *claims; /* of a Canary: what it claims */
    uint64_t spec_hash; /* of all but bookkeeping metadata and what of status is no news; 0 when
                           only metadata is watched */
};

struct watchset;
/* before NULL: new; after NULL: gone; both NULL: the resource has been listed whole, again perhaps.
 */
typedef void (*watchset_fn)(void *arg, const struct kube_resource *resource,
                            const struct seen *before, const struct seen *after);

/* namespace_ NULL: all namespaces. Both strings are borrowed. */
struct watchset *watchset_new(struct loop *loop, struct kube_client *kube, const char *namespace_,
                              watchset_fn fn, void *arg);
void watchset_free(struct watchset *set);
/* Begins to watch the resource unless that has begun already. The resource must have static
 * lifetime. */
void watchset_add(struct watchset *set, const struct kube_resource *resource);
/* True when the resource is watched there and listed whole; *out is then the object's digest or
 * NULL when there is none. */
bool watchset_look(const struct watchset *set, const struct kube_resource *resource,
                   const char *namespace_, const char *name, const struct seen **out);
/* True when the resource is watched and has been listed: a resource that is not installed never is.
 */
bool watchset_synced(const struct watchset *set, const struct kube_resource *resource);

/* Calls fn for each resource that is watched; metadata: only its metadata is. */
void watchset_each(const struct watchset *set,
                   void (*fn)(void *arg, const struct kube_resource *resource, bool metadata,
                              const struct store *store),
                   void *arg);

#endif
