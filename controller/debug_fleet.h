/*
 * What a person sees who looks into the daemon of the fleet, beside /metrics on the same port:
 *
 *   GET /debug/process         leader, clusters by state, what is done and waits, memory
 *   GET /debug/clusters        each: state, why it is not reached, when it was last heard, canaries
 *   GET /debug/applications    each: what is in its way, its places and their states
 *   GET /debug/plans           each: its phase, and what is under way
 *
 * Lists come in pages: ?limit= and ?continue=.
 */
#ifndef CONTROLLER_DEBUG_FLEET_H
#define CONTROLLER_DEBUG_FLEET_H

#include "kube/lease.h"
#include "members/members.h"
#include "net/server/server.h"
#include "page/plans.h"

/* The argument of the handlers. The pointers are read for each request. */
struct debug_fleet {
    struct members *const *members;
    struct lease *const *lease;
    struct http_server *const *server;
    struct plans_page page;
};

/* The page, and with or without what is below /debug. */
extern const struct http_route debug_fleet_routes[], debug_fleet_page_routes[];

#endif
