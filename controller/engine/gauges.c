#include "engine/gauges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expo.h"
#include "base/table.h"

/* The samples of a metric of Canaries, of which there may be many. */
enum { OF_CANARIES = 1000 * 1000 };

/* What is shown of each target that a Canary releases. Each has all three, so that they are kept
 * as one, and become samples when they are asked for. One block, with the names behind it. */
struct shown {
    const char *target, *namespace_;
    int status, primary_weight, canary_weight; /* NOT_KNOWN: not shown */
};

enum { NOT_KNOWN = -1 };

static void key_of(const void *item, const char **target, const char **namespace_)
{
    const struct shown *shown = item;

    *target = shown->target;
    *namespace_ = shown->namespace_;
}

static struct table all = {.key = key_of};

static void tell_status(struct expo_telling *telling)
{
    const struct shown *shown;

    for (size_t i = 0; (shown = table_next(&all, &i));)
        if (shown->status != NOT_KNOWN)
            expo_tell(telling, shown->status, shown->target, shown->namespace_);
}

static void tell_weights(struct expo_telling *telling)
{
    const struct shown *shown;
    char primary[300];

    for (size_t i = 0; (shown = table_next(&all, &i));) {
        if (shown->primary_weight == NOT_KNOWN)
            continue;
        snprintf(primary, sizeof(primary), "%s-primary", shown->target);
        expo_tell(telling, shown->primary_weight, primary, shown->namespace_);
        expo_tell(telling, shown->canary_weight, shown->target, shown->namespace_);
    }
}

static struct expo_metric info = {.name = "flagger_info",
                                  .help = "Version and mesh provider of this controller",
                                  .type = EXPO_GAUGE,
                                  .labels = {"version", "mesh_provider"}};
static struct expo_metric total = {.name = "flagger_canary_total",
                                   .help = "Canaries that are looked after, by namespace",
                                   .type = EXPO_GAUGE,
                                   .labels = {"namespace"},
                                   .max_samples = OF_CANARIES};
static struct expo_metric status = {
    .name = "flagger_canary_status",
    .help = "Last known state of a release: 0 running, 1 successful, 2 failed",
    .type = EXPO_GAUGE,
    .labels = {"name", "namespace"},
    .tell = tell_status};
static struct expo_metric weight = {.name = "flagger_canary_weight",
                                    .help = "Percent of the traffic that a workload gets",
                                    .type = EXPO_GAUGE,
                                    .labels = {"workload", "namespace"},
                                    .tell = tell_weights};
static struct expo_metric analysis = {.name = "flagger_canary_metric_analysis",
                                      .help = "Last value of an analysed metric",
                                      .type = EXPO_GAUGE,
                                      .labels = {"name", "namespace", "metric"},
                                      .max_samples = OF_CANARIES};
static struct expo_metric bound = {
    .name = "flagger_canary_metric_bound",
    .help = "What an analysed metric may be: min and max, where there are",
    .type = EXPO_GAUGE,
    .labels = {"name", "namespace", "metric", "bound"},
    .max_samples = OF_CANARIES};
static struct expo_metric lag = {.name = "flagger_tick_lag_seconds",
                                 .help = "How much later than it was due a step began",
                                 .type = EXPO_HISTOGRAM};
static struct expo_metric hooks = {.name = "flagger_webhook_duration_seconds",
                                   .help = "How long a webhook that was waited for took, with its "
                                           "retries",
                                   .type = EXPO_HISTOGRAM,
                                   .labels = {"passed"}};
static struct expo_metric duration = {.name = "flagger_canary_duration_seconds",
                                      .help = "Seconds a tick with gates or checks took",
                                      .type = EXPO_HISTOGRAM,
                                      .labels = {"name", "namespace"},
                                      .max_samples = OF_CANARIES};
static struct expo_metric successes = {
    .name = "flagger_canary_successes_total",
    .help = "Releases that were promoted",
    .type = EXPO_COUNTER,
    .labels = {"name", "namespace", "deployment_strategy", "analysis_status"},
    .max_samples = OF_CANARIES};
static struct expo_metric failures = {
    .name = "flagger_canary_failures_total",
    .help = "Releases that were rolled back",
    .type = EXPO_COUNTER,
    .labels = {"name", "namespace", "deployment_strategy", "analysis_status"},
    .max_samples = OF_CANARIES};
static struct expo_metric effects = {.name = "flagger_effects_total",
                                     .help = "Steps that were carried out, by kind and result",
                                     .type = EXPO_COUNTER,
                                     .labels = {"kind", "result"}};

static struct expo_metric observed = {
    .name = "flagger_observed_steps_total",
    .help = "Steps of another controller, by whether they were foreseen (--observe)",
    .type = EXPO_COUNTER,
    .labels = {"namespace", "result"}};

static struct expo_metric releases = {
    .name = "flagger_releases",
    .help = "Releases of all Canaries: under way, and waiting for their turn to begin",
    .type = EXPO_GAUGE,
    .labels = {"state"}};

static struct expo_metric others = {
    .name = "flagger_canaries_of_others",
    .help = "Canaries that another controller drives, by its lease; their parts overlap",
    .type = EXPO_GAUGE,
    .labels = {"controller"}};

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
    free(table_take(&all, target, namespace_));
    if (all.count == 0)
        table_fini(&all);
    expo_forget(&duration, target, namespace_);
    expo_forget_all(&analysis, target, namespace_);
    expo_forget_all(&bound, target, namespace_);
    expo_forget_all(&successes, target, namespace_);
    expo_forget_all(&failures, target, namespace_);
}

static struct shown *shown_of(const struct canary *canary)
{
    const char *target = canary->target.name;
    size_t target_size = strlen(target) + 1, size = strlen(canary->namespace_) + 1;
    struct shown *shown = table_get(&all, target, canary->namespace_);

    if (shown)
        return shown;
    shown = heap_alloc(sizeof(*shown) + target_size + size);
    char *texts = (char *)(shown + 1);
    *shown = (struct shown){.target = memcpy(texts, target, target_size),
                            .namespace_ = memcpy(texts + target_size, canary->namespace_, size),
                            .status = NOT_KNOWN,
                            .primary_weight = NOT_KNOWN};
    (void)table_put(&all, shown);
    return shown;
}

void gauges_status(const struct canary *canary, enum phase phase)
{
    expo_register(&status);
    shown_of(canary)->status = phase == PHASE_Progressing ? 0 : phase == PHASE_Failed ? 2 : 1;
}

void gauges_weights(const struct canary *canary, int primary_weight, int canary_weight)
{
    struct shown *shown = shown_of(canary);

    expo_register(&weight);
    shown->primary_weight = primary_weight;
    shown->canary_weight = canary_weight;
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

static void show_bound(const struct canary *canary, const char *metric, const char *which, bool has,
                       double value)
{
    const char *target = canary->target.name, *namespace_ = canary->namespace_;

    if (has)
        expo_set(&bound, value, target, namespace_, metric, which);
    else
        expo_forget(&bound, target, namespace_, metric, which);
}

void gauges_bounds(const struct canary *canary, const struct effect *effect)
{
    show_bound(canary, effect->text, "min", effect->has_min, effect->min);
    show_bound(canary, effect->text, "max", effect->has_max, effect->max);
}

void gauges_lag_seconds(double seconds)
{
    expo_observe(&lag, seconds);
}

void gauges_hook_seconds(double seconds, bool passed)
{
    expo_observe(&hooks, seconds, passed ? "true" : "false");
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

void gauges_other(const char *lease, int canaries)
{
    if (canaries < 0)
        expo_forget(&others, lease);
    else
        expo_set(&others, canaries, lease);
}

void gauges_effect(const char *kind, const char *result)
{
    expo_add(&effects, 1, kind, result);
}

void gauges_observed(const char *namespace_, const char *result)
{
    expo_add(&observed, 1, namespace_, result);
}
