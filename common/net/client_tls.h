/* The TLS side of a curl handle: what to trust, what to show, which name to expect. */
#ifndef NET_CLIENT_TLS_H
#define NET_CLIENT_TLS_H

#include <curl/curl.h>

#include "base/err.h"
#include "net/client.h"

/* Copies what it needs; tls may be NULL (the system's certificates, the URL's host). more_ca: of
 * the client, or NULL. */
enum err client_tls_apply(CURL *easy, const struct http_tls *tls, const char *more_ca,
                          struct errinfo *ei) MUST_USE;

#endif
