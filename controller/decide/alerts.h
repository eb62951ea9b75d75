/*
 * Alerts of a Canary: their receivers, their fields, and which of them are pending.
 *
 * An alert is pending from the status patch that carries its reason until the engine reports it
 * delivered or given up (tick->alerts). `pendingAlerts` of the status lists it, so that after a
 * crash the next process sends it, except to channels that have accepted it according to the
 * status. This costs no extra write, except for removing the last ones from an idle Canary.
 */
#ifndef DECIDE_ALERTS_H
#define DECIDE_ALERTS_H

#include "decide/release.h"
#include "notify/notify.h"

enum { ALERTS_PENDING_MAX = 16, ALERT_CHANNELS_MAX = 16 };

/*
 * The channels for an alert of this severity: the matching ones of analysis.alerts, or otherwise
 * the one of the command line. Invalid entries are left out; the condition AlertsDelivered reports
 * them. The AlertProviders must be known facts, as after the rule alerts_know. Returns their
 * number, at most ALERT_CHANNELS_MAX. Texts belong to the tick.
 */
int alerts_channels(struct tick *tick, const char *severity, struct channel *out);

/* The message to be sent for an alert of the plan. Texts belong to the tick. */
struct alert alerts_message(struct tick *tick, const struct effect *effect);

/*
 * Gives the plan's alerts their keys and records the pending ones; after all rules, before
 * status_write().
 */
void alerts_owe(struct release *r);

/*
 * Renders the body of an alert from the AlertProvider's spec.body: a template (metric/template.h)
 * with the functions key, canary, namespace, severity and text, the map `fields` by
 * alert_identifier(), and the map `json` with all of these quoted for use in JSON: {"msg": {{
 * json.text }}}.
 */

/* *out: owned by the arena, at most 64 KiB; NULL if the channel has no template or does not use
 * one. */
enum err alert_template_render(struct arena *arena, const struct channel *channel,
                               const struct alert *alert, const char **out,
                               struct errinfo *ei) MUST_USE;

#endif
