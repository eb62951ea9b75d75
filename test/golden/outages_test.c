/* What a release needs is missing or broken: every way back stays open, no step forward is made, it
 * is told once, and what is ready serves. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define MISSING "configmap settings.test get query error: not found"

static int count(const char *text, const char *part)
{
    int found = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

static void tick_until(struct world *w, const char *phase, int weight)
{
    for (int i = 0; i < 20; i++) {
        if (world_is_in(w, phase) && world_status_int(w, "canaryWeight") == weight)
            return;
        world_tick(w);
        world_settle(w);
        w->now_ms += 60000;
    }
    fail_msg("never %s at %d, told:\n%s", phase, weight, w->told);
}

static void ready_pods(struct world *w, const char *deployment, int pods)
{
    world_patch(w, arena_printf(w->arena, "deployments/%s", deployment),
                arena_printf(w->arena, "{'status':{'availableReplicas':%d}}", pods));
}

static void put_config(struct world *w)
{
    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},"
              "'data':{'color':'red'}}");
}

/* podinfo:2, which needs a ConfigMap, has 20 %; then the ConfigMap is deleted. */
static struct world *without_config(void)
{
    struct world *w = world_new("{'spec':{'analysis':{'webhooks':[{'name':'stop','type':'rollback',"
                                "'url':'http://x'}]}}}");

    put_config(w);
    world_initialise(w);
    world_push(w, "podinfo:2");
    world_patch(w, "deployments/podinfo",
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{"
                "'name':'settings'}}]}}}}");
    world_settle(w);
    tick_until(w, "Progressing", 20);
    world_patch(w, "configmaps/settings", NULL);
    w->told = "";
    return w;
}

static void test_config_that_goes_missing_holds_the_step(void **state)
{
    struct world *w = without_config();

    expect_tick(w, "status [Promoted=Unknown Configured=False]\n"
                   "event Normal Progressing: Rollback hook stop not signaling a rollback\n"
                   "event Warning Progressing: " MISSING "\n"
                   "again interval, stepped\n");
    expect_tick(w, "event Normal Progressing: Rollback hook stop not signaling a rollback\n"
                   "again interval, stepped\n");
    assert_string_equal(world_weights(w), "80/20");
    put_config(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_int_equal(count(w->told, MISSING), 1);
    assert_int_equal(count(w->told, "New revision"), 0);
    assert_null(strstr(json_text(w->arena, w->canary), "Configured"));
    world_free(w);
}

/* Every way back works without it. */
static void test_config_that_goes_missing_lets_back(void **state)
{
    static const struct {
        const char *name, *status, *open, *target;
        const char *ends;
    } cases[] = {
        {"rollback hook", NULL, "stop", NULL, "Failed"},
        {"threshold", "{'status':{'failedChecks':2}}", "", NULL, "Failed"},
        {"canary deadline", NULL, "",
         "{'status':{'availableReplicas':0,'conditions':[{'type':'Progressing','status':'False',"
         "'reason':'ProgressDeadlineExceeded'}]}}",
         "Failed"},
        {"restored spec", NULL, "",
         "{'spec':{'template':{'spec':{'volumes':null,'containers':[{'name':'podinfo','image':"
         "'podinfo:1','ports':[{'containerPort':9898,'name':'http','protocol':'TCP'}]}]}}}}",
         "Succeeded"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = without_config();
        if (cases[i].status)
            world_patch_canary(w, cases[i].status);
        if (cases[i].target)
            world_patch(w, "deployments/podinfo", cases[i].target);
        w->open = cases[i].open;
        if (i == 3)
            world_settle(w);
        world_tick(w);
        world_settle(w);
        world_run(w);
        if (strcmp(world_phase(w), cases[i].ends) != 0 || strcmp(world_weights(w), "100/0") != 0)
            fail_msg("%s ends in %s at %s, told:\n%s", cases[i].name, world_phase(w),
                     world_weights(w), w->told);
        world_free(w);
    }
}

static void test_revision_whose_config_is_missing_waits_for_it(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch(w, "deployments/podinfo",
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{"
                "'name':'settings'}}]}}}}");
    world_settle(w);
    expect_tick(w, "status [Promoted=True Configured=False]\n"
                   "event Warning Initialized: " MISSING "\n"
                   "again never, stepped\n");
    expect_tick(w, "again never, stepped\n");
    put_config(w);
    w->told = "";
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_non_null(world_get(w, "configmaps/settings-primary"));
    world_free(w);
}

/* At 50 % podinfo:2 was copied to a primary that never gets ready with it; then the canary breaks
 * as well. */
static struct world *neither_is_ready(void)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2-canary-only");
    tick_until(w, "Promoting", 50);
    ready_pods(w, "podinfo", 0);
    assert_string_equal(world_tick(w),
                        "event Warning Promoting: Promotion of podinfo.test waits, neither side is "
                        "ready: podinfo-primary.test not ready: deployment \"podinfo-primary\" "
                        "exceeded its progress deadline\n"
                        "again interval, stepped\n");
    assert_string_equal(world_weights(w), "50/50");
    w->told = "";
    return w;
}

static void test_neither_is_ready_and_the_canary_recovers(void **state)
{
    struct world *w = neither_is_ready();

    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    world_free(w);
}

static void test_neither_is_ready_and_the_primary_recovers(void **state)
{
    struct world *w = neither_is_ready();

    world_patch(w, "deployments/podinfo-primary",
                "{'status':{'availableReplicas':2,'conditions':null}}");
    world_tick(w);
    assert_string_equal(world_phase(w), "Finalising");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

/* Nobody has analysed it: it keeps the share that the canary had, and gets no more before. */
static void test_neither_is_ready_and_the_next_revision_rolls_forward(void **state)
{
    struct world *w = neither_is_ready();

    world_push(w, "podinfo:3");
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "50/50");
    expect_tick(w, "status phase=Progressing lastAppliedSpec=694f4d878c [Promoted=Unknown]\n"
                   "weights 50/50\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

/* And when that one is bad, there is still no primary to go back to: of the two it is the one that
 * answers. */
static void test_neither_is_ready_and_the_next_revision_fails(void **state)
{
    struct world *w = neither_is_ready();

    world_push(w, "podinfo:3");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    assert_non_null(strstr(w->told, "podinfo.test keeps its traffic, the primary is not ready"));
    world_free(w);
}

/* A revision that came during the promotion has not been analysed: it keeps the share that the
 * canary had, and gets no more before it was. */
static void test_push_during_a_promotion_that_fails(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2-canary-only");
    tick_until(w, "Promoting", 50);
    world_push(w, "podinfo:3");
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "50/50");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    world_free(w);
}

/* The promoted spec was put back meanwhile: that one may have everything. */
static void test_restored_spec_during_a_promotion_that_fails(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2-canary-only");
    tick_until(w, "Promoting", 50);
    world_push(w, "podinfo:1");
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_weights(w), "0/100");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
    world_free(w);
}

static void test_skip_waits_for_the_primary(void **state)
{
    struct world *w = world_new("{'spec':{'skipAnalysis':true}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    tick_until(w, "Promoting", 0);
    ready_pods(w, "podinfo-primary", 0);
    world_tick(w);
    assert_string_equal(world_phase(w), "Promoting");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    world_free(w);

    w = world_new("{'spec':{'skipAnalysis':true}}");
    world_initialise(w);
    world_push(w, "podinfo:2-canary-only");
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    assert_null(strstr(w->told, "Promotion completed!"));
    world_push(w, "podinfo:3");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

/* With a share, the canary takes over what the lost primary had; without one, nobody has looked at
 * it. */
static void test_primary_that_is_lost_during_the_analysis(void **state)
{
    static const struct {
        int weight;
        bool ready;
        const char *weights;
    } cases[] = {{0, true, "100/0"}, {20, true, "0/100"}, {20, false, "80/20"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        world_push(w, "podinfo:2");
        tick_until(w, "Progressing", cases[i].weight);
        world_settle(w);
        if (!cases[i].ready)
            ready_pods(w, "podinfo", 0);
        world_patch(w, "deployments/podinfo-primary", NULL);
        w->told = "";
        for (int tick = 0; tick < 3; tick++)
            world_tick(w);
        assert_string_equal(world_weights(w), cases[i].weights);
        assert_int_equal(count(w->told, "is missing"), 1);
        world_push(w, "podinfo:1");
        world_settle(w);
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        assert_string_equal(world_weights(w), "100/0");
        assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
        assert_null(strstr(json_text(w->arena, w->canary), "PrimaryFound"));
        world_free(w);
    }
}

/* A release whose canary has its first share, and whose pods are ready. */
static struct world *after_first_step(void)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    tick_until(w, "Progressing", 20);
    world_settle(w);
    return w;
}

/* The same, while the status does not say yet what was routed last. */
static void test_primary_that_is_lost_behind_a_step(void **state)
{
    struct world *w = after_first_step();

    w->crash_at = w->effects + 1; /* the status of the next step */
    world_tick(w);
    w->crash_at = -1;
    assert_string_equal(world_weights(w), "60/40");
    assert_int_equal(world_status_int(w, "canaryWeight"), 20);
    ready_pods(w, "podinfo", 0);
    world_patch(w, "deployments/podinfo-primary", NULL);
    world_tick(w);
    assert_string_equal(world_weights(w), "60/40");
    assert_int_equal(world_status_int(w, "canaryWeight"), 40);
    world_free(w);
}

/* The canary took everything, which was not told yet; the primary is there again, and not ready. */
static void test_primary_that_comes_back_slowly(void **state)
{
    struct world *w = after_first_step();

    world_patch(w, "deployments/podinfo-primary", NULL);
    w->crash_at = w->effects + 1;
    world_tick(w);
    w->crash_at = -1;
    assert_string_equal(world_weights(w), "0/100");
    assert_int_equal(world_status_int(w, "canaryWeight"), 20);
    world_push(w, "podinfo:1");
    world_tick(w); /* makes the primary */
    world_push(w, "podinfo:2");
    world_settle(w);
    ready_pods(w, "podinfo-primary", 0);
    w->due = true;
    world_tick(w);
    assert_string_equal(world_weights(w), "0/100");
    assert_int_equal(world_status_int(w, "canaryWeight"), 100);
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_config_that_goes_missing_holds_the_step),
          cmocka_unit_test(test_config_that_goes_missing_lets_back),
          cmocka_unit_test(test_revision_whose_config_is_missing_waits_for_it),
          cmocka_unit_test(test_neither_is_ready_and_the_canary_recovers),
          cmocka_unit_test(test_neither_is_ready_and_the_primary_recovers),
          cmocka_unit_test(test_neither_is_ready_and_the_next_revision_rolls_forward),
          cmocka_unit_test(test_neither_is_ready_and_the_next_revision_fails),
          cmocka_unit_test(test_push_during_a_promotion_that_fails),
          cmocka_unit_test(test_restored_spec_during_a_promotion_that_fails),
          cmocka_unit_test(test_skip_waits_for_the_primary),
          cmocka_unit_test(test_primary_that_is_lost_during_the_analysis),
          cmocka_unit_test(test_primary_that_is_lost_behind_a_step),
          cmocka_unit_test(test_primary_that_comes_back_slowly))
