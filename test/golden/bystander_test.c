/* Services of others that lead to the target: it keeps its pods for them. */
#include <string.h>

#include "test/unit.h"
#include "world.h"

#define TARGET "deployments/podinfo"

static int replicas(struct world *w)
{
    return (int)json_int_at(world_get(w, TARGET), -1, "spec", "replicas", NULL);
}

static bool is_free(struct world *w)
{
    return !strstr(json_text_sorted(w->arena, w->canary), "TargetFree");
}

/* What the engine does by itself, for so many intervals. */
static void turns(struct world *w, int intervals)
{
    for (int i = 0; i <= intervals; i++) {
        for (int k = 0; k < 9 && strcmp(world_turn(w), "asleep\n") != 0; k++)
            world_settle(w);
        w->now_ms += i < intervals ? 60000 : 0;
    }
}

/* Initialised beside this Service, and an hour later. */
static struct world *beside(const char *service)
{
    struct world *w = world_new(NULL);

    if (service)
        world_put(w, "services/old", service);
    turns(w, 60);
    assert_string_equal(world_phase(w), "Initialized");
    assert_string_equal(world_weights(w), "100/0");
    return w;
}

#define SELECTS "{'metadata':{'name':'old'},'spec':{'selector':{'app':'podinfo'}}}"

static void test_the_target_stays(void **state)
{
    struct world *w = beside(SELECTS);

    assert_int_equal(replicas(w), 2);
    assert_non_null(strstr(w->told, "Service old.test selects the pods of podinfo.test"));
    assert_null(strstr(strstr(w->told, "Service old.test") + 1, "Service old.test")); /* once */
    expect_tick(w, "again never\n");
    world_free(w);
}

/* Whoever is in nobody's way, or says so. */
static void test_the_target_goes(void **state)
{
    static const char *const services[] = {
        NULL,
        "{'metadata':{'name':'old'},'spec':{'selector':{'app':'web'}}}",
        "{'metadata':{'name':'old'},'spec':{'selector':{'app':'podinfo','tier':'web'}}}",
        "{'metadata':{'name':'old'},'spec':{'selector':{}}}",
        "{'metadata':{'name':'old'},'spec':{'type':'ExternalName','externalName':'a.b'}}",
        "{'metadata':{'name':'old','annotations':{'flagger.app/endpoints-may-go':'true'}},"
        "'spec':{'selector':{'app':'podinfo'}}}",
        "{'metadata':{'name':'old-canary','annotations':{'flagger.app/handed-over-by':'old'}},"
        "'spec':{'selector':{'app':'podinfo'}}}",
        "{'metadata':{'name':'old','ownerReferences':[{'apiVersion':'flagger.app/v1beta1','kind':"
        "'Canary','name':'podinfo','uid':'c-1','controller':true}]},'spec':{'selector':{'app':"
        "'podinfo'}}}",
    };

    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        struct world *w = beside(services[i]);
        assert_int_equal(replicas(w), 0);
        assert_true(is_free(w));
        world_free(w);
    }
}

/* The Service goes, or leads elsewhere: that wakes the Canary, and the target goes. */
static void test_the_service_goes(void **state)
{
    static const char *const patches[] = {
        NULL, "{'spec':{'selector':{'app':'podinfo-primary'}}}",
        "{'metadata':{'annotations':{'flagger.app/endpoints-may-go':'true'}}}"};

    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        struct world *w = beside(SELECTS);
        world_patch(w, "services/old", patches[i]);
        turns(w, 0);
        assert_int_equal(replicas(w), 0);
        assert_true(is_free(w));
        assert_string_equal(world_turn(w), "asleep\n");
        world_free(w);
    }
}

/* Releases go on beside it, whichever way they end, and the target has its pods after each. */
static void test_releases_go_on(void **state)
{
    for (int fails = 0; fails < 2; fails++) {
        struct world *w = beside(SELECTS);
        world_push(w, "podinfo:2");
        w->metrics = world_json(w, fails ? "{'metrics[0]':1}" : "{}");
        turns(w, 60);
        assert_string_equal(world_phase(w), fails ? "Failed" : "Succeeded");
        assert_string_equal(world_image(w, "podinfo-primary"), fails ? "podinfo:1" : "podinfo:2");
        assert_int_equal(replicas(w), 2);
        world_patch(w, "services/old", NULL);
        turns(w, 1);
        assert_int_equal(replicas(w), 0);
        assert_true(is_free(w));
        world_free(w);
    }
}

/* Pods that cannot be stopped have read the configs of before: what they show is not promoted, and
 * the release ends. */
static void test_configs_change_meanwhile(void **state)
{
    struct world *w = world_new(NULL);

    world_put(w, "services/old", SELECTS);
    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},'data':{"
              "'color':'red'}}");
    world_patch(w, TARGET,
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':"
                "'settings'}}]}}}}");
    turns(w, 60);
    world_push(w, "podinfo:2");
    for (int i = 0; i < 9 && strcmp(world_weights(w), "80/20") != 0; i++)
        turns(w, 1);
    assert_string_equal(world_weights(w), "80/20");
    world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
    turns(w, 60);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "100/0");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:1");
    assert_string_equal(
        json_str_at(world_get(w, "configmaps/settings-primary"), "data", "color", NULL), "red");
    assert_int_equal(replicas(w), 2);
    assert_non_null(strstr(w->told, "its pods are kept for a Service of others"));
    world_push(w, "podinfo:3");
    turns(w, 60);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    world_free(w);
}

/* At rest such a change waits for the Service, and costs nothing meanwhile. */
static void test_configs_change_at_rest(void **state)
{
    struct world *w = world_new(NULL);

    world_put(w, "services/old", SELECTS);
    world_put(w, "configmaps/settings", "{'metadata':{'name':'settings'},'data':{'a':'red'}}");
    world_patch(w, TARGET,
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':"
                "'settings'}}]}}}}");
    turns(w, 60);
    world_patch(w, "configmaps/settings", "{'data':{'a':'blue'}}");
    turns(w, 3);
    assert_string_equal(world_phase(w), "Initialized");
    w->now_ms += 3600000;
    assert_string_equal(world_turn(w), "asleep\n");
    world_patch(w, "services/old", NULL);
    turns(w, 60);
    assert_string_equal(world_phase(w), "Succeeded");
    world_free(w);
}

/* A person has taken the target to zero before the Canary was made. Its first release brings pods
 * for the Service too, and does not take them away again; the Service goes, and they go. */
static void test_the_target_was_at_zero(void **state)
{
    for (int goes_early = 0; goes_early < 2; goes_early++) {
        struct world *w = world_new(NULL);
        world_put(w, "services/old", SELECTS);
        world_patch(w, TARGET, "{'spec':{'replicas':0}}");
        turns(w, 60);
        assert_string_equal(world_phase(w), "Initialized");
        assert_int_equal(replicas(w), 0);
        assert_false(is_free(w));
        expect_tick(w, "again never\n");
        if (goes_early) {
            world_patch(w, "services/old", NULL);
            turns(w, 1);
            assert_true(is_free(w));
        }
        world_push(w, "podinfo:2");
        turns(w, 60);
        assert_string_equal(world_phase(w), "Succeeded");
        assert_int_equal(replicas(w), goes_early ? 0 : 1);
        world_patch(w, "services/old", NULL);
        turns(w, 1);
        assert_int_equal(replicas(w), 0);
        assert_true(is_free(w));
        world_free(w);
    }
}

/* A person takes it to zero beside the Service, which is no reason to do it again. */
static void test_a_person_stops_the_target(void **state)
{
    struct world *w = beside(SELECTS);

    world_patch(w, TARGET, "{'spec':{'replicas':0}}");
    turns(w, 3);
    assert_string_equal(world_phase(w), "Initialized");
    assert_int_equal(replicas(w), 0);
    world_push(w, "podinfo:2");
    turns(w, 60);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_true(replicas(w) > 0);
    expect_tick(w, "again never\n");
    world_free(w);
}

/* A Service that is made when the target is at zero has led to nobody: the end of a release takes
 * the target down as always. */
static void test_a_service_that_comes_later(void **state)
{
    struct world *w = beside(NULL);

    world_put(w, "services/old", SELECTS);
    world_push(w, "podinfo:2");
    turns(w, 60);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_int_equal(replicas(w), 0);
    world_free(w);
}

/* Nobody pauses its autoscaler either, which takes the pods. */
static void test_with_an_autoscaler(void **state)
{
    struct world *w =
        world_new("{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject',"
                  "'name':'podinfo'}}}");

    world_put(w, "scaledobjects/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':1,'maxReplicaCount':9,"
              "'scaleTargetRef':{'name':'podinfo'}}}");
    world_put(w, "services/old", SELECTS);
    turns(w, 60);
    assert_int_equal(replicas(w), 2);
    world_patch(w, "services/old", NULL);
    turns(w, 1);
    assert_int_equal(replicas(w), 0);
    world_free(w);
}

/* A Service of others leads to the primary, as that of a Canary which was pointed elsewhere does:
 * the primary outlives its Canary, and belongs to nobody. */
static void test_the_primary_outlives_its_canary(void **state)
{
    static const struct {
        const char *service, *canary;
        bool stays;
    } cases[] = {
        {"{'metadata':{'name':'old'},'spec':{'selector':{'app':'podinfo-primary'}}}", NULL, true},
        {"{'metadata':{'name':'old'},'spec':{'selector':{'app':'podinfo-primary'}}}",
         "{'spec':{'revertOnDeletion':true}}", true},
        {"{'metadata':{'name':'old','annotations':{'flagger.app/endpoints-may-go':'true'}},'spec':{"
         "'selector':{'app':'podinfo-primary'}}}",
         NULL, false},
        {"{'metadata':{'name':'old'},'spec':{'selector':{'app':'web'}}}", NULL, false},
        {NULL, NULL, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new(cases[i].canary);
        if (cases[i].service)
            world_put(w, "services/old", cases[i].service);
        turns(w, 60);
        w->told = "";
        world_delete(w);
        turns(w, 10);
        struct json_object *primary = world_get(w, TARGET "-primary");
        assert_int_equal(primary != NULL, cases[i].stays);
        assert_int_equal(json_len(json_at(primary, "metadata", "ownerReferences", NULL)), 0);
        assert_int_equal(strstr(w->told, "Service old.test selects the pods of "
                                         "podinfo-primary.test, which stays") != NULL,
                         cases[i].stays);
        world_free(w);
    }
}

UNIT_MAIN(cmocka_unit_test(test_the_target_stays), cmocka_unit_test(test_the_target_goes),
          cmocka_unit_test(test_the_primary_outlives_its_canary),
          cmocka_unit_test(test_the_service_goes), cmocka_unit_test(test_releases_go_on),
          cmocka_unit_test(test_configs_change_meanwhile),
          cmocka_unit_test(test_configs_change_at_rest),
          cmocka_unit_test(test_the_target_was_at_zero),
          cmocka_unit_test(test_a_person_stops_the_target),
          cmocka_unit_test(test_a_service_that_comes_later),
          cmocka_unit_test(test_with_an_autoscaler))
