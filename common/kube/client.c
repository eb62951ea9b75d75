#include "kube/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/expo.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "kube/backoff.h"
#include "kube/client_priv.h"
#include "kube/credentials.h"
#include "kube/limiter.h"
#include "kube/reply.h"
#include "kube/request.h"
#include "kube/status.h"

enum {
    DEFAULT_TIMEOUT_MS = 15000,
    MAX_ATTEMPTS = 4, /* the first and three repetitions */
    BACKOFF_MIN_MS = 100,
    BACKOFF_MAX_MS = 2000,
};

static struct expo_metric requests_total = {
    .name = "flagger_kubernetes_requests_total",
    .help = "Requests sent to the Kubernetes API, by method and by the code of the answer",
    .type = EXPO_COUNTER,
    .labels = {"method", "code"},
};

struct kube_client {
    struct loop *loop;
    struct http_client *http; /* for reads and watches */
    /* ours: connections that do not wait for those of others */
    struct http_client *writes, *tells, *apart;
    const struct kube_config *config;
    struct credentials *credentials;
    struct limiter limiter;
    char *user_agent;
    struct kube_call *calls;
    struct watch_gate gate;
    uint64_t requests;
    bool freeing;
};

enum call_state {
    CALL_NEW,
    CALL_LIMITED, /* waits for its place in the rate limit */
    CALL_UNREADY, /* waits for credentials */
    CALL_SENT,
    CALL_BACKOFF, /* waits before it is repeated */
    CALL_ENDING,  /* its end is known and is told from the loop */
};

struct kube_call {
    struct kube_client *client; /* not to be touched once reported */
    struct loop *loop;
    struct kube_call *next, **at; /* at NULL: not in the client's list */
    struct arena *arena;
    struct request_wire wire;
    kube_done_fn done;
    void *arg;
    bool (*on_data)(void *arg, const char *data, size_t len);
    bool (*on_item)(void *arg, struct json_object *item, bool whole);
    int64_t timeout_ms; /* 0: none */
    int64_t idle_timeout_ms;
    int64_t deadline_ms; /* 0: none */
    enum kube_verb verb;
    enum call_state state;
    struct limiter_place place;
    bool (*may_send)(void *arg);
    void *may_send_arg;
    bool apart; /* no_limit */
    bool only_tells;
    bool raw; /* the answer need not be JSON */
    bool keeps;
    enum reply_shape shape; /* of the answer */
    bool refreshed;         /* one 401 has been answered with fresh credentials */
    bool cancelled;
    bool reported;
    int attempts;
    uint64_t generation; /* of the credentials it was last sent with */
    struct backoff backoff;
    struct timer *timer;
    struct http_call *http;
    enum err err;
    struct errinfo info;
};

enum { ON_ITS_WAY = 1u << CALL_UNREADY | 1u << CALL_SENT | 1u << CALL_ENDING };
static const struct machine_state states[] = {
    [CALL_NEW] = {.name = "new", .next = ON_ITS_WAY | 1u << CALL_LIMITED},
    [CALL_LIMITED] = {.name = "limited", .next = ON_ITS_WAY},
    [CALL_UNREADY] = {.name = "unready", .next = ON_ITS_WAY},
    [CALL_SENT] = {.name = "sent", .next = ON_ITS_WAY | 1u << CALL_BACKOFF},
    [CALL_BACKOFF] = {.name = "backoff", .next = ON_ITS_WAY},
    [CALL_ENDING] = {.name = "ending"},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "kube_call"};

static void call_set_state(struct kube_call *call, enum call_state state)
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

/* Tells the owner, once. */
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

/* Ends it from the loop with call->err and call->info. */
static void call_end(struct kube_call *call)
{
    call_set_state(call, CALL_ENDING);
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

static struct http_client *connections(const struct kube_call *call)
{
    if (call->apart)
        return call->client->apart;
    if (call->only_tells)
        return call->client->tells;
    return is_read(call) ? call->client->http : call->client->writes;
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
    client->requests++;
    call_stop_timer(call);
    call_set_state(call, CALL_SENT);
    call->http = http_send(connections(call),
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
                                                  .on_data = call->on_data ? http_data : NULL},
                           http_done, call);
}

static void unready_too_long(void *arg)
{
    struct kube_call *call = arg;

    call->timer = NULL;
    call_fail(call, ERR_RETRY, "timed out while waiting for the credential plugin");
}

/* Its place in the rate limit or its back-off is behind it: sends it as soon as there are
 * credentials. */
static void call_advance(struct kube_call *call)
{
    struct credentials_view view = {0};
    struct errinfo why = {0};

    switch (credentials_get(call->client->credentials, &view, &why)) {
    case CREDENTIALS_READY:
        call_send(call, &view);
        break;
    case CREDENTIALS_PENDING:
        call_set_state(call, CALL_UNREADY);
        if (call->timeout_ms)
            call_timer(call, time_left(call) > 0 ? time_left(call) : 0, unready_too_long);
        break;
    case CREDENTIALS_FAILED:
        call_fail(call, ERR_DENIED, why.text);
        break;
    }
}

static void on_turn(void *arg)
{
    struct kube_call *call = arg;

    call_stop_timer(call);
    call_advance(call);
}

static void limited_too_long(void *arg)
{
    struct kube_call *call = arg;

    call->timer = NULL;
    limiter_leave(&call->client->limiter, &call->place);
    call_fail(call, ERR_RETRY, "timed out while waiting for the rate limit");
}

static enum limiter_urgency urgency(const struct kube_call *call)
{
    if (call->only_tells)
        return LIMITER_TELL;
    return is_read(call) ? LIMITER_READ : LIMITER_WRITE;
}

static void advance_now(void *arg)
{
    struct kube_call *call = arg;

    call->timer = NULL;
    call_advance(call);
}

static void credentials_changed(void *arg)
{
    struct kube_client *client = arg;

    /* call_advance() never frees a call, nor calls its owner. */
    for (struct kube_call *call = client->calls; call; call = call->next)
        if (call->state == CALL_UNREADY)
            call_advance(call);
}

/* True when what happened allows to send it again: see the head of client.h. */
static bool may_repeat(const struct kube_call *call, const struct http_result *result)
{
    if (call->on_data || call->cancelled || call->err != ERR_RETRY ||
        call->attempts >= MAX_ATTEMPTS)
        return false;
    if (is_read(call))
        return true;
    return result->err == ERR_OK ? result->status == 429 : !result->sent;
}

/* True when it will be sent again. */
static bool call_repeat(struct kube_call *call, const struct http_result *result)
{
    if (!may_repeat(call, result))
        return false;
    int64_t wait = backoff_next(&call->backoff, call->info.retry_after_ms);
    if (call->timeout_ms && wait >= time_left(call))
        return false;
    call_set_state(call, CALL_BACKOFF);
    call_timer(call, wait, advance_now);
    return true;
}

/* The body of a reply as a tree; NULL when there is none or it is no JSON. */
static struct json_object *read_body(struct kube_call *call, const struct http_result *result,
                                     struct errinfo *ei)
{
    struct json_object *body = NULL;
    enum reply_use use = REPLY_PASSES;

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
        use = is_read(call) ? REPLY_ASKS : REPLY_STAYS; /* a write is done, there is no way back */
    if (reply_parse(call->arena, result->body, result->body_len, use, &body, &call->shape, ei) !=
        ERR_OK)
        return NULL;
    return body;
}

/* An outline of what was asked for whole is an error, but for a page of a watch. */
static void judge_shape(struct kube_call *call)
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
static struct json_object *call_judge(struct kube_call *call, const struct http_result *result)
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
    if (call->err == ERR_OK && bad.text[0] && !call->raw)
        call->err = err_set(&call->info, ERR_INVALID, "%s: the answer is not JSON: %s",
                            call->wire.label, bad.text);
    if (call->err == ERR_OK)
        judge_shape(call);
    call->info.status = result->status;
    return body;
}

static void count_reply(const struct kube_call *call, const struct http_result *result)
{
    char code[8] = "none";

    if (result->err == ERR_OK || result->status > 0)
        snprintf(code, sizeof(code), "%d", result->status);
    expo_add(&requests_total, 1, call->wire.method, code);
}

static void http_done(void *arg, const struct http_result *result)
{
    struct kube_call *call = arg;

    call->http = NULL;
    if (call->reported) { /* the client has gone meanwhile */
        call_free(call);
        return;
    }
    count_reply(call, result);
    struct json_object *body = call_judge(call, result);
    if (call->info.status == 401 && !call->refreshed && !call->cancelled &&
        credentials_refused(call->client->credentials, call->generation)) {
        call->refreshed = true;
        call_advance(call);
        return;
    }
    if (call_repeat(call, result))
        return;
    if (call->cancelled)
        call->err =
            err_set(&call->info, ERR_CANCELLED, "%s: cancelled by the caller", call->wire.label);
    call_set_state(call, CALL_ENDING);
    call_finish(call, result->status, body);
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
        .http = http,
        .config = config,
        .user_agent = heap_strdup(o->user_agent ? o->user_agent : "flagger-c/" FLAGGER_VERSION),
        .writes = http_client_new(loop, NULL),
        .tells = http_client_new(loop, &(struct http_client_options){.max_per_host = 2}),
        .apart = http_client_new(loop, &(struct http_client_options){.max_per_host = 4}),
    };
    client->credentials = credentials_new(loop, config, credentials_changed, client);
    limiter_init(&client->limiter, loop, o->qps > 0 ? o->qps : 100, o->burst > 0 ? o->burst : 250);
    expo_register(&requests_total);
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
        if (call->state == CALL_LIMITED)
            limiter_leave(&client->limiter, &call->place);
        call->err =
            err_set(&call->info, ERR_CANCELLED, "%s: the client is closed", call->wire.label);
        call_report(call, 0, NULL);
        if (http)
            http_cancel(http); /* http_done() frees the call */
        else
            call_free(call);
    }
    limiter_fini(&client->limiter);
    http_client_free(client->writes);
    http_client_free(client->tells);
    http_client_free(client->apart);
    credentials_free(client->credentials);
    free(client->user_agent);
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
        .apart = request->no_limit,
        .only_tells = request->only_tells,
        .keeps = request->keeps,
        .raw = request->raw_path != NULL,
        .backoff = {.min_ms = BACKOFF_MIN_MS, .max_ms = BACKOFF_MAX_MS},
    };
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
    enum err err = request_build(call->arena, client->config->server, request, &call->wire, &why);
    /* Sent from a done callback that kube_client_free() calls: it ends by itself, after the client.
     */
    if (client->freeing)
        err = err_set(&why, ERR_CANCELLED, "the client is closed");
    else
        call_link(call);
    if (err != ERR_OK) {
        call_fail(call, err, why.text);
        return call;
    }
    if (call->apart || call->on_data ||
        limiter_enter(&client->limiter, &call->place, urgency(call), on_turn, call)) {
        call_advance(call);
        return call;
    }
    call_set_state(call, CALL_LIMITED);
    call_timer(call, call->timeout_ms, limited_too_long);
    return call;
}

void kube_cancel(struct kube_call *call)
{
    if (call->cancelled || call->state == CALL_ENDING)
        return;
    call->cancelled = true;
    if (call->state == CALL_SENT) {
        http_cancel(call->http); /* http_done() ends it */
        return;
    }
    if (call->state == CALL_LIMITED)
        limiter_leave(&call->client->limiter, &call->place);
    call_fail(call, ERR_CANCELLED, "cancelled by the caller");
}

uint64_t kube_client_requests(const struct kube_client *client)
{
    return client->requests;
}

struct watch_gate *kube_client_gate(struct kube_client *client)
{
    return &client->gate;
}

void kube_client_look(const struct kube_client *client, struct kube_client_look *out)
{
    const struct limiter *limiter = &client->limiter;

    *out = (struct kube_client_look){
        .per_second = limiter->limit.per_ms * 1000,
        .burst = limiter->limit.burst,
        .tokens = rate_limit_level(&limiter->limit, clock_monotonic_ms()),
        .writes_waiting = limiter->waiting[LIMITER_WRITE],
        .reads_waiting = limiter->waiting[LIMITER_READ],
        .tells_waiting = limiter->waiting[LIMITER_TELL],
        .reads = http_client_active(client->http),
        .writes = http_client_active(client->writes),
        .tells = http_client_active(client->tells),
        .leases = http_client_active(client->apart),
        .listing = client->gate.listing,
    };
}
