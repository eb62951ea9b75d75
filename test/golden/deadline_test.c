/* How long a gate may stay closed, and what happens then. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

enum { MINUTE = 60 * 1000 };

#define GATE(type, fields)                                                                         \
    "{'spec':{'analysis':{'webhooks':[{'name':'gate','type':'" type "','url':'http://x'" fields    \
    "}]}}}"
#define HALT "Halt podinfo.test advancement waiting for "

static const char *after(struct world *w, int minutes)
{
    w->now_ms += (int64_t)minutes * MINUTE;
    const char *plan = world_tick(w);
    world_settle(w);
    return plan;
}

/* A revision is pushed and reaches the gate, which is closed. */
static struct world *at_gate(const char *webhooks, int ticks)
{
    struct world *w = world_new(webhooks);

    world_initialise(w);
    w->closed = "gate other";
    world_push(w, "podinfo:2");
    for (int i = 0; i < ticks; i++)
        after(w, 1);
    w->told = "";
    return w;
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

/* Whoever waits for the primary waits no longer than the gate says. */
static void test_deadline_while_the_primary_is_not_ready(void **state)
{
    struct world *w = at_gate(GATE("confirm-rollout", ",'deadline':'30m'"), 0);

    world_tick(w);
    assert_string_equal(world_phase(w), "Waiting");
    for (int minutes = 0; minutes < 30; minutes += 10) {
        assert_string_equal(world_phase(w), "Waiting");
        w->now_ms += 10 * MINUTE;
        world_patch(w, "deployments/podinfo-primary", "{'status':{'availableReplicas':0}}");
        world_tick(w);
    }
    assert_string_equal(world_phase(w), "Failed");
    assert_non_null(strstr(w->told, "check gate was not approved within 30m0s"));
    world_free(w);
}

static void test_start_is_turned_down(void **state)
{
    struct world *w = at_gate(GATE("confirm-rollout", ",'deadline':'30m'"), 0);

    expect_tick(w, "status phase=Waiting gate={\"revision\":\"6ffb7d8f6\"} [Promoted=Unknown "
                   "Approved=False]\n"
                   "event Warning Waiting: " HALT
                   "approval gate until 2023-11-14T22:44:20Z, then rollback\n"
                   "alert warn: Canary is waiting for approval.\n"
                   "again interval, stepped\n");
    assert_string_equal(after(w, 1), "again interval, stepped\n");
    assert_string_equal(after(w, 28), "again interval, stepped\n");
    w->now_ms += MINUTE - 1;
    assert_string_equal(after(w, 0), "again interval, stepped\n");
    w->now_ms++;
    expect_tick(
        w, "status gate=null phase=Failed lastAppliedSpec=597d8f496b [Promoted=False]\n"
           "event Warning Waiting: Rolling back podinfo.test confirm-rollout check gate was not "
           "approved within 30m0s\n"
           "alert warn: Rolling back, confirm-rollout check gate was not approved within 30m0s\n"
           "weights 100/0\n"
           "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
           "outcome failure completed\n"
           "again now, stepped\n");
    /* and is not offered again */
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_start_goes_on(void **state)
{
    struct world *w =
        at_gate(GATE("confirm-rollout", ",'deadline':'30m','onDeadline':'approve'"), 0);

    assert_non_null(strstr(after(w, 0), "until 2023-11-14T22:44:20Z, then it goes on\n"));
    assert_string_equal(after(w, 29), "again interval, stepped\n");
    w->now_ms += MINUTE;
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "event Normal Waiting: Confirm-rollout check gate was not answered within "
                   "30m0s, going on\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    world_free(w);
}

static void test_a_gate_that_opens_is_asked_once_more_at_the_deadline(void **state)
{
    struct world *w = at_gate(GATE("confirm-rollout", ",'deadline':'30m'"), 1);

    w->closed = "";
    assert_non_null(strstr(after(w, 60), "Confirm-rollout check gate passed"));
    assert_string_equal(world_phase(w), "Progressing");
    world_free(w);
}

/* Each step has its own wait. */
static void test_traffic_goes_on_step_by_step(void **state)
{
    struct world *w =
        at_gate(GATE("confirm-traffic-increase", ",'deadline':'10m','onDeadline':'approve'"), 2);

    assert_string_equal(world_weights(w), "100/0");
    after(w, 10);
    assert_string_equal(world_weights(w), "80/20");
    assert_non_null(strstr(after(w, 1), "until 2023-11-14T22:37:20Z, then it goes on\n"));
    after(w, 9);
    assert_string_equal(world_weights(w), "80/20");
    after(w, 1);
    assert_string_equal(world_weights(w), "60/40");
    world_free(w);
}

static void test_traffic_is_rolled_back(void **state)
{
    struct world *w = at_gate(GATE("confirm-traffic-increase", ",'deadline':'10m'"), 2);

    w->closed = "";
    after(w, 1);
    w->closed = "gate";
    assert_non_null(strstr(after(w, 1), "Approved=False"));
    after(w, 9);
    assert_string_equal(world_weights(w), "80/20");
    w->now_ms += MINUTE;
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status phase=Failed canaryWeight=0 [Promoted=False Drained=False]\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "event Warning Progressing: Rolling back podinfo.test confirm-traffic-increase "
                   "check gate was not approved within 10m0s\n"
                   "alert warn: Rolling back, confirm-traffic-increase check gate was not approved "
                   "within 10m0s\n"
                   "weights 100/0\n"
                   "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
                   "outcome failure completed\n"
                   "again now, stepped\n");
    world_free(w);
}

/* A check that fails keeps the gate from being asked, and the clock goes on. */
static void test_failed_checks_do_not_stop_the_clock(void **state)
{
    struct world *w = at_gate(GATE("confirm-traffic-increase", ",'deadline':'10m'"), 2);

    w->closed = "";
    after(w, 1);
    w->closed = "gate";
    after(w, 1);
    w->metrics = world_json(w, "{'metrics[0]':1}");
    after(w, 5);
    assert_int_equal(world_status_int(w, "failedChecks"), 1);
    w->metrics = world_json(w, "{}");
    after(w, 5);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

static void test_promotion_is_rolled_back(void **state)
{
    struct world *w = at_gate(GATE("confirm-promotion", ",'deadline':'1h'"), 5);

    assert_string_equal(world_phase(w), "WaitingPromotion");
    after(w, 59);
    assert_string_equal(world_phase(w), "WaitingPromotion");
    after(w, 1);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "100/0");
    assert_non_null(strstr(w->told, "confirm-promotion check gate was not approved within 1h0m0s"));
    world_free(w);
}

static void test_promotion_goes_on(void **state)
{
    struct world *w =
        at_gate(GATE("confirm-promotion", ",'deadline':'1h','onDeadline':'approve'"), 5);

    after(w, 59);
    assert_string_equal(world_phase(w), "WaitingPromotion");
    after(w, 1);
    assert_string_equal(world_phase(w), "Promoting");
    assert_null(strstr(world_state(w), "Approved"));
    world_free(w);
}

/* Blue/green asks twice; what the deadline has let pass does not wait a second time. */
static void test_blue_green_goes_on_at_once(void **state)
{
    struct world *w =
        at_gate("{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':1,"
                "'webhooks':[{'name':'gate','type':'confirm-promotion','url':'http://x',"
                "'deadline':'1h','onDeadline':'approve'}]}}}",
                4);

    assert_string_equal(world_phase(w), "WaitingPromotion");
    after(w, 60);
    assert_string_equal(world_weights(w), "0/100");
    after(w, 1);
    assert_string_equal(world_phase(w), "Promoting");
    assert_null(strstr(world_state(w), "Approved"));
    world_free(w);
}

/* Whoever pushes later has as much time as the one before. */
static void test_a_newer_revision_has_its_own_time(void **state)
{
    struct world *w = at_gate(GATE("confirm-rollout", ",'deadline':'30m'"), 1);

    after(w, 20);
    world_push(w, "podinfo:3");
    assert_non_null(strstr(after(w, 0), "until 2023-11-14T23:05:20Z, then rollback\n"));
    after(w, 20);
    assert_string_equal(world_phase(w), "Waiting");
    after(w, 10);
    assert_string_equal(world_phase(w), "Failed");
    assert_int_equal(count(w->told, "Canary is waiting for approval."), 1);
    world_free(w);
}

static void test_nothing_runs_out_while_suspended(void **state)
{
    struct world *w = at_gate(GATE("confirm-rollout", ",'deadline':'30m'"), 1);

    world_patch_canary(w, "{'spec':{'suspend':true}}");
    after(w, 1);
    world_patch_canary(w, "{'spec':{'suspend':null}}");
    assert_non_null(strstr(after(w, 60), "until "));
    after(w, 29);
    assert_string_equal(world_phase(w), "Waiting");
    after(w, 1);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

/* A wait that began in what is now the future begins anew; it never ends early. */
static void test_a_clock_that_was_ahead(void **state)
{
    struct world *w = at_gate(GATE("confirm-rollout", ",'deadline':'30m'"), 1);

    assert_non_null(strstr(after(w, -1000), "then rollback\n"));
    after(w, 29);
    assert_string_equal(world_phase(w), "Waiting");
    after(w, 1);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

/* A clock that is set right in the middle of a wait has not waited for that: it begins anew. */
static void test_a_clock_that_was_behind(void **state)
{
    struct world *w = at_gate(GATE("confirm-rollout", ",'deadline':'30m'"), 1);

    after(w, 10);
    w->now_ms += (int64_t)500 * MINUTE;
    w->stepped_at_ms = w->now_ms;
    assert_non_null(strstr(after(w, 0), "until 2023-11-15T07:15:20Z, then rollback\n"));
    after(w, 29);
    assert_string_equal(world_phase(w), "Waiting");
    after(w, 1);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

/* It counts from when it was told, not from a time when nobody knew of it. */
static void test_a_deadline_that_is_added_later(void **state)
{
    struct world *w = at_gate(GATE("confirm-rollout", ""), 1);

    after(w, 600);
    assert_string_equal(w->told, "");
    world_patch_canary(w, GATE("confirm-rollout", ",'deadline':'30m'"));
    assert_non_null(strstr(after(w, 0), "then rollback\n"));
    after(w, 29);
    assert_string_equal(world_phase(w), "Waiting");
    /* and one that is taken away is forgotten */
    world_patch_canary(w, GATE("confirm-rollout", ""));
    after(w, 29);
    assert_string_equal(world_phase(w), "Waiting");
    assert_null(strstr(world_state(w), "Approved"));
    world_free(w);
}

/* Two hooks of one gate that take turns: each is told, the alert comes once, the clock is one. */
static void test_two_hooks_of_one_gate(void **state)
{
    struct world *w =
        at_gate("{'spec':{'analysis':{'webhooks':["
                "{'name':'gate','type':'confirm-rollout','url':'http://x','deadline':'30m'},"
                "{'name':'other','type':'confirm-rollout','url':'http://x','deadline':'40m'}]}}}",
                1);

    w->closed = "other";
    assert_non_null(strstr(after(w, 10), "approval other until 2023-11-14T22:55:20Z"));
    w->closed = "gate other";
    assert_non_null(strstr(after(w, 10), "approval gate until 2023-11-14T22:45:20Z"));
    w->closed = "other";
    after(w, 15);
    assert_string_equal(world_phase(w), "Waiting");
    assert_int_equal(count(w->told, "Canary is waiting for approval."), 0);
    after(w, 5);
    assert_string_equal(world_phase(w), "Failed");
    assert_non_null(strstr(w->told, "check other was not approved within 40m0s"));
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_deadline_while_the_primary_is_not_ready),
          cmocka_unit_test(test_start_is_turned_down), cmocka_unit_test(test_start_goes_on),
          cmocka_unit_test(test_a_gate_that_opens_is_asked_once_more_at_the_deadline),
          cmocka_unit_test(test_traffic_goes_on_step_by_step),
          cmocka_unit_test(test_traffic_is_rolled_back),
          cmocka_unit_test(test_failed_checks_do_not_stop_the_clock),
          cmocka_unit_test(test_promotion_is_rolled_back), cmocka_unit_test(test_promotion_goes_on),
          cmocka_unit_test(test_blue_green_goes_on_at_once),
          cmocka_unit_test(test_a_newer_revision_has_its_own_time),
          cmocka_unit_test(test_nothing_runs_out_while_suspended),
          cmocka_unit_test(test_a_clock_that_was_ahead),
          cmocka_unit_test(test_a_clock_that_was_behind),
          cmocka_unit_test(test_a_deadline_that_is_added_later),
          cmocka_unit_test(test_two_hooks_of_one_gate))
