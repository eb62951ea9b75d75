#include "real/difference.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *one, *other, *found; /* paths, each followed by a space */
} cases[] = {
    {"{}", "{}", ""},
    {"{\"a\":1}", "{\"a\":2}", "a "},
    {"{\"a\":{\"b\":[1,2]}}", "{\"a\":{\"b\":[1,3]}}", "a.b[1] "},
    {"{\"a\":[1]}", "{\"a\":[1,2]}", "a "},
    {"{\"a\":1}", "{\"b\":1}", "a b "},
    {"{\"a\":null}", "{}", "a "},
    {"[1]", "{}", " "},
    {"{\"uid\":\"x\",\"resourceVersion\":\"7\",\"clusterIP\":\"10.0.0.1\"}",
     "{\"uid\":\"y\",\"resourceVersion\":\"9\",\"clusterIP\":\"127.96.0.1\"}", ""},
    {"{\"resourceVersion\":\"\"}", "{\"resourceVersion\":\"9\"}", "resourceVersion "},
    {"{\"clusterIP\":\"\"}", "{\"clusterIP\":\"10.0.0.1\"}", "clusterIP "},
    {"{\"at\":\"2026-11-22T09:00:00Z\"}", "{\"at\":\"2026-11-22T09:00:01.5Z\"}", ""},
    {"{\"m\":\"UID: 0a5b12f4-3f07-4a5b-9c0e-26ad6a6f4d4e, no\"}",
     "{\"m\":\"UID: bbbb12f4-3f07-4a5b-9c0e-26ad6a6f4d4e, no\"}", ""},
    {"{\"m\":\"UID: 0a5b12f4-3f07-4a5b-9c0e-26ad6a6f4d4e, no\"}",
     "{\"m\":\"UID: bbbb12f4-3f07-4a5b-9c0e-26ad6a6f4d4e, yes\"}", "m "},
    {"{\"generateName\":\"a-\",\"name\":\"a-xyz\"}", "{\"generateName\":\"a-\",\"name\":\"a-123\"}",
     ""},
    {"{\"name\":\"a-xyz\"}", "{\"name\":\"a-123\"}", "name "},
};

static void note(void *arg, const char *path, const char *one, const char *other)
{
    char *found = arg;
    size_t len = strlen(found);
    assert_string_not_equal(one, other);
    snprintf(found + len, 100 - len, "%s ", path);
}

static struct json_object *read_plain(struct arena *arena, const char *text)
{
    struct json_object *tree = NULL;
    assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &tree, NULL), ERR_OK);
    return difference_plain(arena, tree);
}

CASE(only_what_means_something_differs)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char found[100] = "";
        difference_find(arena, read_plain(arena, cases[i].one), read_plain(arena, cases[i].other),
                        note, found);
        if (strcmp(found, cases[i].found) != 0)
            fail_msg("case %zu: found \"%s\", not \"%s\"", i, found, cases[i].found);
    }
}
