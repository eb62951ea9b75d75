/* What is special about each kind of target. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <regex.h>

#include "world.h"

#define KIND(kind) "'targetRef':{'kind':'" kind "'}"

static void wait_ms(struct world *w, int64_t ms)
{
    w->now_ms += ms;
}

/* The Canary's condition of the type; NULL: none. */
static struct json_object *condition(struct world *w, const char *type)
{
    struct json_object *conditions = json_at(w->canary, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        if (strcmp(json_str_at(json_elem(conditions, i), "type", NULL), type) == 0)
            return json_elem(conditions, i);
    }
    return NULL;
}

/* podinfo:2 waits for its promotion, with 20 % of the traffic, for hours. */
static struct world *daemonset_at_the_gate(void)
{
    struct world *w = world_new("{'spec':{" KIND(
        "DaemonSet") ",'analysis':{'maxWeight':20,'webhooks':[{'name':'last','type':"
                     "'confirm-promotion','url':'http://x'}]}}}");

    world_initialise(w);
    w->closed = "last";
    world_push(w, "podinfo:2");
    for (int i = 0; i < 5; i++) {
        world_tick(w);
        world_settle(w);
        wait_ms(w, 60000);
    }
    assert_string_equal(world_phase(w), "WaitingPromotion");
    assert_string_equal(world_weights(w), "80/20");
    wait_ms(w, 5 * 3600 * 1000);
    return w;
}

static const char node_joins[] = "{'status':{'desiredNumberScheduled':3}}";

/* Flagger counts the deadline from the last change of the Canary's status, which is hours ago. */
static void test_a_node_that_joins_ends_no_release(void **state)
{
    static const char *const sides[] = {"podinfo", "podinfo-primary"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world *w = daemonset_at_the_gate();
        world_patch(w, world_key(w, sides[i]), node_joins);
        world_tick(w);
        assert_string_equal(world_phase(w), "WaitingPromotion");
        struct json_object *waiting = condition(w, i ? "PrimaryReady" : "CanaryReady");
        assert_string_equal(json_str_at(waiting, "status", NULL), "False");
        wait_ms(w, 300000);
        world_tick(w);
        assert_string_equal(world_phase(w), "WaitingPromotion");
        world_settle(w); /* two nodes again, all updated */
        world_tick(w);
        assert_null(condition(w, "CanaryReady"));
        assert_null(condition(w, "PrimaryReady"));
        world_free(w);
    }
}

/* Ten minutes after the release began to wait, and not later, it is over. */
static void test_the_deadline_counts_from_the_wait(void **state)
{
    static const char *const sides[] = {"podinfo", "podinfo-primary"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world *w = daemonset_at_the_gate();
        world_patch(w, world_key(w, sides[i]), node_joins);
        world_tick(w);
        wait_ms(w, 599000);
        world_tick(w);
        assert_string_equal(world_phase(w), "WaitingPromotion");
        wait_ms(w, 2000);
        world_tick(w);
        assert_string_equal(world_phase(w), "Failed");
        assert_string_equal(world_weights(w), "100/0");
        assert_non_null(strstr(w->told, "exceeded its progressDeadlineSeconds: 600"));
        assert_null(condition(w, "CanaryReady"));
        assert_null(condition(w, "PrimaryReady"));
        world_free(w);
    }
}

/* contract/quirks.md 61: Flagger's expression for a DaemonSet is the primary's pods. */
static void test_whose_pods_are_measured(void **state)
{
    static const struct {
        const char *canary, *pod;
        bool measured;
    } cases[] = {
        {"{'spec':{" KIND("Deployment") "}}", "podinfo-5d4f8c7b9-x2x4z", true},
        {"{'spec':{" KIND("Deployment") "}}", "podinfo-primary-5d4f8c7b9-x2x4z", false},
        {"{'spec':{" KIND("DaemonSet") "}}", "podinfo-x2x4z", true},
        {"{'spec':{" KIND("DaemonSet") "}}", "podinfo-primary-x2x4z", false},
    };
    static const char before[] = "kubernetes_pod_name=~\"";

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(cases[i].canary);
        regex_t regex;
        world_initialise(w);
        world_push(w, "podinfo:2");
        world_run(w);
        const char *start = strstr(w->query, before);
        assert_non_null(start);
        start += strlen(before);
        const char *pods = arena_strndup(w->arena, start, strcspn(start, "\""));
        pods = arena_printf(w->arena, "^(%s)$", pods); /* as Prometheus anchors it */
        assert_int_equal(regcomp(&regex, pods, REG_EXTENDED | REG_NOSUB), 0);
        assert_int_equal(regexec(&regex, cases[i].pod, 0, NULL, 0) == 0, cases[i].measured);
        regfree(&regex);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_that_joins_ends_no_release),
        cmocka_unit_test(test_the_deadline_counts_from_the_wait),
        cmocka_unit_test(test_whose_pods_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
