/* Which changes are a new revision, and what becomes of the one before it. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

static void add_config(struct world *w)
{
    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},"
              "'data':{'color':'red'}}");
    world_patch(w, "deployments/podinfo",
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{"
                "'name':'settings'}}]}}}}");
    world_settle(w);
}

static void test_restart_on_another_revision(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_push(w, "podinfo:3");
    world_settle(w);
    /* at once, not at the next interval; and traffic leaves the canary that is not analysed */
    w->due = false;
    expect_tick(
        w, "patch httproutes test/podinfo weights 100/0\n"
           "status canaryWeight=0 lastAppliedSpec=694f4d878c\n"
           "weights 100/0\n"
           "event Normal Progressing: New revision detected! Restarting analysis for podinfo.test\n"
           "again interval, stepped\n");
    world_free(w);
}

static void test_restored_spec_cancels(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_push(w, "podinfo:1");
    world_settle(w);
    w->due = false;
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status canaryWeight=0 lastAppliedSpec=\n"
                   "weights 100/0\n"
                   "again now\n");
    expect_tick(w,
                "status phase=Succeeded lastAppliedSpec=dccf7d545 [Promoted=True Drained=False]\n"
                "weights 100/0\n"
                "event Normal Succeeded: Release of podinfo.test cancelled, its previous spec was "
                "restored\n"
                "again now\n");
    expect_tick(w, "again never, within 60 s\n");
    world_free(w);
}

static void test_restored_spec_while_waiting_cancels(void **state)
{
    struct world *w = world_new("{'spec':{'analysis':{'webhooks':[{'name':'may-start','type':'"
                                "confirm-rollout','url':'http://x'}]}}}");

    world_initialise(w);
    w->closed = "may-start";
    world_push(w, "podinfo:2");
    world_tick(w);
    world_push(w, "podinfo:1");
    expect_tick(w, "status phase=Succeeded [Promoted=True]\n"
                   "weights 100/0\n"
                   "event Normal Succeeded: Release of podinfo.test cancelled, its previous spec "
                   "was restored\n"
                   "again now\n");
    world_free(w);
}

static void test_manual_rollback_after_a_failure_starts_nothing(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    /* the failed revision is not tried again */
    expect_tick(w, "again never\n");
    world_push(w, "podinfo:1");
    expect_tick(w, "again never\n");
    /* and the next one is */
    world_push(w, "podinfo:3");
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=694f4d878c [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_revision_after_a_failure_is_not_swallowed(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_run(w);
    w->metrics = world_json(w, "{}");
    world_push(w, "podinfo:3");
    /* the tick that sees it first ends early */
    world_patch(w, "deployments/podinfo-primary", "{'status':{'availableReplicas':0}}");
    expect_tick(w, "event Warning Failed: podinfo-primary.test not ready: waiting for rollout to "
                   "finish: 0 of 2 (readyThreshold 100%) updated replicas are available\n"
                   "again interval, stepped\n");
    world_run(w);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    world_free(w);
}

static void test_revision_pushed_during_the_promotion(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    while (!world_is_in(w, "Promoting")) {
        world_tick(w);
        world_settle(w);
    }
    world_push(w, "podinfo:3");
    world_settle(w);
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status phase=Finalising canaryWeight=0 [Promoted=Unknown Drained=False]\n"
                   "event Normal Promoting: Routing all traffic to primary\n"
                   "weights 100/0\n"
                   "again interval, stepped\n");
    w->now_ms += 60000;
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status phase=Succeeded lastPromotedSpec=597d8f496b [Promoted=True]\n"
                   "weights 100/0\n"
                   "outcome success completed\n"
                   "event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
                   "alert info: Canary analysis completed successfully, promotion finished.\n"
                   "again now, stepped\n");
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=694f4d878c [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    world_run(w);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    world_free(w);
}

/* Another id makes new pods. */
static const char *promoted_id(struct world *w)
{
    return json_str_at(world_get(w, "deployments/podinfo-primary"), "spec", "template", "metadata",
                       "annotations", "flagger-id", NULL);
}

static void test_config_changed(void **state)
{
    struct world *w = world_new(NULL);

    add_config(w);
    world_initialise(w);
    assert_string_equal(
        json_str_at(world_get(w, "configmaps/settings-primary"), "data", "color", NULL), "red");
    const char *pods = promoted_id(w);
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    expect_tick(w,
                "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                "status phase=Progressing "
                "trackedConfigs={\"configmap/settings\":\"f234cb93c08ad64e\"} [Promoted=Unknown]\n"
                "weights 100/0\n"
                "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                "alert info+: New revision detected, progressing canary analysis.\n"
                "again interval, stepped\n");
    world_run(w);
    assert_string_equal(
        json_str_at(world_get(w, "configmaps/settings-primary"), "data", "color", NULL), "blue");
    assert_string_not_equal(promoted_id(w), pods);
    world_free(w);
}

static void test_config_tracking_is_off(void **state)
{
    struct world *w = world_new(NULL);

    w->settings.config_tracking = false;
    add_config(w);
    world_initialise(w);
    assert_null(world_get(w, "configmaps/settings-primary"));
    assert_null(json_at(w->canary, "status", "trackedConfigs", NULL));
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    expect_tick(w, "again never\n");
    world_push(w, "podinfo:2");
    world_run(w);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

static void test_config_changed_during_the_analysis(void **state)
{
    struct world *w = world_new(NULL);

    add_config(w);
    world_initialise(w);
    world_push(w, "podinfo:2");
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=6c7d8c464d [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    world_tick(w);
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    /* the pods that have read the old one go first */
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status canaryWeight=0 lastAppliedSpec=\n"
                   "weights 100/0\n"
                   "again now\n");
    expect_tick(w, "status [Promoted=Unknown Drained=False]\n"
                   "weights 100/0\n"
                   "again interval, within 60 s\n");
    w->now_ms += 60000;
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "again interval\n");
    expect_tick(
        w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
           "status lastAppliedSpec=6c7d8c464d "
           "trackedConfigs={\"configmap/settings\":\"f234cb93c08ad64e\"}\n"
           "weights 100/0\n"
           "event Normal Progressing: New revision detected! Restarting analysis for podinfo.test\n"
           "again interval, stepped\n");
    /* a config that is no longer named is no longer tracked */
    world_patch(w, "deployments/podinfo", "{'spec':{'template':{'spec':{'volumes':[]}}}}");
    world_settle(w);
    expect_tick(
        w, "status lastAppliedSpec=57c7c569c9 trackedConfigs={\"configmap/settings\":null}\n"
           "weights 100/0\n"
           "event Normal Progressing: New revision detected! Restarting analysis for podinfo.test\n"
           "again interval, stepped\n");
    world_free(w);
}

static void test_mandatory_config_is_missing(void **state)
{
    struct world *w = world_new(NULL);

    add_config(w);
    world_patch(w, "configmaps/settings", NULL);
    expect_tick(w, "status phase=Initializing [Promoted=Unknown Configured=False]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "event Warning Initializing: configmap settings.test get query error: not "
                   "found\n"
                   "again interval\n");
    expect_tick(w, "again interval\n");
    world_free(w);
}

static void test_adopted_from_flagger(void **state)
{
    struct world *w = world_new(
        "{'status':{'phase':'Succeeded','canaryWeight':0,'failedChecks':0,'iterations':0,"
        "'lastAppliedSpec':'dccf7d545','lastPromotedSpec':'dccf7d545','trackedConfigs':{}}}");

    /* the primary that Flagger left has a random id */
    world_tick(w);
    world_settle(w);
    world_patch(w, "deployments/podinfo-primary",
                "{'spec':{'template':{'metadata':{'annotations':{'flagger-id':'x'}}}}}");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(w->told, "");
    world_free(w);
}

/* The hash that another version of Flagger took of the same spec. */
static struct world *taken_over(const char *phase)
{
    struct world *w = world_new(NULL);

    add_config(w);
    w->analysed = "podinfo:1 podinfo:2";
    world_initialise(w);
    world_patch_canary(
        w, arena_printf(w->arena,
                        "{'status':{'phase':'%s','lastAppliedSpec':'aaaa','lastPromotedSpec':"
                        "'aaaa'}}",
                        phase));
    world_patch(w, "deployments/podinfo-primary",
                "{'spec':{'template':{'metadata':{'annotations':{'flagger-id':'x'}}}}}");
    world_settle(w);
    return w;
}

static void test_another_hash_of_what_the_primary_runs_is_adopted(void **state)
{
    struct world *w = taken_over("Succeeded");

    expect_tick(w, "status lastAppliedSpec=78cfc4f887 lastPromotedSpec=78cfc4f887\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    assert_string_equal(w->told, "");
    /* and from then on a revision is one */
    world_push(w, "podinfo:2");
    world_run(w);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

static void test_another_hash_is_not_adopted_when_something_differs(void **state)
{
    static const struct {
        const char *phase, *key, *patch;
    } cases[] = {
        {"Failed", "deployments/podinfo", "{}"},
        {"Succeeded", "configmaps/settings", "{'data':{'color':'blue'}}"},
        {"Succeeded", "configmaps/settings-primary", NULL},
        {"Initialized", "deployments/podinfo",
         "{'spec':{'template':{'metadata':{'labels':{'more':'1'}}}}}"},
        {"Succeeded", "deployments/podinfo-primary",
         "{'spec':{'template':{'spec':{'terminationGracePeriodSeconds':5}}}}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = taken_over(cases[i].phase);
        world_patch(w, cases[i].key, cases[i].patch);
        world_settle(w);
        world_tick(w);
        if (strcmp(world_phase(w), "Progressing") != 0)
            fail_msg("case %zu is in phase %s", i, world_phase(w));
        world_free(w);
    }
}

/* A Canary that is deleted and made again: the primary of the old one serves. */
static void test_a_new_canary_adopts_a_primary_that_runs_the_same(void **state)
{
    struct world *w = taken_over("Succeeded");

    world_patch_canary(w, "{'metadata':{'uid':'c-2'},'status':null}");
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_null(strstr(w->told, "New revision"));
    world_free(w);
}

static void test_config_that_changes_back_while_its_pods_stop(void **state)
{
    struct world *w = world_new(NULL);

    add_config(w);
    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_settle(w);
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    world_tick(w);
    /* the target is at zero now, which is not the end of a rollback */
    world_patch(w, "configmaps/settings", "{'data':{'color':'red'}}");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_restart_on_another_revision),
          cmocka_unit_test(test_restored_spec_cancels),
          cmocka_unit_test(test_restored_spec_while_waiting_cancels),
          cmocka_unit_test(test_manual_rollback_after_a_failure_starts_nothing),
          cmocka_unit_test(test_revision_after_a_failure_is_not_swallowed),
          cmocka_unit_test(test_revision_pushed_during_the_promotion),
          cmocka_unit_test(test_config_changed), cmocka_unit_test(test_config_tracking_is_off),
          cmocka_unit_test(test_config_changed_during_the_analysis),
          cmocka_unit_test(test_mandatory_config_is_missing),
          cmocka_unit_test(test_adopted_from_flagger),
          cmocka_unit_test(test_another_hash_of_what_the_primary_runs_is_adopted),
          cmocka_unit_test(test_another_hash_is_not_adopted_when_something_differs),
          cmocka_unit_test(test_a_new_canary_adopts_a_primary_that_runs_the_same),
          cmocka_unit_test(test_config_that_changes_back_while_its_pods_stop))
