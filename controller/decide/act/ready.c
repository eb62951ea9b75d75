#include "decide/act/ready.h"

#include "decide/act/rollback.h"
#include "decide/release/condition.h"
#include "decide/release/steering.h"

/* A Deployment that is paused does not say since when it waits. */
static bool is_paused_canary(const struct release *r, enum side side)
{
    return side == SIDE_CANARY && (r->info.paused || r->info.pin == PIN_HOLDS);
}

static enum readiness look_at(struct release *r, enum side side, const char **why)
{
    enum readiness readiness = release_ready(r, side, why);

    if (readiness == READY)
        condition_clear(r, side_condition(side));
    else if ((r->target->deadline_by_condition || is_paused_canary(r, side)) &&
             readiness != NOT_READY_EVER)
        condition_set(r, side_condition(side), CONDITION_WAITING, *why);
    return readiness;
}

enum verdict ready_or_end(struct release *r, enum side side)
{
    const char *why;

    switch (look_at(r, side, &why)) {
    case READY:
        return VERDICT_GO;
    case NOT_READY_YET:
        return plan_stop(r->tick, "%s", why);
    case NOT_READY_EVER:
        break;
    }
    /* What it serves while it is paused the checks judge. */
    if (steering_stops_clock(r))
        return steering_is_paused(r) && r->weights.canary > 0
                   ? VERDICT_GO
                   : condition_hold(r, side_condition(side), CONDITION_WAITING, why);
    if (side == SIDE_PRIMARY && release_is_promoting(r))
        return rollback_failed_promotion(r, why);
    release_warn(r, "%s", why);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded %s", why);
    return rollback_run(r, false);
}

enum verdict ready_or_hold(struct release *r, enum side side)
{
    const char *why;
    enum readiness readiness = look_at(r, side, &why);

    if (readiness == NOT_READY_EVER)
        return condition_hold(r, side_condition(side), CONDITION_WAITING, why);
    return readiness == READY ? VERDICT_GO : plan_stop(r->tick, "%s", why);
}
