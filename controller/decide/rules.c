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
#include "decide/rules.h"

#define RULE(rule) .name = #rule, .ask = (rule)
#define BY(name)   .strategies = 1u << STRATEGY_##name

const struct rule rules[] = {
    /* §1.1: what cannot be done is refused before anything is touched */
    {RULE(accept_spec), EVERY},
    /* §9: being deleted: the target gets everything back, or hands off */
    {RULE(revert_canary), EVERY},
    {RULE(revert_left), ENDING},
    /* from now on a deletion waits for revert_canary */
    {RULE(revert_finalizer), LIVING},
    /* §15: what a person asks; what was done with goes */
    {RULE(steer_hear), LIVING},
    /* step 2 */
    {RULE(accept_suspend), LIVING},
    /* whom alerts are for; a wrong one holds nothing up */
    {RULE(alerts_know), LIVING},
    /* another target is initialised as that of a new Canary is */
    {RULE(move_target), STARTED, .asked = IF_ACCEPTED},

    /* step 7: a new Canary; do its metric servers answer? */
    {RULE(initialise_begin), INITIALISING, .asked = IF_ACCEPTED},
    /* steps 3 to 5: target, primary, hash, tracked configs */
    {RULE(initialise_target), LIVING},
    /* what another Canary of the target has left */
    {RULE(handover_adopt), INITIALISING, .asked = IF_ACCEPTED},
    /* step 6: the Services -canary and -primary */
    {RULE(initialise_services), LIVING},
    /* §15: one that is made anew by request */
    {RULE(steer_renew), LIVING},
    /* step 9 */
    {RULE(initialise_primary), LIVING},
    /* the configs that it was promoted with */
    {RULE(initialise_copies), LIVING},
    /* one that the spec no longer names */
    {RULE(leave_scaler), IDLE, .asked = IF_ACCEPTED},
    /* the name of a new one, before anything is made for it */
    {RULE(leave_note), STARTED, .asked = IF_ACCEPTED},
    /* step 10 */
    {RULE(initialise_scaler), LIVING},
    /* the objects of spec.companions */
    {RULE(initialise_companions), LIVING},
    /* step 9: at first nothing moves before the primary is ready */
    {RULE(initialise_wait), INITIALISING},
    /* step 11: the apex Service selects the primary */
    {RULE(initialise_apex), LIVING},
    /* step 13: the mesh's objects */
    {RULE(initialise_routes), LIVING},
    /* a release that ends by a refusal of the API server does without that write, and one that runs
     * until its guards were asked */
    {RULE(refused_writes_forgo), STARTED},
    /* what was repaired is read again before it is judged */
    {RULE(initialise_settle), LIVING},
    /* a primary whose selector picks the pods of others */
    {RULE(initialise_owners), STARTED},
    /* what of the spec has no effect */
    {RULE(ignored_tell), LIVING, .asked = IF_ACCEPTED},
    /* ports that nothing refers to any more */
    {RULE(initialise_ports), LIVING},
    /* steps 12, 14: only now the target may go to zero; ends the tick */
    {RULE(initialise_finish), INITIALISING},

    /* step 18 */
    {RULE(detect_routes), STARTED},
    /* a status that another version of Flagger left */
    {RULE(takeover_hashes), IN(Failed) | RUNNING, .asked = IF_ACCEPTED},
    /* §15: what a person asks is done, or refused */
    {RULE(steer_carry_out), STARTED},
    /* a side without a ready pod has no share */
    {RULE(fail_over), RUNNING | IN(Waiting)},
    /* a target that was kept at the revision of a release gets on with the next */
    {RULE(pin_end), STARTED},
    /* the API server refuses a write for good */
    {RULE(refused_writes_end), STARTED},
    /* what waits until the primary can carry all traffic */
    {RULE(resume_rollback), IN(Waiting) | ANALYSING},
    {RULE(resume_promotion), IN(Promoting)},
    /* ... and the replicas that it had for that */
    {RULE(resume_settle), STARTED},
    /* provider or Service have another name than before */
    {RULE(takeover_names), STARTED, .asked = IF_ACCEPTED},
    /* a target that lost its traffic goes to zero after a pause */
    {RULE(drain_idle), BEGINNING},
    /* ... which a release that runs ends by itself */
    {RULE(drain_running), RUNNING},
    /* steps 15, 16: nothing new, or promoted already: ends here */
    {RULE(detect_idle), IDLE},
    /* by a spec that is refused, no release begins */
    {RULE(accept_nothing_new), IDLE, .asked = IF_REFUSED},
    /* step 20: not the revision that is promoted */
    {RULE(detect_while_promoting), PROMOTING},
    /* ... that is analysed, or that waits; or the old one again */
    {RULE(detect_other_revision), IN(Waiting) | ANALYSING},
    /* a promotion that is meant is written to its end */
    {RULE(promote_copy), PROMOTING},
    /* the primary has lost it */
    {RULE(promote_again), PROMOTING},
    /* one of Flagger's that was cut off */
    {RULE(promote_resume), ANALYSING},
    /* an analysis whose spec has been refused for too long */
    {RULE(accept_deadline), ANALYSING, .asked = IF_REFUSED},
    /* §16: the canary beside the primary, also between the steps */
    {RULE(looks_take), ANALYSING},
    /* onNewRevision: finish, as soon as its pods are there */
    {RULE(pin_begin), ANALYSING, .asked = IF_ACCEPTED},
    /* everything below runs once an interval */
    {RULE(detect_due), STARTED},

    /* step 23 in phase Waiting */
    {RULE(begin_waiting), IN(Waiting)},
    /* §15: paused before it has begun */
    {RULE(steer_hold_start), BEGINNING},
    /* step 17 */
    {RULE(begin_primary), BEGINNING, .asked = IF_ACCEPTED},
    /* step 15c: a config that the target needs is missing */
    {RULE(begin_configs), BEGINNING, .asked = IF_ACCEPTED},
    /* no more at once than may be */
    {RULE(begin_turn), BEGINNING, .asked = IF_ACCEPTED},
    /* step 19: gates, scale up; ends the tick */
    {RULE(begin_release), BEGINNING, .asked = IF_ACCEPTED},

    /* step 23 */
    {RULE(guard_rollback_hooks), ANALYSING},
    /* step 26 */
    {RULE(guard_threshold), ANALYSING},
    /* neither a step nor a reason why there was none, for too long */
    {RULE(guard_stalled), ANALYSING},
    /* steps 17, 18; §7 */
    {RULE(guard_primary), ANALYSING},
    {RULE(guard_promoted), PROMOTING},
    /* step 21 */
    {RULE(guard_canary), ANALYSING},

    /* step 20: no step forward without the configs */
    {RULE(guard_configs), ANALYSING},
    /* step 18: ... or before the mesh has taken over the last one */
    {RULE(guard_routes), RUNNING},

    /* step 22 */
    {RULE(promote_skip), ANALYSING, .asked = IF_ACCEPTED},
    /* step 24; §8.1; ends the tick */
    {RULE(promote_shift), IN(Promoting)},
    /* step 25; ends the tick */
    {RULE(promote_finish), IN(Finalising)},

    /* a share that the mesh cannot copy is told */
    {RULE(guard_mirror), ANALYSING},
    /* routes and status say the same, before a step is made from them */
    {RULE(guard_weights), ANALYSING},
    /* §15: a promotion by request, if the gate agrees */
    {RULE(steer_promote), ANALYSING, .asked = IF_ACCEPTED},
    /* step 28 */
    {RULE(analysis_start), ANALYSING, .asked = IF_ACCEPTED},
    /* step 29 */
    {RULE(analysis_check), ANALYSING},
    /* §15: paused, it takes no step; ends the tick then */
    {RULE(steer_hold), ANALYSING},
    /* ... nor while the API server refuses a write */
    {RULE(refused_writes_wait), ANALYSING},
    /* §16: ... nor before it is known well enough */
    {RULE(looks_allow), ANALYSING},
    /* step 31; §4.1 to §4.3; ends the tick */
    {RULE(abtest_advance), ANALYSING, BY(AB_TESTING), .asked = IF_ACCEPTED},
    {RULE(bluegreen_advance), ANALYSING, BY(BLUE_GREEN), .asked = IF_ACCEPTED},
    {RULE(canary_advance), ANALYSING, BY(CANARY), .asked = IF_ACCEPTED},
};

const size_t n_rules = sizeof(rules) / sizeof(rules[0]);
