#include "api/apifaults.h"
#include "object/try.h"

static void add(struct apifaults *faults, const char *body)
{
    struct arena *arena TRY_FREED = arena_new();
    struct errinfo ei;
    if (apifaults_add(faults, arena, try_json(arena, body), &ei) != ERR_OK)
        fail_msg("%s", ei.text);
}

static void test_take(void **state)
{
    struct apifaults *faults = apifaults_new();
    struct apifault fault;
    add(faults, "{'faults':[{'verb':'patch','path':'/"
                "canaries','count':2,'after':1,'status':429,'retryAfter':3},{'agent':'kubectl','"
                "delay':'200ms','drop':true}]}");
    assert_false(apifaults_take(faults, "PATCH", "patch", "/pods", NULL, &fault));
    assert_false(apifaults_take(faults, "GET", "get", "/canaries/x", "flagger", &fault));
    assert_false(
        apifaults_take(faults, "PATCH", "patch", "/canaries/x", "flagger", &fault)); /* after: 1 */
    for (int i = 0; i < 2; i++) {
        assert_true(apifaults_take(faults, "PATCH", "patch", "/canaries/x", NULL, &fault));
        assert_int_equal(fault.status, 429);
        assert_int_equal(fault.retry_after_s, 3);
    }
    assert_false(apifaults_take(faults, "PATCH", "patch", "/canaries/x", NULL, &fault));
    assert_true(apifaults_take(faults, "GET", "list", "/pods", "kubectl/v1", &fault));
    assert_true(fault.drop);
    assert_int_equal(fault.delay_ms, 200);
    assert_false(apifaults_take(faults, "GET", "list", "/pods", "kubectl/v1", &fault));
    apifaults_free(faults);
}

static void test_refused(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{'faults':[{}]}",
        "{'faults':{}}",
        "{'status':200}",
        "{'status':500,'count':0}",
        "{'delay':'x'}",
        "{'faults':[1]}",
        "{'status':'500'}",
    };
    for (size_t i = 0; i < TRY_COUNT(bodies); i++) {
        struct apifaults *faults = apifaults_new();
        struct arena *arena = arena_new();
        struct errinfo ei = {0};
        assert_int_equal(apifaults_add(faults, arena, try_json(arena, bodies[i]), &ei),
                         ERR_INVALID);
        assert_true(*ei.text);
        assert_int_equal(json_len(json_at(apifaults_list(faults, arena), "faults", NULL)), 0);
        arena_free(arena);
        apifaults_free(faults);
    }
}

static void test_list_and_clear(void **state)
{
    struct apifaults *faults = apifaults_new();
    struct arena *arena = arena_new();
    add(faults, "{'path':'/x','status':500,'count':7}");
    try_same(arena, apifaults_list(faults, arena),
             "{'faults':[{'path':'/"
             "x','count':7,'after':0,'status':500,'retryAfter':0,'delay':'0ms','drop':false}]}");
    apifaults_clear(faults);
    try_same(arena, apifaults_list(faults, arena), "{'faults':[]}");
    arena_free(arena);
    apifaults_free(faults);
}

UNIT_MAIN(cmocka_unit_test(test_take), cmocka_unit_test(test_refused),
          cmocka_unit_test(test_list_and_clear))
