
#include <string.h>

#include "cluster/routefilter.h"
#include "test/unit.h"

static void names(void **state)
{
    static const struct {
        const char *name;
        bool ok;
    } cases[] = {{"x-canary", true}, {"Set-Cookie", true}, {"a_b.c~1", true}, {"", false},
                 {NULL, false},      {"a b", false},       {"a)", false},     {"a\n", false},
                 {"a,b", false},     {"a'", false},        {"%[x]", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(routefilter_name_ok(cases[i].name), cases[i].ok);
    static char longest[ROUTE_MAX_TEXT + 2];
    memset(longest, 'x', ROUTE_MAX_TEXT);
    assert_true(routefilter_text_ok(longest));
    longest[ROUTE_MAX_TEXT] = 'x';
    assert_false(routefilter_text_ok(longest));
    assert_false(routefilter_text_ok("a\tb"));
    assert_true(routefilter_text_ok("ü \"%\" $"));
}

static enum err count_mirror(void *arg, struct json_object *mirror, const char *path,
                             struct errinfo *ei)
{
    (void)mirror;
    (void)ei;
    assert_string_equal(path, "f[0]");
    ++*(int *)arg;
    return ERR_OK;
}

static enum err read(struct arena *arena, const char *text, bool rule, int *mirrors,
                     struct route_filters *out, struct errinfo *ei)
{
    const struct routefilter_in in = {.filters = json_own(arena, json_tokener_parse(text)),
                                      .path = "f",
                                      .add_mirror = rule ? count_mirror : NULL,
                                      .arg = mirrors};
    *out = (struct route_filters){0};
    assert_non_null(in.filters);
    return routefilter_read(arena, &in, out, ei);
}

static void filters(void **state)
{
    struct arena *arena = arena_new();
    struct route_filters out;
    struct errinfo ei = {0};
    int mirrors = 0;
    /* Two modifiers add up; what is removed goes first, so that set and add stay. */
    assert_int_equal(read(arena,
                          "[{'type':'RequestHeaderModifier','requestHeaderModifier':{'add':[{'name'"
                          ":'a','value':'1'}],'remove':['b']}},{'type':'RequestHeaderModifier','"
                          "requestHeaderModifier':{'set':[{'name':'c','value':''}]}}]",
                          true, &mirrors, &out, &ei),
                     ERR_OK);
    assert_int_equal(out.request_count, 3);
    assert_int_equal(out.request[0].op, ROUTE_REMOVE);
    assert_int_equal(out.request[1].op, ROUTE_ADD);
    assert_int_equal(out.request[2].op, ROUTE_SET);
    assert_int_equal(read(arena, "[{'type':'RequestMirror'}]", true, &mirrors, &out, &ei), ERR_OK);
    assert_int_equal(mirrors, 1);
    assert_int_equal(read(arena, "[{'type':'RequestMirror'}]", false, &mirrors, &out, &ei),
                     ERR_INVALID);
    assert_non_null(strstr(ei.text, "on backends"));
    assert_int_equal(read(arena, "[{}]", true, &mirrors, &out, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "f[0].type is missing");
    assert_int_equal(read(arena, "[{'type':'URLRewrite','urlRewrite':{'hostname':'a b'}}]", true,
                          &mirrors, &out, &ei),
                     ERR_INVALID);
    arena_free(arena);
}

UNIT_MAIN(cmocka_unit_test(names), cmocka_unit_test(filters))
