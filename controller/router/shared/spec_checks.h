/*
 * Checks of a spec against the capabilities of a mesh.
 *
 * Ignored fields: paths of fields in a spec that a mesh cannot express, for router.h's ignored().
 */
#ifndef ROUTER_SHARED_SPEC_CHECKS_H
#define ROUTER_SHARED_SPEC_CHECKS_H

#include "base/arena.h"
#include "proto/canary.h"

struct ignored {
    struct arena *arena;
    const char *text; /* "a.b, a.c", owned by the arena; NULL if empty */
};

/* Adds "AT.KEY" for each of the keys (NULL-ended) in `from` (an object or NULL). */
void ignored_add(struct ignored *list, struct json_object *from, const char *at,
                 const char *const keys[]);
/* The same for each element of an array (or NULL), "AT[0].KEY". */
void ignored_add_each(struct ignored *list, struct json_object *array, const char *at,
                      const char *const keys[]);
/* These keys of spec.service, and these of the elements of its match, if present; either list may
 * be NULL. */
const char *ignored_of_service(struct arena *arena, const struct canary *canary,
                               const char *const keys[], const char *const match_keys[]);
/* The same for a mesh that uses only Services and weights of spec.service. */
const char *ignored_but_weights(struct arena *arena, const struct canary *canary);

/*
 * Regular expressions of a spec are checked before they go into routes. A gateway that cannot
 * compile one rejects the whole route, and with it every request: an invalid expression is refused
 * while the old route still serves.
 *
 * Each gateway has a dialect of its own (RE2, PCRE, ECMAScript). The check uses the widest, PCRE2:
 * no gateway accepts an expression that PCRE2 rejects. Features that a gateway lacks are not found
 * here.
 */

/* NULL if valid. Otherwise the mistake and its position, "missing closing parenthesis at character
 * 2"; owned by the arena. */
const char *regex_mistake(struct arena *arena, const char *pattern);

#endif
