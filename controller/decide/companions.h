/* Policies, budgets and monitors that select pods of the target, and copies of them for the
 * primary. */
#ifndef DECIDE_COMPANIONS_H
#define DECIDE_COMPANIONS_H

#include "decide/release.h"

/*
 * Reports the companions that do not select the serving pods of the primary: the condition remains
 * until a later check finds none. CONTINUE or NEEDS_FACTS.
 */
enum rule_result companions_check(struct release *r);
/*
 * True if the object of this kind selects pods with the labels of the target and no pods with the
 * labels of the primary. False for other kinds, and for kinds that select Services.
 */
bool companions_unfit(const char *kind, struct json_object *object, struct json_object *target,
                      struct json_object *primary);
/*
 * Brings the copies of spec.companions up to date and deletes the copies of companions that are no
 * longer named. A condition reports companions that are not copied. CONTINUE, NEEDS_FACTS, or DONE:
 * the list of copies is recorded first.
 */
enum rule_result companions_copy(struct release *r);
/*
 * The objects that have a copy, or will get one; for a ServiceMonitor, its Services. Names live as
 * long as the tick. CONTINUE or NEEDS_FACTS.
 */
struct companion {
    const struct kube_resource *resource;
    const char *name; /* the name of the copy adds "-primary" */
};
enum { COMPANIONS_MAX = 64 };
enum rule_result companions_sources(struct release *r, struct companion out[COMPANIONS_MAX],
                                    int *count);
/* True if this foreign Service has a copy for the primary, or will get one. */
bool companions_has_service(const struct release *r, const char *name);
/* The resource of a kind that spec.companions may name; NULL if it may not. */
const struct kube_resource *companions_resource(const char *kind);
/* The field of its spec that selects pods; NULL for a ServiceMonitor, or another kind. */
const char *companions_selector(const char *kind);
/* "PodDisruptionBudget": these kinds, for messages; owned by the arena. */
const char *companions_kinds(struct arena *arena);
/* True if spec.companions names the object. */
bool companions_are_named(const struct canary *canary, const char *kind, const char *name);
/*
 * The end of a message about `names`, "PodDisruptionBudget web": how to have them copied; "" if
 * none can be copied. Owned by the arena.
 */
const char *companions_way_out(struct arena *arena, const char *names);

#endif
