/*
 * The rules of a release as data: their order and when they run. rules.def has a row for each.
 * decide() walks the table; RULES.md and MATRIX.txt show it.
 */
#ifndef DECIDE_RULES_H
#define DECIDE_RULES_H

#include "decide/release.h"

/*
 * While the spec is refused, only rules run that guard, repair, take back, or end a promotion
 * under way; rules that begin something or take a step forward wait for an accepted spec.
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

/* Each rule is defined in the file that its name begins with, or its subject. */
#define RULE(name, phases, strategy, asked, what) enum rule_result name(struct release *r);
#include "decide/rules.def"
#undef RULE

/* --- parts of rules that decide() and other rules call */

#define FINALIZER "finalizer.flagger.app"

/* Sets or removes our finalizer (revert.c) while the Canary is not being deleted; nothing if
 * unchanged. */
void finalizer_keep(struct release *r);
/* The target is gone or unusable (r->info.unusable says why): the release ends. DONE or
 * NEEDS_FACTS. */
enum rule_result lost_target(struct release *r);
/* After all other rules of a completed tick: sets or clears the condition Advancing (guard.c). */
void stall_note(struct release *r);

#endif
