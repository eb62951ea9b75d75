/* The end of a promotion (decide/RULES.md §8.1): the traffic goes to the promoted primary, then the
 * target goes to zero. */
#include "decide/act/shift.h"

#include <string.h>

#include "decide/act/capacity.h"
#include "decide/act/companions.h"
#include "decide/act/contested.h"
#include "decide/act/drain.h"
#include "decide/act/owners.h"
#include "decide/act/promote.h"
#include "decide/ask/hooks.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "target/common_configs.h"

enum { MOMENT_MS = 2000 };

/*
 * The pause begins a moment after the step, when the mesh has said that it has taken over the
 * routes, and ends as much later. The end waits for that moment: then the pods go and the release
 * is over in one write of the status. Whatever takes longer is waited for after the end.
 */
static bool waits_for_pause(struct release *r)
{
    int64_t left = r->left ? 0 : drain_left_ms(r);

    if (left == 0 || left > MOMENT_MS)
        return false;
    r->tick->plan->stepped = false; /* the step is still to be made */
    release_wake(r, left);
    return true;
}

/* Configs whose names change with their content leave copies behind, with old credentials in them. No
 * pod can start with one of them any more: the primary has rolled out. */
static enum verdict sweep_copies(struct release *r)
{
    const char *why;

    if (!r->info.primary || release_ready(r, SIDE_PRIMARY, &why) != READY)
        return VERDICT_GO;
    enum verdict verdict = configs_sweep(r->tick, &r->info, promote_left_copies(r));
    if (verdict == VERDICT_GO)
        promote_forget_copies(r);
    return verdict;
}

/* The end of every release that succeeds: traffic is on the primary, the target goes to zero. */
enum verdict shift_end(struct release *r)
{
    bool skipped = r->canary->skip_analysis;
    enum verdict verdict = release_route(r, 0);

    if (verdict == VERDICT_GO)
        verdict = sweep_copies(r);
    if (verdict == VERDICT_GO && r->info.object) { /* it may be gone */
        if (waits_for_pause(r))
            return VERDICT_STOP;
        verdict = drain_target(r);
    }
    if (verdict == VERDICT_GO)
        verdict = companions_look(r);
    /* the route that was in the way may be gone */
    if (verdict == VERDICT_GO && condition_is_set(r, CONDITION_FIRST))
        verdict = contested_look(r);
    if (verdict == VERDICT_GO && r->info.object)
        verdict = owners_look_at_pods(r);
    if (verdict != VERDICT_GO)
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
enum verdict shift_traffic(struct release *r)
{
    int step = may_keep_a_share(r) ? r->canary->analysis.step_weight_promotion : 0;
    int left = r->weights.canary;

    if (!r->router->weighted || left == 0) {
        /* with nothing to wait for, this ends a wait whose route was made and then not told of */
        enum verdict waited = capacity_wait(r, CAPACITY_PROMOTION);
        if (waited != VERDICT_GO)
            return waited;
        return r->canary->skip_analysis ? shift_end(r) : finalise(r);
    }
    if (r->canary->status.canary_weight > 0)
        left = r->canary->status.canary_weight;
    left = step > 0 && left > step ? left - step : 0;
    enum verdict verdict = capacity_wait(r, CAPACITY_PROMOTION);
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
