/*
 * The release page: what each Canary does, for people, beside /metrics on the same port. It only
 * shows; nothing can be changed by it.
 *
 *   GET /ui/                        the page; its files hold no data, and anybody may have them
 *   GET /ui/api/canaries            ?limit=1..100 &continue=: a page of all, in short
 *   GET /ui/api/canaries/NS/NAME    one, with its release and its history
 *
 * Answers are made from what the watches have brought, on every replica alike, but for the last events,
 * which are those that this replica has told; they ask the API server for nothing. The page asks anew every few seconds rather than hold a stream: a status
 * changes once an interval, a stream would take a place of the server's for each open tab, and one
 * answer serves all tabs that ask at the same time (http_reply_share()). An answer holds at most
 * PAGE_LIST Canaries, some 600 bytes each, or one, whose status is bounded (decide/STATUS.md).
 *
 * They show what statuses say, the answers of webhooks and names of people included. So the page
 * is off unless an option opens it, to everybody who reaches the port or to who has a token.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "engine/engine.h"
#include "page/door.h"
#include "page/show_query.h"

enum { PAGE_LIST = 100 };

struct page {
    struct engine *const *engine;    /* read for each request; NULL in it while there is none */
    const struct settings *settings; /* of the engine */
    struct page_door door;
    struct show_links links;
};

/* Answers whatever is below /ui. */
void page_serve(struct page *page, struct http_conn_request *req);

#endif
