/*
 * The controller's own metrics, with Flagger's names and labels (metric/METRICS.md): `name` is the
 * name of the target.
 */
#ifndef ENGINE_CONTROLLER_METRICS_H
#define ENGINE_CONTROLLER_METRICS_H

#include "tick/plan.h"
#include "tick/tick.h"

void controller_metrics_info(const char *version, const char *mesh_provider);
void controller_metrics_total(const char *namespace_, int delta);
/* Removes every sample of a target that no Canary releases any longer. */
void controller_metrics_forget(const char *target, const char *namespace_);
/* Exports the status; does nothing if the Canary has none yet. */
void controller_metrics_canary(const struct canary *canary);
void controller_metrics_status(const struct canary *canary, enum phase phase);
void controller_metrics_weights(const struct canary *canary, int primary, int canary_weight);
void controller_metrics_analysis(const struct canary *canary, const char *metric, double value);
/* Exports the bounds of an EFFECT_METRIC. */
void controller_metrics_bounds(const struct canary *canary, const struct effect *effect);
/* Delay of a step after its due time; duration of a webhook. */
void controller_metrics_lag_seconds(double seconds);
void controller_metrics_hook_seconds(double seconds, bool passed);
/* Duration of a tick; only for ticks with gates or checks. */
void controller_metrics_tick_seconds(const struct canary *canary, double seconds);
void controller_metrics_outcome(const struct canary *canary, bool success, const char *how);
void controller_metrics_effect(const char *kind, const char *result);
/* The release of another controller has advanced; result: observed_name(). */
void controller_metrics_observed(const char *namespace_, const char *result);

/* Number of our Canaries driven by the controller with this lease; negative removes the sample. */
void controller_metrics_other(const char *lease, int canaries);

/* Numbers of releases under way and waiting for a slot. */
void controller_metrics_releases(int under_way, int waiting);

#endif
