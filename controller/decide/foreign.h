/*
 * Foreign objects that share pods, Services or hosts with a Canary.
 *
 * Workloads with pods that the Services of a Canary would select.
 */
#ifndef DECIDE_FOREIGN_H
#define DECIDE_FOREIGN_H

#include "decide/release.h"

/*
 * Called before the Services of a new Canary are made. DONE: they would lead to foreign pods, which
 * is reported; the condition remains as long as they would.
 */
enum rule_result owners_check(struct release *r);
/*
 * Called later: reports workloads, created at any time, with pods that the selector of the primary
 * matches. They delay nothing. The primary must exist. CONTINUE or NEEDS_FACTS.
 */
enum rule_result owners_check_around(struct release *r);
/*
 * *others: the pods of the namespace with all of these labels that are neither the target's nor the
 * primary's, by their owners: "Job nightly, Pod debug"; "" if none. CONTINUE or NEEDS_FACTS.
 */
enum rule_result owners_find_pods(struct release *r, struct json_object *labels,
                                  const char **others);
/*
 * Other pods that the Service of the canary selects: bare pods and those of Jobs. They are reported
 * at the end of the initialisation and of each release. CONTINUE or NEEDS_FACTS.
 */
enum rule_result owners_check_pods(struct release *r);

/* Foreign Services that lead to the target. */

/* DONE: there are some, which is reported; the condition remains until there are none. */
enum rule_result bystander_check(struct release *r);
/* Like bystander_check(), during initialisation and if some were found then; otherwise CONTINUE. */
enum rule_result bystander_wait(struct release *r);
/*
 * For a Canary being deleted: keeps the primary for foreign Services, which is reported. CONTINUE
 * or NEEDS_FACTS.
 */
enum rule_result bystander_keep_primary(struct release *r);

/* Foreign routes for the same hosts as the Canary's. */

/*
 * Reports an older route of the namespace that gets the requests meant for the route of the Canary
 * (router->claims): the condition RouteFirst remains until a later check finds none. CONTINUE or
 * NEEDS_FACTS.
 */
enum rule_result contested_check(struct release *r);

#endif
