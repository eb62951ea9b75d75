/* Routes that a Canary has left behind: of a provider or a name that it had before, or of another
 * Canary. GO or NEED_FACTS. */
#ifndef DECIDE_LEFTOVER_H
#define DECIDE_LEFTOVER_H

#include "decide/release/release.h"

/* Who a Canary that goes leaves its Services to. */
enum leave {
    LEAVE_TO_TARGET, /* nobody looks after them, the target serves by itself */
    LEAVE_TO_HEIR,   /* another Canary, which takes those of its names; the primary serves */
};

/* A Canary that goes: routes of a former name, which the router looks after, are deleted. */
enum verdict leftover_delete_routes(struct release *r);
/* ... and Services that stay select those who serve. */
enum verdict leftover_lead(struct release *r, enum leave leave);
/* ... and belong to nobody from now on, as the routes to them, which is told. */
enum verdict leftover_disown(struct release *r, enum leave leave);
/* Reports the objects that stay when the Canary is gone: the apex Service and the routes that lead to
 * it. */
enum verdict leftover_report(struct release *r);
/* *route: one that leads to one of these ports ([{name of the Service, port}]) and that the router
 * does not look after, "HTTPRoute podinfo.test"; NULL: there is none. */
enum verdict leftover_uses_ports(struct release *r, struct json_object *ports, const char **route);

#endif
