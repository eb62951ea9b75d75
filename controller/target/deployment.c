/* The Deployment target (target/OBJECTS.md). */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "target/shared/primary.h"
#include "target/shared/workload.h"
#include "target/target.h"
#include "tick/edit.h"
#include "tick/plan.h"

static const char *const copied[] = {"strategy", "minReadySeconds", "revisionHistoryLimit",
                                     "progressDeadlineSeconds", NULL};
static const struct workload kind = {
    .resource = &kube_deployments,
    .word = "deployment",
    .copied = copied,
    .bookkeeping = "deployment.kubernetes.io/revision",
    .past = &kube_replicasets,
    .pins = true,
};

static void measure(struct target_info *out)
{
    out->primary_at_zero =
        out->primary && json_int_at(out->primary, 1, "spec", "replicas", NULL) == 0;
    out->at_zero = json_int_at(out->object, 1, "spec", "replicas", NULL) == 0;
    out->paused = out->pin != PIN_HOLDS && json_bool_at(out->object, false, "spec", "paused", NULL);
    out->stopped = out->at_zero && json_int_at(out->object, 0, "status", "replicas", NULL) == 0;
}

static enum rule_result deployment_find(struct tick *tick, struct target_info *out)
{
    enum rule_result verdict = workload_find(tick, &kind, out);

    measure(out);
    return verdict;
}

static enum rule_result deployment_read(struct tick *tick, struct target_info *out)
{
    enum rule_result verdict = workload_read(tick, &kind, out);

    measure(out);
    return verdict;
}

static enum rule_result deployment_ensure_primary(struct tick *tick, const struct target_info *info)
{
    int64_t replicas = json_int_at(info->object, 1, "spec", "replicas", NULL);
    struct json_object *primary;

    if (info->primary)
        return RULE_CONTINUE;
    enum rule_result verdict = workload_new_primary(tick, &kind, info, &primary);
    if (verdict != RULE_CONTINUE)
        return verdict;
    json_set_int(json_sub(primary, "spec"), "replicas", replicas > 0 ? replicas : 1);
    plan_create(tick, &kube_deployments, tick->canary->namespace_, primary);
    return RULE_CONTINUE;
}

/* The replicas that were found sufficient for all traffic, or else the target's. */
static enum rule_result deployment_recall(struct tick *tick, const struct target_info *info,
                                          const char *hash, struct json_object **out)
{
    int64_t replicas = json_int_at(info->object, 1, "spec", "replicas", NULL);
    int needed = tick->canary->status.share_total;
    enum rule_result verdict = workload_recall(tick, &kind, info, hash, out);

    if (replicas < needed)
        replicas = needed;
    if (verdict == RULE_CONTINUE && *out)
        json_set_int(json_sub(*out, "spec"), "replicas", replicas > 0 ? replicas : 1);
    return verdict;
}

static bool text_is(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

/*
 * True if a condition has been in this state for longer than the Canary's deadline. Time before the
 * current phase of the release does not count, since it may be about the previous revision.
 */
static bool is_overdue(struct tick *tick, struct json_object *condition)
{
    const char *moved = tick->canary->status.last_transition_time;
    const char *since = json_str_at(condition, "lastUpdateTime", NULL);
    int64_t since_ms, moved_ms;
    struct errinfo ei;

    if (!since || clock_parse(since, &since_ms, &ei) != ERR_OK)
        return false;
    if (clock_parse(moved, &moved_ms, &ei) == ERR_OK && moved_ms > since_ms)
        since_ms = moved_ms;
    return tick_is_overdue(tick, since_ms);
}

/*
 * True if too few pods have been available for too long; or if a rollout makes no progress in a
 * phase that starts with pods of the previous revision, which stay available. The Deployment
 * controller judges the latter too, with its own deadline: any reason other than a complete rollout
 * means that it continues. The controller does not report on paused Deployments; a release waits no
 * longer for them than for others, and for a pinned one the rules keep the time
 * (decide/rollback.c).
 */
static bool is_stuck(struct tick *tick, struct json_object *deployment, bool pinned)
{
    struct json_object *available = workload_condition(deployment, "Available");
    struct json_object *progressing = workload_condition(deployment, "Progressing");

    if (!progressing)
        return false;
    if (text_is(available, "status", "False") &&
        text_is(available, "reason", "MinimumReplicasUnavailable") && is_overdue(tick, available))
        return true;
    if (text_is(progressing, "reason", "DeploymentPaused"))
        return pinned ? workload_is_overdue(tick, SIDE_CANARY) : is_overdue(tick, progressing);
    return text_is(progressing, "status", "True") &&
           !text_is(progressing, "reason", "NewReplicaSetAvailable") &&
           is_overdue(tick, progressing);
}

/* The reason why the rollout waits; NULL if it is complete. All pods of a pinned target have its
 * pinned revision, whatever the status says about a template that was pushed later. */
static const char *rollout_waits_for(struct tick *tick, struct json_object *deployment,
                                     int threshold, bool pinned)
{
    int64_t wanted = json_int_at(deployment, 1, "spec", "replicas", NULL);
    int64_t all = json_int_at(deployment, 0, "status", "replicas", NULL);
    int64_t updated = pinned ? all : json_int_at(deployment, 0, "status", "updatedReplicas", NULL);
    int64_t available = json_int_at(deployment, 0, "status", "availableReplicas", NULL);
    int64_t least = workload_least(updated, threshold);

    if (wanted == 0)
        return "waiting for rollout to finish: it is scaled to zero";
    if (updated < wanted && !pinned && json_bool_at(deployment, false, "spec", "paused", NULL))
        return arena_printf(
            tick->arena,
            "it is paused (spec.paused), so no pod of its template is made; `kubectl rollout "
            "resume deployment/%s` ends that",
            json_str_at(deployment, "metadata", "name", NULL));
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
                                           int threshold, bool pinned, const char **why)
{
    *why = NULL;
    if (workload_is_unobserved(deployment)) {
        *why = "waiting for rollout to finish: observed deployment generation less than desired "
               "generation";
        return NOT_READY_YET;
    }
    if (text_is(workload_condition(deployment, "Progressing"), "reason",
                "ProgressDeadlineExceeded")) {
        *why = arena_printf(tick->arena, "deployment \"%s\" exceeded its progress deadline",
                            json_str_at(deployment, "metadata", "name", NULL));
        return tick_was_stepped(tick) ? NOT_READY_YET : NOT_READY_EVER;
    }
    *why = rollout_waits_for(tick, deployment, threshold, pinned);
    if (!*why)
        return READY;
    return is_stuck(tick, deployment, pinned) ? NOT_READY_EVER : NOT_READY_YET;
}

static enum readiness deployment_ready(struct tick *tick, const struct target_info *info,
                                       enum side side, const char **why)
{
    const struct canary *canary = tick->canary;
    const char *inner;
    enum readiness readiness;

    if (side == SIDE_PRIMARY) {
        readiness = deployment_readiness(tick, info->primary,
                                         canary->analysis.primary_ready_threshold, false, &inner);
        *why = arena_printf(tick->arena, "%s.%s not ready: %s", primary_name(tick),
                            canary->namespace_, inner ? inner : "");
    } else {
        readiness =
            deployment_readiness(tick, info->object, canary->analysis.canary_ready_threshold,
                                 info->pin == PIN_HOLDS, &inner);
        *why = arena_printf(tick->arena, "canary deployment %s.%s not ready: %s",
                            canary->target.name, canary->namespace_, inner ? inner : "");
    }
    return readiness;
}

static void plan_replicas(struct tick *tick, const struct target_info *info, int64_t replicas)
{
    struct json_object *to = json_copy(tick->arena, info->object);

    json_set_int(json_sub(to, "spec"), "replicas", replicas);
    plan_update(tick, &kube_deployments, info->object, to);
}

/* Pods of a workload that was scaled to zero are about to be deleted. */
static int deployment_available(const struct target_info *info, enum side side)
{
    struct json_object *deployment = side == SIDE_PRIMARY ? info->primary : info->object;
    int64_t wanted = json_int_at(deployment, 1, "spec", "replicas", NULL);

    return wanted == 0 ? 0 : (int)json_int_at(deployment, 0, "status", "availableReplicas", NULL);
}

static void deployment_raise_primary(struct tick *tick, const struct target_info *info,
                                     int replicas)
{
    struct json_object *to = json_copy(tick->arena, info->primary);

    /* as an update: an autoscaler may have asked for even more in the meantime */
    if (!to || json_int_at(to, 1, "spec", "replicas", NULL) >= replicas)
        return;
    json_set_int(json_sub(to, "spec"), "replicas", replicas);
    plan_update(tick, &kube_deployments, info->primary, to);
}

static void deployment_raise_target(struct tick *tick, const struct target_info *info, int replicas)
{
    int64_t has = json_int_at(info->object, 1, "spec", "replicas", NULL);

    if (has > 0 && has < replicas)
        plan_replicas(tick, info, replicas);
}

static void deployment_size_target(struct tick *tick, const struct target_info *info, int replicas)
{
    if (json_int_at(info->object, 1, "spec", "replicas", NULL) != replicas)
        plan_replicas(tick, info, replicas);
}

/* True if the primary follows the target's number of replicas. */
static bool has_number(struct tick *tick, const struct target_info *info)
{
    return !tick->canary->autoscaler.name && !info->primary_scaled && !info->target_scaled &&
           !info->at_zero;
}

static int64_t number_of(const struct target_info *info)
{
    return info->own_replicas > 0 ? info->own_replicas
                                  : json_int_at(info->object, 1, "spec", "replicas", NULL);
}

/* The primary's replicas after the release and, after the slash, until then: "3/12". */
#define SETTLES_TO "flagger.app/settles-to"

static void deployment_settle_primary(struct tick *tick, const struct target_info *info)
{
    const char *note = json_str_at(info->primary, "metadata", "annotations", SETTLES_TO, NULL);
    const char *slash = note ? strchr(note, '/') : NULL;

    if (!note)
        return;
    struct json_object *to = json_copy(tick->arena, info->primary);
    int64_t has = json_int_at(to, 1, "spec", "replicas", NULL);
    json_object_object_del(json_at(to, "metadata", "annotations", NULL), SETTLES_TO);
    /* a number that somebody else has written since then stays */
    if (slash && strtoll(slash + 1, NULL, 10) == has && !info->primary_scaled &&
        strtoll(note, NULL, 10) > 0)
        json_set_int(json_sub(to, "spec"), "replicas", strtoll(note, NULL, 10));
    plan_update(tick, &kube_deployments, info->primary, to);
}

static bool deployment_pin(struct tick *tick, const struct target_info *info)
{
    return pin_put(tick, &kind, info);
}

static void deployment_unpin(struct tick *tick, const struct target_info *info)
{
    pin_drop(tick, &kind, info);
}

static enum queue_result deployment_queue(struct tick *tick, const struct target_info *info,
                                          enum queue_deed deed)
{
    return pin_queue(tick, &kind, info, deed);
}

/* A target that loses its pods is not pinned: the next pods get the next template or, if it has a
 * queue, its own, until the next one's turn. */
static void deployment_scale_to_zero(struct tick *tick, const struct target_info *info)
{
    if (info->at_zero)
        return;
    struct json_object *from = info->pin == PIN_HOLDS ? info->live : info->object;
    struct json_object *to = json_copy(tick->arena, from);
    if (info->pin == PIN_HOLDS && info->queue.kept)
        pin_place(tick, info, to);
    else if (info->pin == PIN_HOLDS)
        pin_erase(to, info->pin);
    json_set_int(json_sub(to, "spec"), "replicas", 0);
    plan_update(tick, &kube_deployments, from, to);
}

static void deployment_scale_from_zero(struct tick *tick, const struct target_info *info,
                                       int replicas)
{
    int64_t primary = json_int_at(info->primary, 1, "spec", "replicas", NULL);

    if (info->at_zero)
        plan_replicas(tick, info, replicas > 0 ? replicas : primary > 0 ? primary : 1);
}

static bool deployment_serves(const struct target_info *info, enum side side)
{
    return deployment_available(info, side) > 0;
}

static void deployment_restore(struct tick *tick, const struct target_info *info, int replicas)
{
    int64_t least = info->primary    ? json_int_at(info->primary, 1, "spec", "replicas", NULL)
                    : !info->at_zero ? 0
                    : replicas > 0   ? replicas
                                     : 1;

    if (info->most_replicas > 0 && least > info->most_replicas)
        least = info->most_replicas;
    if (json_int_at(info->object, 1, "spec", "replicas", NULL) < least)
        plan_replicas(tick, info, least);
}

/* Depends on the target's strategy, which the promotion copies. (Kubernetes: apps/v1
 * DeploymentStrategy.) */
static bool deployment_replaces_all(const struct target_info *info)
{
    struct json_object *strategy = json_at(info->object, "spec", "strategy", NULL);
    const char *most = json_str_at(strategy, "rollingUpdate", "maxUnavailable", NULL);

    return text_is(strategy, "type", "Recreate") || (most && strcmp(most, "100%") == 0);
}

/* Copies the target's number of replicas, but takes no pod from the primary while traffic moves. */
static void copy_replicas(struct tick *tick, const struct target_info *info, struct json_object *to)
{
    int64_t has = json_int_at(info->primary, 1, "spec", "replicas", NULL);
    int64_t number = number_of(info);

    if (!has_number(tick, info))
        return;
    if (number < has && !tick->canary->analysis.any_capacity)
        json_set_str(json_sub(json_sub(to, "metadata"), "annotations"), SETTLES_TO,
                     arena_printf(tick->arena, "%lld/%lld", (long long)number, (long long)has));
    else if (info->own_replicas > 0)
        json_set_int(json_sub(to, "spec"), "replicas", number);
    else
        edit_put(tick->arena, json_sub(to, "spec"), "replicas",
                 json_at(info->object, "spec", "replicas", NULL));
}

static enum rule_result deployment_promote(struct tick *tick, const struct target_info *info)
{
    struct json_object *from, *to;
    enum rule_result verdict = workload_promoted(tick, &kind, info, &from, &to);

    if (verdict != RULE_CONTINUE)
        return verdict;
    copy_replicas(tick, info, to);
    workload_plan_promotion(tick, &kind, info, from, to);
    return RULE_CONTINUE;
}

static const char *deployment_primary_hash(struct tick *tick, const struct target_info *info)
{
    return past_primary_hash(tick, &kind, info);
}

static enum err deployment_revision(struct arena *arena, struct json_object *object,
                                    char hash[SPECHASH_TEXT], struct errinfo *ei)
{
    return workload_revision(arena, &kind, object, hash, ei);
}

const struct target target_deployment = {
    .kind = "Deployment",
    .resource = &kube_deployments,
    .pod_suffix = "-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)",
    .has_replicas = true,
    .find = deployment_find,
    .read = deployment_read,
    .refuse = workload_refuse,
    .ensure_primary = deployment_ensure_primary,
    .recall = deployment_recall,
    .ready = deployment_ready,
    .available = deployment_available,
    .raise_primary = deployment_raise_primary,
    .raise_target = deployment_raise_target,
    .size_target = deployment_size_target,
    .settle_primary = deployment_settle_primary,
    .scale_to_zero = deployment_scale_to_zero,
    .scale_from_zero = deployment_scale_from_zero,
    .pin = deployment_pin,
    .unpin = deployment_unpin,
    .queue = deployment_queue,
    .promote = deployment_promote,
    .replaces_all = deployment_replaces_all,
    .is_promoted = workload_is_promoted,
    .carried = workload_carried,
    .compare = workload_compare,
    .revision = deployment_revision,
    .serves = deployment_serves,
    .restore = deployment_restore,
    .primary_hash = deployment_primary_hash,
    .untouched_since = past_untouched_since,
};
