
#include <string.h>

#include "cluster/meta.h"
#include "cluster/routestatus.h"
#include "test/unit.h"

static struct json_object *parse(struct arena *arena, const char *text)
{
    struct json_object *obj = json_own(arena, json_tokener_parse(text));
    assert_non_null(obj);
    return obj;
}

static struct json_object *condition(struct json_object *status, size_t parent, const char *type)
{
    return meta_condition(
        json_at(json_elem(json_at(status, "parents", NULL), parent), "conditions", NULL), type);
}

static void routes(void **state)
{
    struct arena *arena = arena_new();
    struct route_result result = {.ns = "test",
                                  .name = "web",
                                  .generation = 4,
                                  .parents = parse(arena, "[{'name':'a'},{'name':'b'}]")};
    struct json_object *first = routestatus_route(arena, &result, NULL, "T1");
    assert_int_equal(json_len(json_at(first, "parents", NULL)), 2);
    assert_string_equal(json_str_at(condition(first, 1, "Accepted"), "status", NULL), "True");
    assert_int_equal(json_int_at(condition(first, 1, "Accepted"), 0, "observedGeneration", NULL),
                     4);
    result.generation = 5;
    result.refused = "spec.rules[0]: no";
    result.unresolved = "no Service";
    struct json_object *second = routestatus_route(arena, &result, first, "T2");
    assert_string_equal(json_str_at(condition(second, 0, "Accepted"), "status", NULL), "False");
    assert_string_equal(json_str_at(condition(second, 0, "Accepted"), "message", NULL),
                        result.refused);
    assert_string_equal(json_str_at(condition(second, 0, "Accepted"), "lastTransitionTime", NULL),
                        "T2");
    assert_string_equal(json_str_at(condition(second, 0, "ResolvedRefs"), "reason", NULL),
                        "BackendNotFound");
    struct json_object *third = routestatus_route(arena, &result, second, "T3");
    assert_true(json_same(second, third)); /* times move with the status only */
    arena_free(arena);
}

static void gateways(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *gateway = parse(arena, "{'metadata':{'generation':2}}");
    struct json_object *status = routestatus_gateway(arena, gateway, "127.96.0.1", "T1");
    assert_true(meta_condition_true(json_at(status, "conditions", NULL), "Programmed"));
    assert_string_equal(
        json_str_at(json_elem(json_at(status, "addresses", NULL), 0), "value", NULL), "127.96.0.1");
    arena_free(arena);
}

UNIT_MAIN(cmocka_unit_test(routes), cmocka_unit_test(gateways))
