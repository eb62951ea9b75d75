#include "object/schema_tree.h"
#include "object/try.h"

static void test_formats(void **state)
{
    static const struct {
        const char *format, *yes, *no;
    } cases[] = {
        {"date-time", "2026-11-20T19:15:10Z", "2026-11-20"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        enum schema_format format = schema_format_named(cases[i].format);
        assert_int_not_equal(format, SCHEMA_FORMAT_NONE);
        assert_true(schema_format_ok(format, cases[i].yes));
        assert_false(schema_format_ok(format, cases[i].no));
    }
    assert_int_equal(schema_format_named("int64"), SCHEMA_FORMAT_NONE);
    assert_true(schema_format_ok(SCHEMA_FORMAT_NONE, "anything"));
}

static void test_places(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct schema_place root = {0};
    struct schema_place spec = {.up = &root, .key = "spec"};
    struct schema_place list = {.up = &spec, .key = "list"};
    struct schema_place item = {.up = &list, .index = 2};
    struct schema_place name = {.up = &item, .key = "name"};
    assert_string_equal(schema_place_text(arena, &root), "");
    assert_string_equal(schema_place_text(arena, &name), "spec.list[2].name");
}

UNIT_MAIN(cmocka_unit_test(test_formats), cmocka_unit_test(test_places))
