#include "decide/act/stall.h"

#include <string.h>

#include "base/clock.h"
#include "decide/act/hold.h"
#include "decide/act/rollback.h"
#include "decide/release/condition.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"

enum { REPAIRS = 3 }; /* intervals without a step in which an object may be repaired */

/* Reasons of the condition. */
static const char stalled[] = "Stalled", expired[] = "Expired", given_up[] = "GivenUp";

static bool is_wait(struct json_object *condition)
{
    const char *type = json_str_at(condition, "type", NULL);
    const char *status = json_str_at(condition, "status", NULL);

    return type && status && strcmp(status, "False") == 0 && condition_holds(type);
}

static bool has_wait(struct json_object *conditions)
{
    for (size_t i = 0; i < json_len(conditions); i++) {
        if (is_wait(json_elem(conditions, i)))
            return true;
    }
    return false;
}

/* Something holds the step up, has held it up until now, or has a time of its own. */
static bool waits(struct release *r)
{
    return has_wait(json_at(r->canary->status.json, "conditions", NULL)) ||
           has_wait(json_at(r->status, "conditions", NULL)) || r->refused || r->canary->suspend ||
           r->phase == PHASE_WaitingPromotion || r->again == AGAIN_NOW || r->tick->plan->waits ||
           r->tick->plan->wake_ms > 0 || steering_is_paused(r);
}

static int64_t deadline_ms(const struct release *r)
{
    return r->canary->progress_deadline_s * (int64_t)1000;
}

/*
 * A tick that writes an object has repaired it, and steps an interval later; or it has to repair
 * the same one for ever. Without a step it may have waited for readiness until then, which no
 * condition tells of, as long as the deadline.
 */
static bool repairs(struct release *r)
{
    int64_t moved, patience = deadline_ms(r) + REPAIRS * tick_interval_ms(r->tick);

    return release_has_writes(r) &&
           (clock_parse(r->canary->status.last_transition_time, &moved, NULL) != ERR_OK ||
            r->tick->now_ms - moved <= patience);
}

static const char *sentence(struct release *r)
{
    return arena_printf(
        r->tick->arena,
        "A step of %s was due, none was made and nothing is waited for%s: this is a fault, of the "
        "controller or of a mesh that shows another route than it was given",
        release_canary(r),
        release_is_analysing(r) ? ", at the progress deadline it is rolled back" : "");
}

/* At the deadline, the next step must fail as well: what was found after a long time in which no
 * rule ran, such as a route that others have changed, is repaired by then. */
static void expire(struct release *r)
{
    int64_t since;

    if (condition_has_reason(r, CONDITION_ADVANCES, expired)) {
        hold_plan(r, r->tick->plan->first); /* no repair goes before it: cut off, nothing is done */
        condition_set(r, CONDITION_ADVANCES, given_up, sentence(r));
        release_again(r, AGAIN_NOW);
    } else if (condition_since(r, CONDITION_ADVANCES, stalled, &since) &&
               r->tick->now_ms - since >= deadline_ms(r)) {
        condition_set(r, CONDITION_ADVANCES, expired, sentence(r));
    }
}

void stall_note(struct release *r)
{
    bool runs = release_is_analysing(r) || release_is_promoting(r);

    if (runs && (!r->tick->due || !r->tick->plan->stepped))
        return; /* what it found at the last step holds */
    if (!runs || status_moves(r) || waits(r) || repairs(r) || r->phase != r->canary->status.phase) {
        condition_clear(r, CONDITION_ADVANCES);
        return;
    }
    if (condition_is_set(r, CONDITION_ADVANCES)) {
        if (release_is_analysing(r))
            expire(r);
        return;
    }
    const char *text = sentence(r);
    condition_set(r, CONDITION_ADVANCES, stalled, text);
    release_warn(r, "%s", text);
    plan_alert(r->tick, "error", false, "The release has stalled")->reason = text;
}

enum verdict stall_expire(struct release *r)
{
    if (!condition_has_reason(r, CONDITION_ADVANCES, given_up))
        return VERDICT_GO;
    release_warn(r, "Rolling back %s no step was made for %d seconds", release_canary(r),
                 r->canary->progress_deadline_s);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded, no step was made");
    return rollback_run(r, false);
}
