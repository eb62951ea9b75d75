/* Turns a struct http_request into a curl easy handle. Everything is copied; the request may go
 * afterwards. */
#ifndef NET_CLIENT_REQUEST_H
#define NET_CLIENT_REQUEST_H

#include <curl/curl.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/client.h"

/* The lists that curl does not copy. */
struct client_lists {
    struct curl_slist *headers;
    struct curl_slist *connect_to;
};

/*
 * ERR_INVALID for what can never be sent. *label is "GET http://host/path", without user, password
 * and query (and path, when that is a secret), for messages; owned by the arena and set also on
 * failure.
 */
enum err client_request_apply(CURL *easy, struct client_lists *lists,
                              const struct http_request *request,
                              const struct http_client_options *options, struct arena *arena,
                              const char **label, struct errinfo *ei) MUST_USE;
void client_lists_fini(struct client_lists *lists);

#endif
