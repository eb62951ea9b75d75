/*
 * Alerts being delivered, from the plan that sends one until the status of its Canary no longer
 * lists it (decide/alerts.h). The rules see them through alert_deliveries_states().
 */
#ifndef ENGINE_ALERT_DELIVERIES_H
#define ENGINE_ALERT_DELIVERIES_H

#include "engine/context.h"
#include "tick/plan.h"

struct alert_deliveries;
/* wake: called when the state of an alert of this Canary has changed. */
struct alert_deliveries *
alert_deliveries_new(struct engine_context *context,
                     void (*wake)(void *arg, const char *namespace_, const char *name), void *arg);
/* Call after outbox_free(), which stops all reports. */
void alert_deliveries_free(struct alert_deliveries *alerts);

/* Sends an alert of the plan to its channels; a known key is not sent again. */
void alert_deliveries_take(struct alert_deliveries *alerts, struct tick *tick,
                           const struct effect *effect);

/* The alerts of the Canary, for its tick. Drops the alerts that are delivered and no longer
 * pending. */
const struct alert_state *alert_deliveries_states(struct alert_deliveries *alerts,
                                                  struct arena *arena, const struct canary *canary,
                                                  int *n);
/* The Canary was deleted: alerts being delivered are still sent. */
void alert_deliveries_forget(struct alert_deliveries *alerts, const char *namespace_,
                             const char *name);

#endif
