/*
 * Upstream parity: what a release tells (events and alerts, their types, phases, texts and order)
 * is what Flagger 1.44 tells, word for word.
 *
 * A line that begins with a space is told by both; one with "+" only by us, one with "-" only by
 * Flagger. Each scenario with such a line quotes the row of proto/COMPATIBILITY.md that says why,
 * and the test looks whether that row is there. A "+" behind an alert's severity says that it
 * carries the metadata fields.
 */
#include <string.h>

#include "base/file.h"
#include "test/unit.h"
#include "world.h"

enum { TICKS_MAX = 40, INTERVAL_MS = 60000, TABLE_MAX = 1024 * 1024 };

#define NEW_REVISION                                                                               \
    " event Normal Progressing: New revision detected! Scaling up podinfo.test\n"                  \
    " alert info+: New revision detected, progressing canary analysis.\n"
#define START " event Normal Progressing: Starting canary analysis for podinfo.test\n"
#define COPYING                                                                                    \
    " event Normal Progressing: Copying podinfo.test template spec to podinfo-primary.test\n"
#define PROMOTED                                                                                   \
    " event Normal Promoting: Routing all traffic to primary\n"                                    \
    " event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"                    \
    " alert info: Canary analysis completed successfully, promotion finished.\n"
#define WEIGHT(n)    " event Normal Progressing: Advance podinfo.test canary weight " #n "\n"
#define ITERATION(n) " event Normal Progressing: Advance podinfo.test canary iteration " #n "/2\n"
#define HALT         " event Warning Progressing: Halt podinfo.test advancement success rate 80.00% < 99%\n"
#define FAILED                                                                                     \
    " event Warning Progressing: Rolling back podinfo.test failed checks threshold reached 2\n"    \
    " alert error: Failed checks threshold reached 2\n"                                            \
    " event Warning Failed: Canary failed! Scaling down podinfo.test\n"
#define WARNINGS(whose)                                                                            \
    whose "event Warning Progressing: Progressive traffic is not supported when using the "        \
          "kubernetes provider\n" whose                                                            \
          "event Warning Progressing: Setting canaryAnalysis.iterations: 10\n"
#define OF_TEN(n)                                                                                  \
    WARNINGS("-") " event Normal Progressing: Advance podinfo.test canary iteration " #n "/10\n"
#define STUCK                                                                                      \
    "podinfo-primary.test not ready: deployment \"podinfo-primary\" exceeded its progress "        \
    "deadline"
#define ITERATIONS "'analysis':{'stepWeight':null,'maxWeight':null,'iterations':2"

struct parity {
    const char *name;
    const char *canary;  /* patch of the Canary */
    const char *image;   /* that is pushed; NULL: the initialisation is what is compared */
    const char *metrics; /* what they say */
    const char *later;   /* another image, pushed when the weight is first above zero */
    const char *closed;  /* the gate that is closed until that is told */
    const char *back;    /* the rollback hook that agrees from then on */
    const char *expected;
    const char *rows[2]; /* of COMPATIBILITY.md, one for each deviation; NULL-ended */
};

/* A row; what all rows have stands first. */
#define PARITY(name_, ...)                                                                         \
    {                                                                                              \
        .name = (name_), __VA_ARGS__                                                               \
    }

static const struct parity cases[] = {
    PARITY("initialisation",
           .expected = " event Normal Initializing: all the metrics providers are available!\n"
                       " event Normal Initialized: Initialization done! podinfo.test\n"
                       " alert info+: New Deployment detected, initialization completed.\n"),
    PARITY("canary", .canary = "{'spec':{'analysis':{'maxWeight':40}}}", .image = "podinfo:2",
           .expected = NEW_REVISION START WEIGHT(20) WEIGHT(40) COPYING PROMOTED),
    PARITY("canary, rolled back", .canary = "{'spec':{'analysis':{'maxWeight':40}}}",
           .image = "podinfo:2", .metrics = "{'metrics[0]':80}",
           .expected = NEW_REVISION START WEIGHT(20) HALT HALT FAILED),
    PARITY("canary that is promoted in steps",
           .canary = "{'spec':{'analysis':{'maxWeight':40,'stepWeightPromotion':50}}}",
           .image = "podinfo:2",
           .expected = NEW_REVISION START WEIGHT(20) WEIGHT(40) COPYING
           " event Normal Promoting: Advance podinfo.test primary weight 100\n"
           " event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
           " alert info: Canary analysis completed successfully, promotion finished.\n"),
    PARITY("stepWeights",
           .canary =
               "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'stepWeights':[1,10,80]}}}",
           .image = "podinfo:2",
           .expected = NEW_REVISION START WEIGHT(1) WEIGHT(10) WEIGHT(80) COPYING PROMOTED),
    PARITY("maximum that is no multiple of the step",
           .canary = "{'spec':{'analysis':{'stepWeight':30,'maxWeight':50}}}", .image = "podinfo:2",
           .expected =
               NEW_REVISION START WEIGHT(30) "-event Normal Progressing: Advance podinfo.test "
                                             "canary weight 60\n"
                                             "+event Normal Progressing: Advance podinfo.test "
                                             "canary weight 50\n" COPYING PROMOTED,
           .rows = {"The last step is shortened."}),
    PARITY("another revision during the analysis",
           .canary = "{'spec':{'analysis':{'maxWeight':40}}}", .image = "podinfo:2",
           .later = "podinfo:3",
           .expected = NEW_REVISION START WEIGHT(
               20) " event Normal Progressing: New revision detected! Restarting analysis for "
                   "podinfo.test\n" START WEIGHT(20) WEIGHT(40) COPYING PROMOTED),
    PARITY(
        "all hooks, all of which agree",
        .canary = "{'spec':{'analysis':{'maxWeight':20,'webhooks':["
                  "{'name':'may-start','type':'confirm-rollout','url':'http://x'},"
                  "{'name':'smoke','type':'pre-rollout','url':'http://x'},"
                  "{'name':'load','type':'rollout','url':'http://x'},"
                  "{'name':'more','type':'confirm-traffic-increase','url':'http://x'},"
                  "{'name':'may-end','type':'confirm-promotion','url':'http://x'},"
                  "{'name':'bye','type':'post-rollout','url':'http://x'}]}}}",
        .image = "podinfo:2",
        .expected =
            " event Normal Initialized: Confirm-rollout check may-start passed\n" NEW_REVISION START
            " event Normal Progressing: Pre-rollout check smoke passed\n"
            " event Normal Progressing: Confirm-traffic-increase check more passed\n" WEIGHT(20)
        /* step 31 asks the traffic gate before it looks whether the maximum is reached */
        " event Normal Progressing: Confirm-traffic-increase check more passed\n"
        " event Normal Progressing: Confirm-promotion check may-end passed\n" COPYING PROMOTED),
    PARITY("rollback hook",
           .canary =
               "{'spec':{'analysis':{'maxWeight':40,'webhooks':[{'name':'back','type':'rollback',"
               "'url':'http://x'}]}}}",
           .image = "podinfo:2", .back = "back",
           .expected = NEW_REVISION
           " event Normal Progressing: Rollback hook back not signaling a rollback\n" START WEIGHT(
               20) " event Warning Progressing: Rollback check back passed\n"
                   " event Warning Progressing: Rolling back podinfo.test manual webhook invoked\n"
                   " alert warn: Rolling back manual webhook invoked\n"
                   " event Warning Failed: Canary failed! Scaling down podinfo.test\n"),
    PARITY("blue/green", .canary = "{'spec':{" ITERATIONS "}}}", .image = "podinfo:2",
           .expected = NEW_REVISION START ITERATION(1) ITERATION(
               2) " event Normal Progressing: Routing all traffic to canary\n" COPYING PROMOTED),
    PARITY("blue/green, rolled back", .canary = "{'spec':{" ITERATIONS "}}}", .image = "podinfo:2",
           .metrics = "{'metrics[0]':80}",
           .expected = NEW_REVISION START ITERATION(1) HALT HALT FAILED),
    PARITY("blue/green of the kubernetes provider",
           .canary = "{'spec':{'provider':'kubernetes'," ITERATIONS "}}}", .image = "podinfo:2",
           .expected = NEW_REVISION START ITERATION(1) ITERATION(2) COPYING
           " event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
           " alert info: Canary analysis completed successfully, promotion finished.\n"),
    PARITY(
        "kubernetes provider without iterations", .canary = "{'spec':{'provider':'kubernetes'}}",
        .image = "podinfo:2",
        .expected =
            " event Normal Progressing: New revision detected! Scaling up podinfo.test\n" WARNINGS(
                "+") " alert info+: New revision detected, progressing canary analysis.\n" START
                OF_TEN(1) OF_TEN(2) OF_TEN(3) OF_TEN(4) OF_TEN(5) OF_TEN(6) OF_TEN(7) OF_TEN(8)
                    OF_TEN(9) OF_TEN(10) WARNINGS("-") WARNINGS("-") COPYING
        " event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
        " alert info: Canary analysis completed successfully, promotion finished.\n",
        .rows = {"With the kubernetes provider, warns of missing iterations at every check."}),
    PARITY(
        "gate that is closed at first",
        .canary = "{'spec':{'analysis':{'maxWeight':20,'webhooks':["
                  "{'name':'gate','type':'confirm-rollout','url':'http://x'}]}}}",
        .image = "podinfo:2", .closed = "gate",
        .expected =
            "-event Warning Initialized: Halt podinfo.test advancement waiting for approval gate\n"
            "+event Warning Waiting: Halt podinfo.test advancement waiting for approval gate\n"
            " alert warn: Canary is waiting for approval.\n"
            " event Normal Waiting: Confirm-rollout check gate passed\n" NEW_REVISION START WEIGHT(
                20) COPYING PROMOTED,
        .rows = {"An event about a closed gate carries the phase before it"}),
    PARITY(
        "gate of the promotion that is closed at first",
        .canary = "{'spec':{'analysis':{'maxWeight':20,'webhooks':["
                  "{'name':'gate','type':'confirm-promotion','url':'http://x'}]}}}",
        .image = "podinfo:2", .closed = "gate",
        .expected = NEW_REVISION START WEIGHT(
            20) "-event Warning Progressing: Halt podinfo.test advancement waiting for promotion "
                "approval gate\n"
                "+event Warning WaitingPromotion: Halt podinfo.test advancement waiting for "
                "promotion "
                "approval gate\n"
                " alert warn: Canary promotion is waiting for approval.\n"
                " event Normal WaitingPromotion: Confirm-promotion check gate passed\n"
                " event Normal WaitingPromotion: Copying podinfo.test template spec to "
                "podinfo-primary.test\n" PROMOTED,
        .rows = {"An event about a closed gate carries the phase before it"}),
    PARITY("promotion that fails", .canary = "{'spec':{'analysis':{'maxWeight':20}}}",
           .image = "podinfo:2-canary-only",
           .expected = NEW_REVISION START WEIGHT(20) COPYING
           "-event Warning Promoting: " STUCK "\n"
           " event Warning Promoting: Promotion of podinfo.test failed, primary not ready: " STUCK
           "\n"
           " alert error: Promotion failed, primary not ready: " STUCK "\n",
           .rows = {"Tells twice in one tick that a promotion failed"}),
    PARITY("A/B test",
           .canary =
               "{'spec':{" ITERATIONS ",'match':[{'headers':{'x-canary':{'exact':'insider'}}}]}}}",
           .image = "podinfo:2",
           .expected = NEW_REVISION START ITERATION(1) ITERATION(2) COPYING PROMOTED),
    PARITY("A/B test, rolled back",
           .canary =
               "{'spec':{" ITERATIONS ",'match':[{'headers':{'x-canary':{'exact':'insider'}}}]}}}",
           .image = "podinfo:2", .metrics = "{'metrics[0]':80}",
           .expected = NEW_REVISION START ITERATION(1) HALT HALT FAILED),
    PARITY("canary with mirroring",
           .canary = "{'spec':{'analysis':{'maxWeight':40,'mirror':true}}}", .image = "podinfo:2",
           .expected = NEW_REVISION START WEIGHT(0) WEIGHT(20) WEIGHT(40) COPYING PROMOTED),
    PARITY("canary with mirroring, rolled back",
           .canary = "{'spec':{'analysis':{'maxWeight':40,'mirror':true}}}", .image = "podinfo:2",
           .metrics = "{'metrics[0]':80}",
           .expected = NEW_REVISION START WEIGHT(0) HALT HALT FAILED),
    PARITY("blue/green with mirroring", .canary = "{'spec':{" ITERATIONS ",'mirror':true}}}",
           .image = "podinfo:2",
           .expected = NEW_REVISION START ITERATION(1) ITERATION(
               2) " event Normal Progressing: Stop traffic mirroring and route all traffic to "
                  "canary\n" COPYING PROMOTED),
    PARITY("canary with session affinity",
           .canary = "{'spec':{'analysis':{'maxWeight':40,'sessionAffinity':{'cookieName':'c'}}}}",
           .image = "podinfo:2",
           .expected = NEW_REVISION START WEIGHT(20) WEIGHT(40) COPYING PROMOTED),
    PARITY("skipped analysis", .canary = "{'spec':{'skipAnalysis':true}}", .image = "podinfo:2",
           .expected = NEW_REVISION COPYING
           " event Normal Succeeded: Promotion completed! Canary analysis was skipped for "
           "podinfo.test\n"
           " alert info: Canary analysis was skipped, promotion finished.\n"),
};

/* What a tick told, a line each. */
static const char *told_in(struct world *w, const char *plan)
{
    const char *out = "";

    for (const char *at = plan; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, "event ", 6) == 0 || strncmp(at, "alert ", 6) == 0)
            out = arena_printf(w->arena, "%s%.*s\n", out, (int)strcspn(at, "\n"), at);
    }
    return out;
}

static void meddle(struct world *w, const struct parity *it)
{
    if (world_status_int(w, "canaryWeight") <= 0)
        return;
    if (it->later && strcmp(world_image(w, "podinfo"), it->image) == 0)
        world_push(w, it->later);
    if (it->back)
        w->open = it->back;
}

/* All that is told until nothing is to be done. */
static const char *run(struct world *w, const struct parity *it)
{
    const char *told = "";

    for (int i = 0; i < TICKS_MAX; i++) {
        const char *plan = world_tick(w);
        told = arena_printf(w->arena, "%s%s", told, told_in(w, plan));
        if (w->again == AGAIN_NEVER && strcmp(plan, "again never\n") == 0)
            return told;
        if (w->again != AGAIN_NOW)
            w->now_ms += INTERVAL_MS;
        world_settle(w);
        meddle(w, it);
        if (strstr(told, "Halt"))
            w->closed = "";
        world_settle(w);
    }
    fail_msg("%s: no end, told:\n%s", it->name, told);
    return NULL;
}

/* What we tell by the case: both's lines and our own. */
static const char *ours(struct world *w, const char *expected)
{
    const char *out = "";

    for (const char *at = expected; *at; at += strcspn(at, "\n") + 1) {
        if (*at != '-')
            out = arena_printf(w->arena, "%s%.*s\n", out, (int)strcspn(at, "\n") - 1, at + 1);
    }
    return out;
}

static bool deviates(const char *expected)
{
    return strstr(expected, "\n-") || strstr(expected, "\n+") || strchr("-+", *expected);
}

static void test_parity(void **state)
{
    const struct parity *it = *state;
    struct world *w = world_new(it->canary);

    if (it->image) {
        world_initialise(w);
        if (it->metrics)
            w->metrics = world_json(w, it->metrics);
        w->closed = it->closed ? it->closed : "";
        world_push(w, it->image);
        world_settle(w);
    }
    const char *told = run(w, it);
    if (strcmp(told, ours(w, it->expected)) != 0)
        fail_msg("%s: told\n%s\nand not\n%s", it->name, told, it->expected);
    world_free(w);
}

static void test_deviations_stand_in_the_table(void **state)
{
    struct arena *arena = arena_new();
    struct errinfo ei;
    char *table;
    if (file_read(arena, "proto/COMPATIBILITY.md", TABLE_MAX, &table, NULL, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (deviates(cases[i].expected) != (cases[i].rows[0] != NULL))
            fail_msg("%s: a deviation quotes its row, and nothing else does", cases[i].name);
        for (int j = 0; j < 2 && cases[i].rows[j]; j++) {
            if (!strstr(table, cases[i].rows[j]))
                fail_msg("%s: COMPATIBILITY.md has no row that says \"%s\"", cases[i].name,
                         cases[i].rows[j]);
        }
    }
    arena_free(arena);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT + 1];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = test_parity,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    tests[COUNT] =
        (struct CMUnitTest){.name = "deviations", .test_func = test_deviations_stand_in_the_table};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
