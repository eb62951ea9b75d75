/* HorizontalPodAutoscaler, autoscaling/v2 (contract/objects.md §1.6). An HPA leaves a workload at
 * zero replicas alone, so that there is nothing to pause. */
#include "scaler/scaler.h"
#include "tick/edit.h"

static const char *const copied[] = {"minReplicas", "maxReplicas", "metrics", "behavior"};
enum { COPIED = sizeof(copied) / sizeof(copied[0]) };

static void fill_spec(struct tick *tick, struct json_object *spec, struct json_object *source)
{
    static const char *const overridden[] = {"minReplicas", "maxReplicas"};
    struct json_object *given =
        json_at(tick->canary->autoscaler_json, "primaryScalerReplicas", NULL);

    for (int i = 0; i < COPIED; i++)
        edit_put(tick->arena, spec, copied[i], json_at(source, "spec", copied[i], NULL));
    for (int i = 0; i < 2; i++) {
        if (json_at(given, overridden[i], NULL))
            edit_put(tick->arena, spec, overridden[i], json_at(given, overridden[i], NULL));
    }
}

static void create_primary(struct tick *tick, struct json_object *source, const char *name)
{
    struct json_object *hpa = edit_new(tick, &kube_hpas, name);
    struct json_object *spec = json_sub(hpa, "spec");
    struct json_object *ref =
        json_copy(tick->arena, json_at(source, "spec", "scaleTargetRef", NULL));

    json_set(json_sub(hpa, "metadata"), "labels",
             edit_without_toolkit(tick->arena, json_at(source, "metadata", "labels", NULL)));
    if (!ref)
        ref = edit_object(tick->arena);
    json_set_str(ref, "name", arena_printf(tick->arena, "%s-primary", tick->canary->target.name));
    json_set(spec, "scaleTargetRef", ref);
    fill_spec(tick, spec, source);
    plan_create(tick, &kube_hpas, tick->canary->namespace_, hpa);
}

static void update_primary(struct tick *tick, struct json_object *source,
                           struct json_object *primary)
{
    struct json_object *to = json_copy(tick->arena, primary);
    struct json_object *metadata = json_sub(to, "metadata");
    struct json_object *labels = edit_included(tick, json_at(source, "metadata", "labels", NULL));

    fill_spec(tick, json_sub(to, "spec"), source);
    if (json_object_object_length(labels) > 0)
        json_set(metadata, "labels",
                 edit_overlay(tick->arena, json_at(metadata, "labels", NULL), labels));
    plan_update(tick, &kube_hpas, primary, to);
}

static enum verdict hpa_reconcile_primary(struct tick *tick, bool update)
{
    const char *namespace_ = tick->canary->namespace_;
    const char *name = tick->canary->autoscaler.name;
    const char *primary_name = arena_printf(tick->arena, "%s-primary", name);
    struct json_object *source, *primary;
    bool known = need_object(tick, &kube_hpas, namespace_, name, &source);

    known = need_object(tick, &kube_hpas, namespace_, primary_name, &primary) && known;
    if (!known)
        return VERDICT_NEED_FACTS;
    if (!source)
        return plan_stop(tick, "HorizontalPodAutoscaler %s.%s get query error: not found", name,
                         namespace_);
    if (!primary)
        create_primary(tick, source, primary_name);
    else if (update)
        update_primary(tick, source, primary);
    return VERDICT_GO;
}

static enum verdict hpa_leave_target(struct tick *tick)
{
    (void)tick;
    return VERDICT_GO;
}

static enum verdict hpa_min_replicas(struct tick *tick, int *out)
{
    struct json_object *source;

    if (!need_object(tick, &kube_hpas, tick->canary->namespace_, tick->canary->autoscaler.name,
                     &source))
        return VERDICT_NEED_FACTS;
    int64_t least = json_int_at(source, 1, "spec", "minReplicas", NULL);
    *out = least > 1 ? (int)least : 1;
    return VERDICT_GO;
}

const struct scaler scaler_hpa = {
    .kind = "HorizontalPodAutoscaler",
    .resource = &kube_hpas,
    .reconcile_primary = hpa_reconcile_primary,
    .pause_target = hpa_leave_target,
    .resume_target = hpa_leave_target,
    .min_replicas = hpa_min_replicas,
};
