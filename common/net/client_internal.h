/* Private to the HTTP client: connection pools and curl handles (client_curl.c). */
#ifndef NET_CLIENT_INTERNAL_H
#define NET_CLIENT_INTERNAL_H

#include <curl/curl.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/client.h"
#include "net/loop.h"

/*
 * A pool of connections and the transfers that use it: one curl multi handle on the event loop.
 *
 * client_pool_add() lends an easy handle to the pool until on_done has reported it or
 * client_pool_remove() has taken it back. Neither may be called while client_pool_busy(), that is,
 * from one of curl's callbacks. on_done is called from the loop, never from curl, and may add,
 * remove, and free the pool.
 *
 * Reads for at most 5 ms per iteration of the loop; the remaining sockets are served first in the
 * next one, so that many long answers do not delay a probe.
 */
struct client_pool;
typedef void (*client_pool_done_fn)(void *arg, CURL *easy, CURLcode code);

/* max_per_host and max_total count connections, 0 for no limit; max_idle are kept for reuse. */
struct client_pool *client_pool_new(struct loop *loop, long max_per_host, long max_total,
                                    long max_idle, client_pool_done_fn on_done, void *arg);
void client_pool_free(struct client_pool *pool); /* every handle must have been removed */
void client_pool_add(struct client_pool *pool, CURL *easy);
void client_pool_remove(struct client_pool *pool, CURL *easy);
bool client_pool_busy(const struct client_pool *pool);
/* Returns false while it is busy, or has to begin other transfers first. */
bool client_pool_takes(const struct client_pool *pool);

/* Lists that curl does not copy. */
struct client_lists {
    struct curl_slist *headers;
    struct curl_slist *connect_to;
};

/*
 * Sets up a curl handle for a request, which is copied. ERR_INVALID if it can never be sent. *label
 * is "GET http://host/path" for messages, without user, password and query, and without path if
 * that is secret; owned by the arena and set also on failure.
 */
enum err client_request_apply(CURL *easy, struct client_lists *lists,
                              const struct http_request *request,
                              const struct http_client_options *options, struct arena *arena,
                              const char **label, struct errinfo *ei) MUST_USE;
void client_lists_fini(struct client_lists *lists);

#endif
