/*
 * The rules of a release as data (decide/RULES.md §3): in which order they are asked, and when at
 * all. decide() walks the table; controller/decide/MATRIX.txt is the table as a person reads it.
 */
#ifndef DECIDE_RULES_H
#define DECIDE_RULES_H

#include "decide/release/release.h"

/*
 * While the spec is refused, only those go on that guard, repair, take back, or end a promotion
 * that has begun; whatever begins something or takes a step forward waits for a spec that is
 * accepted.
 */
enum asked { ALWAYS, IF_ACCEPTED, IF_REFUSED };

struct rule {
    const char *name;
    enum verdict (*ask)(struct release *r);
    unsigned phases;     /* the set of those in which it is asked (phases.h) */
    unsigned strategies; /* the set of bits 1 << enum strategy; 0: whatever the strategy */
    enum asked asked;
};

/* In the order in which they are asked. */
extern const struct rule rules[];
extern const size_t n_rules;

/* The rules, each defined where its name begins; what each does: RULES.md §3. */
enum verdict accept_spec(struct release *r);
enum verdict revert_canary(struct release *r);
enum verdict revert_left(struct release *r);
enum verdict revert_finalizer(struct release *r);
enum verdict steer_hear(struct release *r);
enum verdict steer_renew(struct release *r);
enum verdict accept_suspend(struct release *r);
enum verdict alerts_know(struct release *r);
enum verdict move_target(struct release *r);
enum verdict initialise_begin(struct release *r);
enum verdict initialise_target(struct release *r);
enum verdict handover_adopt(struct release *r);
enum verdict initialise_services(struct release *r);
enum verdict initialise_primary(struct release *r);
enum verdict initialise_copies(struct release *r);
enum verdict leave_scaler(struct release *r);
enum verdict leave_note(struct release *r);
enum verdict initialise_scaler(struct release *r);
enum verdict initialise_companions(struct release *r);
enum verdict initialise_wait(struct release *r);
enum verdict initialise_apex(struct release *r);
enum verdict initialise_routes(struct release *r);
enum verdict refused_writes_forgo(struct release *r);
enum verdict initialise_settle(struct release *r);
enum verdict ignored_tell(struct release *r);
enum verdict initialise_owners(struct release *r);
enum verdict initialise_ports(struct release *r);
enum verdict initialise_finish(struct release *r);
enum verdict detect_routes(struct release *r);
enum verdict takeover_hashes(struct release *r);
enum verdict steer_carry_out(struct release *r);
enum verdict refused_writes_end(struct release *r);
enum verdict refused_writes_wait(struct release *r);
enum verdict resume_rollback(struct release *r);
enum verdict resume_promotion(struct release *r);
enum verdict resume_settle(struct release *r);
enum verdict takeover_names(struct release *r);
enum verdict drain_idle(struct release *r);
enum verdict drain_running(struct release *r);
enum verdict detect_idle(struct release *r);
enum verdict accept_nothing_new(struct release *r);
enum verdict detect_while_promoting(struct release *r);
enum verdict detect_other_revision(struct release *r);
enum verdict fail_over(struct release *r);
enum verdict pin_begin(struct release *r);
enum verdict pin_end(struct release *r);
enum verdict promote_copy(struct release *r);
enum verdict promote_again(struct release *r);
enum verdict promote_resume(struct release *r);
enum verdict accept_deadline(struct release *r);
enum verdict looks_take(struct release *r);
enum verdict detect_due(struct release *r);
enum verdict begin_waiting(struct release *r);
enum verdict steer_hold_start(struct release *r);
enum verdict begin_primary(struct release *r);
enum verdict begin_configs(struct release *r);
enum verdict begin_turn(struct release *r);
enum verdict begin_release(struct release *r);
enum verdict guard_rollback_hooks(struct release *r);
enum verdict guard_threshold(struct release *r);
enum verdict guard_stalled(struct release *r);
enum verdict guard_primary(struct release *r);
enum verdict guard_promoted(struct release *r);
enum verdict guard_canary(struct release *r);
enum verdict guard_configs(struct release *r);
enum verdict guard_routes(struct release *r);
enum verdict promote_skip(struct release *r);
enum verdict steer_promote(struct release *r);
enum verdict promote_shift(struct release *r);
enum verdict promote_finish(struct release *r);
enum verdict guard_mirror(struct release *r);
enum verdict guard_weights(struct release *r);
enum verdict analysis_start(struct release *r);
enum verdict analysis_check(struct release *r);
enum verdict steer_hold(struct release *r);
enum verdict looks_allow(struct release *r);
enum verdict abtest_advance(struct release *r);
enum verdict bluegreen_advance(struct release *r);
enum verdict canary_advance(struct release *r);

#endif
