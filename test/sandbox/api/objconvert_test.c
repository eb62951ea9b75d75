#include "api/objconvert.h"
#include "object/try.h"

#define KEPT "\"autoscaling.alpha.kubernetes.io/metrics\""

/* Each case converts there and back again. */
static void test_hpa(void **state)
{
    static const struct {
        const char *v2, *v1;
    } cases[] = {
        {"{\"metadata\":{},\"spec\":{\"maxReplicas\":3,\"metrics\":[{\"type\":\"Resource\","
         "\"resource\":{\"name\":"
         "\"cpu\",\"target\":{\"type\":\"Utilization\",\"averageUtilization\":70}}}]}}",
         "{\"metadata\":{},\"spec\":{\"maxReplicas\":3,\"targetCPUUtilizationPercentage\":70}}"},
        {"{\"metadata\":{\"annotations\":{}},\"spec\":{\"metrics\":[{\"type\":\"Pods\"}]}}",
         "{\"metadata\":{\"annotations\":{" KEPT
         ":\"[{\\\"type\\\":\\\"Pods\\\"}]\"}},\"spec\":{}}"},
        {"{\"metadata\":{},\"spec\":{}}", "{\"metadata\":{},\"spec\":{}}"},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *obj = try_json(arena, cases[i].v2);
        objconvert_hpa(obj, "autoscaling/v2", "autoscaling/v1");
        try_same(arena, obj, cases[i].v1);
        objconvert_hpa(obj, "autoscaling/v1", "autoscaling/v2");
        try_same(arena, obj, cases[i].v2);
        objconvert_hpa(obj, "autoscaling/v2beta2", "autoscaling/v2");
        try_same(arena, obj, cases[i].v2);
    }
}

static void test_hpa_status(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *obj = try_json(
        arena, "{\"metadata\":{},\"spec\":{},\"status\":{\"currentMetrics\":[{\"type\":"
               "\"Resource\",\"resource\":"
               "{\"name\":\"cpu\",\"current\":{\"averageUtilization\":12}}}],\"conditions\":[]}}");
    objconvert_hpa(obj, "autoscaling/v2", "autoscaling/v1");
    try_same(arena, json_at(obj, "status", NULL), "{\"currentCPUUtilizationPercentage\":12}");
}

static void test_event(void **state)
{
    static const char core[] =
        "{\"involvedObject\":{\"name\":\"x\"},\"message\":\"m\",\"count\":2,\"reason\":\"R\"}";
    static const char new[] =
        "{\"regarding\":{\"name\":\"x\"},\"note\":\"m\",\"deprecatedCount\":2,\"reason\":\"R\"}";
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *obj = try_json(arena, core);
    objconvert_event(obj, "v1", "events.k8s.io/v1");
    try_same(arena, obj, new);
    objconvert_event(obj, "events.k8s.io/v1", "v1");
    try_same(arena, obj, core);
    objconvert_event(obj, "v1", "v1");
    try_same(arena, obj, core);
}

UNIT_MAIN(cmocka_unit_test(test_hpa), cmocka_unit_test(test_hpa_status),
          cmocka_unit_test(test_event))
