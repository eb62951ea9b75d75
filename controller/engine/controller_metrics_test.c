/* A deleted Canary leaves no samples. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <string.h>

#include "base/metrics.h"
#include "engine/controller_metrics.h"
#include "test/unit.h"

CASE(a_deleted_canary_leaves_no_sample)
{
    struct canary canary = {
        .name = "web", .namespace_ = "test", .target = {.kind = "Deployment", .name = "podinfo"}};
    struct canary other = canary;
    other.name = "other";
    other.target.name = "other";
    controller_metrics_status(&canary, PHASE_Progressing);
    controller_metrics_weights(&canary, 9000, 1000);
    controller_metrics_analysis(&canary, "request-success-rate", 99);
    controller_metrics_analysis(&canary, "request-duration", 100);
    controller_metrics_analysis(&other, "request-duration", 100);
    controller_metrics_tick_seconds(&canary, 0.1);
    controller_metrics_outcome(&canary, true, "completed");
    controller_metrics_outcome(&canary, false, "completed");
    controller_metrics_forget("podinfo", "test");
    struct buf out;
    buf_init(&out, 65536);
    metrics_write(&out);
    assert_null(strstr(out.data, "web"));
    assert_null(strstr(out.data, "podinfo"));
    assert_non_null(strstr(out.data, "request-duration"));
    buf_fini(&out);
    metrics_reset();
}

/* Dashboards made for Flagger join these by the target's name. */
CASE(samples_have_flaggers_labels)
{
    static const char *const lines[] = {
        "flagger_canary_status{name=\"podinfo\",namespace=\"test\"} 2\n",
        "flagger_canary_weight{workload=\"podinfo\",namespace=\"test\"} 10\n",
        "flagger_canary_weight{workload=\"podinfo-primary\",namespace=\"test\"} 90\n",
        "flagger_canary_metric_analysis{name=\"podinfo\",namespace=\"test\",metric=\"errors\"} "
        "3\n",
        "flagger_canary_metric_bound{name=\"podinfo\",namespace=\"test\",metric=\"errors\","
        "bound=\"max\"} 5\n",
        "flagger_tick_lag_seconds_count 1\n",
        "flagger_webhook_duration_seconds_count{passed=\"true\"} 1\n",
        "flagger_canary_duration_seconds_count{name=\"podinfo\",namespace=\"test\"} 1\n",
        "flagger_canary_successes_total{name=\"podinfo\",namespace=\"test\","
        "deployment_strategy=\"canary\",analysis_status=\"skipped\"} 1\n",
        "flagger_canary_failures_total{name=\"podinfo\",namespace=\"test\","
        "deployment_strategy=\"canary\",analysis_status=\"completed\"} 1\n",
    };
    struct canary canary = {.name = "web",
                            .namespace_ = "test",
                            .target = {.kind = "Deployment", .name = "podinfo"},
                            .status = {.phase = PHASE_Failed, .canary_weight = 1000}};
    struct buf out;

    controller_metrics_canary(&canary);
    controller_metrics_analysis(&canary, "errors", 3);
    controller_metrics_bounds(&canary,
                              &(struct effect){.text = "errors", .has_max = true, .max = 5});
    controller_metrics_lag_seconds(1);
    controller_metrics_hook_seconds(1, true);
    controller_metrics_tick_seconds(&canary, 0.1);
    controller_metrics_outcome(&canary, true, "skipped");
    controller_metrics_outcome(&canary, false, "completed");
    buf_init(&out, 65536);
    metrics_write(&out);
    EACH_ROW (row, lines) {
        if (!strstr(out.data, *row))
            fail_msg("%s is not in\n%s", *row, out.data);
    }
    controller_metrics_forget("podinfo", "test");
    buf_fini(&out);
    metrics_reset();
}

CASE(a_canary_without_a_status_has_no_sample)
{
    struct canary canary = {.name = "web", .namespace_ = "test", .target = {.name = "podinfo"}};
    struct buf out;

    controller_metrics_canary(&canary);
    buf_init(&out, 65536);
    metrics_write(&out);
    assert_null(strstr(out.data, "podinfo"));
    buf_fini(&out);
    metrics_reset();
}

CASE(a_part_of_a_per_cent_is_shown_exactly)
{
    struct canary canary = {.name = "web", .namespace_ = "test", .target = {.name = "podinfo"}};
    struct buf out;

    controller_metrics_weights(&canary, WEIGHT_ALL - 50, 50);
    buf_init(&out, 65536);
    metrics_write(&out);
    assert_non_null(
        strstr(out.data, "flagger_canary_weight{workload=\"podinfo\",namespace=\"test\"} 0.5\n"));
    assert_non_null(strstr(
        out.data, "flagger_canary_weight{workload=\"podinfo-primary\",namespace=\"test\"} 99.5\n"));
    controller_metrics_forget("podinfo", "test");
    buf_fini(&out);
    metrics_reset();
}

/* A sample that is dropped is a Canary that no dashboard shows. */
CASE(a_large_fleet_is_shown_whole)
{
    enum { MANY = 12000 };
    struct buf out;
    char name[32];
    struct canary canary = {.name = name,
                            .namespace_ = "test",
                            .target = {.kind = "Deployment", .name = name},
                            .status = {.phase = PHASE_Succeeded}};
    const char *label = "namespace=\"test\"";
    int lines = 0;

    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "app-%d", i);
        controller_metrics_canary(&canary);
    }
    buf_init(&out, 16 << 20);
    metrics_write(&out);
    /* Not strstr(): with AddressSanitizer, each call measures the rest of the text. */
    for (const char *at = out.data, *end = out.data + out.len;
         (at = memmem(at, (size_t)(end - at), label, strlen(label))); at++)
        lines++;
    assert_int_equal(lines, 3 * MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "app-%d", i);
        controller_metrics_forget(name, "test");
    }
    buf_fini(&out);
    metrics_reset();
}
