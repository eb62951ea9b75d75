/*
 * Blue/green (decide/RULES.md §4.3): n checks beside the live traffic, of which the canary
 * gets a copy with `mirror`, then one with all traffic on the canary where the router can do that,
 * then the promotion. status.iterations counts the checks done.
 */
#include "decide/act/gates.h"
#include "decide/act/promote.h"
#include "decide/act/share.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "decide/rules.h"

static enum verdict iterate(struct release *r, int done)
{
    bool mirrors = r->canary->analysis.mirror && r->weights.canary == 0;
    enum verdict verdict = mirrors ? release_mirror(r) : VERDICT_GO;

    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_int(r, "iterations", done + 1);
    release_say(r, "Advance %s canary iteration %d/%d", release_canary(r), done + 1, r->iterations);
    return VERDICT_STOP;
}

static enum verdict route_all(struct release *r, int done)
{
    bool mirrored = r->weights.mirrored;
    enum verdict verdict = share_wait(r, 100);

    if (verdict == VERDICT_GO)
        verdict = release_route(r, 100);

    if (verdict != VERDICT_GO)
        return verdict;
    status_phase(r, PHASE_Progressing);
    status_int(r, "iterations", done + 1);
    if (!r->router->weighted)
        return VERDICT_STOP;
    status_weight(r, 100);
    release_say(r, "%s",
                mirrored ? "Stop traffic mirroring and route all traffic to canary"
                         : "Routing all traffic to canary");
    return VERDICT_STOP;
}

enum verdict bluegreen_advance(struct release *r)
{
    int done = r->canary->status.iterations;

    if (done < r->iterations)
        return iterate(r, done);
    enum verdict verdict = gates_confirm_promotion(r);
    if (verdict != VERDICT_GO)
        return verdict;
    return done == r->iterations ? route_all(r, done) : promote_begin(r);
}
