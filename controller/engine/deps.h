/*
 * The dependencies of a Canary: every object that its last tick needed, with the version seen. A
 * watch event with news about one of them wakes the Canary; other events do not.
 *
 * The object cache holds the objects as long as a Canary depends on them. Cached objects are facts
 * unless they are in doubt, because a write based on one was refused.
 */
#ifndef ENGINE_DEPS_H
#define ENGINE_DEPS_H

#include "engine/cache.h"

struct deps_index; /* maps objects to the Canaries that depend on them */
struct deps;       /* one per Canary */

struct deps_index *deps_index_new(void);
void deps_index_free(struct deps_index *index); /* all deps must have been freed before */
/*
 * Calls fn(owner) for each Canary for which the change is news, by the rules of tick/wake.h.
 * hears_status(owner) is true if a change of status alone counts.
 */
void deps_index_changed(struct deps_index *index, const struct kube_resource *resource,
                        const struct cached_object *before, const struct cached_object *after,
                        bool (*hears_status)(void *owner), void (*fn)(void *owner));

/*
 * The resource was listed in full. Calls fn(owner) for each Canary that has read or written an
 * object which is not in the list: it was deleted before the watch started, so no event reports it.
 * Also calls it for each Canary that found the resource not served.
 */
void deps_index_listed(struct deps_index *index, const struct object_cache *cache,
                       const struct kube_resource *resource, void (*fn)(void *owner));

/* True if a Canary depends on the object. */
bool deps_index_has(const struct deps_index *index, const struct kube_resource *resource,
                    const char *namespace_, const char *name);

struct deps *deps_new(struct deps_index *index, void *owner);
void deps_free(struct deps *deps);

/* Starts a tick: no dependency is used yet. */
void deps_begin(struct deps *deps);
/* Ends a tick: dependencies that it did not use are dropped. */
void deps_end(struct deps *deps);
/* A write was refused because the object has changed: a newer version is required. */
void deps_doubt(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                const char *name);
/* Everything must be read from the API server again. */
void deps_doubt_all(struct deps *deps);

enum deps_known {
    DEPS_KNOWN,   /* *tree is the object, owned by the arena; NULL if it does not exist */
    DEPS_SOON,    /* the watch will deliver it soon; read it directly if waiting is impossible */
    DEPS_UNKNOWN, /* it must be read */
};
/* Marks the dependency as used in every case. */
enum deps_known deps_known(struct deps *deps, const struct object_cache *cache,
                           const struct kube_resource *resource, const char *namespace_,
                           const char *name, struct arena *arena, struct json_object **tree);
/* The object was read; tree is NULL if it does not exist. */
void deps_read(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
               const char *name, struct json_object *tree);
/* The resource of the object is not served: if it is listed later, that is news. */
void deps_unserved(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                   const char *name);
/*
 * True if the resource was not served when read, and the watch, which keeps trying, has not listed
 * it since. Never true for scalers: their watch retries rarely.
 */
bool deps_is_unserved(struct deps *deps, const struct object_cache *cache,
                      const struct kube_resource *resource, const char *namespace_,
                      const char *name);
/*
 * True if it did not exist when last read, and the watch of its resource, which would show it, has
 * not since: it need not be read again.
 */
bool deps_is_absent(struct deps *deps, const struct object_cache *cache,
                    const struct kube_resource *resource, const char *namespace_, const char *name);
/* This process wrote the object: its echo from the watch is not news. tree is NULL if it was
 * deleted. */
void deps_wrote(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *tree);

/*
 * The scalers of "Deployment/podinfo" were needed: it is news if a scaler is added, deleted or
 * redirected to another workload, or if the resource becomes served.
 */
void deps_scalers(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                  const char *scales, bool unserved);

/* Number of dependencies of all Canaries. */
size_t deps_index_count(const struct deps_index *index);

#endif
