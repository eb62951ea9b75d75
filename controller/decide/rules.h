/*
 * The rules of a release as data: their order and when they run. rules.def has a row for each.
 * decide() walks the table; RULES.md and MATRIX.txt show it.
 */
#ifndef DECIDE_RULES_H
#define DECIDE_RULES_H

#include "decide/release.h"

/*
 * While the spec is refused, only those rules run that guard, repair, take back, or end a promotion
 * under way; rules that begin or advance a release wait for an accepted spec.
 */
enum asked { ALWAYS, IF_ACCEPTED, IF_REFUSED };

struct rule {
    const char *name;
    enum rule_result (*ask)(struct release *r);
    unsigned phases;     /* set of the phases in which it runs (release.h) */
    unsigned strategies; /* set of bits 1 << enum strategy; 0: any strategy */
    enum asked asked;
};

/* In order. */
extern const struct rule rules[];
extern const size_t n_rules;

/* Each rule is defined in the file that its name, or its subject, begins with. */
#define RULE(name, phases, strategy, asked, what) enum rule_result name(struct release *r);
#include "decide/rules.def"
#undef RULE

/* --- parts of rules that decide() and other rules call */

#define FINALIZER "finalizer.flagger.app"

/* Sets or removes our finalizer (revert.c) while the Canary is not being deleted; plans nothing if
 * it is already correct. */
void finalizer_keep(struct release *r);
/* True if load tests of the Canary may run after this tick (checks.c). */
bool load_tests_are_left(const struct release *r);
/* True if the Canary has a webhook that runs load tests, or has status.loadTests. */
bool load_tests_may_run(const struct canary *canary);
/* The target is gone or unusable (r->info.unusable says why): the release ends. DONE or
 * NEEDS_FACTS. */
enum rule_result lost_target(struct release *r);
/* After all other rules of a completed tick: sets or clears the condition Advancing (guard.c). */
void stall_note(struct release *r);

/* --- move.c: edits of the target, the Services and the routes of a Canary */

/*
 * The reason why an edit cannot be followed now; NULL if it can. Target and port are checked once
 * the kind is known to be served. NEEDS_FACTS or CONTINUE.
 */
const char *move_refusal(struct release *r);
bool move_has_begun(const struct release *r); /* to another target than the accepted one */
/*
 * True if Services or routes were made under other names, or in another way, than the spec now
 * says.
 */
bool move_is_pending(const struct release *r);
enum rule_result move_refusal_of_target(struct release *r, const char **sentence);

/*
 * Reads facts about a release from the cluster that the status lacks, if it has no accepted spec.
 * CONTINUE: from here on it has one, if the cluster reveals it; or NEEDS_FACTS.
 */
enum rule_result former_recall(struct release *r);
/* Other changes: nothing leads to the former target, or to its Services. */
enum former { FORMER_SAME, FORMER_TARGET, FORMER_SERVICE };

/* --- handover.c: objects that a deleted Canary leaves behind, for another Canary of its target or
 * for none */

/* The annotation of objects left to another Canary. */
#define HANDED_OVER_BY "flagger.app/handed-over-by"
/*
 * A deletion that leaves everything to another Canary. CONTINUE with *done: complete. CONTINUE
 * without: this Canary must undo its changes. late: the wait has timed out.
 */
enum rule_result handover_run(struct release *r, bool late, bool *done);
/* A deletion without a successor. DONE: first takes back objects marked for another Canary. */
enum rule_result handover_take_back(struct release *r);
/*
 * Deletes the routes of the Canary that are not garbage collected with it: those without a
 * namespace. CONTINUE or NEEDS_FACTS.
 */
enum rule_result handover_delete_routes(struct release *r);
/* Removes the owner of the primary, its copies and its scaler. CONTINUE or NEEDS_FACTS. */
enum rule_result handover_leave_primary(struct release *r);

/* --- renew.c: recreation of a primary, by request, when its selector has fewer labels than the
 * target's */

/* The reason why renewal is impossible now, one sentence; NULL if it is possible. */
const char *renew_refusal(struct release *r);
/* Renewal begins with the next tick. */
void renew_begin(struct release *r);
/* The next action of a renewal. DONE: it is under way, and no other rule acts. */
enum rule_result renew_go_on(struct release *r);
/* The name of the workload that replaces the primary in the meantime. */
const char *renew_second(struct release *r);
/*
 * True if the primary's selector has fewer labels than one created now. The target must have a
 * selector label.
 */
bool renew_is_narrow(struct release *r);

#endif
