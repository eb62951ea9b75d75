/* Steps 15 to 20: is there anything new, and does it change what is running? */
#include <stdio.h>
#include <string.h>

#include "decide/act/bystander.h"
#include "decide/act/capacity.h"
#include "decide/act/drain.h"
#include "decide/act/gates.h"
#include "decide/act/promote.h"
#include "decide/act/refused_write.h"
#include "decide/act/rollback.h"
#include "decide/act/scale_up.h"
#include "decide/ask/hooks.h"
#include "decide/release/condition.h"
#include "decide/release/history.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/serving.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"
#include "decide/rules.h"
#include "target/common_configs.h"

enum { OUTRUN = 3 }; /* releases in a row */

enum verdict detect_routes(struct release *r)
{
    return release_read_routes(r);
}

/* The end of a rollback that had to wait: the traffic has left the canary. */
static enum verdict stop_left_target(struct release *r)
{
    enum verdict verdict = drain_target(r);

    if (verdict != VERDICT_GO)
        return verdict;
    status_weight(r, 0);
    return VERDICT_STOP;
}

static bool is_ready(struct release *r, enum side side)
{
    const char *why;

    return release_ready(r, side, &why) == READY;
}

/* A failed promotion found neither side ready, and each kept its share. */
static enum verdict leave_broken_primary(struct release *r)
{
    enum verdict verdict = release_route_everything(r);

    if (verdict != VERDICT_GO)
        return verdict;
    status_weight(r, 100);
    release_say(r, "Routing all traffic to %s, the primary is not ready", release_target(r));
    return VERDICT_STOP;
}

/* No pod takes the canary's share, and some of the primary's would. */
static bool is_left_alone(struct release *r)
{
    return !r->target->own_services && !release_serves(r, SIDE_CANARY) &&
           release_serves(r, SIDE_PRIMARY) && !is_ready(r, SIDE_PRIMARY);
}

/*
 * The canary has traffic although nothing is under way: a rollback or a promotion failed and the
 * primary was not ready. Now it is, and the traffic goes back; unless the canary serves everything
 * well and the primary carries the very revision that failed, or was left half promoted
 * (lastPromotedSpec is empty).
 */
static enum verdict repair_left_traffic(struct release *r)
{
    bool canary_ready = !r->info.at_zero && is_ready(r, SIDE_CANARY);
    bool same;
    enum verdict verdict = VERDICT_GO;

    if (is_left_alone(r)) {
        verdict = release_route(r, 0);
        if (verdict == VERDICT_GO)
            verdict = stop_left_target(r);
        if (verdict == VERDICT_STOP)
            release_warn(r, "%s has no ready pod, its traffic goes to the primary",
                         release_target(r));
        return verdict;
    }
    verdict = r->target->compare(r->tick, &r->info, &same);

    if (verdict != VERDICT_GO)
        return verdict;
    /* one that was asked for more replicas is not ready either */
    if (!is_ready(r, SIDE_PRIMARY) && !capacity_waits(r, NULL))
        return canary_ready && !release_canary_serves_all(r) ? leave_broken_primary(r)
                                                             : VERDICT_STOP;
    if (canary_ready && release_canary_serves_all(r) &&
        (!*r->canary->status.last_promoted_spec || (same && r->phase == PHASE_Failed)))
        return VERDICT_STOP;
    bool kept;
    verdict = rollback_to_primary(r, CAPACITY_RETURN, &kept);
    if (verdict != VERDICT_GO)
        return verdict;
    if (kept)
        return VERDICT_STOP;
    verdict = stop_left_target(r);
    if (verdict == VERDICT_STOP)
        release_say(r, "Routing all traffic to primary, it is ready again");
    return verdict;
}

/*
 * A scaler that was made anew, or resumed by somebody, starts the target that nobody needs. (After
 * a failed promotion, when lastPromotedSpec is empty, it is left running.)
 */
static enum verdict repair_idle_scaler(struct release *r)
{
    if (!r->scaler || r->weights.canary > 0 || drain_is_under_way(r) ||
        !*r->canary->status.last_promoted_spec)
        return VERDICT_STOP;
    enum verdict verdict = r->scaler->pause_target(r->tick);
    return verdict == VERDICT_NEED_FACTS ? verdict : VERDICT_STOP;
}

/*
 * Nothing is under way, so that routes which somebody else has changed go back: with the target at
 * zero a weight on it is lost traffic. After a failed promotion the canary serves, and a weight
 * moved by a person is taken over.
 */
static enum verdict repair_idle_weights(struct release *r)
{
    int told = r->canary->status.canary_weight;

    if (r->router->weighted && told > 0 && told == r->weights.canary)
        return repair_left_traffic(r);
    if (!r->router->weighted || (r->weights.canary == told && !r->weights.mirrored))
        return repair_idle_scaler(r);
    if (told == 0)
        return release_route(r, 0) == VERDICT_NEED_FACTS ? VERDICT_NEED_FACTS : VERDICT_STOP;
    if (r->weights.canary == 0 && is_ready(r, SIDE_PRIMARY))
        return stop_left_target(r); /* repair_left_traffic() was cut off */
    status_weight(r, r->weights.canary);
    return VERDICT_STOP;
}

/*
 * The hash is another one, and yet the primary runs just this: the status was written by a Flagger
 * whose hash was another, or somebody promoted by hand. There is nothing to release.
 */
static enum verdict adopt(struct release *r, bool *changed)
{
    bool same;
    enum verdict verdict = r->target->compare(r->tick, &r->info, &same);

    if (verdict != VERDICT_GO || !same)
        return verdict;
    *changed = false;
    condition_clear(r, CONDITION_WHOLE);
    status_sync(r);
    status_text(r, "lastPromotedSpec", r->info.hash);
    return VERDICT_GO;
}

/*
 * In Failed, the spec that was promoted before is nothing new, as long as the primary runs it. It
 * does not when a promotion broke: Flagger's status does not tell, and calls it promoted for ever.
 */
static enum verdict check_restored(struct release *r, bool *changed)
{
    bool same;
    enum verdict verdict = r->target->compare(r->tick, &r->info, &same);

    *changed = !same;
    return verdict;
}

static enum verdict find_change(struct release *r, bool *changed)
{
    *changed = revision_changed(r);
    if (*changed && r->phase != PHASE_Failed)
        return adopt(r, changed);
    if (!*changed && r->phase == PHASE_Failed && !revision_is_applied(r))
        return check_restored(r, changed);
    return VERDICT_GO;
}

/* A new revision may wait for long before it begins, or never begin: the target has no pods for the
 * share that somebody has given it meanwhile. */
static bool has_stray_share(const struct release *r)
{
    return r->router->weighted && r->canary->status.canary_weight == 0 && r->weights.canary > 0;
}

enum verdict detect_idle(struct release *r)
{
    bool changed;
    enum verdict verdict = find_change(r, &changed);

    if (verdict != VERDICT_GO)
        return verdict;
    if (!changed) { /* no release waits any more */
        condition_clear(r, side_condition(SIDE_PRIMARY));
        condition_clear(r, CONDITION_ROUTES);
        condition_clear(r, CONDITION_TURN);
        verdict = repair_idle_weights(r);
        if (verdict == VERDICT_STOP)
            drain_tell_idle(r);
        return verdict;
    }
    if (has_stray_share(r)) {
        release_again(r, AGAIN_NOW);
        verdict = release_route(r, 0);
        return verdict == VERDICT_GO ? VERDICT_STOP : verdict;
    }
    release_again(r, AGAIN_INTERVAL);
    return VERDICT_GO;
}

/*
 * The promoted spec is back while another revision waits or is analysed: nothing is left to
 * release. (Flagger goes on and promotes what it has not analysed.) With tracked configs the old
 * spec may meet new configs, which is a revision of its own: there the primary is asked what it
 * runs, and also where the hashes may be those of another version of Flagger. While Flagger waits
 * after a failure, its status calls the revision that waits the one applied last.
 */
static enum verdict find_restored(struct release *r, bool *restored)
{
    bool waiting = r->phase == PHASE_Waiting;
    bool of_flagger = waiting && revision_is_flaggers(r);

    *restored = false;
    /* behind an analysis that it has ended, the status names no revision */
    if (waiting && !of_flagger && *r->canary->status.last_applied_spec) {
        *restored = !revision_changed(r);
        return VERDICT_GO;
    }
    if (!of_flagger && (revision_is_applied(r) || !revision_is_promoted(r)))
        return VERDICT_GO;
    return r->target->compare(r->tick, &r->info, restored);
}

/* The analysed revision may come back before the end of this is written: then a target at zero must
 * not be taken for the end of its rollback. So the status names no revision first. */
static enum verdict cancel(struct release *r)
{
    bool promoted = revision_is_promoted(r);
    bool begun = release_is_analysing(r) || release_is_promoting(r);
    bool kept;
    enum verdict verdict = rollback_to_primary(r, CAPACITY_RESTART, &kept);

    if (verdict != VERDICT_GO)
        return verdict;
    if (begun && *r->canary->status.last_applied_spec) {
        status_weight(r, r->weights.canary);
        status_text(r, "lastAppliedSpec", "");
        release_again(r, AGAIN_NOW);
        return VERDICT_STOP;
    }
    if (!kept)
        verdict = drain_target(r);
    if (verdict != VERDICT_GO)
        return verdict;
    history_cancel(r, "Its previous spec was restored.");
    if (!kept)
        status_forget_capacity(r);
    status_phase(r, promoted ? PHASE_Succeeded : PHASE_Failed);
    status_weight(r, r->weights.canary);
    status_reset(r);
    status_forget_waits(r);
    steering_forget(r);
    condition_clear(r, CONDITION_WHOLE);
    status_sync(r);
    /* What the pre-rollout hooks set up is taken down. */
    if (begun)
        hooks_post_rollout(r, r->phase);
    release_say(r, "Release of %s cancelled, its previous spec was restored", release_target(r));
    return VERDICT_STOP;
}

/*
 * Pods that run have read the configs they started with: with other configs, what they show is not
 * what would be promoted. So they go first, and the restart comes when they are gone. (Flagger
 * analyses the old pods.) Before that the status names no revision: the configs may change back,
 * and a target at zero must not be taken for the end of a rollback.
 */
static bool must_stop_pods(struct release *r)
{
    bool same_pods = revision_is_applied(r) || !*r->canary->status.last_applied_spec;

    return same_pods && !release_stopped(r) && r->weights.canary == 0;
}

/* The revision that was analysed before this one is on the primary, with its configs: its promotion
 * was cut off before its status was written. */
static enum verdict note_promoted(struct release *r)
{
    const char *applied = r->canary->status.last_applied_spec;
    enum carried carried = CARRIED_NOTHING;
    enum verdict verdict = *applied ? promote_look(r, &carried) : VERDICT_GO;

    if (carried == CARRIED_ALL)
        status_text(r, "lastPromotedSpec", applied);
    return verdict;
}

/* A promotion that was meant comes to nothing: the primary is what it was, or a part of both. */
static void leave_promotion(struct release *r, enum carried carried)
{
    if (carried == CARRIED_PART)
        promote_give_up(r);
    else if (carried == CARRIED_NOTHING)
        condition_clear(r, CONDITION_WHOLE);
}

/*
 * What runs is to be stopped first, and is kept for a Service of others: without configs there is
 * nothing that the pods have read too early, and the analysis begins on them (*stops is false).
 * With configs, what they show is not what would be promoted; that release ends, and the next one
 * is of the next change.
 */
static enum verdict give_way(struct release *r, enum carried carried, bool *stops)
{
    bool has_configs = r->info.configs && json_object_object_length(r->info.configs) > 0;
    enum verdict verdict = *stops ? bystander_wait(r) : VERDICT_GO;

    if (verdict != VERDICT_STOP)
        return verdict;
    *stops = false;
    if (!has_configs)
        return VERDICT_GO;
    leave_promotion(r, carried);
    release_warn(r,
                 "%s cannot be restarted with other configs, its pods are kept for a Service of "
                 "others",
                 release_target(r));
    verdict = rollback_run(r, true);
    return verdict == VERDICT_GO ? VERDICT_STOP : verdict;
}

/* The releases before this one that were cancelled, since one has ended. */
static int count_cancelled(const struct release *r)
{
    struct json_object *history = json_at(r->canary->status.json, "history", NULL);
    int count = 0;

    for (size_t i = 0; i < json_len(history); i++, count++) {
        const char *outcome = json_str_at(json_elem(history, i), "outcome", NULL);
        if (!outcome || strcmp(outcome, "cancelled") != 0)
            break;
    }
    return count;
}

/* Pushes that outrun the analysis: nothing reaches production, and nothing is wrong with any of
 * them. It is told once, until a release ends. */
static void tell_outrun(struct release *r)
{
    int cancelled = count_cancelled(r) + 1;
    const char *text = arena_printf(
        r->tick->arena,
        "%d releases of %s in a row were replaced by the next revision before they ended, and none "
        "of them is promoted; analysis.onNewRevision: finish lets each come to its end first",
        cancelled, release_canary(r));
    bool known = condition_is_set(r, CONDITION_OUTRUN);

    if (cancelled < OUTRUN)
        return;
    condition_set_true(r, CONDITION_OUTRUN, "ReplacedInARow", text);
    if (known)
        return;
    release_warn(r, "%s", text);
    plan_alert(r->tick, "warn", false, "No release comes to its end")->reason = text;
}

/* carried: of the promotion that this interrupts. */
static void leave_analysis(struct release *r, enum carried carried)
{
    history_cancel(r, revision_configs_changed(r) && revision_is_applied(r)
                          ? "Its configs changed, and it was begun anew."
                          : "Another revision came.");
    status_weight(r, r->weights.canary);
    status_reset(r);
    status_forget_waits(r);
    steering_forget(r);
    leave_promotion(r, carried);
    tell_outrun(r);
}

/* The status names no revision: whichever comes, the one that was analysed too, begins at the gate. */
static enum verdict wait_to_begin(struct release *r, bool kept)
{
    enum verdict verdict = kept ? VERDICT_GO : drain_target(r);

    if (verdict != VERDICT_GO)
        return verdict;
    status_text(r, "lastAppliedSpec", "");
    return VERDICT_STOP;
}

/*
 * Consent was for the revision before. This one passes the gate that begin_release() asks, and a
 * Canary that is paused begins nothing. (Flagger asks for the first revision only.)
 */
static enum verdict pass_gate(struct release *r, bool kept)
{
    bool paused = steering_is_paused(r);
    enum verdict verdict = paused ? VERDICT_STOP : gates_confirm_rollout(r);

    if (paused) {
        status_phase(r, PHASE_Waiting);
        release_say(r, "New revision detected! %s is paused, it waits", release_canary(r));
    }
    if (verdict == VERDICT_STOP)
        return wait_to_begin(r, kept);
    if (verdict == VERDICT_GO)
        verdict = scale_up_target(r);
    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Progressing);
    condition_clear(r, CONDITION_DRAINED);
    status_sync(r);
    release_say(r, "New revision detected! Restarting analysis for %s", release_target(r));
    r->tick->plan->stepped = true;
    return VERDICT_STOP;
}

/* carried: as above. */
static enum verdict restart(struct release *r, enum carried carried)
{
    bool kept = false;
    enum verdict verdict = note_promoted(r);

    if (verdict == VERDICT_GO)
        verdict = rollback_to_primary(r, CAPACITY_RESTART, &kept);
    if (verdict != VERDICT_GO)
        return verdict;
    if (kept && capacity_is_empty(r) && !release_goes_forward(r))
        return condition_hold(
            r, side_condition(SIDE_PRIMARY), CONDITION_WAITING,
            arena_printf(r->tick->arena,
                         "The new revision of %s waits, nobody answers on the primary yet",
                         release_target(r)));
    bool stops = must_stop_pods(r), needs = false;
    verdict = stops ? serving_needs_target(r, &needs) : VERDICT_GO;
    if (verdict != VERDICT_GO)
        return verdict;
    stops = stops && !needs; /* as where the canary has a share: no pod is stopped that serves */
    verdict = give_way(r, carried, &stops);
    if (verdict != VERDICT_GO)
        return verdict;
    if (stops && *r->canary->status.last_applied_spec) {
        status_phase(r, PHASE_Progressing);
        status_weight(r, 0);
        leave_promotion(r, carried);
        status_text(r, "lastAppliedSpec", "");
        release_again(r, AGAIN_NOW);
        return VERDICT_STOP;
    }
    if (stops) {
        verdict = drain_target(r);
        if (verdict != VERDICT_GO)
            return verdict;
        status_weight(r, 0);
        return VERDICT_STOP;
    }
    leave_analysis(r, carried);
    refused_write_forget(r); /* this revision has a deadline of its own */
    return pass_gate(r, kept);
}

/*
 * While promoting, the primary has the analysed revision, or gets it, and whatever comes waits for
 * the end of that. Except where the promotion was meant and the primary has nothing of it yet, or
 * only a part of what is gone now; and where the primary was deleted and is the old one again.
 */
enum verdict detect_while_promoting(struct release *r)
{
    bool changed = !revision_is_applied(r) || revision_configs_changed(r), restored = false;
    enum carried carried = CARRIED_ALL;
    enum verdict verdict = VERDICT_GO;

    if (!revision_is_applied(r) && revision_is_promoted(r))
        verdict = r->target->compare(r->tick, &r->info, &restored);
    if (verdict == VERDICT_GO && changed)
        verdict = promote_carried(r, &carried);
    /* the old template with a part of the new configs has never been analysed */
    restored = restored && carried != CARRIED_PART;
    if (verdict != VERDICT_GO || (!restored && carried == CARRIED_ALL))
        return verdict;
    if (restored)
        return cancel(r);
    return restart(r, carried);
}

enum verdict detect_other_revision(struct release *r)
{
    bool restored;
    enum verdict verdict = find_restored(r, &restored);

    if (verdict != VERDICT_GO)
        return verdict;
    if (restored)
        return cancel(r);
    if (release_is_analysing(r) && (!revision_is_applied(r) || revision_configs_changed(r)))
        return restart(r, CARRIED_ALL);
    return VERDICT_GO;
}

enum verdict detect_due(struct release *r)
{
    /* a person waits for it, and nothing of it has been looked at yet */
    bool asked = r->phase == PHASE_Progressing && steering_ends_analysis(r);

    if (!r->tick->due && !asked)
        return VERDICT_STOP;
    r->tick->plan->stepped = true;
    return VERDICT_GO;
}
