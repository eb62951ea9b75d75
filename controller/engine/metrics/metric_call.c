#include "engine/metrics/metric_share.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "metric/backend.h"

/* SHORTLY_MS: a reply that would expire before the answer arrives, by either clock, is not used. */
enum { MOST = 256, SHORTLY_MS = 60000, KEY_SIZE = SHA256_TEXT };

struct item {
    char key[KEY_SIZE];
    char *url, *body;
    int64_t until_ms; /* monotonic */
};

struct metric_kept {
    struct table items;
};

static void key_of(const void *item, const char **first, const char **second)
{
    *first = ((const struct item *)item)->key;
    *second = NULL;
}

/* Hashes everything that the reply was issued for. */
static void write_key(const struct metric_question *question, char out[KEY_SIZE])
{
    struct arena *arena = arena_new();
    struct json_object *secret = json_at(question->secret, "data", NULL);
    const char *text =
        arena_printf(arena, "%s\n%s\n%s\n%s", question->backend,
                     question->ambient ? json_text_sorted(arena, question->ambient) : "",
                     question->spec ? json_text_sorted(arena, question->spec) : "",
                     secret ? json_text_sorted(arena, secret) : "");

    (void)sha256_hex(text, strlen(text), out);
    arena_free(arena);
}

static void item_free(struct item *item)
{
    OPENSSL_cleanse(item->body, strlen(item->body));
    free(item->url);
    free(item->body);
    free(item);
}

static void drop(struct metric_kept *kept, const char *key)
{
    struct item *item = table_take(&kept->items, key, NULL);

    if (item)
        item_free(item);
}

struct metric_kept *metric_kept_new(void)
{
    struct metric_kept *kept = heap_alloc(sizeof(*kept));

    *kept = (struct metric_kept){.items = {.key = key_of}};
    return kept;
}

void metric_kept_free(struct metric_kept *kept)
{
    struct item *item;

    if (!kept)
        return;
    for (size_t i = 0; (item = table_next(&kept->items, &i));)
        item_free(item);
    table_fini(&kept->items);
    free(kept);
}

/*
 * Finds the reply for a query of the same provider with the same credentials, in the arena. False
 * if none.
 */
static bool metric_kept_find(struct metric_kept *kept, struct arena *arena,
                             const struct metric_question *question, struct metric_kept_reply *out)
{
    char key[KEY_SIZE];

    write_key(question, key);
    const struct item *item = table_get(&kept->items, key, NULL);
    if (!item)
        return false;
    if (item->until_ms <= clock_monotonic_ms()) {
        drop(kept, key);
        return false;
    }
    *out = (struct metric_kept_reply){.url = arena_strdup(arena, item->url),
                                      .body = arena_strdup(arena, item->body)};
    return true;
}

/* Evicts the reply that expires first. */
static void make_room(struct metric_kept *kept)
{
    struct item *item, *first = NULL;

    if (kept->items.count < MOST)
        return;
    for (size_t i = 0; (item = table_next(&kept->items, &i));) {
        if (!first || item->until_ms < first->until_ms)
            first = item;
    }
    drop(kept, first->key);
}

/* lasts_ms: from now. A short-lived reply is not cached. */
static void metric_kept_put(struct metric_kept *kept, const struct metric_question *question,
                            const struct metric_kept_reply *reply, int64_t lasts_ms)
{
    if (lasts_ms <= SHORTLY_MS)
        return;
    struct item *item = heap_alloc(sizeof(*item));
    *item = (struct item){.url = heap_strdup(reply->url),
                          .body = heap_strdup(reply->body),
                          .until_ms = clock_monotonic_ms() + lasts_ms - SHORTLY_MS};
    write_key(question, item->key);
    drop(kept, item->key);
    make_room(kept);
    (void)table_put(&kept->items, item);
}

static void metric_kept_forget(struct metric_kept *kept, const struct metric_question *question)
{
    char key[KEY_SIZE];

    write_key(question, key);
    drop(kept, key);
}

enum { MAX_REDIRECTS = 10, MAX_STEPS = 32, TIMEOUT_MS = 10000, MAX_AMBIENT = 64 * 1024 };

struct metric_call {
    const struct metric_ways *ways;
    struct arena *arena;
    struct metric_question question;
    const struct metric_backend *backend;
    int64_t now_ms;
    struct metric_request request; /* the current one */
    struct http_call *http;
    struct kube_call *api; /* instead of http */
    struct timer *pause;   /* delay between two requests, as the server asked */
    int redirects, steps;
    bool refused;    /* the first request failed: no answer so far */
    bool by_kept;    /* started from a cached reply */
    int64_t left_ms; /* for all requests together */
    int64_t sent_ms; /* of the current request, monotonic */
    metric_done_fn done;
    void *arg;
    bool freed;
};

static struct metric_answer failure(const char *text)
{
    return (struct metric_answer){.outcome = METRIC_ERROR, .text = text};
}

/* Nothing can be asked as long as template, Secret and network stay the same. */
static struct metric_answer unreachable(const char *text)
{
    return (struct metric_answer){.outcome = METRIC_ERROR, .text = text, .unreachable = true};
}

/* The server, or a proxy before it, rejects these credentials. */
static bool is_denied(int status)
{
    return status == 401 || status == 403 || status == 407;
}

/* --- through the API server */

static struct kube_call *send_to_api(const struct metric_ways *ways, struct arena *arena,
                                     const struct http_request *request, kube_done_fn done,
                                     void *arg)
{
    struct kube_request api = {.verb = KUBE_GET,
                               .raw_path = request->url,
                               .on_behalf = request->owner,
                               .timeout_ms = request->timeout_ms,
                               .may_send = ways->may_write,
                               .may_send_arg = ways->may_write_arg};

    if (strcmp(request->method, "GET") == 0)
        api.may_send = NULL;
    else
        api.verb = strcmp(request->method, "POST") == 0 ? KUBE_CREATE : KUBE_DELETE;
    if (request->body) {
        struct errinfo info;
        enum err err =
            json_parse(arena, request->body, request->body_len, JSON_MAX_BYTES, &api.body, &info);
        assert(err == ERR_OK && "what a backend sends to the API server is JSON");
    }
    return kube_send(ways->kube, &api, done, arg);
}

static void on_ended(void *arg, const struct kube_result *result)
{
    (void)arg;
    if (result->err != ERR_OK && result->err != ERR_NOT_FOUND && result->err != ERR_CANCELLED)
        log_warn("metric_not_ended", NULL, result->info->text);
}

/* Called once, when the call is complete or no longer wanted. */
static void send_end(struct metric_call *call)
{
    struct metric_request request;

    if (!call->backend->end || call->refused ||
        !call->backend->end(call->arena, &call->question, call->now_ms, &request))
        return;
    assert(request.to == METRIC_TO_API);
    (void)send_to_api(call->ways, call->arena, &request.http, on_ended, NULL);
}

static void finish(struct metric_call *call, struct metric_answer answer)
{
    send_end(call);
    call->done(call->arg, &answer);
    free(call);
}

/* Redirects of a POST and of a provider's fixed host are not followed. */
static bool is_redirect(const struct metric_request *request, const struct http_result *result)
{
    int status = result->status;

    return result->redirect_url && !request->http.body && request->to == METRIC_TO_ADDRESS &&
           (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

static bool may_know(const char *from, const char *to)
{
    bool weaker = strncasecmp(from, "https:", 6) == 0 && strncasecmp(to, "https:", 6) != 0;

    return !weaker && url_same_host(from, to);
}

static void on_answer(void *arg, const struct http_result *result);

/* Converts a reply of the API server into an HTTP result. */
static void on_api_answer(void *arg, const struct kube_result *result)
{
    struct metric_call *call = arg;
    const char *body = result->body ? json_text(call->arena, result->body) : "";
    bool unlike = result->err == ERR_OK && !result->body && result->info->text[0];
    const struct http_result reply = {.err = unlike ? ERR_INVALID : result->err,
                                      .info = result->info,
                                      .status = result->status,
                                      .body = body,
                                      .body_len = strlen(body),
                                      .content_type = "",
                                      .elapsed_ms = clock_monotonic_ms() - call->sent_ms,
                                      .sent = true};

    call->api = NULL;
    on_answer(call, &reply);
}

static void send_request(struct metric_call *call)
{
    struct http_request *http = &call->request.http;

    const char *address = call->question.address, *own = call->ways->own_address;

    /* A redirect may lead anywhere; a request that the template makes itself may do anything. */
    http->own_address = call->request.to != METRIC_TO_ADDRESS ||
                        (own && address && call->redirects == 0 && !call->backend->own_request &&
                         strcmp(address, own) == 0);
    http->timeout_ms = call->left_ms;
    http->owner = call->question.owner;
    call->sent_ms = clock_monotonic_ms();
    if (call->request.to == METRIC_TO_API)
        call->api = send_to_api(call->ways, call->arena, http, on_api_answer, call);
    else
        call->http = http_send(call->ways->http, http, on_answer, call);
}

static void follow(struct metric_call *call, const struct http_result *result)
{
    const char *url = arena_strdup(call->arena, result->redirect_url);

    call->left_ms -= result->elapsed_ms;
    if (++call->redirects > MAX_REDIRECTS) {
        finish(call, failure(arena_printf(call->arena, "request failed: stopped after %d redirects",
                                          MAX_REDIRECTS)));
        return;
    }
    if (call->left_ms <= 0) {
        finish(call, failure("request failed: its redirects took too long"));
        return;
    }
    if (!may_know(call->request.http.url, url))
        call->request.http.headers = NULL;
    call->request.http.url = url;
    send_request(call);
}

static void after_pause(void *arg)
{
    struct metric_call *call = arg;

    call->pause = NULL;
    send_request(call);
}

/* --- series of requests */

static void proceed(struct metric_call *call, const struct metric_step *step)
{
    if (++call->steps > MAX_STEPS || call->left_ms <= step->pause_ms) {
        finish(call, failure(step->late ? step->late
                                        : "request failed: what comes before the query took too "
                                          "long"));
        return;
    }
    call->left_ms -= step->pause_ms;
    if (step->pause_ms > 0)
        call->pause = timer_start(call->ways->loop, step->pause_ms, 0, after_pause, call);
    else
        send_request(call);
}

static void keep(struct metric_call *call, const char *url, const struct http_result *result)
{
    const struct metric_kept_reply reply = {.url = url, .body = result->body};

    if (call->ways->kept && call->backend->lasts)
        metric_kept_put(call->ways->kept, &call->question, &reply,
                        call->backend->lasts(call->arena, call->now_ms, result));
}

/* Continues from a cached reply if there is one. */
static void use_kept(struct metric_call *call)
{
    struct metric_kept_reply reply;
    struct metric_step step = {.more = false};
    struct errinfo info;

    if (!call->ways->kept || !call->backend->lasts ||
        !metric_kept_find(call->ways->kept, call->arena, &call->question, &reply))
        return;
    struct metric_request request = {.http = {.method = "GET", .url = reply.url}};
    const struct http_result result = {
        .status = 200, .body = reply.body, .body_len = strlen(reply.body), .content_type = ""};
    call->by_kept = call->backend->next(call->arena, &call->question, call->now_ms, &result,
                                        &request, &step, &info) == ERR_OK &&
                    step.more;
    if (call->by_kept)
        call->request = request;
}

/* The cached reply is no longer accepted: starts from the beginning. */
static bool begin_anew(struct metric_call *call, const struct http_result *result)
{
    struct errinfo info;

    if (!call->by_kept || call->left_ms <= 0 || !is_denied(result->status))
        return false;
    call->by_kept = false;
    metric_kept_forget(call->ways->kept, &call->question);
    if (call->backend->request(call->arena, &call->question, call->now_ms, &call->request, &info) !=
        ERR_OK)
        return false;
    send_request(call);
    return true;
}

/*
 * A step before the query, such as a token request, has failed: a refusal is final, a busy or
 * broken server is retried.
 */
static void finish_next(struct metric_call *call, enum err err, const struct http_result *result,
                        const struct errinfo *info)
{
    bool passes = result->status == 429 || result->status >= 500;
    const char *text = arena_strdup(call->arena, info->text);

    finish(call, err == ERR_DENIED && !passes ? unreachable(text) : failure(text));
}

/* Sends the next request, or ends with the answer. */
static void go_on(struct metric_call *call, const struct http_result *result)
{
    const struct metric_backend *backend = call->backend;
    const char *url = call->request.http.url;
    struct metric_step step = {.more = false};
    struct errinfo info = {0};
    enum err err = ERR_OK;

    if (backend->next)
        err = backend->next(call->arena, &call->question, call->now_ms, result, &call->request,
                            &step, &info);
    call->left_ms -= result->elapsed_ms;
    if (err != ERR_OK) {
        finish_next(call, err, result, &info);
    } else if (step.more) {
        keep(call, url, result);
        proceed(call, &step);
    } else if (!begin_anew(call, result)) {
        struct metric_answer answer = backend->answer(call->arena, &call->question, result);
        answer.unreachable = answer.outcome == METRIC_ERROR && is_denied(result->status);
        finish(call, answer);
    }
}

/* The server is overloaded and says when to retry. */
static bool is_busy(const struct http_result *result)
{
    return (result->status == 429 || result->status == 503) && result->retry_after_ms > 0;
}

/* Waits if there is time: rate limiting is no failed check of a revision. */
static bool wait_and_ask_again(struct metric_call *call, const struct http_result *result)
{
    int64_t left = call->left_ms - result->elapsed_ms;

    if (!is_busy(result) || result->retry_after_ms >= left)
        return false;
    call->left_ms = left - result->retry_after_ms;
    call->pause = timer_start(call->ways->loop, result->retry_after_ms, 0, after_pause, call);
    return true;
}

/* For a call without a reply. A slow server is not included. */
static bool is_configured_wrongly(const struct http_result *result)
{
    return result->unconnected || result->no_room || result->err == ERR_DENIED ||
           (result->err == ERR_INVALID && !result->sent);
}

static void fail(struct metric_call *call, const struct http_result *result)
{
    const char *text = arena_strdup(call->arena, result->info->text);

    call->refused = call->steps == 0 && result->err != ERR_RETRY;
    finish(call, is_configured_wrongly(result) ? unreachable(text) : failure(text));
}

static void on_answer(void *arg, const struct http_result *result)
{
    struct metric_call *call = arg;

    call->http = NULL;
    if (call->freed)
        free(call);
    else if (result->err != ERR_OK)
        fail(call, result);
    else if (is_redirect(&call->request, result))
        follow(call, result);
    else if (!wait_and_ask_again(call, result))
        go_on(call, result);
}

static const char *ambient_value(struct arena *arena, const struct metric_ambient *ambient)
{
    const char *value = getenv(ambient->variable);
    char *content;
    size_t len;
    struct errinfo info;

    if (!value || !*value)
        return NULL;
    if (!ambient->file)
        return value;
    if (file_read(arena, value, MAX_AMBIENT, &content, &len, &info) == ERR_OK)
        return content;
    log_warn("metric_credentials_unread", NULL, info.text, LOG_STR("variable", ambient->variable));
    return NULL;
}

/*
 * Uses the ambient credentials with the address of the question only: a tenant that writes an
 * address must not receive them.
 */
static void add_ambient(struct arena *arena, const struct metric_backend *backend,
                        struct metric_question *asked)
{
    asked->ambient = json_own(arena, json_object_new_object());
    asked->address = NULL;
    for (const struct metric_ambient *at = backend->ambient; at->variable; at++) {
        const char *value = ambient_value(arena, at);
        if (value)
            json_set_str(asked->ambient, at->variable, value);
    }
}

struct metric_call *metric_call_start(const struct metric_ways *ways, struct arena *arena,
                                      const struct metric_question *question, int64_t now_ms,
                                      metric_done_fn done, void *arg, struct metric_answer *at_once)
{
    const struct metric_backend *backend = metric_backend_find(question->backend);
    struct metric_question asked = *question;
    struct metric_request request = {0};
    struct errinfo info = {0};

    if (!backend) {
        *at_once = failure(arena_printf(arena, "metric provider \"%s\" is not known",
                                        question->backend ? question->backend : ""));
        return NULL;
    }
    if (metric_backend_is_ambient(backend, question->secret))
        add_ambient(arena, backend, &asked);
    if (backend->request(arena, &asked, now_ms, &request, &info) != ERR_OK) {
        *at_once = unreachable(arena_strdup(arena, info.text));
        return NULL;
    }
    struct metric_call *call = heap_alloc(sizeof(*call));
    *call = (struct metric_call){.ways = ways,
                                 .arena = arena,
                                 .question = asked,
                                 .backend = backend,
                                 .now_ms = now_ms,
                                 .request = request,
                                 .left_ms = request.http.timeout_ms > 0 ? request.http.timeout_ms
                                                                        : TIMEOUT_MS,
                                 .done = done,
                                 .arg = arg};
    use_kept(call);
    send_request(call);
    return call;
}

void metric_call_free(struct metric_call *call)
{
    if (!call)
        return;
    call->freed = true;
    send_end(call);
    if (call->pause) {
        timer_stop(call->pause);
        free(call);
    } else if (call->api)
        kube_cancel(call->api); /* on_answer frees it */
    else
        http_cancel(call->http);
}
