#include "cluster/hpa.h"

#include <string.h>

#include "cluster/meta.h"

int64_t hpa_wanted(int64_t present, int64_t min, int64_t max)
{
    if (present == 0)
        return 0;
    if (present < min)
        return min;
    return present > max ? max : present;
}

static void put_condition(struct arena *arena, struct json_object *hpa, struct json_object *list,
                          const char *type, bool on, const char *reason, const char *message)
{
    struct json_object *before = meta_condition(json_at(hpa, "status", "conditions", NULL), type);
    const char *status = on ? "True" : "False";
    const char *old = json_str_at(before, "status", NULL);
    bool same = old && strcmp(old, status) == 0;
    struct json_object *c = json_own(arena, json_object_new_object());
    json_set_str(c, "type", type);
    json_set_str(c, "status", status);
    json_set_str(c, "lastTransitionTime",
                 same ? json_str_at(before, "lastTransitionTime", NULL) : context_now(arena));
    json_set_str(c, "reason", reason);
    json_set_str(c, "message", message);
    json_object_array_add(list, json_object_get(c));
}

static struct json_object *conditions(struct arena *arena, struct json_object *hpa, bool found,
                                      int64_t present)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    if (!found) {
        put_condition(arena, hpa, list, "AbleToScale", false, "FailedGetScale",
                      "the HPA controller was unable to get the target's current scale");
        return list;
    }
    put_condition(arena, hpa, list, "AbleToScale", true, "SucceededGetScale",
                  "the HPA controller was able to get the target's current scale");
    if (present == 0)
        put_condition(arena, hpa, list, "ScalingActive", false, "ScalingDisabled",
                      "scaling is disabled since the replica count of the target is zero");
    else
        put_condition(arena, hpa, list, "ScalingActive", true, "ValidMetricFound",
                      "the sandbox has no load metrics: only the bounds are kept");
    return list;
}

void hpa_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    struct json_object *hpa = context_get(cluster, arena, KIND_HPA, ns, name);
    if (!hpa || meta_deleting(hpa))
        return;

    struct json_object *ref = json_at(hpa, "spec", "scaleTargetRef", NULL);
    const char *kind = json_str_at(ref, "kind", NULL), *target = json_str_at(ref, "name", NULL);
    bool deployment = kind && target && strcmp(kind, "Deployment") == 0;
    struct json_object *obj =
        deployment ? context_get(cluster, arena, KIND_DEPLOYMENT, ns, target) : NULL;
    int64_t present = json_int_at(obj, obj ? 1 : 0, "spec", "replicas", NULL);
    int64_t wanted = hpa_wanted(present, json_int_at(hpa, 1, "spec", "minReplicas", NULL),
                                json_int_at(hpa, INT32_MAX, "spec", "maxReplicas", NULL));
    if (obj && wanted != present) {
        struct json_object *patch = json_own(arena, json_object_new_object());
        json_set_int(json_sub(patch, "spec"), "replicas", wanted);
        context_merge(cluster, arena, KIND_DEPLOYMENT, ns, target, patch);
    }
    struct json_object *status = json_own(arena, json_object_new_object());
    json_set_int(status, "observedGeneration", json_int_at(hpa, 1, "metadata", "generation", NULL));
    json_set_int(status, "currentReplicas", json_int_at(obj, 0, "status", "replicas", NULL));
    json_set_int(status, "desiredReplicas", wanted);
    json_set(status, "conditions", conditions(arena, hpa, obj != NULL, present));
    context_status(cluster, arena, cluster->kinds[KIND_HPA], ns, name, status);
}
