/* Autoscalers of a release: the primary's copy follows its source, and KEDA is paused in time. */
#include <string.h>

#include "base/yaml.h"
#include "object/schema.h"
#include "test/unit.h"
#include "world.h"

#define REF(version, kind)                                                                         \
    "{'spec':{'autoscalerRef':{'apiVersion':'" version "','kind':'" kind "','name':'podinfo'}}}"
#define HPA  REF("autoscaling/v2beta2", "HorizontalPodAutoscaler")
#define KEDA REF("keda.sh/v1alpha1", "ScaledObject")

static struct world *with_hpa(void)
{
    struct world *w = world_new(HPA);

    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicas':2,'maxReplicas':5,"
              "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
    return w;
}

static struct world *with_keda(void)
{
    struct world *w = world_new(KEDA);

    world_put(w, "scaledobjects/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':2,'maxReplicaCount':5,"
              "'scaleTargetRef':{'name':'podinfo'},'triggers':[{'type':'prometheus','metadata':{"
              "'serverAddress':'http://p','threshold':'5','query':'x{app=~`podinfo-.*`}'}}]}}");
    return w;
}

/* A new revision at 20 %, everything ready. */
static struct world *analysing(struct world *w)
{
    world_initialise(w);
    world_push(w, "podinfo:2");
    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_settle(w);
    assert_string_equal(world_weights(w), "80/20");
    return w;
}

static void test_hpa_is_copied(void **state)
{
    struct world *w = with_hpa();

    world_initialise(w);
    struct json_object *copy = world_get(w, "horizontalpodautoscalers/podinfo-primary");
    assert_string_equal(json_str_at(copy, "apiVersion", NULL), "autoscaling/v2");
    assert_string_equal(json_text_sorted(w->arena, json_at(copy, "spec", NULL)),
                        "{\"maxReplicas\":5,\"minReplicas\":2,\"scaleTargetRef\":{\"apiVersion\":"
                        "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"podinfo-primary\"}}");
    world_free(w);
}

/* Not only with the next promotion. */
static void test_edit_reaches_the_primary_of_an_idle_canary(void **state)
{
    struct world *w = with_hpa();

    world_initialise(w);
    world_patch(w, "horizontalpodautoscalers/podinfo",
                "{'spec':{'maxReplicas':9,'behavior':{'scaleDown':{'selectPolicy':'Min'}}}}");
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{\"behavior\":{"
                   "\"scaleDown\":{\"selectPolicy\":\"Min\"}},\"maxReplicas\":9}}\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_patch_canary(w, "{'spec':{'autoscalerRef':{'primaryScalerReplicas':{'minReplicas':3}}}}");
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{"
                   "\"minReplicas\":3}}\n"
                   "status\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_edit_reaches_the_primary_in_mid_analysis(void **state)
{
    struct world *w = analysing(with_hpa());

    world_patch(w, "horizontalpodautoscalers/podinfo", "{'spec':{'maxReplicas':9}}");
    w->due = false;
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{"
                   "\"maxReplicas\":9}}\n"
                   "again now\n");
    w->due = true;
    expect_tick(w, "patch httproutes test/podinfo weights 60/40\n"
                   "status canaryWeight=40\n"
                   "metric request-success-rate 100\n"
                   "metric request-duration 0.05\n"
                   "weights 60/40\n"
                   "event Normal Progressing: Advance podinfo.test canary weight 40\n"
                   "again interval, stepped\n");
    world_free(w);
}

/* Pausing takes the pods: only when traffic has gone from the target. */
static void test_keda_is_paused_when_the_traffic_is_gone(void **state)
{
    struct world *w = with_keda();

    expect_tick(w, "create services test/podinfo-canary -> app=podinfo\n"
                   "create services test/podinfo-primary -> app=podinfo-primary\n"
                   "create deployments test/podinfo-primary\n"
                   "create scaledobjects test/podinfo-primary\n"
                   "status phase=Initializing [Promoted=Unknown]\n"
                   "event Normal Initializing: all the metrics providers are available!\n"
                   "again now\n");
    expect_tick(w, "create services test/podinfo -> app=podinfo-primary\n"
                   "create httproutes test/podinfo weights 100/0\n"
                   "again now\n");
    expect_tick(w, "status phase=Initialized canaryWeight=0 failedChecks=0 iterations=0 "
                   "lastAppliedSpec=dccf7d545 provider=gatewayapi:v1 serviceName=podinfo "
                   "trackedConfigs={} lastPromotedSpec=dccf7d545 [Promoted=True Drained=False]\n"
                   "event Normal Initialized: Initialization done! podinfo.test\n"
                   "alert info+: New Deployment detected, initialization completed.\n"
                   "again now\n");
    expect_tick(w, "again never, within 60 s\n");
    world_free(w);
}

static void test_keda_release(void **state)
{
    struct world *w = with_keda();

    world_initialise(w);
    world_push(w, "podinfo:2");
    /* resumed before it is scaled up: KEDA would take the pods again */
    expect_tick(w, "patch scaledobjects test/podinfo {\"metadata\":{\"annotations\":{"
                   "\"autoscaling.keda.sh/paused-replicas\":null}}}\n"
                   "patch deployments test/podinfo {\"spec\":{\"replicas\":2}}\n"
                   "status phase=Progressing lastAppliedSpec=597d8f496b [Promoted=Unknown]\n"
                   "weights 100/0\n"
                   "event Normal Progressing: New revision detected! Scaling up podinfo.test\n"
                   "alert info+: New revision detected, progressing canary analysis.\n"
                   "again interval, stepped\n");
    /* from 50 % on the primary has to grow first */
    for (int i = 0; i < 12 && strcmp(world_phase(w), "Finalising") != 0; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_string_equal(world_phase(w), "Finalising");
    w->now_ms += 60000;
    expect_tick(
        w, "patch scaledobjects test/podinfo "
           "{\"metadata\":{\"annotations\":{\"autoscaling.keda.sh/paused-replicas\":\"0\"}}}\n"
           "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
           "status phase=Succeeded lastPromotedSpec=597d8f496b [Promoted=True PrimaryScaled=True]\n"
           "weights 100/0\n"
           "outcome success completed\n"
           "event Normal Succeeded: Promotion completed! Scaling down podinfo.test\n"
           "alert info: Canary analysis completed successfully, promotion finished.\n"
           "again now, stepped\n");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    world_free(w);
}

static void test_keda_rollback(void **state)
{
    struct world *w = analysing(with_keda());

    w->metrics = world_json(w, "{'metrics[0]':1}");
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(json_str_at(world_get(w, "scaledobjects/podinfo"), "metadata",
                                    "annotations", "autoscaling.keda.sh/paused-replicas", NULL),
                        "0");
    assert_int_equal(json_int_at(world_get(w, "deployments/podinfo"), 1, "spec", "replicas", NULL),
                     0);
    world_free(w);
}

/* A person, or a ScaledObject that was made anew without the annotation. */
static void test_keda_is_paused_again_while_idle(void **state)
{
    struct world *w = with_keda();

    world_initialise(w);
    world_patch(w, "scaledobjects/podinfo", "{'metadata':{'annotations':null}}");
    world_settle(w);
    assert_int_equal(json_int_at(world_get(w, "deployments/podinfo"), 0, "spec", "replicas", NULL),
                     2);
    expect_tick(w, "patch scaledobjects test/podinfo {\"metadata\":{\"annotations\":{"
                   "\"autoscaling.keda.sh/paused-replicas\":\"0\"}}}\n"
                   "again now\n");
    assert_int_equal(json_int_at(world_get(w, "deployments/podinfo"), 1, "spec", "replicas", NULL),
                     0);
    expect_tick(w, "again never\n");
    world_free(w);
}

static void test_a_paused_primary_is_resumed(void **state)
{
    struct world *w = with_keda();

    world_initialise(w);
    world_patch(w, "scaledobjects/podinfo-primary",
                "{'metadata':{'annotations':{'autoscaling.keda.sh/paused-replicas':'0'}}}");
    expect_tick(w, "patch scaledobjects test/podinfo-primary {\"metadata\":{\"annotations\":{"
                   "\"autoscaling.keda.sh/paused-replicas\":null}}}\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}

/* KEDA may go down to zero where there is no load. Who is at zero gets nothing, and it ends. */
static void test_keda_scales_the_canary_to_zero(void **state)
{
    struct world *w = analysing(with_keda());

    world_patch(w, "scaledobjects/podinfo", "{'spec':{'minReplicaCount':0}}");
    world_tick(w); /* the copy follows */
    world_patch(w, "deployments/podinfo", "{'spec':{'replicas':0}}");
    world_settle(w);
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "patch deployments test/podinfo {\"spec\":{\"replicas\":1}}\n"
                   "status canaryWeight=0 failedChecks=1\n"
                   "weights 100/0\n"
                   "event Warning Progressing: Halt podinfo.test advancement podinfo.test was "
                   "scaled to zero by its ScaledObject, starting it again\n"
                   "again interval, stepped\n");
    world_patch(w, "deployments/podinfo", "{'spec':{'replicas':0}}");
    world_settle(w);
    world_tick(w);
    assert_int_equal(world_status_int(w, "failedChecks"), 2);
    world_run(w);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

/* --- the primary that an autoscaler has shrunk
 * --------------------------------------------------------- */

static int replicas_of(struct world *w, const char *deployment)
{
    struct json_object *object = world_get(w, arena_printf(w->arena, "deployments/%s", deployment));

    return (int)json_int_at(object, 0, "spec", "replicas", NULL);
}

/* All traffic needs ten pods; at 50 % the primary has five of them left. */
static struct world *half(const char *patch)
{
    struct world *w = world_new(HPA);

    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicas':1,'maxReplicas':12,"
              "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
    w->load = 10;
    world_patch_canary(w, patch);
    world_initialise(w);
    assert_int_equal(replicas_of(w, "podinfo-primary"), 10);
    world_push(w, "podinfo:2");
    for (int i = 0; i < 9 && strcmp(world_weights(w), "50/50") != 0; i++) {
        world_tick(w);
        world_settle(w);
    }
    world_settle(w);
    assert_string_equal(world_weights(w), "50/50");
    assert_int_equal(replicas_of(w, "podinfo-primary"), 5);
    w->now_ms += 60000;
    return w;
}

#define HOOK                                                                                       \
    "{'spec':{'analysis':{'webhooks':[{'name':'back','type':'rollback','url':'http://x'}]}}}"

static void test_rollback_waits_for_the_primary(void **state)
{
    struct world *w = half(HOOK);

    /* The decision first: nobody needs to say it again. */
    w->open = "back";
    expect_tick(w, "status capacity={\"replicas\":10} [Promoted=Unknown PrimaryScaled=False]\n"
                   "event Warning Progressing: Rollback check back passed\n"
                   "event Warning Progressing: Rolling back podinfo.test manual webhook invoked\n"
                   "alert warn: Rolling back manual webhook invoked\n"
                   "event Normal Progressing: Waiting until podinfo-primary.test has 10 replicas "
                   "for all traffic, it has 5\n"
                   "again now, stepped\n");
    w->open = "";
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{"
                   "\"minReplicas\":10}}\n"
                   "patch deployments test/podinfo-primary {\"spec\":{\"replicas\":10}}\n"
                   "again now\n");
    assert_int_equal(replicas_of(w, "podinfo-primary"), 10);
    expect_tick(
        w, "patch httproutes test/podinfo weights 100/0\n"
           "status phase=Failed canaryWeight=0 [Promoted=False PrimaryScaled=True Drained=False]\n"
           "weights 100/0\n"
           "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
           "outcome failure completed\n"
           "again now\n");
    /* The autoscaler still measures half of the load: the floor keeps the pods. */
    w->measured = 50;
    world_settle(w);
    assert_int_equal(replicas_of(w, "podinfo-primary"), 10);
    w->now_ms += 30000;
    expect_tick(w, "again never, within 30 s\n");
    w->now_ms += 90000;
    expect_tick(w, "patch deployments test/podinfo {\"spec\":{\"replicas\":0}}\n"
                   "status capacity=null [Promoted=False]\n"
                   "again now\n");
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{"
                   "\"minReplicas\":1}}\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    assert_int_equal(replicas_of(w, "podinfo-primary"), 10);
    world_free(w);
}

/* While it waits nothing else of the release happens, whatever wakes it. */
static void test_rollback_does_not_wait_for_ever(void **state)
{
    struct world *w = half(HOOK);

    w->open = "back";
    w->room = 7;
    world_tick(w);
    world_tick(w);
    world_settle(w);
    w->now_ms += 20000;
    expect_tick(w, "again interval, within 40 s\n");
    w->due = false;
    expect_tick(w, "again interval, within 40 s\n");
    w->now_ms += 40000;
    expect_tick(
        w, "patch httproutes test/podinfo weights 100/0\n"
           "status phase=Failed canaryWeight=0 [Promoted=False PrimaryScaled=True Drained=False]\n"
           "event Warning Progressing: podinfo-primary.test has 7 of 10 replicas, routing all "
           "traffic to it\n"
           "weights 100/0\n"
           "event Warning Failed: Canary failed! Scaling down podinfo.test\n"
           "outcome failure completed\n"
           "again now\n");
    world_free(w);
}

static void test_the_deadline_is_a_bound_as_well(void **state)
{
    struct world *w =
        half("{'spec':{'progressDeadlineSeconds':15,'analysis':{'webhooks':[{'name':'back','type':"
             "'rollback','url':'http://x'}]}}}");

    w->open = "back";
    w->room = 7;
    world_tick(w);
    world_tick(w);
    world_settle(w);
    w->now_ms += 14000;
    expect_tick(w, "again interval, within 1 s\n");
    /* world.c wants a minute: what it could have waited for is another Canary's deadline */
    w->load = 0;
    w->now_ms += 1000;
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    world_free(w);
}

/* Waiting for the primary would only lose the requests that the canary does not answer. */
static void test_no_waiting_where_the_canary_does_not_answer(void **state)
{
    static const char *const ends[] = {
        "{'status':{'availableReplicas':0}}",
        "{'status':{'conditions':[{'type':'Progressing','status':'False','reason':"
        "'ProgressDeadlineExceeded'}]}}",
        "{'spec':{'replicas':0},'status':{'replicas':0,'updatedReplicas':0,"
        "'availableReplicas':0}}"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct world *w = half(HOOK);
        w->open = "back";
        world_tick(w);
        world_tick(w);
        assert_string_equal(world_phase(w), "Progressing");
        assert_string_equal(world_weights(w), "50/50");
        w->load = 0; /* what follows is checked here */
        world_patch(w, "deployments/podinfo", ends[i]);
        world_patch(w, "deployments/podinfo", "{'status':{'observedGeneration':99}}");
        world_tick(w);
        assert_string_equal(world_phase(w), "Failed");
        assert_string_equal(world_weights(w), "100/0");
        world_free(w);
    }
}

static void test_a_small_share_goes_back_at_once(void **state)
{
    struct world *w = half("{'spec':{'analysis':{'webhooks':[{'name':'back','type':'rollback',"
                           "'url':'http://x'}]}}}");

    world_patch_canary(w, "{'status':{'canaryWeight':9}}");
    world_patch(w, "httproutes/podinfo",
                "{'spec':{'rules':[{'backendRefs':[{'name':'podinfo-primary','port':9898,'weight':"
                "91,'group':'','kind':'Service'},{'name':'podinfo-canary','port':9898,'weight':9,"
                "'group':'','kind':'Service'}],'matches':[{'path':{'type':'PathPrefix','value':"
                "'/'}}]}]}}");
    w->open = "back";
    w->routed = 9;
    world_tick(w);
    if (strcmp(world_phase(w), "Failed") != 0)
        world_tick(w); /* the route was put right first */
    assert_string_equal(world_phase(w), "Failed");
    assert_null(strstr(w->told, "Waiting until"));
    world_free(w);
}

static void test_another_revision_waits_as_well(void **state)
{
    struct world *w = half("{}");

    world_push(w, "podinfo:3");
    world_patch(w, "deployments/podinfo", "{'status':{'observedGeneration':1}}");
    expect_tick(w, "status capacity={\"replicas\":10} [Promoted=Unknown PrimaryScaled=False]\n"
                   "event Normal Progressing: Waiting until podinfo-primary.test has 10 replicas "
                   "for all traffic, it has 5\n"
                   "again now\n");
    world_run(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
    assert_non_null(strstr(w->told, "New revision detected! Restarting analysis for podinfo.test"));
    world_free(w);
}

static void test_promotion_waits_for_the_primary(void **state)
{
    struct world *w = half("{}");

    w->due = true;
    while (!world_is_in(w, "Promoting")) {
        world_tick(w);
        world_settle(w);
    }
    expect_tick(w, "status capacity={\"replicas\":10} [Promoted=Unknown PrimaryScaled=False]\n"
                   "event Normal Promoting: Waiting until podinfo-primary.test has 10 replicas for "
                   "all traffic, it has 5\n"
                   "again now, stepped\n");
    w->due = false;
    expect_tick(w, "patch horizontalpodautoscalers test/podinfo-primary {\"spec\":{"
                   "\"minReplicas\":10}}\n"
                   "patch deployments test/podinfo-primary {\"spec\":{\"replicas\":10}}\n"
                   "again now\n");
    expect_tick(w, "patch httproutes test/podinfo weights 100/0\n"
                   "status phase=Finalising canaryWeight=0 [Promoted=Unknown PrimaryScaled=True "
                   "Drained=False]\n"
                   "event Normal Promoting: Routing all traffic to primary\n"
                   "weights 100/0\n"
                   "again interval, within 120 s\n");
    world_free(w);
}

/* A primary that breaks while it grows is a promotion that failed. */
static void test_promotion_to_a_primary_that_breaks_meanwhile(void **state)
{
    struct world *w = half("{}");

    world_tick(w);
    world_settle(w);
    world_tick(w);
    world_tick(w);
    world_patch(w, "deployments/podinfo-primary",
                "{'status':{'observedGeneration':99,'availableReplicas':0,'conditions':[{'type':"
                "'Progressing','status':'False','reason':'ProgressDeadlineExceeded'}]}}");
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "0/100");
    world_free(w);
}

/* No more than the autoscaler may have. */
static void test_the_maximum_is_enough(void **state)
{
    struct world *w = half(HOOK);

    world_patch_canary(w, "{'spec':{'autoscalerRef':{'primaryScalerReplicas':{'maxReplicas':5}}}}");
    world_patch(w, "horizontalpodautoscalers/podinfo", "{'spec':{'maxReplicas':5}}");
    world_tick(w);
    w->open = "back";
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_null(strstr(w->told, "Waiting until"));
    world_free(w);
}

/* The floor of one release does not grow with the next one. */
static void test_the_next_rollback_asks_for_no_more(void **state)
{
    struct world *w = half(HOOK);

    world_patch(w, "horizontalpodautoscalers/podinfo", "{'spec':{'maxReplicas':50}}");
    w->open = "back";
    for (int i = 0; i < 6 && strcmp(world_phase(w), "Failed") != 0; i++) {
        world_tick(w);
        world_settle(w);
    }
    w->open = "";
    world_push(w, "podinfo:3");
    for (int i = 0; i < 9 && strcmp(world_weights(w), "50/50") != 0; i++) {
        world_tick(w);
        world_settle(w);
    }
    assert_int_equal(replicas_of(w, "podinfo-primary"), 10);
    w->open = "back";
    world_tick(w);
    assert_string_equal(world_phase(w), "Failed");
    assert_string_equal(world_weights(w), "100/0");
    world_free(w);
}

/* What is written is a ScaledObject by KEDA's own schema. */
static void test_the_copy_fits_the_schema(void **state)
{
    struct world *w = with_keda();
    struct json_object *docs = NULL;
    struct schema *schema = NULL;
    struct causes causes = {.arena = w->arena};
    struct schema_paths unknown = {0};
    struct errinfo ei;

    if (yaml_parse_file(w->arena, "../shared/crds/keda.yaml", JSON_MAX_BYTES, &docs, &ei)) {
        world_free(w);
        skip();
    }
    struct json_object *versions = json_at(json_elem(docs, 0), "spec", "versions", NULL);
    assert_string_equal(json_str_at(json_elem(versions, 0), "name", NULL), "v1alpha1");
    assert_int_equal(
        schema_compile(json_at(json_elem(versions, 0), "schema", "openAPIV3Schema", NULL), &schema,
                       &ei),
        ERR_OK);
    world_patch(w, "scaledobjects/podinfo",
                "{'spec':{'pollingInterval':5,'cooldownPeriod':6,'idleReplicaCount':1,"
                "'initialCooldownPeriod':7,'advanced':{'horizontalPodAutoscalerConfig':{'name':'h'"
                "},'scalingModifiers':{'formula':'a'}},'fallback':{'failureThreshold':1,"
                "'replicas':2}}}");
    world_initialise(w);
    struct json_object *copy = world_get(w, "scaledobjects/podinfo-primary");
    schema_prune(schema, w->arena, copy, &unknown);
    assert_int_equal(unknown.count, 0);
    if (!schema_validate(schema, copy, &causes))
        fail_msg("%s", cause_text(&causes));
    schema_free(schema);
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_hpa_is_copied),
          cmocka_unit_test(test_edit_reaches_the_primary_of_an_idle_canary),
          cmocka_unit_test(test_edit_reaches_the_primary_in_mid_analysis),
          cmocka_unit_test(test_keda_is_paused_when_the_traffic_is_gone),
          cmocka_unit_test(test_keda_release), cmocka_unit_test(test_keda_rollback),
          cmocka_unit_test(test_keda_is_paused_again_while_idle),
          cmocka_unit_test(test_a_paused_primary_is_resumed),
          cmocka_unit_test(test_keda_scales_the_canary_to_zero),
          cmocka_unit_test(test_rollback_waits_for_the_primary),
          cmocka_unit_test(test_rollback_does_not_wait_for_ever),
          cmocka_unit_test(test_the_deadline_is_a_bound_as_well),
          cmocka_unit_test(test_no_waiting_where_the_canary_does_not_answer),
          cmocka_unit_test(test_a_small_share_goes_back_at_once),
          cmocka_unit_test(test_another_revision_waits_as_well),
          cmocka_unit_test(test_promotion_waits_for_the_primary),
          cmocka_unit_test(test_promotion_to_a_primary_that_breaks_meanwhile),
          cmocka_unit_test(test_the_maximum_is_enough),
          cmocka_unit_test(test_the_next_rollback_asks_for_no_more),
          cmocka_unit_test(test_the_copy_fits_the_schema))
