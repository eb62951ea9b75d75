/*
 * Claims of Canaries on targets and Service names (apex, -primary, -canary; routes have the apex
 * name): no two Canaries may work on the same object. Claims are known from the watch before the
 * first run, and identical on every replica.
 *
 * A Canary claims the names in its spec and holds those of its accepted spec. Holding comes before
 * claiming; then the older Canary comes first; of two created in the same second, the one with the
 * smaller uid. The other Canary is refused.
 */
#ifndef ENGINE_CLAIMS_H
#define ENGINE_CLAIMS_H

#include <stdbool.h>

#include "base/json.h"

/* The claims of one Canary. On the heap, without references to the object. */
struct claim_set;
/* Never NULL; empty if the spec names nothing. */
struct claim_set *claim_set_read(struct json_object *canary);
void claim_set_free(struct claim_set *set); /* NULL is allowed */
bool claim_set_same(const struct claim_set *one, const struct claim_set *other);

struct claims;
struct claims *claims_new(void);
void claims_free(struct claims *claims);
/* The set is borrowed until claims_drop(). O(1). */
void claims_add(struct claims *claims, struct claim_set *set);
void claims_drop(struct claims *claims, struct claim_set *set);
/* Calls fn for each other Canary that shares a claim with the set, possibly more than once. */
void claims_neighbours(const struct claims *claims, const struct claim_set *set,
                       void (*fn)(void *arg, const char *namespace_, const char *name), void *arg);

/* Conflicts of a Canary with others on the same target or Services; texts are owned by the arena.
 */
struct claim_conflict {
    /* A sentence with the Canary that comes first and the shared name; NULL if there is none. */
    const char *conflict;
    bool locked_out; /* everything that it holds belongs to another Canary: it must touch nothing */
    /* "name.namespace" of another Canary that claims the target and is not being deleted; NULL
     * if none. */
    const char *successor;
};
struct claim_conflict claims_check(const struct claims *claims, struct arena *arena,
                                   struct json_object *canary);

#endif
