/*
 * The rules of a release, in the order in which they are asked (decide/RULES.md §3).
 *
 * Where this deviates from Flagger on purpose: change detection and repair run on every watch
 * event, the rest once an interval; traffic is moved, and an interval later the target goes to
 * zero; a threshold that is reached and a rollback hook are heard before anyone's readiness,
 * wherever a release waits; a revision is marked as seen only when its analysis begins or its
 * rollback is done; what is promoted is the revision that was analysed, or the analysis starts
 * again. proto/COMPATIBILITY.md has them all with their reasons.
 */
#include "decide/decide.h"

#include "decide/release.h"

/*
 * A rule that is marked is also asked while the spec is refused: what guards, repairs, takes back,
 * or ends a promotion that has begun. The others begin something, or take a step forward.
 */
enum asked { IF_ACCEPTED, ALWAYS };

static const struct rule {
    enum verdict (*ask)(struct release *r);
    enum asked asked;
} rules[] = {
    {accept_spec, ALWAYS},   /* §1.1: what cannot be done is refused before anything is touched */
    {revert_canary, ALWAYS}, /* §9: being deleted: the target gets everything back, or hands off */
    {revert_finalizer, ALWAYS}, /* from now on a deletion waits for revert_canary */
    {accept_suspend, ALWAYS},   /* step 2 */
    {move_target, IF_ACCEPTED}, /* another target is initialised as that of a new Canary is */

    {initialise_begin, IF_ACCEPTED}, /* step 7: a new Canary; do its metric servers answer? */
    {initialise_target, ALWAYS},     /* steps 3 to 5: target, primary, hash, tracked configs */
    {handover_adopt, IF_ACCEPTED},   /* what another Canary of the target has left */
    {initialise_services, ALWAYS},   /* step 6: the Services -canary and -primary */
    {initialise_primary, ALWAYS},    /* step 9 */
    {initialise_copies, ALWAYS},     /* the configs that it was promoted with */
    {leave_scaler, IF_ACCEPTED},     /* one that the spec no longer names */
    {initialise_scaler, ALWAYS},     /* step 10 */
    {initialise_wait, ALWAYS},   /* step 9: at first nothing moves before the primary is ready */
    {initialise_apex, ALWAYS},   /* step 11: the apex Service selects the primary */
    {initialise_routes, ALWAYS}, /* step 13: the mesh's objects */
    {initialise_settle, ALWAYS}, /* what was repaired is read again before it is judged */
    {ignored_tell, IF_ACCEPTED}, /* what of the spec has no effect */
    {initialise_ports, ALWAYS},  /* ports that nothing refers to any more */
    {initialise_finish, ALWAYS}, /* steps 12, 14: only now the target may go to zero */

    {detect_routes, ALWAYS},         /* step 18 */
    {takeover_hashes, IF_ACCEPTED},  /* a status that another version of Flagger left */
    {capacity_resume, ALWAYS},       /* what waits until the primary can carry all traffic */
    {takeover_names, IF_ACCEPTED},   /* provider or Service have another name than before */
    {drain_idle, ALWAYS},            /* a target that lost its traffic goes to zero after a pause */
    {detect_idle, ALWAYS},           /* steps 15, 16: nothing new, or promoted already: ends here */
    {accept_nothing_new, ALWAYS},    /* by a spec that is refused, no release begins */
    {detect_other_revision, ALWAYS}, /* step 20: not the analysed revision; or the old one again */
    {promote_copy, ALWAYS},          /* a promotion that is meant is written to its end */
    {promote_resume, ALWAYS},        /* one of Flagger's that was cut off */
    {accept_deadline, ALWAYS},       /* an analysis whose spec has been refused for too long */
    {detect_due, ALWAYS},            /* everything below runs once an interval */

    {begin_waiting, ALWAYS},      /* step 23 in phase Waiting */
    {begin_primary, IF_ACCEPTED}, /* step 17 */
    {begin_configs, IF_ACCEPTED}, /* step 15c: a config that the target needs is missing */
    {begin_release, IF_ACCEPTED}, /* step 19: gates, scale up; always ends the tick */

    {guard_rollback_hooks, ALWAYS}, /* step 23 */
    {guard_threshold, ALWAYS},      /* step 26 */
    {guard_primary, ALWAYS},        /* steps 17, 18; §7 */
    {guard_canary, ALWAYS},         /* step 21 */

    {guard_configs, ALWAYS}, /* step 20: no step forward without the configs */
    {guard_routes, ALWAYS},  /* step 18: ... or before the mesh has taken over the last one */

    {promote_skip, IF_ACCEPTED}, /* step 22 */
    {promote_shift, ALWAYS},     /* step 24; §8.1 */
    {promote_finish, ALWAYS},    /* step 25 */

    {guard_mirror, ALWAYS},  /* a share that the mesh cannot copy is told */
    {guard_weights, ALWAYS}, /* routes and status say the same, before a step is made from them */
    {analysis_start, IF_ACCEPTED},    /* step 28 */
    {analysis_check, ALWAYS},         /* step 29 */
    {abtest_advance, IF_ACCEPTED},    /* step 31; §4.2 */
    {bluegreen_advance, IF_ACCEPTED}, /* step 31; §4.3 */
    {canary_advance, IF_ACCEPTED},    /* step 31; §4.1 */
};

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
    struct release release = {.tick = tick, .phase = tick->canary->status.phase};
    enum verdict verdict = VERDICT_GO;

    release_follow(&release, tick->canary);
    for (size_t i = 0; verdict == VERDICT_GO && i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].asked == ALWAYS || !release.refused)
            verdict = rules[i].ask(&release);
    }
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
