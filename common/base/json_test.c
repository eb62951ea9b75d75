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
    json_set_int(json_sub(o, "s"), "n", 2); /* another value becomes an object */
    assert_string_equal(
        json_text(arena, o),
        "{\"v\":\"v\",\"null\":null,\"s\":{\"n\":2},\"i\":-9223372036854775808,\"b\":true,"
        "\"sub\":{\"sub\":{\"n\":1}}}");
    assert_string_equal(json_object_get_string(value), "v");
}

/* Input may have any shape; json-c itself aborts on these. */
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
    assert_int_equal(json_object_put(o), 1); /* it was the last reference */
}

static struct json_object *read_merge(struct arena *arena, const char *text)
{
    struct json_object *tree = NULL;
    assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &tree, NULL), ERR_OK);
    return tree;
}

/* The examples of RFC 7386, appendix A, and some more. */
CASE(patches_apply)
{
    static const struct {
        const char *target, *patch, *result;
    } cases[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {"{\"a\":null}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
        {"null", "{\"a\":[null]}", "{\"a\":[null]}"},
        {"{\"n\":1.50}", "{\"m\":2.0}", "{\"n\":1.50,\"m\":2.0}"},
    };
    EACH_ROW (row, cases) {
        struct json_object *target = read_merge(arena, row->target),
                           *patch = read_merge(arena, row->patch);
        assert_string_equal(json_text(arena, json_merge(arena, target, patch)), row->result);
        assert_string_equal(json_text(arena, target), row->target);
        assert_string_equal(json_text(arena, patch), row->patch);
    }
}

CASE(differences_are_least_patches)
{
    static const struct {
        const char *from, *to, *patch;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":2}", "{\"a\":2}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":1}", "{\"b\":null}"},
        {"{\"a\":1}", "{\"a\":1,\"b\":{\"c\":[]}}", "{\"b\":{\"c\":[]}}"},
        {"{\"a\":{\"x\":1,\"y\":2},\"b\":0}", "{\"a\":{\"x\":1,\"y\":3},\"b\":0}",
         "{\"a\":{\"y\":3}}"},
        {"{\"a\":{\"x\":1}}", "{\"a\":{}}", "{\"a\":{\"x\":null}}"},
        {"{\"a\":{\"x\":1}}", "{}", "{\"a\":null}"},
        {"{\"a\":1}", "{\"a\":{\"x\":1}}", "{\"a\":{\"x\":1}}"},
        {"{\"a\":[1,2]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"{\"a\":{\"b\":{\"c\":1}}}", "{\"a\":{\"b\":{\"c\":1},\"d\":2}}", "{\"a\":{\"d\":2}}"},
        {"{}", "[]", "[]"},
        {"1", "{}", "{}"},
    };
    EACH_ROW (row, cases) {
        struct json_object *from = read_merge(arena, row->from), *to = read_merge(arena, row->to);
        struct json_object *patch = json_merge_diff(arena, from, to);
        assert_non_null(patch);
        assert_string_equal(json_text(arena, patch), row->patch);
        assert_true(json_same(json_merge(arena, from, patch), to));
    }
}

CASE(equal_trees_have_no_difference)
{
    static const char *const pairs[][2] = {
        {"{}", "{}"},
        {"{\"a\":1,\"b\":{\"c\":[1.0]}}", "{\"b\":{\"c\":[1]},\"a\":1}"},
        {"{\"a\":null}", "{\"a\":null}"},
        {"{}", "{\"a\":null}"}, /* a merge patch cannot express it */
        {"null", "null"},
        {"[1]", "[1]"},
    };
    EACH_ROW (row, pairs)
        assert_null(
            json_merge_diff(arena, read_merge(arena, (*row)[0]), read_merge(arena, (*row)[1])));
}

static struct json_object *read_text(struct arena *arena, const char *text)
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
    struct json_object *o = read_text(
        arena,
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
        struct json_object *a = read_text(arena, (*row)[0]), *b = read_text(arena, (*row)[1]);
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

static struct json_object *read_read(struct arena *arena, const char *text)
{
    struct json_object *tree = NULL;
    assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &tree, NULL), ERR_OK);
    return tree;
}

struct decoded {
    const char *name;
    int64_t port, interval;
    double ratio;
    bool skip;
    size_t metrics;
};

/* A typical decoder: straight-line code, with one check at the end. */
static void decode(struct json_reader *r, struct json_object *root, struct decoded *d)
{
    struct json_object *spec = json_read_obj(r, root, "spec", JSON_REQUIRED);
    d->name = json_read_str(r, spec, "name", JSON_REQUIRED);
    d->port = json_read_int(r, spec, "port", 1, 65535, 80);
    struct json_object *analysis = json_read_obj(r, spec, "analysis", JSON_OPTIONAL);
    d->interval = json_read_duration(r, analysis, "interval", 60000);
    d->ratio = json_read_num(r, analysis, "ratio", 0.5);
    d->skip = json_read_bool(r, spec, "skip", false);
    struct json_object *metrics = json_read_array(r, analysis, "metrics", JSON_OPTIONAL);
    d->metrics = json_len(metrics);
    for (size_t i = 0; i < d->metrics; i++) {
        struct json_object *metric = json_read_elem(r, metrics, i);
        if (!json_read_str(r, metric, "name", JSON_REQUIRED))
            break;
        struct json_object *range = json_read_obj(r, metric, "a.b", JSON_OPTIONAL);
        json_read_num(r, range, "min", 0);
    }
}

CASE(good_input_is_read)
{
    struct json_reader r = {.arena = arena};
    struct decoded d;
    decode(
        &r,
        read_read(
            arena,
            "{\"spec\":{\"name\":\"x\",\"port\":8080.0,\"skip\":true,\"analysis\":{\"interval\":"
            "\"1m30s\","
            "\"ratio\":2,\"metrics\":[{\"name\":\"a\"},{\"name\":\"b\",\"a.b\":{\"min\":1}}]}}}"),
        &d);
    assert_int_equal(r.err, ERR_OK);
    assert_string_equal(d.name, "x");
    assert_int_equal(d.port, 8080);
    assert_int_equal(d.interval, 90000);
    assert_true(d.ratio == 2);
    assert_true(d.skip);
    assert_int_equal(d.metrics, 2);

    decode(&r, read_read(arena, "{\"spec\":{\"name\":\"\",\"port\":null,\"analysis\":null}}"), &d);
    assert_int_equal(r.err, ERR_OK);
    assert_string_equal(d.name, "");
    assert_int_equal(d.port, 80);
    assert_int_equal(d.interval, 60000);
    assert_true(d.ratio == 0.5);
    assert_false(d.skip);
}

CASE(errors_carry_the_path)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{}", "spec: required: expected an object"},
        {"{\"spec\":null}", "spec: required: expected an object"},
        {"{\"spec\":[]}", "spec: expected an object, found an array"},
        {"[1]", "expected an object, found an array"},
        {"{\"spec\":{}}", "spec.name: required: expected a string"},
        {"{\"spec\":{\"name\":3}}", "spec.name: expected a string, found 3"},
        {"{\"spec\":{\"name\":{}}}", "spec.name: expected a string, found an object"},
        {"{\"spec\":{\"name\":\"a\\u0000\"}}", "spec.name: expected a string without U+0000"},
        {"{\"spec\":{\"name\":\"x\",\"port\":\"80\"}}",
         "spec.port: expected a whole number, found \"80\""},
        {"{\"spec\":{\"name\":\"x\",\"port\":1.5}}",
         "spec.port: expected a whole number, found 1.5"},
        {"{\"spec\":{\"name\":\"x\",\"port\":0}}",
         "spec.port: expected a whole number from 1 to 65535, found 0"},
        {"{\"spec\":{\"name\":\"x\",\"skip\":\"true\"}}",
         "spec.skip: expected true or false, found \"true\""},
        {"{\"spec\":{\"name\":\"x\",\"analysis\":{\"interval\":60}}}",
         "spec.analysis.interval: expected a string, found 60"},
        {"{\"spec\":{\"name\":\"x\",\"analysis\":{\"interval\":\"1\"}}}",
         "spec.analysis.interval: expected a duration such as \"1m30s\", found \"1\": a unit (ns, "
         "us, ms, s, m, h) is "
         "missing"},
        {"{\"spec\":{\"name\":\"x\",\"analysis\":{\"ratio\":\"1\"}}}",
         "spec.analysis.ratio: expected a number, found \"1\""},
        {"{\"spec\":{\"name\":\"x\",\"analysis\":{\"metrics\":{}}}}",
         "spec.analysis.metrics: expected an array, found an object"},
        {"{\"spec\":{\"name\":\"x\",\"analysis\":{\"metrics\":[{\"name\":\"a\"},{}]}}}",
         "spec.analysis.metrics[1].name: required: expected a string"},
        {"{\"spec\":{\"name\":\"x\",\"analysis\":{\"metrics\":[5]}}}",
         "spec.analysis.metrics[0]: expected an object, found 5"},
        {"{\"spec\":{\"name\":\"x\",\"analysis\":{\"metrics\":[{\"name\":\"a\",\"a.b\":{\"min\":"
         "\"\"}}]}}}",
         "spec.analysis.metrics[0][\"a.b\"].min: expected a number, found \"\""},
    };
    EACH_ROW (row, cases) {
        struct json_reader r = {.arena = arena};
        struct decoded d;
        decode(&r, read_read(arena, row->text), &d);
        assert_int_equal(r.err, ERR_INVALID);
        assert_string_equal(r.info.text, row->error);
    }
}

CASE(the_first_error_stays)
{
    struct json_reader r = {.arena = arena};
    struct json_object *root = read_read(arena, "{\"a\":1,\"b\":{\"c\":2},\"d\":\"5s\",\"e\":[1]}");
    struct json_object *b = json_read_obj(&r, root, "b", JSON_REQUIRED);
    json_reader_fail(&r, b, "c", "%s and %s", "stepWeight", "iterations");
    json_reader_fail(&r, b, "c", "later");
    assert_null(json_read_str(&r, root, "a", JSON_REQUIRED));
    assert_null(json_read_obj(&r, root, "b", JSON_REQUIRED));
    assert_null(json_read_elem(&r, json_at(root, "e", NULL), 0));
    assert_int_equal(json_read_int(&r, root, "a", 0, 9, -7), -7);
    assert_int_equal(json_read_duration(&r, root, "d", -7), -7);
    assert_int_equal(r.err, ERR_INVALID);
    assert_string_equal(r.info.text, "b.c: stepWeight and iterations");
}

CASE(paths_can_be_asked_for)
{
    struct json_reader r = {.arena = arena};
    struct json_object *root = read_read(arena, "{\"a\":[[{\"b c\":{}}]],\"\":{}}");
    struct json_object *a = json_read_array(&r, root, "a", JSON_REQUIRED);
    struct json_object *inner = json_read_elem(&r, json_read_elem(&r, a, 0), 0);
    struct json_object *bc = json_read_obj(&r, inner, "b c", JSON_REQUIRED);
    assert_string_equal(json_reader_path(&r, bc, "x"), "a[0][0][\"b c\"].x");
    assert_string_equal(json_reader_path(&r, a, NULL), "a");
    assert_string_equal(json_reader_path(&r, root, NULL), "");
    assert_string_equal(json_reader_path(&r, root, "k"), "k");
    assert_string_equal(json_reader_path(&r, NULL, "k"), "k");
    assert_string_equal(json_reader_path(&r, json_read_obj(&r, root, "", JSON_REQUIRED), "k"),
                        "[\"\"].k");
    assert_null(json_read_elem(&r, a, 9));
    assert_int_equal(r.err, ERR_OK);
}

CASE(a_key_may_be_the_callers_own_memory)
{
    struct json_reader r = {.arena = arena};
    char key[4] = "abc";
    struct json_object *obj =
        json_read_obj(&r, read_read(arena, "{\"abc\":{}}"), key, JSON_REQUIRED);
    memcpy(key, "xyz", 3);
    json_reader_fail(&r, obj, NULL, "%s", "odd");
    assert_string_equal(r.info.text, "abc: odd");
}

CASE(long_values_are_cut_in_errors)
{
    struct json_reader r = {.arena = arena};
    char text[1100] = "{\"a\":\"";
    memset(text + 6, 'x', 1000);
    memcpy(text + 1006, "\"}", 3);
    json_read_int(&r, read_read(arena, text), "a", 0, 1, 0);
    assert_in_range(strlen(r.info.text), 90, 110);
    assert_non_null(strstr(r.info.text, "xxx..."));
}

CASE(an_element_is_found_by_a_member)
{
    struct json_object *list = read_read(
        arena, "[{\"type\":\"A\"},7,{\"type\":3},{\"type\":\"B\",\"n\":1},{\"type\":\"B\"}]");
    size_t index = 9;

    assert_ptr_equal(json_find(list, "type", "B", &index), json_elem(list, 3));
    assert_int_equal(index, 3);
    assert_ptr_equal(json_find(list, "type", "A", NULL), json_elem(list, 0));
    assert_null(json_find(list, "type", "C", &index));
    assert_int_equal(index, 3);
    assert_null(json_find(NULL, "type", "A", NULL));
    assert_null(json_find(json_elem(list, 0), "type", "A", NULL));
}
