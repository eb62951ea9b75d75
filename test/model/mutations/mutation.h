/*
 * Rules that are broken on purpose, one at a time: a row of the table of rules, or acts that rules
 * call, are replaced by functions that are wrong. The search of the mutation's scenario must then
 * find a rule of safety that does not hold (test/model/run).
 *
 * The program of the mutations is that of the explorer, linked such that the table of rules, the
 * targets and the functions of acts.def are those of mutation.c, which calls the real ones unless
 * they are replaced.
 */
#ifndef MODEL_MUTATION_H
#define MODEL_MUTATION_H

#include <string.h>

#include "decide/bake.h"
#include "decide/capacity.h"
#include "decide/checks.h"
#include "decide/condition.h"
#include "decide/decide.h"
#include "decide/foreign.h"
#include "decide/gates.h"
#include "decide/history.h"
#include "decide/judged.h"
#include "decide/leftover.h"
#include "decide/metrics.h"
#include "decide/promote.h"
#include "decide/pushes.h"
#include "decide/refused_write.h"
#include "decide/revision.h"
#include "decide/rollback.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "decide/share.h"
#include "decide/status.h"
#include "decide/steering.h"
#include "router/shared/services.h"
#include "rules.h"
#include "target/shared/configs.h"
#include "tick/edit.h"
#include "tick/knative_object.h"
#include "tick/wake.h"

typedef enum rule_result (*rule_ask)(struct release *r);

/* What stands in place of the functions of acts.def; NULL: the real one. */
struct acts {
#define ACT(type, name, parameters, arguments) type(*name) parameters;
#include "mutations/acts.def"
#undef ACT
};

/* The real ones: real_release_route(r, 0). */
#define ACT(type, name, parameters, arguments) type real_##name parameters __asm__("__real_" #name);
#include "mutations/acts.def"
#undef ACT

struct mutation {
    struct mutation *next;
    const char *what, *scenario;
    const char *breaks;     /* the invariant that must not hold then (SAFE_...), NULL: any rule */
    rule_ask rule;          /* NULL: the acts are replaced whichever rule calls them */
    rule_ask ask;           /* asked in its place; NULL: the rule, with its acts replaced */
    const struct rule *row; /* in place of the rule's whole row, or NULL */
    struct acts acts;
    struct target target; /* functions in place of those of every target */
};

/* The target of target_find() as it really is. */
extern const struct target *mutation_real_target;

void mutation_add(struct mutation *mutation);

/*
 * MUTATION("the threshold is one check late", "canary", .rule = guard_threshold, .ask = late)
 * They are numbered from 1 on, in the order in which they stand in the files.
 */
#define MUTATION(what_, scenario_, ...)        MUTATION_AT(__COUNTER__, what_, scenario_, __VA_ARGS__)
#define MUTATION_AT(at, what_, scenario_, ...) MUTATION_NAMED(at, what_, scenario_, __VA_ARGS__)
#define MUTATION_NAMED(at, what_, scenario_, ...)                                                  \
    __attribute__((constructor)) static void adds_##at(void)                                       \
    {                                                                                              \
        static struct mutation it = {.what = (what_), .scenario = (scenario_), __VA_ARGS__};       \
        mutation_add(&it);                                                                         \
    }

/* In place of a rule, or of an act that does something to a release. */
enum rule_result mutation_nothing(struct release *r);

/* Copies that the rest of the tick follows, for a mutation to change. */
struct canary *mutation_canary(struct release *r);
struct target *mutation_target(struct release *r);

#endif
