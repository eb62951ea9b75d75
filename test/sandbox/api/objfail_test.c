#include "api/objfail.h"
#include "object/try.h"

static void test_first_failure_stays(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct objfail fail = {.arena = arena};
    struct errinfo ei;
    assert_int_equal(objfail_info(&fail, &ei), ERR_OK);
    assert_int_equal(objfail_set(&fail, 404, "NotFound", "pods \"%s\" not found", "x"),
                     ERR_NOT_FOUND);
    assert_int_equal(objfail_set(&fail, 500, "InternalError", "later"), ERR_NOT_FOUND);
    fail.kind = "pods";
    fail.name = "x";
    try_same(arena, objfail_status(&fail),
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
             "\"message\":\"pods \\\"x\\\" not "
             "found\",\"reason\":\"NotFound\",\"details\":{\"name\":\"x\","
             "\"kind\":\"pods\"},\"code\":404}");
    assert_int_equal(objfail_info(&fail, &ei), ERR_NOT_FOUND);
    assert_int_equal(ei.status, 404);
}

static void test_causes(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct objfail fail = {.arena = arena};
    assert_int_equal(objfail_invalid(&fail, "apps", "Deployment", "web"), ERR_OK);
    objfail_cause(&fail, CAUSE_REQUIRED, "spec.selector", "Required value");
    objfail_cause(&fail, CAUSE_INVALID, "spec.replicas", "Invalid value: %d: no", -1);
    assert_int_equal(objfail_invalid(&fail, "apps", "Deployment", "web"), ERR_INVALID);
    assert_string_equal(fail.message,
                        "Deployment.apps \"web\" is invalid: [spec.selector: Required value, "
                        "spec.replicas: Invalid value: -1: no]");
    struct json_object *causes = json_at(objfail_status(&fail), "details", "causes", NULL);
    assert_int_equal(json_len(causes), 2);
    assert_string_equal(json_str_at(json_elem(causes, 0), "reason", NULL), "FieldValueRequired");
}

static void test_codes(void **state)
{
    static const struct {
        int code;
        enum err err;
    } cases[] = {{400, ERR_INVALID},  {401, ERR_DENIED},  {403, ERR_DENIED},  {404, ERR_NOT_FOUND},
                 {409, ERR_CONFLICT}, {410, ERR_INVALID}, {422, ERR_INVALID}, {429, ERR_RETRY},
                 {500, ERR_RETRY},    {504, ERR_RETRY}};
    for (size_t i = 0; i < TRY_COUNT(cases); i++)
        assert_int_equal(objfail_err(cases[i].code), cases[i].err);
}

UNIT_MAIN(cmocka_unit_test(test_first_failure_stays), cmocka_unit_test(test_causes),
          cmocka_unit_test(test_codes))
