#include "engine/gauges.h"

#include <stdio.h>

#include "base/expo.h"

static struct expo_metric info = {.name = "flagger_info",
                                  .help = "Version and mesh provider of this controller",
                                  .type = EXPO_GAUGE,
                                  .labels = {"version", "mesh_provider"}};
static struct expo_metric total = {.name = "flagger_canary_total",
                                   .help = "Canaries that are looked after, by namespace",
                                   .type = EXPO_GAUGE,
                                   .labels = {"namespace"}};
static struct expo_metric status = {
    .name = "flagger_canary_status",
    .help = "Last known state of a release: 0 running, 1 successful, 2 failed",
    .type = EXPO_GAUGE,
    .labels = {"name", "namespace"}};
static struct expo_metric weight = {.name = "flagger_canary_weight",
                                    .help = "Percent of the traffic that a workload gets",
                                    .type = EXPO_GAUGE,
                                    .labels = {"workload", "namespace"}};
static struct expo_metric analysis = {.name = "flagger_canary_metric_analysis",
                                      .help = "Last value of an analysed metric",
                                      .type = EXPO_GAUGE,
                                      .labels = {"name", "namespace", "metric"}};
static struct expo_metric duration = {.name = "flagger_canary_duration_seconds",
                                      .help = "Seconds a tick with gates or checks took",
                                      .type = EXPO_HISTOGRAM,
                                      .labels = {"name", "namespace"}};
static struct expo_metric successes = {
    .name = "flagger_canary_successes_total",
    .help = "Releases that were promoted",
    .type = EXPO_COUNTER,
    .labels = {"name", "namespace", "deployment_strategy", "analysis_status"}};
static struct expo_metric failures = {
    .name = "flagger_canary_failures_total",
    .help = "Releases that were rolled back",
    .type = EXPO_COUNTER,
    .labels = {"name", "namespace", "deployment_strategy", "analysis_status"}};
static struct expo_metric effects = {.name = "flagger_effects_total",
                                     .help = "Steps that were carried out, by kind and result",
                                     .type = EXPO_COUNTER,
                                     .labels = {"kind", "result"}};

static struct expo_metric releases = {
    .name = "flagger_releases",
    .help = "Releases of all Canaries: under way, and waiting for their turn to begin",
    .type = EXPO_GAUGE,
    .labels = {"state"}};

void gauges_info(const char *version, const char *mesh_provider)
{
    expo_set(&info, 1, version, mesh_provider);
}

void gauges_total(const char *namespace_, int delta)
{
    expo_add(&total, delta, namespace_);
}

void gauges_forget(const char *target, const char *namespace_)
{
    char primary[300];
    snprintf(primary, sizeof(primary), "%s-primary", target);
    expo_forget(&status, target, namespace_);
    expo_forget(&weight, target, namespace_);
    expo_forget(&weight, primary, namespace_);
    expo_forget(&duration, target, namespace_);
    expo_forget_all(&analysis, target, namespace_);
    expo_forget_all(&successes, target, namespace_);
    expo_forget_all(&failures, target, namespace_);
}

void gauges_status(const struct canary *canary, enum phase phase)
{
    double value = phase == PHASE_Progressing ? 0 : phase == PHASE_Failed ? 2 : 1;
    expo_set(&status, value, canary->target.name, canary->namespace_);
}

void gauges_weights(const struct canary *canary, int primary_weight, int canary_weight)
{
    char primary[300];
    snprintf(primary, sizeof(primary), "%s-primary", canary->target.name);
    expo_set(&weight, primary_weight, primary, canary->namespace_);
    expo_set(&weight, canary_weight, canary->target.name, canary->namespace_);
}

void gauges_canary(const struct canary *canary)
{
    int weight_now = canary->status.canary_weight;

    if (canary->status.phase == PHASE_NONE)
        return;
    gauges_status(canary, canary->status.phase);
    gauges_weights(canary, 100 - weight_now, weight_now);
}

void gauges_analysis(const struct canary *canary, const char *metric, double value)
{
    expo_set(&analysis, value, canary->target.name, canary->namespace_, metric);
}

void gauges_tick_seconds(const struct canary *canary, double seconds)
{
    expo_observe(&duration, seconds, canary->target.name, canary->namespace_);
}

void gauges_outcome(const struct canary *canary, bool success, const char *how)
{
    expo_add(success ? &successes : &failures, 1, canary->target.name, canary->namespace_,
             strategy_name(canary->strategy), how);
}

void gauges_releases(int under_way, int waiting)
{
    expo_set(&releases, under_way, "under_way");
    expo_set(&releases, waiting, "waiting");
}

void gauges_effect(const char *kind, const char *result)
{
    expo_add(&effects, 1, kind, result);
}
