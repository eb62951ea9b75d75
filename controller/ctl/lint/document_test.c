#include "ctl/lint/document.h"

#include "test/unit.h"

CASE(sentences_begin_with_places)
{
    static const struct {
        const char *sentence, *place, *rest;
    } cases[] = {
        {"spec.port: expected", "spec.port", "expected"},
        {"spec: required", "spec", "required"},
        {"spec.metrics[12].name: a: b", "spec.metrics[12].name", "a: b"},
        {"spec.steps[0][1]: x", "spec.steps[0][1]", "x"},
        {"spec.labels[\"a.b/c\"].d: x", "spec.labels[\"a.b/c\"].d", "x"},
        {"spec.labels[\"\\\"\"]: x", "spec.labels[\"\\\"\"]", "x"},
        {"expected a Canary object", NULL, NULL},
        {"Deployment a.b spec.selector: x", NULL, NULL},
        {"--mesh-provider: x", NULL, NULL},
        {"spec.a:x", NULL, NULL},
        {"spec..a: x", NULL, NULL},
        {"spec.a[: x", NULL, NULL},
        {"spec.a[\"b: x", NULL, NULL},
        {"spec.a[1: x", NULL, NULL},
        {"[0]: x", NULL, NULL},
        {": x", NULL, NULL},
        {"", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_path place;
        const char *rest = NULL;
        bool is = json_path_parse(arena, cases[i].sentence, &place, &rest);
        assert_int_equal(is, cases[i].place != NULL);
        if (!is)
            continue;
        assert_string_equal(json_path_text(arena, &place), cases[i].place);
        assert_string_equal(rest, cases[i].rest);
    }
}

static struct json_path read(struct arena *arena, const char *text)
{
    struct json_path place = {0};
    const char *rest;

    if (*text)
        assert_true(json_path_parse(arena, arena_printf(arena, "%s: x", text), &place, &rest));
    return place;
}

CASE(places_are_near_or_apart)
{
    static const struct {
        const char *one, *other;
        bool near, above;
    } cases[] = {
        {"spec.a", "spec.a", true, true},       {"spec.a", "spec.a.b", true, true},
        {"spec.a.b", "spec.a", true, false},    {"spec.a[0]", "spec.a[1]", false, false},
        {"spec.a", "spec.ab", false, false},    {"spec.a[0].b", "spec.a[0].c", false, false},
        {"spec.a[0]", "spec.a.b", false, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_path one = read(arena, cases[i].one), other = read(arena, cases[i].other);
        struct json_paths set = {0};
        json_paths_add(arena, &set, &one);
        assert_int_equal(json_paths_have_near(&set, &other), cases[i].near);
        assert_int_equal(json_paths_have_above(&set, &other), cases[i].above);
        assert_true(json_paths_have(&set, &one));
    }
}

CASE(a_place_leads_to_a_value)
{
    struct json_object *tree;
    struct errinfo ei;
    static const char text[] = "{\"a\":[{\"b\":1},2],\"c.d\":3}";

    assert_int_equal(json_parse(arena, text, sizeof(text) - 1, 100, &tree, &ei), ERR_OK);
    struct json_path place = read(arena, "a[0].b");
    assert_int_equal(json_object_get_int(json_path_get(&place, tree)), 1);
    place = read(arena, "a[2]");
    assert_null(json_path_get(&place, tree));
    place = read(arena, "a.b");
    assert_null(json_path_get(&place, tree));
    place = json_path_in(&(struct json_path){0}, "c.d", 0);
    assert_int_equal(json_object_get_int(json_path_get(&place, tree)), 3);
    place = json_path_above(&place);
    assert_ptr_equal(json_path_get(&place, tree), tree);
    assert_int_equal(json_path_above(&place).depth, 0);
}
