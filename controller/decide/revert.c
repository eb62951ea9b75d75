/*
 * A Canary that is being deleted (decide/RULES.md §9). Our finalizer keeps it until the
 * target serves by itself again, so that nothing is lost when the garbage collector then takes the
 * primary, the Services and the routes:
 *
 *   the target gets its replicas back -> it is ready -> the apex Service selects it, the routes
 *   point to the apex Service -> that has become known everywhere -> what must outlive the Canary
 *   loses its owner -> the finalizer goes.
 *
 * Each tick finds out anew how far that is, so that it may be cut off anywhere. As long as the
 * target is not ready and the primary serves, nothing moves. What the target holds is what serves
 * afterwards: only the primary has the revision that was promoted before.
 *
 * Flagger sets the finalizer only where revertOnDeletion is true, and without it leaves the target
 * at zero and takes everything else away; it lets the collector have the apex Service and the
 * routes in either case. proto/COMPATIBILITY.md
 */
#include <string.h>

#include "base/clock.h"
#include "decide/act/bystander.h"
#include "decide/act/finalizer.h"
#include "decide/act/handover.h"
#include "decide/act/leftover.h"
#include "decide/act/share.h"
#include "decide/act/unserved.h"
#include "decide/decide.h"
#include "decide/release/condition.h"
#include "decide/release/pause.h"
#include "decide/release/release.h"
#include "decide/release/serving.h"
#include "decide/release/status.h"
#include "decide/rules.h"
#include "router/common_services.h"
#include "tick/edit.h"

enum { CLOCK_GRAIN_MS = 1000 }; /* of the times in a status */

/* --- the end of it */

/* The last plan of this Canary: no status after it, there may be nobody left who has one. */
static enum verdict let_canary_go(struct release *r)
{
    if (r->status)
        return tick_broken(r->tick, "the last plan of a Canary would write its status");
    finalizer_plan(r->tick, r->canary->json, false);
    release_say(r, "Terminated canary %s", release_canary(r));
    release_again(r, AGAIN_NEVER);
    return VERDICT_STOP;
}

/* What others need of it stays. */
static enum verdict end(struct release *r)
{
    enum verdict verdict = bystander_keep_primary(r);

    if (verdict == VERDICT_GO)
        verdict = handover_delete_routes(r);
    return verdict == VERDICT_GO ? let_canary_go(r) : verdict;
}

/* --- the target */

static enum verdict wait(struct release *r)
{
    release_again(r, AGAIN_INTERVAL);
    return VERDICT_STOP;
}

/* The target does not hold what was promoted, or may not. */
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
    release_say(r, "Terminating canary %s", release_canary(r));
    if (unproven)
        release_warn(r, "%s serves what it holds from now on, a revision that was not promoted",
                     release_target(r));
}

/* The deadline counts from the deletion. */
static bool is_late(const struct release *r)
{
    const char *since = json_str_at(r->canary->json, "metadata", "deletionTimestamp", NULL);
    int64_t since_ms;

    return !since || clock_parse(since, &since_ms, NULL) != ERR_OK ||
           since_ms + r->canary->progress_deadline_s * (int64_t)1000 <= r->tick->now_ms;
}

/*
 * Pods of the target are still going, and the primary serves. Scaled up now, a Deployment whose
 * controller has not yet heard from its ReplicaSet would count them as the new ones, and be ready
 * without a pod: status.observedGeneration says nothing of what the ReplicaSet has observed.
 */
static bool is_going(struct release *r)
{
    return r->info.at_zero && !r->info.stopped && r->info.primary &&
           release_serves(r, SIDE_PRIMARY) && !is_late(r);
}

/* A scaler that is gone (STOP) was told; it keeps nothing from being reverted. Nor does one that
 * goes on taking replicas away, after the deadline. */
static enum verdict restore_target(struct release *r)
{
    enum verdict verdict = VERDICT_GO;
    int replicas = 0;

    if (r->scaler)
        verdict = r->scaler->resume_target(r->tick);
    if (r->scaler && verdict == VERDICT_GO)
        verdict = r->scaler->min_replicas(r->tick, &replicas);
    if (verdict != VERDICT_NEED_FACTS)
        verdict = share_put_back(r);
    if (verdict == VERDICT_NEED_FACTS)
        return verdict;
    if (!is_going(r) && (r->info.at_zero || !is_late(r)))
        r->target->restore(r->tick, &r->info, replicas);
    return VERDICT_GO;
}

/* Who serves goes on serving. Nobody is waited for in vain: with no primary that would be missed,
 * there is nothing to protect; so where both sides were put to zero. */
static enum verdict wait_for_target(struct release *r)
{
    const char *why;
    enum readiness readiness = release_ready(r, SIDE_CANARY, &why);
    bool missed = r->info.primary && release_serves(r, SIDE_PRIMARY);
    bool ready = readiness == READY && !release_has_writes(r);
    bool hopeless = readiness == NOT_READY_EVER || is_late(r);

    bool nobody = r->info.at_zero && !missed && !release_has_writes(r);

    if (ready || !r->info.primary || nobody || (hopeless && !missed))
        return VERDICT_GO;
    if (!hopeless)
        return wait(r);
    if (condition_set(
            r, CONDITION_REVERTED, "TargetNotReady",
            arena_printf(r->tick->arena,
                         "%s is not ready to serve by itself; %s-primary.%s goes on serving. Mend "
                         "the target, or remove the finalizer " FINALIZER
                         " and lose the primary with the Canary",
                         release_target(r), r->canary->target.name, r->canary->namespace_)))
        release_warn(r, "Termination of %s waits for its target: %s", release_canary(r), why);
    return wait(r);
}

/* --- the traffic */

/* What an invalid spec asks of the mesh cannot be done; its routes are left as they are. */
static const char *why_no_routes(struct release *r)
{
    if (!r->router)
        return arena_printf(r->tick->arena, "provider \"%s\" is not served by this version",
                            r->tick->provider ? r->tick->provider : "");
    return r->router->check(r->tick->arena, r->canary);
}

static enum verdict revert_routes(struct release *r, bool anew)
{
    enum verdict verdict = VERDICT_GO;

    if (!r->target->own_services)
        verdict = leftover_delete_routes(r);
    if (verdict == VERDICT_GO && !r->target->own_services)
        verdict = leftover_lead(r, LEAVE_TO_TARGET);
    if (verdict == VERDICT_GO && !why_no_routes(r))
        verdict = r->router->revert(r->tick, anew);
    unserved_forgo(r);
    return verdict;
}

static enum verdict revert_traffic(struct release *r)
{
    struct service_pods pods = serving_pods(r);
    pods.answers = NULL; /* wait_for_target() has seen to it */
    /* Initialised once: routes and apex Service were there. */
    bool anew = json_at(r->canary->status.json, "lastAppliedSpec", NULL) != NULL;
    enum verdict verdict =
        r->target->own_services ? VERDICT_GO : services_revert_apex(r->tick, &pods, anew);

    struct json_object *old;
    bool adds = false;
    if (verdict == VERDICT_GO && !r->target->own_services)
        verdict = services_old_ports(r->tick, &pods, &adds, &old);
    /* routes that refer to a port follow when the Service has it */
    if (verdict == VERDICT_GO && !(adds && release_has_writes(r)))
        verdict = revert_routes(r, anew);
    if (verdict != VERDICT_GO || !release_has_writes(r))
        return verdict;
    /* Undone by somebody: the time in which it becomes known begins anew, but not for ever. */
    if (condition_is_set(r, CONDITION_REVERTED) && !is_late(r))
        condition_set(r, CONDITION_REVERTED, "Reverting", "The traffic goes to the target.");
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/*
 * The primary goes with the Canary. Before that, who routes must have heard of the target: the mesh
 * says so itself; of the nodes, which learn the apex Service's endpoints in their own time, nobody
 * can know, and they get as long as one interval.
 */
static enum verdict settle(struct release *r)
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

static enum verdict disown(struct release *r)
{
    const char *why = why_no_routes(r);
    enum verdict verdict = r->target->own_services ? VERDICT_GO : services_disown_apex(r->tick);

    if (verdict == VERDICT_GO && !r->target->own_services)
        verdict = leftover_disown(r, LEAVE_TO_TARGET);
    if (verdict == VERDICT_GO && !why)
        verdict = r->router->disown(r->tick);
    if (verdict == VERDICT_GO && !r->target->own_services)
        verdict = leftover_report(r);
    if (verdict != VERDICT_GO)
        return verdict;
    if (why)
        release_warn(r, "the routes of %s are left as they are: %s", release_canary(r), why);
    if (r->canary->autoscaler.name && !r->scaler)
        release_warn(r, "%s %s.%s is left as it is: its kind is not served by this version",
                     r->canary->autoscaler.kind, r->canary->autoscaler.name, r->canary->namespace_);
    return end(r);
}

/*
 * The rules of a deletion see a Canary that tests nothing any more, and whose target, which is to
 * carry everything, is held to what is asked of a primary.
 */
static void end_analysis(struct release *r)
{
    struct canary *view = ARENA_NEW(r->tick->arena, struct canary);

    *view = *r->canary;
    view->analysis.match = NULL;
    view->analysis.canary_ready_threshold = view->analysis.primary_ready_threshold;
    r->canary = r->tick->canary = view;
}

/*
 * The target of the spec that is followed. In the middle of a move that is the one before, whose
 * primary serves; when it is gone itself, the one that is to come.
 */
static enum verdict find_target(struct release *r)
{
    const struct canary *live = r->tick->live;

    end_analysis(r);
    enum verdict verdict = r->target->find(r->tick, &r->info);
    if (verdict != VERDICT_GO || r->info.object ||
        strcmp(live->target.name, r->canary->target.name) == 0 ||
        target_find(live->target.api_version, live->target.kind) != r->target)
        return verdict;
    release_follow(r, live);
    end_analysis(r);
    r->info = (struct target_info){0};
    return r->target->find(r->tick, &r->info);
}

static enum verdict revert(struct release *r)
{
    static enum verdict (*const steps[])(struct release *) = {restore_target, wait_for_target,
                                                              revert_traffic, settle, disown};
    enum verdict verdict = find_target(r);
    if (verdict != VERDICT_GO)
        return verdict;
    bool handed;
    verdict = handover_run(r, is_late(r), &handed);
    if (verdict == VERDICT_GO && !handed)
        verdict = handover_take_back(r);
    if (verdict != VERDICT_GO)
        return verdict;
    /* With the target gone there is nobody to serve; one without a selector label was never
     * initialised. */
    if (handed)
        return let_canary_go(r);
    if (r->info.pin != PIN_NONE) {
        r->target->unpin(r->tick, &r->info);
        release_again(r, AGAIN_NOW);
        return VERDICT_STOP;
    }
    if (!r->canary->revert_on_deletion || !r->info.object ||
        (!r->info.label && !r->target->own_services))
        return end(r);
    tell_beginning(r);
    for (size_t i = 0; verdict == VERDICT_GO && i < sizeof(steps) / sizeof(steps[0]); i++)
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

enum verdict revert_canary(struct release *r)
{
    if (!r->canary->deleting)
        return VERDICT_GO;
    release_again(r, AGAIN_NEVER);
    if (!finalizer_is_set(r->canary->json))
        return VERDICT_STOP;
    if (r->target)
        return revert(r);
    if (r->canary->revert_on_deletion)
        release_warn(r, "%s %s is left as it is: its kind is not served by this version",
                     r->canary->target.kind, release_target(r));
    return let_canary_go(r);
}

/* Such a phase without a deletion is what Flagger's finalizer may leave behind. */
enum verdict revert_left(struct release *r)
{
    release_again(r, AGAIN_NEVER);
    return VERDICT_STOP;
}

enum verdict revert_finalizer(struct release *r)
{
    finalizer_keep(r);
    return VERDICT_GO;
}
