#include "scaler/scaler.h"
#include "tick/fixture_test.h"

#define REF                                                                                        \
    "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler',"    \
    "'name':'web'%s}}}"
#define SOURCE                                                                                     \
    "{'metadata':{'labels':{'a':'1','keep/b':'2','x.toolkit.fluxcd.io/y':'3'}},'spec':{"           \
    "'minReplicas':2,'maxReplicas':4,'metrics':[{'type':'Resource'}],'scaleTargetRef':{"           \
    "'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}"

static struct fixture with_hpa(const char *more)
{
    struct arena *arena = arena_new();
    struct fixture f = fixture_new(arena_printf(arena, REF, more));

    arena_free(arena);
    return f;
}

static const struct scaler *hpa(void)
{
    return scaler_find("HorizontalPodAutoscaler");
}

CASE(test_create)
{
    struct fixture f = with_hpa(",'primaryScalerReplicas':{'minReplicas':5,'maxReplicas':9}");
    const char *missing = NULL;

    fixture_put(&f, "horizontalpodautoscalers/web", SOURCE);
    assert_int_equal(fixture_run(&f, hpa()->reconcile_primary(f.tick, 0, &missing)), VERDICT_GO);
    struct json_object *body = fixture_said(f.arena, f.tick->plan->first->body);
    json_object_object_del(json_at(body, "metadata", NULL), "ownerReferences");
    assert_string_equal(
        fixture_quoted(&f, json_text_sorted(f.arena, body)),
        "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'labels':{"
        "'a':'1','keep/b':'2'},'name':'web-primary','namespace':'test'},'spec':{'maxReplicas':9,"
        "'metrics':[{'type':'Resource'}],'minReplicas':5,'scaleTargetRef':{'apiVersion':'apps/v1',"
        "'kind':'Deployment','name':'podinfo-primary'}}}");
}

CASE(test_update)
{
    struct fixture f = with_hpa("");
    const char *missing = NULL;

    fixture_put(&f, "horizontalpodautoscalers/web", SOURCE);
    fixture_put(&f, "horizontalpodautoscalers/web-primary",
                "{'metadata':{'labels':{'mine':'1'}},'spec':{'minReplicas':1,'maxReplicas':4,"
                "'behavior':{'x':1},'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment',"
                "'name':'podinfo-primary'}}}");
    assert_int_equal(fixture_run(&f, hpa()->reconcile_primary(f.tick, 0, &missing)), VERDICT_GO);
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 0)),
        "{'metadata':{'labels':{'keep/b':'2'}},'spec':{'behavior':null,'metrics':[{'type':"
        "'Resource'}],'minReplicas':2}}");
}

/* Flagger finds an annotated HPA changed at every tick of a promotion, and loses what it wrote. */
CASE(test_metadata_is_copied_once)
{
    struct fixture f = with_hpa("");
    const char *missing = NULL;

    fixture_put(&f, "horizontalpodautoscalers/web",
                "{'metadata':{'annotations':{'keep/c':'4','other':'5'},'labels':{'a':'1'}},"
                "'spec':{'maxReplicas':4,'scaleTargetRef':{'name':'podinfo'}}}");
    fixture_put(&f, "horizontalpodautoscalers/web-primary",
                "{'metadata':{'annotations':{'mine':'1'}},'spec':{'maxReplicas':4,"
                "'scaleTargetRef':{'name':'podinfo-primary'}}}");
    assert_int_equal(fixture_run(&f, hpa()->reconcile_primary(f.tick, 0, &missing)), VERDICT_GO);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                        "{'metadata':{'annotations':{'keep/c':'4'}}}");
    json_set(f.objects, "horizontalpodautoscalers/web-primary",
             json_merge(f.arena, json_at(f.objects, "horizontalpodautoscalers/web-primary", NULL),
                        f.tick->plan->first->body));
    assert_int_equal(fixture_run(&f, hpa()->reconcile_primary(f.tick, 0, &missing)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
}

CASE(test_floor)
{
    static const struct {
        int floor;
        const char *patch;
    } cases[] = {
        {0, "{'metadata':{},'spec':{'minReplicas':2}}"},
        {2, "{'metadata':{},'spec':{'minReplicas':2}}"},
        {3, "{'metadata':{},'spec':{'minReplicas':3}}"},
        {9, "{'metadata':{},'spec':{'minReplicas':4}}"}, /* no more than the maximum */
    };
    struct fixture f = with_hpa("");
    const char *missing = NULL;

    fixture_put(&f, "horizontalpodautoscalers/web", SOURCE);
    fixture_put(&f, "horizontalpodautoscalers/web-primary",
                "{'metadata':{'labels':{'keep/b':'2'}},'spec':{'minReplicas':1,'maxReplicas':4,"
                "'metrics':[{'type':'Resource'}],'scaleTargetRef':{'apiVersion':'apps/v1',"
                "'kind':'Deployment','name':'podinfo-primary'}}}");
    EACH_ROW (row, cases) {
        assert_int_equal(fixture_run(&f, hpa()->reconcile_primary(f.tick, row->floor, &missing)),
                         VERDICT_GO);
        assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)), row->patch);
    }
}

CASE(test_missing)
{
    struct fixture f = with_hpa("");
    const char *missing = NULL;

    assert_int_equal(fixture_run(&f, hpa()->reconcile_primary(f.tick, 0, &missing)), VERDICT_STOP);
    assert_string_equal(missing, "HorizontalPodAutoscaler web.test get query error: not found");
}

CASE(test_replicas_to_start_with)
{
    struct fixture f = with_hpa("");
    int replicas = 0;

    fixture_put(&f, "horizontalpodautoscalers/web", SOURCE);
    assert_int_equal(fixture_run(&f, hpa()->min_replicas(f.tick, &replicas)), VERDICT_GO);
    assert_int_equal(replicas, 2);
    fixture_put(&f, "horizontalpodautoscalers/web", "{'spec':{'maxReplicas':4}}");
    assert_int_equal(fixture_run(&f, hpa()->min_replicas(f.tick, &replicas)), VERDICT_GO);
    assert_int_equal(replicas, 1);
    assert_int_equal(fixture_run(&f, hpa()->primary_max(f.tick, &replicas)), VERDICT_GO);
    assert_int_equal(replicas, 4);
    assert_int_equal(fixture_run(&f, hpa()->pause_target(f.tick)), VERDICT_GO);
    assert_int_equal(fixture_run(&f, hpa()->resume_target(f.tick)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
}
