/* What test/model has found: short ways into states that nobody had thought of. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

static struct world *analysing(const char *image)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, image);
    world_tick(w);
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_weights(w), "80/20");
    return w;
}

static void cut_off_after(struct world *w, int writes)
{
    w->crash_at = w->effects + writes;
    world_tick(w);
    assert_true(w->crashed);
    w->crash_at = -1;
}

/* The cancellation has scaled the target down when it is cut off, and then the revision comes back.
 */
static void test_cancelled_revision_that_comes_back_is_not_failed(void **state)
{
    struct world *w = analysing("podinfo:2");

    world_push(w, "podinfo:1");
    world_settle(w);
    world_tick(w);
    world_tick(w);
    w->now_ms += 60000;
    cut_off_after(w, 1);
    world_settle(w);
    world_push(w, "podinfo:2");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

/* The promotion has reached the primary when it is cut off, and then another revision comes. */
static void test_promotion_that_was_cut_off_is_known_afterwards(void **state)
{
    struct world *w = analysing("podinfo:2");

    while (strcmp(world_weights(w), "50/50") != 0) {
        world_tick(w);
        world_settle(w);
    }
    world_tick(w);
    cut_off_after(w, 1);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_push(w, "podinfo:3");
    world_settle(w);
    while (strcmp(world_phase(w), "Succeeded") != 0) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    w->told = "";
    world_run(w);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    assert_non_null(strstr(w->told, "New revision detected!"));
    world_free(w);
}

/* New configs have scaled the target down when the tick is cut off, and then the old ones come
 * back. */
static void test_config_that_comes_back_fails_nothing(void **state)
{
    struct world *w = world_new(NULL);

    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},"
              "'data':{'color':'red'}}");
    world_patch(w, "deployments/podinfo",
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{"
                "'name':'settings'}}]}}}}");
    world_settle(w);
    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    world_tick(w);
    world_tick(w);
    world_settle(w);
    world_patch(w, "configmaps/settings", "{'data':{'color':'red'}}");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

static void set_ready(struct world *w, const char *key, bool ready)
{
    world_patch(w, key,
                ready ? "{'status':{'availableReplicas':2,'conditions':[{'type':'Progressing',"
                        "'status':'True','reason':'NewReplicaSetAvailable'}]}}"
                      : "{'status':{'availableReplicas':0,'conditions':[{'type':'Progressing',"
                        "'status':'False','reason':'ProgressDeadlineExceeded'}]}}");
}

/* Up to 50 %, and then the primary does not take the promotion. */
static struct world *promoting(void)
{
    struct world *w = analysing("podinfo:2");

    for (int i = 0; i < 20 && !world_is_in(w, "Promoting"); i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_weights(w), "50/50");
    set_ready(w, "deployments/podinfo-primary", false);
    return w;
}

static void test_failed_promotion_waits_while_neither_side_is_ready(void **state)
{
    struct world *w = promoting();

    set_ready(w, "deployments/podinfo", false);
    assert_string_equal(world_tick(w),
                        "event Warning Promoting: Promotion of podinfo.test waits, neither side is "
                        "ready: podinfo-primary.test not ready: deployment \"podinfo-primary\" "
                        "exceeded its progress deadline\n"
                        "again interval, stepped\n");
    set_ready(w, "deployments/podinfo-primary", true);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

static void test_canary_that_breaks_after_a_failed_promotion_hands_over(void **state)
{
    struct world *w = promoting();

    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    set_ready(w, "deployments/podinfo-primary", true);
    assert_string_equal(world_tick(w), "again never\n");
    set_ready(w, "deployments/podinfo", false);
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status canaryWeight=0 [Promoted=False Drained=False]\n"
                   "weights 100/0\n"
                   "event Normal Failed: Routing all traffic to primary, it is ready again\n"
                   "again now\n");
    world_free(w);
}

static void test_way_back_that_is_cut_off_is_finished(void **state)
{
    struct world *w = promoting();

    world_tick(w);
    set_ready(w, "deployments/podinfo-primary", true);
    set_ready(w, "deployments/podinfo", false);
    cut_off_after(w, 1);
    assert_string_equal(world_weights(w), "100/0");
    expect_tick(w, "status canaryWeight=0 [Promoted=False Drained=False]\n"
                   "weights 100/0\n"
                   "again now\n");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_cancelled_revision_that_comes_back_is_not_failed),
          cmocka_unit_test(test_promotion_that_was_cut_off_is_known_afterwards),
          cmocka_unit_test(test_config_that_comes_back_fails_nothing),
          cmocka_unit_test(test_failed_promotion_waits_while_neither_side_is_ready),
          cmocka_unit_test(test_canary_that_breaks_after_a_failed_promotion_hands_over),
          cmocka_unit_test(test_way_back_that_is_cut_off_is_finished))
