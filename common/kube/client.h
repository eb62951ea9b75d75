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
 * writes are never repeated here, since they may have happened. What a request is for (enum
 * kube_purpose) says which budget (limiter.h) and which connections are its own: none waits for one
 * of another purpose, neither here nor at a slow server. Watches and leases have no budget.
 *
 * While nobody answers, for 3 s and 8 requests or longer, each budget gives one a second. After that
 * it gives a sixteenth, and twice as much each second until it is whole: what has waited does not
 * come at once.
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

/* Budgets are in shares of kube_client_options. */
enum kube_purpose {
    KUBE_BY_VERB, /* KUBE_READ or KUBE_WRITE, as the verb says; the only one of requests that is 0 */
    KUBE_READ,    /* share 1 */
    KUBE_WRITE,   /* share 1 */
    /* Writes that users wait for, as those of a release under way: share 10. A step that stands
     * behind others leaves traffic where it should not be any more, and their number is bounded by
     * that of the releases; beyond that the server says what is too much, with 429. */
    KUBE_MOVE,
    KUBE_TELL,  /* nothing depends on it (events): share 1, few connections */
    KUBE_APART, /* no budget, connections of their own (leases) */
    KUBE_PURPOSES
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
    enum kube_purpose purpose;
    /* The tree of the answer is kept beyond done: it counts to what all such take together. What
     * is read for it and has no room among them is an outline, with ERR_RETRY. */
    bool keeps;
    /* Asked whenever it is about to be sent, after all waiting; false: it is not, ERR_CANCELLED.
     * NULL: it is. Must hold until done. */
    bool (*may_send)(void *arg);
    void *may_send_arg;
    /* Instead of resource & co: e.g. "/version", with query if any. Its answer need not be JSON: the
     * body is NULL then, and info says why it is none. */
    const char *raw_path;
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
    double qps; /* a share: requests a second; 0: 100 */
    int burst;  /* ... and at once; 0: 250 */
    const char *user_agent;
    const char *owner; /* of the cluster, http_request.owner; NULL: this process itself */
    /* Every request but GET, LIST and streams ends with ERR_DENIED and is not sent. */
    bool reads_only;
    /* All requests have the connections of `http`, as where one process has many clusters: then no
     * purpose has some of its own. */
    bool one_pool;
};

/*
 * The config's strings must outlive the client. http serves reads and watches and must outlive the
 * client as well; all others have connections of the client's own, unless one_pool.
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

/* How the client stands now, for those who look into the process. */
struct kube_client_look {
    struct kube_purpose_look {
        double per_second, burst, tokens; /* of its budget; 0: it has none */
        int waiting;                      /* requests, for the budget */
        size_t under_way;                 /* ... sent; watches count as reads */
    } of[KUBE_PURPOSES];
    int listing; /* watches that list now */
};
void kube_client_look(const struct kube_client *client, struct kube_client_look *out);

#endif
