/*
 * Routes left behind by a Canary: those of a former provider or name, those made before
 * spec.service.routeRefs was set, or those of another Canary. Functions return CONTINUE or
 * NEEDS_FACTS.
 */
#ifndef DECIDE_LEFTOVER_H
#define DECIDE_LEFTOVER_H

#include "decide/release.h"

/* The side that gets the Services of a deleted Canary. */
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
 * *route: a route that leads to one of these ports ([{name of the Service, port}]) and that the
 * router does not manage, "HTTPRoute podinfo.test"; NULL if none. *behind: true if a route that it
 * does manage still leads there, since its write has not been made yet, or is refused.
 */
enum rule_result leftover_uses_ports(struct release *r, struct json_object *ports,
                                     const char **route, bool *behind);

#endif
