/*
 * Which Canary claims which target and Service names (apex, -primary, -canary; the routes have the
 * apex's name), so that no two ever work on the same. Known from the watch before any of them runs,
 * and the same on every replica.
 *
 * A Canary claims what its spec names, and holds what it has been accepted with. A Canary that
 * holds a name comes before one that only claims it. Of two that are alike in this the older comes
 * first, and of two made in the same second the one with the smaller uid. The other one is refused.
 */
#ifndef ENGINE_CLAIMS_H
#define ENGINE_CLAIMS_H

#include <stdbool.h>

#include "base/json.h"

/* What one Canary claims. On the heap, without references to the object. */
struct claim_set;
/* Never NULL; a spec that names nothing claims nothing. */
struct claim_set *claim_set_read(struct json_object *canary);
void claim_set_free(struct claim_set *set); /* NULL is allowed */
bool claim_set_same(const struct claim_set *one, const struct claim_set *other);

struct claims;
struct claims *claims_new(void);
void claims_free(struct claims *claims);
/* The set is borrowed until it is dropped. Constant time, however many Canaries there are. */
void claims_add(struct claims *claims, struct claim_set *set);
void claims_drop(struct claims *claims, struct claim_set *set);
/* Calls fn for each other Canary that claims something of it, perhaps more than once. */
void claims_neighbours(const struct claims *claims, const struct claim_set *set,
                       void (*fn)(void *arg, const char *namespace_, const char *name), void *arg);

/* How a Canary stands to the others; texts are owned by the arena. */
struct rivalry {
    const char *rival; /* a sentence: which Canary comes first, and what both name; NULL: none */
    bool barred;       /* nothing of what it holds is its own any more: it must touch nothing */
    const char *heir;  /* "name.namespace" of another that claims its target and is not being
                        * deleted; NULL: nobody */
};
struct rivalry claims_judge(const struct claims *claims, struct arena *arena,
                            struct json_object *canary);

#endif
