#include "kube/kube_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/metrics.h"
#include "kube/kube_client.h"
#include "kube/rate_limit.h"
#include "kube/reply.h"

enum {
    DEFAULT_TIMEOUT_MS = 15000,
    MAX_ATTEMPTS = 4, /* the first try and three retries */
    BACKOFF_MIN_MS = 100,
    BACKOFF_MAX_MS = 2000,
};

static struct metrics_family requests_total = {
    .name = "flagger_kubernetes_requests_total",
    .help = "Requests sent to the Kubernetes API, by verb, resource and code of the answer",
    .type = METRICS_COUNTER,
    .labels = {"verb", "resource", "code"},
};

/* The version of a resource with several versions that the cluster serves. */
struct served {
    struct served *next;
    const struct kube_version *also; /* key: each resource has its own table */
    int at;                          /* 0 for its own version, else also[at - 1] */
};

struct kube_client {
    struct loop *loop;
    /* Connections by purpose; KUBE_READ borrows the caller's. */
    struct http_client *http[KUBE_PURPOSES];
    struct limiter limits[KUBE_PURPOSES];
    struct circuit_breaker breaker;
    const struct kube_config *config;
    struct credentials *credentials;
    char *user_agent, *owner;
    struct kube_call *calls;
    struct served *served;
    struct list_limiter list_limiter;
    bool freeing, reads_only, one_pool;
};

enum kube_call_state {
    KUBE_CALL_NEW,
    KUBE_CALL_LIMITED, /* waits for the rate limit */
    KUBE_CALL_UNREADY, /* waits for credentials */
    KUBE_CALL_SENT,
    KUBE_CALL_BACKOFF, /* waits for a retry */
    KUBE_CALL_ENDING,  /* the result is known, and done is called from the loop */
};

static const struct {
    double share;     /* number of shares in its budget; 0 if unlimited */
    int max_per_host; /* connections; 0 for the default */
} purposes[KUBE_PURPOSES] = {
    [KUBE_READ] = {.share = 1},         [KUBE_WRITE] = {.share = 1},
    [KUBE_RELEASE] = {.share = 10},     [KUBE_NOTIFY] = {.share = 1, .max_per_host = 2},
    [KUBE_LEASE] = {.max_per_host = 4},
};

struct kube_call {
    struct kube_client *client; /* must not be used once reported */
    struct loop *loop;
    struct kube_call *next, **at; /* at is NULL if not in the client's list */
    struct arena *arena;
    struct request_wire wire;
    const struct kube_version *also; /* other versions of its resource, NULL if there is only one */
    struct request_wire *wires;      /* one per version; `wire` is wires[version] */
    int versions, version, unserved; /* number of versions; current one; number not served */
    kube_done_fn done;
    void *arg;
    bool (*on_data)(void *arg, const char *data, size_t len);
    bool (*on_item)(void *arg, struct json_object *item, bool whole);
    int64_t timeout_ms; /* 0 if none */
    int64_t idle_timeout_ms;
    int64_t deadline_ms; /* 0 if none */
    enum kube_verb verb;
    enum kube_call_state state;
    struct limiter_waiter waiter;
    bool (*may_send)(void *arg);
    void *may_send_arg;
    enum kube_purpose purpose;
    const char *namespace_; /* namespace that it is sent for, "" for this process */
    bool raw;               /* the answer need not be JSON */
    bool keeps;
    enum reply_shape shape; /* shape of the answer */
    bool refreshed;         /* retried after a 401 with fresh credentials */
    bool cancelled;
    bool reported;
    int attempts;
    uint64_t generation; /* generation of the credentials that it was last sent with */
    struct backoff backoff;
    struct timer *timer;
    struct http_call *http;
    enum err err;
    struct errinfo info;
};

enum { ON_ITS_WAY = 1u << KUBE_CALL_UNREADY | 1u << KUBE_CALL_SENT | 1u << KUBE_CALL_ENDING };
static const struct machine_state states[] = {
    [KUBE_CALL_NEW] = {.name = "new", .next = ON_ITS_WAY | 1u << KUBE_CALL_LIMITED},
    [KUBE_CALL_LIMITED] = {.name = "limited", .next = ON_ITS_WAY},
    [KUBE_CALL_UNREADY] = {.name = "unready", .next = ON_ITS_WAY},
    [KUBE_CALL_SENT] = {.name = "sent", .next = ON_ITS_WAY | 1u << KUBE_CALL_BACKOFF},
    [KUBE_CALL_BACKOFF] = {.name = "backoff", .next = ON_ITS_WAY | 1u << KUBE_CALL_LIMITED},
    [KUBE_CALL_ENDING] = {.name = "ending"},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "kube_call"};

static void call_set_state(struct kube_call *call, enum kube_call_state state)
{
    machine_step(&machine, call->state, state, NULL, call->wire.label);
    call->state = state;
}

static void call_timer(struct kube_call *call, int64_t after_ms, timer_fn fn)
{
    timer_stop(call->timer);
    call->timer = timer_start(call->loop, after_ms, 0, fn, call);
}

static void call_stop_timer(struct kube_call *call)
{
    timer_stop(call->timer);
    call->timer = NULL;
}

static void call_free(struct kube_call *call)
{
    call_stop_timer(call);
    arena_free(call->arena);
    free(call);
}

static void call_unlink(struct kube_call *call)
{
    if (!call->at)
        return;
    *call->at = call->next;
    if (call->next)
        call->next->at = call->at;
    call->at = NULL;
}

/* Calls done, once. */
static void call_report(struct kube_call *call, int status, struct json_object *body)
{
    struct kube_result result = {
        .err = call->err,
        .outline = call->shape != REPLY_WHOLE,
        .info = &call->info,
        .status = status,
        .body = body,
        .arena = call->arena,
    };

    assert(!call->reported);
    call->reported = true;
    call_unlink(call);
    call->done(call->arg, &result);
}

static void call_finish(struct kube_call *call, int status, struct json_object *body)
{
    call_report(call, status, body);
    call_free(call);
}

static void end_now(void *arg)
{
    struct kube_call *call = arg;

    call->timer = NULL; /* frees itself */
    call_finish(call, call->info.status, NULL);
}

/* Ends the call from the loop with call->err and call->info. */
static void call_end(struct kube_call *call)
{
    call_set_state(call, KUBE_CALL_ENDING);
    call_timer(call, 0, end_now);
}

static void call_fail(struct kube_call *call, enum err err, const char *text)
{
    call->err = err_set(&call->info, err, "%s: %s", call->wire.label, text);
    call_end(call);
}

static int64_t time_left(const struct kube_call *call)
{
    return call->deadline_ms - clock_monotonic_ms();
}

static void http_done(void *arg, const struct http_result *result);

static bool http_data(void *arg, const char *data, size_t len)
{
    struct kube_call *call = arg;

    return !call->cancelled && !call->reported && call->on_data(call->arg, data, len);
}

static bool is_read(const struct kube_call *call)
{
    return call->verb == KUBE_GET || call->verb == KUBE_LIST;
}

static void call_send(struct kube_call *call, const struct credentials_view *view)
{
    struct kube_client *client = call->client;
    int64_t timeout = call->timeout_ms ? time_left(call) : -1;
    struct http_header headers[5] = {{.name = "Accept", .value = call->wire.accept},
                                     {.name = "User-Agent", .value = client->user_agent}};
    size_t count = 2;

    if (call->timeout_ms && timeout <= 0) {
        call_fail(call, ERR_RETRY, "timed out before it could be sent");
        return;
    }
    if (call->may_send && !call->may_send(call->may_send_arg)) {
        call_fail(call, ERR_CANCELLED, "not sent, this process may not write any more");
        return;
    }
    if (call->wire.content_type)
        headers[count++] =
            (struct http_header){.name = "Content-Type", .value = call->wire.content_type};
    if (view->authorization)
        headers[count++] =
            (struct http_header){.name = "Authorization", .value = view->authorization};
    call->generation = view->generation;
    call->attempts++;
    call_stop_timer(call);
    call_set_state(call, KUBE_CALL_SENT);
    call->http = http_send(client->http[call->purpose],
                           &(struct http_request){.method = call->wire.method,
                                                  .url = call->wire.url,
                                                  .headers = headers,
                                                  .body = call->wire.body,
                                                  .body_len = call->wire.body_len,
                                                  .tls = view->tls,
                                                  .proxy = client->config->proxy,
                                                  .timeout_ms = timeout,
                                                  .idle_timeout_ms = call->idle_timeout_ms,
                                                  .max_body = REPLY_MAX_TEXT,
                                                  .owner = client->owner,
                                                  .on_data = call->on_data ? http_data : NULL},
                           http_done, call);
}

static void unready_too_long(void *arg)
{
    struct kube_call *call = arg;

    call->timer = NULL;
    call_fail(call, ERR_RETRY, "timed out while waiting for the credential plugin");
}

/* Sends a call that has passed the rate limit or its back-off, as soon as there are credentials. */
static void call_advance(struct kube_call *call)
{
    struct credentials_view view = {0};
    struct errinfo why = {0};

    switch (credentials_get(call->client->credentials, &view, &why)) {
    case CREDENTIALS_READY:
        call_send(call, &view);
        break;
    case CREDENTIALS_PENDING:
        call_set_state(call, KUBE_CALL_UNREADY);
        if (call->timeout_ms)
            call_timer(call, time_left(call) > 0 ? time_left(call) : 0, unready_too_long);
        break;
    case CREDENTIALS_FAILED:
        call_fail(call, ERR_DENIED, why.text);
        break;
    }
}

static void on_token(void *arg)
{
    struct kube_call *call = arg;

    call_stop_timer(call);
    call_advance(call);
}

static struct limiter *call_limit(const struct kube_call *call)
{
    return &call->client->limits[call->purpose];
}

static void limited_too_long(void *arg)
{
    struct kube_call *call = arg;

    call->timer = NULL;
    limiter_cancel(&call->waiter);
    call_fail(call, ERR_RETRY, "timed out while waiting for the rate limit");
}

/* Sends the call, or queues it at the rate limiter; retries are treated like new requests. */
static void call_enter(struct kube_call *call)
{
    if (purposes[call->purpose].share == 0 || call->on_data ||
        limiter_acquire(call_limit(call), call->namespace_, &call->waiter, on_token, call)) {
        call_advance(call);
        return;
    }
    call_set_state(call, KUBE_CALL_LIMITED);
    if (call->timeout_ms)
        call_timer(call, time_left(call) > 0 ? time_left(call) : 0, limited_too_long);
}

static void enter_now(void *arg)
{
    struct kube_call *call = arg;

    call->timer = NULL;
    call_enter(call);
}

static void credentials_changed(void *arg)
{
    struct kube_client *client = arg;

    /* call_advance() never frees a call, nor calls done. */
    for (struct kube_call *call = client->calls; call; call = call->next)
        if (call->state == KUBE_CALL_UNREADY)
            call_advance(call);
}

/* Returns true if the call may be retried: see the head of client.h. */
static bool may_repeat(const struct kube_call *call, const struct http_result *result)
{
    if (call->on_data || call->cancelled || call->err != ERR_RETRY ||
        call->attempts >= MAX_ATTEMPTS)
        return false;
    if (is_read(call))
        return true;
    return result->err == ERR_OK ? result->status == 429 : !result->sent;
}

/* Returns true if the call will be retried. */
static bool call_repeat(struct kube_call *call, const struct http_result *result)
{
    if (!may_repeat(call, result))
        return false;
    int64_t wait = backoff_next(&call->backoff, call->info.retry_after_ms);
    if (call->timeout_ms && wait >= time_left(call))
        return false;
    call_set_state(call, KUBE_CALL_BACKOFF);
    call_timer(call, wait, enter_now);
    return true;
}

/* The body of a reply as a tree; NULL if it is missing or not JSON. */
static struct json_object *read_body(struct kube_call *call, const struct http_result *result,
                                     struct errinfo *ei)
{
    struct json_object *body = NULL;
    enum reply_use use = REPLY_TRANSIENT;

    call->shape = REPLY_WHOLE;
    if (!result->body || result->body_len == 0)
        return NULL;
    if (call->on_item && result->status < 300) {
        if (reply_items(call->arena, result->body, result->body_len, call->on_item, call->arg,
                        &body, ei) != ERR_OK)
            return NULL;
        return body;
    }
    if (call->keeps && result->status < 300)
        use = is_read(call) ? REPLY_KEPT_IF_ROOM : REPLY_KEPT; /* a write has already been
                                                                * applied */
    if (reply_parse(call->arena, result->body, result->body_len, use, &body, &call->shape, ei) !=
        ERR_OK)
        return NULL;
    return body;
}

/* An outline is an error, except for a page of a watch. */
static void check_shape(struct kube_call *call)
{
    if (call->shape == REPLY_WHOLE || (call->verb == KUBE_LIST && !call->keeps))
        return;
    if (call->shape == REPLY_TOO_LARGE)
        call->err = err_set(&call->info, ERR_INVALID,
                            "%s: the object takes more than %d MiB of memory, and is not read",
                            call->wire.label, REPLY_MAX_TREE / (1024 * 1024));
    else
        call->err = err_set(&call->info, ERR_RETRY,
                            "%s: the object is large, and has to wait until others that are kept "
                            "in memory leave room for it",
                            call->wire.label);
}

/* Sets call->err and call->info from the reply, and returns its body. */
static struct json_object *call_classify(struct kube_call *call, const struct http_result *result)
{
    struct errinfo bad = {0};
    struct json_object *body = NULL;

    call->info = (struct errinfo){0};
    call->err = result->err;
    if (result->err != ERR_OK) {
        err_set(&call->info, result->err, "%s: %s", call->wire.label,
                result->info ? result->info->text : err_name(result->err));
        call->info.retry_after_ms = result->retry_after_ms;
        return NULL;
    }
    body = read_body(call, result, &bad);
    call->err = kube_status_fill(&call->info, call->wire.label, result->status, body,
                                 result->body ? result->body : "", result->retry_after_ms);
    if (call->err == ERR_OK && bad.text[0]) {
        enum err err = err_set(&call->info, ERR_INVALID, "%s: the answer is not JSON: %s",
                               call->wire.label, bad.text);
        call->err = call->raw ? ERR_OK : err;
    }
    if (call->err == ERR_OK)
        check_shape(call);
    call->info.status = result->status;
    return body;
}

/* --- versions */

static struct served *served_of(struct kube_client *client, const struct kube_version *also)
{
    struct served *served = client->served;

    while (served && served->also != also)
        served = served->next;
    if (served)
        return served;
    served = heap_alloc(sizeof(*served));
    *served = (struct served){.next = client->served, .also = also};
    client->served = served;
    return served;
}

/* Returns true if the call will be sent again, in the next version. */
static bool call_next_version(struct kube_call *call, int status, struct json_object *body)
{
    if (!call->also || status == 0)
        return false;
    if (!kube_status_unserved(status, body)) {
        if (status < 300)
            served_of(call->client, call->also)->at = call->version;
        return false;
    }
    if (call->cancelled || ++call->unserved == call->versions)
        return false;
    call->version = (call->version + 1) % call->versions;
    call->wire = call->wires[call->version];
    call_advance(call);
    return true;
}

static void count_reply(const struct kube_call *call, const struct http_result *result)
{
    char code[8] = "none";

    if (result->err == ERR_OK || result->status > 0)
        snprintf(code, sizeof(code), "%d", result->status);
    metrics_add(&requests_total, 1, call->wire.verb, call->wire.resource, code);
}

/* The restart of a single server behind a load balancer must not trip it. */
enum { BREAKER_FAILURES = 8, BREAKER_MS = 3000 };

bool circuit_breaker_record(struct circuit_breaker *breaker, bool answered, int64_t now_ms)
{
    bool before = breaker->open;

    if (answered) {
        *breaker = (struct circuit_breaker){0};
        return before;
    }
    if (breaker->failures == 0)
        breaker->since_ms = now_ms;
    if (breaker->failures < BREAKER_FAILURES)
        breaker->failures++;
    breaker->open = before || (breaker->failures == BREAKER_FAILURES &&
                               now_ms - breaker->since_ms >= BREAKER_MS);
    return breaker->open != before;
}

/* Returns true if the status (0 if none) comes from the server itself; a proxy's 502 to 504 do
 * not. */
bool circuit_breaker_is_answer(int status)
{
    return status > 0 && (status < 502 || status > 504);
}

/* While the server does not answer, each purpose is throttled to one request a second; watches
 * and leases are not throttled and notice when it is back. Then the rates recover gradually. */
static void record_outage(struct kube_client *client, const struct http_result *result)
{
    bool answered = circuit_breaker_is_answer(result->status);

    if (!answered && result->err != ERR_OK && result->err != ERR_RETRY)
        return; /* cancelled, or rejected on our side */
    if (!circuit_breaker_record(&client->breaker, answered, clock_monotonic_ms()))
        return;
    if (answered)
        log_info("kube_back", NULL, "the API server answers again");
    else
        log_warn("kube_away", NULL, "the API server does not answer; requests wait until it does");
    for (int i = KUBE_READ; i < KUBE_PURPOSES; i++) {
        if (answered)
            limiter_recover(&client->limits[i]);
        else
            limiter_throttle(&client->limits[i]);
    }
}

static void http_done(void *arg, const struct http_result *result)
{
    struct kube_call *call = arg;

    call->http = NULL;
    if (call->reported) { /* the client was freed meanwhile */
        call_free(call);
        return;
    }
    count_reply(call, result);
    record_outage(call->client, result);
    struct json_object *body = call_classify(call, result);
    if (call->info.status == 401 && !call->refreshed && !call->cancelled &&
        credentials_refused(call->client->credentials, call->generation)) {
        call->refreshed = true;
        call_advance(call);
        return;
    }
    if (call_next_version(call, call->info.status, body) || call_repeat(call, result))
        return;
    if (call->cancelled)
        call->err =
            err_set(&call->info, ERR_CANCELLED, "%s: cancelled by the caller", call->wire.label);
    call_set_state(call, KUBE_CALL_ENDING);
    call_finish(call, result->status, body);
}

static void purpose_init(struct kube_client *client, int i, struct http_client *reads,
                         const struct kube_client_options *o)
{
    struct http_client_options options = {.max_per_host = purposes[i].max_per_host};
    double share = purposes[i].share > 0 ? purposes[i].share : 1;
    bool own = i != KUBE_READ && !o->one_pool;

    client->http[i] = own ? http_client_new(client->loop, &options) : reads;
    limiter_init(&client->limits[i], client->loop, share * (o->qps > 0 ? o->qps : 100),
                 share * (o->burst > 0 ? o->burst : 250));
}

struct kube_client *kube_client_new(struct loop *loop, struct http_client *http,
                                    const struct kube_config *config,
                                    const struct kube_client_options *options)
{
    static const struct kube_client_options none = {0};
    struct kube_client *client = heap_alloc(sizeof(*client));
    const struct kube_client_options *o = options ? options : &none;
    *client = (struct kube_client){
        .loop = loop,
        .config = config,
        .reads_only = o->reads_only,
        .one_pool = o->one_pool,
        .owner = heap_strdup(o->owner),
        .user_agent = heap_strdup(o->user_agent ? o->user_agent : "flagger-c/" FLAGGER_VERSION),
    };
    for (int i = KUBE_READ; i < KUBE_PURPOSES; i++)
        purpose_init(client, i, http, o);
    client->credentials = credentials_new(loop, config, credentials_changed, client);
    metrics_register(&requests_total);
    return client;
}

void kube_client_free(struct kube_client *client)
{
    if (!client)
        return;
    client->freeing = true;
    while (client->calls) {
        struct kube_call *call = client->calls;
        struct http_call *http = call->http;
        call_stop_timer(call);
        if (call->state == KUBE_CALL_LIMITED)
            limiter_cancel(&call->waiter);
        call->err =
            err_set(&call->info, ERR_CANCELLED, "%s: the client is closed", call->wire.label);
        call_report(call, 0, NULL);
        if (http)
            http_cancel(http); /* http_done() frees the call */
        else
            call_free(call);
    }
    for (int i = KUBE_READ; i < KUBE_PURPOSES; i++) {
        limiter_fini(&client->limits[i]);
        if (i != KUBE_READ && !client->one_pool)
            http_client_free(client->http[i]);
    }
    credentials_free(client->credentials);
    while (client->served) {
        struct served *served = client->served;
        client->served = served->next;
        free(served);
    }
    free(client->user_agent);
    free(client->owner);
    free(client);
}

static struct kube_call *call_new(struct kube_client *client, const struct kube_request *request,
                                  kube_done_fn done, void *arg)
{
    struct kube_call *call = heap_alloc(sizeof(*call));

    *call = (struct kube_call){
        .client = client,
        .loop = client->loop,
        .arena = arena_new(),
        .done = done,
        .arg = arg,
        .on_data = request->on_data,
        .on_item = request->on_item,
        .timeout_ms = request->timeout_ms,
        .idle_timeout_ms = request->idle_timeout_ms,
        .verb = request->verb,
        .may_send = request->may_send,
        .may_send_arg = request->may_send_arg,
        .purpose = request->purpose,
        .keeps = request->keeps,
        .raw = request->raw_path != NULL,
        .backoff = {.min_ms = BACKOFF_MIN_MS, .max_ms = BACKOFF_MAX_MS},
    };
    const char *namespace_ = request->on_behalf ? request->on_behalf : request->namespace_;
    call->namespace_ = arena_strdup(call->arena, namespace_ ? namespace_ : "");
    if (!call->purpose)
        call->purpose = is_read(call) ? KUBE_READ : KUBE_WRITE;
    if (!call->timeout_ms && !call->on_data)
        call->timeout_ms = DEFAULT_TIMEOUT_MS;
    if (call->timeout_ms)
        call->deadline_ms = clock_monotonic_ms() + call->timeout_ms;
    return call;
}

static void call_link(struct kube_call *call)
{
    struct kube_client *client = call->client;

    call->next = client->calls;
    call->at = &client->calls;
    if (client->calls)
        client->calls->at = &call->next;
    client->calls = call;
}

struct kube_call *kube_send(struct kube_client *client, const struct kube_request *request,
                            kube_done_fn done, void *arg)
{
    struct errinfo why = {0};

    struct kube_call *call = call_new(client, request, done, arg);
    enum err err = request_build_all(call->arena, client->config->server, request, &call->wires,
                                     &call->versions, &why);
    call->also = call->versions > 1 ? request->resource->also : NULL;
    call->version = call->also ? served_of(client, call->also)->at : 0;
    call->wire = call->wires[call->version];
    /* Sent from a done callback of kube_client_free(): the call outlives the client. */
    if (client->freeing)
        err = err_set(&why, ERR_CANCELLED, "the client is closed");
    else
        call_link(call);
    if (err == ERR_OK && client->reads_only && !is_read(call))
        err = err_set(&why, ERR_DENIED, "not sent, this process only reads");
    if (err != ERR_OK) {
        call_fail(call, err, why.text);
        return call;
    }
    call_enter(call);
    return call;
}

void kube_cancel(struct kube_call *call)
{
    if (call->cancelled || call->state == KUBE_CALL_ENDING)
        return;
    call->cancelled = true;
    if (call->state == KUBE_CALL_SENT) {
        http_cancel(call->http); /* http_done() ends it */
        return;
    }
    if (call->state == KUBE_CALL_LIMITED)
        limiter_cancel(&call->waiter);
    call_fail(call, ERR_CANCELLED, "cancelled by the caller");
}

bool kube_call_hold(struct kube_call *call, struct buf *kept)
{
    return !call->http || http_call_hold(call->http, kept);
}

struct list_limiter *kube_client_list_limiter(struct kube_client *client)
{
    return &client->list_limiter;
}

void kube_client_snapshot(const struct kube_client *client, struct kube_client_snapshot *out)
{
    *out = (struct kube_client_snapshot){.listing = client->list_limiter.listing};
    for (int i = KUBE_READ; i < KUBE_PURPOSES; i++) {
        const struct limiter *limiter = &client->limits[i];
        struct kube_purpose_snapshot *one = &out->of[i];
        one->under_way = http_client_active(client->http[i]);
        if (purposes[i].share == 0)
            continue;
        one->per_second = limiter->limit.per_ms * 1000;
        one->burst = limiter->limit.burst;
        one->tokens = rate_limit_level(&limiter->limit, clock_monotonic_ms());
        one->waiting = limiter->queue.count;
    }
}

#define ACCEPT_JSON "application/json"
/* Servers that cannot send metadata alone reply with whole objects, the second choice. */
#define ACCEPT_METADATA                                                                            \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
#define ACCEPT_METADATA_LIST                                                                       \
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

enum need { NEEDS_NAME, NEEDS_NO_NAME };

static const struct verb {
    const char *method;
    const char *word; /* first word of the label */
    const char *content_type;
    enum need name;
} verbs[] = {
    [KUBE_GET] = {.method = "GET", .word = "GET", .name = NEEDS_NAME},
    [KUBE_LIST] = {.method = "GET", .word = "LIST", .name = NEEDS_NO_NAME},
    [KUBE_CREATE] = {.method = "POST",
                     .word = "POST",
                     .content_type = "application/json",
                     .name = NEEDS_NO_NAME},
    [KUBE_REPLACE] = {.method = "PUT",
                      .word = "PUT",
                      .content_type = "application/json",
                      .name = NEEDS_NAME},
    [KUBE_MERGE_PATCH] = {.method = "PATCH",
                          .word = "PATCH",
                          .content_type = "application/merge-patch+json",
                          .name = NEEDS_NAME},
    [KUBE_JSON_PATCH] = {.method = "PATCH",
                         .word = "PATCH",
                         .content_type = "application/json-patch+json",
                         .name = NEEDS_NAME},
    [KUBE_DELETE] = {.method = "DELETE",
                     .word = "DELETE",
                     .content_type = "application/json",
                     .name = NEEDS_NAME},
};

static const char *resource_of(struct arena *arena, const struct kube_request *request)
{
    if (request->raw_path)
        return "";
    return request->sub ? arena_printf(arena, "%s/%s", request->resource->plural, request->sub)
                        : request->resource->plural;
}

static const char *make_label(struct arena *arena, const struct kube_request *request)
{
    const char *word = verbs[request->verb].word;
    const struct kube_resource *resource = request->resource;

    if (request->raw_path)
        return arena_printf(arena, "%s %.*s", verbs[request->verb].method,
                            (int)strcspn(request->raw_path, "?"), request->raw_path);
    const char *what = arena_printf(arena, "%s %s", word, resource_of(arena, request));
    if (resource->cluster_scoped || !request->namespace_)
        return request->name ? arena_printf(arena, "%s %s", what, request->name) : what;
    if (!request->name)
        return arena_printf(arena, "%s in %s", what, request->namespace_);
    return arena_printf(arena, "%s %s/%s", what, request->namespace_, request->name);
}

/* Accepts a path segment that can only be taken literally, by the API server's own rule. */
static enum err check_segment(const char *what, const char *text, struct errinfo *ei)
{
    if (!text[0])
        return err_set(ei, ERR_INVALID, "the %s is empty", what);
    if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0 || strpbrk(text, "/%?#"))
        return err_set(ei, ERR_INVALID, "the %s \"%s\" cannot stand in a path", what, text);
    return ERR_OK;
}

static enum err check_names(const struct kube_request *request, struct errinfo *ei)
{
    bool named = verbs[request->verb].name == NEEDS_NAME;
    bool scoped = !request->resource->cluster_scoped;
    enum err err = ERR_OK;

    if (named && !request->name)
        return err_set(ei, ERR_INVALID, "no name is given");
    if (!named && (request->name || request->sub))
        return err_set(ei, ERR_INVALID, "a name has no place here");
    if (scoped && !request->namespace_ && request->verb != KUBE_LIST)
        return err_set(ei, ERR_INVALID, "no namespace is given");
    if (scoped && request->namespace_)
        err = check_segment("namespace", request->namespace_, ei);
    if (err == ERR_OK && request->name)
        err = check_segment("name", request->name, ei);
    return err;
}

static const char *accept_of(const struct kube_request *request)
{
    if (!request->metadata_only)
        return ACCEPT_JSON;
    /* The events of a watch are single objects. */
    return request->verb == KUBE_LIST && !request->on_data ? ACCEPT_METADATA_LIST : ACCEPT_METADATA;
}

enum err request_build(struct arena *arena, const char *server, const struct kube_request *request,
                       struct request_wire *out, struct errinfo *ei)
{
    const struct verb *verb = &verbs[request->verb];
    const char *path = request->raw_path;

    *out = (struct request_wire){.method = verb->method,
                                 .label = make_label(arena, request),
                                 .verb = request->on_data ? "WATCH" : verb->word,
                                 .resource = resource_of(arena, request),
                                 .accept = accept_of(request)};
    if (!server || !server[0])
        return err_set(ei, ERR_INVALID, "no Kubernetes API server is configured");
    if (!path) {
        enum err err = check_names(request, ei);
        if (err != ERR_OK)
            return err;
        path =
            kube_path(arena, request->resource, request->namespace_, request->name, request->sub);
    }
    out->url = arena_printf(arena, "%s%s", server, path);
    if (request->query && request->query[0])
        out->url = arena_printf(arena, "%s?%s", out->url, request->query);
    if (request->body) {
        out->body = json_text(arena, request->body);
        out->body_len = strlen(out->body);
        out->content_type = verb->content_type ? verb->content_type : "application/json";
    }
    return ERR_OK;
}

enum err request_build_all(struct arena *arena, const char *server,
                           const struct kube_request *request, struct request_wire **out,
                           int *count, struct errinfo *ei)
{
    const struct kube_version *also = request->raw_path ? NULL : request->resource->also;
    enum err err;

    *count = 1;
    while (also && also[*count - 1].group)
        ++*count;
    *out = arena_array(arena, (size_t)*count, sizeof(**out));
    err = request_build(arena, server, request, &(*out)[0], ei);
    for (int i = 1; i < *count && err == ERR_OK; i++) {
        struct kube_request one = *request;
        struct kube_resource resource = *request->resource;
        resource.group = also[i - 1].group;
        resource.version = also[i - 1].version;
        one.resource = &resource;
        one.body = json_copy(arena, request->body);
        if (json_at(one.body, "apiVersion", NULL))
            json_set_str(one.body, "apiVersion", kube_api_version(arena, &resource));
        err = request_build(arena, server, &one, &(*out)[i], ei);
    }
    return err;
}
