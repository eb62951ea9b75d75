/* The part of a request that is a letter (struct http_mail). */
#ifndef NET_CLIENT_MAIL_H
#define NET_CLIENT_MAIL_H

#include "net/client_request.h"

/* After the URL was set. ERR_INVALID: an address that cannot stand in an SMTP command, or nobody
 * whom it is for. */
enum err client_mail_apply(CURL *easy, struct client_lists *lists,
                           const struct http_request *request, struct arena *arena,
                           struct errinfo *ei) MUST_USE;

#endif
