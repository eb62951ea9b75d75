/*
 * The rules of a release: the table of rules.def, which is explained in RULES.md.
 *
 * Deviations from Flagger on purpose: change detection and repair run on every watch event, the
 * rest once an interval; traffic is moved, and the target goes to zero an interval later; a
 * reached threshold and a rollback hook take effect before readiness is checked, wherever a
 * release waits; a revision is recorded as seen only when its analysis begins or its rollback is
 * complete; only the analysed revision is promoted, or the analysis restarts.
 * proto/COMPATIBILITY.md lists them all with their reasons.
 */
#include "decide/rules.h"

#define ANY        0
#define CANARY     (1u << STRATEGY_CANARY)
#define BLUE_GREEN (1u << STRATEGY_BLUE_GREEN)
#define AB_TESTING (1u << STRATEGY_AB_TESTING)

const struct rule rules[] = {
#define RULE(name_, phases_, strategy_, asked_, what_)                                             \
    {.name = #name_,                                                                               \
     .ask = (name_),                                                                               \
     .phases = (phases_),                                                                          \
     .strategies = (strategy_),                                                                    \
     .asked = (asked_)},
#include "decide/rules.def"
#undef RULE
};

const size_t n_rules = sizeof(rules) / sizeof(rules[0]);
