/*
 * HorizontalPodAutoscaler (scaler/OBJECTS.md). autoscaling/v2 is read and written, whatever version
 * a Canary names: the API server converts between versions. An HPA ignores a workload with zero
 * replicas, so there is nothing to pause.
 */
#include "scaler/scaler.h"
#include "tick/edit.h"

static const struct scaler_bounds bounds = {
    .min = "minReplicas", .max = "maxReplicas", .default_min = 1, .default_max = 1};

static void fill_spec(struct tick *tick, struct json_object *spec, struct json_object *source,
                      int floor)
{
    struct json_object *ref =
        json_copy(tick->arena, json_at(source, "spec", "scaleTargetRef", NULL));

    if (!ref)
        ref = edit_object(tick->arena);
    json_set_str(ref, "name", arena_printf(tick->arena, "%s-primary", tick->canary->target.name));
    json_set(spec, "scaleTargetRef", ref);
    edit_put(tick->arena, spec, "metrics", json_at(source, "spec", "metrics", NULL));
    edit_put(tick->arena, spec, "behavior", json_at(source, "spec", "behavior", NULL));
    scaler_copy_bounds(tick, &bounds, source, spec, floor);
}

static enum rule_result hpa_reconcile_primary(struct tick *tick, int floor, const char **missing)
{
    struct scaler_copy copy;
    enum rule_result verdict = scaler_copy_read(tick, &kube_hpas, &copy);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!copy.source) {
        *missing =
            arena_printf(tick->arena, "HorizontalPodAutoscaler %s.%s get query error: not found",
                         tick->canary->autoscaler.name, tick->canary->namespace_);
        return RULE_DONE;
    }
    struct json_object *to = scaler_copy_base(tick, &copy);
    fill_spec(tick, json_sub(to, "spec"), copy.source, floor);
    scaler_copy_write(tick, &copy, to);
    return RULE_CONTINUE;
}

static enum rule_result hpa_leave_target(struct tick *tick)
{
    (void)tick;
    return RULE_CONTINUE;
}

static enum rule_result hpa_leave(struct tick *tick, const char *name)
{
    return scaler_copy_leave(tick, &kube_hpas, name);
}

static enum rule_result hpa_is_paused(struct tick *tick, bool *out)
{
    (void)tick;
    *out = true;
    return RULE_CONTINUE;
}

static enum rule_result hpa_source(struct tick *tick, struct json_object **out)
{
    return scaler_source(tick, &kube_hpas, out);
}

static enum rule_result hpa_min_replicas(struct tick *tick, int *out)
{
    struct json_object *source;
    enum rule_result verdict = scaler_source(tick, &kube_hpas, &source);

    *out = scaler_start(&bounds, source);
    return verdict;
}

static int hpa_start(struct json_object *object)
{
    return scaler_start(&bounds, object);
}

static int hpa_most(struct json_object *object)
{
    return scaler_most(&bounds, object);
}

static void hpa_hold(struct tick *tick, struct json_object *object, int floor, bool lowers)
{
    scaler_hold(tick, &kube_hpas, &bounds, object, floor, lowers);
}

static enum rule_result hpa_primary_max(struct tick *tick, int *out)
{
    struct json_object *source;
    enum rule_result verdict = scaler_source(tick, &kube_hpas, &source);

    *out = source ? scaler_copy_max(tick, &bounds, source) : 0;
    return verdict;
}

const struct scaler scaler_hpa = {
    .kind = "HorizontalPodAutoscaler",
    .group = "autoscaling",
    .expected = "autoscaling/v2",
    .resource = &kube_hpas,
    .reconcile_primary = hpa_reconcile_primary,
    .pause_target = hpa_leave_target,
    .resume_target = hpa_leave_target,
    .leave = hpa_leave,
    .is_paused = hpa_is_paused,
    .source = hpa_source,
    .min_replicas = hpa_min_replicas,
    .start = hpa_start,
    .most = hpa_most,
    .hold = hpa_hold,
    .primary_max = hpa_primary_max,
};
