/* Objects that a deleted Canary leaves behind, for another Canary of its target or for none. */
#ifndef DECIDE_HANDOVER_H
#define DECIDE_HANDOVER_H

#include "decide/release.h"

/* The annotation of objects left to another Canary. */
#define HANDED_OVER_BY "flagger.app/handed-over-by"
/*
 * A deletion that leaves everything to another Canary. CONTINUE and *done: complete. CONTINUE
 * otherwise: this Canary must undo its changes. late: the wait has timed out.
 */
enum rule_result handover_run(struct release *r, bool late, bool *done);
/* A deletion without a successor. DONE: it first takes back what was marked for another Canary. */
enum rule_result handover_take_back(struct release *r);
/*
 * Deletes the routes of the Canary that are not garbage collected with it: those without a
 * namespace. CONTINUE or NEEDS_FACTS.
 */
enum rule_result handover_delete_routes(struct release *r);
/* Removes the owner of the primary, its copies and its scaler. CONTINUE or NEEDS_FACTS. */
enum rule_result handover_leave_primary(struct release *r);

/*
 * Routes left behind by a Canary: of a former provider or name, or of another Canary. CONTINUE or
 * NEEDS_FACTS.
 */

/* The receiver of the Services of a deleted Canary. */
enum leave {
    LEAVE_TO_TARGET, /* none; the target serves by itself */
    LEAVE_TO_HEIR,   /* another Canary, which adopts those with its names; the primary serves */
};

/* Deletes routes of a former name, which the router manages. */
enum rule_result leftover_delete_routes(struct release *r);
/* Points the remaining Services at the serving pods. */
enum rule_result leftover_lead(struct release *r, enum leave leave);
/* Removes the owner of these Services and of the routes to them, and reports it. */
enum rule_result leftover_disown(struct release *r, enum leave leave);
/*
 * Reports the objects that stay after the Canary is deleted: the apex Service and the routes to
 * it.
 */
enum rule_result leftover_report(struct release *r);
/*
 * *route: one that leads to one of these ports ([{name of the Service, port}]) and that the router
 * does not manage, "HTTPRoute podinfo.test"; NULL if none.
 */
enum rule_result leftover_uses_ports(struct release *r, struct json_object *ports,
                                     const char **route);

#endif
