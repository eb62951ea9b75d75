/*
 * What must hold of a cluster that is seen, whatever has been edited. Each function looks at one
 * thing: NULL, or a sentence about what is broken, owned by the arena. The judge knows how long
 * something may be so, and what excuses it.
 */
#ifndef EDITS_INVARIANT_H
#define EDITS_INVARIANT_H

#include "random_edits/view.h"

/* No Service of the app selects a pod of another workload. */
const char *invariant_owner(struct arena *arena, const struct view *view, const struct app *app);

/* A Service that was written leads to no ready pod, though the selector that it had would. */
const char *invariant_emptied(struct arena *arena, const struct view *view, const char *service,
                              struct json_object *former);

/* No side has a share and no ready endpoint while the other one could serve it: the canary's share
 * in any case, the primary's while the canary has one as well. */
enum share { SHARE_SERVED, SHARE_OF_CANARY, SHARE_OF_PRIMARY };
enum share invariant_share(const struct view *view, const struct app *app);

/* Ready pods of both sides before a step: as many as the primary surely had, and the other way
 * round, what the canary had at most. */
struct sides {
    size_t primary_least, primary_most, canary_least, canary_most;
};
/* No step goes to a side with less capacity than its share; most: of the target's scaler, 0: it has
 * none. */
const char *invariant_capacity(struct arena *arena, struct json_object *before,
                               struct json_object *now, const struct sides *sides, int64_t most);
/* The Canary says that its steps may lead to any number of pods, or has none. */
bool invariant_any_capacity(struct json_object *canary);
/* The controller has made `now` of `before`. */
bool invariant_is_by_controller(struct json_object *before, struct json_object *now);
/* The greatest number of pods that an autoscaler lets the Deployment have, 0: none scales it. */
int64_t invariant_most(const struct view *view, const char *deployment);

/* The controller has not written the number of a Deployment that an autoscaler of others owns, but
 * as its least number says. own: an autoscaler of the Canary, which is none; NULL if there is none. */
const char *invariant_number(struct arena *arena, const struct view *view, const char *own,
                             struct json_object *before, struct json_object *now);

/* A write that is refused for good is told once, and not at every tick; now_ms: monotonic. */
const char *invariant_told(struct arena *arena, const struct warning *warning, int64_t now_ms);

/* Behind a promotion there is no copy of a config that the primary does not read. */
const char *invariant_copies(struct arena *arena, const struct view *view, const struct app *app);

#endif
