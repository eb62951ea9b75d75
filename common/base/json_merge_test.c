#include <string.h>

#include "base/json.h"
#include "test/unit.h"

static struct json_object *read(struct arena *arena, const char *text)
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
        struct json_object *target = read(arena, row->target), *patch = read(arena, row->patch);
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
        struct json_object *from = read(arena, row->from), *to = read(arena, row->to);
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
        assert_null(json_merge_diff(arena, read(arena, (*row)[0]), read(arena, (*row)[1])));
}
