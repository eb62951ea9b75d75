/*
 * A release whose writes the API server refuses for good comes to an end at the progress deadline: it is rolled back
 * where nothing of its promotion was written. Where a part was, there is no way back: it is held, and tried on.
 */
#include "decide/act/promote.h"
#include "decide/act/refused_write.h"
#include "decide/act/rollback.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/steering.h"
#include "decide/rules.h"

/* There is a release that can be taken back; at rest, a revision for which the target cannot be scaled up. What repairs is
 * no reason to turn one down. */
static enum verdict may_end(struct release *r, bool *may)
{
    enum carried carried = CARRIED_ALL;
    enum verdict verdict = promote_is_untouched(r, may);

    /* another revision came, and to give way to it is what is refused */
    if (verdict == VERDICT_GO && promote_is_being_written(r) && !promote_is_of_analysed(r)) {
        verdict = promote_carried(r, &carried);
        *may = carried == CARRIED_NOTHING;
    }
    if (release_is_idle(r))
        *may = *may && revision_changed(r) && refused_write_is_of_target(r);
    *may = *may && !steering_is_paused(r);
    return verdict;
}

/*
 * Repairs are planned before a release is ended, and would hold that up; and while one runs, its guards: a
 * share on a side without pods, checks that fail, a rollback hook.
 */
enum verdict refused_writes_forgo(struct release *r)
{
    bool may = false;
    enum verdict verdict = refused_write_expired(r) ? may_end(r, &may) : VERDICT_GO;

    if (verdict != VERDICT_GO)
        return verdict;
    if (may || release_is_analysing(r) || release_is_promoting(r))
        refused_write_set_aside(r);
    return VERDICT_GO;
}

static enum verdict end(struct release *r)
{
    bool begun = release_is_analysing(r) || release_is_promoting(r);

    release_warn(r, "Rolling back %s the API server has refused a write for %d seconds: %s",
                 release_canary(r), r->canary->progress_deadline_s, refused_write_says(r));
    plan_alert(r->tick, "error", false,
               "Progress deadline exceeded, the API server refuses a write: %s",
               refused_write_says(r));
    if (release_is_promoting(r))
        condition_clear(r, CONDITION_WHOLE);
    enum verdict verdict = rollback_run(r, !begun);
    /* the pods of the canary stay until they can be taken away */
    if (verdict == VERDICT_STOP && refused_write_is_of_target(r))
        refused_write_forgo(r);
    return verdict;
}

/* No side without pods has a share: unless a step is due, which asks more, the write is tried again; then
 * it is between this step and the next. */
enum verdict refused_writes_end(struct release *r)
{
    bool may = false;
    enum verdict verdict = refused_write_expired(r) ? may_end(r, &may) : VERDICT_GO;

    if (verdict != VERDICT_GO)
        return verdict;
    if (may)
        return end(r);
    if (!r->set_aside)
        return VERDICT_GO;
    if (r->tick->due && release_is_analysing(r)) {
        release_wake(r, (tick_interval_ms(r->tick) + 1) / 2);
        return VERDICT_GO;
    }
    refused_write_put_back(r);
    return release_reread(r);
}

/* The guards were asked, and the step is not made. */
enum verdict refused_writes_wait(struct release *r)
{
    return r->forgoes ? VERDICT_STOP : VERDICT_GO;
}
