/*
 * The DaemonSet target (target/OBJECTS.md). It has no replicas: a node selector that matches no
 * node keeps all its pods away.
 */
#include <string.h>

#include "base/clock.h"
#include "target/shared/primary.h"
#include "target/shared/workload.h"
#include "target/target.h"
#include "tick/edit.h"
#include "tick/plan.h"

#define ZERO_SELECTOR "flagger.app/scale-to-zero"

static const char *const copied[] = {"minReadySeconds", "revisionHistoryLimit", "updateStrategy",
                                     NULL};
static const struct workload kind = {
    .resource = &kube_daemonsets,
    .word = "daemonset",
    .copied = copied,
    .bookkeeping = "deprecated.daemonset.template.generation",
    .zero_selector = ZERO_SELECTOR,
    .past = &kube_controllerrevisions,
    .past_in_data = true,
};

static bool is_at_zero(struct json_object *daemonset)
{
    return json_at(daemonset, "spec", "template", "spec", "nodeSelector", ZERO_SELECTOR, NULL);
}

/* True if it is scaled to zero, and the cluster has observed this and ended all pods. */
static bool is_stopped(struct json_object *daemonset)
{
    return is_at_zero(daemonset) && !workload_is_unobserved(daemonset) &&
           json_int_at(daemonset, 0, "status", "currentNumberScheduled", NULL) == 0 &&
           json_int_at(daemonset, 0, "status", "numberMisscheduled", NULL) == 0;
}

static void measure(struct target_info *out)
{
    out->at_zero = is_at_zero(out->object);
    out->primary_at_zero = is_at_zero(out->primary);
    out->stopped = is_stopped(out->object);
}

static enum rule_result daemonset_find(struct tick *tick, struct target_info *out)
{
    enum rule_result verdict = workload_find(tick, &kind, out);

    measure(out);
    return verdict;
}

/* The update strategy if it is one that does not replace pods, else NULL. */
static const char *other_strategy(struct json_object *daemonset)
{
    const char *type = json_str_at(daemonset, "spec", "updateStrategy", "type", NULL);

    return type && *type && strcmp(type, "RollingUpdate") != 0 ? type : NULL;
}

/* The same sentence wherever the strategy is an obstacle. */
#define OTHER_STRATEGY "daemonset %s.%s must have RollingUpdate strategy but have %s"

/* A Canary that has not started reports this in its condition; a release that has started is
 * finished (ensure_primary). */
static bool has_begun(const struct tick *tick)
{
    enum phase phase = tick->canary->status.phase;

    return phase != PHASE_NONE && phase != PHASE_Initializing;
}

static enum rule_result daemonset_read(struct tick *tick, struct target_info *out)
{
    enum rule_result verdict = workload_read(tick, &kind, out);
    const char *strategy = verdict == RULE_CONTINUE ? other_strategy(out->object) : NULL;

    measure(out);
    if (strategy && !has_begun(tick))
        return target_unusable(tick, out, OTHER_STRATEGY, tick->canary->target.name,
                               tick->canary->namespace_, strategy);
    return verdict;
}

/* Adds or removes the node selector. */
static void plan_selector(struct tick *tick, struct json_object *from, bool zero)
{
    struct json_object *to = json_copy(tick->arena, from);
    struct json_object *spec = json_sub(json_sub(json_sub(to, "spec"), "template"), "spec");

    if (zero)
        json_set_str(json_sub(spec, "nodeSelector"), ZERO_SELECTOR, "true");
    else
        json_del(json_sub(spec, "nodeSelector"), ZERO_SELECTOR);
    plan_update(tick, &kube_daemonsets, from, to);
}

/* A running release continues to its end, since a rollback must stay possible. */
static bool is_running(enum phase phase)
{
    return phase == PHASE_Progressing || phase == PHASE_WaitingPromotion ||
           phase == PHASE_Promoting || phase == PHASE_Finalising;
}

static enum rule_result daemonset_recall(struct tick *tick, const struct target_info *info,
                                         const char *hash, struct json_object **out)
{
    return workload_recall(tick, &kind, info, hash, out);
}

static enum rule_result daemonset_ensure_primary(struct tick *tick, const struct target_info *info)
{
    const char *strategy = other_strategy(info->object);
    struct json_object *primary;

    if (strategy && !is_running(tick->canary->status.phase))
        return plan_stop(tick, OTHER_STRATEGY, tick->canary->target.name, tick->canary->namespace_,
                         strategy);
    /* If the target is at zero, Flagger copies the selector too: a primary without pods. */
    if (info->primary) {
        if (is_at_zero(info->primary))
            plan_selector(tick, info->primary, false);
        return RULE_CONTINUE;
    }
    enum rule_result verdict = workload_new_primary(tick, &kind, info, &primary);
    if (verdict == RULE_CONTINUE)
        plan_create(tick, &kube_daemonsets, tick->canary->namespace_, primary);
    return verdict;
}

/* The reason why the rollout waits; NULL if it is complete. */
static const char *rollout_waits_for(struct tick *tick, struct json_object *daemonset,
                                     int threshold)
{
    int64_t wanted = json_int_at(daemonset, 0, "status", "desiredNumberScheduled", NULL);
    int64_t updated = json_int_at(daemonset, 0, "status", "updatedNumberScheduled", NULL);
    int64_t available = json_int_at(daemonset, 0, "status", "numberAvailable", NULL);
    int64_t least = workload_least(wanted, threshold);

    if (workload_is_unobserved(daemonset))
        return "waiting for rollout to finish: observed daemonset generation less than desired "
               "generation";
    if (is_at_zero(daemonset))
        return "waiting for rollout to finish: it is scaled to zero";
    if (wanted == 0)
        return "waiting for rollout to finish: no node is there for its pods";
    if (updated < wanted)
        return arena_printf(tick->arena,
                            "waiting for rollout to finish: %lld out of %lld new pods have been "
                            "updated",
                            (long long)updated, (long long)wanted);
    if (available < least)
        return arena_printf(tick->arena,
                            "waiting for rollout to finish: %lld of %lld (readyThreshold %d%%) "
                            "updated pods are available",
                            (long long)available, (long long)least, threshold);
    return NULL;
}

static enum readiness daemonset_ready(struct tick *tick, const struct target_info *info,
                                      enum side side, const char **why)
{
    const struct canary_analysis *analysis = &tick->canary->analysis;
    bool is_primary = side == SIDE_PRIMARY;
    struct json_object *daemonset = is_primary ? info->primary : info->object;
    int threshold =
        is_primary ? analysis->primary_ready_threshold : analysis->canary_ready_threshold;
    const char *waits = rollout_waits_for(tick, daemonset, threshold);
    bool overdue = waits && !workload_is_unobserved(daemonset) && workload_is_overdue(tick, side);

    if (overdue)
        waits = arena_printf(tick->arena, "exceeded its progressDeadlineSeconds: %d",
                             tick->canary->progress_deadline_s);
    *why = arena_printf(tick->arena, "%s daemonset %s.%s not ready: %s",
                        is_primary ? "primary" : "canary",
                        is_primary ? primary_name(tick) : tick->canary->target.name,
                        tick->canary->namespace_, waits ? waits : "");
    return !waits ? READY : overdue ? NOT_READY_EVER : NOT_READY_YET;
}

static void daemonset_scale_to_zero(struct tick *tick, const struct target_info *info)
{
    if (!info->at_zero)
        plan_selector(tick, info->object, true);
}

static void daemonset_scale_from_zero(struct tick *tick, const struct target_info *info,
                                      int replicas)
{
    (void)replicas;
    if (info->at_zero)
        plan_selector(tick, info->object, false);
}

static bool daemonset_serves(const struct target_info *info, enum side side)
{
    struct json_object *daemonset = side == SIDE_PRIMARY ? info->primary : info->object;

    return !is_at_zero(daemonset) &&
           json_int_at(daemonset, 0, "status", "numberAvailable", NULL) > 0;
}

static void daemonset_restore(struct tick *tick, const struct target_info *info, int replicas)
{
    daemonset_scale_from_zero(tick, info, replicas);
}

static enum rule_result daemonset_promote(struct tick *tick, const struct target_info *info)
{
    struct json_object *from, *to;
    enum rule_result verdict = workload_promoted(tick, &kind, info, &from, &to);

    if (verdict != RULE_CONTINUE)
        return verdict;
    /* With another strategy the primary would keep its old pods. */
    if (other_strategy(info->object))
        edit_put(tick->arena, json_sub(to, "spec"), "updateStrategy",
                 json_at(from, "spec", "updateStrategy", NULL));
    workload_plan_promotion(tick, &kind, info, from, to);
    return RULE_CONTINUE;
}

static const char *daemonset_primary_hash(struct tick *tick, const struct target_info *info)
{
    return past_primary_hash(tick, &kind, info);
}

static enum err daemonset_revision(struct arena *arena, struct json_object *object,
                                   char hash[SPECHASH_TEXT], struct errinfo *ei)
{
    return workload_revision(arena, &kind, object, hash, ei);
}

const struct target target_daemonset = {
    .kind = "DaemonSet",
    .resource = &kube_daemonsets,
    .pod_suffix = "-[0-9a-zA-Z]+",
    .deadline_by_condition = true,
    .find = daemonset_find,
    .read = daemonset_read,
    .refuse = workload_refuse,
    .ensure_primary = daemonset_ensure_primary,
    .recall = daemonset_recall,
    .ready = daemonset_ready,
    .scale_to_zero = daemonset_scale_to_zero,
    .scale_from_zero = daemonset_scale_from_zero,
    .promote = daemonset_promote,
    .is_promoted = workload_is_promoted,
    .carried = workload_carried,
    .compare = workload_compare,
    .revision = daemonset_revision,
    .serves = daemonset_serves,
    .restore = daemonset_restore,
    .primary_hash = daemonset_primary_hash,
    .untouched_since = past_untouched_since,
};
