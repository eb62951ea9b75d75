/*
 * Session affinity, whole releases as people see it: the events of every tick, and below them the
 * rules of the route where they have changed.
 */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define AB                                                                                         \
    "'stepWeight':null,'maxWeight':null,'iterations':2,"                                           \
    "'match':[{'headers':{'x-canary':{'exact':'insider'}}},{'headers':{'cookie':{'regex':"         \
    "'^(.*?;)?(canary=always)(;.*)?$'}}}]"
#define STICKY "'sessionAffinity':{'cookieName':'stay','primaryCookieName':'keep'}"

static void test_affinity(void **state)
{
    struct world *w = world_analysing(STICKY);

    world_push(w, "podinfo:2");
    expect_story(
        w, "",
        "New revision detected! Scaling up podinfo.test\n"
        "New revision detected, progressing canary analysis.\n"
        "Starting canary analysis for podinfo.test\n"
        "Advance podinfo.test canary weight 20\n"
        "Cookie~.*stay.*QmUBmrPKIK.*: 0/100\n"
        "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
        "all: 80/20, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary gives "
        "stay=QmUBmrPKIK; Max-Age=86400\n"
        "Advance podinfo.test canary weight 40\n"
        "Cookie~.*stay.*QmUBmrPKIK.*: 0/100\n"
        "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
        "all: 60/40, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary gives "
        "stay=QmUBmrPKIK; Max-Age=86400\n"
        "Advance podinfo.test canary weight 50\n"
        "Cookie~.*stay.*QmUBmrPKIK.*: 0/100\n"
        "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
        "all: 50/50, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary gives "
        "stay=QmUBmrPKIK; Max-Age=86400\n"
        "Copying podinfo.test template spec to podinfo-primary.test\n"
        "Routing all traffic to primary\n"
        "Cookie~.*stay.*QmUBmrPKIK.*: 100/0, podinfo-primary gives stay=QmUBmrPKIK; Max-Age=-1\n"
        "all: 100/0\n"
        "completed\n"
        "Promotion completed! Scaling down podinfo.test\n"
        "Canary analysis completed successfully, promotion finished.\n");
    /* The next release binds by another cookie. */
    world_push(w, "podinfo:3");
    expect_story(
        w, "",
        "New revision detected! Scaling up podinfo.test\n"
        "New revision detected, progressing canary analysis.\n"
        "Starting canary analysis for podinfo.test\n"
        "Advance podinfo.test canary weight 20\n"
        "Cookie~.*stay.*FHzNcCaCmr.*: 0/100\n"
        "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
        "all: 80/20, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary gives "
        "stay=FHzNcCaCmr; Max-Age=86400\n"
        "Advance podinfo.test canary weight 40\n"
        "Cookie~.*stay.*FHzNcCaCmr.*: 0/100\n"
        "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
        "all: 60/40, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary gives "
        "stay=FHzNcCaCmr; Max-Age=86400\n"
        "Advance podinfo.test canary weight 50\n"
        "Cookie~.*stay.*FHzNcCaCmr.*: 0/100\n"
        "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
        "all: 50/50, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary gives "
        "stay=FHzNcCaCmr; Max-Age=86400\n"
        "Copying podinfo.test template spec to podinfo-primary.test\n"
        "Routing all traffic to primary\n"
        "Cookie~.*stay.*FHzNcCaCmr.*: 100/0, podinfo-primary gives stay=FHzNcCaCmr; Max-Age=-1\n"
        "all: 100/0\n"
        "completed\n"
        "Promotion completed! Scaling down podinfo.test\n"
        "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

static void test_affinity_rolled_back(void **state)
{
    struct world *w = world_analysing(STICKY ",'webhooks':[{'name':'load','url':'http://x'}]");

    w->closed = "load";
    world_push(w, "podinfo:2");
    expect_story(
        w, "",
        "New revision detected! Scaling up podinfo.test\n"
        "New revision detected, progressing canary analysis.\n"
        "Starting canary analysis for podinfo.test\n"
        "Advance podinfo.test canary weight 20\n"
        "Cookie~.*stay.*QmUBmrPKIK.*: 0/100\n"
        "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
        "all: 80/20, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary gives "
        "stay=QmUBmrPKIK; Max-Age=86400\n"
        "Halt podinfo.test advancement external check load failed refused\n"
        "Halt podinfo.test advancement external check load failed refused\n"
        "Rolling back podinfo.test failed checks threshold reached 2\n"
        "Failed checks threshold reached 2\n"
        "Canary failed! Scaling down podinfo.test\n"
        "completed\n"
        "Cookie~.*stay.*QmUBmrPKIK.*: 100/0, podinfo-primary gives stay=QmUBmrPKIK; Max-Age=-1\n"
        "all: 100/0\n");
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

static void test_affinity_tick_by_tick(void **state)
{
    struct world *w = world_analysing(STICKY ",'maxWeight':20");

    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    expect_tick(w, "patch httproutes test/podinfo weights 80/20\n"
                   "status canaryWeight=20 sessionAffinityCookie=stay=QmUBmrPKIK "
                   "primarySessionAffinityCookie=keep=efpqEbPVvo\n"
                   "event Normal Progressing: Starting canary analysis for podinfo.test\n"
                   "weights 80/20\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 20\n"
                   "again interval, stepped\n");
    expect_tick(
        w, "status phase=Promoting [Promoted=Unknown PrimaryWhole=False]\n"
           "event Normal Progressing: Copying podinfo.test template spec to podinfo-primary.test\n"
           "again now, stepped\n");
    expect_tick(w, "patch deployments test/podinfo-primary promote 597d8f496b\n"
                   "status [Promoted=Unknown]\n"
                   "again interval\n");
    expect_tick(w,
                "patch httproutes test/podinfo weights 100/0\n"
                "status sessionAffinityCookie=null phase=Finalising canaryWeight=0 "
                "previousSessionAffinityCookie=stay=QmUBmrPKIK [Promoted=Unknown Drained=False]\n"
                "event Normal Promoting: Routing all traffic to primary\n"
                "weights 100/0\n"
                "again interval, stepped\n");
    world_free(w);
}

/* Where the primary has no share, nobody is held there. */
static void test_affinity_up_to_100(void **state)
{
    struct world *w = world_analysing(STICKY ",'stepWeight':50,'maxWeight':100");

    world_push(w, "podinfo:2");
    expect_story(w, "Promoting",
                 "New revision detected! Scaling up podinfo.test\n"
                 "New revision detected, progressing canary analysis.\n"
                 "Starting canary analysis for podinfo.test\n"
                 "Advance podinfo.test canary weight 50\n"
                 "Cookie~.*stay.*QmUBmrPKIK.*: 0/100\n"
                 "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
                 "all: 50/50, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary "
                 "gives stay=QmUBmrPKIK; Max-Age=86400\n"
                 "Advance podinfo.test canary weight 100\n"
                 "Cookie~.*stay.*QmUBmrPKIK.*: 0/100\n"
                 "all: 0/100, podinfo-canary gives stay=QmUBmrPKIK; Max-Age=86400\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n");
    world_free(w);
}

static void test_affinity_every_attribute(void **state)
{
    struct world *w = world_analysing(
        "'interval':'90s','sessionAffinity':{'cookieName':'a+b','maxAge':7,'domain':'x.test',"
        "'path':'/app','sameSite':'Strict','secure':true,'httpOnly':true,'partitioned':true,"
        "'primaryCookieName':'p'},'maxWeight':20");

    world_push(w, "podinfo:2");
    expect_story(
        w, "",
        "New revision detected! Scaling up podinfo.test\n"
        "New revision detected, progressing canary analysis.\n"
        "Starting canary analysis for podinfo.test\n"
        "Advance podinfo.test canary weight 20\n"
        "Cookie~.*a\\+b.*jtVtLCHGWH.*: 0/100\n"
        "Cookie~.*p.*MavpEuJXKG.*: 100/0\n"
        "all: 80/20, podinfo-primary gives p=MavpEuJXKG; Max-Age=90; Domain=x.test; HttpOnly; "
        "Partitioned; Path=/app; SameSite=Strict; Secure, podinfo-canary gives a+b=jtVtLCHGWH; "
        "Max-Age=7; Domain=x.test; HttpOnly; Partitioned; Path=/app; SameSite=Strict; Secure\n"
        "Copying podinfo.test template spec to podinfo-primary.test\n"
        "Routing all traffic to primary\n"
        "Cookie~.*a\\+b.*jtVtLCHGWH.*: 100/0, podinfo-primary gives a+b=jtVtLCHGWH; Max-Age=-1; "
        "Domain=x.test; HttpOnly; Partitioned; Path=/app; SameSite=Strict; Secure\n"
        "all: 100/0\n"
        "completed\n"
        "Promotion completed! Scaling down podinfo.test\n"
        "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

static void test_affinity_of_an_ab_test(void **state)
{
    struct world *w = world_analysing(AB "," STICKY);

    world_push(w, "podinfo:2");
    expect_story(
        w, "",
        "New revision detected! Scaling up podinfo.test\n"
        "New revision detected, progressing canary analysis.\n"
        "Starting canary analysis for podinfo.test\n"
        "Advance podinfo.test canary iteration 1/2\n"
        "Cookie~.*stay.*QmUBmrPKIK.*: 0/100\n"
        "x-canary=insider or cookie~^(.*?;)?(canary=always)(;.*)?$: 0/100, podinfo-canary gives "
        "stay=QmUBmrPKIK; Max-Age=86400\n"
        "all: 100/0\n"
        "Advance podinfo.test canary iteration 2/2\n"
        "Copying podinfo.test template spec to podinfo-primary.test\n"
        "Routing all traffic to primary\n"
        "Cookie~.*stay.*QmUBmrPKIK.*: 100/0, podinfo-primary gives stay=QmUBmrPKIK; Max-Age=-1\n"
        "x-canary=insider or cookie~^(.*?;)?(canary=always)(;.*)?$: 100/0\n"
        "all: 100/0\n"
        "completed\n"
        "Promotion completed! Scaling down podinfo.test\n"
        "Canary analysis completed successfully, promotion finished.\n");
    world_free(w);
}

/* Others' changes are put right, and the cookies with them. */
static void test_affinity_repaired(void **state)
{
    struct world *w = world_analysing(STICKY);

    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_settle(w);
    const char *before = world_routes(w);
    struct json_object *route = json_copy(w->arena, world_get(w, "httproutes/podinfo"));
    struct json_object *split = json_elem(json_at(route, "spec", "rules", NULL), 2);

    world_patch(w, "httproutes/podinfo",
                arena_printf(w->arena, "{'spec':{'rules':[%s]}}", json_text(w->arena, split)));
    world_tick(w);
    assert_string_equal(world_routes(w), before);
    world_patch(w, "httproutes/podinfo", NULL);
    world_tick(w);
    world_tick(w);
    assert_string_equal(world_routes(w), before);
    /* the cookies are gone from the route, the status knows them */
    struct json_object *backends = json_at(split, "backendRefs", NULL);
    for (size_t i = 0; i < 2; i++)
        json_object_object_del(json_elem(backends, i), "filters");
    world_patch(w, "httproutes/podinfo",
                arena_printf(w->arena, "{'spec':{'rules':[%s]}}", json_text(w->arena, split)));
    world_tick(w);
    assert_string_equal(world_routes(w), before);
    world_free(w);
}

/* sessionAffinity that is taken out of the spec leaves nothing behind. */
static void test_affinity_switched_off(void **state)
{
    struct world *w = world_analysing(STICKY);

    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_settle(w);
    world_patch_canary(w, "{'spec':{'analysis':{'sessionAffinity':null}}}");
    expect_story(w, "Promoting",
                 "all: 80/20\n"
                 "Advance podinfo.test canary weight 40\n"
                 "all: 60/40\n"
                 "Advance podinfo.test canary weight 50\n"
                 "all: 50/50\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n");
    assert_null(json_at(w->canary, "status", "sessionAffinityCookie", NULL));
    assert_null(json_at(w->canary, "status", "primarySessionAffinityCookie", NULL));
    world_free(w);
}

/* After a conflict Flagger's status has lost a cookie that its route goes on giving. */
static void test_affinity_found_in_the_route(void **state)
{
    struct world *w = world_analysing(STICKY);

    world_push(w, "podinfo:2");
    for (int i = 0; i < 2; i++) {
        world_tick(w);
        world_settle(w);
    }
    const char *ours = json_str_at(w->canary, "status", "sessionAffinityCookie", NULL);
    char *route = arena_strdup(w->arena, json_text(w->arena, world_get(w, "httproutes/podinfo")));
    assert_int_equal(strlen(ours), strlen("stay=fromBefore"));
    for (char *at = strstr(route, ours + strlen("stay=")); at;
         at = strstr(at, ours + strlen("stay=")))
        memcpy(at, "fromBefore", strlen("fromBefore"));
    world_put(w, "httproutes/podinfo", route);
    world_patch_canary(w, "{'status':{'sessionAffinityCookie':null}}");
    expect_story(w, "Promoting",
                 "Advance podinfo.test canary weight 40\n"
                 "Cookie~.*stay.*fromBefore.*: 0/100\n"
                 "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
                 "all: 60/40, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary "
                 "gives stay=fromBefore; Max-Age=86400\n"
                 "Advance podinfo.test canary weight 50\n"
                 "Cookie~.*stay.*fromBefore.*: 0/100\n"
                 "Cookie~.*keep.*efpqEbPVvo.*: 100/0\n"
                 "all: 50/50, podinfo-primary gives keep=efpqEbPVvo; Max-Age=60, podinfo-canary "
                 "gives stay=fromBefore; Max-Age=86400\n"
                 "Copying podinfo.test template spec to podinfo-primary.test\n");
    assert_string_equal(json_str_at(w->canary, "status", "sessionAffinityCookie", NULL),
                        "stay=fromBefore");
    world_free(w);
}

/* Flagger's status does not say what an A/B test routes. */
/* After a failed promotion the canary serves everything: a mirror would take it all away. */
/* Nothing is under way: the canary has no pods that could take a copy. */

UNIT_MAIN(cmocka_unit_test(test_affinity), cmocka_unit_test(test_affinity_rolled_back),
          cmocka_unit_test(test_affinity_tick_by_tick), cmocka_unit_test(test_affinity_up_to_100),
          cmocka_unit_test(test_affinity_every_attribute),
          cmocka_unit_test(test_affinity_of_an_ab_test), cmocka_unit_test(test_affinity_repaired),
          cmocka_unit_test(test_affinity_switched_off),
          cmocka_unit_test(test_affinity_found_in_the_route))
