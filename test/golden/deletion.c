#include "deletion.h"
#include "test/unit.h"

#include <string.h>

#define KUBERNETES "{'spec':{'provider':'kubernetes'}}"

#define GATED                                                                                      \
    "{'spec':{'analysis':{'webhooks':[{'name':'start','type':'confirm-rollout','url':'http://x'}," \
    "{'name':'promote','type':'confirm-promotion','url':'http://x'}]}}}"

#define AB                                                                                         \
    "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3,'match':[{'headers':{" \
    "'x':{'exact':'1'}}}],'sessionAffinity':{'cookieName':'stay','primaryCookieName':'keep'}}}}"

const struct story deletion_stories[] = {
    {.name = "initialise"},
    {.name = "initialise without a mesh", .canary = KUBERNETES, .bare = true},
    {.name = "promote", .image = "podinfo:2"},
    {.name = "promote in steps",
     .canary = "{'spec':{'analysis':{'stepWeightPromotion':20}}}",
     .image = "podinfo:2"},
    {.name = "roll back", .image = "podinfo:2", .metrics = "{'metrics[0]':80}"},
    {.name = "wait for the start", .canary = GATED, .image = "podinfo:2", .closed = "start"},
    {.name = "wait for the promotion", .canary = GATED, .image = "podinfo:2", .closed = "promote"},
    {.name = "a primary that does not take the promotion", .image = "podinfo:2-canary-only"},
    {.name = "blue/green",
     .canary = "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3}}}",
     .image = "podinfo:2"},
    {.name = "blue/green without a mesh", .canary = KUBERNETES, .image = "podinfo:2", .bare = true},
    {.name = "with an HPA",
     .canary = "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2',"
               "'kind':'HorizontalPodAutoscaler','name':'podinfo'}}}",
     .image = "podinfo:2"},
    {.name = "with KEDA",
     .canary = "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject',"
               "'name':'podinfo'}}}",
     .image = "podinfo:2"},
    {.name = "DaemonSet",
     .canary = "{'spec':{'targetRef':{'kind':'DaemonSet'}}}",
     .image = "podinfo:2"},
    {.name = "A/B test with cookies", .canary = AB, .image = "podinfo:2"},
    {.name = "mirror",
     .canary = "{'spec':{'analysis':{'mirror':true,'mirrorWeight':20,'sessionAffinity':{"
               "'cookieName':'stay'}}}}",
     .image = "podinfo:2"},
};
const size_t deletion_n_stories = sizeof(deletion_stories) / sizeof(deletion_stories[0]);

struct world *deletion_begin(const struct story *story, int until, int *writes)
{
    struct world *w = world_new(story->canary);

    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{"
              "'name':'podinfo'},'spec':{'minReplicas':2,'maxReplicas':5,'scaleTargetRef':{"
              "'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
    world_put(w, "scaledobjects/podinfo",
              "{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','metadata':{'name':"
              "'podinfo'},'spec':{'scaleTargetRef':{'name':'podinfo'},'triggers':[]}}");
    if (story->image) {
        world_initialise(w);
        world_push(w, story->image);
    }
    if (story->metrics)
        w->metrics = world_json(w, story->metrics);
    w->closed = story->closed ? story->closed : "";
    w->crash_at = until;
    for (int i = 0; i < DELETION_TICKS; i++) {
        const char *text = world_tick(w);
        if (w->crashed || (w->again == AGAIN_NEVER && strcmp(text, "again never\n") == 0))
            break;
        w->now_ms += w->again == AGAIN_NOW ? 0 : DELETION_STEP_MS;
        world_settle(w);
    }
    *writes = w->effects;
    w->crash_at = -1;
    return w;
}

int64_t deletion_replicas(struct world *w, const char *deployment)
{
    return json_int_at(world_get(w, arena_printf(w->arena, "deployments/%s", deployment)), -1,
                       "spec", "replicas", NULL);
}

const char *deletion_apex(struct world *w)
{
    return json_str_at(world_get(w, "services/podinfo"), "spec", "selector", "app", NULL);
}

void deletion_step(struct world *w)
{
    world_tick(w);
    w->now_ms += w->again == AGAIN_NOW ? 0 : DELETION_STEP_MS;
    world_settle(w);
}

void deletion_run(struct world *w)
{
    for (int i = 0; i < DELETION_TICKS && !w->gone; i++)
        deletion_step(w);
    if (!w->gone)
        fail_msg("the Canary is still there, phase %s, told:\n%s", world_phase(w), w->told);
}

/* The target is not at zero. */
static bool has_pods(struct world *w)
{
    struct json_object *daemonset = world_get(w, "daemonsets/podinfo");

    if (!daemonset)
        return deletion_replicas(w, "podinfo") >= 1;
    return !json_at(daemonset, "spec", "template", "spec", "nodeSelector",
                    "flagger.app/scale-to-zero", NULL);
}

void deletion_check(struct world *w, bool routed)
{
    struct json_object *route = world_get(w, "httproutes/podinfo");
    struct json_object *rules = json_at(route, "spec", "rules", NULL);

    assert_true(w->gone);
    assert_null(w->lost_route);
    assert_true(has_pods(w));
    assert_null(json_at(world_get(w, "scaledobjects/podinfo"), "metadata", "annotations",
                        "autoscaling.keda.sh/paused-replicas", NULL));
    json_object_object_foreach(w->objects, key, object)
    {
        if (json_at(object, "metadata", "ownerReferences", NULL) || strstr(key, "-primary") ||
            strstr(key, "-canary"))
            fail_msg("%s is left: %s", key, json_text_sorted(w->arena, object));
    }
    if (world_get(w, "services/podinfo"))
        assert_string_equal(deletion_apex(w), "podinfo");
    if (!routed)
        return;
    assert_int_equal(json_len(rules), 1);
    assert_string_equal(
        json_text_sorted(w->arena, json_at(json_elem(rules, 0), "backendRefs", NULL)),
        "[{\"group\":\"\",\"kind\":\"Service\",\"name\":\"podinfo\",\"port\":9898,"
        "\"weight\":100}]");
}
