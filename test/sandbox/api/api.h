/*
 * The Kubernetes API of the sandbox over HTTP and HTTPS, on top of an object store: discovery, REST
 * verbs, watches, Tables, faults for tests and request counts.
 *
 * Every path but /healthz, /livez, /readyz and /version needs `Authorization: Bearer TOKEN`: 401
 * without one, and 403 for the token of the read-only user (TOKEN-readonly) on writes. A ServiceAccount
 * gets one of its own from its subresource `token`, and may do what Roles and bindings say (apiauth.h).
 *
 * For tests, also behind the token:
 * - POST /sandbox/faults
 *   {"faults": [{"verb": "patch", "path": "/apis/flagger.app/", "count": 3, "status": 500,
 *   "retryAfter": 1, "delay": "200ms", "drop": true}]}
 *   adds rules: the next `count` requests whose verb (HTTP method or
 *   get/list/watch/create/update/patch/delete, absent: any) and path (substring, or with $ at its end
 *   the end of it, absent: any) match
 *   are delayed, then dropped or answered with the status.
 * - GET, DELETE /sandbox/faults: the rules with what is left of them; forget all, or with ?path=TEXT
 *   those whose path has that in it.
 * - POST /sandbox/change
 *   {"group": "apps", "resource": "deployments", "objects": [{"namespace": "a", "name": "b"}],
 *   "patch": {...}}
 *   changes them all between two answers to others, by strategic merge (a custom kind: merge), and
 *   tells how many. The first that cannot be changed ends it; those before it are changed.
 * - POST /sandbox/compact: forgets the watch log, and resuming gives 410 Gone; {"expire": true} also
 *   sends open watches the 410 ERROR event.
 * - POST /sandbox/cut: closes all watches.
 * - GET /sandbox/stats: counts by user agent, verb and resource; DELETE starts again from zero.
 */
#ifndef SANDBOX_API_H
#define SANDBOX_API_H

#include "api/objstore.h"
#include "base/buf.h"
#include "net/loop.h"
#include "net/server/server.h"

struct api_options {
    const char *address;   /* NULL: "127.0.0.1" */
    int http_port;         /* 0: a free one; < 0: no HTTP */
    int https_port;        /* 0: a free one; < 0: no HTTPS */
    const char *token;     /* NULL: a random one */
    const char *directory; /* for ca.crt, tls.crt, tls.key, token and kubeconfig; must exist, is not
                              emptied */
    int64_t watch_delay_ms; /* so late watches tell of everything; 0: at once */
};

struct api;

/* Listens at once. The store must outlive it. Stops by itself when the loop drains. */
enum err api_new(struct loop *loop, struct objstore *store, const struct api_options *options,
                 struct api **out, struct errinfo *ei) MUST_USE;
void api_free(struct api *api);            /* after the loop has ended */
int api_http_port(const struct api *api);  /* -1: none */
int api_https_port(const struct api *api); /* -1: none */
const char *
api_kubeconfig(const struct api *api); /* path of the file (HTTPS; HTTP if there is no HTTPS) */

/* Appends the end of what a pod's container has written to out. Without a source, logs are empty.
 */
typedef void (*api_pod_log_fn)(void *arg, const char *ns, const char *pod, struct buf *out);
void api_on_pod_log(struct api *api, api_pod_log_fn fn, void *arg);

/*
 * Told of each request to a resource before it is served, for tests that take the cluster's or a
 * client's part at that moment. False: it is not served, and its connection is closed without an
 * answer. verb is of the list above; fn MUST NOT answer the request.
 */
typedef bool (*api_request_fn)(void *arg, const char *verb, struct http_conn_request *req);
void api_on_request(struct api *api, api_request_fn fn, void *arg);

/* What was asked so far, as GET /sandbox/stats tells it; owned by the arena. */
struct json_object *api_counts(const struct api *api, struct arena *arena);

#endif
