/* The rules of a promotion that is under way (act/promote.c, act/shift.c). */
#include "decide/act/promote.h"

#include "decide/act/ready.h"
#include "decide/act/share.h"
#include "decide/act/shift.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/settled.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"
#include "decide/rules.h"

/*
 * A target that routes by itself makes the analysed revision the primary with the traffic that this
 * one has, and at once: so that revision must be ready still.
 */
static enum verdict wait_for_analysed(struct release *r)
{
    enum verdict verdict = r->router->only_target ? ready_or_end(r, SIDE_CANARY) : VERDICT_GO;

    if (r->phase == PHASE_Failed)
        condition_clear(r, CONDITION_WHOLE);
    return verdict;
}

/*
 * A primary whose pods are replaced all at once (strategy Recreate) has none for a while. The
 * canary, which has passed the analysis, takes its share for an interval before that, and until the
 * end of the promotion; not before it has the pods for all of it. (With Flagger the requests of that share fail.)
 */
static enum verdict relieve_primary(struct release *r)
{
    const char *why;

    if (!r->router->weighted || !r->target->replaces_all || !r->target->replaces_all(&r->info) ||
        r->info.at_zero || release_ready(r, SIDE_CANARY, &why) != READY)
        return VERDICT_GO;
    if (release_canary_serves_all(r))
        return r->tick->due ? settled_or_hold(r) : VERDICT_STOP;
    enum verdict verdict = share_wait(r, 100);
    if (verdict == VERDICT_STOP && r->phase == PHASE_Failed)
        condition_clear(r, CONDITION_WHOLE); /* the pods did not come until the deadline */
    if (verdict == VERDICT_GO)
        verdict = release_route_everything(r);
    if (verdict != VERDICT_GO)
        return verdict;
    release_say(r, "Routing all traffic to %s while the pods of the primary are replaced at once",
                release_target(r));
    status_weight(r, 100);
    r->tick->plan->stepped = true;
    return VERDICT_STOP;
}

/*
 * detect_other_revision() has seen in this very tick that target and configs are those that were
 * analysed, or that all of it is there already. That it is written is told by the status that has
 * something to tell next: a write of its own would help nobody.
 */
enum verdict promote_copy(struct release *r)
{
    enum carried carried = CARRIED_ALL;
    enum verdict verdict = VERDICT_GO;

    if (!promote_is_being_written(r))
        return VERDICT_GO;
    if (promote_is_of_analysed(r)) {
        if (r->info.missing)
            return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
        verdict = promote_look(r, &carried);
    }
    if (verdict != VERDICT_GO)
        return verdict;
    if (r->router->weighted) /* what was routed may be ahead of it */
        status_int(r, "canaryWeight", r->weights.canary);
    if (carried != CARRIED_ALL) {
        if (!r->target->is_promoted(r->tick, &r->info))
            verdict = wait_for_analysed(r);
        if (verdict == VERDICT_GO && !r->target->is_promoted(r->tick, &r->info))
            verdict = relieve_primary(r);
        if (verdict == VERDICT_GO)
            verdict = r->target->promote(r->tick, &r->info);
        if (verdict != VERDICT_GO)
            return verdict;
        if (release_has_writes(r))
            return VERDICT_STOP;
        /* Flagger has written it: only the id of the revision is another one. */
    }
    condition_clear_later(r, CONDITION_WHOLE);
    return VERDICT_GO;
}

/* The primary has lost what was promoted: it gets it again. */
enum verdict promote_again(struct release *r)
{
    enum carried carried = CARRIED_ALL;
    enum verdict verdict = promote_is_of_analysed(r) && !promote_is_being_written(r)
                               ? promote_carried(r, &carried)
                               : VERDICT_GO;

    if (verdict != VERDICT_GO || carried == CARRIED_ALL)
        return verdict;
    return promote_begin(r);
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

/*
 * skipAnalysis, also when it is set in the middle of an analysis: the copy at once, and success
 * when the primary runs it. (Flagger calls it a success as soon as it is copied.) A canary that has
 * a share keeps it until then.
 */
enum verdict promote_skip(struct release *r)
{
    return r->canary->skip_analysis && !steering_is_paused(r) ? promote_begin(r) : VERDICT_GO;
}

enum verdict promote_shift(struct release *r)
{
    return shift_traffic(r);
}

enum verdict promote_finish(struct release *r)
{
    return shift_end(r);
}
