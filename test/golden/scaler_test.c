/* Autoscalers of a release: the primary's copy follows its source, and KEDA is paused in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/yaml.h"
#include "object/schema.h"
#include "world.h"

#define REF(version, kind)                                                                         \
    "{'spec':{'autoscalerRef':{'apiVersion':'" version "','kind':'" kind "','name':'podinfo'}}}"
#define HPA  REF("autoscaling/v2beta2", "HorizontalPodAutoscaler")
#define KEDA REF("keda.sh/v1alpha1", "ScaledObject")

static struct world *with_hpa(void)
{
    struct world *w = world_new(HPA);

    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicas':2,'maxReplicas':5,"
              "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
    return w;
}

static struct world *with_keda(void)
{
    struct world *w = world_new(KEDA);

    world_put(w, "scaledobjects/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':2,'maxReplicaCount':5,"
              "'scaleTargetRef':{'name':'podinfo'},'triggers':[{'type':'prometheus','metadata':{"
              "'serverAddress':'http://p','threshold':'5','query':'x{app=~`podinfo-.*`}'}}]}}");
    return w;
}

/* A new revision at 20 %, everything ready. */
static struct world *analysing(struct world *w)
{
    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_settle(w);
    assert_string_equal(world_weights(w), "80/20");
    return w;
}

static void test_hpa_is_copied(void **state)
{
    (void)state;
    struct world *w = with_hpa();

    world_initialise(w);
    struct json_object *copy = world_get(w, "horizontalpodautoscalers/podinfo-primary");
    assert_string_equal(json_str_at(copy, "apiVersion", NULL), "autoscaling/v2");
    assert_string_equal(json_text_sorted(w->arena, json_at(copy, "spec", NULL)),
                        "{\"maxReplicas\":5,\"minReplicas\":2,\"scaleTargetRef\":{\"apiVersion\":"
                        "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"podinfo-primary\"}}");
    world_free(w);
}

/* Not only with the next promotion. */
static void test_edit_reaches_the_primary_of_an_idle_canary(void **state)
{
    (void)state;
    struct world *w = with_hpa();

    world_initialise(w);
    world_patch(w, "horizontalpodautoscalers/podinfo",
                "{'spec':{'maxReplicas':9,'behavior':{'scaleDown':{'selectPolicy':'Min'}}}}");
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{\"behavior\":{"
                   "\"scaleDown\":{\"selectPolicy\":\"Min\"}},\"maxReplicas\":9}}\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_patch_canary(w, "{'spec':{'autoscalerRef':{'primaryScalerReplicas':{'minReplicas':3}}}}");
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{"
                   "\"minReplicas\":3}}\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_edit_reaches_the_primary_in_mid_analysis(void **state)
{
    (void)state;
    struct world *w = analysing(with_hpa());

    world_patch(w, "horizontalpodautoscalers/podinfo", "{'spec':{'maxReplicas':9}}");
    w->due = false;
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{"
                   "\"maxReplicas\":9}}\n"
                   "again now\n");
    w->due = true;
    expect_tick(w, "patch httproutes test/podinfo weights 60/40\n"
                   "status canaryWeight=40\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "weights 60/40\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 40\n"
                   "again interval, stepped\n");
    world_free(w);
}

/* Pausing takes the pods: only when traffic has gone from the target. */
static void test_keda_is_paused_when_the_traffic_is_gone(void **state)
{
    (void)state;
    struct world *w = with_keda();

    expect_tick(w, "create services test/podinfo-canary -> app=podinfo\n"
                   "create services test/podinfo-primary -> app=podinfo-primary\n"
                   "create deployments test/podinfo-primary\n"
                   "create scaledobjects test/podinfo-primary\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "again now\n");
    expect_tick(w, "create services test/podinfo -> app=podinfo-primary\n"
                   "create httproutes test/podinfo weights 100/0\n"
                   "again now\n");
    expect_tick(w, "patch scaledobjects test/podinfo {\"metadata\":{\"annotations\":{"
                   "\"autoscaling.keda.sh/paused-replicas\":\"0\"}}}\n"
                   "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status phase=Initialized canaryWeight=0 failedChecks=0 iterations=0 "
                   "lastAppliedSpec=dccf7d545 provider=gatewayapi:v1 serviceName=podinfo "
                   "trackedConfigs={} lastPromotedSpec=dccf7d545 "
                   "[Promoted=True]\n"
                   "event Normal Initialized: Initialization done! podinfo.test\n"
                   "alert info+: New Deployment detected, initialization completed.\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_keda_release(void **state)
{
    (void)state;
    struct world *w = with_keda();

    world_initialise(w);
    world_push(w, "podinfo:2");
    /* resumed before it is scaled up: KEDA would take the pods again */
    expect_tick(w, "patch scaledobjects test/podinfo {\"metadata\":{\"annotations\":{"
                   "\"autoscaling.keda.sh/paused-replicas\":null}}}\n"
                   "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    for (int i = 0; i < 5; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_phase(w), "Finalising");
    expect_tick(w, "patch scaledobjects test/podinfo {\"metadata\":{\"annotations\":{"
                   "\"autoscaling.keda.sh/paused-replicas\":\"0\"}}}\n"
                   "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status phase=Succeeded lastPromotedSpec=597d8f496b [Promoted=True]\n"
                   "weights 100/0\n"
                   "outcome success completed\n"
                   "event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
                   "alert info: Canary analysis completed successfully, promotion finished.\n"
                   "again now, stepped\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_keda_rollback(void **state)
{
    (void)state;
    struct world *w = analysing(with_keda());

    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(json_str_at(world_get(w, "scaledobjects/podinfo"), "metadata",
                                    "annotations", "autoscaling.keda.sh/paused-replicas", NULL),
                        "0");
    assert_int_equal(json_int_at(world_get(w, "deployments/podinfo"), 1, "spec", "replicas", NULL),
                     0);
    world_free(w);
}

/* A person, or a ScaledObject that was made anew without the annotation. */
static void test_keda_is_paused_again_while_idle(void **state)
{
    (void)state;
    struct world *w = with_keda();

    world_initialise(w);
    world_patch(w, "scaledobjects/podinfo", "{'metadata':{'annotations':null}}");
    world_settle(w);
    assert_int_equal(json_int_at(world_get(w, "deployments/podinfo"), 0, "spec", "replicas", NULL),
                     2);
    expect_tick(w, "patch scaledobjects test/podinfo {\"metadata\":{\"annotations\":{"
                   "\"autoscaling.keda.sh/paused-replicas\":\"0\"}}}\n"
                   "again never\n");
    assert_int_equal(json_int_at(world_get(w, "deployments/podinfo"), 1, "spec", "replicas", NULL),
                     0);
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_a_paused_primary_is_resumed(void **state)
{
    (void)state;
    struct world *w = with_keda();

    world_initialise(w);
    world_patch(w, "scaledobjects/podinfo-primary",
                "{'metadata':{'annotations':{'autoscaling.keda.sh/paused-replicas':'0'}}}");
    expect_tick(w, "patch scaledobjects test/podinfo-primary {\"metadata\":{\"annotations\":{"
                   "\"autoscaling.keda.sh/paused-replicas\":null}}}\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

/* KEDA may go down to zero where there is no load. Who is at zero gets nothing, and it ends. */
static void test_keda_scales_the_canary_to_zero(void **state)
{
    (void)state;
    struct world *w = analysing(with_keda());

    world_patch(w, "scaledobjects/podinfo", "{'spec':{'minReplicaCount':0}}");
    world_tick(w); /* the copy follows */
    world_patch(w, "deployments/podinfo", "{'spec':{'replicas':0}}");
    world_settle(w);
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "patch deployments test/podinfo {\"spec\":{\"replicas\":1}}\n"
                   "status canaryWeight=0 failedChecks=1\n"
                   "weights 100/0\n"
                   "event Warning Progressing: Halt podinfo.test advancement podinfo.test was "
                   "scaled to zero by its ScaledObject, starting it again\n"
                   "again interval, stepped\n");
    world_patch(w, "deployments/podinfo", "{'spec':{'replicas':0}}");
    world_settle(w);
    world_tick(w);
    assert_int_equal(world_status_int(w, "failedChecks"), 2);
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

/* What is written is a ScaledObject by KEDA's own schema. */
static void test_the_copy_fits_the_schema(void **state)
{
    (void)state;
    struct world *w = with_keda();
    struct json_object *docs = NULL;
    struct schema *schema = NULL;
    struct causes causes = {.arena = w->arena};
    struct schema_paths unknown = {0};
    struct errinfo ei;

    if (yaml_parse_file(w->arena, "../shared/crds/keda.yaml", JSON_MAX_BYTES, &docs, &ei)) {
        world_free(w);
        skip();
    }
    struct json_object *versions = json_at(json_elem(docs, 0), "spec", "versions", NULL);
    assert_string_equal(json_str_at(json_elem(versions, 0), "name", NULL), "v1alpha1");
    assert_int_equal(
        schema_compile(json_at(json_elem(versions, 0), "schema", "openAPIV3Schema", NULL), &schema,
                       &ei),
        ERR_OK);
    world_patch(w, "scaledobjects/podinfo",
                "{'spec':{'pollingInterval':5,'cooldownPeriod':6,'idleReplicaCount':1,"
                "'initialCooldownPeriod':7,'advanced':{'horizontalPodAutoscalerConfig':{'name':'h'"
                "},'scalingModifiers':{'formula':'a'}},'fallback':{'failureThreshold':1,"
                "'replicas':2}}}");
    world_initialise(w);
    struct json_object *copy = world_get(w, "scaledobjects/podinfo-primary");
    schema_prune(schema, w->arena, copy, &unknown);
    assert_int_equal(unknown.count, 0);
    if (!schema_validate(schema, copy, &causes))
        fail_msg("%s", cause_text(&causes));
    schema_free(schema);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hpa_is_copied),
        cmocka_unit_test(test_edit_reaches_the_primary_of_an_idle_canary),
        cmocka_unit_test(test_edit_reaches_the_primary_in_mid_analysis),
        cmocka_unit_test(test_keda_is_paused_when_the_traffic_is_gone),
        cmocka_unit_test(test_keda_release),
        cmocka_unit_test(test_keda_rollback),
        cmocka_unit_test(test_keda_is_paused_again_while_idle),
        cmocka_unit_test(test_a_paused_primary_is_resumed),
        cmocka_unit_test(test_keda_scales_the_canary_to_zero),
        cmocka_unit_test(test_the_copy_fits_the_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
