/*
 * KEDA ScaledObject (scaler/OBJECTS.md). KEDA scales from and to zero, so a target that must stay
 * at zero has to be paused: before it is scaled down, but after its traffic is gone, since KEDA
 * then removes its pods at once. The primary's copy is never paused, even if somebody else has
 * paused the source or the copy.
 */
#include <string.h>

#include "scaler/scaler.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

#define PAUSED_REPLICAS "autoscaling.keda.sh/paused-replicas"

static const struct scaler_bounds bounds = {
    .min = "minReplicaCount", .max = "maxReplicaCount", .default_max = 100};

/* Annotations that stop a workload from growing. (paused-scale-in does not.) */
static const char *const pauses[] = {PAUSED_REPLICAS, "autoscaling.keda.sh/paused",
                                     "autoscaling.keda.sh/paused-scale-out", NULL};
/* A label with the object's own name, set by KEDA. */
static const char *const own_name[] = {"scaledobject.keda.sh/name", NULL};

/* Fields of a trigger that select pods by labels: the kubernetes-workload trigger's, and the names
 * that others use. */
static const char *const selector_fields[] = {"podSelector", "labelSelector", "selector", NULL};

/* The value that the primary's pods have for a label of the target; before the primary exists, the
 * value that they will have. */
static const char *primary_value(struct tick *tick, struct json_object *primary, const char *key,
                                 const char *value)
{
    const char *live = json_str_at(primary, "spec", "template", "metadata", "labels", key, NULL);

    if (primary)
        return live;
    for (const char *const *label = tick->settings->selector_labels; label && *label; label++)
        if (strcmp(*label, key) == 0)
            return arena_printf(tick->arena, "%s-primary", value);
    return NULL;
}

/* A selector for the target's pods by a label that has another value on the primary's. */
static const char *selector_of(struct tick *tick, struct json_object *target,
                               struct json_object *primary, const char *selector)
{
    struct json_object *labels = json_at(target, "spec", "selector", "matchLabels", NULL);

    if (!json_object_is_type(labels, json_type_object))
        return selector;
    json_object_object_foreach(labels, key, label)
    {
        const char *value = json_object_get_string(label);
        const char *instead = value ? primary_value(tick, primary, key, value) : NULL;
        if (instead && strcmp(instead, value) != 0)
            selector = selector_for_primary(tick->arena, selector, key, value, instead);
    }
    return selector;
}

static bool need_sides(struct tick *tick, struct json_object **target, struct json_object **primary)
{
    const char *name = tick->canary->target.name, *namespace_ = tick->canary->namespace_;
    bool known = need_object(tick, &kube_deployments, namespace_, name, target);

    return need_object(tick, &kube_deployments, namespace_,
                       arena_printf(tick->arena, "%s-primary", name), primary) &&
           known;
}

static void rewrite_metadata(struct tick *tick, struct json_object *metadata,
                             struct json_object *target, struct json_object *primary)
{
    const char *query = json_str_at(metadata, "query", NULL);

    if (query)
        json_set_str(metadata, "query",
                     query_for_primary(tick->arena, query, tick->canary->target.name));
    for (const char *const *field = selector_fields; *field; field++) {
        const char *selector = json_str_at(metadata, *field, NULL);
        if (selector)
            json_set_str(metadata, *field, selector_of(tick, target, primary, selector));
    }
}

/* Applies the spec's settings for the primary's trigger with this name. */
static void override_metadata(struct tick *tick, struct json_object *metadata, const char *name)
{
    struct json_object *ref = tick->canary->autoscaler_json;
    const char *query = json_str_at(ref, "primaryScalerQueries", name, NULL);
    struct json_object *fields = json_at(ref, "primaryScalerTriggers", name, NULL);

    if (query)
        json_set_str(metadata, "query", query);
    if (!json_object_is_type(fields, json_type_object))
        return;
    json_object_object_foreach(fields, key, value)
    {
        if (json_object_is_type(value, json_type_string))
            json_set(metadata, key, value);
    }
}

static bool rewrite_triggers(struct tick *tick, struct json_object *triggers)
{
    struct json_object *target, *primary;

    if (!need_sides(tick, &target, &primary))
        return false;
    for (size_t i = 0; i < json_len(triggers); i++) {
        struct json_object *metadata = json_at(json_elem(triggers, i), "metadata", NULL);
        const char *name = json_str_at(json_elem(triggers, i), "name", NULL);
        if (!metadata)
            continue;
        rewrite_metadata(tick, metadata, target, primary);
        if (name)
            override_metadata(tick, metadata, name);
    }
    return true;
}

/* The whole spec of the source, including fields that this version does not know. NULL if facts are
 * missing. */
static struct json_object *spec_for_primary(struct tick *tick, struct json_object *source,
                                            int floor)
{
    /* overlay: without nulls, which a patch cannot express */
    struct json_object *spec = edit_overlay(tick->arena, NULL, json_at(source, "spec", NULL));
    struct json_object *hpa = json_at(spec, "advanced", "horizontalPodAutoscalerConfig", NULL);
    const char *hpa_name = json_str_at(hpa, "name", NULL);

    json_set_str(json_sub(spec, "scaleTargetRef"), "name",
                 arena_printf(tick->arena, "%s-primary", tick->canary->target.name));
    if (!rewrite_triggers(tick, json_at(spec, "triggers", NULL)))
        return NULL;
    if (hpa_name && *hpa_name)
        json_set_str(hpa, "name", arena_printf(tick->arena, "%s-primary", hpa_name));
    scaler_copy_bounds(tick, &bounds, source, spec, floor);
    /* KEDA scales to this number, which is below the minimum, if no trigger is active. */
    if (floor > 0)
        json_del(spec, "idleReplicaCount");
    return spec;
}

static void unpause(struct json_object *to)
{
    struct json_object *annotations = json_at(to, "metadata", "annotations", NULL);

    for (size_t i = 0; annotations && pauses[i]; i++)
        json_del(annotations, pauses[i]);
}

static enum rule_result scaledobject_reconcile_primary(struct tick *tick, int floor,
                                                       const char **missing)
{
    struct scaler_copy copy;
    enum rule_result verdict = scaler_copy_read(tick, &kube_scaledobjects, &copy);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!copy.source) {
        *missing = arena_printf(tick->arena, "Keda ScaledObject %s.%s get query error: not found",
                                tick->canary->autoscaler.name, tick->canary->namespace_);
        return RULE_DONE;
    }
    copy.all_annotations = true;
    copy.never_labels = own_name;
    copy.never_annotations = pauses;
    struct json_object *to = scaler_copy_base(tick, &copy);
    unpause(to);
    struct json_object *spec = spec_for_primary(tick, copy.source, floor);
    if (!spec)
        return RULE_NEEDS_FACTS;
    json_set(to, "spec", spec);
    scaler_copy_write(tick, &copy, to);
    return RULE_CONTINUE;
}

/* If paused is NULL, removes the pause. */
static enum rule_result annotate_target(struct tick *tick, const char *paused)
{
    struct json_object *source;
    enum rule_result verdict = scaler_source(tick, &kube_scaledobjects, &source);

    if (verdict != RULE_CONTINUE || !source)
        return verdict;
    struct json_object *to = json_copy(tick->arena, source);
    if (paused)
        json_set_str(json_sub(json_sub(to, "metadata"), "annotations"), PAUSED_REPLICAS, paused);
    else if (json_at(to, "metadata", "annotations", NULL))
        json_del(json_at(to, "metadata", "annotations", NULL), PAUSED_REPLICAS);
    plan_update(tick, &kube_scaledobjects, source, to);
    return RULE_CONTINUE;
}

static enum rule_result scaledobject_pause_target(struct tick *tick)
{
    return annotate_target(tick, "0");
}

static enum rule_result scaledobject_resume_target(struct tick *tick)
{
    return annotate_target(tick, NULL);
}

/* A pause with another number was set by somebody else. */
static enum rule_result scaledobject_leave(struct tick *tick, const char *name)
{
    struct json_object *source;
    enum rule_result verdict = scaler_copy_leave(tick, &kube_scaledobjects, name);

    if (!need_object(tick, &kube_scaledobjects, tick->canary->namespace_, name, &source) ||
        verdict != RULE_CONTINUE)
        return RULE_NEEDS_FACTS;
    const char *paused = json_str_at(source, "metadata", "annotations", PAUSED_REPLICAS, NULL);
    if (!paused || strcmp(paused, "0") != 0)
        return RULE_CONTINUE;
    struct json_object *to = json_copy(tick->arena, source);
    json_del(json_at(to, "metadata", "annotations", NULL), PAUSED_REPLICAS);
    plan_update(tick, &kube_scaledobjects, source, to);
    return RULE_CONTINUE;
}

static enum rule_result scaledobject_is_paused(struct tick *tick, bool *out)
{
    struct json_object *source;
    enum rule_result verdict = scaler_source(tick, &kube_scaledobjects, &source);
    const char *paused = json_str_at(source, "metadata", "annotations", PAUSED_REPLICAS, NULL);

    *out = !source || (paused && strcmp(paused, "0") == 0);
    return verdict;
}

static enum rule_result scaledobject_source(struct tick *tick, struct json_object **out)
{
    return scaler_source(tick, &kube_scaledobjects, out);
}

static enum rule_result scaledobject_min_replicas(struct tick *tick, int *out)
{
    struct json_object *source;
    enum rule_result verdict = scaler_source(tick, &kube_scaledobjects, &source);

    *out = scaler_start(&bounds, source);
    return verdict;
}

static int scaledobject_start(struct json_object *object)
{
    return scaler_start(&bounds, object);
}

static int scaledobject_most(struct json_object *object)
{
    return scaler_most(&bounds, object);
}

static void scaledobject_hold(struct tick *tick, struct json_object *object, int floor, bool lowers)
{
    scaler_hold(tick, &kube_scaledobjects, &bounds, object, floor, lowers);
}

static enum rule_result scaledobject_primary_max(struct tick *tick, int *out)
{
    struct json_object *source;
    enum rule_result verdict = scaler_source(tick, &kube_scaledobjects, &source);

    *out = source ? scaler_copy_max(tick, &bounds, source) : 0;
    return verdict;
}

const struct scaler scaler_scaledobject = {
    .kind = "ScaledObject",
    .group = "keda.sh",
    .expected = "keda.sh/v1alpha1",
    .resource = &kube_scaledobjects,
    .reconcile_primary = scaledobject_reconcile_primary,
    .pause_target = scaledobject_pause_target,
    .resume_target = scaledobject_resume_target,
    .leave = scaledobject_leave,
    .is_paused = scaledobject_is_paused,
    .source = scaledobject_source,
    .min_replicas = scaledobject_min_replicas,
    .start = scaledobject_start,
    .most = scaledobject_most,
    .hold = scaledobject_hold,
    .primary_max = scaledobject_primary_max,
};
