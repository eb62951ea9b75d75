/*
 * The rules of a release, in the order in which they are asked (contract/statemachine.md §3).
 *
 * Where this deviates from Flagger on purpose: change detection and repair run on every watch
 * event, the rest once an interval; traffic is moved before anything is scaled down; a threshold
 * that is reached and a rollback hook are heard before anyone's readiness, wherever a release
 * waits; a revision is marked as seen only when its analysis begins or its rollback is done; what
 * is promoted is the revision that was analysed, or the analysis starts again.
 * proto/COMPATIBILITY.md has them all with their reasons.
 */
#include "decide/decide.h"

#include "decide/release.h"

static enum verdict (*const rules[])(struct release *r) = {
    revert_canary,    /* §9: being deleted: the target gets everything back, or hands off */
    accept_spec,      /* §1.1: what cannot be done is refused before anything is touched */
    revert_finalizer, /* from now on a deletion waits for revert_canary */
    accept_suspend,   /* step 2 */

    initialise_begin,    /* step 7: a new Canary; do its metric servers answer? */
    initialise_target,   /* steps 3 to 5: target, primary, hash, tracked configs */
    initialise_services, /* step 6: the Services -canary and -primary */
    initialise_primary,  /* step 9 */
    initialise_scaler,   /* step 10 */
    initialise_wait,     /* step 9: at first nothing moves before the primary is ready */
    initialise_apex,     /* step 11: the apex Service selects the primary */
    initialise_routes,   /* step 13: the mesh's objects */
    initialise_settle,   /* what was repaired is read again before anything is concluded from it */
    initialise_finish,   /* steps 12, 14: only now the target may go to zero */

    detect_routes,   /* step 18 */
    takeover_hashes, /* a status that another version of Flagger left */
    capacity_resume, /* a rollback or promotion that waits until the primary can carry all */
    takeover_names,  /* the provider or the Service has another name than at the last release */
    detect_idle,     /* steps 15, 16: nothing new, or the primary runs it already: ends here */
    detect_other_revision, /* step 20: another revision than the one analysed; or the old one again
                            */
    promote_resume,        /* a promotion that was cut off */
    detect_due,            /* everything below runs once an interval */

    begin_waiting, /* step 23 in phase Waiting */
    begin_primary, /* step 17 */
    begin_configs, /* step 15c: a config that the target needs is missing */
    begin_release, /* step 19: gates, scale up; always ends the tick */

    guard_rollback_hooks, /* step 23 */
    guard_threshold,      /* step 26 */
    guard_primary,        /* steps 17, 18; §7 */
    guard_canary,         /* step 21 */

    guard_configs, /* step 20: no step forward without the configs */
    guard_routes,  /* step 18: no step forward before the mesh has taken over the last one */

    promote_skip,   /* step 22 */
    promote_shift,  /* step 24; §8.1 */
    promote_finish, /* step 25 */

    guard_mirror,      /* a share that the mesh cannot copy is told */
    guard_weights,     /* routes and status say the same, before a step is made from them */
    analysis_start,    /* step 28 */
    analysis_check,    /* step 29 */
    abtest_advance,    /* step 31; §4.2 */
    bluegreen_advance, /* step 31; §4.3 */
    canary_advance,    /* step 31; §4.1 */
};

enum { DEFAULT_ITERATIONS = 10 };

static bool is_write(const struct effect *effect)
{
    return effect->kind == EFFECT_CREATE || effect->kind == EFFECT_PATCH ||
           effect->kind == EFFECT_DELETE;
}

/*
 * A canary goes to sleep only after a tick that had nothing to do: what is written may leave
 * something else, such as a revision that came during a promotion which failed.
 */
static bool changes(const struct plan *plan)
{
    return plan->first && (is_write(plan->first) || plan->first->kind == EFFECT_STATUS);
}

/* Writes first, then the status that says they are done, then what tells of them; each in its own
 * order. */
static void order_effects(struct plan *plan)
{
    struct effect *lists[3] = {NULL, NULL, NULL};
    struct effect **lasts[3] = {&lists[0], &lists[1], &lists[2]};

    for (struct effect *effect = plan->first, *next; effect; effect = next) {
        int list = is_write(effect) ? 0 : effect->kind == EFFECT_STATUS ? 1 : 2;
        next = effect->next;
        effect->next = NULL;
        *lasts[list] = effect;
        lasts[list] = &effect->next;
    }
    plan->first = NULL;
    plan->last = &plan->first;
    for (int list = 0; list < 3; list++) {
        *plan->last = lists[list];
        if (lists[list])
            plan->last = lasts[list];
    }
}

enum verdict decide(struct tick *tick)
{
    const struct canary *canary = tick->canary;
    struct release release = {
        .tick = tick,
        .canary = canary,
        .router = router_find(tick->provider),
        .target = target_find(canary->target.api_version, canary->target.kind),
        .scaler = canary->autoscaler.name ? scaler_find(canary->autoscaler.kind) : NULL,
        .phase = canary->status.phase,
        .strategy = canary->strategy,
        .iterations = canary->analysis.iterations,
    };
    enum verdict verdict = VERDICT_GO;

    /* Step 30: a router that cannot split traffic tests the canary beside it. */
    if (release.router && !release.router->weighted) {
        release.strategy = STRATEGY_BLUE_GREEN;
        release.iterations = release.iterations > 0 ? release.iterations : DEFAULT_ITERATIONS;
    }
    for (size_t i = 0; verdict == VERDICT_GO && i < sizeof(rules) / sizeof(rules[0]); i++)
        verdict = rules[i](&release);
    if (verdict == VERDICT_NEED_FACTS)
        return verdict;

    status_write(&release);
    order_effects(tick->plan);
    tick->plan->again = release.again_given          ? release.again
                        : !release_is_idle(&release) ? AGAIN_INTERVAL
                        : changes(tick->plan)        ? AGAIN_NOW
                                                     : AGAIN_NEVER;
    return VERDICT_STOP;
}
