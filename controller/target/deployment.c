/* The Deployment target (contract/objects.md §1.1, statemachine.md §5, §10). */
#include <string.h>

#include "base/clock.h"
#include "target/common_configs.h"
#include "target/common_primary.h"
#include "target/target.h"
#include "tick/edit.h"

/* Copied from target to primary as they are. */
static const char *const copied[] = {"strategy", "minReadySeconds", "revisionHistoryLimit",
                                     "progressDeadlineSeconds"};
enum { COPIED = sizeof(copied) / sizeof(copied[0]) };

static const char *labels_text(struct tick *tick)
{
    const char *text = "";

    for (const char *const *label = tick->settings->selector_labels; label && *label; label++)
        text = arena_printf(tick->arena, "%s%s%s", text, *text ? " " : "", *label);
    return text;
}

static bool need_both(struct tick *tick, struct target_info *out)
{
    const char *namespace_ = tick->canary->namespace_;
    bool known =
        need_object(tick, &kube_deployments, namespace_, tick->canary->target.name, &out->object);

    return need_object(tick, &kube_deployments, namespace_, primary_name(tick), &out->primary) &&
           known;
}

static void describe(struct tick *tick, struct target_info *out)
{
    out->at_zero = json_int_at(out->object, 1, "spec", "replicas", NULL) == 0;
    out->stopped = out->at_zero && json_int_at(out->object, 0, "status", "replicas", NULL) == 0;
    if (tick->canary->service.port_discovery)
        out->ports = primary_ports(tick, json_at(out->object, "spec", "template", "spec", NULL));
}

static enum verdict deployment_find(struct tick *tick, struct target_info *out)
{
    if (!need_both(tick, out))
        return VERDICT_NEED_FACTS;
    if (json_at(out->object, "metadata", "deletionTimestamp", NULL))
        out->object = NULL;
    if (json_at(out->primary, "metadata", "deletionTimestamp", NULL))
        out->primary = NULL;
    if (!out->object || !primary_selector(tick, out->object, out))
        return VERDICT_GO;
    describe(tick, out);
    return VERDICT_GO;
}

static enum verdict deployment_read(struct tick *tick, struct target_info *out)
{
    const char *namespace_ = tick->canary->namespace_;
    const char *name = tick->canary->target.name;
    struct errinfo ei;

    if (!need_both(tick, out))
        return VERDICT_NEED_FACTS;
    if (!out->object)
        return plan_stop(tick, "deployment %s.%s get query error: not found", name, namespace_);
    if (!primary_selector(tick, out->object, out))
        return plan_stop(tick,
                         "deployment %s.%s spec.selector.matchLabels must contain one of [%s]",
                         name, namespace_, labels_text(tick));
    struct json_object *template = json_at(out->object, "spec", "template", NULL);
    if (spechash_pod_template(tick->arena, template, out->hash, &ei) != ERR_OK)
        return plan_stop(tick, "deployment %s.%s spec.template: %s", name, namespace_, ei.text);
    describe(tick, out);
    return configs_read(tick, json_at(template, "spec", NULL), out);
}

static enum verdict deployment_ensure_primary(struct tick *tick, const struct target_info *info)
{
    int64_t replicas = json_int_at(info->object, 1, "spec", "replicas", NULL);
    struct json_object *matching = edit_object(tick->arena);

    if (info->primary)
        return VERDICT_GO;
    enum verdict verdict = configs_copy(tick, info);
    if (verdict != VERDICT_GO)
        return verdict;
    struct json_object *primary = edit_new(tick, &kube_deployments, primary_name(tick));
    struct json_object *metadata = json_sub(primary, "metadata");
    json_set(metadata, "labels", primary_labels(tick, info));
    json_set(
        metadata, "annotations",
        edit_without_toolkit(tick->arena, json_at(info->object, "metadata", "annotations", NULL)));
    struct json_object *spec = json_sub(primary, "spec");
    json_set_int(spec, "replicas", replicas > 0 ? replicas : 1);
    for (int i = 0; i < COPIED; i++)
        edit_put(tick->arena, spec, copied[i], json_at(info->object, "spec", copied[i], NULL));
    json_set_str(matching, info->label, primary_label_value(tick, info));
    json_set(json_sub(spec, "selector"), "matchLabels", matching);
    json_set(spec, "template", primary_template(tick, info));
    plan_create(tick, &kube_deployments, tick->canary->namespace_, primary);
    return VERDICT_GO;
}

static struct json_object *condition_of(struct json_object *deployment, const char *type)
{
    struct json_object *conditions = json_at(deployment, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *found = json_str_at(json_elem(conditions, i), "type", NULL);
        if (found && strcmp(found, type) == 0)
            return json_elem(conditions, i);
    }
    return NULL;
}

static bool text_is(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

/* Too few pods have been available for longer than the Canary's deadline. */
static bool is_stuck(struct tick *tick, struct json_object *deployment)
{
    struct json_object *available = condition_of(deployment, "Available");
    const char *since = json_str_at(available, "lastUpdateTime", NULL);
    int64_t since_ms;
    struct errinfo ei;

    if (!condition_of(deployment, "Progressing") || !text_is(available, "status", "False") ||
        !text_is(available, "reason", "MinimumReplicasUnavailable"))
        return false;
    if (!since || clock_parse(since, &since_ms, &ei) != ERR_OK)
        return false;
    return since_ms + tick->canary->progress_deadline_s * (int64_t)1000 < tick->now_ms;
}

/* What the rollout still waits for, NULL when it is complete. */
static const char *rollout_waits_for(struct tick *tick, struct json_object *deployment,
                                     int threshold)
{
    int64_t wanted = json_int_at(deployment, 1, "spec", "replicas", NULL);
    int64_t all = json_int_at(deployment, 0, "status", "replicas", NULL);
    int64_t updated = json_int_at(deployment, 0, "status", "updatedReplicas", NULL);
    int64_t available = json_int_at(deployment, 0, "status", "availableReplicas", NULL);
    int64_t least = updated * threshold / 100;

    /* Flagger rounds one pod at 50 % down to none; traffic needs somebody who answers. */
    if (least < 1 && updated > 0)
        least = 1;
    if (updated < wanted)
        return arena_printf(tick->arena,
                            "waiting for rollout to finish: %lld out of %lld new replicas have "
                            "been updated",
                            (long long)updated, (long long)wanted);
    if (all > updated)
        return arena_printf(tick->arena,
                            "waiting for rollout to finish: %lld old replicas are pending "
                            "termination",
                            (long long)(all - updated));
    if (available < least)
        return arena_printf(tick->arena,
                            "waiting for rollout to finish: %lld of %lld (readyThreshold %d%%) "
                            "updated replicas are available",
                            (long long)available, (long long)least, threshold);
    return NULL;
}

static enum readiness deployment_readiness(struct tick *tick, struct json_object *deployment,
                                           int threshold, const char **why)
{
    *why = NULL;
    if (json_int_at(deployment, 0, "metadata", "generation", NULL) >
        json_int_at(deployment, 0, "status", "observedGeneration", NULL)) {
        *why = "waiting for rollout to finish: observed deployment generation less than desired "
               "generation";
        return NOT_READY_YET;
    }
    if (text_is(condition_of(deployment, "Progressing"), "reason", "ProgressDeadlineExceeded")) {
        *why = arena_printf(tick->arena, "deployment \"%s\" exceeded its progress deadline",
                            json_str_at(deployment, "metadata", "name", NULL));
        return NOT_READY_EVER;
    }
    *why = rollout_waits_for(tick, deployment, threshold);
    if (!*why)
        return READY;
    return is_stuck(tick, deployment) ? NOT_READY_EVER : NOT_READY_YET;
}

static enum readiness deployment_ready(struct tick *tick, const struct target_info *info,
                                       enum side side, const char **why)
{
    const struct canary *canary = tick->canary;
    const char *inner;
    enum readiness readiness;

    if (side == SIDE_PRIMARY) {
        readiness = deployment_readiness(tick, info->primary,
                                         canary->analysis.primary_ready_threshold, &inner);
        *why = arena_printf(tick->arena, "%s.%s not ready: %s", primary_name(tick),
                            canary->namespace_, inner ? inner : "");
    } else {
        readiness = deployment_readiness(tick, info->object,
                                         canary->analysis.canary_ready_threshold, &inner);
        *why = arena_printf(tick->arena, "canary deployment %s.%s not ready: %s",
                            canary->target.name, canary->namespace_, inner ? inner : "");
    }
    return readiness;
}

static void plan_replicas(struct tick *tick, int64_t replicas)
{
    struct json_object *patch = edit_object(tick->arena);

    json_set_int(json_sub(patch, "spec"), "replicas", replicas);
    plan_patch(tick, &kube_deployments, tick->canary->namespace_, tick->canary->target.name, patch);
}

static void deployment_scale_to_zero(struct tick *tick, const struct target_info *info)
{
    if (!info->at_zero)
        plan_replicas(tick, 0);
}

static void deployment_scale_from_zero(struct tick *tick, const struct target_info *info,
                                       int replicas)
{
    int64_t primary = json_int_at(info->primary, 1, "spec", "replicas", NULL);

    if (info->at_zero)
        plan_replicas(tick, replicas > 0 ? replicas : primary > 0 ? primary : 1);
}

static bool deployment_serves(const struct target_info *info, enum side side)
{
    struct json_object *deployment = side == SIDE_PRIMARY ? info->primary : info->object;

    return json_int_at(deployment, 0, "status", "availableReplicas", NULL) > 0;
}

static void deployment_restore(struct tick *tick, const struct target_info *info, int replicas)
{
    int64_t least = info->primary    ? json_int_at(info->primary, 1, "spec", "replicas", NULL)
                    : !info->at_zero ? 0
                    : replicas > 0   ? replicas
                                     : 1;

    if (json_int_at(info->object, 1, "spec", "replicas", NULL) < least)
        plan_replicas(tick, least);
}

static enum verdict deployment_promote(struct tick *tick, const struct target_info *info)
{
    enum verdict verdict = configs_copy(tick, info);

    if (verdict != VERDICT_GO)
        return verdict;
    struct json_object *from = edit_overlay(tick->arena, NULL, info->primary); /* without nulls */
    struct json_object *to = json_copy(tick->arena, from);
    struct json_object *spec = json_sub(to, "spec");
    for (int i = 0; i < COPIED; i++)
        edit_put(tick->arena, spec, copied[i], json_at(info->object, "spec", copied[i], NULL));
    if (!tick->canary->autoscaler.name && !info->at_zero)
        edit_put(tick->arena, spec, "replicas", json_at(info->object, "spec", "replicas", NULL));
    json_set(spec, "template", primary_template(tick, info));

    /* Flagger drops every annotation and label that is not included; what others wrote stays here.
     */
    struct json_object *metadata = json_sub(to, "metadata");
    struct json_object *annotations =
        edit_included(tick, json_at(info->object, "metadata", "annotations", NULL));
    json_object_object_del(annotations, "deployment.kubernetes.io/revision");
    json_set(
        metadata, "labels",
        edit_overlay(tick->arena, json_at(metadata, "labels", NULL), primary_labels(tick, info)));
    if (json_object_object_length(annotations) > 0)
        json_set(metadata, "annotations",
                 edit_overlay(tick->arena, json_at(metadata, "annotations", NULL), annotations));
    if (plan_update(tick, &kube_deployments, from, to))
        plan_why(tick, "promote %s", info->hash);
    return VERDICT_GO;
}

static bool deployment_is_promoted(struct tick *tick, const struct target_info *info)
{
    const char *live =
        json_str_at(info->primary, "spec", "template", "metadata", "annotations", PRIMARY_ID, NULL);

    return live && strcmp(live, primary_id(tick, info)) == 0;
}

static enum verdict deployment_compare(struct tick *tick, const struct target_info *info,
                                       bool *same)
{
    struct json_object *wanted = primary_template(tick, info);
    struct json_object *live = /* without nulls, as the other one */
        edit_overlay(tick->arena, NULL, json_at(info->primary, "spec", "template", NULL));
    enum verdict verdict = configs_compare(tick, info, same);

    json_object_object_del(json_at(wanted, "metadata", "annotations", NULL), PRIMARY_ID);
    json_object_object_del(json_at(live, "metadata", "annotations", NULL), PRIMARY_ID);
    *same = *same && json_same(wanted, live);
    return verdict;
}

const struct target target_deployment = {
    .kind = "Deployment",
    .resource = &kube_deployments,
    .find = deployment_find,
    .read = deployment_read,
    .ensure_primary = deployment_ensure_primary,
    .ready = deployment_ready,
    .scale_to_zero = deployment_scale_to_zero,
    .scale_from_zero = deployment_scale_from_zero,
    .promote = deployment_promote,
    .is_promoted = deployment_is_promoted,
    .compare = deployment_compare,
    .serves = deployment_serves,
    .restore = deployment_restore,
};
