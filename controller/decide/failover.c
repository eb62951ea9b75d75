/*
 * Traffic follows readiness: a side that has a share of it and no ready pod loses that share to the
 * other one as soon as the watch shows it, and not when the next step is due. (Flagger leaves the
 * share where it is until the progress deadline, and the requests of it fail.)
 *
 * An analysis that was disturbed so is checked anew from its first step, once both sides are ready:
 * what its steps have shown was shown of pods that are gone. It counts as a failed check, so that a
 * version that dies again and again is rolled back. While the primary has lost its share, the
 * condition TrafficServed=False remembers why the canary has all of it.
 */
#include "decide/act/capacity.h"
#include "decide/act/promote.h"
#include "decide/act/refused_write.h"
#include "decide/act/rollback.h"
#include "decide/ask/checks.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/serving.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"
#include "decide/rules.h"

static const char *primary_text(struct release *r)
{
    return arena_printf(r->tick->arena, "%s-primary.%s", r->canary->target.name,
                        r->canary->namespace_);
}

static const char *gone_text(struct release *r)
{
    return arena_printf(r->tick->arena,
                        "%s has no ready pod, all traffic goes to %s until it is ready again",
                        primary_text(r), release_target(r));
}

/* The steps that were made are made again. */
static void begin_steps_again(struct release *r)
{
    if (!release_is_analysing(r))
        return;
    status_phase(r, PHASE_Progressing);
    status_int(r, "iterations", 0);
}

static void count(struct release *r)
{
    if (release_is_analysing(r))
        status_int(r, "failedChecks", r->canary->status.failed_checks + 1);
}

/* The API server refuses it: when a step is due, the other guards are asked instead. */
static bool cannot_route(struct release *r, const struct weights *routed)
{
    if (!r->tick->due || !refused_write_keeps(r, routed))
        return false;
    release_wake(r, (tick_interval_ms(r->tick) + 1) / 2);
    return true;
}

/* One that its scaler took to zero is started again, and counted, by guard_canary(). */
static enum verdict leave_canary(struct release *r)
{
    const struct weights routed = r->weights;
    enum verdict verdict = release_route(r, 0);

    if (verdict != VERDICT_GO || cannot_route(r, &routed))
        return verdict;
    release_again(r, AGAIN_NOW);
    if (r->info.at_zero && release_is_analysing(r)) {
        status_weight(r, 0);
        return VERDICT_STOP;
    }
    begin_steps_again(r);
    count(r);
    status_weight(r, 0);
    if (release_is_analysing(r))
        return checks_failed(r, "NotServed",
                             "Halt %s advancement %s has no ready pod, its traffic goes to the "
                             "primary",
                             release_canary(r), release_target(r));
    release_warn(r, "%s has no ready pod, its traffic goes to the primary", release_target(r));
    return VERDICT_STOP;
}

/*
 * Why the canary gets everything is written before it does: a route that is found without that is a
 * step of the analysis. One that is no way back, after a failed promotion say, is not waited for.
 */
static enum verdict leave_primary(struct release *r)
{
    const char *text = gone_text(r);
    const struct weights routed = r->weights;

    if (!condition_is_set(r, CONDITION_SHARES) && !release_goes_forward(r)) {
        release_again(r, AGAIN_NOW);
        count(r);
        if (release_is_analysing(r))
            plan_alert(r->tick, "error", false, "%s", text);
        return condition_hold(r, CONDITION_SHARES, SERVING_GONE, text);
    }
    enum verdict verdict = release_route_everything(r);
    if (verdict != VERDICT_GO || cannot_route(r, &routed))
        return verdict;
    release_again(r, AGAIN_NOW);
    status_weight(r, 100);
    return VERDICT_STOP;
}

/* The primary is there again, and carries it: it gets its share back, and the analysis goes through
 * its steps. */
static enum verdict returned(struct release *r)
{
    condition_clear(r, CONDITION_SHARES);
    begin_steps_again(r);
    status_weight(r, 0);
    release_say(r, "%s is ready again, its traffic is back", primary_text(r));
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

static enum verdict return_share(struct release *r)
{
    bool kept;
    const struct weights routed = r->weights;
    enum verdict verdict = rollback_to_primary(r, CAPACITY_RETURN, &kept);

    if (verdict != VERDICT_GO || kept || cannot_route(r, &routed))
        return verdict;
    return returned(r);
}

static bool is_ready(struct release *r, enum side side)
{
    const char *why;

    return release_ready(r, side, &why) == READY;
}

/* This tick writes the promotion, and ends with that. */
static bool writes_promotion(struct release *r)
{
    return promote_is_being_written(r) && !r->target->is_promoted(r->tick, &r->info);
}

/* The step that is due ends the release because of this side, and routes at once. */
static bool ends_for_primary(struct release *r)
{
    const char *why;
    bool forward = release_is_analysing(r) && release_goes_forward(r);

    return release_ready(r, SIDE_PRIMARY, &why) == NOT_READY_EVER && !forward;
}

/* ... or starts it again, or is the end of a promotion; the primary is looked at before. */
static bool ends_for_canary(struct release *r)
{
    const char *why;

    if (!is_ready(r, SIDE_PRIMARY))
        return false;
    return release_is_promoting(r) || r->info.at_zero ||
           release_ready(r, SIDE_CANARY, &why) == NOT_READY_EVER;
}

static bool ends_now(struct release *r, enum side side)
{
    if (capacity_waits(r, CAPACITY_ROLLBACK) || capacity_waits(r, CAPACITY_PROMOTION))
        return side == SIDE_CANARY; /* which is over then, see resume.c */
    return r->tick->due && !steering_stops_clock(r) && !writes_promotion(r) &&
           (side == SIDE_PRIMARY ? ends_for_primary(r) : ends_for_canary(r));
}

/* Another revision takes the share away itself, and what is routed to a target that is about to go
 * is drain_running()'s. */
static bool may_leave_canary(struct release *r)
{
    bool other = release_is_analysing(r) && !promote_is_of_analysed(r);

    return r->weights.canary > 0 && !other && !condition_is_set(r, CONDITION_DRAINED) &&
           !ends_now(r, SIDE_CANARY);
}

/* Only what was analysed gets more than it has. */
static bool may_leave_primary(struct release *r)
{
    return !release_canary_serves_all(r) && r->phase != PHASE_Waiting &&
           promote_is_of_analysed(r) && is_ready(r, SIDE_CANARY) && !ends_now(r, SIDE_PRIMARY);
}

static bool is_to_return(struct release *r)
{
    return release_is_analysing(r) && release_canary_serves_all(r) && promote_is_of_analysed(r);
}

/* The process was cut off between the route and the status: the route is not led away once more. */
static bool is_half_returned(struct release *r)
{
    return release_is_analysing(r) && condition_has_reason(r, CONDITION_SHARES, SERVING_GONE) &&
           r->canary->status.canary_weight == 100 && r->weights.canary == 0 &&
           promote_is_of_analysed(r) && is_ready(r, SIDE_PRIMARY);
}

/*
 * Without a mesh there is the apex Service alone. It leads to the target, which is ready and was analysed
 * or is being promoted, for as long as the primary has no ready pod (initialise_apex); the release goes on.
 * One that is at zero, or of another revision, is no way out. A release that ends so leaves it there, and the target
 * its pods, until the primary has one (services_selector(), drain.c).
 */
static enum verdict lead_apex(struct release *r)
{
    bool away = condition_has_reason(r, CONDITION_SHARES, SERVING_GONE);

    if (away == !release_serves(r, SIDE_PRIMARY))
        return VERDICT_GO;
    if (!away && (!promote_is_of_analysed(r) || r->phase == PHASE_Waiting || r->info.at_zero ||
                  !is_ready(r, SIDE_CANARY)))
        return VERDICT_GO;
    release_again(r, AGAIN_NOW);
    if (away) {
        condition_clear(r, CONDITION_SHARES);
        release_say(r, "%s is ready again, its traffic is back", primary_text(r));
        return VERDICT_STOP;
    }
    const char *text = gone_text(r);
    count(r);
    plan_alert(r->tick, "error", false, "%s", text);
    return condition_hold(r, CONDITION_SHARES, SERVING_GONE, text);
}

enum verdict fail_over(struct release *r)
{
    if (r->target->own_services || !r->info.primary)
        return VERDICT_GO;
    if (!r->router->weighted)
        return lead_apex(r);
    bool canary = release_serves(r, SIDE_CANARY), primary = release_serves(r, SIDE_PRIMARY);
    if (!canary && primary && may_leave_canary(r))
        return leave_canary(r);
    if (canary && !primary && may_leave_primary(r))
        return leave_primary(r);
    if (!condition_is_set(r, CONDITION_SHARES))
        return VERDICT_GO;
    if (is_to_return(r))
        return is_ready(r, SIDE_PRIMARY) ? return_share(r) : VERDICT_GO;
    if (is_half_returned(r))
        return returned(r);
    condition_clear(r, CONDITION_SHARES);
    return VERDICT_GO;
}
