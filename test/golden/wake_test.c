/* Nobody ticks but the engine's rule: what must be woken is woken, and what may rest costs nothing.
 */
#include <string.h>

#include "test/unit.h"
#include "world.h"

static const char stuck[] =
    "{'status':{'availableReplicas':0,'conditions':[{'type':'Progressing','status':'False',"
    "'reason':'ProgressDeadlineExceeded'}]}}";
static const char healthy[] = "{'status':{'availableReplicas':9,'conditions':[]}}";
static const char plain_services[] =
    "{'spec':{'provider':'kubernetes','analysis':{'stepWeight':null,'maxWeight':null,"
    "'iterations':1,'metrics':[]}}}";

/* Ticks as the engine does, an interval apart, until it is asleep or the phase is `until`. */
static void live(struct world *w, const char *until)
{
    for (int i = 0; i < 60; i++) {
        if (world_is_in(w, until) || strcmp(world_turn(w), "asleep\n") == 0)
            return;
        world_settle(w);
        w->now_ms += w->again == AGAIN_NOW ? 0 : 60000;
    }
    fail_msg("it does not come to rest, phase %s", world_phase(w));
}

static struct world *promoting(const char *patch)
{
    struct world *w = world_new(patch);

    world_initialise(w);
    world_push(w, "podinfo:2");
    live(w, "Promoting");
    assert_string_equal(world_phase(w), "Promoting");
    return w;
}

/* The primary fails its promotion while a fix has been pushed: it is released. */
static void test_a_fix_that_comes_during_a_promotion_that_fails(void **state)
{
    static const char *const patches[] = {NULL, plain_services};

    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        struct world *w = promoting(patches[i]);
        world_push(w, "podinfo:3");
        world_settle(w);
        world_patch(w, "deployments/podinfo-primary", stuck);
        assert_non_null(strstr(world_turn(w), "status phase=Failed"));
        live(w, "");
        assert_string_equal(world_phase(w), "Succeeded");
        assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
        assert_non_null(strstr(w->analysed, "podinfo:3"));
        world_free(w);
    }
}

/* A promotion failed and the canary serves everything. It dies, and the primary gets ready. */
static void test_a_canary_that_serves_all_dies_and_the_primary_recovers(void **state)
{
    struct world *w = promoting(NULL);

    w->safety_off = true; /* nobody is ready for a while */
    world_patch(w, "deployments/podinfo-primary", stuck);
    assert_non_null(strstr(world_turn(w), "status phase=Failed"));
    assert_string_equal(world_weights(w), "0/100");
    world_turn(w);
    world_patch(w, "deployments/podinfo", stuck);
    assert_string_equal(world_turn(w), "again never\n");
    world_patch(w, "deployments/podinfo-primary", healthy);
    assert_string_not_equal(world_turn(w), "asleep\n");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

/* Pods come and go for as long as it lives: that must not cost a read. */
static void test_pods_of_a_canary_at_rest_wake_nobody(void **state)
{
    static const char *const patches[] = {NULL, plain_services};

    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        struct world *w = world_new(patches[i]);
        world_initialise(w);
        for (int release = 0; release < 3; release++) {
            if (release > 0)
                world_push(w, release == 1 ? "podinfo:2" : "podinfo:3-stuck");
            live(w, "");
            live(w, ""); /* what its last plan looked at has settled */
            world_patch(w, "deployments/podinfo-primary", stuck);
            assert_string_equal(world_turn(w), "asleep\n");
            world_patch(w, "deployments/podinfo-primary", healthy);
            world_patch(w, "deployments/podinfo", "{'status':{'replicas':7}}");
            assert_string_equal(world_turn(w), "asleep\n");
            world_settle(w);
        }
        assert_string_equal(world_phase(w), "Failed");
        world_free(w);
    }
}

/* A revision waits for a config that is not there: nobody asks for it each second. */
static void test_a_config_that_is_waited_for_wakes_it(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    live(w, "");
    world_patch(w, "deployments/podinfo",
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':"
                "'settings'}}]}}}}");
    world_settle(w);
    live(w, "");
    assert_string_equal(world_phase(w), "Initialized");
    assert_non_null(strstr(w->told, "configmap settings.test get query error: not found"));
    assert_string_equal(world_turn(w), "asleep\n");
    world_put(w, "configmaps/settings", "{'metadata':{'name':'settings'},'data':{'a':'b'}}");
    live(w, "");
    assert_string_equal(world_phase(w), "Succeeded");
    world_free(w);
}

/* Whoever writes the Canary's status, it is looked at. */
static void test_a_status_that_somebody_else_writes_is_looked_at(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    live(w, "");
    assert_string_equal(world_turn(w), "asleep\n");
    world_patch_canary(w, "{'status':{'canaryWeight':30}}");
    assert_string_not_equal(world_turn(w), "asleep\n");
    live(w, "");
    assert_int_equal(world_status_int(w, "canaryWeight"), 0);
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_a_fix_that_comes_during_a_promotion_that_fails),
          cmocka_unit_test(test_a_canary_that_serves_all_dies_and_the_primary_recovers),
          cmocka_unit_test(test_pods_of_a_canary_at_rest_wake_nobody),
          cmocka_unit_test(test_a_config_that_is_waited_for_wakes_it),
          cmocka_unit_test(test_a_status_that_somebody_else_writes_is_looked_at))
