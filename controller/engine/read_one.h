/* Reads one object, or all of a kind, from the API. */
#ifndef ENGINE_READ_ONE_H
#define ENGINE_READ_ONE_H

#include "engine/context.h"

struct read_one;
/*
 * err ERR_OK: tree is the object, borrowed and valid inside, or NULL when there is none.
 * ERR_NOT_FOUND: there is none, for the API server does not serve the resource. Otherwise info says
 * why it could not be read, and tree is its outline when it takes too much memory, else NULL. Exactly
 * once, never before read_one_start() has returned, not after read_one_free().
 */
typedef void (*read_done_fn)(void *arg, enum err err, struct json_object *tree,
                             const struct errinfo *info);
/* name NULL: a list of all. */
struct read_one *read_one_start(struct engine_context *context,
                                const struct kube_resource *resource, const char *namespace_,
                                const char *name, const char *query, read_done_fn done, void *arg);
void read_one_free(struct read_one *read); /* NULL is allowed */

#endif
