/*
 * What a canary's rules depend on: every object that was asked for in its last tick, at the version
 * it was seen. A watch event on one of them that is news wakes the canary; everything else leaves
 * it asleep.
 *
 * While a release runs the trees are kept too, and serve as facts for as long as the watch says
 * that their version is the current one; large ones are read anew, and all are while there are
 * many. An idle canary keeps only the versions.
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
 */
void deps_index_listed(struct deps_index *index, const struct watchset *watches,
                       const struct kube_resource *resource, void (*fn)(void *owner));

struct deps *deps_new(struct deps_index *index, void *owner);
void deps_free(struct deps *deps);

/* A tick begins: nothing has been used yet. */
void deps_begin(struct deps *deps);
/* A tick has ended: what it did not use is no dependency any more; trees go unless keep_trees. */
void deps_end(struct deps *deps, bool keep_trees);
/* Another read is wanted of everything (after a conflict). */
void deps_forget_trees(struct deps *deps);

/*
 * True when the object is known at the version the watch has now; *tree is then its tree (borrowed)
 * or NULL when there is none. Marks the dependency as used in either case.
 */
bool deps_known(struct deps *deps, const struct watchset *watches,
                const struct kube_resource *resource, const char *namespace_, const char *name,
                struct json_object **tree);
/* The object was read (tree NULL: it does not exist). A reference to the tree is taken. */
void deps_read(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
               const char *name, struct json_object *tree);
/* We wrote the object ourselves: its echo in the watch is no news. */
void deps_wrote(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *tree);

/* What is kept of the object, for those who look only: the tree as it was last read or written
 * (borrowed), NULL when none is kept. */
struct json_object *deps_peek(const struct deps *deps, const struct kube_resource *resource,
                              const char *namespace_, const char *name);
/* How many dependencies all Canaries have together, and how many of them keep a tree. */
void deps_index_count(const struct deps_index *index, size_t *deps, size_t *trees);

#endif
