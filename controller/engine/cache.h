/*
 * The caches of the controller: one of watched objects, and one of Secrets that were read.
 *
 * The object cache: one watch and store per resource, started when a rule first needs an object of
 * it, so that a cluster pays only for the meshes it uses. Objects that Canaries depend on are kept
 * compressed (kube/store.h), so that a watched object is never read again. Secrets and ConfigMaps
 * are watched as metadata only, and cached with the content that was last read.
 */
#ifndef ENGINE_CACHE_H
#define ENGINE_CACHE_H

#include "base/json.h"
#include "engine/claims.h"
#include "engine/context.h"
#include "kube/kept_object.h"
#include "kube/store.h"

/* The cache entry of a watched object. */
struct cached_object {
    struct digest digest;
    /* Hash of everything except bookkeeping metadata and irrelevant status; 0 if only metadata is
     * watched. */
    uint64_t spec_hash;
    struct claim_set *claims; /* for a Canary: its claims */
    bool rests;               /* for a Canary: no release is under way */
    bool releases;            /* for a Canary: a release is under way, and past its gate */
    /*
     * For an autoscaler: "Deployment/podinfo". For a copied config: "Canary/podinfo", its
     * controller. NULL for other objects.
     */
    char *scales;
};

struct object_cache;
struct cache_owner {
    /*
     * before NULL: added; after NULL: deleted; both NULL: the resource was listed in full,
     * possibly again.
     */
    void (*changed)(void *arg, const struct kube_resource *resource,
                    const struct cached_object *before, const struct cached_object *after);
    /*
     * Returns true if a Canary depends on the object. NULL: keep all. Objects that Canaries
     * mention are always kept.
     */
    bool (*wanted)(void *arg, const struct kube_resource *resource, const char *namespace_,
                   const char *name);
    /* A first list has completed or failed; may be NULL. */
    void (*settled)(void *arg);
    void *arg;
};

/* The watched part of the cluster; borrowed. */
struct cache_scope {
    const char *const *namespaces; /* NULL-terminated; NULL for all */
    const char *canary_selector;   /* label selector of Canaries; NULL for any */
    struct kube_client *mesh;      /* for meshed resources; NULL: the same client */
};
struct object_cache *cache_new(struct loop *loop, struct kube_client *kube,
                               const struct cache_scope *scope, const struct cache_owner *owner);
void cache_free(struct object_cache *set);
/* Starts to watch the resource if it is not watched yet. The resource must have static lifetime. */
void cache_add(struct object_cache *set, const struct kube_resource *resource);
enum cache_known {
    CACHE_KNOWN,   /* *out is the entry, NULL if the object does not exist */
    CACHE_SOON,    /* the resource is being listed for the first time */
    CACHE_UNKNOWN, /* the object must be read */
};
enum cache_known cache_find(const struct object_cache *set, const struct kube_resource *resource,
                            const char *namespace_, const char *name,
                            const struct cached_object **out);
/* True if the resource was listed in the namespace: it is served and may be watched. */
bool cache_shows(const struct object_cache *set, const struct kube_resource *resource,
                 const char *namespace_);
/*
 * Calls fn with the name of each object of the resource that scales "Deployment/podinfo", or is
 * controlled by "Canary/podinfo", as far as the watch knows.
 */
void cache_scalers(const struct object_cache *set, const struct kube_resource *resource,
                   const char *namespace_, const char *scales,
                   void (*fn)(void *arg, const char *name), void *arg);
/* The object itself, owned by the arena; false if it must be read. */
bool cache_unpack(const struct object_cache *set, const struct kube_resource *resource,
                  const struct cached_object *seen, struct arena *arena, struct json_object **out);
/* The object in its last state before it was deleted; NULL if unknown. Owned by the arena. */
struct json_object *cache_last(const struct object_cache *set, const struct kube_resource *resource,
                               const char *namespace_, const char *name, struct arena *arena);
/*
 * The answer to one of our own reads or writes, which may be newer than the watch. Calls changed()
 * if it is.
 */
void cache_learn(struct object_cache *set, const struct kube_resource *resource,
                 struct json_object *object);
/* A read found that the object with this uid is gone; another object with the same name is not
 * affected.
 */
void cache_learn_gone(struct object_cache *set, const struct kube_resource *resource,
                      const char *namespace_, const char *name, uint64_t uid);
/* True if cache_find() would return CACHE_KNOWN. */
bool cache_get(const struct object_cache *set, const struct kube_resource *resource,
               const char *namespace_, const char *name, const struct cached_object **out);
/*
 * True if the resource is watched and was listed in each namespace; never true for a resource that
 * is not installed.
 */
bool cache_synced(const struct object_cache *set, const struct kube_resource *resource);

/* True if a resource is being listed for the first time. */
bool cache_listing(const struct object_cache *set);

/*
 * Calls fn for each watched resource and namespace (NULL for all). metadata: only metadata is
 * watched.
 */
void cache_each(const struct object_cache *set,
                void (*fn)(void *arg, const struct kube_resource *resource, const char *namespace_,
                           bool metadata, const struct store *store),
                void *arg);

/*
 * Selection of the fields of watched objects that are kept, and of the objects that are kept before
 * a rule first needs one.
 */

/*
 * The object without large fields that no rule reads, as a new reference that shares the rest.
 * metadata.managedFields keeps the time of the last write to the pod template, which
 * target/shared/workload.h needs.
 */
struct json_object *strip_object(struct json_object *object);

/*
 * Names that specs of Canaries mention, per namespace: their targets, Services, routes and scalers
 * have these names, with or without "-primary" and "-canary". Only a hint, which saves a read after
 * the first list. All names are dropped when they exceed MENTIONS_MAX.
 */
enum { MENTIONS_MAX = 4 * 1024 * 1024 };
void mentions_add(struct object_presence *mentions, struct json_object *canary);
bool mentions_has(const struct object_presence *mentions, const char *namespace_, const char *name);

/* Reads one object, or lists a kind, from the API. */

struct object_read;
/*
 * ERR_OK: tree is the object, borrowed and valid in the call, or NULL if it does not exist.
 * ERR_NOT_FOUND: the API server does not serve the resource. Otherwise info says why it could not
 * be read; tree is its outline if it exceeds the memory limit, otherwise NULL. Called exactly once,
 * never before object_read_start() has returned, never after object_read_free().
 */
typedef void (*read_done_fn)(void *arg, enum err err, struct json_object *tree,
                             const struct errinfo *info);
/* name NULL lists all. */
struct object_read *object_read_start(struct engine_context *context,
                                      const struct kube_resource *resource, const char *namespace_,
                                      const char *name, const char *query, read_done_fn done,
                                      void *arg);
void object_read_free(struct object_read *read); /* NULL is allowed */

/*
 * --- Cache of the Secrets from which webhooks take headers and certificates: read when first
 * needed, and again only when the watch, which carries metadata only, shows another version. Holds
 * the last SECRETS_MAX.
 */
enum { SECRETS_MAX = 64 };

struct secrets;
struct secrets *secrets_new(struct engine_context *context);
void secrets_free(struct secrets *secrets); /* no read may be under way */

/*
 * True if the cache is current: *tree is the Secret, borrowed until the next call, or NULL if it
 * does not exist. False: call secrets_read().
 */
bool secrets_cached(struct secrets *secrets, const char *namespace_, const char *name,
                    struct json_object **tree);

/* True if the Secret is cached, so that its changes matter. */
bool secrets_keep(const struct secrets *secrets, const char *namespace_, const char *name);

/* Reads and caches the Secret. done: as for object_read_start(). */
struct secret_read;
struct secret_read *secrets_read(struct secrets *secrets, const char *namespace_, const char *name,
                                 read_done_fn done, void *arg);
void secret_read_free(struct secret_read *read); /* NULL is allowed */

#endif
