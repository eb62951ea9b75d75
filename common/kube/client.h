/*
 * Calls to the Kubernetes API: one function for every verb, with rate limit, retries of what is
 * safe, and Status errors turned into enum err.
 *
 *   404 -> NOT_FOUND, 409 -> CONFLICT, 401 (after one refresh of the credentials) and 403 ->
 * DENIED, 400, 405, 415, 422 -> INVALID, 410 -> CONFLICT with status 410, 408, 429, 5xx and no
 * answer -> RETRY.
 *
 * GETs are repeated up to 3 times on RETRY with back-off and jitter, Retry-After honoured (bounded
 * by the timeout); 429 and a request that certainly was not sent are repeated for every verb; other
 * writes are never repeated here, since they may have happened. The client-side limit is a token
 * bucket (limiter.h); watches and leases pass it by. Writes, reads, events and leases have
 * connections of their own each: none of them waits for another at a slow server.
 *
 * A verb that needs a name is refused without one (a DELETE with an empty name would mean all), as
 * are names that would change the path.
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

struct kube_request {
    enum kube_verb verb;
    const struct kube_resource *resource;
    const char *namespace_; /* NULL: cluster scope, or all namespaces for a list */
    const char *name;
    const char *sub;          /* "status", "scale" or NULL */
    const char *query;        /* "limit=500&labelSelector=..." already encoded, or NULL */
    struct json_object *body; /* borrowed until kube_send() returns */
    int64_t timeout_ms;       /* waiting for the rate limit and repetitions included; 0: 15 s */
    bool metadata_only;       /* GET, LIST: PartialObjectMetadata */
    bool no_limit;            /* passes the client-side rate limit by (leases) */
    bool only_tells;          /* nothing depends on it (events): after all others */
    /* The tree of the answer is kept beyond done: it counts to what all such take together. What
     * is read for it and has no room among them is an outline, with ERR_RETRY. */
    bool keeps;
    /* Asked whenever it is about to be sent, after all waiting; false: it is not, ERR_CANCELLED.
     * NULL: it is. Must hold until done. */
    bool (*may_send)(void *arg);
    void *may_send_arg;
    const char *raw_path; /* instead of resource & co: e.g. "/version", with query if any */
    /*
     * A stream, that is a LIST with "watch=1" in its query: each piece of a 2xx answer is handed to
     * on_data(arg) as it comes, false ends the call with ERR_CANCELLED. Never repeated here but for
     * a 401, not rate-limited; timeout_ms 0 then means none, and no byte for idle_timeout_ms (0: no
     * limit) ends it with ERR_RETRY.
     */
    bool (*on_data)(void *arg, const char *data, size_t len);
    int64_t idle_timeout_ms;
    /*
     * A LIST whose items are handed over with done's arg while the answer is read, before done;
     * the body has none then. The item is borrowed. whole false: it takes too much memory, and this
     * is its outline. False: no more are wanted, ERR_CANCELLED. With an error behind them, what was
     * handed over stays true of each item.
     */
    bool (*on_item)(void *arg, struct json_object *item, bool whole);
};

struct kube_result {
    enum err err;
    const struct errinfo
        *info; /* 'PATCH deployments test/podinfo: conflict: the object has been modified' */
    int status;
    struct json_object *body; /* NULL on errors without one; borrowed, valid inside done */
    /* The body takes too much memory (reply.h) and is an outline: of a list that is not kept with
     * ERR_OK, of anything else with ERR_INVALID; with ERR_RETRY when it does so for now. */
    bool outline;
    struct arena *arena; /* of this call, freed after done */
};
typedef void (*kube_done_fn)(void *arg, const struct kube_result *result);

struct kube_client_options {
    double qps; /* 0: 100 */
    int burst;  /* 0: 250 */
    const char *user_agent;
};

/*
 * The config's strings must outlive the client. http serves reads and watches and must outlive the
 * client as well; all others have connections of the client's own.
 */
struct kube_client *kube_client_new(struct loop *loop, struct http_client *http,
                                    const struct kube_config *config,
                                    const struct kube_client_options *options);
/* Cancels; done callbacks are called. Free what stands on it (watches, stores, leases, recorders)
 * first. */
void kube_client_free(struct kube_client *client);

/* done: exactly once, never before kube_send() has returned, also after kube_cancel(). */
struct kube_call *kube_send(struct kube_client *client, const struct kube_request *request,
                            kube_done_fn done, void *arg);
void kube_cancel(struct kube_call *call);
/* Requests sent so far, by kind, for /metrics and the benches. */
uint64_t kube_client_requests(const struct kube_client *client);

/* How the client stands now, for those who look into the process. */
struct kube_client_look {
    double per_second, burst, tokens; /* of the rate limit */
    /* Requests that wait for the rate limit. */
    int writes_waiting, reads_waiting, tells_waiting;
    /* Requests under way; watches count as reads. */
    size_t reads, writes, tells, leases;
    int listing; /* watches that list now */
};
void kube_client_look(const struct kube_client *client, struct kube_client_look *out);

#endif
