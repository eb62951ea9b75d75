/*
 * The alerts of a Canary: whom they are for, what they carry beside their text, and which are owed.
 *
 * An alert is owed from the status patch that its reason is written with until the engine says that
 * it was delivered or given up (tick->alerts): `pendingAlerts` of the status holds it, so that it is
 * told by whoever decides next, should this process end before that, but for the channels that the
 * status says have taken it. It costs no write of its own but the one that takes the last ones away
 * from an idle Canary.
 */
#ifndef DECIDE_ALERTS_H
#define DECIDE_ALERTS_H

#include "decide/release/release.h"
#include "notify/notify.h"

enum { ALERTS_PENDING_MAX = 16, ALERT_CHANNELS_MAX = 16 };

/*
 * The channels that an alert of this severity goes to: those of analysis.alerts that listen to it;
 * without any, that of the options. Entries that cannot be understood are left out; the condition
 * AlertsDelivered tells them. The AlertProviders must be known facts, as they are after the rule
 * alerts_know. At most ALERT_CHANNELS_MAX; returns how many. Texts are the tick's.
 */
int alerts_channels(struct tick *tick, const char *severity, struct channel *out);

/* The first entry of analysis.alerts that nothing can be sent to, as a sentence; NULL: none, or not
 * all AlertProviders are known yet. */
const char *alerts_mistake(struct release *r);

/* What the alert of the plan says, to be sent. Texts are the tick's. */
struct alert alerts_message(struct tick *tick, const struct effect *effect);

/* Plans those that an earlier tick left and that nobody is sending, for the process that was to is
 * gone. Before any rule that tells something, since they came first, and when it is known whom they
 * are for. */
void alerts_repeat(struct release *r);

/* Gives the plan's alerts their keys and writes down which are owed; after every rule, before
 * status_write(). */
void alerts_owe(struct release *r);

#endif
