/* A person edits the Canary, suspends it, or puts the old spec back, in any phase: each ends well.
 */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define GATES                                                                                      \
    "{'spec':{'analysis':{'webhooks':[{'name':'may-start','type':'confirm-rollout','url':"         \
    "'http://x'},{'name':'may-end','type':'confirm-promotion','url':'http://x'}]}}}"

static int count(const char *text, const char *part)
{
    int found = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

/* Ticks until the status says so, or until 30 ticks have passed. */
static void tick_until(struct world *w, const char *phase, int weight)
{
    for (int i = 0; i < 30; i++) {
        if (world_is_in(w, phase) && world_status_int(w, "canaryWeight") == weight)
            return;
        world_tick(w);
        world_settle(w);
        w->now_ms += 60000;
    }
    fail_msg("never %s at %d, told:\n%s", phase, weight, w->told);
}

/* Where a release of podinfo:2 stands. */
struct stage {
    const char *phase;
    int weight;
    const char *closed; /* the gate that keeps it there */
};

static const struct stage stages[] = {
    {"Waiting", 0, "may-start"}, {"Progressing", 0, ""},
    {"Progressing", 20, ""},     {"WaitingPromotion", 50, "may-end"},
    {"Promoting", 50, ""},       {"Finalising", 0, ""},
    {"Failed", 0, ""},
};
enum { STAGES = sizeof(stages) / sizeof(stages[0]) };

static struct world *at_stage(const struct stage *stage)
{
    struct world *w = world_new(GATES);

    world_initialise(w);
    world_push(w, "podinfo:2");
    w->closed = stage->closed;
    if (strcmp(stage->phase, "Failed") == 0)
        w->metrics = world_json(w, "{'metrics[0]':1}");
    tick_until(w, stage->phase, stage->weight);
    w->metrics = world_json(w, "{}");
    w->told = "";
    return w;
}

/* Manual rollback: nothing but the old version is left, and it serves. Once it was copied, putting
 * the old spec back is a release of its own. */
static void test_the_old_spec_is_put_back(void **state)
{
    for (int i = 0; i < STAGES; i++) {
        const struct stage *stage = &stages[i];
        struct world *w = at_stage(stage);
        bool copied = i == 4 || i == 5;
        world_push(w, "podinfo:1");
        w->closed = "";
        world_settle(w);
        world_run(w);
        if (strcmp(world_image(w, "podinfo-primary"), "podinfo:1") != 0 ||
            strcmp(world_weights(w), "100/0") != 0 ||
            count(w->told, "New revision detected!") != (copied ? 1 : 0) ||
            count(w->told, "cancelled") != (copied || i == 6 ? 0 : 1) ||
            strcmp(world_phase(w), i == 6 ? "Failed" : "Succeeded") != 0)
            fail_msg("%s at %d ends in %s, told:\n%s", stage->phase, stage->weight, world_phase(w),
                     w->told);
        world_free(w);
    }
}

/* Suspended, nothing moves, whatever happens; afterwards the release goes on where it stood. */
static void test_suspended_in_each_phase(void **state)
{
    for (int i = 0; i < STAGES; i++) {
        const struct stage *stage = &stages[i];
        struct world *w = at_stage(stage);
        const char *weights = world_weights(w);
        int effects;
        world_patch_canary(w, "{'spec':{'suspend':true}}");
        world_tick(w);
        effects = w->effects;
        w->closed = "";
        for (int tick = 0; tick < 3; tick++) {
            w->now_ms += 60000;
            world_tick(w);
        }
        assert_int_equal(w->effects, effects);
        assert_string_equal(world_phase(w), stage->phase);
        assert_string_equal(world_weights(w), weights);
        assert_int_equal(count(w->told, "suspended"), 1);
        world_patch_canary(w, "{'spec':{'suspend':false}}");
        world_run(w);
        if (strcmp(world_phase(w), i == 6 ? "Failed" : "Succeeded") != 0 ||
            count(w->told, "Restarting") != 0 || strcmp(world_weights(w), "100/0") != 0)
            fail_msg("%s at %d ends in %s, told:\n%s", stage->phase, stage->weight, world_phase(w),
                     w->told);
        world_free(w);
    }
}

static void test_suspended_while_initialising(void **state)
{
    struct world *w = world_new(NULL);

    world_tick(w);
    assert_string_equal(world_phase(w), "Initializing");
    world_patch_canary(w, "{'spec':{'suspend':true}}");
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_phase(w), "Initializing");
    world_patch_canary(w, "{'spec':{'suspend':false}}");
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    world_free(w);
}

/* An edit while podinfo:2 has 20 %: where the next tick leads, and the end. */
static const struct edit {
    const char *name, *canary, *patch;
    const char *weights; /* after the next tick */
    const char *ends;
    const char *says; /* somewhere on the way; NULL: nothing in particular */
} edits[] = {
    {"a greater step", NULL, "{'spec':{'analysis':{'stepWeight':25}}}", "55/45", "Succeeded", NULL},
    {"a maximum below the weight", NULL, "{'spec':{'analysis':{'maxWeight':10}}}", "80/20",
     "Succeeded", "Copying"},
    {"a higher maximum", NULL, "{'spec':{'analysis':{'maxWeight':100}}}", "60/40", "Succeeded",
     "canary weight 100"},
    {"a list of steps", NULL,
     "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'stepWeights':[5,30,60]}}}", "70/30",
     "Succeeded", "canary weight 60"},
    {"canary to blue/green", NULL,
     "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':2}}}", "80/20",
     "Succeeded", "canary iteration 2/2"},
    {"canary to A/B", NULL,
     "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':2,'match':[{'headers':{"
     "'x':{'exact':'1'}}}]}}}",
     NULL, "Succeeded", "canary iteration 2/2"},
    {"a threshold that the failed checks have reached", NULL,
     "{'spec':{'analysis':{'threshold':1}},'status':{'failedChecks':1}}", "100/0", "Failed",
     "failed checks threshold reached 1"},
    {"skipAnalysis", NULL, "{'spec':{'skipAnalysis':true}}", "80/20", "Succeeded",
     "analysis was skipped"},
    {"another interval", NULL, "{'spec':{'analysis':{'interval':'30s'}}}", "60/40", "Succeeded",
     NULL},
    {"other metrics", NULL, "{'spec':{'analysis':{'metrics':null}}}", "60/40", "Succeeded", NULL},
    {"steps back", NULL, "{'spec':{'analysis':{'stepWeightPromotion':10}}}", "60/40", "Succeeded",
     "primary weight 90"},
    {"another port", NULL, "{'spec':{'service':{'port':80,'targetPort':9898}}}", "80/20",
     "Succeeded", NULL},
};

static void test_edits_in_the_middle(void **state)
{
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        const struct edit *edit = &edits[i];
        struct world *w = world_new(edit->canary);
        world_initialise(w);
        world_push(w, "podinfo:2");
        tick_until(w, "Progressing", 20);
        world_patch_canary(w, edit->patch);
        world_tick(w);
        if (edit->weights && strcmp(world_weights(w), edit->weights) != 0)
            fail_msg("%s leads to %s", edit->name, world_weights(w));
        world_settle(w);
        world_run(w);
        if (strcmp(world_phase(w), edit->ends) != 0 || strcmp(world_weights(w), "100/0") != 0 ||
            (edit->says && !strstr(w->told, edit->says)))
            fail_msg("%s ends in %s, told:\n%s", edit->name, world_phase(w), w->told);
        world_free(w);
    }
}

/* What would leave traffic behind is refused, once, and the release goes on when it is put back. */
static void test_edits_that_are_refused(void **state)
{
    static const struct {
        const char *patch, *back, *says;
    } cases[] = {
        {"{'spec':{'provider':'kubernetes'}}", "{'spec':{'provider':'gatewayapi:v1'}}",
         "spec.provider: changed to kubernetes while gatewayapi:v1 routes 20 % of the traffic to "
         "the canary; put it back until the release is over"},
        {"{'spec':{'service':{'name':'other'}}}", "{'spec':{'service':{'name':null}}}",
         "spec.service.name: changed from podinfo to other while 20 % of the traffic goes to the "
         "canary by routes of the old name; put it back until the release is over"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        world_push(w, "podinfo:2");
        tick_until(w, "Progressing", 20);
        w->told = "";
        world_patch_canary(w, cases[i].patch);
        for (int tick = 0; tick < 3; tick++)
            world_tick(w);
        assert_int_equal(count(w->told, cases[i].says), 1);
        assert_string_equal(world_weights(w), "80/20");
        world_patch_canary(w, cases[i].back);
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        world_free(w);
    }
}

/* Outside a release the new objects are made, and what stays is told once. */
static void test_a_service_that_is_renamed(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'spec':{'service':{'name':'other'}}}");
    world_run(w);
    assert_string_equal(
        w->told,
        "spec.service.name: changed from podinfo to other; the Services podinfo, podinfo-primary "
        "and podinfo-canary and the routes of that name stay, delete them when nobody uses them\n");
    assert_non_null(world_get(w, "services/other-canary"));
    assert_non_null(world_get(w, "httproutes/other"));
    assert_non_null(world_get(w, "httproutes/podinfo"));
    world_free(w);
}

static void test_a_provider_that_is_changed(void **state)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'spec':{'provider':'kubernetes'}}");
    world_run(w);
    assert_string_equal(w->told,
                        "spec.provider: changed from gatewayapi:v1 to kubernetes; the routes of "
                        "gatewayapi:v1 stay, delete them when nobody uses them\n");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_the_old_spec_is_put_back),
          cmocka_unit_test(test_suspended_in_each_phase),
          cmocka_unit_test(test_suspended_while_initialising),
          cmocka_unit_test(test_edits_in_the_middle), cmocka_unit_test(test_edits_that_are_refused),
          cmocka_unit_test(test_a_service_that_is_renamed),
          cmocka_unit_test(test_a_provider_that_is_changed))
