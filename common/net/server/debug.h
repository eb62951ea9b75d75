/*
 * What the answers below /debug/ of a daemon have in common.
 *
 * Such an answer changes nothing, is made from what is kept anyway, and has an end: a list comes in
 * pages. Whoever reaches the port reads it where the daemon knows no callers, as they read
 * /metrics: it holds names, states, times and counts, the hosts of URLs without their paths, and
 * nothing of what objects, messages or answers contain.
 */
#ifndef NET_DEBUG_H
#define NET_DEBUG_H

#include <json-c/json.h>

#include "net/server/server.h"

enum { DEBUG_PAGE = 100, DEBUG_MAX_PAGE = 500 };

/* The first of every handler. False, and answered 403: a page of some other site has made a browser
 * send it, which may stand where the site's owner does not. */
bool debug_admits(struct http_conn_request *req) MUST_USE;

/* Which part of a list is wanted: ?limit=1..500 (default 100) and ?continue=, the text that the
 * page before ended with; NULL: from the beginning. */
struct debug_page {
    int limit;
    const char *after;
};
/* False: answered 400. */
bool debug_read_page(struct http_conn_request *req, struct debug_page *out) MUST_USE;

/* Before a handler makes its answer, which no cache may keep. True: answered as another
 * request for the same path and query was, see http_reply_shared(). False: debug_reply() does. */
bool debug_shared(struct http_conn_request *req) MUST_USE;
/* Answers 200 with the object. */
void debug_reply(struct http_conn_request *req, struct json_object *object);

/* Sets version, now, memory and server, the places and memory of the server's clients. */
void debug_process(const struct http_server *server, struct json_object *out);

/* Sets an RFC 3339 time that is known by the monotonic clock. */
void debug_set_time(struct json_object *object, const char *key, int64_t monotonic_ms);

#endif
