#include "object/managed.h"
#include "object/try.h"

/* Who wrote which parts, and when, after one write after another of one object. */
static void test_note(void **state)
{
    static const struct {
        const char *manager, *subresource, *obj;
        const char *rows; /* manager@second parts */
    } steps[] = {
        {"kubectl", NULL, "{'spec':{'replicas':1,'template':{'a':1}},'status':{'x':1}}",
         "kubectl@0 {\"f:spec\":{\"f:replicas\":{},\"f:template\":{}}}\n"},
        {"hpa", NULL, "{'spec':{'replicas':2,'template':{'a':1}},'status':{'x':1}}",
         "kubectl@0 {\"f:spec\":{\"f:replicas\":{},\"f:template\":{}}}\n"
         "hpa@1 {\"f:spec\":{\"f:replicas\":{}}}\n"},
        {"hpa", "status", "{'spec':{'replicas':2,'template':{'a':1}},'status':{'x':2}}",
         "kubectl@0 {\"f:spec\":{\"f:replicas\":{},\"f:template\":{}}}\n"
         "hpa@1 {\"f:spec\":{\"f:replicas\":{}}}\nhpa@2 {\"f:status\":{}}\n"},
        {"kubectl", NULL,
         "{'metadata':{'labels':{'l':'m'}},'spec':{'replicas':2},'status':{'x':2}}",
         "kubectl@3 {\"f:spec\":{\"f:replicas\":{},\"f:template\":{}},\"f:metadata\":{\"f:labels\":"
         "{}}}\nhpa@1 {\"f:spec\":{\"f:replicas\":{}}}\nhpa@2 {\"f:status\":{}}\n"},
    };
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *old = NULL;
    for (size_t i = 0; i < TRY_COUNT(steps); i++) {
        struct json_object *obj = try_json(arena, steps[i].obj);
        const char *text = "";
        managed_note(arena, obj, old, steps[i].manager, steps[i].subresource, (int64_t)i * 1000);
        struct json_object *list = json_at(obj, "metadata", "managedFields", NULL);
        for (size_t row = 0; row < json_len(list); row++) {
            struct json_object *entry = json_elem(list, row);
            text = arena_printf(arena, "%s%s@%c %s\n", text, json_str_at(entry, "manager", NULL),
                                json_str_at(entry, "time", NULL)[18],
                                json_text(arena, json_at(entry, "fieldsV1", NULL)));
        }
        assert_string_equal(text, steps[i].rows);
        old = obj;
    }
}

UNIT_MAIN(cmocka_unit_test(test_note))
