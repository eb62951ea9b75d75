#include <math.h>
#include <string.h>

#include "base/json.h"
#include "test/unit.h"

static struct json_object *read(struct arena *arena, const char *text)
{
    struct json_object *tree = NULL;
    assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &tree, NULL), ERR_OK);
    return tree;
}

CASE(strings_are_quoted)
{
    static const struct {
        const char *text;
        size_t len;
        const char *quoted;
    } cases[] = {
        {"", 0, "\"\""},
        {"plain / text", 12, "\"plain / text\""},
        {"\"\\\b\f\n\r\t", 7, "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
        {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\""},
        {"\xc3\xa9", 2, "\"\xc3\xa9\""},
        {"\xc3", 1, "\"\\ufffd\""},
        {"a\xff\xfe"
         "b",
         4, "\"a\\ufffd\\ufffdb\""},
    };
    struct buf out;
    buf_init(&out, 1000);
    EACH_ROW (row, cases) {
        buf_clear(&out);
        json_quote(&out, row->text, row->len);
        assert_string_equal(out.data, row->quoted);
    }
    buf_fini(&out);
}

CASE(order_is_the_trees_or_sorted)
{
    struct json_object *o =
        read(arena,
             "{\"b\":1,\"a\":{\"z\":[{\"y\":1,\"x\":2}],\"\":0},\"B\":2,\"aa\":3,\"\xc3\xa9\":4}");
    assert_string_equal(
        json_text(arena, o),
        "{\"b\":1,\"a\":{\"z\":[{\"y\":1,\"x\":2}],\"\":0},\"B\":2,\"aa\":3,\"\xc3\xa9\":4}");
    assert_string_equal(
        json_text_sorted(arena, o),
        "{\"B\":2,\"a\":{\"\":0,\"z\":[{\"x\":2,\"y\":1}]},\"aa\":3,\"b\":1,\"\xc3\xa9\":4}");
    assert_string_equal(json_text(arena, NULL), "null");
}

CASE(equal_trees_give_equal_sorted_text)
{
    static const char *const pairs[][2] = {
        {"{\"a\":1.0,\"b\":1e2}", "{\"b\":100,\"a\":1}"},
        {"[2.50,-0,1E1]", "[2.5,0,10.0]"},
        {"\"\\u0061\\/\"", "\"a/\""},
    };
    EACH_ROW (row, pairs) {
        struct json_object *a = read(arena, (*row)[0]), *b = read(arena, (*row)[1]);
        assert_true(json_same(a, b));
        assert_string_equal(json_text_sorted(arena, a), json_text_sorted(arena, b));
    }
}

CASE(reals_of_our_own_are_short)
{
    static const struct {
        double real;
        const char *text;
    } cases[] = {{0.1, "0.1"},  {99.5, "99.5"},     {3, "3"},
                 {NAN, "null"}, {INFINITY, "null"}, {-1e300, "-1e+300"}};
    EACH_ROW (row, cases)
        assert_string_equal(json_text(arena, json_own(arena, json_object_new_double(row->real))),
                            row->text);
}

CASE(bad_utf8_in_a_tree_is_replaced)
{
    struct json_object *o = json_own(arena, json_object_new_object());
    json_set_str(o, "k\xff", "v\xc3");
    assert_string_equal(json_text(arena, o), "{\"k\\ufffd\":\"v\\ufffd\"}");
}
