#include "crash/outcome.h"
#include "test/unit.h"

#include <string.h>

static struct json_object *parse(struct arena *arena, const char *text)
{
    struct json_object *out = NULL;

    assert_int_equal(json_parse(arena, text, strlen(text), 65536, &out, NULL), ERR_OK);
    return out;
}

static void put(struct arena *arena, struct objstore *store, const char *plural, const char *text)
{
    struct objcall call = {.arena = arena};

    assert_int_equal(objstore_create(store, &call, objstore_kind(store, "", plural), "test",
                                     parse(arena, text), NULL),
                     ERR_OK);
}

static const char *cluster(struct arena *arena, const char *color)
{
    struct loop *loop = loop_new(10000);
    struct objstore *store = objstore_new(loop, 0);
    struct objcall call = {.arena = arena};

    assert_int_equal(objstore_create(store, &call, objstore_kind(store, "", "namespaces"), NULL,
                                     parse(arena, "{\"metadata\":{\"name\":\"test\"}}"), NULL),
                     ERR_OK);
    put(arena, store, "configmaps",
        arena_printf(arena, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"color\":\"%s\"}}", color));
    put(arena, store, "events",
        "{\"metadata\":{\"name\":\"e\",\"namespace\":\"test\"},\"involvedObject\":{\"namespace\":"
        "\"test\"},\"message\":\"said\"}");
    const char *text = outcome_text(arena, store);
    loop_drain(loop);
    assert_int_equal(loop_run(loop), 0);
    objstore_free(store);
    loop_free(loop);
    return text;
}

CASE(test_text)
{
    const char *blue = cluster(arena, "blue");
    assert_string_equal(blue,
                        "ConfigMap a {\"apiVersion\":\"v1\",\"data\":{\"color\":\"blue\"},\"kind\":"
                        "\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"test\"}}\n");
    /* Two clusters have other versions, uids and times, and the same outcome. */
    assert_string_equal(cluster(arena, "blue"), blue);
    assert_string_not_equal(cluster(arena, "green"), blue);
}

CASE(test_difference)
{
    assert_string_equal(outcome_difference(arena, "a\nb\nc\n", "a\nx\nc\nd\n"), "- b\n+ x\n+ d\n");
    assert_string_equal(outcome_difference(arena, "a\n", "a\n"), "");
    assert_string_equal(outcome_difference(arena, "ab\n", "a\n"), "- ab\n+ a\n");
}
