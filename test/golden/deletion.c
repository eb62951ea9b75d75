#include "deletion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

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
