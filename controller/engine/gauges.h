/* The controller's own metrics, with Flagger's names and labels (metric/METRICS.md):
 * `name` is the target's. */
#ifndef ENGINE_GAUGES_H
#define ENGINE_GAUGES_H

#include "tick/tick.h"

void gauges_info(const char *version, const char *mesh_provider);
void gauges_total(const char *namespace_, int delta);
/* Removes every sample of a target that no Canary releases any more. */
void gauges_forget(const char *target, const char *namespace_);
/* What the status says; nothing of a Canary that has none yet. */
void gauges_canary(const struct canary *canary);
void gauges_status(const struct canary *canary, enum phase phase);
void gauges_weights(const struct canary *canary, int primary, int canary_weight);
void gauges_analysis(const struct canary *canary, const char *metric, double value);
/* Those of an EFFECT_METRIC. */
void gauges_bounds(const struct canary *canary, const struct effect *effect);
/* How much later than it was due a step began; how long a webhook took to answer. */
void gauges_lag_seconds(double seconds);
void gauges_hook_seconds(double seconds, bool passed);
/* Seconds a tick took; only of ticks that ran gates or checks. */
void gauges_tick_seconds(const struct canary *canary, double seconds);
void gauges_outcome(const struct canary *canary, bool success, const char *how);
void gauges_effect(const char *kind, const char *result);
/* A release of another controller moved; result: observed_name(). */
void gauges_observed(const char *namespace_, const char *result);

/* Canaries of ours that the controller of this lease drives; negative: forget it. */
void gauges_other(const char *lease, int canaries);

/* Releases under way, and those that wait for their turn. */
void gauges_releases(int under_way, int waiting);

#endif
