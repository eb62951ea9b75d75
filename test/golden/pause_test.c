/* Between moving traffic and scaling down there is a pause; world.c checks its length in every
 * case. */
#include <stdio.h>
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define TARGET "deployments/podinfo"
#define KEDA                                                                                       \
    "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','name':"      \
    "'podinfo'}}}"

static int replicas(struct world *w)
{
    return (int)json_int_at(world_get(w, TARGET), -1, "spec", "replicas", NULL);
}

static void step(struct world *w)
{
    world_tick(w);
    world_settle(w);
    w->now_ms += w->again == AGAIN_NOW ? 0 : 60000;
}

/* Ticks at this very time until nothing is to be done now. */
static void at_once(struct world *w)
{
    do {
        world_tick(w);
        world_settle(w);
    } while (w->again == AGAIN_NOW);
}

static bool is_drained(struct world *w)
{
    return !strstr(json_text_sorted(w->arena, w->canary), "Drained");
}

/* Just initialised: the target still has its pods. */
static struct world *just_initialised(const char *patch)
{
    struct world *w = world_new(patch);

    if (patch && strstr(patch, "ScaledObject"))
        world_put(w, "scaledobjects/podinfo",
                  "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':1,'maxReplicaCount':9,"
                  "'scaleTargetRef':{'name':'podinfo'}}}");
    at_once(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_int_equal(replicas(w), 2);
    assert_false(is_drained(w));
    return w;
}

static struct world *rolled_back(void)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    step(w);
    step(w);
    w->metrics = world_json(w, "{'metrics[0]':1}");
    while (strcmp(world_phase(w), "Failed") != 0) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_weights(w), "100/0");
    assert_int_equal(replicas(w), 2);
    return w;
}

static void expect_pause(struct world *w)
{
    w->now_ms += 59000;
    at_once(w);
    assert_int_equal(replicas(w), 2);
    w->now_ms += 1000;
    at_once(w);
    assert_int_equal(replicas(w), 0);
    assert_true(is_drained(w));
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_creation(void **state)
{
    expect_pause(just_initialised(NULL));
}

static void test_rollback(void **state)
{
    expect_pause(rolled_back());
}

/* The service hears of the end of a rollback when its traffic has gone, not when its pods have. */
static void test_what_is_told(void **state)
{
    struct world *w = rolled_back();

    assert_non_null(strstr(w->told, "Canary failed! Scaling down podinfo.test"));
    world_free(w);
}

/* --- a gateway that says how far it is
 * ---------------------------------------------------------------------------------- */

/* It has taken over all but the last `behind` changes of the route, and says this of it. */
static void gateway_says(struct world *w, const char *status, int behind)
{
    static const char key[] = "httproutes/podinfo";
    int64_t generation = json_int_at(world_get(w, key), 0, "metadata", "generation", NULL);

    world_patch(w, key,
                arena_printf(w->arena,
                             "{'status':{'parents':[{'parentRef':{'name':'gateway','namespace':"
                             "'infra'},'conditions':[{'type':'Accepted','status':'%s',"
                             "'observedGeneration':%d}]}]}}",
                             status, (int)generation - behind));
}

/* What the engine does by itself at this very time. */
static void turns(struct world *w)
{
    for (int i = 0; i < 9 && strcmp(world_turn(w), "asleep\n") != 0; i++)
        world_settle(w);
}

/* Whoever has a gateway that speaks, just before it has taken over the end of a rollback. */
static struct world *rolled_back_behind_a_gateway(void)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    gateway_says(w, "True", 0);
    world_push(w, "podinfo:2");
    while (strcmp(world_weights(w), "80/20") != 0)
        step(w);
    gateway_says(w, "True", 0);
    w->metrics = world_json(w, "{'metrics[0]':1}");
    while (strcmp(world_phase(w), "Failed") != 0)
        step(w);
    assert_string_equal(world_weights(w), "100/0");
    assert_int_equal(replicas(w), 2);
    return w;
}

/* The gateway takes over the route so long after it was written: an interval passes from then. */
static void gateway_lags(int64_t ms)
{
    struct world *w = rolled_back_behind_a_gateway();

    turns(w);
    w->now_ms += ms;
    turns(w);
    assert_int_equal(replicas(w), 2);
    gateway_says(w, "True", 0);
    turns(w);
    assert_int_equal(replicas(w), 2);
    w->now_ms += 59000;
    turns(w);
    assert_int_equal(replicas(w), 2);
    w->now_ms += 1000;
    turns(w);
    assert_int_equal(replicas(w), 0);
    assert_true(is_drained(w));
    world_free(w);
}

static void test_gateway_that_lags(void **state)
{
    static const int64_t lags[] = {0, 1000, 54000, 61000, 600000};

    for (size_t i = 0; i < sizeof(lags) / sizeof(lags[0]); i++)
        gateway_lags(lags[i]);
}

/* Only what lasts is worth an event. */
static void test_what_is_told_of_a_gateway(void **state)
{
    struct world *w = rolled_back_behind_a_gateway();

    turns(w);
    w->now_ms += 59000;
    turns(w);
    assert_null(strstr(w->told, "is not ready (status"));
    w->now_ms += 120000;
    turns(w);
    assert_non_null(strstr(w->told, "is not ready (status"));
    world_free(w);
}

/* What it takes back in the middle of the pause, it has to say again, and the pause is whole. */
static void test_gateway_that_takes_it_back(void **state)
{
    struct world *w = rolled_back_behind_a_gateway();

    gateway_says(w, "True", 0);
    turns(w);
    w->now_ms += 30000;
    gateway_says(w, "False", 0);
    turns(w);
    w->now_ms += 20000;
    gateway_says(w, "True", 0);
    turns(w);
    w->now_ms += 59000;
    turns(w);
    assert_int_equal(replicas(w), 2);
    w->now_ms += 1000;
    turns(w);
    assert_int_equal(replicas(w), 0);
    world_free(w);
}

/* It begins to say something only now: what it had taken over before, nobody knows. */
static void test_gateway_that_begins_to_speak(void **state)
{
    struct world *w = rolled_back();

    gateway_says(w, "True", 1);
    w->now_ms += 10 * 60000;
    at_once(w);
    assert_int_equal(replicas(w), 2);
    world_patch(w, "httproutes/podinfo", "{'status':null}");
    at_once(w);
    expect_pause(w);
}

/* The end of a promotion waits in a phase of its own, in which nothing is taken away either. */
static void finalise_behind_a_gateway(int64_t lag)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    gateway_says(w, "True", 0);
    world_push(w, "podinfo:2");
    while (strcmp(world_phase(w), "Finalising") != 0) {
        step(w);
        if (strcmp(world_phase(w), "Finalising") != 0)
            gateway_says(w, "True", 0);
    }
    w->now_ms += lag - 60000;
    gateway_says(w, "True", 0);
    turns(w);
    for (int64_t left = 59000; left > 0; left -= 1000) {
        w->now_ms += 1000;
        turns(w);
        assert_int_equal(replicas(w), 2);
    }
    w->now_ms += 1000;
    turns(w);
    assert_int_equal(replicas(w), 0);
    turns(w);
    assert_string_equal(world_phase(w), "Succeeded");
    world_free(w);
}

static void test_finalising_behind_a_gateway(void **state)
{
    static const int64_t lags[] = {1000, 54000, 61000};

    for (size_t i = 0; i < sizeof(lags) / sizeof(lags[0]); i++)
        finalise_behind_a_gateway(lags[i]);
}

static void test_new_revision_meanwhile(void **state)
{
    struct world *w = just_initialised(NULL);

    w->now_ms += 1000;
    world_push(w, "podinfo:2");
    at_once(w);
    assert_string_equal(world_phase(w), "Progressing");
    assert_int_equal(replicas(w), 2);
    assert_true(is_drained(w));
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

/* Its pods would be the old ones, which have read the old configs. */
/*
 * The revision before has never become ready, and its pods are still there when the next one comes:
 * what the Deployment says of the last hour is not held against it. It has the same time as others.
 */
static void test_mended_revision_meanwhile(void **state)
{
    static const char overdue[] =
        "{'status':{'updatedReplicas':1,'conditions':[{'type':'Progressing','status':'True',"
        "'reason':'NewReplicaSetCreated','lastUpdateTime':'2023-11-14T12:00:00Z'},{'type':"
        "'Available','status':'False','reason':'MinimumReplicasUnavailable','lastUpdateTime':"
        "'2023-11-14T12:00:00Z'}]}}";
    struct world *w = rolled_back();

    world_push(w, "podinfo:3");
    for (int minutes = 0; minutes <= 10; minutes++) {
        world_settle(w);
        world_patch(w, TARGET, overdue);
        world_tick(w);
        assert_string_equal(world_phase(w), "Progressing");
        w->now_ms += 60000;
    }
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

static void test_new_configs_meanwhile(void **state)
{
    struct world *w = world_new(NULL);

    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},'data':{"
              "'color':'red'}}");
    world_patch(w, TARGET,
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':"
                "'settings'}}]}}}}");
    world_settle(w);
    at_once(w);
    assert_string_equal(world_phase(w), "Initialized");
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    at_once(w);
    assert_string_equal(world_phase(w), "Initialized");
    w->now_ms += 60000;
    world_tick(w);
    world_settle(w);
    assert_int_equal(replicas(w), 0);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(
        json_str_at(world_get(w, "configmaps/settings-primary"), "data", "color", NULL), "blue");
    world_free(w);
}

/* KEDA takes the pods of a target that is paused. */
static void test_scaler_is_paused_after_it(void **state)
{
    struct world *w = just_initialised(KEDA);

    assert_null(json_at(world_get(w, "scaledobjects/podinfo"), "metadata", "annotations",
                        "autoscaling.keda.sh/paused-replicas", NULL));
    w->now_ms += 60000;
    at_once(w);
    assert_int_equal(replicas(w), 0);
    assert_non_null(json_at(world_get(w, "scaledobjects/podinfo"), "metadata", "annotations",
                            "autoscaling.keda.sh/paused-replicas", NULL));
    world_free(w);
}

/* A clock that is set forward ends no pause early. */
static void test_clock_that_is_set_forward(void **state)
{
    struct world *w = rolled_back();

    w->now_ms += 24 * 60 * 60000;
    w->stepped_at_ms = w->now_ms;
    at_once(w);
    expect_pause(w);
}

/* The controller starts anew between the two steps of the end of a promotion. */
static void test_restart_while_finalising(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (strcmp(world_phase(w), "Finalising") != 0)
        step(w);
    w->now_ms -= 59000;
    world_tick(w);
    world_settle(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_int_equal(replicas(w), 2);
    w->now_ms += 59000;
    at_once(w);
    assert_int_equal(replicas(w), 0);
    world_free(w);
}

/*
 * Somebody routes to a target that was about to go, and the tick that takes this back is cut off
 * before write number `cut`: the next one knows of it, although it finds nothing to route any more.
 */
static void route_while_finalising(int cut)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (strcmp(world_phase(w), "Finalising") != 0)
        step(w);
    world_patch(w, "httproutes/podinfo",
                "{'spec':{'rules':[{'backendRefs':[{'name':'podinfo-primary','port':9898,"
                "'weight':70},{'name':'podinfo-canary','port':9898,'weight':30}]}]}}");
    w->crash_at = w->effects + cut;
    at_once(w);
    w->crash_at = -1;
    at_once(w);
    assert_string_equal(world_weights(w), "100/0");
    assert_string_equal(world_phase(w), "Succeeded");
    expect_pause(w);
}

static void test_routed_while_finalising(void **state)
{
    for (int cut = 0; cut < 4; cut++)
        route_while_finalising(cut);
}

/* The pause of one target is not that of the next, also where each tick dies after so many writes.
 */
static void another_target_meanwhile(int writes)
{
    struct world *w = just_initialised("{'spec':{'service':{'name':'podinfo'}}}");
    struct json_object *other = json_copy(w->arena, world_get(w, TARGET));
    struct json_object *labels =
        json_sub(json_sub(json_sub(json_sub(other, "spec"), "template"), "metadata"), "labels");

    json_set_str(json_sub(other, "metadata"), "name", "other");
    json_set_str(json_sub(json_sub(json_sub(other, "spec"), "selector"), "matchLabels"), "app",
                 "other");
    json_set_str(labels, "app", "other");
    json_set(w->objects, "deployments/other", other);
    world_settle(w);
    world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'}}}");
    w->now_ms += 59000;
    for (int i = 0; i < 12; i++) {
        w->crash_at = w->effects + writes;
        world_tick(w);
        world_settle(w);
    }
    w->crash_at = -1;
    for (int i = 0; i < 9 && strcmp(world_phase(w), "Initialized") != 0; i++) {
        w->now_ms += 1000;
        at_once(w);
    }
    assert_string_equal(world_phase(w), "Initialized");
    other = world_get(w, "deployments/other");
    assert_int_equal(json_int_at(other, -1, "spec", "replicas", NULL), 2);
    w->now_ms += 59000;
    at_once(w);
    other = world_get(w, "deployments/other");
    assert_int_equal(json_int_at(other, -1, "spec", "replicas", NULL), 2);
    w->now_ms += 1000;
    at_once(w);
    other = world_get(w, "deployments/other");
    assert_int_equal(json_int_at(other, -1, "spec", "replicas", NULL), 0);
    world_free(w);
}

static void test_another_target_meanwhile(void **state)
{
    for (int writes = 1; writes < 9; writes++)
        another_target_meanwhile(writes);
}

static void test_suspended_meanwhile(void **state)
{
    struct world *w = rolled_back();

    world_patch_canary(w, "{'spec':{'suspend':true}}");
    w->now_ms += 60 * 60000;
    at_once(w);
    assert_int_equal(replicas(w), 2);
    world_patch_canary(w, "{'spec':{'suspend':false}}");
    at_once(w);
    assert_int_equal(replicas(w), 0);
    world_free(w);
}

UNIT_MAIN(
    cmocka_unit_test(test_creation), cmocka_unit_test(test_rollback),
    cmocka_unit_test(test_what_is_told), cmocka_unit_test(test_gateway_that_lags),
    cmocka_unit_test(test_what_is_told_of_a_gateway),
    cmocka_unit_test(test_gateway_that_takes_it_back),
    cmocka_unit_test(test_gateway_that_begins_to_speak),
    cmocka_unit_test(test_finalising_behind_a_gateway),
    cmocka_unit_test(test_new_revision_meanwhile), cmocka_unit_test(test_mended_revision_meanwhile),
    cmocka_unit_test(test_new_configs_meanwhile), cmocka_unit_test(test_scaler_is_paused_after_it),
    cmocka_unit_test(test_clock_that_is_set_forward),
    cmocka_unit_test(test_restart_while_finalising), cmocka_unit_test(test_routed_while_finalising),
    cmocka_unit_test(test_another_target_meanwhile), cmocka_unit_test(test_suspended_meanwhile))
