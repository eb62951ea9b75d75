/*
 * Promotion (steps 22, 24, 25; decide/RULES.md §8.1): the primary gets the analysed
 * revision, then the traffic, then the canary goes.
 *
 * It is one thing, although it takes several writes. First the status says that it is meant: phase
 * Promoting, and the condition PrimaryWhole=False. Then the copies of the configs and the primary
 * are written, at each tick what is missing, until all of it is there. From the first of these
 * writes on there is no way back. (Flagger writes the phase last: a release that is cut off before
 * may end in a rollback to a primary of the old revision with the configs of the new one.)
 */
#include "decide/promote.h"

#include <stdio.h>
#include <string.h>

#include "decide/ask/hooks.h"
#include "decide/capacity.h"
#include "decide/drain.h"
#include "decide/guard.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/status.h"
#include "decide/rules.h"
#include "tick/edit.h"

static const char being_written[] = "Promoting"; /* the reason of the condition */

enum verdict promote_begin(struct release *r)
{
    const char *target = release_target(r);

    release_say(r, "Copying %s template spec to %s-primary.%s", target, r->canary->target.name,
                r->canary->namespace_);
    status_phase(r, PHASE_Promoting);
    condition_set(r, CONDITION_WHOLE, being_written,
                  arena_printf(r->tick->arena, "%s-primary.%s is being promoted to %s",
                               r->canary->target.name, r->canary->namespace_,
                               r->canary->status.last_applied_spec));
    status_forget_waits(r);
    status_int(r, "canaryWeight", r->weights.canary);
    status_int(r, "iterations", r->canary->status.iterations);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

static bool is_being_written(const struct release *r)
{
    return release_is_promoting(r) && condition_has_reason(r, CONDITION_WHOLE, being_written);
}

/* Just what was analysed, and not only what was promoted before. */
static bool is_analysed(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0 &&
           !revision_configs_changed(r);
}

/*
 * A target that routes by itself makes the analysed revision the primary with the traffic that this
 * one has, and at once: so that revision must be ready still.
 */
static enum verdict wait_for_analysed(struct release *r)
{
    enum verdict verdict = r->router->only_target ? guard_ready(r, SIDE_CANARY) : VERDICT_GO;

    if (r->phase == PHASE_Failed)
        condition_clear(r, CONDITION_WHOLE);
    return verdict;
}

/* detect_other_revision() has seen in this very tick that target and configs are those that were
 * analysed, or that all of it is there already. */
enum verdict promote_copy(struct release *r)
{
    enum verdict verdict = VERDICT_GO;

    if (!is_being_written(r))
        return VERDICT_GO;
    if (is_analysed(r)) {
        if (r->info.missing)
            return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
        if (!r->target->is_promoted(r->tick, &r->info))
            verdict = wait_for_analysed(r);
        if (verdict == VERDICT_GO)
            verdict = r->target->promote(r->tick, &r->info);
    }
    if (verdict != VERDICT_GO)
        return verdict;
    condition_clear(r, CONDITION_WHOLE);
    if (r->router->weighted) /* what was routed may be ahead of it */
        status_int(r, "canaryWeight", r->weights.canary);
    return release_has_writes(r) ? VERDICT_STOP : VERDICT_GO;
}

/* The revision that the status speaks of, as a target. */
static struct target_info promote_analysed(const struct release *r)
{
    struct target_info then = r->info;

    snprintf(then.hash, sizeof(then.hash), "%s", r->canary->status.last_applied_spec);
    if (r->canary->status.tracked_configs)
        then.configs = r->canary->status.tracked_configs;
    else if (then.configs)
        then.configs = edit_object(r->tick->arena);
    return then;
}

enum verdict promote_look(struct release *r, enum carried *out)
{
    struct target_info then = promote_analysed(r);

    if (r->target->carried)
        return r->target->carried(r->tick, &then, r->canary->status.last_promoted_spec, out);
    *out = r->target->is_promoted(r->tick, &then) ? CARRIED_ALL : CARRIED_NOTHING;
    return VERDICT_GO;
}

/* Where all of it has been written, a primary that carries nothing of it was deleted since, and
 * made anew from the spec promoted before. One that nobody can tell about is what was written. */
enum verdict promote_carried(struct release *r, enum carried *out)
{
    *out = CARRIED_ALL;
    if (!release_is_promoting(r) || revision_is_flaggers(r))
        return VERDICT_GO;
    enum verdict verdict = promote_look(r, out);
    if (*out == CARRIED_PART && !is_being_written(r))
        *out = CARRIED_ALL;
    return verdict;
}

/* The primary has lost what was promoted: it gets it again. */
enum verdict promote_again(struct release *r)
{
    enum carried carried = CARRIED_ALL;
    enum verdict verdict =
        is_analysed(r) && !is_being_written(r) ? promote_carried(r, &carried) : VERDICT_GO;

    if (verdict != VERDICT_GO || carried == CARRIED_ALL)
        return verdict;
    return promote_begin(r);
}

void promote_give_up(struct release *r)
{
    const char *text = arena_printf(
        r->tick->arena,
        "%s-primary.%s has a part of revision %s, which changed while it was promoted; what is "
        "released next puts that right",
        r->canary->target.name, r->canary->namespace_, r->canary->status.last_applied_spec);

    if (condition_set(r, CONDITION_WHOLE, "HalfPromoted", text))
        release_warn(r, "%s", text);
    status_text(r, "lastPromotedSpec", "");
}

/*
 * The primary carries the analysed revision already: Flagger was cut off before it wrote the status
 * of its promotion, and there is no way back. (Going on with the analysis could end in a rollback
 * to a primary that has the new revision.) Where Flagger cut it off, the primary's id does not
 * tell.
 */
enum verdict promote_resume(struct release *r)
{
    enum verdict verdict = VERDICT_GO;
    bool carried = r->target->is_promoted(r->tick, &r->info);

    if (!carried && revision_is_flaggers(r))
        verdict = r->target->compare(r->tick, &r->info, &carried);
    if (verdict != VERDICT_GO || !carried)
        return verdict;
    return promote_begin(r);
}

/* The end of every release that succeeds: traffic is on the primary, the target goes to zero. */
static enum verdict succeed(struct release *r)
{
    bool skipped = r->canary->skip_analysis;
    enum verdict verdict = release_route(r, 0);

    if (verdict == VERDICT_GO)
        verdict = drain_target(r);
    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Succeeded);
    status_weight(r, 0);
    status_reset(r);
    status_text(r, "lastPromotedSpec", r->canary->status.last_applied_spec);
    status_forget_waits(r);
    plan_outcome(r->tick, true, skipped ? "skipped" : "completed");
    hooks_post_rollout(r, PHASE_Succeeded);
    if (skipped) {
        release_say(r, "Promotion completed! Canary analysis was skipped for %s",
                    release_target(r));
        plan_alert(r->tick, "info", false, "Canary analysis was skipped, promotion finished.");
    } else {
        release_say(r, "Promotion completed! Scaling down %s", release_target(r));
        plan_alert(r->tick, "info", false,
                   "Canary analysis completed successfully, promotion finished.");
    }
    /* A revision pushed during the promotion is looked at right away. */
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/*
 * skipAnalysis, also when it is set in the middle of an analysis: the copy at once, and success
 * when the primary runs it. (Flagger calls it a success as soon as it is copied.) A canary that has
 * a share keeps it until then.
 */
enum verdict promote_skip(struct release *r)
{
    return r->canary->skip_analysis ? promote_begin(r) : VERDICT_GO;
}

static enum verdict finalise(struct release *r)
{
    enum verdict verdict = drain_begin(r);

    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Finalising);
    status_weight(r, 0);
    status_int(r, "iterations", 0);
    return VERDICT_STOP;
}

/* A canary that fails, or has turned into a revision that nobody has analysed, gives up its share
 * at once: the primary is ready. */
static bool may_keep_a_share(struct release *r)
{
    const char *why;

    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0 &&
           release_ready(r, SIDE_CANARY, &why) == READY;
}

/* The next weight follows from the status, so that a step that was routed before a crash is not
 * made twice. */
enum verdict promote_shift(struct release *r)
{
    int step = may_keep_a_share(r) ? r->canary->analysis.step_weight_promotion : 0;
    int left = r->weights.canary;

    if (!r->router->weighted || left == 0) {
        /* with nothing to wait for, this ends a wait whose route was made and then not told of */
        enum verdict waited = capacity_wait(r, CAPACITY_PROMOTION);
        if (waited != VERDICT_GO)
            return waited;
        return r->canary->skip_analysis ? succeed(r) : finalise(r);
    }
    if (r->canary->status.canary_weight > 0)
        left = r->canary->status.canary_weight;
    left = step > 0 && left > step ? left - step : 0;
    /* Step by step, an autoscaler keeps up. */
    enum verdict verdict = step > 0 ? VERDICT_GO : capacity_wait(r, CAPACITY_PROMOTION);
    if (verdict == VERDICT_GO && capacity_is_empty(r))
        return VERDICT_STOP; /* its time is up, and still nobody is there */
    if (verdict == VERDICT_GO)
        verdict = release_route(r, left);
    if (verdict != VERDICT_GO)
        return verdict;
    if (step > 0)
        release_say(r, "Advance %s primary weight %d", release_canary(r), 100 - left);
    else if (!r->canary->skip_analysis) /* Flagger does not say so then */
        release_say(r, "Routing all traffic to primary");
    if (left == 0)
        return finalise(r);
    status_weight(r, left);
    return VERDICT_STOP;
}

enum verdict promote_finish(struct release *r)
{
    return succeed(r);
}
