/*
 * Who wakes the canary of a golden world, by the engine's own rule (tick/wake.h): world_turn()
 * ticks only where the engine would.
 */
#ifndef GOLDEN_WORLD_WAKE_H
#define GOLDEN_WORLD_WAKE_H

#include "world.h"

/* An object was changed, by whomever. */
void world_wake_changed(struct world *world, const char *key, struct json_object *before,
                        struct json_object *after);
/* A tick begins; it asked for an object; its plan is known; the plan was carried out. */
void world_wake_begin(struct world *world);
void world_wake_asked(struct world *world, const char *key);
void world_wake_planned(struct world *world, const struct tick *tick);
void world_wake_end(struct world *world, int64_t interval_ms);

#endif
