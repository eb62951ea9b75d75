#include <string.h>

#include "test/rows.h"
#include "test/unit.h"
#include "tick/plan.h"
#include "tick/tick.h"

static const struct kube_resource configmaps = {
    .group = "", .version = "v1", .plural = "configmaps"};
static const struct kube_resource deployments = {
    .group = "", .version = "v1", .plural = "deployments"};
static const struct kube_resource services = {.group = "", .version = "v1", .plural = "services"};
static const struct settings settings = {.mesh_provider = "istio"};
static struct canary_webhook webhooks[] = {{.name = "after"}};
static const struct canary canary = {
    .name = "podinfo",
    .namespace_ = "test",
    .target = {.kind = "Deployment", .name = "podinfo"},
    .analysis = {.webhooks = webhooks, .n_webhooks = 1},
    .status = {.phase = PHASE_Progressing},
};

CASE(test_maps_without_keys_are_no_difference)
{
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *live =
        rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"b\"}}");

    assert_false(
        plan_update(tick, &deployments, live,
                    rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"b\","
                                     "\"labels\":{},\"annotations\":{}}}")));
    assert_true(plan_update(tick, &deployments, live,
                            rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"b\","
                                             "\"labels\":{}},\"spec\":{\"paused\":true}}")));
    assert_int_equal(tick->plan->count, 1);
    assert_non_null(
        strstr(plan_print(tick), "patch deployments test/b {\"spec\":{\"paused\":true}}\n"));
}

CASE(test_every_kind_of_effect_in_order)
{
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);

    plan_create(tick, &services, "test", rows_json(arena, "{\"metadata\":{\"name\":\"a\"}}"));
    plan_update(tick, &deployments,
                rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"b\"}}"),
                rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"b\"},"
                                 "\"spec\":{\"replicas\":0}}"));
    plan_delete(
        tick, &configmaps,
        rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"c\",\"uid\":\"u\"}}"));
    plan_event(tick, "Normal", PHASE_Waiting, "Advance %s", "podinfo");
    plan_alert(tick, "info", true, "hello");
    plan_weights(tick, 9000, 1000);
    plan_metric(tick, "latency", 0.5);
    plan_outcome(tick, true, "completed");
    plan_hook(tick, 0, PHASE_Succeeded);
    plan_status(tick, rows_json(arena, "{\"status\":{\"phase\":\"Waiting\",\"canaryWeight\":10}}"));
    assert_int_equal(plan_stop(tick, "no %d", 7), RULE_DONE);
    tick->plan->requeue = REQUEUE_INTERVAL;
    tick->plan->stepped = true;
    assert_int_equal(tick->plan->count, 11);
    assert_string_equal(plan_print(tick), "create services test/a\n"
                                          "patch deployments test/b {\"spec\":{\"replicas\":0}}\n"
                                          "delete configmaps test/c\n"
                                          "event Normal Waiting: Advance podinfo\n"
                                          "alert info+: hello\n"
                                          "weights 90/10\n"
                                          "metric latency 0.5\n"
                                          "outcome success completed\n"
                                          "hook after Succeeded\n"
                                          "status phase=Waiting canaryWeight=10\n"
                                          "event Warning Progressing: no 7\n"
                                          "again interval, stepped\n");
    assert_string_equal(plan_outline(tick, 1000), "create services test/a\n"
                                                  "patch deployments test/b\n"
                                                  "delete configmaps test/c\n"
                                                  "event Normal\n"
                                                  "alert info\n"
                                                  "hook after Succeeded\n"
                                                  "status phase=Waiting canaryWeight=10\n"
                                                  "event Warning\n");
    assert_string_equal(plan_outline(tick, 60), "create services test/a\n"
                                                "patch deployments test/b\n"
                                                "...\n");
}

/* Texts of a status may be long, and contents of objects may be secret. */
CASE(test_an_outline_has_no_content)
{
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *from =
        rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"a\"},\"spec\":{}}");
    struct json_object *to = json_copy(arena, from);

    plan_weights(tick, WEIGHT_ALL, 0);
    plan_metric(tick, "latency", 0.5);
    assert_null(plan_outline(tick, 1000));
    json_set_str(json_sub(to, "spec"), "password", "hunter2");
    plan_update(tick, &services, from, to);
    plan_why(tick, "ports");
    plan_event(tick, "Warning", PHASE_Progressing, "hunter2");
    plan_alert(tick, "error", false, "hunter2");
    plan_status(tick, rows_json(arena, "{\"status\":{\"phase\":\"Failed\",\"failedChecks\":3,"
                                       "\"lastAppliedSpec\":\"hunter2\",\"conditions\":[]}}"));
    assert_string_equal(plan_outline(tick, 1000), "patch services test/a (ports)\n"
                                                  "event Warning\n"
                                                  "alert error\n"
                                                  "status phase=Failed failedChecks=3\n");
}

CASE(test_update_patches_only_what_differs)
{
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    struct json_object *from =
        rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"a\","
                         "\"resourceVersion\":\"7\",\"labels\":{\"x\":\"1\"}},\"spec\":{\"n\":1}}");
    struct json_object *to = json_copy(arena, from);

    assert_false(plan_update(tick, &services, from, to));
    assert_int_equal(tick->plan->count, 0);
    json_set_int(json_sub(to, "spec"), "n", 2);
    assert_true(plan_update(tick, &services, from, to));
    assert_string_equal(json_text_sorted(arena, tick->plan->first->body),
                        "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"n\":2}}");
    plan_why(tick, "n is %d", 2);
    assert_string_equal(plan_print(tick), "patch services test/a n is 2\nagain never\n");
    tick_reset(tick);
    assert_string_equal(plan_print(tick), "again never\n");
}

/* The second write of an object in a plan tests the version of the first. */
CASE(test_later_effects_count_on_what_the_plan_has_written)
{
    struct canary seen = canary;
    seen.resource_version = "7";
    struct tick *tick = tick_new(arena, &seen, &settings, 0, true);
    struct json_object *from =
        rows_json(arena, "{\"metadata\":{\"namespace\":\"test\",\"name\":\"podinfo\","
                         "\"resourceVersion\":\"7\"}}");
    struct json_object *to = json_copy(arena, from);

    json_set_int(json_sub(to, "spec"), "n", 2);
    plan_update(tick, &tick_canaries, from, to);
    plan_update(tick, &deployments, from, to);
    plan_status(tick, rows_json(arena, "{\"status\":{\"phase\":\"Waiting\"}}"));
    struct effect *first = tick->plan->first;
    struct json_object *status = first->next->next->body;
    assert_string_equal(json_str_at(status, "metadata", "resourceVersion", NULL), "7");
    effect_done(first, "8");
    assert_string_equal(json_str_at(status, "metadata", "resourceVersion", NULL), "8");
    assert_string_equal(json_str_at(first->next->body, "metadata", "resourceVersion", NULL), "7");
}
