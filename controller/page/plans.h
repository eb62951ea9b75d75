/*
 * The page of the fleet: where each ReleasePlan stands, as columns of clusters by wave. It only shows
 * what the plans' statuses say, as the watch of them has brought them, and asks no cluster.
 *
 *   GET /ui/                     the page
 *   GET /ui/api/plans            ?limit=1..100 &continue=NS/NAME: a page of all, in short; fewer where
 *                                they take long to read
 *   GET /ui/api/plans/NS/NAME    one, with its waves and clusters
 */
#ifndef PAGE_PLANS_H
#define PAGE_PLANS_H

#include "base/json.h"
#include "page/door.h"

struct plans_page {
    struct page_door door;
    /* "NAMESPACE/NAME" of all ReleasePlans, in the order of the names. False: they are not known, not
     * yet or no more. */
    bool (*names)(void *arg, struct arena *arena, const char ***out, size_t *count);
    /* One, owned by the arena; NULL: there is none. */
    struct json_object *(*get)(void *arg, struct arena *arena, const char *namespace_,
                               const char *name);
    void *arg;
};

/* Answers whatever is below /ui. */
void plans_page_serve(struct plans_page *page, struct http_conn_request *req);

#endif
