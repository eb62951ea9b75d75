/*
 * The fleet page: the state of each ReleasePlan, as columns of clusters by wave. It only shows the
 * statuses of plans as watched, and queries no cluster.
 *
 *   GET /ui/                     the page
 *   GET /ui/api/plans            ?limit=1..100 &continue=NS/NAME: a page of all, summaries; fewer if
 *                                reading takes long
 *   GET /ui/api/plans/NS/NAME    one, with its waves and clusters
 */
#ifndef PAGE_FLEET_PAGE_H
#define PAGE_FLEET_PAGE_H

#include "base/json.h"
#include "page/page.h"

struct plans_page {
    struct page_door door;
    /*
     * "NAMESPACE/NAME" of all ReleasePlans, sorted by name. False if they are not known, not yet
     * or no longer.
     */
    bool (*names)(void *arg, struct arena *arena, const char ***out, size_t *count);
    /* One, owned by the arena; NULL if there is none. */
    struct json_object *(*get)(void *arg, struct arena *arena, const char *namespace_,
                               const char *name);
    void *arg;
};

/* Answers all requests below /ui. */
void plans_page_serve(struct plans_page *page, struct http_conn_request *req);

/* ReleasePlans as JSON for the fleet page, from their statuses. Owned by the arena. */

/* {"namespace", "name", "phase", "message", "revision", "since", "canaries", "promoted",
 * "underWay", "failed", "held"} */
struct json_object *plan_json_brief(struct arena *arena, struct json_object *plan);
/* With "conditions", "waves" with their "clusters", and clusters in no wave as "outside". */
struct json_object *plan_json(struct arena *arena, struct json_object *plan);

#endif
