/*
 * Views of the controller's state for operators, beside /metrics on the same port:
 *
 *   GET /debug/process              leader, queue, watches, requests, memory
 *   GET /debug/canaries             ?namespace= &phase= &state= &limit= &continue=
 *   GET /debug/canaries/NS/NAME     one Canary: its run, pending facts, its last plan
 *   GET /ui/                        the release page
 */
#ifndef CONTROLLER_DEBUG_VIEWS_H
#define CONTROLLER_DEBUG_VIEWS_H

#include "engine/engine.h"
#include "kube/lease.h"
#include "net/server/server.h"
#include "page/page.h"

/* Argument of the handlers. The pointers are read for each request: engine and lease may be
 * NULL. */
struct debug_view {
    struct engine *const *engine;
    struct lease *const *lease;
    struct http_server *const *server;
    struct page *page; /* the release page, page/page.h */
};

/* All routes, or the release page alone. */
extern const struct http_route debug_routes[], debug_page_routes[];

#endif
