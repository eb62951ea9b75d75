/*
 * Progressive traffic (decide/RULES.md §4.1). With `mirror` the first step is one at
 * weight 0 that sends the canary a copy of the primary's requests. Nothing but the route says that
 * it was made, so that it cannot be told and not done, nor done twice.
 */
#include "decide/act/gates.h"
#include "decide/act/promote.h"
#include "decide/act/share.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "decide/rules.h"

enum verdict canary_advance(struct release *r)
{
    int weight = r->weights.canary;
    enum verdict verdict = VERDICT_GO;

    /* also while it waits for the promotion, when the maximum was raised meanwhile; from the mirror
     * step to the first weight it is the same increase that was asked for before */
    if ((r->phase != PHASE_WaitingPromotion || weight < r->canary->analysis.max_weight) &&
        !r->weights.mirrored)
        verdict = gates_confirm_traffic_increase(r);
    if (verdict != VERDICT_GO)
        return verdict;
    if (weight >= r->canary->analysis.max_weight) {
        verdict = gates_confirm_promotion(r);
        return verdict == VERDICT_GO ? promote_begin(r) : verdict;
    }
    bool mirrors = r->canary->analysis.mirror && weight == 0 && !r->weights.mirrored;
    int next = mirrors ? 0 : release_next_weight(r, weight);
    verdict = mirrors ? VERDICT_GO : share_wait(r, next);
    if (verdict != VERDICT_GO)
        return verdict;
    verdict = mirrors ? release_mirror(r) : release_route(r, next);
    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_weight(r, next);
    release_say(r, "Advance %s canary weight %d", release_canary(r), next);
    return VERDICT_STOP;
}
