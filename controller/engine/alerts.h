/*
 * The alerts that this process sends, from the plan that leaves one until its Canary no longer says
 * that it is owed (decide/act/alerts.h). What the rules know of them is alerts_states().
 */
#ifndef ENGINE_ALERTS_H
#define ENGINE_ALERTS_H

#include "engine/context.h"

struct alerts;
/* wake: the state of an alert of this Canary has changed. */
struct alerts *alerts_new(struct engine_context *context,
                          void (*wake)(void *arg, const char *namespace_, const char *name),
                          void *arg);
/* After outbox_free(), so that nothing is told any more. */
void alerts_free(struct alerts *alerts);

/* Sends an alert of the plan to whoever listens; one whose key is known already is not sent again.
 */
void alerts_take(struct alerts *alerts, struct tick *tick, const struct effect *effect);

/* Those of the Canary, for its tick. Forgets what is done and no longer owed. */
const struct alert_state *alerts_states(struct alerts *alerts, struct arena *arena,
                                        const struct canary *canary, int *n);
/* The Canary is gone: what is under way is still sent. */
void alerts_forget(struct alerts *alerts, const char *namespace_, const char *name);

#endif
