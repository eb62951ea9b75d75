#include "api/restproto.h"
#include "object/try.h"

#define BYTES(text) text, sizeof(text) - 1

/* Namespace "ab" with a label, as client-go writes it: empty strings and a zero time are there too.
 */
#define NAMESPACE                                                                                  \
    "k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x1e\x0a\x18\x0a\x02"                             \
    "ab\x12\x00\x1a\x00\x38\x00\x42\x00\x5a\x0a"                                                   \
    "\x0a\x03"                                                                                     \
    "app\x12\x03"                                                                                  \
    "web\x12\x00\x1a\x00"

static void test_namespace(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *obj;
    struct errinfo ei;
    if (restproto_read(arena, BYTES(NAMESPACE), &obj, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    try_same(
        arena, obj,
        "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'ab','labels':{'app':'web'}}}");
}

static void test_secret(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *obj;
    struct errinfo ei;
    static const char text[] = "k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\x11\x0a\x03\x0a\x01s"
                               "\x12\x06\x0a\x01k\x12\x01v\x1a\x02Op";
    if (restproto_read(arena, text, sizeof(text) - 1, &obj, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    try_same(arena, obj,
             "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'s'},'data':{'k':'dg=='},'type'"
             ":'Op'}");
}

/* Every prefix of a body is refused or read, but never read past. */
static void test_cut(void **state)
{
    for (size_t len = 0; len < sizeof(NAMESPACE) - 1; len++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *obj;
        struct errinfo ei = {0};
        char *copy = arena_alloc(arena, len + 1);
        memcpy(copy, NAMESPACE, len);
        enum err err = restproto_read(arena, copy, len, &obj, &ei);
        assert_true(err == ERR_OK || (err == ERR_INVALID && *ei.text));
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        const char *wanted;
    } cases[] = {
        {BYTES("{}"), "magic"},
        {BYTES("k8s\0\x0a\x09\x0a\x02v1\x12\x03Job\x12\x00"), "Job is not known"},
        {BYTES("k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x02\x78\x01"),
         "field 15 of Namespace"},
        {BYTES("k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x02\x08\x01"),
         "metadata has another type"},
        {BYTES("k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x05\x0a\x03\x0a\x01\xff"), "UTF-8"},
        {BYTES("k8s\0\x12\x00"), "without a kind"},
        {BYTES("k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "within a field"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *obj;
        struct errinfo ei = {0};
        assert_int_equal(restproto_read(arena, cases[i].data, cases[i].len, &obj, &ei),
                         ERR_INVALID);
        assert_non_null(strstr(ei.text, cases[i].wanted));
    }
}

UNIT_MAIN(cmocka_unit_test(test_namespace), cmocka_unit_test(test_secret),
          cmocka_unit_test(test_cut), cmocka_unit_test(test_refused))
