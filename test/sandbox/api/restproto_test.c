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

static void test_service(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *obj;
    struct errinfo ei;
    /* a port 80 to the named port "http", and one to 8080 */
    static const char text[] =
        "k8s\0\x0a\x0d\x0a\x02v1\x12\x07Service\x12\x27\x12\x25"
        "\x0a\x0f\x12\x03TCP\x18\x50\x22\x06\x08\x01\x1a\x02hp"
        "\x0a\x0b\x18\x51\x22\x07\x08\x00\x10\x90\x3f\x1a\x00\x0a\x05\x18\x52\x22\x01\x08";
    assert_int_equal(restproto_read(arena, text, sizeof(text) - 1, &obj, &ei), ERR_INVALID);
    static const char good[] = "k8s\0\x0a\x0d\x0a\x02v1\x12\x07Service\x12\x20\x12\x1e"
                               "\x0a\x0f\x12\x03TCP\x18\x50\x22\x06\x08\x01\x1a\x02hp"
                               "\x0a\x0b\x18\x51\x22\x07\x08\x00\x10\x90\x3f\x1a\x00";
    if (restproto_read(arena, good, sizeof(good) - 1, &obj, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    try_same(
        arena, json_at(obj, "spec", NULL),
        "{'ports':[{'protocol':'TCP','port':80,'targetPort':'hp'},{'port':81,'targetPort':8080}]}");
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

UNIT_MAIN(cmocka_unit_test(test_namespace), cmocka_unit_test(test_service),
          cmocka_unit_test(test_cut), cmocka_unit_test(test_refused))
