/*
 * The watches of the controller: one store per resource, begun when the first rule asks for an
 * object of it, so that a cluster pays only for the meshes it uses. It keeps the objects that
 * Canaries depend on, packed (kube/store.h), so that what a watch has delivered is not read again.
 * Secrets and ConfigMaps are watched as metadata, and have the content that was read last.
 */
#ifndef ENGINE_WATCHSET_H
#define ENGINE_WATCHSET_H

#include "engine/claims.h"
#include "kube/store.h"

/* What is remembered of a watched object. */
struct seen {
    struct digest digest;
    uint64_t spec_hash; /* of all but bookkeeping metadata and what of status is no news; 0 when
                           only metadata is watched */
    struct claim_set *claims; /* of a Canary: what it claims */
    bool rests;               /* of a Canary: no release of it is under way */
    bool releases;            /* of a Canary: one is, and no longer only before its gate */
    /* Of an autoscaler: "Deployment/podinfo"; of a copy of a config: "Canary/podinfo", which controls
     * it; NULL: of anything else. */
    char *scales;
};

struct watchset;
struct watchset_owner {
    /* before NULL: new; after NULL: gone; both NULL: the resource has been listed whole, again
     * perhaps. */
    void (*changed)(void *arg, const struct kube_resource *resource, const struct seen *before,
                    const struct seen *after);
    /* Does anybody depend on the object? NULL: on all. What Canaries mention is kept in any case.
     */
    bool (*wanted)(void *arg, const struct kube_resource *resource, const char *namespace_,
                   const char *name);
    /* A first list has come to an end, or failed; may be NULL. */
    void (*settled)(void *arg);
    void *arg;
};

/* What of the cluster is watched; borrowed. */
struct watchset_scope {
    const char *const *namespaces; /* NULL-ended; NULL: all */
    const char *canary_selector;   /* the labels of Canaries; NULL: any */
    struct kube_client *mesh;      /* of what is meshed; NULL: as the others */
};
struct watchset *watchset_new(struct loop *loop, struct kube_client *kube,
                              const struct watchset_scope *scope,
                              const struct watchset_owner *owner);
void watchset_free(struct watchset *set);
/* Begins to watch the resource unless that has begun already. The resource must have static
 * lifetime. */
void watchset_add(struct watchset *set, const struct kube_resource *resource);
enum watchset_known {
    WATCHSET_KNOWN,   /* *out is what is remembered of the object, NULL: there is none */
    WATCHSET_SOON,    /* the resource is being listed for the first time */
    WATCHSET_UNKNOWN, /* nothing can be said of the object but by reading it */
};
enum watchset_known watchset_find(const struct watchset *set, const struct kube_resource *resource,
                                  const char *namespace_, const char *name,
                                  const struct seen **out);
/* The resource has been listed there: it is served, and may be watched. */
bool watchset_shows(const struct watchset *set, const struct kube_resource *resource,
                    const char *namespace_);
/* The names of the resource's objects that scale "Deployment/podinfo", or that "Canary/podinfo"
 * controls, as far as the watch shows them: fn() is called for each. */
void watchset_scalers(const struct watchset *set, const struct kube_resource *resource,
                      const char *namespace_, const char *scales,
                      void (*fn)(void *arg, const char *name), void *arg);
/* The object itself, owned by the arena; false: it must be read. */
bool watchset_unpack(const struct watchset *set, const struct kube_resource *resource,
                     const struct seen *seen, struct arena *arena, struct json_object **out);
/* An object as it was before it was deleted; NULL: not known. Owned by the arena. */
struct json_object *watchset_last(const struct watchset *set, const struct kube_resource *resource,
                                  const char *namespace_, const char *name, struct arena *arena);
/* What the API has answered to a read or a write of ours: it may be newer than what was watched.
 * changed() is called if it is. */
void watchset_learn(struct watchset *set, const struct kube_resource *resource,
                    struct json_object *object);
/* It has answered that this object is gone: the one with the uid, not another of its name. */
void watchset_learn_gone(struct watchset *set, const struct kube_resource *resource,
                         const char *namespace_, const char *name, uint64_t uid);
/* True if WATCHSET_KNOWN. */
bool watchset_look(const struct watchset *set, const struct kube_resource *resource,
                   const char *namespace_, const char *name, const struct seen **out);
/* True when the resource is watched and has been listed, in each namespace: a resource that is not installed never is.
 */
bool watchset_synced(const struct watchset *set, const struct kube_resource *resource);

/* A resource is being listed for the first time. */
bool watchset_listing(const struct watchset *set);

/* Calls fn for each resource that is watched, and each namespace (NULL: all); metadata: only its
 * metadata is. */
void watchset_each(const struct watchset *set,
                   void (*fn)(void *arg, const struct kube_resource *resource,
                              const char *namespace_, bool metadata, const struct store *store),
                   void *arg);

#endif
