#include "base/clock.h"
#include "object/table.h"
#include "object/try.h"

static void test_age(void **state)
{
    enum { S = 1000, M = 60 * S, H = 60 * M };
    static const int64_t D = 24LL * H;
    const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {-2 * S, "<invalid>"},
        {-S, "0s"},
        {0, "0s"},
        {119 * S, "119s"},
        {2 * M, "2m"},
        {2 * M + 5 * S, "2m5s"},
        {10 * M + S, "10m"},
        {179 * M, "179m"},
        {3 * H + 12 * M, "3h12m"},
        {4 * H, "4h"},
        {8 * H + M, "8h"},
        {47 * H, "47h"},
        {2 * D, "2d"},
        {2 * D + 4 * H, "2d4h"},
        {8 * D + H, "8d"},
        {729 * D, "729d"},
        {730 * D, "2y"},
        {3 * 365 * D + 27 * D, "3y27d"},
        {9 * 365 * D, "9y"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        char text[TABLE_AGE];
        assert_string_equal(table_age(cases[i].ms, text), cases[i].text);
    }
}

static void test_custom(void **state)
{
    static const struct {
        const char *type, *path, *obj, *cell;
    } cases[] = {
        {"string", ".s", "{'s':'x'}", "\"x\""},
        {"string", ".s", "{'s':3}", "\"3\""},
        {"string", ".s", "{'s':['a','b']}", "\"[\\\"a\\\",\\\"b\\\"]\""},
        {"string", ".s", "{'s':null}", "null"},
        {"string", ".s", "{}", "null"},
        {"string", ".c[?(@.type==\"Ready\")].status",
         "{'c':[{'type':'A'},{'type':'Ready','status':'True'}]}", "\"True\""},
        {"string", ".l[*]", "{'l':['a','b']}", "\"a\""},
        {"integer", ".s", "{'s':3}", "3"},
        {"integer", ".s", "{'s':3.7}", "3"},
        {"integer", ".s", "{'s':'3'}", "null"},
        {"number", ".s", "{'s':3.5}", "3.5"},
        {"boolean", ".s", "{'s':true}", "true"},
        {"boolean", ".s", "{'s':'true'}", "null"},
        {"date", ".s", "{'s':'2026-01-01T00:00:00Z'}", "\"5m\""},
        {"date", ".s", "{'s':'soon'}", "\"<invalid>\""},
        {"date", ".s", "{'s':''}", "\"<unknown>\""},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        const struct table_column columns[] = {
            {.name = "C", .type = cases[i].type, .path = cases[i].path}, {0}};
        struct table_request request = {.include = TABLE_NONE};
        assert_int_equal(clock_parse("2026-01-01T00:05:00Z", &request.now_ms, NULL), ERR_OK);
        struct json_object *items = try_json(arena, arena_printf(arena, "[%s]", cases[i].obj));
        struct json_object *out = table_render(arena, columns, &request, items, NULL);
        struct json_object *cells =
            json_at(json_elem(json_at(out, "rows", NULL), 0), "cells", NULL);
        assert_int_equal(json_len(cells), 2);
        assert_string_equal(json_text(arena, json_elem(cells, 1)), cases[i].cell);
    }
}

static void test_table(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct table_request request = {.version = "v1beta1"};
    struct json_object *items =
        try_json(arena, "[{'kind':'K','metadata':{'name':'a','namespace':'n'},'spec':{}}]");
    struct json_object *list = try_json(arena, "{'resourceVersion':'7','continue':'c','name':'x'}");
    const struct table_column *columns = table_columns(
        arena, try_json(arena, "[{'name':'W','type':'integer','jsonPath':'.w','priority':1}]"));
    try_same(
        arena, table_render(arena, columns, &request, items, list),
        "{'kind':'Table','apiVersion':'meta.k8s.io/v1beta1','metadata':{'resourceVersion':'7','"
        "continue':'c'},'columnDefinitions':[{'name':'Name','type':'string','format':'name','"
        "description':'','priority':0},{'name':'W','type':'integer','format':'','description':'','"
        "priority':1}],'rows':[{'cells':['a',null],'object':{'kind':'PartialObjectMetadata','"
        "apiVersion':'meta.k8s.io/v1','metadata':{'name':'a','namespace':'n'}}}]}");
    request = (struct table_request){.include = TABLE_OBJECT, .no_definitions = true};
    columns = table_columns(arena, NULL);
    struct json_object *out = table_render(arena, columns, &request, items, NULL);
    assert_null(json_at(out, "columnDefinitions", NULL));
    assert_string_equal(json_str_at(out, "apiVersion", NULL), "meta.k8s.io/v1");
    assert_ptr_equal(json_at(json_elem(json_at(out, "rows", NULL), 0), "object", NULL),
                     json_elem(items, 0));
    assert_int_equal(table_include_of(NULL), TABLE_METADATA);
    assert_int_equal(table_include_of("Object"), TABLE_OBJECT);
    assert_int_equal(table_include_of("None"), TABLE_NONE);
}

UNIT_MAIN(cmocka_unit_test(test_age), cmocka_unit_test(test_custom), cmocka_unit_test(test_table))
