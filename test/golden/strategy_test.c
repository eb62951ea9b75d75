/*
 * The strategies, one whole release each, as people see it: the events of every tick, and below
 * them the rules of the route where they have changed.
 */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define AB                                                                                         \
    "'stepWeight':null,'maxWeight':null,'iterations':2,"                                           \
    "'match':[{'headers':{'x-canary':{'exact':'insider'}}},{'headers':{'cookie':{'regex':"         \
    "'^(.*?;)?(canary=always)(;.*)?$'}}}]"
#define GREEN "'stepWeight':null,'maxWeight':null,'iterations':2"

/* --- A/B testing, §4.2
 * -----------------------------------------------------------------------------------------------
 */

static void test_ab(void **state)
{
    struct world *w = world_analysing(AB);

    world_push(w, "podinfo:2");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary iteration 1/2\n"
                 "x-canary=insider or cookie~^(.*?;)?(canary=always)(;.*)?$: 0/100\n"
                 "all: 100/0\n"
                 "Advance podinfo.test canary iteration 2/2\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n"
                 "Routing all traffic to primary\n"
                 "x-canary=insider or cookie~^(.*?;)?(canary=always)(;.*)?$: 100/0\n"
                 "all: 100/0\n"
                 "completed\n"
                 "Promotion completed! Scaling down podinfo.test\n"
                 "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

static void test_ab_that_fails(void **state)
{
    struct world *w = world_analysing(AB ",'webhooks':[{'name':'load','url':'http://x'}]");

    w->closed = "load";
    world_push(w, "podinfo:2");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary iteration 1/2\n"
                 "x-canary=insider or cookie~^(.*?;)?(canary=always)(;.*)?$: 0/100\n"
                 "all: 100/0\n"
                 "Halt podinfo.test advancement external check load failed refused\n"
                 "Halt podinfo.test advancement external check load failed refused\n"
                 "Rolling back podinfo.test failed checks threshold reached 2\n"
                 "Failed checks threshold reached 2\n"
                 "Canary failed! Scaling down podinfo.test\n"
                 "completed\n"
                 "x-canary=insider or cookie~^(.*?;)?(canary=always)(;.*)?$: 100/0\n"
                 "all: 100/0\n");
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

static void test_ab_tick_by_tick(void **state)
{
    struct world *w = world_analysing(AB);

    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    expect_tick(w, "patch httproutes test/podinfo weights 0/100 of the matched\n"
                   "status canaryWeight=100 iterations=1\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "weights 0/100\n"
                   "event Normal Progressing: Advance podinfo.test canary iteration 1/2\n"
                   "again interval, stepped\n");
    expect_tick(w, "status iterations=2\n"
                   "weights 0/100\n"
                   "event Normal Progressing: Advance podinfo.test canary iteration 2/2\n"
                   "again interval, stepped\n");
    world_free(w);
}

/* Flagger waits for the very number of iterations, for ever. */
static void test_ab_with_fewer_iterations_meanwhile(void **state)
{
    struct world *w = world_analysing(AB);

    world_push(w, "podinfo:2");
    for (int i = 0; i < 3; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_int_equal(world_status_int(w, "iterations"), 2);
    world_patch_canary(w, "{'spec':{'analysis':{'iterations':1}}}");
    expect_story(w, "Promoting", "Copying podinfo.test template spec to podinfo-primary.test\n");
    world_free(w);
}

static void test_ab_waits_for_the_promotion(void **state)
{
    struct world *w = world_analysing(
        AB ",'webhooks':[{'name':'gate','type':'confirm-promotion','url':'http://x'}]");

    w->closed = "gate";
    world_push(w, "podinfo:2");
    expect_story(w, "WaitingPromotion",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary iteration 1/2\n"
                 "x-canary=insider or cookie~^(.*?;)?(canary=always)(;.*)?$: 0/100\n"
                 "all: 100/0\n"
                 "Advance podinfo.test canary iteration 2/2\n"
                 "Halt podinfo.test advancement waiting for promotion approval gate\n"
                 "Canary promotion is waiting for approval.\n");
    assert_int_equal(world_status_int(w, "canaryWeight"), 100);
    assert_int_equal(world_status_int(w, "iterations"), 2);
    world_tick(w);
    w->closed = "";
    expect_story(w, "Promoting",
                 "Confirm-promotion check gate passed\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n");
    world_free(w);
}

/* The rest of the users must not stay with a primary that is broken. */
static void test_ab_that_the_primary_does_not_take(void **state)
{
    struct world *w = world_analysing(AB);

    world_push(w, "podinfo:2-canary-only");
    world_story(w, "Promoting");
    expect_story(w, "",
                 "Promotion of podinfo.test failed, primary not ready: podinfo-primary.test not "
                 "ready: deployment \"podinfo-primary\" exceeded its progress deadline\n"
                 "Promotion failed, primary not ready: podinfo-primary.test not ready: deployment "
                 "\"podinfo-primary\" exceeded its progress deadline\n"
                 "completed\n"
                 "all: 0/100\n");
    assert_string_equal(world_phase(w), "Failed");
    assert_int_equal(world_status_int(w, "canaryWeight"), 100);
    world_push(w, "podinfo:3");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Advance podinfo.test canary iteration 1/2\n"
                 "Advance podinfo.test canary iteration 2/2\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n"
                 "Routing all traffic to primary\n"
                 "x-canary=insider or cookie~^(.*?;)?(canary=always)(;.*)?$: 100/0\n"
                 "all: 100/0\n"
                 "completed\n"
                 "Promotion completed! Scaling down podinfo.test\n"
                 "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

/* What few have tested is not given to all when the spec is edited. */
static void test_ab_edited_into_another_strategy(void **state)
{
    static const char *const edits[] = {
        "{'spec':{'analysis':{'match':null}}}",
        "{'spec':{'analysis':{'match':null,'iterations':null,'stepWeight':30,'maxWeight':60}}}",
    };

    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        struct world *w = world_analysing(AB);
        world_push(w, "podinfo:2");
        for (int tick = 0; tick < 2; tick++) {
            world_tick(w);
            world_settle(w);
        }
        assert_string_equal(world_weights(w), "0/100");
        world_patch_canary(w, edits[i]);
        world_tick(w);
        assert_string_equal(world_routes(w), "all: 100/0\n");
        world_tick(w);
        assert_string_equal(world_routes(w), "all: 100/0\n");
        assert_int_equal(world_status_int(w, "canaryWeight"), 0);
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        world_free(w);
    }
}

static void test_ab_on_services(void **state)
{
    struct world *w = world_new(
        "{'spec':{'provider':'kubernetes','analysis':{'match':[{'headers':{'x':{'exact':'1'}}}],"
        "'stepWeight':null,'maxWeight':null,'iterations':1,'metrics':[]}}}");

    world_initialise(w);
    world_push(w, "podinfo:2");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "A/B testing is not supported when using the kubernetes provider\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary iteration 1/1\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n"
                 "completed\n"
                 "Promotion completed! Scaling down podinfo.test\n"
                 "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

static void test_matched_requests_step_by_step(void **state)
{
    struct world *w = world_analysing("'match':[{'queryParams':{'beta':{'exact':'1'}}}]");

    world_push(w, "podinfo:2");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary weight 20\n"
                 "?beta=1: 80/20\n"
                 "all: 100/0\n"
                 "Advance podinfo.test canary weight 40\n"
                 "?beta=1: 60/40\n"
                 "all: 100/0\n"
                 "Advance podinfo.test canary weight 50\n"
                 "?beta=1: 50/50\n"
                 "all: 100/0\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n"
                 "Routing all traffic to primary\n"
                 "?beta=1: 100/0\n"
                 "all: 100/0\n"
                 "completed\n"
                 "Promotion completed! Scaling down podinfo.test\n"
                 "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

/* --- mirroring, §4.1 and §4.3
 * -----------------------------------------------------------------------------------------------
 */

static void test_mirror_then_canary(void **state)
{
    struct world *w = world_analysing("'mirror':true,'mirrorWeight':30");

    world_push(w, "podinfo:2");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary weight 0\n"
                 "all: 100/0, 30 % copied to podinfo-canary\n"
                 "Advance podinfo.test canary weight 20\n"
                 "all: 80/20\n"
                 "Advance podinfo.test canary weight 40\n"
                 "all: 60/40\n"
                 "Advance podinfo.test canary weight 50\n"
                 "all: 50/50\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n"
                 "Routing all traffic to primary\n"
                 "all: 100/0\n"
                 "completed\n"
                 "Promotion completed! Scaling down podinfo.test\n"
                 "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

/* One gate for the step to the mirror and the step to the first weight. */
static void test_mirror_behind_a_gate(void **state)
{
    struct world *w = world_analysing("'mirror':true,'webhooks':[{'name':'more','type':"
                                      "'confirm-traffic-increase','url':'http://x'}]");

    w->closed = "more";
    world_push(w, "podinfo:2");
    for (int i = 0; i < 3; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_routes(w), "all: 100/0\n");
    w->closed = "";
    world_tick(w);
    assert_string_equal(world_routes(w), "all: 100/0, 100 % copied to podinfo-canary\n");
    w->closed = "more";
    world_tick(w);
    assert_string_equal(world_routes(w), "all: 80/20\n");
    world_tick(w);
    assert_string_equal(world_routes(w), "all: 80/20\n");
    world_free(w);
}

static void test_mirror_then_blue_green(void **state)
{
    struct world *w = world_analysing("'mirror':true," GREEN);

    world_push(w, "podinfo:2");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary iteration 1/2\n"
                 "all: 100/0, 100 % copied to podinfo-canary\n"
                 "Advance podinfo.test canary iteration 2/2\n"
                 "Stop traffic mirroring and route all traffic to canary\n"
                 "all: 0/100\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n"
                 "Routing all traffic to primary\n"
                 "all: 100/0\n"
                 "completed\n"
                 "Promotion completed! Scaling down podinfo.test\n"
                 "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

/* An API server of an older Gateway API drops the percent. */
static void test_mirror_weight_that_is_dropped(void **state)
{
    struct world *w = world_analysing("'mirrorWeight':30,'mirror':true," GREEN);

    w->drops_percent = true;
    world_push(w, "podinfo:2");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary iteration 1/2\n"
                 "all: 100/0, 100 % copied to podinfo-canary\n"
                 "spec.analysis.mirrorWeight: the routes of this cluster know no share, every "
                 "request is copied instead of 30 %\n"
                 "Advance podinfo.test canary iteration 2/2\n"
                 "Stop traffic mirroring and route all traffic to canary\n"
                 "all: 0/100\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n"
                 "Routing all traffic to primary\n"
                 "all: 100/0\n"
                 "completed\n"
                 "Promotion completed! Scaling down podinfo.test\n"
                 "Canary analysis completed successfully, promotion finished.\n");
    assert_null(strstr(world_state(w), "EveryRequestIsCopied"));
    world_free(w);
}

static void test_mirror_that_shows_the_faults(void **state)
{
    struct world *w =
        world_analysing("'mirror':true,'webhooks':[{'name':'load','url':'http://x'}]");

    w->closed = "load";
    world_push(w, "podinfo:2");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary weight 0\n"
                 "all: 100/0, 100 % copied to podinfo-canary\n"
                 "Halt podinfo.test advancement external check load failed refused\n"
                 "Halt podinfo.test advancement external check load failed refused\n"
                 "Rolling back podinfo.test failed checks threshold reached 2\n"
                 "Failed checks threshold reached 2\n"
                 "Canary failed! Scaling down podinfo.test\n"
                 "completed\n"
                 "all: 100/0\n");
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

static void test_ab_taken_over(void **state)
{
    struct world *w = world_analysing(AB);

    world_push(w, "podinfo:2");
    for (int i = 0; i < 3; i++) {
        world_tick(w);
        world_settle(w);
    }
    world_patch_canary(w, "{'status':{'canaryWeight':0}}");
    expect_story(w, "Promoting", "Copying podinfo.test template spec to podinfo-primary.test\n");
    assert_int_equal(world_status_int(w, "canaryWeight"), 100);
    world_free(w);
}

static void test_mirror_beside_a_broken_primary(void **state)
{
    struct world *w = world_analysing("'mirror':true," GREEN);

    world_push(w, "podinfo:2-canary-only");
    world_story(w, "");
    assert_string_equal(world_routes(w), "all: 0/100\n");
    world_push(w, "podinfo:3");
    expect_story(w, "",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Advance podinfo.test canary iteration 1/2\n"
                 "Advance podinfo.test canary iteration 2/2\n"
                 "Routing all traffic to canary\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n"
                 "Routing all traffic to primary\n"
                 "all: 100/0\n"
                 "completed\n"
                 "Promotion completed! Scaling down podinfo.test\n"
                 "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

static void test_mirror_that_is_left_over(void **state)
{
    struct world *w = world_analysing("'mirror':true");
    struct json_object *route = json_copy(w->arena, world_get(w, "httproutes/podinfo"));
    struct json_object *rule = json_elem(json_at(route, "spec", "rules", NULL), 0);

    json_set(rule, "filters",
             world_json(w, "[{'type':'RequestMirror','requestMirror':{'backendRef':{'group':'',"
                           "'kind':'Service','name':'podinfo-canary','port':9898}}}]"));
    world_put(w, "httproutes/podinfo", json_text(w->arena, route));
    assert_string_equal(world_routes(w), "all: 100/0, 100 % copied to podinfo-canary\n");
    expect_story(w, "", "all: 100/0\n");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_ab), cmocka_unit_test(test_ab_that_fails),
          cmocka_unit_test(test_ab_tick_by_tick),
          cmocka_unit_test(test_ab_with_fewer_iterations_meanwhile),
          cmocka_unit_test(test_ab_waits_for_the_promotion),
          cmocka_unit_test(test_ab_that_the_primary_does_not_take),
          cmocka_unit_test(test_ab_edited_into_another_strategy),
          cmocka_unit_test(test_ab_on_services),
          cmocka_unit_test(test_matched_requests_step_by_step),
          cmocka_unit_test(test_mirror_then_canary), cmocka_unit_test(test_mirror_behind_a_gate),
          cmocka_unit_test(test_mirror_then_blue_green),
          cmocka_unit_test(test_mirror_weight_that_is_dropped),
          cmocka_unit_test(test_mirror_that_shows_the_faults), cmocka_unit_test(test_ab_taken_over),
          cmocka_unit_test(test_mirror_beside_a_broken_primary),
          cmocka_unit_test(test_mirror_that_is_left_over))
