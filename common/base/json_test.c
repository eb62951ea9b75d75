#include "base/json.h"
#include "test/unit.h"

#include <string.h>

static struct json_object *read(struct arena *arena, const char *text)
{
    struct json_object *tree = NULL;
    assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &tree, NULL), ERR_OK);
    return tree;
}

CASE(trees_are_walked)
{
    struct json_object *o =
        read(arena, "{\"s\":{\"t\":\"x\",\"n\":null},\"i\":7,\"r\":2.5,\"w\":3.0,\"b\":true,"
                    "\"z\":\"a\\u0000b\",\"u\":18446744073709551615,\"h\":1e30}");
    assert_string_equal(json_str_at(o, "s", "t", NULL), "x");
    assert_null(json_str_at(o, "s", "n", NULL));
    assert_null(json_str_at(o, "s", "t", "deeper", NULL));
    assert_null(json_str_at(o, "i", NULL));
    assert_null(json_str_at(o, "z", NULL)); /* would be cut at its NUL */
    assert_null(json_str_at(NULL, "s", NULL));
    assert_ptr_equal(json_at(o, NULL), o);
    assert_null(json_at(o, "s", "n", NULL));
    assert_null(json_at(o, "none", "t", NULL));
    assert_int_equal(json_int_at(o, -1, "i", NULL), 7);
    assert_int_equal(json_int_at(o, -1, "w", NULL), 3);
    assert_int_equal(json_int_at(o, -1, "r", NULL), -1);
    assert_int_equal(json_int_at(o, -1, "u", NULL), -1);
    assert_int_equal(json_int_at(o, -1, "h", NULL), -1);
    assert_int_equal(json_int_at(o, -1, "s", NULL), -1);
    assert_int_equal(json_int_at(NULL, -1, "i", NULL), -1);
    assert_true(json_bool_at(o, false, "b", NULL));
    assert_true(json_bool_at(o, true, "i", NULL));
    assert_false(json_bool_at(o, false, "none", NULL));
}

CASE(arrays_are_bounded)
{
    struct json_object *o = read(arena, "[1,null,3]");
    assert_int_equal(json_len(o), 3);
    assert_int_equal(json_len(NULL), 0);
    assert_int_equal(json_len(json_elem(o, 0)), 0);
    assert_null(json_elem(o, 1));
    assert_null(json_elem(o, 3));
    assert_null(json_elem(NULL, 0));
}

CASE(whole_numbers_are_told)
{
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-0", true, 0},
        {"1.0", true, 1},
        {"1e3", true, 1000},
        {"1.5", false, 0},
        {"1e19", false, 0},
        {"-9223372036854775809", true, INT64_MIN}, /* the nearest double is -2^63 */
        {"\"1\"", false, 0},
        {"null", false, 0},
        {"true", false, 0},
    };
    EACH_ROW (row, cases) {
        int64_t value = 0;
        assert_int_equal(json_to_int(read(arena, row->text), &value), row->whole);
        if (row->whole)
            assert_int_equal(value, row->value);
    }
}

CASE(equality_is_deep)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"null", "null", true},
        {"null", "0", false},
        {"1", "1.0", true},
        {"1", "1.5", false},
        {"18446744073709551615", "-1", false},
        {"18446744073709551615", "18446744073709551615", true},
        {"18446744073709551615", "9223372036854775807", false},
        {"true", "true", true},
        {"true", "1", false},
        {"\"a\"", "\"a\"", true},
        {"\"a\\u0000b\"", "\"a\\u0000c\"", false},
        {"\"1\"", "1", false},
        {"[1,2]", "[1,2]", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"{\"a\":1,\"b\":[null]}", "{\"b\":[null],\"a\":1}", true},
        {"{\"a\":null}", "{}", false},
        {"{\"a\":null}", "{\"b\":null}", false},
        {"{}", "[]", false},
    };
    EACH_ROW (row, cases) {
        struct json_object *a = read(arena, row->a), *b = read(arena, row->b);
        assert_int_equal(json_same(a, b), row->same);
        assert_int_equal(json_same(b, a), row->same);
        assert_true(json_same(a, a));
    }
}

CASE(copies_are_apart)
{
    struct json_object *o = read(arena, "{\"a\":{\"b\":[1.50,\"x\\u0000y\",null]}}");
    struct json_object *copy = json_copy(arena, o);
    assert_string_equal(json_text(arena, copy), "{\"a\":{\"b\":[1.50,\"x\\u0000y\",null]}}");
    json_set_int(json_sub(copy, "a"), "b", 5);
    assert_string_equal(json_text(arena, o), "{\"a\":{\"b\":[1.50,\"x\\u0000y\",null]}}");
    assert_null(json_copy(arena, NULL));
    assert_null(json_own(arena, NULL));
}

CASE(setters_set)
{
    struct json_object *o = json_own(arena, json_object_new_object());
    struct json_object *value = json_own(arena, json_object_new_string("v"));
    json_set(o, "v", value);
    json_set(o, "v", value); /* replacing a value by itself */
    json_set(o, "null", NULL);
    json_set_str(o, "s", "text");
    json_set_str(o, "unset", NULL);
    json_set_int(o, "i", INT64_MIN);
    json_set_bool(o, "b", true);
    json_set_int(json_sub(json_sub(o, "sub"), "sub"), "n", 1);
    json_set_int(json_sub(o, "s"), "n", 2); /* what was no object becomes one */
    assert_string_equal(
        json_text(arena, o),
        "{\"v\":\"v\",\"null\":null,\"s\":{\"n\":2},\"i\":-9223372036854775808,\"b\":true,"
        "\"sub\":{\"sub\":{\"n\":1}}}");
    assert_string_equal(json_object_get_string(value), "v");
}

/* Input may have any shape; json-c itself ends the process at these. */
CASE(what_is_no_object_takes_no_field)
{
    static const char *const texts[] = {"null", "7", "\"a\"", "[{}]", "true"};

    EACH_ROW (text, texts) {
        struct json_object *o = read(arena, *text);
        json_set(o, "k", read(arena, "{}"));
        json_set_str(o, "k", "v");
        json_set_int(o, "k", 1);
        json_set_bool(json_sub(o, "k"), "k", true);
        json_del(o, "k");
        assert_null(json_sub(o, "k"));
        assert_int_equal(json_count(o), 0);
        assert_string_equal(json_text(arena, o), *text);
    }
    struct json_object *o = read(arena, "{\"a\":1,\"b\":2}");
    json_del(o, "a");
    json_del(o, "none");
    assert_int_equal(json_count(o), 1);
}

CASE(a_reference_outlives_the_arena)
{
    struct json_object *o = json_object_get(read(arena, "{\"a\":\"kept\"}"));
    arena_reset(arena);
    assert_string_equal(json_str_at(o, "a", NULL), "kept");
    assert_int_equal(json_object_put(o), 1); /* it was the last one */
}
