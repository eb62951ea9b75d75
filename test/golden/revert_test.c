/*
 * What the rules do with a Canary that is deleted: its finalizer, one deletion plan by plan, and
 * whatever may stand in its way. (Deletions in each phase are in delete_test.c.)
 */
#include <string.h>

#include "deletion.h"
#include "test/unit.h"

#define NO_FINALIZER "{'metadata':{'finalizers':null}}"
#define KUBERNETES   "{'spec':{'provider':'kubernetes'}}"

/* --- the finalizer
 * ---------------------------------------------------------------------------------------------- */

static void test_finalizer_comes_first(void **state)
{
    struct world *w = world_new(NO_FINALIZER);

    expect_tick(w, "patch canaries test/podinfo with finalizer\n"
                   "create services test/podinfo-canary -> app=podinfo\n"
                   "create services test/podinfo-primary -> app=podinfo-primary\n"
                   "create deployments test/podinfo-primary\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "again now\n");
    world_free(w);
}

static void test_finalizer_of_a_canary_taken_over(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'metadata':{'finalizers':['theirs']},'spec':{'suspend':true}}");
    expect_tick(w, "patch canaries test/podinfo with finalizer\n"
                   "status [Promoted=True Suspended=True]\n"
                   "event Normal Initialized: skipping canary run as object is suspended\n"
                   "again never\n");
    assert_string_equal(
        json_text_sorted(w->arena, json_at(w->canary, "metadata", "finalizers", NULL)),
        "[\"theirs\",\"finalizer.flagger.app\"]");
    world_patch_canary(w, "{'spec':{'revertOnDeletion':false}}");
    expect_tick(w, "patch canaries test/podinfo without finalizer\nagain never\n");
    expect_tick(w, "again never\n");
    assert_string_equal(
        json_text_sorted(w->arena, json_at(w->canary, "metadata", "finalizers", NULL)),
        "[\"theirs\"]");
    world_free(w);
}

static void test_no_finalizer_for_what_is_refused(void **state)
{
    struct world *w = world_new("{'metadata':{'finalizers':null},'spec':{'provider':'linkerd'}}");

    world_tick(w);
    assert_null(json_at(w->canary, "metadata", "finalizers", NULL));
    world_free(w);
}

/* --- one deletion, plan by plan
 * --------------------------------------------------------------------------------- */

#define SWITCH                                                                                     \
    "patch services test/podinfo -> {\"app\":\"podinfo\"}\n"                                       \
    "patch httproutes test/podinfo -> podinfo\n"                                                   \
    "again now\n"
#define SETTLED                                                                                    \
    "status [Promoted=Unknown Reverted=True]\n"                                                    \
    "again never, within 11 s\n"
#define LET_GO                                                                                     \
    "patch services test/podinfo outlives the canary\n"                                            \
    "patch httproutes test/podinfo outlives the canary\n"                                          \
    "patch canaries test/podinfo without finalizer\n"                                              \
    "event Normal Terminating: Terminated canary podinfo.test\n"                                   \
    "again never\n"

static void test_step_by_step(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_delete(w);
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Terminating [Promoted=Unknown]\n"
                   "event Normal Terminating: Terminating canary podinfo.test\n"
                   "again interval\n");
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    expect_tick(w, SWITCH);
    expect_tick(w, SETTLED);
    w->now_ms += 4000;
    expect_tick(w, "again never, within 7 s\n"); /* not yet known everywhere */
    assert_non_null(world_get(w, "deployments/podinfo-primary"));
    w->now_ms += 7000;
    expect_tick(w, LET_GO);
    deletion_check(w, true);
    assert_int_equal(deletion_replicas(w, "podinfo"), 2);
    expect_tick(w, "again never\n");
    world_free(w);
}

/* Whoever undoes it makes the time begin anew in which it becomes known everywhere. */
static void test_undone_while_it_settles(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_delete(w);
    for (int i = 0; i < 3; i++)
        deletion_step(w);
    world_patch(w, "services/podinfo", "{'spec':{'selector':{'app':'podinfo-primary'}}}");
    w->now_ms += 20000;
    expect_tick(w, "patch services test/podinfo -> {\"app\":\"podinfo\"}\n"
                   "status [Promoted=Unknown Reverted=False]\n"
                   "again now\n");
    expect_tick(w, SETTLED);
    world_free(w);
}

/* So does a mesh that turns out not to have taken the route over. */
static void test_the_mesh_takes_its_time(void **state)
{
    static const char status[] =
        "{'status':{'parents':[{'parentRef':{'name':'gateway','namespace':'infra'},"
        "'conditions':[{'type':'Accepted','status':'%s','observedGeneration':9}]}]}}";

    struct world *w = world_new(NULL);

    world_initialise(w);
    world_delete(w);
    for (int i = 0; i < 3; i++)
        deletion_step(w);
    world_patch(w, "httproutes/podinfo", arena_printf(w->arena, status, "False"));
    w->now_ms += 20000;
    world_tick(w);
    world_patch(w, "httproutes/podinfo", arena_printf(w->arena, status, "True"));
    w->now_ms += 20000;
    expect_tick(w, SETTLED);
    assert_non_null(world_get(w, "deployments/podinfo-primary"));
    w->now_ms += 61000;
    world_tick(w);
    assert_true(w->gone);
    world_free(w);
}

/* A target that took its time does not shorten what comes after it. */
static void test_late_but_not_hasty(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2-slow");
    world_delete(w);
    deletion_step(w);
    w->now_ms += 3600000;
    deletion_step(w);
    world_push(w, "podinfo:3");
    world_settle(w);
    expect_tick(w, SWITCH);
    expect_tick(w, SETTLED);
    assert_non_null(world_get(w, "deployments/podinfo-primary"));
    w->now_ms += 11000;
    expect_tick(w, LET_GO);
    world_free(w);
}

static void test_suspended(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'spec':{'suspend':true}}");
    world_delete(w);
    deletion_run(w);
    deletion_check(w, true);
    world_free(w);
}

/* The Service and the route are somebody else's then. */
static void test_made_again_and_deleted_again(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_delete(w);
    deletion_run(w);
    w->gone = false;
    world_patch_canary(w, "{'metadata':{'deletionTimestamp':null,'finalizers':["
                          "'finalizer.flagger.app']},'status':null}");
    world_initialise(w);
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    assert_string_equal(world_weights(w), "100/0");
    assert_int_equal(deletion_replicas(w, "podinfo"), 0);
    world_delete(w);
    deletion_run(w);
    deletion_check(w, true);
    assert_int_equal(deletion_replicas(w, "podinfo"), 2);
    world_free(w);
}

/* Who serves everything is held to what is asked of a primary. */
static void test_half_of_the_target_is_not_enough(void **state)
{
    struct world *w = world_new("{'spec':{'analysis':{'canaryReadyThreshold':50}}}");

    world_initialise(w);
    world_delete(w);
    deletion_step(w);
    world_patch(w, "deployments/podinfo", "{'status':{'availableReplicas':1}}");
    world_tick(w);
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    world_settle(w);
    deletion_run(w);
    deletion_check(w, true);
    world_free(w);
}

static void test_never_begun(void **state)
{
    struct world *w = world_new(NULL);

    world_delete(w);
    deletion_run(w);
    assert_int_equal(deletion_replicas(w, "podinfo"), 2);
    assert_null(world_get(w, "services/podinfo"));
    assert_null(world_get(w, "httproutes/podinfo"));
    world_free(w);
}

static void test_explicit_false(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'spec':{'revertOnDeletion':false}}");
    world_patch_canary(w, "{'metadata':{'deletionTimestamp':'2023-11-14T22:13:20Z'}}");
    const char *text = world_tick(w);
    assert_string_equal(text, "patch canaries test/podinfo without finalizer\n"
                              "event Normal Initialized: Terminated canary podinfo.test\n"
                              "again never\n");
    assert_int_equal(deletion_replicas(w, "podinfo"), 0);
    world_free(w);
}

/* --- the target
 * -------------------------------------------------------------------------------------------------
 */

static void test_the_primary_serves_until_the_target_is_ready(void **state)
{
    struct world *w = world_new("{'spec':{'progressDeadlineSeconds':120}}");

    world_initialise(w);
    world_patch_canary(w, "{'status':{'phase':'Failed'}}");
    world_push(w, "podinfo:2-slow");
    world_delete(w);
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Terminating [Promoted=Unknown]\n"
                   "event Normal Terminating: Terminating canary podinfo.test\n"
                   "event Warning Terminating: podinfo.test serves what it holds from now on, a "
                   "revision that was not promoted\n"
                   "again interval\n");
    expect_tick(w, "again interval\n");
    w->now_ms += 120000;
    expect_tick(w,
                "status [Promoted=Unknown Reverted=False]\n"
                "event Warning Terminating: Termination of podinfo.test waits for its target: "
                "canary deployment podinfo.test not ready: waiting for rollout to finish: 0 of 2 "
                "(readyThreshold 100%) updated replicas are available\n"
                "again interval\n");
    w->now_ms += 120000;
    expect_tick(w, "again interval\n"); /* told once */
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    assert_string_equal(world_weights(w), "100/0");
    world_push(w, "podinfo:3");
    world_settle(w);
    deletion_run(w);
    deletion_check(w, true);
    world_free(w);
}

static void test_a_target_that_never_gets_ready(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2-stuck");
    world_delete(w);
    deletion_step(w);
    deletion_step(w);
    deletion_step(w);
    assert_non_null(strstr(w->told, "waits for its target: canary deployment podinfo.test not "
                                    "ready: deployment \"podinfo\" exceeded its progress"));
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    /* a person who wants it gone says so */
    world_patch_canary(w, "{'spec':{'revertOnDeletion':false}}");
    deletion_step(w);
    assert_true(w->gone);
    world_free(w);
}

/* Nobody serves: there is nothing to wait for. */
static void test_both_sides_are_down(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2-stuck");
    world_patch(w, "deployments/podinfo-primary",
                "{'spec':{'template':{'spec':{'containers':[{'image':'podinfo:1-stuck'}]}}}}");
    world_settle(w);
    world_delete(w);
    deletion_run(w);
    deletion_check(w, true);
    world_free(w);
}

static void test_the_target_is_gone(void **state)
{
    static const char *const patches[] = {
        NULL, "{'metadata':{'deletionTimestamp':'2023-11-14T22:13:20Z'}}"};

    for (size_t i = 0; i < 2; i++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        world_patch(w, "deployments/podinfo", patches[i]);
        world_delete(w);
        assert_string_equal(world_tick(w),
                            "patch canaries test/podinfo without finalizer\n"
                            "event Normal Initialized: Terminated canary podinfo.test\n"
                            "again never\n");
        assert_null(world_get(w, "services/podinfo"));
        world_free(w);
    }
}

/* --foreground: the collector takes what the Canary owns before anybody is asked. */
static void test_everything_else_is_gone(void **state)
{
    static const char *const gone[] = {"deployments/podinfo-primary", "services/podinfo",
                                       "services/podinfo-primary", "services/podinfo-canary",
                                       "httproutes/podinfo"};
    struct world *w = world_new(NULL);

    world_initialise(w);
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        world_patch(w, gone[i], NULL);
    world_delete(w);
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":1}}\n"
                   "create services test/podinfo -> app=podinfo\n"
                   "create httproutes test/podinfo -> podinfo\n"
                   "status phase=Terminating [Promoted=Unknown]\n"
                   "event Normal Terminating: Terminating canary podinfo.test\n"
                   "again now\n");
    deletion_run(w);
    deletion_check(w, true);
    assert_null(json_at(world_get(w, "httproutes/podinfo"), "metadata", "annotations", NULL));
    world_free(w);
}

static void test_replicas(void **state)
{
    static const struct {
        const char *primary, *target;
        int64_t left;
    } cases[] = {
        {"{'spec':{'replicas':7}}", "{'spec':{'replicas':0}}", 7},
        {"{'spec':{'replicas':7}}", "{'spec':{'replicas':3}}", 7},
        {"{'spec':{'replicas':2}}", "{'spec':{'replicas':5}}", 5},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        world_patch(w, "deployments/podinfo-primary", cases[i].primary);
        world_patch(w, "deployments/podinfo", cases[i].target);
        world_settle(w);
        world_delete(w);
        deletion_run(w);
        assert_int_equal(deletion_replicas(w, "podinfo"), cases[i].left);
        world_free(w);
    }
}

/* Whoever takes the target's replicas away again and again does not hold the Canary for ever. */
static void test_somebody_undoes_it(void **state)
{
    struct world *w = world_new("{'spec':{'progressDeadlineSeconds':300}}");

    world_initialise(w);
    world_delete(w);
    for (int i = 0; i < DELETION_TICKS && !w->gone; i++) {
        deletion_step(w);
        if (!w->gone)
            world_patch(w, "deployments/podinfo", "{'spec':{'replicas':1}}");
        world_settle(w);
    }
    deletion_check(w, true);
    world_free(w);
}

/* ... but as long as nobody answers at the target, the primary does. */
static void test_somebody_holds_it_at_zero(void **state)
{
    struct world *w = world_new("{'spec':{'progressDeadlineSeconds':300}}");

    world_initialise(w);
    world_delete(w);
    for (int i = 0; i < DELETION_TICKS; i++) {
        deletion_step(w);
        world_patch(w, "deployments/podinfo", "{'spec':{'replicas':0}}");
        world_settle(w);
    }
    assert_false(w->gone);
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    assert_non_null(strstr(w->told, "waits for its target"));
    deletion_run(w);
    deletion_check(w, true);
    world_free(w);
}

/* A gateway that never takes the route over does not hold it for ever either. */
static void test_the_mesh_is_gone(void **state)
{
    struct world *w = world_new("{'spec':{'progressDeadlineSeconds':300}}");

    world_initialise(w);
    world_patch(w, "httproutes/podinfo",
                "{'status':{'parents':[{'parentRef':{'name':'gateway','namespace':'infra'},"
                "'conditions':[{'type':'Accepted','status':'False','observedGeneration':1}]}]}}");
    world_delete(w);
    for (int i = 0; i < 4; i++)
        deletion_step(w);
    assert_false(w->gone);
    assert_non_null(strstr(w->told, "HTTPRoute podinfo.test parent gateway is not ready"));
    deletion_run(w);
    deletion_check(w, true);
    world_free(w);
}

/* --- a foreign Service, and specs that nobody can follow
 * ------------------------------------------------------------ */

static void test_the_selector_that_kubectl_applied(void **state)
{
    static const struct {
        const char *annotation, *selector;
    } cases[] = {
        {"{\"spec\":{\"selector\":{\"tier\":\"web\"}}}", "{\"tier\":\"web\"}"},
        {"{\"spec\":{\"selector\":{\"tier\":\"db\"}}}", "{\"app\":\"podinfo\"}"},
        {"not JSON", "{\"app\":\"podinfo\"}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(KUBERNETES);
        world_patch(w, "deployments/podinfo",
                    "{'spec':{'template':{'metadata':{'labels':{'tier':'web'}}}}}");
        world_put(w, "services/podinfo",
                  "{'metadata':{'name':'podinfo'},'spec':{'selector':{'tier':'web'},"
                  "'ports':[{'name':'http','port':9898,'targetPort':9898,'protocol':'TCP'}]}}");
        struct json_object *annotations =
            json_sub(json_at(world_get(w, "services/podinfo"), "metadata", NULL), "annotations");
        json_set_str(annotations, "kubectl.kubernetes.io/last-applied-configuration",
                     cases[i].annotation);
        world_initialise(w);
        assert_string_equal(deletion_apex(w), "podinfo-primary");
        w->safety_off = true; /* the world reads one label only */
        world_delete(w);
        for (int t = 0; t < 3; t++)
            deletion_step(w);
        assert_string_equal(json_text_sorted(w->arena, json_at(world_get(w, "services/podinfo"),
                                                               "spec", "selector", NULL)),
                            cases[i].selector);
        world_free(w);
    }
}

static void test_a_spec_that_cannot_be_followed(void **state)
{
    static const struct {
        const char *patch, *told;
        bool served; /* as far as the target and the apex Service go */
    } cases[] = {
        {"{'spec':{'provider':'linkerd'}}",
         "the routes of podinfo.test are left as they are: provider \"linkerd\" is not served by "
         "this version",
         true},
        {"{'spec':{'service':{'gatewayRefs':null}}}",
         "the routes of podinfo.test are left as they are: spec.service.gatewayRefs: must be",
         true},
        {"{'spec':{'targetRef':{'kind':'Unknown'}}}",
         "Unknown podinfo.test is left as it is: its kind is not served by this version", false},
        {"{'spec':{'autoscalerRef':{'apiVersion':'x/v1','kind':'Unknown','name':'x'}}}",
         "Unknown x.test is left as it is: its kind is not served by this version", true},
        {"{'spec':{'analysis':{'stepWeights':[30,20],'stepWeight':null}}}", "Terminated", true},
        {"{'spec':{'analysis':{'match':[{'headers':{'x':{'prefix':'1'}}}]}}}", "Terminated", true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(NULL);
        w->flaggers_crd = true; /* the spec that was accepted before is not known */
        world_initialise(w);
        w->safety_off = true; /* of routes that nobody can change */
        world_patch_canary(w, cases[i].patch);
        world_delete(w);
        deletion_run(w);
        if (!strstr(w->told, cases[i].told))
            fail_msg("told\n%s\nand not\n%s", w->told, cases[i].told);
        if (strcmp(cases[i].told, "Terminated") == 0)
            assert_null(strstr(w->told, "left as"));
        assert_int_equal(deletion_replicas(w, "podinfo"), cases[i].served ? 2 : 0);
        if (cases[i].served)
            assert_string_equal(deletion_apex(w), "podinfo");
        world_free(w);
    }
}

static void test_a_spec_that_cannot_be_read(void **state)
{
    struct world *w = world_new("{'spec':{'targetRef':null},'metadata':{'deletionTimestamp':"
                                "'2023-11-14T22:13:20Z'}}");
    struct canary canary;
    struct errinfo ei;

    assert_int_equal(revert_view(w->arena, w->canary, &canary, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "spec.targetRef"));
    canary = (struct canary){.name = "podinfo", .namespace_ = "test", .target.kind = ""};
    struct tick *tick = tick_new(w->arena, &canary, &w->settings, w->now_ms, true);
    assert_true(revert_unread(tick, w->canary, ei.text));
    assert_string_equal(
        plan_print(tick),
        arena_printf(w->arena,
                     "patch canaries test/podinfo without finalizer\n"
                     "event Warning : the target and the routes are left as they are, the spec "
                     "cannot be read: %s\nagain never\n",
                     ei.text));
    world_patch_canary(w, "{'metadata':{'deletionTimestamp':null}}");
    assert_false(revert_unread(tick, w->canary, ei.text));
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_finalizer_comes_first),
          cmocka_unit_test(test_finalizer_of_a_canary_taken_over),
          cmocka_unit_test(test_no_finalizer_for_what_is_refused),
          cmocka_unit_test(test_step_by_step), cmocka_unit_test(test_undone_while_it_settles),
          cmocka_unit_test(test_the_mesh_takes_its_time), cmocka_unit_test(test_late_but_not_hasty),
          cmocka_unit_test(test_suspended), cmocka_unit_test(test_made_again_and_deleted_again),
          cmocka_unit_test(test_half_of_the_target_is_not_enough),
          cmocka_unit_test(test_never_begun), cmocka_unit_test(test_explicit_false),
          cmocka_unit_test(test_the_primary_serves_until_the_target_is_ready),
          cmocka_unit_test(test_a_target_that_never_gets_ready),
          cmocka_unit_test(test_both_sides_are_down), cmocka_unit_test(test_the_target_is_gone),
          cmocka_unit_test(test_everything_else_is_gone), cmocka_unit_test(test_replicas),
          cmocka_unit_test(test_somebody_undoes_it),
          cmocka_unit_test(test_somebody_holds_it_at_zero), cmocka_unit_test(test_the_mesh_is_gone),
          cmocka_unit_test(test_the_selector_that_kubectl_applied),
          cmocka_unit_test(test_a_spec_that_cannot_be_followed),
          cmocka_unit_test(test_a_spec_that_cannot_be_read))
