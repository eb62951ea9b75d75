/* Promotion: the rules, the writes of the primary, and the shift of the traffic. */
#include "decide/promote.h"

#include <stdio.h>
#include <string.h>

#include "decide/capacity.h"
#include "decide/checks.h"
#include "decide/companions.h"
#include "decide/condition.h"
#include "decide/foreign.h"
#include "decide/release.h"
#include "decide/revision.h"
#include "decide/rollback.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "decide/share.h"
#include "decide/status.h"
#include "decide/steering.h"
#include "notify/notify.h"
#include "target/shared/configs.h"
#include "tick/edit.h"

/*
 * Writing the primary (decide/RULES.md): it gets the analysed revision, then the traffic,
 * then the canary is removed.
 *
 * That is one operation in several writes. First the status records the intention: phase
 * Promoting, and the condition PrimaryWhole=False. Then the copies of the configs and the primary
 * are written, each tick the missing part, until complete. After the first of these writes there
 * is no way back. (Flagger writes the phase last: an interrupted release may end in a rollback to
 * a primary of the old revision with the configs of the new one.)
 */

static const char being_written[] = "Promoting"; /* reason of the condition */

static const char copies[] = "copiesLeft"; /* a field of the status */

static bool promote_left_copies(const struct release *r)
{
    return json_bool_at(r->canary->status.json, false, copies, NULL);
}

/*
 * The revision no longer reads any config, but the primary still does: once the primary is written,
 * only the status knows of the copies.
 */
static void note_copies(struct release *r)
{
    struct json_object *spec = json_at(r->info.primary, "spec", "template", "spec", NULL);

    if (!r->info.config_refs && configs_has_copies(r->tick, spec))
        json_set_bool(release_status(r), copies, true);
}

static void promote_forget_copies(struct release *r)
{
    if (promote_left_copies(r))
        status_object(r, copies, NULL);
}

enum rule_result promote_begin(struct release *r)
{
    const char *target = release_target(r);

    event_normal(r, "Copying %s template spec to %s-primary.%s", target, r->canary->target.name,
                 r->canary->namespace_);
    status_phase(r, PHASE_Promoting);
    condition_set(r, CONDITION_WHOLE, being_written,
                  arena_printf(r->tick->arena, "%s-primary.%s is being promoted to %s",
                               r->canary->target.name, r->canary->namespace_,
                               r->canary->status.last_applied_spec));
    note_copies(r);
    status_forget_waits(r);
    steering_forget(r);
    status_share(r, r->weights.canary);
    status_int(r, "iterations", r->canary->status.iterations);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

bool promote_is_being_written(const struct release *r)
{
    return release_is_promoting(r) && condition_has_reason(r, CONDITION_WHOLE, being_written);
}

bool promote_is_of_analysed(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0 &&
           !revision_configs_changed(r);
}

/* The revision in the status, as a target. */
static struct target_info analysed_target(const struct release *r)
{
    struct target_info then = r->info;

    snprintf(then.hash, sizeof(then.hash), "%s", r->canary->status.last_applied_spec);
    if (r->canary->status.tracked_configs)
        then.configs = r->canary->status.tracked_configs;
    else if (then.configs)
        then.configs = edit_object(r->tick->arena);
    return then;
}

enum rule_result promote_progress(struct release *r, enum carried *out)
{
    struct target_info then = analysed_target(r);

    if (r->target->carried)
        return r->target->carried(r->tick, &then, r->canary->status.last_promoted_spec, out);
    *out = r->target->is_promoted(r->tick, &then) ? CARRIED_ALL : CARRIED_NOTHING;
    return RULE_CONTINUE;
}

enum rule_result promote_is_untouched(struct release *r, bool *out)
{
    enum carried carried = CARRIED_NOTHING;
    enum rule_result verdict = RULE_CONTINUE;

    /* the target has another revision: detect.c decides about it first */
    if (release_is_promoting(r))
        verdict = r->info.primary && promote_is_being_written(r) && promote_is_of_analysed(r)
                      ? promote_progress(r, &carried)
                      : RULE_DONE;
    *out = verdict == RULE_CONTINUE && carried == CARRIED_NOTHING;
    return verdict == RULE_NEEDS_FACTS ? verdict : RULE_CONTINUE;
}

/*
 * After a complete write, a primary without any part of the revision has been deleted and recreated
 * from the previously promoted revision. An unknown revision counts as the written one.
 */
enum rule_result promote_carried(struct release *r, enum carried *out)
{
    *out = CARRIED_ALL;
    if (!release_is_promoting(r) || revision_is_flaggers(r))
        return RULE_CONTINUE;
    enum rule_result verdict = promote_progress(r, out);
    if (*out == CARRIED_PART && !promote_is_being_written(r))
        *out = CARRIED_ALL;
    return verdict;
}

void promote_give_up(struct release *r)
{
    const char *text = arena_printf(r->tick->arena,
                                    "%s-primary.%s has a part of revision %s, which changed while "
                                    "it was promoted; the next release corrects that",
                                    r->canary->target.name, r->canary->namespace_,
                                    r->canary->status.last_applied_spec);

    if (condition_set(r, CONDITION_WHOLE, "HalfPromoted", text))
        event_warning(r, "%s", text);
    status_text(r, "lastPromotedSpec", "");
}

/*
 * The end of a promotion (decide/RULES.md): the traffic goes to the promoted primary, then
 * the target goes to zero.
 */

enum { MOMENT_MS = 2000 };

/*
 * The pause begins a moment after the step, when the mesh has reported the routes applied, and ends
 * later by the same amount. The end of the release waits for that moment, so that removing the pods
 * and ending the release take one write of the status. Longer waits continue after the end.
 */
static bool waits_for_pause(struct release *r)
{
    int64_t left = r->left ? 0 : drain_left_ms(r);

    if (left == 0 || left > MOMENT_MS)
        return false;
    r->tick->plan->stepped = false; /* the step is still to be taken */
    release_requeue_within(r, left);
    return true;
}

/*
 * Configs with content-dependent names leave copies behind, with old credentials in them. No pod
 * needs them any longer: the primary has rolled out.
 */
static enum rule_result sweep_copies(struct release *r)
{
    const char *why;

    if (!r->info.primary || release_ready(r, SIDE_PRIMARY, &why) != READY)
        return RULE_CONTINUE;
    enum rule_result verdict = configs_sweep(r->tick, &r->info, promote_left_copies(r));
    if (verdict == RULE_CONTINUE)
        promote_forget_copies(r);
    return verdict;
}

/* The end of every successful release: traffic is on the primary, the target goes to zero. */
enum rule_result shift_end(struct release *r)
{
    bool skipped = r->canary->skip_analysis;
    enum rule_result verdict = release_route(r, 0);

    if (verdict == RULE_CONTINUE)
        verdict = sweep_copies(r);
    if (verdict == RULE_CONTINUE && r->info.object) { /* the target may be gone */
        if (waits_for_pause(r))
            return RULE_DONE;
        verdict = drain_target(r);
    }
    if (verdict == RULE_CONTINUE)
        verdict = companions_check(r);
    /* the older route may be gone */
    if (verdict == RULE_CONTINUE && condition_is_set(r, CONDITION_FIRST))
        verdict = contested_check(r);
    if (verdict == RULE_CONTINUE && r->info.object)
        verdict = owners_check_pods(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (r->target->settle_primary)
        r->target->settle_primary(r->tick, &r->info);
    status_phase(r, PHASE_Succeeded);
    status_weight(r, 0);
    status_reset(r);
    status_forget_capacity(r);
    status_text(r, "lastPromotedSpec", r->canary->status.last_applied_spec);
    status_forget_waits(r);
    plan_outcome(r->tick, true, skipped ? "skipped" : "completed");
    r->tick->plan->change = alert_change_name(ALERT_UPGRADED);
    hooks_post_rollout(r, PHASE_Succeeded);
    if (skipped) {
        event_normal(r, "Promotion completed! Canary analysis was skipped for %s",
                     release_target(r));
        plan_alert(r->tick, "info", false, "Canary analysis was skipped, promotion finished.");
    } else {
        event_normal(r, "Promotion completed! Scaling down %s", release_target(r));
        plan_alert(r->tick, "info", false,
                   "Canary analysis completed successfully, promotion finished.");
    }
    /* A revision pushed during the promotion is detected at once. */
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

static enum rule_result finalise(struct release *r)
{
    enum rule_result verdict = drain_begin(r);

    if (verdict != RULE_CONTINUE)
        return verdict;
    status_phase(r, PHASE_Finalising);
    status_weight(r, 0);
    status_int(r, "iterations", 0);
    return RULE_DONE;
}

/* The next weight follows from the status, so that a step routed before a crash is not taken
 * twice. */
static enum rule_result shift_traffic(struct release *r)
{
    const struct shift shift = {.way = &r->canary->analysis.promotion, .field = "promotionStep"};
    int equal = r->canary->analysis.step_weight_promotion;
    bool by_steps = (equal > 0 || shift.way->n_steps > 0) && shift_may_be_slow(r);
    int left = r->weights.canary;

    if (!r->router->weighted || left == 0) {
        /* with nothing to wait for, this ends a wait whose route was written but not reported */
        enum rule_result waited = capacity_wait(r, CAPACITY_PROMOTION);
        if (waited != RULE_CONTINUE)
            return waited;
        return r->canary->skip_analysis ? shift_end(r) : finalise(r);
    }
    if (r->canary->status.canary_weight > 0)
        left = r->canary->status.canary_weight;
    if (by_steps && shift_left_ms(r, &shift, WEIGHT_ALL - left) > 0) {
        r->tick->plan->waits = true;
        return RULE_DONE;
    }
    if (by_steps && equal > 0)
        left = left > equal ? left - equal : 0;
    else
        left = by_steps ? shift_next(&shift, left) : 0;
    enum rule_result verdict = capacity_wait(r, CAPACITY_PROMOTION);
    if (verdict == RULE_CONTINUE && capacity_is_empty(r))
        return RULE_DONE; /* the time is over, and there is still no pod */
    if (verdict == RULE_CONTINUE)
        verdict = release_route(r, left);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (by_steps)
        event_normal(r, "Advance %s primary weight %s", release_canary(r),
                     weight_text(r->tick->arena, WEIGHT_ALL - left));
    else if (!r->canary->skip_analysis) /* Flagger does not report it then */
        event_normal(r, "Routing all traffic to primary");
    if (left == 0)
        return finalise(r);
    status_weight(r, left);
    if (shift.way->n_steps > 0)
        shift_note(r, &shift, WEIGHT_ALL - left);
    return RULE_DONE;
}

/*
 * A target that routes by itself turns the analysed revision, with its traffic, into the primary at
 * once, so the revision must still be ready.
 */
static enum rule_result wait_for_analysed(struct release *r)
{
    enum rule_result verdict =
        r->router->only_target ? ready_or_end(r, SIDE_CANARY) : RULE_CONTINUE;

    if (r->phase == PHASE_Failed)
        condition_clear(r, CONDITION_WHOLE);
    return verdict;
}

/*
 * A primary with strategy Recreate has no pods for a while. The canary, which has passed the
 * analysis, takes its share an interval before that, until the end of the promotion; but not before
 * it has the pods for all traffic. (With Flagger the requests of that share fail.)
 */
static enum rule_result relieve_primary(struct release *r)
{
    const char *why;

    if (!r->router->weighted || !r->target->replaces_all || !r->target->replaces_all(&r->info) ||
        r->info.at_zero || release_ready(r, SIDE_CANARY, &why) != READY)
        return RULE_CONTINUE;
    if (release_canary_serves_all(r))
        return r->tick->due ? settled_or_hold(r) : RULE_DONE;
    enum rule_result verdict = share_wait(r, WEIGHT_ALL);
    if (verdict == RULE_DONE && r->phase == PHASE_Failed)
        condition_clear(r, CONDITION_WHOLE); /* the pods did not come before the deadline */
    if (verdict == RULE_CONTINUE)
        verdict = release_route_everything(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    event_normal(r, "Routing all traffic to %s while the pods of the primary are replaced at once",
                 release_target(r));
    status_weight(r, WEIGHT_ALL);
    r->tick->plan->stepped = true;
    return RULE_DONE;
}

/*
 * detect_other_revision() has found in this tick that target and configs are the analysed ones, or
 * that everything was written already. The next status that reports something records it; a
 * separate write would have no benefit.
 */
enum rule_result promote_copy(struct release *r)
{
    enum carried carried = CARRIED_ALL;
    enum rule_result verdict = RULE_CONTINUE;

    if (!promote_is_being_written(r))
        return RULE_CONTINUE;
    if (promote_is_of_analysed(r)) {
        if (r->info.missing)
            return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
        verdict = promote_progress(r, &carried);
    }
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (r->router->weighted) /* the route may be ahead of the status */
        status_share(r, r->weights.canary);
    if (carried != CARRIED_ALL) {
        if (!r->target->is_promoted(r->tick, &r->info))
            verdict = wait_for_analysed(r);
        if (verdict == RULE_CONTINUE && !r->target->is_promoted(r->tick, &r->info))
            verdict = relieve_primary(r);
        if (verdict == RULE_CONTINUE)
            verdict = r->target->promote(r->tick, &r->info);
        if (verdict != RULE_CONTINUE)
            return verdict;
        if (release_has_writes(r))
            return RULE_DONE;
        /* Written by Flagger: only the id of the revision differs. */
    }
    condition_clear_later(r, CONDITION_WHOLE);
    return RULE_CONTINUE;
}

/* The primary has lost the promoted revision: writes that revision again. */
enum rule_result promote_again(struct release *r)
{
    enum carried carried = CARRIED_ALL;
    enum rule_result verdict = promote_is_of_analysed(r) && !promote_is_being_written(r)
                                   ? promote_carried(r, &carried)
                                   : RULE_CONTINUE;

    if (verdict != RULE_CONTINUE || carried == CARRIED_ALL)
        return verdict;
    return promote_begin(r);
}

/*
 * The primary has the analysed revision already: Flagger was interrupted before it wrote the status
 * of its promotion, so there is no way back. (Continuing the analysis could end in a rollback to a
 * primary with the new revision.) The primary's id does not show that.
 */
enum rule_result promote_resume(struct release *r)
{
    enum rule_result verdict = RULE_CONTINUE;
    bool carried = r->target->is_promoted(r->tick, &r->info);

    if (!carried && revision_is_flaggers(r))
        verdict = r->target->compare(r->tick, &r->info, &carried);
    if (verdict != RULE_CONTINUE || !carried)
        return verdict;
    return promote_begin(r);
}

/*
 * skipAnalysis, also when set during an analysis: copies the revision at once, and succeeds when
 * the primary runs it. (Flagger reports success as soon as it is copied.) A canary with a share
 * keeps it until then.
 */
enum rule_result promote_skip(struct release *r)
{
    return r->canary->skip_analysis && !steering_is_paused(r) ? promote_begin(r) : RULE_CONTINUE;
}

enum rule_result promote_shift(struct release *r)
{
    return shift_traffic(r);
}

enum rule_result promote_finish(struct release *r)
{
    return shift_end(r);
}

/*
 * Waits for the primary that continue from tick to tick (capacity.c), independent of hooks and
 * checks. Other waits are decided again at each tick by the rules that began them.
 */

enum rule_result resume_rollback(struct release *r)
{
    if (!capacity_waits(r, CAPACITY_ROLLBACK) && !rollback_is_in_steps(r))
        return RULE_CONTINUE;
    return rollback_run(r, r->phase == PHASE_Waiting);
}

/* The primary was ready before more replicas were requested. */
enum rule_result resume_promotion(struct release *r)
{
    if (!capacity_waits(r, CAPACITY_PROMOTION) || !capacity_answers(r))
        return RULE_CONTINUE;
    return shift_traffic(r);
}

enum rule_result resume_settle(struct release *r)
{
    capacity_settle(r);
    return RULE_CONTINUE;
}
