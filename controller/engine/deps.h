/*
 * What a canary's rules depend on: every object that was asked for in its last tick, at the version
 * it was seen. A watch event on one of them that is news wakes the canary; everything else leaves
 * it asleep.
 *
 * The objects themselves are kept by the watches, as long as somebody depends on them. What they
 * show is a fact, unless there is cause to doubt it: a write that relied on it was refused.
 */
#ifndef ENGINE_DEPS_H
#define ENGINE_DEPS_H

#include "engine/watchset.h"

struct deps_index; /* object -> the canaries that depend on it */
struct deps;       /* one per canary */

struct deps_index *deps_index_new(void);
void deps_index_free(struct deps_index *index); /* every deps must be gone */
/* Calls fn(owner) for each canary for which the change is news, which tick/wake.h decides.
 * hears_status(owner) says whether status alone is. */
void deps_index_changed(struct deps_index *index, const struct kube_resource *resource,
                        const struct seen *before, const struct seen *after,
                        bool (*hears_status)(void *owner), void (*fn)(void *owner));

/*
 * The resource has been listed whole. Calls fn(owner) for each canary that has read or written an
 * object which is not there: it went before the watch had shown it, so that no event tells of it.
 * Also for each that found the resource not served.
 */
void deps_index_listed(struct deps_index *index, const struct watchset *watches,
                       const struct kube_resource *resource, void (*fn)(void *owner));

/* Does any canary depend on the object? */
bool deps_index_has(const struct deps_index *index, const struct kube_resource *resource,
                    const char *namespace_, const char *name);

struct deps *deps_new(struct deps_index *index, void *owner);
void deps_free(struct deps *deps);

/* A tick begins: nothing has been used yet. */
void deps_begin(struct deps *deps);
/* A tick has ended: what it did not use is no dependency any more. */
void deps_end(struct deps *deps);
/* A write of this object was refused, for it is not as it was seen: another version is wanted. */
void deps_doubt(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                const char *name);
/* Everything is to be read from the API once more. */
void deps_doubt_all(struct deps *deps);

enum deps_known {
    DEPS_KNOWN,   /* *tree is the object, owned by the arena; NULL: there is none */
    DEPS_SOON,    /* the watch is about to show it; who cannot wait reads it */
    DEPS_UNKNOWN, /* it must be read */
};
/* Marks the dependency as used in any case. */
enum deps_known deps_known(struct deps *deps, const struct watchset *watches,
                           const struct kube_resource *resource, const char *namespace_,
                           const char *name, struct arena *arena, struct json_object **tree);
/* The object was read (tree NULL: it does not exist). */
void deps_read(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
               const char *name, struct json_object *tree);
/* ... for its resource is not served: when it has been listed, that is news. */
void deps_unserved(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                   const char *name);
/* It was so when it was read, and the watch, which goes on trying, has not listed it since. Not of
 * scalers, whose watch tries rarely. */
bool deps_is_unserved(struct deps *deps, const struct watchset *watches,
                      const struct kube_resource *resource, const char *namespace_,
                      const char *name);
/* We wrote the object ourselves: its echo in the watch is no news. tree NULL: we deleted it. */
void deps_wrote(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *tree);

/* The list of the resource's objects that scale "Deployment/podinfo" was asked for: that one comes,
 * goes or scales another is news; so is that the resource is listed, where it was not served. */
void deps_scalers(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                  const char *scales, bool unserved);

/* How many dependencies all Canaries have together. */
size_t deps_index_count(const struct deps_index *index);

#endif
