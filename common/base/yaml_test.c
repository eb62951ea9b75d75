#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/yaml.h"
#include "test/unit.h"

enum { MAX = 1024 * 1024 };

CASE(documents_become_json)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"", "[]"},
        {"# only a comment\n", "[]"},
        {"---\n---\na: 1\n---\n# empty\n---\n- b\n...\n", "[{\"a\":1},[\"b\"]]"},
        {"a: 1\nb: [x, 'y', \"z\"]\nc: {d: null, e: ~}\n",
         "[{\"a\":1,\"b\":[\"x\",\"y\",\"z\"],\"c\":{\"d\":null,\"e\":null}}]"},
        {"{\"json\": [1, true, \"\\u00e9\"]}", "[{\"json\":[1,true,\"\xc3\xa9\"]}]"},
        {"a: |\n  one\n  two\nb: >-\n  folded\n  text\n",
         "[{\"a\":\"one\\ntwo\\n\",\"b\":\"folded text\"}]"},
        {"1: int\ntrue: bool\n1.5: real\n'2': text\n",
         "[{\"1\":\"int\",\"true\":\"bool\",\"1.5\":\"real\",\"2\":\"text\"}]"},
        {"on: push\n", "[{\"true\":\"push\"}]"},
        {"a: &x [1, {b: 2}]\nc: *x\n", "[{\"a\":[1,{\"b\":2}],\"c\":[1,{\"b\":2}]}]"},
        {"a: &n\nb: *n\n", "[{\"a\":null,\"b\":null}]"},
        {"a: &x 1\nb: &x 2\nc: *x\n", "[{\"a\":1,\"b\":2,\"c\":2}]"},
        {"k: &k key\n*k : v\n", "[{\"k\":\"key\",\"key\":\"v\"}]"},
        {"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  b: 3\n",
         "[{\"a\":{\"b\":1,\"c\":2},\"d\":{\"b\":3,\"c\":2}}]"},
        {"a: &x {b: 1, c: 2}\nd:\n  b: 3\n  <<: *x\n",
         "[{\"a\":{\"b\":1,\"c\":2},\"d\":{\"b\":3,\"c\":2}}]"},
        {"x: &x {b: 1}\ny1: &y {b: 5, c: 6}\nd:\n  <<: [*x, *y]\n",
         "[{\"x\":{\"b\":1},\"y1\":{\"b\":5,\"c\":6},\"d\":{\"b\":1,\"c\":6}}]"},
        {"'<<': 1\n", "[{\"<<\":1}]"},
        {"a: !!str 1\n", "[{\"a\":\"1\"}]"},
        {"\xef\xbb\xbf"
         "a: 1\n",
         "[{\"a\":1}]"},
    };
    EACH_ROW (row, cases) {
        struct json_object *docs = NULL;
        struct errinfo ei = {0};
        enum err err = yaml_parse(arena, "x.yaml", row->yaml, strlen(row->yaml), MAX, &docs, &ei);
        assert_string_equal(ei.text, "");
        assert_int_equal(err, ERR_OK);
        assert_string_equal(json_text(arena, docs), row->json);
    }
}

CASE(errors_name_the_place)
{
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        {"spec: 1\nkind: x\nspec: 2\n", "x.yaml:3:1: duplicate key \"spec\""},
        {"a:\n  1: x\n  '1': y\n", "x.yaml:3:3: duplicate key \"1\""},
        {"a: [1, 2\n",
         "x.yaml:2:1: while parsing a flow sequence, did not find expected ',' or ']'"},
        {"a:\n\tb: 1\n", "x.yaml:2:1: expected spaces for the indent, found a tab"},
        {"\xc3\xa9: @b\n", "x.yaml:1:4: while scanning for the next token, found character that "
                           "cannot start any token"},
        {"a: b: c\n", "x.yaml:1:5: mapping values are not allowed in this context"},
        {"a: *x\n", "x.yaml:1:4: unknown anchor \"x\", or an alias inside of what it stands for"},
        {"a: &x [*x]\n",
         "x.yaml:1:8: unknown anchor \"x\", or an alias inside of what it stands for"},
        {"a: &x 1\nb: &x [*x]\n",
         "x.yaml:2:8: unknown anchor \"x\", or an alias inside of what it stands for"},
        {"--- &x 1\n--- *x\n",
         "x.yaml:2:5: unknown anchor \"x\", or an alias inside of what it stands for"},
        {"[a]: 1\n", "x.yaml:1:1: a key must be a string, number or boolean"},
        {"~: 1\n", "x.yaml:1:1: a key must be a string, number or boolean"},
        {"a: {{args.x}}\n",
         "x.yaml:1:5: a key must be a string, number or boolean, not a map; text "
         "that begins with {{ must be in quotes"},
        {"\"a\\0b\": 1\n", "x.yaml:1:1: a key must not contain U+0000"},
        {"a: .inf\n", "x.yaml:1:4: expected a number that JSON can hold, found \".inf\""},
        {"a: !!int abc\n", "x.yaml:1:4: expected a whole number behind !!int, found \"abc\""},
        {"<<: 5\n", "x.yaml:1:1: a merge key \"<<\" needs a mapping or a list of mappings"},
        {"<<: [{a: 1}, 5]\n",
         "x.yaml:1:1: a merge key \"<<\" needs a mapping or a list of mappings"},
        {"a: \x01\n", "x.yaml: control characters are not allowed at byte 3"},
        {"a: \xff\n", "x.yaml: invalid leading UTF-8 octet at byte 3"},
        {"ok: 1\n--- [",
         "x.yaml:3:1: while parsing a flow node, did not find expected node content"},
    };
    EACH_ROW (row, cases) {
        struct json_object *docs = NULL;
        struct errinfo ei = {0};
        assert_int_equal(yaml_parse(arena, "x.yaml", row->yaml, strlen(row->yaml), MAX, &docs, &ei),
                         ERR_INVALID);
        assert_string_equal(ei.text, row->error);
        assert_null(docs);
    }
}

static enum err parse(struct arena *arena, const char *text, struct errinfo *ei)
{
    struct json_object *docs;
    return yaml_parse(arena, "x.yaml", text, strlen(text), MAX, &docs, ei);
}

CASE(laughs_are_bounded)
{
    struct errinfo ei = {0};
    struct buf text;
    buf_init(&text, MAX);
    buf_puts(&text, "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n");
    for (int i = 1; i < 30; i++) {
        buf_printf(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++)
            buf_printf(&text, "%s*a%d", j ? "," : "", i - 1);
        buf_puts(&text, "]\n");
    }
    assert_int_equal(parse(arena, text.data, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "the aliases repeat more than 1048576 bytes"));

    buf_clear(&text); /* the same with merge keys */
    buf_printf(&text, "a: &a {k: \"%0*d\"}\nb: [", 100000, 0);
    for (int j = 0; j < 20; j++)
        buf_printf(&text, "%s{<<: *a}", j ? "," : "");
    buf_puts(&text, "]\n");
    assert_int_equal(parse(arena, text.data, &ei), ERR_INVALID);

    buf_clear(&text); /* each level is shallow, but aliases within aliases add up */
    buf_puts(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 70; i++)
        buf_printf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    assert_int_equal(parse(arena, text.data, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "nested more than 64 levels deep"));
    buf_fini(&text);
}

CASE(depth_and_size_are_bounded)
{
    struct errinfo ei;
    char deep[2 * JSON_MAX_DEPTH + 3] = "";
    memset(deep, '[', JSON_MAX_DEPTH);
    memset(deep + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    assert_int_equal(parse(arena, deep, &ei), ERR_OK);
    memset(deep, '[', JSON_MAX_DEPTH + 1);
    memset(deep + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
    assert_int_equal(parse(arena, deep, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "x.yaml:1:65: nested more than 64 levels deep");
    struct json_object *docs;
    assert_int_equal(yaml_parse(arena, "x.yaml", "a: 1", 4, 3, &docs, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "x.yaml: 4 bytes of YAML are more than the limit of 3");
}

CASE(aliases_are_copies)
{
    struct json_object *docs;
    static const char text[] = "a: &x {b: [1.5]}\nc: *x\nd: {<<: *x}\n";
    assert_int_equal(yaml_parse(arena, "x", text, strlen(text), MAX, &docs, NULL), ERR_OK);
    struct json_object *doc = json_elem(docs, 0);
    json_set_int(json_at(doc, "c", NULL), "b", 2);
    json_object_array_add(json_at(doc, "d", "b", NULL), json_object_new_int(3));
    assert_string_equal(json_text(arena, doc),
                        "{\"a\":{\"b\":[1.5]},\"c\":{\"b\":2},\"d\":{\"b\":[1.5,3]}}");
}

/* Truncated and randomly changed documents are parsed or rejected, without a leak or a bad
 * access. */
CASE(damaged_text_does_no_harm)
{
    static const char text[] = "a: &x {b: [1, 'two', \"th\\u0072ee\"], <<: {z: 1}}\nc: *x\nd: |\n  "
                               "lit\n--- !!map\n? e\n: f\n";
    static const char bytes[] = "\0\n\t :-?[]{},&*!|>'\"%@`#\\<\x7f\xff\xc3";
    char copy[sizeof(text)];
    for (size_t at = 0; at < sizeof(text) - 1; at++) {
        for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
            struct json_object *docs;
            memcpy(copy, text, sizeof(text));
            copy[at] = bytes[i];
            if (yaml_parse(arena, "x", copy, sizeof(text) - 1, MAX, &docs, NULL) == ERR_OK)
                assert_non_null(json_text(arena, docs));
            if (yaml_parse(arena, "x", copy, at + 1, MAX, &docs, NULL) == ERR_OK)
                assert_non_null(json_text(arena, docs));
        }
        arena_reset(arena);
    }
}

CASE(files_are_read)
{
    struct json_object *docs;
    struct errinfo ei;
    char path[] = "/tmp/yaml_test.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(path, "a: 1\na: 2\n", 10, 0600, NULL), ERR_OK);
    assert_int_equal(yaml_parse_file(arena, path, MAX, &docs, &ei), ERR_INVALID);
    assert_string_equal(ei.text, arena_printf(arena, "%s:2:1: duplicate key \"a\"", path));
    assert_int_equal(yaml_parse_file(arena, path, 9, &docs, &ei), ERR_INVALID);
    assert_int_equal(file_write(path, "a: 1\n", 5, 0600, NULL), ERR_OK);
    assert_int_equal(yaml_parse_file(arena, path, MAX, &docs, &ei), ERR_OK);
    assert_string_equal(json_text(arena, docs), "[{\"a\":1}]");
    unlink(path);
    assert_int_equal(yaml_parse_file(arena, path, MAX, &docs, &ei), ERR_NOT_FOUND);
}

/* LINE:COLUMN of a key, or of an element. */
static const char *mark_of(struct arena *arena, const struct yaml_marks *marks,
                           struct json_object *parent, const char *key, size_t index)
{
    struct yaml_place place;
    if (!yaml_mark(marks, parent, key, index, &place))
        return "none";
    return arena_printf(arena, "%zu:%zu", place.line, place.column);
}

CASE(marks_say_where_things_stand)
{
    static const char text[] = "a: &x\n  \"b\": [1,\n  {c: 2}]\n---\n---\n- \xc3\xa9: &y {m: 1}\n"
                               "- null\n- {<<: *y, k: *y}\n";
    struct json_object *docs;
    struct yaml_marks *marks;
    struct errinfo ei;
    assert_int_equal(
        yaml_parse_marked(arena, "marks", text, sizeof(text) - 1, MAX, &docs, &marks, &ei), ERR_OK);
    struct json_object *first = json_elem(docs, 0), *second = json_elem(docs, 1);
    struct json_object *list = json_at(first, "a", "b", NULL), *merged = json_elem(second, 2);
    assert_string_equal(mark_of(arena, marks, docs, NULL, 0), "1:1");
    assert_string_equal(mark_of(arena, marks, first, "a", 0), "1:1");
    assert_string_equal(mark_of(arena, marks, json_at(first, "a", NULL), "b", 0), "2:3");
    assert_string_equal(mark_of(arena, marks, list, NULL, 0), "2:9");
    assert_string_equal(mark_of(arena, marks, list, NULL, 1), "3:3");
    assert_string_equal(mark_of(arena, marks, json_elem(list, 1), "c", 0), "3:4");
    assert_string_equal(mark_of(arena, marks, docs, NULL, 1), "6:1");
    assert_string_equal(mark_of(arena, marks, json_elem(second, 0), "\xc3\xa9", 0), "6:3");
    assert_string_equal(mark_of(arena, marks, second, NULL, 1), "7:3");
    assert_string_equal(mark_of(arena, marks, merged, "k", 0), "8:12");
    assert_string_equal(mark_of(arena, marks, merged, "m", 0), "none");
    assert_string_equal(mark_of(arena, marks, json_at(merged, "k", NULL), "m", 0), "none");
    assert_string_equal(mark_of(arena, marks, list, NULL, 2), "none");
}

/* The plain scalars were compared with sigs.k8s.io/yaml 1.6.0. */
CASE(plain_scalars_have_types)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "null"},
        {"~", "null"},
        {"null", "null"},
        {"Null", "null"},
        {"nULL", "\"nULL\""},
        {"true", "true"},
        {"True", "true"},
        {"tRUE", "\"tRUE\""},
        {"y", "true"},
        {"Yes", "true"},
        {"on", "true"},
        {"off", "false"},
        {"n", "false"},
        {"NO", "false"},
        {"oN", "\"oN\""},
        {"0", "0"},
        {"-1", "-1"},
        {"+1", "1"},
        {"1_000", "1000"},
        {"_1", "\"_1\""},
        {"0x1F", "31"},
        {"0X1f", "31"},
        {"+0x1f", "31"},
        {"0b101", "5"},
        {"-0b11", "-3"},
        {"0o17", "15"},
        {"017", "15"},
        {"0777", "511"},
        {"08", "8"},
        {"0o8", "\"0o8\""},
        {"0x", "\"0x\""},
        {"0b2", "\"0b2\""},
        {"1.0", "1"},
        {"1.", "1"},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"+.5", "0.5"},
        {".", "\".\""},
        {"1e3", "1000"},
        {"1.5E-3", "0.0015"},
        {"1e", "\"1e\""},
        {"1e+", "\"1e+\""},
        {"._5", "\"._5\""},
        {"1_0.5_0", "10.5"},
        {"1e400", "\"1e400\""},
        {"0x1.8p3", "\"0x1.8p3\""},
        {"infinity", "\"infinity\""},
        {"nan", "\"nan\""},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775808"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "1.8446744073709552e+19"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"+9223372036854775808", "9.223372036854776e+18"},
        {"0xffffffffffffffff", "18446744073709551615"},
        {"0x10000000000000000", "\"0x10000000000000000\""},
        {"2026-11-20", "\"2026-11-20\""},
        {"1:20:30", "\"1:20:30\""},
        {"-", "\"-\""},
        {"10s", "\"10s\""},
        {"1.2.3", "\"1.2.3\""},
        {"--1", "\"--1\""},
        {"=", "\"=\""},
        {"<<", "\"<<\""},
    };
    EACH_ROW (row, cases) {
        struct json_object *value = NULL;
        size_t len = strlen(row->text);
        assert_null(yaml_scalar(arena, row->text, len, NULL, true, &value));
        assert_string_equal(json_text(arena, json_own(arena, value)), row->json);
        assert_null(yaml_scalar(arena, row->text, len, NULL, false, &value));
        assert_string_equal(json_object_get_string(json_own(arena, value)), row->text);
    }
}

CASE(tags_decide)
{
    static const struct {
        const char *tag, *text;
        bool plain;
        const char *json, *error;
    } cases[] = {
        {"tag:yaml.org,2002:str", "5", true, "\"5\"", NULL},
        {"tag:yaml.org,2002:str", "", true, "\"\"", NULL},
        {"tag:yaml.org,2002:int", "5", false, "5", NULL},
        {"tag:yaml.org,2002:int", "x", true, NULL, "a whole number behind !!int"},
        {"tag:yaml.org,2002:int", "1.5", true, NULL, "a whole number behind !!int"},
        {"tag:yaml.org,2002:float", "3", true, "3", NULL},
        {"tag:yaml.org,2002:float", "2.5", false, "2.5", NULL},
        {"tag:yaml.org,2002:float", ".inf", true, NULL, "a number behind !!float"},
        {"tag:yaml.org,2002:bool", "yes", true, "true", NULL},
        {"tag:yaml.org,2002:bool", "1", true, NULL, "true or false behind !!bool"},
        {"tag:yaml.org,2002:null", "", true, "null", NULL},
        {"tag:yaml.org,2002:null", "x", true, NULL, "null behind !!null"},
        {"tag:yaml.org,2002:binary", "aGVsbG8=", true, "\"hello\"", NULL},
        {"tag:yaml.org,2002:binary", "!", true, NULL, "base64 behind !!binary"},
        {"tag:yaml.org,2002:binary", "/w==", true, NULL, "base64 of UTF-8 text behind !!binary"},
        {"tag:yaml.org,2002:timestamp", "2026-11-20", true, "\"2026-11-20\"", NULL},
        {"!own", "5", true, "\"5\"", NULL},
        {"", "5", true, "5", NULL},
        {NULL, ".nan", true, NULL, "a number that JSON can hold"},
    };
    EACH_ROW (row, cases) {
        struct json_object *value = NULL;
        const char *error =
            yaml_scalar(arena, row->text, strlen(row->text), row->tag, row->plain, &value);
        json_own(arena, value);
        if (row->error)
            assert_string_equal(error, row->error);
        else
            assert_string_equal(json_text(arena, value), row->json);
        assert_int_equal(error == NULL, row->error == NULL);
    }
}

CASE(bytes_are_kept)
{
    struct json_object *value = NULL;
    assert_null(yaml_scalar(arena, "1\0", 2, NULL, true, &value));
    assert_int_equal(json_object_get_string_len(json_own(arena, value)), 2);
    char digits[2000];
    memset(digits, '1', sizeof(digits));
    assert_null(yaml_scalar(arena, digits, sizeof(digits), NULL, true, &value));
    assert_int_equal(json_object_get_string_len(json_own(arena, value)), 2000);
}
