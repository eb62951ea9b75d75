/*
 * What the spec no longer says goes, and what others wrote stays (tick/applied.h): the cases. The
 * search over every field is walk_test.c.
 */
#include <string.h>

#include "test/unit.h"
#include "world.h"

static struct world *initialised(const char *patch)
{
    struct world *world = world_new(patch);

    world_initialise(world);
    return world;
}

static struct json_object *filters_of(struct world *world)
{
    struct json_object *rules =
        json_at(world_get(world, "httproutes/podinfo"), "spec", "rules", NULL);

    return json_at(json_elem(rules, 0), "filters", NULL);
}

#define assert_filters(world, text)                                                                \
    assert_string_equal(json_text_sorted((world)->arena, filters_of(world)),                       \
                        json_text_sorted((world)->arena, world_json(world, text)))

static void test_revoked_cors(void **state)
{
    struct world *world =
        initialised("{'spec':{'service':{'corsPolicy':{'allowOrigin':['https://a.test'],"
                    "'allowCredentials':true,'maxAge':'1h'}}}}");

    assert_filters(world, "[{'type':'CORS','cors':{'allowOrigins':['https://a.test'],"
                          "'allowCredentials':true,'maxAge':3600}}]");
    world_patch_canary(
        world, "{'spec':{'service':{'corsPolicy':{'allowCredentials':null,'maxAge':null}}}}");
    world_run(world);
    assert_filters(world,
                   "[{'type':'CORS','cors':{'allowOrigins':['https://a.test'],'maxAge':5}}]");
    world_free(world);
}

static void test_mirror_namespace(void **state)
{
    struct world *world = initialised("{'spec':{'service':{'mirror':[{'backendRef':{'name':"
                                      "'shadow','namespace':'other','port':80}}]}}}");

    world_patch_canary(
        world, "{'spec':{'service':{'mirror':[{'backendRef':{'name':'shadow','port':80}}]}}}");
    world_run(world);
    assert_filters(world, "[{'type':'RequestMirror','requestMirror':{'backendRef':{'name':"
                          "'shadow','port':80}}}]");
    world_free(world);
}

/* The same for objects that Flagger made: they carry no annotation. */
static void test_flaggers_route(void **state)
{
    struct world *world = initialised(
        "{'spec':{'service':{'corsPolicy':{'allowOrigin':['https://a.test'],'allowCredentials':"
        "true,'maxAge':'1h'},'mirror':[{'backendRef':{'name':'shadow','namespace':'other','port':"
        "80}}]}}}");

    world_patch(world, "httproutes/podinfo",
                "{'metadata':{'annotations':{'flagger.app/applied':null}}}");
    world_patch_canary(
        world,
        "{'spec':{'service':{'corsPolicy':{'allowCredentials':null,'maxAge':null},'mirror':[{"
        "'backendRef':{'name':'shadow','port':80}}]}}}");
    world_run(world);
    assert_filters(world, "[{'type':'RequestMirror','requestMirror':{'backendRef':{'name':"
                          "'shadow','port':80}}},{'type':'CORS','cors':{'allowOrigins':["
                          "'https://a.test'],'maxAge':5}}]");
    world_free(world);
}

static void test_apex_metadata(void **state)
{
    static const char *const objects[] = {"services/podinfo", "httproutes/podinfo"};
    struct world *world = initialised("{'spec':{'service':{'apex':{'labels':{'team':'a'},"
                                      "'annotations':{'x/expose':'public'}}}}}");

    for (int i = 0; i < 2; i++) {
        assert_non_null(json_at(world_get(world, objects[i]), "metadata", "labels", "team", NULL));
        world_patch(world, objects[i],
                    "{'metadata':{'labels':{'others':'1'},'annotations':{'y/others':'1'}}}");
    }
    world_patch_canary(world, "{'spec':{'service':{'apex':null}}}");
    world_run(world);
    for (int i = 0; i < 2; i++) {
        struct json_object *metadata = json_at(world_get(world, objects[i]), "metadata", NULL);
        assert_null(json_at(metadata, "labels", "team", NULL));
        assert_null(json_at(metadata, "annotations", "x/expose", NULL));
        assert_non_null(json_at(metadata, "labels", "others", NULL));
        assert_non_null(json_at(metadata, "annotations", "y/others", NULL));
    }
    world_free(world);
}

/* --- what has no effect
 * ---------------------------------------------------------------------------------------------------
 */

static int count(const char *text, const char *part)
{
    int n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static const char *ignored_of(struct world *world)
{
    struct json_object *conditions = json_at(world->canary, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        if (strcmp(json_str_at(json_elem(conditions, i), "type", NULL), "Ignored") == 0)
            return json_str_at(json_elem(conditions, i), "message", NULL);
    }
    return "";
}

static void test_what_is_ignored_is_told_once(void **state)
{
    static const char sentence[] =
        "spec.service.match[0].authority, spec.service.retries: without effect, provider "
        "gatewayapi:v1 has no word for it";
    struct world *world = world_new("{'spec':{'service':{'match':[{'uri':{'prefix':'/'},"
                                    "'authority':{'exact':'a'}}],'retries':{'attempts':3}}}}");
    const char *plan = "";

    while (!strstr(plan, "without effect")) {
        plan = world_tick(world);
        world_settle(world);
    }
    world_initialise(world);
    assert_string_equal(ignored_of(world), sentence);
    world_push(world, "podinfo:2");
    world_run(world);
    assert_string_equal(world_phase(world), "Succeeded");
    assert_int_equal(count(world->told, "without effect"), 0);
    world_patch_canary(world, "{'spec':{'service':{'retries':null}}}");
    world_run(world);
    assert_int_equal(count(world->told, "without effect"), 1);
    world_patch_canary(world, "{'spec':{'service':{'match':null}}}");
    world_run(world);
    assert_string_equal(ignored_of(world), "");
    assert_int_equal(count(world->told, "without effect"), 1);
    world_free(world);
}

/* As with Flagger: it must not make every request match. */
static void test_a_match_of_nothing_that_is_known(void **state)
{
    struct world *world =
        initialised("{'spec':{'service':{'match':[{'authority':{'exact':'a'}},{'uri':{'prefix':"
                    "'/only'}}]}}}");

    struct json_object *rules =
        json_at(world_get(world, "httproutes/podinfo"), "spec", "rules", NULL);
    assert_string_equal(
        json_text_sorted(world->arena, json_at(json_elem(rules, 0), "matches", NULL)),
        "[{\"path\":{\"type\":\"PathPrefix\",\"value\":\"/only\"}}]");
    world_free(world);
}

static void test_exact_origins(void **state)
{
    struct world *world =
        initialised("{'spec':{'service':{'corsPolicy':{'allowOrigin':['https://a.test'],"
                    "'allowOrigins':[{'exact':'https://b.test'},{'regex':'.*'}]}}}}");

    assert_filters(world, "[{'type':'CORS','cors':{'allowOrigins':['https://a.test',"
                          "'https://b.test'],'maxAge':5}}]");
    assert_non_null(strstr(ignored_of(world), "spec.service.corsPolicy.allowOrigins[1].regex:"));
    world_free(world);
}

static void test_headless_services(void **state)
{
    struct world *world = initialised(NULL);

    world_patch(world, "services/podinfo", "{'spec':{'clusterIP':'10.0.0.1'}}");
    world_patch_canary(world, "{'spec':{'service':{'headless':true}}}");
    world_run(world);
    assert_non_null(strstr(ignored_of(world), "spec.service.headless: without effect"));
    world_patch(world, "services/podinfo", NULL);
    world_run(world);
    assert_string_equal(
        json_str_at(world_get(world, "services/podinfo"), "spec", "clusterIP", NULL), "None");
    assert_string_equal(ignored_of(world), "");
    world_free(world);
}

/* --- copies
 * ---------------------------------------------------------------------------------------------------
 */

/* The source of a copy loses a label and an annotation; what others gave to the copy stays. */
struct copy {
    const char *name, *patch, *source, *copy, *object;
    bool released; /* with the next promotion; otherwise at once */
};

static const struct copy copies[] = {
    {"Deployment", NULL, "deployments/podinfo", "deployments/podinfo-primary", NULL, true},
    {"DaemonSet", "{'spec':{'targetRef':{'kind':'DaemonSet'}}}", "daemonsets/podinfo",
     "daemonsets/podinfo-primary", NULL, true},
    {"ConfigMap", NULL, "configmaps/settings", "configmaps/settings-primary",
     "{'metadata':{'name':'settings'},'data':{'a':'1'}}", true},
    {"HPA",
     "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler',"
     "'name':'podinfo'}}}",
     "horizontalpodautoscalers/podinfo", "horizontalpodautoscalers/podinfo-primary",
     "{'metadata':{'name':'podinfo'},'spec':{'minReplicas':1,'maxReplicas':5}}", false},
    {"ScaledObject",
     "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','name':"
     "'podinfo'}}}",
     "scaledobjects/podinfo", "scaledobjects/podinfo-primary",
     "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':1,'maxReplicaCount':5}}", false},
};

static const char *keys_of(struct world *world, const char *key)
{
    struct json_object *metadata = json_at(world_get(world, key), "metadata", NULL);
    static const char *const maps[] = {"labels", "annotations"};
    static const char *const asked[] = {"x/kept", "x/gone", "x/once", "x/others"};
    const char *text = "";

    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k++)
            text = json_at(metadata, maps[i], asked[k], NULL)
                       ? arena_printf(world->arena, "%s%s%s", text, *text ? " " : "", asked[k] + 2)
                       : text;
    }
    return text;
}

static void test_copies_lose_what_their_source_lost(void **state)
{
    static const char *const included[] = {"x/kept", "x/gone", "x/others", NULL};

    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
        const struct copy *copy = &copies[i];
        struct world *world = world_new(copy->patch);
        bool is_config = strncmp(copy->source, "configmaps", 10) == 0;

        world->settings.include_label_prefixes = included;
        if (copy->object)
            world_put(world, copy->source, copy->object);
        if (is_config)
            world_patch(world, "deployments/podinfo",
                        "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{'name':"
                        "'settings'}}]}}}}");
        world_patch(world, copy->source,
                    "{'metadata':{'labels':{'x/kept':'1','x/gone':'1'},'annotations':{'x/kept':"
                    "'1','x/gone':'1'}}}");
        world_settle(world);
        world_initialise(world);
        world_patch(world, copy->copy,
                    "{'metadata':{'labels':{'x/others':'1'},'annotations':{'x/others':'1'}}}");
        world_patch(world, copy->source,
                    "{'metadata':{'labels':{'x/gone':null},'annotations':{'x/gone':null}}}");
        if (copy->released)
            world_push(world, "podinfo:2");
        world_run(world);
        if (strcmp(keys_of(world, copy->copy),
                   is_config ? "kept others others" : "kept others kept others") != 0)
            fail_msg("%s: %s", copy->name, keys_of(world, copy->copy));
        expect_tick(world, "again never\n");
        world_free(world);
    }
}

/* What a primary got when it was made, and does not follow, stays while the target has it. */
static void test_a_primary_keeps_what_it_was_made_with(void **state)
{
    struct world *world = world_new(NULL);

    world_patch(world, "deployments/podinfo",
                "{'metadata':{'annotations':{'x/once':'1','x/gone':'1'}}}");
    world_initialise(world);
    assert_string_equal(keys_of(world, "deployments/podinfo-primary"), "gone once");
    world_patch(world, "deployments/podinfo", "{'metadata':{'annotations':{'x/gone':null}}}");
    world_push(world, "podinfo:2");
    world_run(world);
    assert_string_equal(keys_of(world, "deployments/podinfo-primary"), "once");
    world_push(world, "podinfo:3");
    world_run(world);
    assert_string_equal(keys_of(world, "deployments/podinfo-primary"), "once");
    world_patch(world, "deployments/podinfo", "{'metadata':{'annotations':{'x/once':null}}}");
    world_push(world, "podinfo:4");
    world_run(world);
    assert_string_equal(keys_of(world, "deployments/podinfo-primary"), "");
    world_free(world);
}

/* --- an autoscaler that is no longer referred to
 * ----------------------------------------------------------------------------- */

#define KEDA_REF                                                                                   \
    "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','name':"      \
    "'podinfo'}}}"
#define HPA_REF(name)                                                                              \
    "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler',"    \
    "'name':'" name "'}}}"

static struct world *with_scalers(const char *ref)
{
    struct world *world = world_new(ref);

    world_put(world, "scaledobjects/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':2,'maxReplicaCount':5}}");
    world_put(world, "horizontalpodautoscalers/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicas':2,'maxReplicas':5}}");
    world_put(world, "horizontalpodautoscalers/other",
              "{'metadata':{'name':'other'},'spec':{'minReplicas':2,'maxReplicas':5}}");
    world_initialise(world);
    return world;
}

static const char *pause_of(struct world *world)
{
    return json_str_at(world_get(world, "scaledobjects/podinfo"), "metadata", "annotations",
                       "autoscaling.keda.sh/paused-replicas", NULL);
}

static int64_t replicas_of_primary(struct world *world)
{
    return json_int_at(world_get(world, "deployments/podinfo-primary"), 0, "spec", "replicas",
                       NULL);
}

static void test_scaledobject_is_left(void **state)
{
    struct world *world = with_scalers(KEDA_REF);
    int64_t replicas = replicas_of_primary(world);

    assert_string_equal(pause_of(world), "0");
    assert_non_null(world_get(world, "scaledobjects/podinfo-primary"));
    world_patch_canary(world, "{'spec':{'autoscalerRef':null}}");
    expect_tick(world, "delete scaledobjects test/podinfo-primary no longer referred to\n"
                       "patch scaledobjects test/podinfo {\"metadata\":{\"annotations\":{"
                       "\"autoscaling.keda.sh/paused-replicas\":null}}}\n"
                       "status\n"
                       "again now\n");
    expect_tick(world, "again never\n");
    assert_null(world_get(world, "scaledobjects/podinfo-primary"));
    assert_null(pause_of(world));
    assert_int_equal(replicas_of_primary(world), replicas);
    world_free(world);
}

/* Cut off before each of its writes: the next tick does the rest. */
static void test_leaving_is_cut_off(void **state)
{
    for (int writes = 0; writes < 3; writes++) {
        struct world *world = with_scalers(KEDA_REF);
        world_patch_canary(world, "{'spec':{'autoscalerRef':null}}");
        world->crash_at = world->effects + writes;
        world_tick(world);
        assert_true(world->crashed);
        world->crash_at = -1;
        world_run(world);
        assert_null(world_get(world, "scaledobjects/podinfo-primary"));
        assert_null(pause_of(world));
        assert_null(json_at(world->canary, "status", "acceptedSpec", "autoscalerRef", NULL));
        world_free(world);
    }
}

/* A name that comes and goes again, its making cut off before each of its writes: what was made is
 * found. */
static void test_a_name_that_comes_and_goes(void **state)
{
    for (int writes = 0; writes < 4; writes++) {
        struct world *world = with_scalers(NULL);
        world_run(world);
        world_patch_canary(world, HPA_REF("other"));
        world->crash_at = world->effects + writes;
        for (int i = 0; i < 3 && !world->crashed; i++)
            world_tick(world);
        world->crash_at = -1;
        world_patch_canary(world, "{'spec':{'autoscalerRef':null}}");
        world_run(world);
        assert_null(world_get(world, "horizontalpodautoscalers/other-primary"));
        assert_null(json_at(world->canary, "status", "acceptedSpec", "autoscalerRef", NULL));
        world_free(world);
    }
}

static void test_another_autoscaler(void **state)
{
    struct world *world = with_scalers(HPA_REF("podinfo"));

    world_patch_canary(world, HPA_REF("other"));
    world_run(world);
    assert_null(world_get(world, "horizontalpodautoscalers/podinfo-primary"));
    assert_non_null(world_get(world, "horizontalpodautoscalers/other-primary"));
    world_patch_canary(world, KEDA_REF);
    world_run(world);
    assert_null(world_get(world, "horizontalpodautoscalers/other-primary"));
    assert_non_null(world_get(world, "scaledobjects/podinfo-primary"));
    world_free(world);
}

static void test_what_others_own_is_not_left(void **state)
{
    struct world *world = with_scalers(KEDA_REF);

    world_patch(world, "scaledobjects/podinfo-primary", "{'metadata':{'ownerReferences':null}}");
    world_patch(world, "scaledobjects/podinfo",
                "{'metadata':{'annotations':{'autoscaling.keda.sh/paused-replicas':'3'}}}");
    world_patch_canary(world, "{'spec':{'autoscalerRef':null}}");
    world_run(world);
    assert_non_null(world_get(world, "scaledobjects/podinfo-primary"));
    assert_string_equal(pause_of(world), "3");
    world_free(world);
}

/* Neither a suspended Canary nor a release that waits or runs forgets what is to be left. */
static void test_leaving_waits(void **state)
{
    struct world *world = with_scalers(HPA_REF("podinfo"));

    world_patch_canary(world, "{'spec':{'suspend':true,'autoscalerRef':null}}");
    world_run(world);
    assert_non_null(world_get(world, "horizontalpodautoscalers/podinfo-primary"));
    world_patch_canary(world, "{'spec':{'suspend':false}}");
    world_run(world);
    assert_null(world_get(world, "horizontalpodautoscalers/podinfo-primary"));
    world_free(world);

    world = with_scalers(HPA_REF("podinfo"));
    world_push(world, "podinfo:2");
    for (int i = 0; i < 3; i++) {
        world_tick(world);
        world_settle(world);
        world->now_ms += 60000;
    }
    assert_string_equal(world_weights(world), "60/40");
    world_patch_canary(world, "{'spec':{'autoscalerRef':null}}");
    world_tick(world);
    assert_non_null(world_get(world, "horizontalpodautoscalers/podinfo-primary"));
    world_settle(world);
    world_run(world);
    assert_null(world_get(world, "horizontalpodautoscalers/podinfo-primary"));
    assert_string_equal(world_phase(world), "Succeeded");
    world_free(world);
}

UNIT_MAIN(cmocka_unit_test(test_revoked_cors), cmocka_unit_test(test_mirror_namespace),
          cmocka_unit_test(test_flaggers_route), cmocka_unit_test(test_apex_metadata),
          cmocka_unit_test(test_what_is_ignored_is_told_once),
          cmocka_unit_test(test_a_match_of_nothing_that_is_known),
          cmocka_unit_test(test_exact_origins), cmocka_unit_test(test_headless_services),
          cmocka_unit_test(test_copies_lose_what_their_source_lost),
          cmocka_unit_test(test_a_primary_keeps_what_it_was_made_with),
          cmocka_unit_test(test_scaledobject_is_left), cmocka_unit_test(test_leaving_is_cut_off),
          cmocka_unit_test(test_a_name_that_comes_and_goes),
          cmocka_unit_test(test_another_autoscaler),
          cmocka_unit_test(test_what_others_own_is_not_left), cmocka_unit_test(test_leaving_waits))
