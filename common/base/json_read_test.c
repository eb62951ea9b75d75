#include <string.h>

#include "base/json.h"
#include "test/unit.h"

static struct json_object *read(struct arena *arena, const char *text)
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

/* A decoder as they are meant to be: straight, with one check at the end. */
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
        read(arena,
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

    decode(&r, read(arena, "{\"spec\":{\"name\":\"\",\"port\":null,\"analysis\":null}}"), &d);
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
        decode(&r, read(arena, row->text), &d);
        assert_int_equal(r.err, ERR_INVALID);
        assert_string_equal(r.info.text, row->error);
    }
}

CASE(the_first_error_stays)
{
    struct json_reader r = {.arena = arena};
    struct json_object *root = read(arena, "{\"a\":1,\"b\":{\"c\":2},\"d\":\"5s\",\"e\":[1]}");
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
    struct json_object *root = read(arena, "{\"a\":[[{\"b c\":{}}]],\"\":{}}");
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
    struct json_object *obj = json_read_obj(&r, read(arena, "{\"abc\":{}}"), key, JSON_REQUIRED);
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
    json_read_int(&r, read(arena, text), "a", 0, 1, 0);
    assert_in_range(strlen(r.info.text), 90, 110);
    assert_non_null(strstr(r.info.text, "xxx..."));
}
