/* Who serves has pods: nobody is sent to a workload that is at zero, or of which no pod answers. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define PRIMARY   "deployments/podinfo-primary"
#define TO_ZERO   "{'spec':{'replicas':0}}"
#define NO_SCALER NULL
#define KEDA                                                                                       \
    "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','name':"      \
    "'podinfo'}}}"

static int replicas(struct world *w, const char *key)
{
    return (int)json_int_at(world_get(w, key), -1, "spec", "replicas", NULL);
}

static void step(struct world *w)
{
    world_tick(w);
    world_settle(w);
    w->now_ms += w->again == AGAIN_NOW ? 0 : 60000;
}

static struct world *idle(const char *patch)
{
    struct world *w = world_new(patch);

    if (patch)
        world_put(w, "scaledobjects/podinfo",
                  "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':0,'maxReplicaCount':9,"
                  "'scaleTargetRef':{'name':'podinfo'}}}");
    world_initialise(w);
    return w;
}

/* podinfo:2 under analysis with 40 % of the traffic. */
static struct world *analysing(const char *patch)
{
    struct world *w = idle(patch);

    world_push(w, "podinfo:2");
    while (strcmp(world_weights(w), "60/40") != 0)
        step(w);
    return w;
}

static void to_zero(struct world *w)
{
    world_patch(w, PRIMARY, TO_ZERO);
    world_settle(w);
}

static void test_rollback_to_a_primary_at_zero(void **state)
{
    static const char *const patches[] = {NO_SCALER, KEDA};

    for (int i = 0; i < 2; i++) {
        struct world *w = analysing(patches[i]);
        w->metrics = world_json(w, "{'metrics[0]':1}");
        to_zero(w);
        world_run(w);
        assert_string_equal(world_phase(w), "Failed");
        assert_string_equal(world_weights(w), "100/0");
        assert_true(replicas(w, PRIMARY) > 0);
        assert_int_equal(replicas(w, "deployments/podinfo"), 0);
        world_free(w);
    }
}

static void test_primary_that_is_scaled_to_zero_comes_up_again(void **state)
{
    struct world *w = analysing(NO_SCALER);

    to_zero(w);
    expect_tick(w, "patch deployments test/podinfo-primary {\"spec\":{\"replicas\":2}}\n"
                   "event Warning Progressing: podinfo-primary.test was scaled to zero while it is "
                   "needed, scaling it up to 2\n"
                   "again now\n");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    world_free(w);
}

/* Its pods are gone in the very moment in which the rollback is due. */
static void test_rollback_waits_for_the_first_pod(void **state)
{
    struct world *w = analysing(NO_SCALER);

    w->metrics = world_json(w, "{'metrics[0]':1}");
    step(w);
    step(w);
    world_patch(w, PRIMARY, "{'status':{'availableReplicas':0}}");
    const char *plan = world_tick(w);
    assert_non_null(
        strstr(plan, "Waiting until podinfo-primary.test has 1 replicas for all traffic"));
    assert_string_equal(world_phase(w), "Progressing");
    assert_string_equal(world_weights(w), "60/40");
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

/* Nobody comes: the canary serves what it can, and all of it; and the primary again when it is
 * there. */
static void test_rollback_to_nobody(void **state)
{
    struct world *w = analysing(NO_SCALER);

    w->metrics = world_json(w, "{'metrics[0]':1}");
    step(w);
    step(w);
    for (int i = 0; i < 6; i++) {
        world_patch(w, PRIMARY, "{'status':{'availableReplicas':0}}");
        world_tick(w);
        w->now_ms += 60000;
    }
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_weights(w), "100/0");
    assert_int_equal(replicas(w, "deployments/podinfo"), 0);
    world_free(w);
}

/* A person may want nobody to serve, which is told once and not undone; a release then waits for a
 * person. */
static void test_new_revision_beside_a_primary_at_zero(void **state)
{
    struct world *w = idle(NO_SCALER);

    to_zero(w);
    expect_tick(w, "status [Promoted=True PrimaryFound=False]\n"
                   "event Warning Initialized: podinfo-primary.test serves podinfo.test and is "
                   "scaled to zero; scale it up, no release begins before it is ready\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_push(w, "podinfo:2");
    for (int i = 0; i < 3; i++)
        expect_tick(w, "again never, stepped\n"); /* that was said */
    assert_int_equal(replicas(w, PRIMARY), 0);
    world_patch(w, PRIMARY, "{'spec':{'replicas':3}}");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    assert_true(replicas(w, PRIMARY) > 0);
    assert_null(strstr(json_text_sorted(w->arena, w->canary), "ScaledToZero"));
    world_free(w);
}

static void test_autoscaler_that_keeps_the_primary_at_zero(void **state)
{
    struct world *w = idle(KEDA);

    to_zero(w);
    world_push(w, "podinfo:2");
    step(w);
    step(w);
    assert_int_equal(replicas(w, PRIMARY), 1);
    assert_int_equal(json_int_at(world_get(w, "scaledobjects/podinfo-primary"), -1, "spec",
                                 "minReplicaCount", NULL),
                     1);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    assert_int_equal(json_int_at(world_get(w, "scaledobjects/podinfo-primary"), -1, "spec",
                                 "minReplicaCount", NULL),
                     0);
    world_free(w);
}

/* Where the CRD of the cluster drops status.capacity, the first pod is waited for all the same. */
static void test_flaggers_crd_drops_what_was_asked_for(void **state)
{
    struct world *w = analysing(KEDA);

    w->metrics = world_json(w, "{'metrics[0]':1}");
    to_zero(w);
    for (int i = 0; i < 12; i++) {
        step(w);
        world_patch_canary(w, "{'status':{'capacity':null}}");
    }
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

static void test_skipped_analysis_beside_a_primary_at_zero(void **state)
{
    struct world *w = idle("{'spec':{'skipAnalysis':true}}");

    to_zero(w);
    world_push(w, "podinfo:2");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    assert_true(replicas(w, PRIMARY) > 0);
    world_free(w);
}

/* A Canary over a primary that somebody left at zero. */
static void test_initialising_with_a_primary_at_zero(void **state)
{
    struct world *w = world_new(NULL);

    step(w);
    step(w);
    to_zero(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_true(replicas(w, PRIMARY) > 0);
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_rollback_to_a_primary_at_zero),
          cmocka_unit_test(test_primary_that_is_scaled_to_zero_comes_up_again),
          cmocka_unit_test(test_rollback_waits_for_the_first_pod),
          cmocka_unit_test(test_rollback_to_nobody),
          cmocka_unit_test(test_new_revision_beside_a_primary_at_zero),
          cmocka_unit_test(test_autoscaler_that_keeps_the_primary_at_zero),
          cmocka_unit_test(test_flaggers_crd_drops_what_was_asked_for),
          cmocka_unit_test(test_skipped_analysis_beside_a_primary_at_zero),
          cmocka_unit_test(test_initialising_with_a_primary_at_zero))
