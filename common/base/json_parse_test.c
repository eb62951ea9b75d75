#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "test/unit.h"

static enum err parse(struct arena *arena, const char *text, struct json_object **out,
                      struct errinfo *ei)
{
    return json_parse(arena, text, strlen(text), JSON_MAX_BYTES, out, ei);
}

CASE(what_is_json_is_read)
{
    static const struct {
        const char *text, *back;
    } cases[] = {
        {"null", "null"},
        {" true ", "true"},
        {"false", "false"},
        {"\t\r\n 0\n", "0"},
        {"-0", "-0"},
        {"-1", "-1"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775808", "9223372036854775808"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "18446744073709551616"},
        {"-9223372036854775809", "-9223372036854775809"},
        {"1.0", "1.0"},
        {"1.50", "1.50"},
        {"1e3", "1e3"},
        {"1E-3", "1E-3"},
        {"1e+3", "1e+3"},
        {"0.1e1", "0.1e1"},
        {"\"\"", "\"\""},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "\"a\\\"\\\\/\\b\\f\\n\\r\\tz\""},
        {"\"\\u00e9\\u20AC\\ud83d\\ude00\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\"\\ud800\\ud83d\\ude00\"", "\"\xef\xbf\xbd\xf0\x9f\x98\x80\""}, /* a lone surrogate */
        {"\"\\udc00x\\ud800\\n\"", "\"\xef\xbf\xbdx\xef\xbf\xbd\\n\""},
        {"\"\\u0000\"", "\"\\u0000\""},
        {"\"\x7f\xc3\xa9\"", "\"\x7f\xc3\xa9\""},
        {"[]", "[]"},
        {"[ ]", "[]"},
        {"[1,[2,[]],{}]", "[1,[2,[]],{}]"},
        {"{ }", "{}"},
        {" { \"b\" : 1 , \"a\" : [ null , { \"\" : \"\" } ] } ",
         "{\"b\":1,\"a\":[null,{\"\":\"\"}]}"},
        {"{\"\\u0061\":1,\"A\":2}", "{\"a\":1,\"A\":2}"},
    };
    EACH_ROW (row, cases) {
        struct json_object *tree = NULL;
        struct errinfo ei = {0};
        assert_int_equal(parse(arena, row->text, &tree, &ei), ERR_OK);
        assert_string_equal(json_text(arena, tree), row->back);
    }
}

CASE(all_else_is_refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "line 1, column 1: expected a JSON value, found the end of the text"},
        {" \n ", "line 2, column 2: expected a JSON value, found the end of the text"},
        {"nul", "line 1, column 1: expected a JSON value, found 'n'"},
        {"True", "line 1, column 1: expected a JSON value, found 'T'"},
        {"NaN", "line 1, column 1: expected a JSON value, found 'N'"},
        {"-Infinity", "line 1, column 2: expected a digit, found 'I'"},
        {"+1", "line 1, column 1: expected a JSON value, found '+'"},
        {"-", "line 1, column 2: expected a digit, found the end of the text"},
        {"01", "line 1, column 2: expected no digit after a leading zero, found '1'"},
        {".5", "line 1, column 1: expected a JSON value, found '.'"},
        {"1.",
         "line 1, column 3: expected a digit after the decimal point, found the end of the text"},
        {"1.e3", "line 1, column 3: expected a digit after the decimal point, found 'e'"},
        {"1e", "line 1, column 3: expected a digit in the exponent, found the end of the text"},
        {"1e400", "line 1, column 1: the number is too large"},
        {"0x10", "line 1, column 2: expected nothing after the value, found 'x'"},
        {"1 2", "line 1, column 3: expected nothing after the value, found '2'"},
        {"{} // no", "line 1, column 4: expected nothing after the value, found '/'"},
        {"/* no */ 1", "line 1, column 1: expected a JSON value, found '/'"},
        {"'a'", "line 1, column 1: expected a JSON value, found '''"},
        {"\"a", "line 1, column 3: expected a closing quote, found the end of the text"},
        {"\"a\\", "line 1, column 4: expected an escape character, found the end of the text"},
        {"\"\\x\"", "line 1, column 3: expected one of \"\\/bfnrtu after a backslash, found 'x'"},
        {"\"\\u12g4\"", "line 1, column 4: expected four hexadecimal digits after \\u, found '1'"},
        {"\"a\nb\"",
         "line 1, column 3: expected an escape for a control character, found the byte 0x0a"},
        {"\"\xff\"", "line 1, column 2: expected valid UTF-8, found the byte 0xff"},
        {"\"\xc0\x80\"", "line 1, column 2: expected valid UTF-8, found the byte 0xc0"},
        {"\"\xed\xa0\x80\"", "line 1, column 2: expected valid UTF-8, found the byte 0xed"},
        {"\"\\n\xff\"", "line 1, column 4: expected valid UTF-8, found the byte 0xff"},
        {"\xef\xbb\xbf{}", "line 1, column 1: expected a JSON value, found '\xef\xbb\xbf'"},
        {"[1,]", "line 1, column 4: expected a JSON value, found ']'"},
        {"[1 2]", "line 1, column 4: expected ',' or ']' after an array element, found '2'"},
        {"[", "line 1, column 2: expected a JSON value, found the end of the text"},
        {"]", "line 1, column 1: expected a JSON value, found ']'"},
        {"{a:1}", "line 1, column 2: expected a key in double quotes, found 'a'"},
        {"{'a':1}", "line 1, column 2: expected a key in double quotes, found '''"},
        {"{\"a\" 1}", "line 1, column 6: expected ':' after a key, found '1'"},
        {"{\"a\":1,}", "line 1, column 8: expected a key in double quotes, found '}'"},
        {"{\"a\":1 \"b\":2}", "line 1, column 8: expected ',' or '}' after a value, found '\"'"},
        {"{\"a\":1,\n \"\\u0061\":2}", "line 2, column 2: duplicate key \"a\""},
        {"{\"a\\u0000\":1}", "line 1, column 2: a key must not contain U+0000"},
        {"[\"\xc3\xa9\xc3\xa9\", x]", "line 1, column 8: expected a JSON value, found 'x'"},
        {"{\"a\":[{\"b\":}]}", "line 1, column 12: expected a JSON value, found '}'"},
    };
    EACH_ROW (row, cases) {
        struct json_object *tree = NULL;
        struct errinfo ei = {0};
        assert_int_equal(parse(arena, row->text, &tree, &ei), ERR_INVALID);
        assert_string_equal(ei.text, row->error);
        assert_null(tree);
        assert_int_equal(parse(arena, row->text, &tree, NULL), ERR_INVALID);
    }
}

CASE(the_length_counts_not_the_nul)
{
    struct json_object *tree;
    struct errinfo ei;
    assert_int_equal(json_parse(arena, "[1]garbage", 3, 3, &tree, &ei), ERR_OK);
    assert_int_equal(json_parse(arena, "12345", 2, 3, &tree, &ei), ERR_OK);
    assert_int_equal(json_object_get_int64(tree), 12);
    assert_int_equal(json_parse(arena, "truest", 3, 9, &tree, &ei), ERR_INVALID);
    assert_int_equal(json_parse(arena, "1\0", 2, 9, &tree, &ei), ERR_INVALID);
    assert_string_equal(ei.text,
                        "line 1, column 2: expected nothing after the value, found the byte 0x00");
    /* An exact copy without NUL, so that the sanitizer detects reads beyond it. */
    static const char *const cut[] = {"\"abc", "\"\\u12", "[1,",        "{\"a\"",
                                      "-",     "1e+",     "\"\xe2\x82", "fals"};
    EACH_ROW (row, cut) {
        size_t len = strlen(*row);
        char *tight = memcpy(heap_alloc(len), *row, len);
        assert_int_equal(json_parse(arena, tight, len, len, &tree, &ei), ERR_INVALID);
        free(tight);
    }
}

CASE(bounds_hold)
{
    struct json_object *tree;
    struct errinfo ei;
    assert_int_equal(json_parse(arena, "[1,2]", 5, 4, &tree, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "5 bytes of JSON are more than the limit of 4");

    char deep[2 * JSON_MAX_DEPTH + 3];
    memset(deep, '[', JSON_MAX_DEPTH);
    memset(deep + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    assert_int_equal(json_parse(arena, deep, 2 * JSON_MAX_DEPTH, sizeof(deep), &tree, &ei), ERR_OK);
    memset(deep, '[', JSON_MAX_DEPTH + 1);
    memset(deep + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
    assert_int_equal(json_parse(arena, deep, 2 * JSON_MAX_DEPTH + 2, sizeof(deep), &tree, &ei),
                     ERR_INVALID);
    assert_string_equal(ei.text, "line 1, column 65: nested more than 64 levels deep");
}

CASE(million_brackets)
{
    struct json_object *tree;
    char *text = arena_alloc(arena, 1000000);
    memset(text, '[', 1000000);
    assert_int_equal(json_parse(arena, text, 1000000, JSON_MAX_BYTES, &tree, NULL), ERR_INVALID);
}

/* Every truncated or changed text is either parsed or rejected, without a leak or a bad access. */
CASE(damaged_text_does_no_harm)
{
    static const char text[] =
        "{\"a\":[1,-2.5e3,\"x\\u00e9\\ud83d\\ude00\xe2\x82\xac\"],\"b\":{\"c\":null,\"d\":true}}";
    char copy[sizeof(text)];
    for (size_t at = 0; at < sizeof(text) - 1; at++) {
        struct json_object *tree;
        assert_int_equal(json_parse(arena, text, at, sizeof(text), &tree, NULL), ERR_INVALID);
        for (int byte = 0; byte < 256; byte++) {
            memcpy(copy, text, sizeof(text));
            copy[at] = (char)byte;
            if (json_parse(arena, copy, sizeof(text) - 1, sizeof(text), &tree, NULL) == ERR_OK)
                assert_non_null(json_text(arena, tree));
        }
        arena_reset(arena);
    }
}

CASE(numbers_keep_their_value)
{
    struct json_object *tree;
    assert_int_equal(parse(arena, "[0.1,-2.5E-3,18446744073709551615,-0]", &tree, NULL), ERR_OK);
    assert_true(json_object_get_double(json_elem(tree, 0)) == 0.1);
    assert_true(json_object_get_double(json_elem(tree, 1)) == -0.0025);
    assert_true(json_object_get_uint64(json_elem(tree, 2)) == UINT64_MAX);
    assert_true(signbit(json_object_get_double(json_elem(tree, 3))));
}

/* A list that contains the piece `n` times, with commas. */
static char *list_of(const char *piece, size_t n)
{
    size_t len = strlen(piece);
    char *text = malloc(n * (len + 1) + 3), *at = text;

    *at++ = '[';
    for (size_t i = 0; i < n; i++) {
        memcpy(at, piece, len);
        at += len;
        *at++ = ',';
    }
    at[-1] = ']';
    *at = '\0';
    return text;
}

/* Bytes of the heap in use. */
static long in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return (long)(info.uordblks + info.hblkhd);
}

/* A tree never takes more memory than its share; if it would, it is freed. */
CASE(test_trees_are_bounded)
{
    enum { MAX = 64 * 1024, TREE = MAX * JSON_TREE_SHARE };
    static const char *const pieces[] = {"{}",       "[]",   "1",        "1.5",      "\"\"",
                                         "\"abcd\"", "true", "{\"\":1}", "[[[[]]]]", "{\"a\":{}}",
                                         "[1,2]",    "1e9",  "\"\\n\""};
    struct errinfo ei;

    if (in_use() == 0)
        skip(); /* a sanitizer's heap is not measured */
    EACH_ROW (row, pieces) {
        struct json_object *tree;
        char *text = list_of(*row, MAX / (strlen(*row) + 1) - 1);
        long before = in_use();
        enum err err = json_parse(arena, text, strlen(text), MAX, &tree, &ei);
        long taken = in_use() - before;
        if (taken > TREE + TREE / 8)
            fail_msg("%s: %ld bytes", *row, taken);
        if (err != ERR_OK) {
            assert_non_null(
                strstr(ei.text, "the value takes more than the limit of 2097152 bytes"));
            assert_true(taken < 8 * 1024);
        }
        free(text);
    }
}

CASE(test_objects_with_many_members)
{
    enum { MAX = 64 * 1024 };
    struct buf text;
    struct json_object *tree;
    struct errinfo ei;

    buf_init(&text, MAX);
    buf_puts(&text, "{");
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "%s\"%x\":0", i ? "," : "", (unsigned)i);
    buf_puts(&text, "}");
    assert_false(text.truncated);
    long before = in_use();
    (void)!json_parse(arena, text.data, text.len, MAX, &tree, &ei);
    assert_true(in_use() - before <= MAX * JSON_TREE_SHARE * 9 / 8);
    buf_fini(&text);
}

/* Ordinary texts fit: a large Deployment, with its own length as the limit. */
CASE(test_usual_trees_fit)
{
    static const char container[] =
        "{\"name\":\"podinfod\",\"image\":\"ghcr.io/stefanprodan/"
        "podinfo:6.0.0\",\"ports\":[{\"name\":"
        "\"http\",\"containerPort\":9898,\"protocol\":\"TCP\"}],\"command\":[\"./"
        "podinfo\",\"--port="
        "9898\",\"--level=info\"],\"env\":[{\"name\":\"PODINFO_UI_COLOR\",\"value\":\"#34577c\"}],"
        "\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"512Mi\"},\"requests\":{\"cpu\":"
        "\"100m\","
        "\"memory\":\"64Mi\"}}}";
    struct json_object *tree;
    struct errinfo ei = {0};
    char *text = list_of(container, 1000);

    if (json_parse(arena, text, strlen(text), strlen(text), &tree, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    free(text);
}

/* A text that is too large is rejected and its size reported, and its outline can be read. */
CASE(test_outlines)
{
    static const struct {
        const char *text, *outline; /* NULL if rejected */
    } cases[] = {
        {"{\"kind\":\"A\",\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"y\"},\"n\":1},"
         "\"spec\":{\"metadata\":{\"name\":\"no\"}},\"l\":[1,[2],{}],\"s\":\"}]\"}",
         "{\"kind\":\"A\",\"metadata\":{\"name\":\"a\",\"n\":1},\"s\":\"}]\"}"},
        {"{\"items\":[{\"metadata\":{\"name\":\"a\"},\"data\":{\"\\\"}\":\"{\"}},{\"x\":[]}]}",
         "{\"items\":[{\"metadata\":{\"name\":\"a\"}},{}]}"},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"spec\":[[]]}}",
         "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}"},
        {"{\"spec\":{\"a\":[1,2}", NULL},
        {"{\"spec\":{\"a\":\"", NULL},
        {"{\"spec\":{\"a\":\"\n\"}}", NULL},
        {"{\"spec\":{}} x", NULL},
        {"{\"spec\":{}", NULL},
    };

    EACH_ROW (row, cases) {
        struct json_bounds bounds = {.max_text = 1000, .max_tree = 10000, .outline = true};
        struct json_object *tree;
        struct errinfo ei = {0};
        enum err err = json_parse_within(arena, row->text, strlen(row->text), &bounds, &tree, &ei);
        assert_int_equal(err, row->outline ? ERR_OK : ERR_INVALID);
        if (err == ERR_OK)
            assert_string_equal(json_text(arena, tree), row->outline);
        else
            assert_true(bounds.tree <= bounds.max_tree);
    }
    struct json_bounds bounds = {.max_text = 1000, .max_tree = 3000};
    struct json_object *tree;
    struct errinfo ei = {0};
    const char *text = "{\"spec\":[{},{},{},{}]}";
    assert_int_equal(json_parse_within(arena, text, strlen(text), &bounds, &tree, &ei),
                     ERR_INVALID);
    assert_true(bounds.tree > bounds.max_tree);
    bounds.max_tree = 10000;
    assert_int_equal(json_parse_within(arena, text, strlen(text), &bounds, &tree, &ei), ERR_OK);
    assert_true(bounds.tree > 4000 && bounds.tree <= 10000);
}

struct handed {
    char text[256];
    int left; /* stop after this number of items */
};

static bool on_item(void *arg, struct json_object *item, bool whole)
{
    struct handed *handed = arg;

    snprintf(handed->text + strlen(handed->text), sizeof(handed->text) - strlen(handed->text),
             "%s%s;", whole ? "" : "outline ",
             json_object_to_json_string_ext(item, JSON_C_TO_STRING_PLAIN));
    return --handed->left != 0;
}

/* Items of a list are read one by one: only one takes memory at a time. */
CASE(items_are_handed_over_one_by_one)
{
    static const struct {
        const char *text, *items, *rest; /* rest is NULL if rejected */
        int left;
    } cases[] = {
        {"{\"items\":[]}", "", "{}", 9},
        {"{\"kind\":\"L\",\"items\" : [ {\"a\":[1]} , 2,null ],\"metadata\":{\"items\":[1]}}",
         "{\"a\":[1]};2;null;", "{\"kind\":\"L\",\"metadata\":{\"items\":[1]}}", 9},
        {"{\"items\":[{\"items\":[1]}]}", "{\"items\":[1]};", "{}", 9},
        {"{\"items\":{\"a\":1}}", "", "{\"items\":{\"a\":1}}", 9},
        {"[{\"items\":[1]}]", "", "[{\"items\":[1]}]", 9},
        {"{\"items\":[{\"metadata\":{\"name\":\"a\"},\"spec\":[{},{},{},{}]},{\"b\":{}}]}",
         "outline {\"metadata\":{\"name\":\"a\"}};{\"b\":{}};", "{}", 9},
        {"{\"items\":[1,2,3]}", "1;2;", NULL, 2},
        {"{\"items\":[1,2", "1;2;", NULL, 9},
        {"{\"items\":[1,}", "1;", NULL, 9},
        {"{\"items\":[1] x", "1;", NULL, 9},
    };

    EACH_ROW (row, cases) {
        struct handed handed = {.left = row->left};
        struct json_bounds bounds = {
            .max_text = 1000, .max_tree = 4000, .item = on_item, .arg = &handed};
        struct json_object *tree;
        struct errinfo ei = {0};
        enum err err = json_parse_within(arena, row->text, strlen(row->text), &bounds, &tree, &ei);
        assert_string_equal(handed.text, row->items);
        assert_int_equal(err, row->rest ? ERR_OK : handed.left == 0 ? ERR_CANCELLED : ERR_INVALID);
        assert_int_equal(ei.text[0] != '\0', err != ERR_OK);
        if (row->rest)
            assert_string_equal(json_text(arena, tree), row->rest);
    }
}

CASE(no_number_of_items_is_too_large)
{
    struct handed handed = {.left = -1};
    char *list = list_of("{\"a\":[{},{}]}", 1000);
    const char *text = arena_printf(arena, "{\"items\":%s}", list);
    struct json_bounds bounds = {
        .max_text = strlen(text), .max_tree = 6000, .item = on_item, .arg = &handed};
    struct json_object *tree;

    assert_int_equal(json_parse_within(arena, text, strlen(text), &bounds, &tree, NULL), ERR_OK);
    assert_int_equal(handed.left, -1001);
    free(list);
}
