#include "deletion.h"
#include "test/unit.h"

#include <string.h>

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
        if (w->crashed || (w->requeue == REQUEUE_NEVER && strcmp(text, "again never\n") == 0))
            break;
        w->now_ms += w->requeue == REQUEUE_NOW ? 0 : DELETION_STEP_MS;
        world_settle(w);
    }
    *writes = w->effects;
    w->crash_at = -1;
    return w;
}

void deletion_add_target(struct world *w, const char *name)
{
    struct json_object *other = json_copy(w->arena, world_get(w, "deployments/podinfo"));

    json_set_str(json_sub(other, "metadata"), "name", name);
    world_put(w, arena_printf(w->arena, "deployments/%s", name), json_text(w->arena, other));
    world_patch(w, arena_printf(w->arena, "deployments/%s", name),
                arena_printf(w->arena,
                             "{'spec':{'selector':{'matchLabels':{'app':'%s'}},'template':{"
                             "'metadata':{'labels':{'app':'%s'}}}}}",
                             name, name));
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

void deletion_run(struct world *w)
{
    for (int i = 0; i < DELETION_TICKS && !w->gone; i++)
        world_step(w);
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
        if (json_at(object, "metadata", "annotations", "flagger.app/pinned-template", NULL) ||
            json_at(object, "metadata", "annotations", "flagger.app/queued-templates", NULL))
            fail_msg("%s is left pinned", key);
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

void deletion_succeed(struct world *w, const char *name, const char *patch)
{
    struct json_object *spec = json_at(w->canary, "spec", NULL);

    assert_true(w->gone);
    w->canary = json_copy(
        w->arena,
        world_json(w, arena_printf(w->arena,
                                   "{'apiVersion':'flagger.app/v1beta1','kind':'Canary',"
                                   "'metadata':{'name':'%s','namespace':'test','uid':'c-%s',"
                                   "'resourceVersion':'900','generation':1}}",
                                   name, name)));
    json_set(w->canary, "spec", spec);
    w->gone = false;
    w->successor = NULL;
    w->closed = "";
    w->metrics = world_json(w, "{}");
    world_patch_canary(w, patch);
}

/* All that has an owner has the new one; what has none was there before either, or is the target's.
 */
static void check_owners(struct world *w)
{
    static const char *const ours[] = {"services/podinfo", "services/podinfo-primary",
                                       "services/podinfo-canary", "httproutes/podinfo"};

    json_object_object_foreach(w->objects, key, object)
    {
        struct json_object *owners = json_at(object, "metadata", "ownerReferences", NULL);
        const char *uid = json_str_at(json_elem(owners, 0), "uid", NULL);
        if (json_len(owners) > 1 || (uid && strcmp(uid, "c-web") != 0) ||
            (!uid && strstr(key, "-primary")))
            fail_msg("%s belongs to the wrong one: %s", key, json_text_sorted(w->arena, object));
        if (json_at(object, "metadata", "annotations", "flagger.app/handed-over-by", NULL))
            fail_msg("%s is still marked", key);
    }
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        struct json_object *one = world_get(w, ours[i]);
        if (one && !json_at(one, "metadata", "ownerReferences", NULL))
            fail_msg("%s belongs to nobody", ours[i]);
    }
}

void deletion_check_heir(struct world *w)
{
    const char *phase = world_phase(w);

    assert_true(strcmp(phase, "Initialized") == 0 || strcmp(phase, "Succeeded") == 0);
    assert_string_equal(world_image(w, "podinfo"), world_image(w, "podinfo-primary"));
    if (world_get(w, "httproutes/podinfo"))
        assert_string_equal(world_weights(w), "100/0");
    assert_string_equal(deletion_apex(w), "podinfo-primary");
    check_owners(w);
}
