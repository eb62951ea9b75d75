/*
 * The release page: the state of each Canary, for users, beside /metrics on the same port. Read
 * only.
 *
 *   GET /ui/                        the page; its files hold no data and are public
 *   GET /ui/api/canaries            ?limit=1..100 &continue=: summaries of all, in pages
 *   GET /ui/api/canaries/NS/NAME    one Canary, with its release and its history
 *
 * Answers come from the watches and are the same on every replica, except for the last events,
 * which are those of this replica; no request goes to the API server. The page polls every few
 * seconds instead of holding a stream: a status changes once per interval, a stream would occupy a
 * connection of the server for each open tab, and one answer serves all tabs that ask at the same
 * time (http_reply_share()). An answer holds at most PAGE_LIST Canaries, about 600 bytes each, or
 * one Canary, whose status has a limited size (decide/STATUS.md).
 *
 * The answers contain statuses, including answers of webhooks and names of people. So the page is
 * off unless an option opens it, either to every client that reaches the port or to clients with a
 * token.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "base/err.h"
#include "base/json.h"
#include "engine/engine.h"
#include "net/server/server.h"
#include "net/server/tokens.h"
#include "page/promises.h"
#include "proto/canary.h"
#include "tick/tick.h"

/* If both are unset, the page is off. */
struct page_door {
    bool open;                   /* to every client that reaches the port */
    const struct tokens *tokens; /* to clients with a token; NULL if none is required */
};

/* False if the client may not read data below /ui/api/ and /debug; the request was then
 * answered. */
bool page_admits(const struct page_door *door, struct http_conn_request *req) MUST_USE;

/* Answers all requests below /ui: the files, and by data() those below /ui/api/. */
void page_answer(const struct page_door *door, struct http_conn_request *req,
                 const struct http_file *files,
                 void (*data)(void *arg, struct http_conn_request *req), void *arg);

/*
 * Public addresses of the servers that the controller queries by cluster addresses; NULL if
 * unknown. Without a trailing slash.
 */
struct show_links {
    const char *prometheus, *grafana;
};
/*
 * Reads an address from an option; *out is NULL if text is "" or NULL. ERR_INVALID if a browser
 * cannot open the address. Owned by the arena.
 */
enum err show_link_read(struct arena *arena, const char *option, const char *text, const char **out,
                        struct errinfo *ei) MUST_USE;

enum { PAGE_LIST = 100 };

struct page {
    struct engine *const *engine;    /* read for each request; points to NULL until there is one */
    const struct settings *settings; /* of the engine */
    struct page_door door;
    struct show_links links;
    struct promises *promises;
};

/* Answers all requests below /ui. */
void page_serve(struct page *page, struct http_conn_request *req);

/* --- Canaries as JSON, from the watches. Owned by the arena. */

/*
 * {"canaries": [...], "continue": "namespace/name"}: at most `limit` Canaries after `after` (NULL:
 * from the first), in order of discovery, fewer if reading takes long; with continue only if there
 * are more. NULL if `after` is gone.
 */
struct json_object *show_list(const struct engine *engine, struct arena *arena, const char *after,
                              int limit);
/* All details of one Canary; NULL if it does not exist. */
struct json_object *show_one(const struct engine *engine, const struct settings *settings,
                             const struct show_links *links, struct promises *promises,
                             struct arena *arena, const char *namespace_, const char *name);

/*
 * --- The fleet page (fleet_page.c): the state of each ReleasePlan, as columns of clusters by wave.
 * It only shows the statuses of plans as watched, and queries no cluster.
 *
 *   GET /ui/                     the page
 *   GET /ui/api/plans            ?limit=1..100 &continue=NS/NAME: a page of all, summaries; fewer if
 *                                reading takes long
 *   GET /ui/api/plans/NS/NAME    one, with its waves and clusters
 */

struct plans_page {
    struct page_door door;
    /*
     * "NAMESPACE/NAME" of all ReleasePlans, sorted by name. False if they are not yet, or no
     * longer, known.
     */
    bool (*names)(void *arg, struct arena *arena, const char ***out, size_t *count);
    /* One ReleasePlan, owned by the arena; NULL if it does not exist. */
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
/* Also with "conditions", "waves" with their "clusters", and clusters in no wave as "outside". */
struct json_object *plan_json(struct arena *arena, struct json_object *plan);

#endif
