/*
 * What the spec no longer says goes, and what others wrote stays (tick/applied.h): the cases. The
 * search over every field is walk_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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

    (void)state;
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

    (void)state;
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

    (void)state;
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

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_revoked_cors),
        cmocka_unit_test(test_mirror_namespace),
        cmocka_unit_test(test_flaggers_route),
        cmocka_unit_test(test_apex_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
