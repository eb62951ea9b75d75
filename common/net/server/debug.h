/*
 * Common parts of the answers below /debug/ of a daemon.
 *
 * Such an answer changes nothing, is made from state that is kept anyway, and is bounded: lists are
 * paged. If the daemon has no authentication, anyone who reaches the port can read it, like
 * /metrics: it holds names, states, times and counts, the hosts of URLs without their paths, and
 * nothing of the content of objects, messages or answers.
 */
#ifndef NET_DEBUG_H
#define NET_DEBUG_H

#include <json-c/json.h>

#include "net/server/server.h"

enum { DEBUG_PAGE = 100, DEBUG_MAX_PAGE = 500 };

/* Every handler calls this first. Returns false after replying 403 if another site's page made a
 * browser send the request, since the browser may reach networks that the site's owner does not. */
bool debug_admits(struct http_conn_request *req) MUST_USE;

/* The wanted part of a list: ?limit=1..500 (default 100) and ?continue=, the text that the previous
 * page ended with; `after` is NULL for the first page. */
struct debug_page {
    int limit;
    const char *after;
};
/* Returns false after replying 400. */
bool debug_read_page(struct http_conn_request *req, struct debug_page *out) MUST_USE;

/* Call before making an answer; forbids caches. Returns true if it has replied with the answer to
 * another request for the same path and query, see http_reply_shared(). If false, debug_reply()
 * must follow. */
bool debug_shared(struct http_conn_request *req) MUST_USE;
/* Replies 200 with the object, and shares it with such requests. */
void debug_reply(struct http_conn_request *req, struct json_object *object);

/* Sets version, now, memory, and server: connections, requests and bytes of clients. */
void debug_process(const struct http_server *server, struct json_object *out);

/* Sets an RFC 3339 time, given by the monotonic clock. */
void debug_set_time(struct json_object *object, const char *key, int64_t monotonic_ms);

#endif
