/* What is special about each kind of target. */
#include <string.h>

#include <regex.h>

#include "test/unit.h"
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

/* Flagger's expression for a DaemonSet is the primary's pods. */
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

/* --- Service
 * ----------------------------------------------------------------------------------------------------
 */

#define SERVICE "{'spec':{'targetRef':{'apiVersion':'v1','kind':'Service'}}}"
#define KNATIVE                                                                                    \
    "{'spec':{'provider':'knative','targetRef':{'apiVersion':'serving.knative.dev/v1','kind':"     \
    "'Service'}}}"

/* podinfo:2 with 20 % of the traffic. */
static struct world *analysing(const char *canary)
{
    struct world *w = world_new(canary);

    world_initialise(w);
    world_push(w, "podinfo:2");
    world_settle(w);
    for (int i = 0; i < 10 && strcmp(world_weights(w), "80/20") != 0; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_weights(w), "80/20");
    return w;
}

/* The canary's Service keeps what is analysed for as long as it has traffic, also when the status
 * does not say yet that it has. */
static void expect_nothing_unanalysed(bool cut_off)
{
    struct world *w = analysing(SERVICE);

    if (cut_off)
        world_patch_canary(w, "{'status':{'canaryWeight':0}}");
    assert_string_equal(world_image(w, "podinfo-canary"), "podinfo:2");
    world_push(w, "podinfo:3");
    world_tick(w);
    assert_string_equal(world_weights(w), "100/0");
    assert_string_equal(world_image(w, "podinfo-canary"), "podinfo:2");
    world_tick(w);
    assert_string_equal(world_image(w, "podinfo-canary"), "podinfo:3");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
    world_free(w);
}

static void test_users_of_a_service_get_nothing_unanalysed(void **state)
{
    expect_nothing_unanalysed(false);
    expect_nothing_unanalysed(true);
}

/* The target says again what is on the primary, whose promotion was cut off, while another revision
 * is analysed: that other one is not called promoted. */
static void test_only_what_the_primary_carries_is_promoted(void **state)
{
    struct world *w = analysing(SERVICE);
    const char *promoted = json_str_at(w->canary, "status", "lastPromotedSpec", NULL);

    world_push(w, "podinfo:3");
    for (int i = 0; i < 3; i++)
        world_tick(w);
    world_patch(w, "services/podinfo-primary", "{'spec':{'selector':{'image':'podinfo:2'}}}");
    world_push(w, "podinfo:2");
    world_tick(w);
    assert_string_equal(json_str_at(w->canary, "status", "lastPromotedSpec", NULL), promoted);
    world_free(w);
}

static void test_an_idle_service_is_not_written(void **state)
{
    struct world *w = world_new(SERVICE);

    world_initialise(w);
    expect_tick(w, "again never\n");
    world_patch(w, "services/podinfo", "{'metadata':{'labels':{'seen':'1'}}}");
    world_tick(w);
    expect_tick(w, "again never\n");
    world_free(w);
}

/* No Service of ours beside those two, and the target as its owner left it. */
static void test_the_target_stays_its_owners(void **state)
{
    struct world *w = world_new(SERVICE);

    world_initialise(w);
    assert_string_equal(json_text_sorted(w->arena, json_at(world_get(w, "services/podinfo"), "spec",
                                                           "selector", NULL)),
                        "{\"image\":\"podinfo:1\"}");
    assert_null(json_at(world_get(w, "services/podinfo"), "metadata", "ownerReferences", NULL));
    world_free(w);
}

/* --- Knative
 * ----------------------------------------------------------------------------------------------------
 */

/* A revision that is not ready yet when the Canary is made gets no traffic, and the one that serves
 * keeps it. */
static void test_knative_waits_for_the_first_revision(void **state)
{
    struct world *w = world_new(KNATIVE);

    w->analysed = "podinfo:2-slow podinfo:3"; /* the first revision need not be */
    world_push(w, "podinfo:2-slow");
    world_settle(w);
    for (int i = 0; i < 3; i++)
        world_tick(w);
    assert_string_equal(world_phase(w), "Initializing");
    assert_null(json_at(world_get(w, "services/podinfo"), "spec", "traffic", NULL));
    world_push(w, "podinfo:3");
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    world_free(w);
}

/* No step before Knative has taken over the last one. */
static void test_knative_steps_when_it_is_ready(void **state)
{
    struct world *w = analysing(KNATIVE);

    world_patch(w, "services/podinfo", "{'status':{'observedGeneration':1}}");
    world_tick(w);
    assert_string_equal(world_weights(w), "80/20");
    assert_non_null(strstr(w->told, "has not taken over its traffic yet"));
    world_settle(w);
    world_tick(w);
    assert_string_equal(world_weights(w), "60/40");
    world_free(w);
}

static void test_knative_metrics_are_of_the_revision(void **state)
{
    struct world *w = analysing(KNATIVE);

    world_tick(w);
    assert_non_null(strstr(w->query, "envoy_cluster_name=~\"test/podinfo-00002\""));
    world_free(w);
}

/* --- the end of a Canary
 * --------------------------------------------------------------------------------------------------
 */

/* Deleted in the middle of a release: nothing of ours is left in or beside the target. */
static void test_deletion(void **state)
{
    static const char *const canaries[] = {
        "{'spec':{" KIND("DaemonSet") "}}",
        "{'spec':{'provider':'kubernetes'," KIND("DaemonSet") "}}",
        SERVICE,
        KNATIVE,
    };

    for (size_t i = 0; i < sizeof(canaries) / sizeof(canaries[0]); i++) {
        for (int running = 0; running < 2; running++) {
            struct world *w = running && i != 1 ? analysing(canaries[i]) : world_new(canaries[i]);
            if (!running || i == 1)
                world_initialise(w);
            world_delete(w);
            for (int t = 0; t < 40 && !w->gone; t++) {
                world_tick(w);
                wait_ms(w, w->again == AGAIN_NOW ? 0 : 60000);
                world_settle(w);
            }
            assert_true(w->gone);
            const char *left = json_text_sorted(w->arena, w->objects);
            if (strstr(left, "-primary") || strstr(left, "-canary") ||
                strstr(left, "scale-to-zero") || strstr(left, "primary-revision") ||
                strstr(left, "ownerReferences"))
                fail_msg("%s leaves %s", canaries[i], left);
            if (i == 3)
                assert_int_equal(
                    json_len(json_at(world_get(w, "services/podinfo"), "spec", "traffic", NULL)),
                    1);
            world_free(w);
        }
    }
}

UNIT_MAIN(cmocka_unit_test(test_a_node_that_joins_ends_no_release),
          cmocka_unit_test(test_the_deadline_counts_from_the_wait),
          cmocka_unit_test(test_whose_pods_are_measured),
          cmocka_unit_test(test_users_of_a_service_get_nothing_unanalysed),
          cmocka_unit_test(test_only_what_the_primary_carries_is_promoted),
          cmocka_unit_test(test_an_idle_service_is_not_written),
          cmocka_unit_test(test_the_target_stays_its_owners),
          cmocka_unit_test(test_knative_waits_for_the_first_revision),
          cmocka_unit_test(test_knative_steps_when_it_is_ready),
          cmocka_unit_test(test_knative_metrics_are_of_the_revision),
          cmocka_unit_test(test_deletion))
