/*
 * A/B testing (decide/RULES.md §4.2): the requests that spec.analysis.match names go to
 * the canary from the first iteration on, all others to the primary; after n iterations comes the
 * promotion. status.iterations counts those done.
 */
#include "decide/act/gates.h"
#include "decide/act/promote.h"
#include "decide/act/share.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "decide/rules.h"

enum verdict abtest_advance(struct release *r)
{
    int done = r->canary->status.iterations > 0 ? r->canary->status.iterations : 0;

    /* Flagger waits for the very number, for ever when it was lowered meanwhile. */
    if (done >= r->iterations) {
        enum verdict gate = gates_confirm_promotion(r);
        return gate == VERDICT_GO ? promote_begin(r) : gate;
    }
    enum verdict verdict =
        r->weights.canary > 0 ? VERDICT_GO : share_wait(r, r->canary->analysis.matched_share);
    if (verdict == VERDICT_GO)
        verdict = release_route(r, 100);
    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_weight(r, 100);
    status_int(r, "iterations", done + 1);
    release_say(r, "Advance %s canary iteration %d/%d", release_canary(r), done + 1, r->iterations);
    return VERDICT_STOP;
}
