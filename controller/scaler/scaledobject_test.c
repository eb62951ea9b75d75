#include "scaler/scaler.h"
#include "tick/applied.h"
#include "tick/fixture_test.h"

#define REF                                                                                        \
    "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject',"             \
    "'name':'web'%s}}}"
#define SPEC                                                                                       \
    "'minReplicaCount':2,'maxReplicaCount':5,'idleReplicaCount':0,'initialCooldownPeriod':7,"      \
    "'advanced':{'horizontalPodAutoscalerConfig':{'name':'web-hpa'},'scalingModifiers':{"          \
    "'formula':'a+b'}}"
#define SOURCE                                                                                     \
    "{'metadata':{'labels':{'a':'1','keep/b':'2','scaledobject.keda.sh/name':'web'},"              \
    "'annotations':{'autoscaling.keda.sh/paused-replicas':'0','autoscaling.keda.sh/paused':"       \
    "'true','scaledobject.keda.sh/transfer-hpa-ownership':'true','keep/c':'3'}},'spec':{" SPEC     \
    ",'scaleTargetRef':{'name':'podinfo','envSourceContainerName':'app'},'triggers':[{'type':"     \
    "'prometheus','name':'load','useCachedMetrics':true,'metadata':{'threshold':'5','query':"      \
    "'sum(x{app=~|podinfo-.*|})'}},{'type':'cpu','metadata':{'value':'50'}}]}}"
/* The copy that is made of it. */
#define COPY(labels, annotations, spec, query)                                                     \
    "{'metadata':{'annotations':{" annotations "},'labels':{" labels "},"                          \
    "'name':'web-primary','namespace':'test'},'spec':{" spec ",'scaleTargetRef':{"                 \
    "'envSourceContainerName':'app','name':'podinfo-primary'},'triggers':[{'metadata':{'query':"   \
    "'" query "','threshold':'5'},'name':'load','type':'prometheus','useCachedMetrics':true},{"    \
    "'metadata':{'value':'50'},'type':'cpu'}]}}"
#define COPY_SPEC(min, max)                                                                        \
    "'advanced':{'horizontalPodAutoscalerConfig':{'name':'web-hpa-primary'},'scalingModifiers':{"  \
    "'formula':'a+b'}},'idleReplicaCount':0,'initialCooldownPeriod':7,'maxReplicaCount':" max      \
    ",'minReplicaCount':" min
#define REWRITTEN "sum(x{app=~|podinfo-primary-.*|})"

static struct fixture with_keda(const char *more)
{
    struct arena *arena = arena_new();
    struct fixture f = fixture_new(arena_printf(arena, REF, more));

    arena_free(arena);
    return f;
}

static const struct scaler *keda(void)
{
    return scaler_find("ScaledObject");
}

static void expect_create(const char *ref, const char *expected)
{
    struct fixture f = with_keda(ref);
    const char *missing = NULL;

    fixture_put(&f, "scaledobjects/web", SOURCE);
    assert_int_equal(fixture_run(&f, keda()->reconcile_primary(f.tick, 0, &missing)), VERDICT_GO);
    assert_int_equal(f.tick->plan->first->kind, EFFECT_CREATE);
    struct json_object *body = fixture_said(f.arena, f.tick->plan->first->body);
    assert_non_null(json_at(body, "metadata", "ownerReferences", NULL));
    json_object_object_del(json_at(body, "metadata", NULL), "ownerReferences");
    json_object_object_del(body, "apiVersion");
    json_object_object_del(body, "kind");
    assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, body)), expected);
}

CASE(test_create)
{
    expect_create("", COPY("'a':'1','keep/b':'2'",
                           "'keep/c':'3','scaledobject.keda.sh/transfer-hpa-ownership':'true'",
                           COPY_SPEC("2", "5"), REWRITTEN));
    expect_create(",'primaryScalerReplicas':{'minReplicas':4,'maxReplicas':9}",
                  COPY("'a':'1','keep/b':'2'",
                       "'keep/c':'3','scaledobject.keda.sh/transfer-hpa-ownership':'true'",
                       COPY_SPEC("4", "9"), REWRITTEN));
    expect_create(",'primaryScalerQueries':{'load':'sum(y)'}",
                  COPY("'a':'1','keep/b':'2'",
                       "'keep/c':'3','scaledobject.keda.sh/transfer-hpa-ownership':'true'",
                       COPY_SPEC("2", "5"), "sum(y)"));
    expect_create(",'primaryScalerQueries':{'other':'sum(y)'}",
                  COPY("'a':'1','keep/b':'2'",
                       "'keep/c':'3','scaledobject.keda.sh/transfer-hpa-ownership':'true'",
                       COPY_SPEC("2", "5"), REWRITTEN));
}

#define WORKLOAD                                                                                   \
    "{'spec':{'scaleTargetRef':{'name':'podinfo'},'triggers':[{'type':'kubernetes-workload',"      \
    "'name':'pods','metadata':{'podSelector':'app=podinfo, tier in (web)','value':'2'}}]}}"
#define DEPLOYMENT(value)                                                                          \
    "{'spec':{'selector':{'matchLabels':{'app':'" value "','tier':'web'}},'template':{"            \
    "'metadata':{'labels':{'app':'" value "','tier':'web'}}}}}"

/* Pods of the target are those of the primary to its copy: by its labels, once it is there. */
CASE(test_selectors_of_pods)
{
    static const struct {
        const char *ref, *primary, *metadata;
    } cases[] = {
        {"", NULL, "{'podSelector':'app=podinfo-primary, tier in (web)','value':'2'}"},
        {"", DEPLOYMENT("podinfo-primary"),
         "{'podSelector':'app=podinfo-primary, tier in (web)','value':'2'}"},
        {"", DEPLOYMENT("other"), "{'podSelector':'app=other, tier in (web)','value':'2'}"},
        {",'primaryScalerTriggers':{'pods':{'podSelector':'app=mine','value':'9'},'x':{'value':'1'}"
         "}",
         NULL, "{'podSelector':'app=mine','value':'9'}"},
        {",'primaryScalerQueries':{'pods':'sum(y)'},'primaryScalerTriggers':{'pods':{'value':7}}",
         NULL, "{'podSelector':'app=podinfo-primary, tier in (web)','query':'sum(y)','value':'2'}"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = with_keda(row->ref);
        const char *missing = NULL;
        fixture_put(&f, "scaledobjects/web", WORKLOAD);
        fixture_put(&f, "deployments/podinfo", DEPLOYMENT("podinfo"));
        if (row->primary)
            fixture_put(&f, "deployments/podinfo-primary", row->primary);
        assert_int_equal(fixture_run(&f, keda()->reconcile_primary(f.tick, 0, &missing)),
                         VERDICT_GO);
        struct json_object *triggers = json_at(f.tick->plan->first->body, "spec", "triggers", NULL);
        assert_string_equal(
            fixture_quoted(
                &f, json_text_sorted(f.arena, json_at(json_elem(triggers, 0), "metadata", NULL))),
            row->metadata);
    }
}

/* What the one patch (or none, "") makes of the copy. */
static void expect_update(const char *live, int floor, const char *patch)
{
    struct fixture f = with_keda("");
    const char *missing = NULL;

    fixture_put(&f, "scaledobjects/web", SOURCE);
    fixture_put(&f, "scaledobjects/web-primary", live);
    /* as it was copied before */
    json_set_str(
        json_sub(json_sub(json_at(f.objects, "scaledobjects/web-primary", NULL), "metadata"),
                 "annotations"),
        APPLIED, "{\"metadata\":{\"annotations\":{\"keep/c\":0},\"labels\":{\"keep/b\":0}}}");
    assert_int_equal(fixture_run(&f, keda()->reconcile_primary(f.tick, floor, &missing)),
                     VERDICT_GO);
    assert_int_equal(f.tick->plan->count, *patch ? 1 : 0);
    if (*patch)
        assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)), patch);
}

CASE(test_update)
{
    expect_update(COPY("'scaledobject.keda.sh/name':'web-primary','keep/b':'2'", "'keep/c':'3'",
                       COPY_SPEC("2", "5"), REWRITTEN),
                  0, "");
    expect_update(COPY("'mine':'1'", "'mine':'2'", COPY_SPEC("1", "5") ",'fallback':{'replicas':1}",
                       REWRITTEN),
                  0,
                  "{'metadata':{'annotations':{'keep/c':'3'},'labels':{'keep/b':'2'}},'spec':{"
                  "'fallback':null,'minReplicaCount':2}}");
}

CASE(test_the_primary_is_never_paused)
{
    expect_update(COPY("'keep/b':'2'",
                       "'keep/c':'3','autoscaling.keda.sh/paused-replicas':'0',"
                       "'autoscaling.keda.sh/paused-scale-out':'true',"
                       "'autoscaling.keda.sh/paused-scale-in':'true',"
                       "'autoscaling.keda.sh/paused':'true'",
                       COPY_SPEC("2", "5"), REWRITTEN),
                  0,
                  "{'metadata':{'annotations':{'autoscaling.keda.sh/paused':null,"
                  "'autoscaling.keda.sh/paused-replicas':null,"
                  "'autoscaling.keda.sh/paused-scale-out':null}}}");
}

CASE(test_floor)
{
    expect_update(COPY("'keep/b':'2'", "'keep/c':'3'", COPY_SPEC("2", "5"), REWRITTEN), 4,
                  "{'metadata':{},'spec':{'idleReplicaCount':null,'minReplicaCount':4}}");
    expect_update(COPY("'keep/b':'2'", "'keep/c':'3'", COPY_SPEC("2", "5"), REWRITTEN), 40,
                  "{'metadata':{},'spec':{'idleReplicaCount':null,'minReplicaCount':5}}");
}

CASE(test_pause_and_resume)
{
    struct fixture f = with_keda("");
    bool paused = false;

    fixture_put(&f, "scaledobjects/web",
                "{'metadata':{'annotations':{'mine':'1'}},'spec':{'new':'kept'}}");
    assert_int_equal(fixture_run(&f, keda()->is_paused(f.tick, &paused)), VERDICT_GO);
    assert_false(paused);
    assert_int_equal(fixture_run(&f, keda()->pause_target(f.tick)), VERDICT_GO);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                        "{'metadata':{'annotations':{'autoscaling.keda.sh/paused-replicas':'0'}}}");
    assert_int_equal(fixture_run(&f, keda()->resume_target(f.tick)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
    /* one that has no annotations at all */
    fixture_put(&f, "scaledobjects/web", "{'spec':{}}");
    assert_int_equal(fixture_run(&f, keda()->resume_target(f.tick)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);

    fixture_put(&f, "scaledobjects/web", SOURCE);
    assert_int_equal(fixture_run(&f, keda()->is_paused(f.tick, &paused)), VERDICT_GO);
    assert_true(paused);
    assert_int_equal(fixture_run(&f, keda()->pause_target(f.tick)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
    assert_int_equal(fixture_run(&f, keda()->resume_target(f.tick)), VERDICT_GO);
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 0)),
        "{'metadata':{'annotations':{'autoscaling.keda.sh/paused-replicas':null}}}");
}

CASE(test_missing)
{
    struct fixture f = with_keda("");
    const char *missing = NULL;
    bool paused = false;

    assert_int_equal(fixture_run(&f, keda()->reconcile_primary(f.tick, 0, &missing)), VERDICT_STOP);
    assert_string_equal(missing, "Keda ScaledObject web.test get query error: not found");
    /* it must keep nothing from being scaled down */
    assert_int_equal(fixture_run(&f, keda()->pause_target(f.tick)), VERDICT_GO);
    assert_int_equal(fixture_run(&f, keda()->resume_target(f.tick)), VERDICT_GO);
    assert_int_equal(fixture_run(&f, keda()->is_paused(f.tick, &paused)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
    assert_true(paused);
}

CASE(test_replicas)
{
    static const struct {
        const char *source;
        int start, max;
    } cases[] = {
        {"{'spec':{}}", 1, 100},
        {"{'spec':{'minReplicaCount':0,'maxReplicaCount':3}}", 1, 3},
        {"{'spec':{'minReplicaCount':4,'maxReplicaCount':8}}", 4, 8},
    };
    struct fixture f = with_keda("");
    int replicas = 0;

    EACH_ROW (row, cases) {
        fixture_put(&f, "scaledobjects/web", row->source);
        assert_int_equal(fixture_run(&f, keda()->min_replicas(f.tick, &replicas)), VERDICT_GO);
        assert_int_equal(replicas, row->start);
        assert_int_equal(fixture_run(&f, keda()->primary_max(f.tick, &replicas)), VERDICT_GO);
        assert_int_equal(replicas, row->max);
    }
}
