/* The paths of fields that a spec gives and a mesh has no word for, gathered for router.h's
 * ignored(). */
#ifndef ROUTER_COMMON_IGNORED_H
#define ROUTER_COMMON_IGNORED_H

#include "proto/canary.h"

struct ignored {
    struct arena *arena;
    const char *text; /* "a.b, a.c", owned by the arena; NULL: empty */
};

/* Adds "AT.KEY" for each of the keys (NULL-ended) that `from` (an object or NULL) has. */
void ignored_add(struct ignored *list, struct json_object *from, const char *at,
                 const char *const keys[]);
/* The same for each element of an array (or NULL), "AT[0].KEY". */
void ignored_add_each(struct ignored *list, struct json_object *array, const char *at,
                      const char *const keys[]);
/* What is given of these keys of spec.service, and of these of the elements of its match; either may
 * be NULL. */
const char *ignored_of_service(struct arena *arena, const struct canary *canary,
                               const char *const keys[], const char *const match_keys[]);
/* The same for a mesh that knows nothing of spec.service but Services and weights. */
const char *ignored_but_weights(struct arena *arena, const struct canary *canary);

#endif
