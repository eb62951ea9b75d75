/* Which revision a hook is about: an approval names exactly one, and holds wherever its release
 * asks. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define HOOKS                                                                                      \
    "'analysis':{'webhooks':["                                                                     \
    "{'name':'back','type':'rollback','url':'http://x'},"                                          \
    "{'name':'start','type':'confirm-rollout','url':'http://x'},"                                  \
    "{'name':'load','url':'http://x'},"                                                            \
    "{'name':'promote','type':'confirm-promotion','url':'http://x'}]}"

/* The gate of the start is closed, and was asked about podinfo:2. */
static const char *wait_at_start(struct world *w)
{
    w->closed = "start";
    world_push(w, "podinfo:2");
    for (int i = 0; i < 3 && strcmp(world_phase(w), "Waiting") != 0; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_phase(w), "Waiting");
    assert_string_not_equal(w->about, "");
    return w->about;
}

static void add_config(struct world *w)
{
    world_put(w, "configmaps/settings",
              "{'metadata':{'name':'settings','namespace':'test'},'data':{'color':'red'}}");
    world_patch(w, world_key(w, "podinfo"),
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':"
                "'settings'}}]}}}}");
}

/* What was asked at the start is asked at every later gate, until the end. */
static void expect_one_revision(struct world *w, const char *approved)
{
    int asked = 0;

    w->closed = "";
    for (int i = 0; i < 20 && strcmp(world_phase(w), "Succeeded") != 0; i++) {
        world_tick(w);
        if (json_len(w->asked) > 0) {
            assert_string_equal(w->about, approved);
            asked++;
        }
        world_settle(w);
        w->now_ms += 60000;
    }
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_checksum(w), approved);
    assert_true(asked > 2);
}

static void test_an_approval_of_the_start_holds_to_the_end(void **state)
{
    static const struct {
        const char *canary;
        bool configs, untracked;
    } cases[] = {
        {"{'spec':{" HOOKS "}}", false, false},
        {"{'spec':{" HOOKS "}}", true, false},
        {"{'spec':{" HOOKS "}}", true, true},
        {"{'spec':{'targetRef':{'kind':'DaemonSet'}," HOOKS "}}", true, false},
        {"{'spec':{'targetRef':{'apiVersion':'v1','kind':'Service'}," HOOKS "}}", false, false},
        {"{'spec':{'provider':'knative','targetRef':{'apiVersion':'serving.knative.dev/v1',"
         "'kind':'Service'}," HOOKS "}}",
         false, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(cases[i].canary);
        w->settings.config_tracking = !cases[i].untracked;
        if (cases[i].configs)
            add_config(w);
        world_initialise(w);
        const char *before = world_checksum(w);
        const char *approved = wait_at_start(w);
        assert_string_not_equal(approved, before);
        world_tick(w); /* the rollback hook and the gate, while it waits */
        assert_string_equal(json_text_sorted(w->arena, w->asked),
                            "[\"back Waiting\",\"start Waiting\"]");
        assert_string_equal(w->about, approved);
        expect_one_revision(w, approved);
        world_free(w);
    }
}

static void test_another_revision_is_asked_about_anew(void **state)
{
    struct world *w = world_new("{'spec':{" HOOKS "}}");

    add_config(w);
    world_initialise(w);
    const char *first = wait_at_start(w);
    world_push(w, "podinfo:3");
    world_tick(w);
    const char *second = w->about;
    assert_string_not_equal(second, first);
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    world_tick(w);
    assert_string_not_equal(w->about, second);
    assert_string_not_equal(w->about, first);
    /* both put back: the approval of the first is one again */
    world_push(w, "podinfo:2");
    world_patch(w, "configmaps/settings", "{'data':{'color':'red'}}");
    world_tick(w);
    assert_string_equal(w->about, first);
    expect_one_revision(w, first);
    world_free(w);
}

/* Before the first analysis too, and after one that failed. */
static void test_the_status_of_a_revision_that_failed_is_not_asked_about(void **state)
{
    struct world *w = world_new("{'spec':{" HOOKS "}}");

    world_initialise(w);
    const char *first = wait_at_start(w);
    w->open = "back";
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_checksum(w), first);
    w->open = "";
    world_push(w, "podinfo:3");
    world_tick(w);
    assert_string_equal(json_text_sorted(w->arena, w->asked), "[\"start Failed\"]");
    assert_string_not_equal(w->about, first);
    expect_one_revision(w, w->about);
    world_free(w);
}

/* Whoever looks at the Canary sees what there is to approve. */
static void test_the_condition_names_what_is_asked_about(void **state)
{
    struct world *w = world_new("{'spec':{'analysis':{'webhooks':[{'name':'start','type':"
                                "'confirm-rollout','url':'http://x','deadline':'1h'}]}}}");

    world_initialise(w);
    const char *first = wait_at_start(w);
    assert_non_null(
        strstr(world_state(w), arena_printf(w->arena, "then rollback (revision %s)", first)));
    world_push(w, "podinfo:3");
    world_tick(w);
    assert_non_null(
        strstr(world_state(w), arena_printf(w->arena, "then rollback (revision %s)", w->about)));
    assert_null(strstr(world_state(w), first));
    world_free(w);
}

/* --- a revision that was let through, and waits until the primary can carry all traffic
 * ------------------------------------------------------------------------------------- */

/* A promotion has failed, and the canary serves everything with four pods; the primary is there
 * again, with two. */
static struct world *left_with_the_canary(void)
{
    struct world *w = world_new("{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':"
                                "'HorizontalPodAutoscaler','name':'podinfo'}," HOOKS "}}");

    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicas':1,'maxReplicas':12,"
              "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
    world_initialise(w);
    world_push(w, "podinfo:2");
    while (!world_is_in(w, "Promoting")) {
        world_tick(w);
        world_settle(w);
    }
    world_patch(w, "deployments/podinfo-primary",
                "{'status':{'availableReplicas':0,'conditions':[{'type':'Progressing','status':"
                "'False','reason':'ProgressDeadlineExceeded'}]}}");
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    world_patch(w, "deployments/podinfo", "{'spec':{'replicas':4}}");
    world_settle(w);
    return w;
}

static void test_what_waits_for_the_primary_is_what_was_let_through(void **state)
{
    struct world *w = left_with_the_canary();

    world_push(w, "podinfo:3");
    world_settle(w);
    world_tick(w);
    const char *approved = w->about;
    assert_string_equal(json_text_sorted(w->arena, w->asked), "[\"start Failed\"]");
    assert_non_null(strstr(world_state(w), arena_printf(w->arena,
                                                        "podinfo-primary.test needs 4 replicas for "
                                                        "all traffic before revision %s begins",
                                                        approved)));
    world_tick(w);
    assert_int_equal(json_len(w->asked), 0); /* it was let through */
    world_push(w, "podinfo:4");
    world_patch(w, "deployments/podinfo-primary", "{'status':{'availableReplicas':2}}");
    world_tick(w);
    assert_string_equal(json_text_sorted(w->arena, w->asked), "[\"start Failed\"]");
    assert_string_not_equal(w->about, approved);
    expect_one_revision(w, w->about);
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:4");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_an_approval_of_the_start_holds_to_the_end),
          cmocka_unit_test(test_another_revision_is_asked_about_anew),
          cmocka_unit_test(test_the_status_of_a_revision_that_failed_is_not_asked_about),
          cmocka_unit_test(test_the_condition_names_what_is_asked_about),
          cmocka_unit_test(test_what_waits_for_the_primary_is_what_was_let_through))
