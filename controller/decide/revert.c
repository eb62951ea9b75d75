/*
 * Deletion of a Canary (decide/RULES.md). Our finalizer keeps it until the target serves by
 * itself again, so that nothing is lost when the garbage collector then removes the primary, the
 * Services and the routes:
 *
 *   the target gets its replicas back -> it is ready -> the apex Service selects it, the routes
 *   lead to the apex Service -> this is known everywhere -> objects that must outlive the Canary
 *   lose their owner -> the finalizer is removed.
 *
 * Each tick determines the progress anew, so that it may be interrupted anywhere. While the target
 * is not ready and the primary serves, nothing moves. The target's present revision serves
 * afterwards: only the primary has the revision that was promoted before.
 *
 * Flagger sets the finalizer only with revertOnDeletion, and without it leaves the target at zero
 * and removes everything else; in both cases it leaves the apex Service and the routes to the
 * garbage collector (proto/COMPATIBILITY.md).
 */
#include "decide/rules.h"

#include <string.h>

#include "base/clock.h"
#include "decide/condition.h"
#include "decide/decide.h"
#include "decide/foreign.h"
#include "decide/leftover.h"
#include "decide/refused_write.h"
#include "decide/release.h"
#include "decide/serving.h"
#include "decide/share.h"
#include "decide/status.h"
#include "router/shared/services.h"
#include "tick/edit.h"

static bool finalizer_is_set(struct json_object *canary)
{
    return edit_has_finalizer(canary, FINALIZER);
}

/* Plans to set or to remove the finalizer. */
static void finalizer_plan(struct tick *tick, struct json_object *canary, bool wanted)
{
    struct json_object *to = json_copy(tick->arena, canary);
    struct json_object *metadata = json_sub(to, "metadata");
    struct json_object *list = edit_finalizers(tick->arena, canary, FINALIZER, wanted);

    if (json_len(list) > 0)
        json_set(metadata, "finalizers", list);
    else
        json_object_object_del(metadata, "finalizers");
    if (plan_update(tick, &tick_canaries, canary, to))
        plan_why(tick, wanted ? "with finalizer" : "without finalizer");
}

void finalizer_keep(struct release *r)
{
    /*
     * a Canary that waits for another's end may be deleted at that moment; in a separate cluster
     * nothing else deletes the routes; a pinned target would stay pinned; load tests would run on
     */
    bool wanted = r->canary->revert_on_deletion || r->tick->successor || r->tick->locked_out ||
                  r->tick->settings->mesh_apart ||
                  r->canary->analysis.on_new_revision != NEW_REVISION_RESTART ||
                  load_tests_may_run(r->canary);

    if (finalizer_is_set(r->canary->json) != wanted)
        finalizer_plan(r->tick, r->canary->json, wanted);
}

enum { CLOCK_GRAIN_MS = 1000 }; /* resolution of times in a status */

/* --- the end */

/* The last plan of this Canary: no status after it, since the object may be gone. */
static enum rule_result let_canary_go(struct release *r)
{
    if (load_tests_are_left(r))
        return RULE_DONE; /* the stop is tried again (checks.c) */
    if (r->status)
        return tick_broken(r->tick, "the last plan of a Canary would write its status");
    finalizer_plan(r->tick, r->canary->json, false);
    event_normal(r, "Terminated canary %s", release_canary(r));
    release_requeue(r, REQUEUE_NEVER);
    return RULE_DONE;
}

/* Keeps the objects that others need. */
static enum rule_result end(struct release *r)
{
    enum rule_result verdict = bystander_keep_primary(r);

    if (verdict == RULE_CONTINUE)
        verdict = handover_delete_routes(r);
    return verdict == RULE_CONTINUE ? let_canary_go(r) : verdict;
}

/* --- the target */

static enum rule_result wait(struct release *r)
{
    release_requeue(r, REQUEUE_INTERVAL);
    return RULE_DONE;
}

/* True if the target does not, or may not, have the promoted revision. */
static bool is_unproven(const struct release *r)
{
    return release_is_analysing(r) || r->phase == PHASE_Waiting || r->phase == PHASE_Failed;
}

static void tell_beginning(struct release *r)
{
    bool unproven = is_unproven(r);

    if (r->phase == PHASE_Terminating)
        return;
    status_phase(r, PHASE_Terminating);
    event_normal(r, "Terminating canary %s", release_canary(r));
    if (unproven)
        event_warning(r, "%s serves what it holds from now on, a revision that was not promoted",
                      release_target(r));
}

/* The deadline counts from the deletion. */
static bool is_late(const struct release *r)
{
    const char *since = json_str_at(r->canary->json, "metadata", "deletionTimestamp", NULL);
    int64_t since_ms;

    return !since || clock_parse(since, &since_ms, NULL) != ERR_OK ||
           tick_deadline_passed(r->tick, tick_since(r->tick, since_ms));
}

/*
 * Pods of the target are still terminating, and the primary serves. If the target were scaled up
 * now, a Deployment controller that has not yet observed the ReplicaSet would count them as new
 * pods and report readiness without a pod: status.observedGeneration does not cover what the
 * ReplicaSet has observed.
 */
static bool is_going(struct release *r)
{
    return r->info.at_zero && !r->info.stopped && r->info.primary &&
           release_serves(r, SIDE_PRIMARY) && !is_late(r);
}

/*
 * A missing scaler (DONE) was reported and does not prevent the reversal. Nor does a scaler that
 * keeps removing replicas, after the deadline.
 */
static enum rule_result restore_target(struct release *r)
{
    enum rule_result verdict = RULE_CONTINUE;
    int replicas = 0;

    if (r->scaler)
        verdict = r->scaler->resume_target(r->tick);
    if (r->scaler && verdict == RULE_CONTINUE)
        verdict = r->scaler->min_replicas(r->tick, &replicas);
    if (verdict != RULE_NEEDS_FACTS)
        verdict = share_put_back(r);
    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    if (!is_going(r) && (r->info.at_zero || !is_late(r)))
        r->target->restore(r->tick, &r->info, replicas);
    return RULE_CONTINUE;
}

/*
 * The serving side keeps serving. The wait ends if it protects nothing: no primary exists, or both
 * sides were scaled to zero.
 */
static enum rule_result wait_for_target(struct release *r)
{
    const char *why;
    enum readiness readiness = release_ready(r, SIDE_CANARY, &why);
    bool missed = r->info.primary && release_serves(r, SIDE_PRIMARY);
    bool ready = readiness == READY && !release_has_writes(r);
    bool hopeless = readiness == NOT_READY_EVER || is_late(r);

    bool nobody = r->info.at_zero && !missed && !release_has_writes(r);

    if (ready || !r->info.primary || nobody || (hopeless && !missed))
        return RULE_CONTINUE;
    if (!hopeless)
        return wait(r);
    if (condition_set(r, CONDITION_REVERTED, "TargetNotReady",
                      arena_printf(r->tick->arena,
                                   "%s is not ready to serve by itself; %s-primary.%s goes on "
                                   "serving. Fix the target, or remove the finalizer " FINALIZER
                                   " and lose the primary with the Canary",
                                   release_target(r), r->canary->target.name,
                                   r->canary->namespace_)))
        event_warning(r, "Termination of %s waits for its target: %s", release_canary(r), why);
    return wait(r);
}

/* --- the traffic */

/* An invalid spec requires impossible routes of the mesh; its routes are left unchanged. */
static const char *why_no_routes(struct release *r)
{
    if (!r->router)
        return arena_printf(r->tick->arena, "provider \"%s\" is not served by this version",
                            r->tick->provider ? r->tick->provider : "");
    return r->router->check(r->tick->arena, r->canary);
}

static enum rule_result revert_routes(struct release *r, bool anew)
{
    enum rule_result verdict = RULE_CONTINUE;

    if (!r->target->own_services)
        verdict = leftover_delete_routes(r);
    if (verdict == RULE_CONTINUE && !r->target->own_services)
        verdict = leftover_lead(r, LEAVE_TO_TARGET);
    if (verdict == RULE_CONTINUE && !why_no_routes(r))
        verdict = r->router->revert(r->tick, anew);
    unserved_forgo(r);
    return verdict;
}

static enum rule_result revert_traffic(struct release *r)
{
    struct service_pods pods = serving_pods(r);
    pods.answers = NULL; /* wait_for_target() ensures that they answer */
    /* The Canary was initialised: routes and apex Service existed. */
    bool anew = json_at(r->canary->status.json, "lastAppliedSpec", NULL) != NULL;
    enum rule_result verdict =
        r->target->own_services ? RULE_CONTINUE : services_revert_apex(r->tick, &pods, anew);

    struct json_object *old;
    bool adds = false;
    if (verdict == RULE_CONTINUE && !r->target->own_services)
        verdict = services_old_ports(r->tick, &pods, &adds, &old);
    /* routes that refer to a port follow once the Service has it */
    if (verdict == RULE_CONTINUE && !(adds && release_has_writes(r)))
        verdict = revert_routes(r, anew);
    if (verdict != RULE_CONTINUE || !release_has_writes(r))
        return verdict;
    /* Changed again by another program: the interval restarts, but not for ever. */
    if (condition_is_set(r, CONDITION_REVERTED) && !is_late(r))
        condition_set(r, CONDITION_REVERTED, "Reverting", "The traffic goes to the target.");
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/*
 * The primary is deleted with the Canary. Before that, routers must know the target: the mesh
 * itself reports that; nodes, which learn the endpoints of the apex Service with a delay, do not
 * report it and get one interval.
 */
static enum rule_result settle(struct release *r)
{
    const struct pause pause = {
        .type = CONDITION_REVERTED,
        .reason = "TargetServes",
        .text = arena_printf(r->tick->arena, "%s serves by itself.", release_target(r)),
        .done = true,
        .unasked = why_no_routes(r) || is_late(r),
        .more_ms = CLOCK_GRAIN_MS,
    };

    return pause_pass(r, &pause);
}

static enum rule_result disown(struct release *r)
{
    const char *why = why_no_routes(r);
    enum rule_result verdict =
        r->target->own_services ? RULE_CONTINUE : services_disown_apex(r->tick);

    if (verdict == RULE_CONTINUE && !r->target->own_services)
        verdict = leftover_disown(r, LEAVE_TO_TARGET);
    if (verdict == RULE_CONTINUE && !why)
        verdict = r->router->disown(r->tick);
    if (verdict == RULE_CONTINUE && !r->target->own_services)
        verdict = leftover_report(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (why)
        event_warning(r, "the routes of %s are left as they are: %s", release_canary(r), why);
    if (r->canary->autoscaler.name && !r->scaler)
        event_warning(r, "%s %s.%s is left as it is: its kind is not served by this version",
                      r->canary->autoscaler.kind, r->canary->autoscaler.name,
                      r->canary->namespace_);
    return end(r);
}

/*
 * During a deletion the Canary analyses nothing any longer, and the target, which will carry all
 * traffic, must meet the requirements of a primary.
 */
static void end_analysis(struct release *r)
{
    struct canary *view = ARENA_NEW(r->tick->arena, struct canary);

    *view = *r->canary;
    view->analysis.match = NULL;
    view->analysis.match_step = NULL;
    view->analysis.canary_ready_threshold = view->analysis.primary_ready_threshold;
    r->canary = r->tick->canary = view;
}

/*
 * The target of the followed spec. During a move this is the former target, since its primary
 * serves, or the new one if the former is gone.
 */
static enum rule_result find_target(struct release *r)
{
    const struct canary *live = r->tick->live;

    end_analysis(r);
    enum rule_result verdict = r->target->find(r->tick, &r->info);
    if (verdict != RULE_CONTINUE || r->info.object ||
        strcmp(live->target.name, r->canary->target.name) == 0 ||
        target_find(live->target.api_version, live->target.kind) != r->target)
        return verdict;
    release_follow(r, live);
    end_analysis(r);
    r->info = (struct target_info){0};
    return r->target->find(r->tick, &r->info);
}

static enum rule_result revert(struct release *r)
{
    static enum rule_result (*const steps[])(struct release *) = {restore_target, wait_for_target,
                                                                  revert_traffic, settle, disown};
    enum rule_result verdict = find_target(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    bool handed;
    verdict = handover_run(r, is_late(r), &handed);
    if (verdict == RULE_CONTINUE && !handed)
        verdict = handover_take_back(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    /*
     * Without the target nothing can serve; a target without a selector label was never
     * initialised.
     */
    if (handed)
        return let_canary_go(r);
    if (r->info.pin != PIN_NONE) {
        r->target->unpin(r->tick, &r->info);
        release_requeue(r, REQUEUE_NOW);
        return RULE_DONE;
    }
    if (!r->canary->revert_on_deletion || !r->info.object ||
        (!r->info.label && !r->target->own_services))
        return end(r);
    tell_beginning(r);
    for (size_t i = 0; verdict == RULE_CONTINUE && i < sizeof(steps) / sizeof(steps[0]); i++)
        verdict = steps[i](r);
    return verdict;
}

/* --- a spec that cannot be read */

bool revert_unread(struct tick *tick, struct json_object *object, const char *sentence)
{
    if (!json_at(object, "metadata", "deletionTimestamp", NULL) || !finalizer_is_set(object))
        return false;
    finalizer_plan(tick, object, false);
    plan_event(tick, "Warning", PHASE_NONE,
               "the target and the routes are left as they are, the spec cannot be read: %s",
               sentence);
    return true;
}

/* --- the rules */

enum rule_result revert_canary(struct release *r)
{
    if (!r->canary->deleting)
        return RULE_CONTINUE;
    release_requeue(r, REQUEUE_NEVER);
    if (!finalizer_is_set(r->canary->json))
        return RULE_DONE;
    enum rule_result verdict = load_tests_end(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (r->target)
        return revert(r);
    if (r->canary->revert_on_deletion)
        event_warning(r, "%s %s is left as it is: its kind is not served by this version",
                      r->canary->target.kind, release_target(r));
    return let_canary_go(r);
}

/* Flagger's finalizer may leave such a phase without a deletion. */
enum rule_result revert_left(struct release *r)
{
    release_requeue(r, REQUEUE_NEVER);
    return RULE_DONE;
}

enum rule_result revert_finalizer(struct release *r)
{
    finalizer_keep(r);
    return RULE_CONTINUE;
}
