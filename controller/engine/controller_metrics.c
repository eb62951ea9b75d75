#include "engine/controller_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "base/table.h"

/* Limit of samples for metrics per Canary. */
enum { OF_CANARIES = 1000 * 1000 };

/*
 * The values exported for each target of a Canary, kept together and turned into samples on demand.
 * One allocation, followed by the names.
 */
struct shown {
    const char *target, *namespace_;
    int status, primary_weight, canary_weight; /* NOT_KNOWN: not exported */
};

enum { NOT_KNOWN = -1 };

static void key_of(const void *item, const char **target, const char **namespace_)
{
    const struct shown *shown = item;

    *target = shown->target;
    *namespace_ = shown->namespace_;
}

static struct table all = {.key = key_of};

static void tell_status(struct metrics_writer *writer)
{
    const struct shown *shown;

    for (size_t i = 0; (shown = table_next(&all, &i));)
        if (shown->status != NOT_KNOWN)
            metrics_report(writer, shown->status, shown->target, shown->namespace_);
}

static double percent(int weight)
{
    return (double)weight / WEIGHT_PERCENT;
}

static void tell_weights(struct metrics_writer *writer)
{
    const struct shown *shown;
    char primary[300];

    for (size_t i = 0; (shown = table_next(&all, &i));) {
        if (shown->primary_weight == NOT_KNOWN)
            continue;
        snprintf(primary, sizeof(primary), "%s-primary", shown->target);
        metrics_report(writer, percent(shown->primary_weight), primary, shown->namespace_);
        metrics_report(writer, percent(shown->canary_weight), shown->target, shown->namespace_);
    }
}

static struct metrics_family info = {.name = "flagger_info",
                                     .help = "Version and mesh provider of this controller",
                                     .type = METRICS_GAUGE,
                                     .labels = {"version", "mesh_provider"}};
static struct metrics_family total = {.name = "flagger_canary_total",
                                      .help = "Canaries that are looked after, by namespace",
                                      .type = METRICS_GAUGE,
                                      .labels = {"namespace"},
                                      .max_samples = OF_CANARIES};
static struct metrics_family status = {
    .name = "flagger_canary_status",
    .help = "Last known state of a release: 0 running, 1 successful, 2 failed",
    .type = METRICS_GAUGE,
    .labels = {"name", "namespace"},
    .report = tell_status};
static struct metrics_family weight = {.name = "flagger_canary_weight",
                                       .help = "Percent of the traffic that a workload gets",
                                       .type = METRICS_GAUGE,
                                       .labels = {"workload", "namespace"},
                                       .report = tell_weights};
static struct metrics_family analysis = {.name = "flagger_canary_metric_analysis",
                                         .help = "Last value of an analysed metric",
                                         .type = METRICS_GAUGE,
                                         .labels = {"name", "namespace", "metric"},
                                         .max_samples = OF_CANARIES};
static struct metrics_family bound = {
    .name = "flagger_canary_metric_bound",
    .help = "What an analysed metric may be: min and max, where there are",
    .type = METRICS_GAUGE,
    .labels = {"name", "namespace", "metric", "bound"},
    .max_samples = OF_CANARIES};
static struct metrics_family lag = {.name = "flagger_tick_lag_seconds",
                                    .help = "How much later than it was due a step began",
                                    .type = METRICS_HISTOGRAM};
static struct metrics_family hooks = {.name = "flagger_webhook_duration_seconds",
                                      .help =
                                          "How long a webhook that was waited for took, with its "
                                          "retries",
                                      .type = METRICS_HISTOGRAM,
                                      .labels = {"passed"}};
static struct metrics_family duration = {.name = "flagger_canary_duration_seconds",
                                         .help = "Seconds a tick with gates or checks took",
                                         .type = METRICS_HISTOGRAM,
                                         .labels = {"name", "namespace"},
                                         .max_samples = OF_CANARIES};
static struct metrics_family successes = {
    .name = "flagger_canary_successes_total",
    .help = "Releases that were promoted",
    .type = METRICS_COUNTER,
    .labels = {"name", "namespace", "deployment_strategy", "analysis_status"},
    .max_samples = OF_CANARIES};
static struct metrics_family failures = {
    .name = "flagger_canary_failures_total",
    .help = "Releases that were rolled back",
    .type = METRICS_COUNTER,
    .labels = {"name", "namespace", "deployment_strategy", "analysis_status"},
    .max_samples = OF_CANARIES};
static struct metrics_family effects = {.name = "flagger_effects_total",
                                        .help = "Steps that were carried out, by kind and result",
                                        .type = METRICS_COUNTER,
                                        .labels = {"kind", "result"}};

static struct metrics_family observed = {
    .name = "flagger_observed_steps_total",
    .help = "Steps of another controller, by whether they were foreseen (--observe)",
    .type = METRICS_COUNTER,
    .labels = {"namespace", "result"}};

static struct metrics_family releases = {
    .name = "flagger_releases",
    .help = "Releases of all Canaries: under way, and waiting for their turn to begin",
    .type = METRICS_GAUGE,
    .labels = {"state"}};

static struct metrics_family peers = {
    .name = "flagger_canaries_of_others",
    .help = "Canaries that another controller drives, by its lease; their parts overlap",
    .type = METRICS_GAUGE,
    .labels = {"controller"}};

void controller_metrics_info(const char *version, const char *mesh_provider)
{
    metrics_set(&info, 1, version, mesh_provider);
}

void controller_metrics_total(const char *namespace_, int delta)
{
    metrics_add(&total, delta, namespace_);
}

void controller_metrics_forget(const char *target, const char *namespace_)
{
    free(table_take(&all, target, namespace_));
    if (all.count == 0)
        table_fini(&all);
    metrics_forget(&duration, target, namespace_);
    metrics_forget_all(&analysis, target, namespace_);
    metrics_forget_all(&bound, target, namespace_);
    metrics_forget_all(&successes, target, namespace_);
    metrics_forget_all(&failures, target, namespace_);
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

void controller_metrics_status(const struct canary *canary, enum phase phase)
{
    metrics_register(&status);
    shown_of(canary)->status = phase == PHASE_Progressing ? 0 : phase == PHASE_Failed ? 2 : 1;
}

void controller_metrics_weights(const struct canary *canary, int primary_weight, int canary_weight)
{
    struct shown *shown = shown_of(canary);

    metrics_register(&weight);
    shown->primary_weight = primary_weight;
    shown->canary_weight = canary_weight;
}

void controller_metrics_canary(const struct canary *canary)
{
    int weight_now = canary->status.canary_weight;

    if (canary->status.phase == PHASE_NONE)
        return;
    controller_metrics_status(canary, canary->status.phase);
    controller_metrics_weights(canary, WEIGHT_ALL - weight_now, weight_now);
}

void controller_metrics_analysis(const struct canary *canary, const char *metric, double value)
{
    metrics_set(&analysis, value, canary->target.name, canary->namespace_, metric);
}

static void show_bound(const struct canary *canary, const char *metric, const char *which, bool has,
                       double value)
{
    const char *target = canary->target.name, *namespace_ = canary->namespace_;

    if (has)
        metrics_set(&bound, value, target, namespace_, metric, which);
    else
        metrics_forget(&bound, target, namespace_, metric, which);
}

void controller_metrics_bounds(const struct canary *canary, const struct effect *effect)
{
    show_bound(canary, effect->text, "min", effect->has_min, effect->min);
    show_bound(canary, effect->text, "max", effect->has_max, effect->max);
}

void controller_metrics_lag_seconds(double seconds)
{
    metrics_observe(&lag, seconds);
}

void controller_metrics_hook_seconds(double seconds, bool passed)
{
    metrics_observe(&hooks, seconds, passed ? "true" : "false");
}

void controller_metrics_tick_seconds(const struct canary *canary, double seconds)
{
    metrics_observe(&duration, seconds, canary->target.name, canary->namespace_);
}

void controller_metrics_outcome(const struct canary *canary, bool success, const char *how)
{
    metrics_add(success ? &successes : &failures, 1, canary->target.name, canary->namespace_,
                strategy_name(canary->strategy), how);
}

void controller_metrics_releases(int under_way, int waiting)
{
    metrics_set(&releases, under_way, "under_way");
    metrics_set(&releases, waiting, "waiting");
}

void controller_metrics_other(const char *lease, int canaries)
{
    if (canaries < 0)
        metrics_forget(&peers, lease);
    else
        metrics_set(&peers, canaries, lease);
}

void controller_metrics_effect(const char *kind, const char *result)
{
    metrics_add(&effects, 1, kind, result);
}

void controller_metrics_observed(const char *namespace_, const char *result)
{
    metrics_add(&observed, 1, namespace_, result);
}
