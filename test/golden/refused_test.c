/*
 * A spec that is refused while a release runs, or while nothing does: what was accepted before it
 * goes on guarding, and nothing new begins.
 */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define HOOK "{'name':'back','type':'rollback','url':'http://x'}"
#define ALERTS                                                                                     \
    "{'spec':{'analysis':{'mirror':true,'alerts':[{'name':'a','providerRef':{'name':'x'}}]}}}"

/* Each can be read and not be done, or not even be read. */
static const char *const bad[] = {
    ALERTS,
    "{'spec':{'provider':'linkerd'}}",
    "{'spec':{'service':{'gatewayRefs':null}}}",
    "{'spec':{'targetRef':{'kind':'StatefulSet'}}}",
    "{'spec':{'autoscalerRef':{'apiVersion':'x/v1','kind':'Scaler','name':'x'}}}",
    "{'spec':{'analysis':{'stepWeight':0}}}",
    "{'spec':{'analysis':{'iterations':3}}}",
    "{'spec':{'analysis':{'stepWeight':'much'}}}",
    "{'spec':{'analysis':'none'}}",
    "{'spec':{'targetRef':null}}",
    "{'spec':{'service':{'port':99999}}}",
};
enum { BAD = sizeof(bad) / sizeof(bad[0]) };

static int count(const char *text, const char *part)
{
    int found = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

static void step(struct world *w)
{
    world_tick(w);
    world_settle(w);
    w->now_ms += 60000;
}

static struct world *at_40(const char *patch)
{
    struct world *w = world_new(patch);

    world_initialise(w);
    world_push(w, "podinfo:2");
    for (int i = 0; i < 10 && strcmp(world_weights(w), "60/40") != 0; i++)
        step(w);
    assert_string_equal(world_weights(w), "60/40");
    w->told = "";
    return w;
}

static const char *accepted(struct world *w)
{
    struct json_object *list = json_at(w->canary, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        if (strcmp(json_str_at(json_elem(list, i), "type", NULL), "Accepted") == 0)
            return json_str_at(json_elem(list, i), "status", NULL);
    }
    return "";
}

/* Ticks until it is Failed; how many. */
static int ticks_to_failure(struct world *w, int most)
{
    int n = 0;

    while (strcmp(world_phase(w), "Failed") != 0) {
        if (n++ == most)
            fail_msg("not Failed after %d ticks, phase %s, told:\n%s", most, world_phase(w),
                     w->told);
        step(w);
    }
    assert_string_equal(world_weights(w), "100/0");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
    assert_string_equal(accepted(w), "False");
    return n;
}

static void test_failing_checks_roll_back(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = at_40(NULL);
        world_patch_canary(w, bad[i]);
        w->metrics = world_json(w, "{'metrics[0]':1}");
        ticks_to_failure(w, 4);
        assert_int_equal(count(w->told, "failed checks threshold reached"), 1);
        world_free(w);
    }
}

static void test_rollback_hook_is_heard(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = at_40("{'spec':{'analysis':{'webhooks':[" HOOK "]}}}");
        world_patch_canary(w, bad[i]);
        step(w);
        w->open = "back";
        ticks_to_failure(w, 2);
        world_free(w);
    }
}

/* A canary that breaks is given up, and what others change is put right. */
static void test_guards_and_repairs(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = at_40(NULL);
        world_patch_canary(w, bad[i]);
        step(w);
        world_patch(w, "httproutes/podinfo", NULL);
        world_patch(w, "services/podinfo-canary", NULL);
        step(w);
        step(w);
        assert_non_null(world_get(w, "services/podinfo-canary"));
        assert_string_equal(world_weights(w), "60/40");
        world_patch(w, "deployments/podinfo",
                    "{'status':{'availableReplicas':0,'conditions':[{'type':'Progressing',"
                    "'status':'False','reason':'ProgressDeadlineExceeded'}]}}");
        world_tick(w);
        assert_string_equal(world_phase(w), "Failed");
        assert_string_equal(world_weights(w), "100/0");
        world_free(w);
    }
}

/* No step forward is made, and it does not stand there for ever; it is told once. */
static void test_deadline_of_the_refusal(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = at_40("{'spec':{'progressDeadlineSeconds':300}}");
        world_patch_canary(w, bad[i]);
        step(w);
        size_t told = strlen(w->told);
        for (int n = 0; n < 4; n++) {
            step(w);
            assert_string_equal(world_weights(w), "60/40");
            assert_string_equal(world_phase(w), "Progressing");
        }
        assert_int_equal(count(w->told + told, "spec"), 0);
        assert_int_equal(ticks_to_failure(w, 2), 1);
        assert_int_equal(count(w->told, "the spec has been refused for 300 seconds"), 1);
        world_free(w);
    }
}

/* As soon as it can be done again, the release goes on where it stood. */
static void test_a_good_spec_goes_on(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = at_40(NULL);
        struct json_object *spec = json_at(w->canary, "spec", NULL);
        world_patch_canary(w, bad[i]);
        step(w);
        step(w);
        json_set(w->canary, "spec", json_copy(w->arena, spec));
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        assert_string_equal(accepted(w), "");
        assert_int_equal(count(w->told, "New revision"), 0);
        world_free(w);
    }
}

/* The end of a promotion that has begun is no step forward. */
static void test_a_promotion_ends(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = at_40(NULL);
        while (strcmp(world_phase(w), "Promoting") != 0)
            step(w);
        world_patch_canary(w, bad[i]);
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
        assert_string_equal(world_weights(w), "100/0");
        assert_string_equal(accepted(w), "False");
        world_free(w);
    }
}

/* Another revision in the middle of it is not what was analysed: its traffic goes. */
static void test_another_revision_loses_the_traffic(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = at_40(NULL);
        world_patch_canary(w, bad[i]);
        step(w);
        world_push(w, "podinfo:3");
        world_settle(w);
        step(w);
        assert_string_equal(world_weights(w), "100/0");
        step(w);
        step(w);
        assert_string_equal(world_weights(w), "100/0");
        ticks_to_failure(w, 12);
        world_free(w);
    }
}

/* Nothing is under way: what others change is put right, and nothing begins. */
static void test_idle(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        struct json_object *spec = json_at(w->canary, "spec", NULL);
        world_patch_canary(w, bad[i]);
        world_patch(w, "services/podinfo", "{'spec':{'selector':{'app':'nobody'}}}");
        world_patch(w, "httproutes/podinfo", NULL);
        world_run(w);
        assert_string_equal(world_weights(w), "100/0");
        assert_non_null(world_get(w, "httproutes/podinfo"));
        assert_string_equal(
            json_str_at(world_get(w, "services/podinfo"), "spec", "selector", "app", NULL),
            "podinfo-primary");
        world_push(w, "podinfo:2");
        world_run(w);
        assert_string_equal(world_phase(w), "Initialized");
        assert_int_equal(count(w->told, "New revision"), 0);
        json_set(w->canary, "spec", json_copy(w->arena, spec));
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
        world_free(w);
    }
}

/* A release that waits at its gate goes on waiting, and a person may still turn it down. */
static void test_waiting(void **state)
{
    for (int i = 0; i < BAD; i++) {
        struct world *w = world_new("{'spec':{'analysis':{'webhooks':[{'name':'start','type':"
                                    "'confirm-rollout','url':'http://x'}," HOOK "]}}}");
        world_initialise(w);
        w->closed = "start";
        world_push(w, "podinfo:2");
        step(w);
        assert_string_equal(world_phase(w), "Waiting");
        world_patch_canary(w, bad[i]);
        w->closed = "";
        step(w);
        step(w);
        assert_string_equal(world_phase(w), "Waiting");
        w->open = "back";
        step(w);
        assert_string_equal(world_phase(w), "Failed");
        world_free(w);
    }
}

/* The field is lost where the CRD of the cluster is Flagger's: then the live spec guards as far as
 * it can, and nothing is written again and again. */
static void test_without_the_field(void **state)
{
    struct world *w = world_new(NULL);

    w->flaggers_crd = true;
    world_initialise(w);
    world_patch_canary(w, "{'spec':{'analysis':{'threshold':3}}}");
    expect_tick(w, "again never\n");
    world_push(w, "podinfo:2");
    while (strcmp(world_weights(w), "60/40") != 0)
        step(w);
    world_patch_canary(w, ALERTS);
    w->metrics = world_json(w, "{'metrics[0]':1}");
    ticks_to_failure(w, 5);
    world_free(w);
}

/* Suspended is suspended, also by a spec that is refused otherwise. */
static void test_suspended(void **state)
{
    struct world *w = at_40(NULL);

    world_patch_canary(w, ALERTS);
    world_patch_canary(w, "{'spec':{'suspend':true}}");
    w->metrics = world_json(w, "{'metrics[0]':1}");
    for (int i = 0; i < 4; i++)
        step(w);
    assert_string_equal(world_weights(w), "60/40");
    assert_string_equal(world_phase(w), "Progressing");
    world_free(w);
}

/* What is written is what is in the spec, and what is no longer in it goes. */
static void test_what_is_remembered(void **state)
{
    struct world *w = world_new("{'spec':{'service':{'apex':{'labels':{'a':'1','b':'2'}}}}}");

    world_initialise(w);
    world_patch_canary(w, "{'spec':{'service':{'apex':{'labels':{'a':null}}},'analysis':{"
                          "'stepWeight':null,'maxWeight':null,'iterations':4}}}");
    world_run(w);
    assert_string_equal(
        json_text_sorted(w->arena, json_at(w->canary, "status", "acceptedSpec", NULL)),
        json_text_sorted(w->arena, json_at(w->canary, "spec", NULL)));
    expect_tick(w, "again never\n");
    world_free(w);
}

/* Somebody deletes the target of a release that a refused spec waits for: it ends all the same. */
static void test_release_without_target_ends_by_its_deadline(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_settle(w);
    for (int i = 0; i < 4 && strcmp(world_weights(w), "80/20") != 0; i++) {
        world_tick(w);
        world_settle(w);
    }
    world_patch_canary(w, "{'spec':{'provider':'kubernetes'}}");
    world_tick(w);
    world_patch(w, "deployments/podinfo", NULL);
    world_tick(w);
    assert_string_equal(world_phase(w), "Progressing");
    assert_string_equal(world_weights(w), "100/0");
    w->now_ms += 700 * 1000;
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_release_without_target_ends_by_its_deadline),
          cmocka_unit_test(test_failing_checks_roll_back),
          cmocka_unit_test(test_rollback_hook_is_heard), cmocka_unit_test(test_guards_and_repairs),
          cmocka_unit_test(test_deadline_of_the_refusal),
          cmocka_unit_test(test_a_good_spec_goes_on), cmocka_unit_test(test_a_promotion_ends),
          cmocka_unit_test(test_another_revision_loses_the_traffic), cmocka_unit_test(test_idle),
          cmocka_unit_test(test_waiting), cmocka_unit_test(test_without_the_field),
          cmocka_unit_test(test_suspended), cmocka_unit_test(test_what_is_remembered))
