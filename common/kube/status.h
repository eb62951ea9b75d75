/* What an API server's refusal means: HTTP status and Status object to enum err, see kube/client.h
 * for the table. */
#ifndef KUBE_STATUS_H
#define KUBE_STATUS_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/err.h"

/* ERR_OK for 2xx. */
enum err kube_status_err(int status);

/*
 * Fills *ei from a reply that is not 2xx and returns its err: "<what>: <err name>: <message of the
 * Status object>". body may be NULL or no Status: then the first line of text, else the HTTP
 * status, stands for the message. retry_after_ms comes from the header (0: none), or from
 * details.retryAfterSeconds.
 */
enum err kube_status_fill(struct errinfo *ei, const char *what, int status,
                          struct json_object *body, const char *text, int64_t retry_after_ms);

/*
 * The API server serves no such resource: its CRD is not installed, or not in this version. It says
 * so by a 404 whose body is no Status that names an object.
 */
bool kube_status_unserved(int status, struct json_object *body);
/* Who asks is known, and may not do this. (Of a write, an admission controller may say so too.) */
bool kube_status_forbidden(const struct errinfo *info);
/* A write is refused for what it says: by a schema, a validation, an admission controller or a policy, and not for
 * want of a right. The same write will be refused again. */
bool kube_status_refused(const struct errinfo *info);

#endif
