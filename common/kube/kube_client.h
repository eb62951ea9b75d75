/*
 * Calls to the Kubernetes API: one function for every verb, with rate limits, safe retries, and
 * Status errors turned into enum err.
 *
 *   404 -> NOT_FOUND, 409 -> CONFLICT, 401 (after one refresh of the credentials) and 403 -> DENIED,
 *   400, 405, 415, 422 -> INVALID, 410 -> CONFLICT with status 410, 408, 429, 5xx and no answer -> RETRY.
 *
 * A GET is retried up to 3 times on RETRY, with back-off and jitter; Retry-After is respected
 * (within the time-out). A 429, and a request that was certainly not sent, are retried for every
 * verb; other writes are never retried here, since they may have been applied. Each purpose (enum
 * kube_purpose) has its own budget (rate_limit.h) and connections, so no request waits for one of
 * another purpose, either here or at a slow server. Where requests wait for a budget, the
 * namespaces take turns. Watches and leases have no budget.
 *
 * If 8 requests in a row over 3 s get no answer, each budget is throttled to one request a second.
 * After the first answer it starts with a sixteenth of its rate and doubles that each second, so
 * queued requests do not come at once.
 *
 * A verb that needs a name is rejected without one (a DELETE with an empty name would mean all
 * objects), and so is a name that would change the path.
 */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H

#include <json-c/json.h>

#include "kube/config.h"
#include "kube/resource.h"
#include "net/client.h"

struct kube_client;
struct kube_call;

enum kube_verb {
    KUBE_GET,
    KUBE_LIST,
    KUBE_CREATE,
    KUBE_REPLACE,
    KUBE_MERGE_PATCH, /* application/merge-patch+json */
    KUBE_JSON_PATCH,  /* application/json-patch+json */
    KUBE_DELETE,
};

/* Budgets are counted in shares, whose size is in kube_client_options. */
enum kube_purpose {
    KUBE_BY_VERB, /* KUBE_READ or KUBE_WRITE, by the verb */
    KUBE_READ,    /* share 1 */
    KUBE_WRITE,   /* share 1 */
    /* Writes of a release in progress: 10 shares, as a queued step would leave traffic in the
     * wrong place. Their number is bounded by the number of releases; beyond that the server
     * replies 429. */
    KUBE_RELEASE,
    KUBE_NOTIFY, /* events, on which nothing depends: 1 share, few connections */
    KUBE_LEASE,  /* no budget, connections of their own */
    KUBE_PURPOSES
};

struct kube_request {
    enum kube_verb verb;
    const struct kube_resource *resource;
    const char *namespace_; /* NULL for cluster scope, or all namespaces of a list */
    const char *name;
    const char *sub;          /* "status", "scale" or NULL */
    const char *query;        /* "limit=500&labelSelector=...", encoded, or NULL */
    struct json_object *body; /* borrowed until kube_send() returns */
    int64_t timeout_ms;       /* includes the rate limit and retries; 0: 15 s */
    bool metadata_only;       /* GET, LIST: PartialObjectMetadata */
    enum kube_purpose purpose;
    /* The namespace whose turn in the budget the request takes, NULL for that of the object. */
    const char *on_behalf;
    /* The tree of the answer is kept after done(), and counted against the limit of all such
     * trees. If there is no room for it, a read gets an outline, with ERR_RETRY. */
    bool keeps;
    /* Called just before each attempt to send, after all waiting; false ends the call with
     * ERR_CANCELLED. May be NULL. Must stay valid until done. */
    bool (*may_send)(void *arg);
    void *may_send_arg;
    /* Replaces resource, namespace and name: e.g. "/version", followed by the query if any. The
     * answer need not be JSON: if it is not, the body is NULL and info has the parser's error. */
    const char *raw_path;
    /*
     * A stream, that is, a LIST with "watch=1" in its query: on_data(arg) gets each piece of a 2xx
     * answer; false ends the call with ERR_CANCELLED. Never retried here except after a 401, and
     * not rate-limited. timeout_ms 0 means no time-out; idle_timeout_ms (0 if none) without a byte
     * ends the call with ERR_RETRY.
     */
    bool (*on_data)(void *arg, const char *data, size_t len);
    int64_t idle_timeout_ms;
    /*
     * A LIST whose items are passed on, with done's arg, while the answer is parsed; the body given
     * to done contains no items. The item is borrowed. `whole` is false for an outline of an item
     * that takes too much memory. Return false to end the call with ERR_CANCELLED. Items stay valid
     * even if an error follows.
     */
    bool (*on_item)(void *arg, struct json_object *item, bool whole);
};

struct kube_result {
    enum err err;
    /* 'PATCH deployments test/podinfo: conflict: the object has been modified'. */
    const struct errinfo *info;
    int status;
    struct json_object *body; /* NULL if there is none; borrowed, valid inside done */
    /* The body is an outline, since the whole takes too much memory (reply.h): with ERR_OK for a
     * list that is not kept, otherwise with ERR_INVALID, or with ERR_RETRY if there is only no
     * room at the moment. */
    bool outline;
    struct arena *arena; /* owned by this call, freed after done */
};
typedef void (*kube_done_fn)(void *arg, const struct kube_result *result);

struct kube_client_options {
    double qps; /* requests a second per share; 0: 100 */
    int burst;  /* burst per share; 0: 250 */
    const char *user_agent;
    const char *owner; /* http_request.owner of the cluster; NULL for this process */
    /* Rejects all requests except GET, LIST and streams, with ERR_DENIED. */
    bool reads_only;
    /* All purposes share the connections of `http`, for a process with many clusters. */
    bool one_pool;
};

/*
 * The config's strings and http must outlive the client. Reads and watches use http; other purposes
 * have connections of the client's own, unless one_pool.
 */
struct kube_client *kube_client_new(struct loop *loop, struct http_client *http,
                                    const struct kube_config *config,
                                    const struct kube_client_options *options);
/* Cancels all calls and calls their done. Free the users (watches, stores, leases, recorders)
 * first. */
void kube_client_free(struct kube_client *client);

/* done is called exactly once, even after kube_cancel(), and never before kube_send() has
 * returned. */
struct kube_call *kube_send(struct kube_client *client, const struct kube_request *request,
                            kube_done_fn done, void *arg);
void kube_cancel(struct kube_call *call);
/* Only in on_data: see http_call_hold(). */
bool kube_call_hold(struct kube_call *call, struct buf *kept);

/* State for /debug. */
struct kube_client_snapshot {
    struct kube_purpose_snapshot {
        double per_second, burst, tokens; /* state of its budget; 0 if unlimited */
        int waiting;                      /* requests queued for the budget */
        size_t under_way;                 /* requests sent; watches count as reads */
    } of[KUBE_PURPOSES];
    int listing; /* watches listing at the moment */
};
void kube_client_snapshot(const struct kube_client *client, struct kube_client_snapshot *out);

#endif
