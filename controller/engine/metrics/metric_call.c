#include "engine/metrics/metric_call.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "metric/backend.h"

enum { MAX_REDIRECTS = 10, MAX_STEPS = 5, TIMEOUT_MS = 10000, MAX_AMBIENT = 64 * 1024 };

struct metric_call {
    const struct metric_ways *ways;
    struct arena *arena;
    struct metric_question question;
    const struct metric_backend *backend;
    int64_t now_ms;
    struct http_request request; /* the one under way */
    struct http_call *http;
    struct kube_call *api; /* instead of http */
    struct timer *pause;   /* between two of them: the server asked for it */
    int redirects, steps;
    int64_t left_ms; /* for all of them together */
    metric_done_fn done;
    void *arg;
    bool freed;
};

static struct metric_answer failure(const char *text)
{
    return (struct metric_answer){.outcome = METRIC_ERROR, .text = text};
}

static void finish(struct metric_call *call, struct metric_answer answer)
{
    call->done(call->arg, &answer);
    free(call);
}

/* What was posted is not taken elsewhere. */
static bool is_redirect(const struct http_request *request, const struct http_result *result)
{
    int status = result->status;

    return result->redirect_url && !request->body &&
           (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

static bool may_know(const char *from, const char *to)
{
    bool weaker = strncasecmp(from, "https:", 6) == 0 && strncasecmp(to, "https:", 6) != 0;

    return !weaker && url_same_host(from, to);
}

static void on_answer(void *arg, const struct http_result *result);

/* A reply of the API server, as if it had come by HTTP. */
static void on_api_answer(void *arg, const struct kube_result *result)
{
    struct metric_call *call = arg;
    const char *body = result->body ? json_text(call->arena, result->body) : "";
    const struct http_result reply = {.err = result->err,
                                      .info = result->info,
                                      .status = result->status,
                                      .body = body,
                                      .body_len = strlen(body),
                                      .content_type = ""};

    call->api = NULL;
    on_answer(call, &reply);
}

static void send_request(struct metric_call *call)
{
    const struct kube_request api = {
        .verb = KUBE_GET, .raw_path = call->request.url, .timeout_ms = call->left_ms};

    call->request.timeout_ms = call->left_ms;
    if (call->request.url[0] == '/')
        call->api = kube_send(call->ways->kube, &api, on_api_answer, call);
    else
        call->http = http_send(call->ways->http, &call->request, on_answer, call);
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
    if (!may_know(call->request.url, url))
        call->request.headers = NULL;
    call->request.url = url;
    send_request(call);
}

/* The next of several requests, or the answer. */
static void go_on(struct metric_call *call, const struct http_result *result)
{
    const struct metric_backend *backend = call->backend;
    struct errinfo info = {0};
    bool more = false;
    enum err err = ERR_OK;

    if (backend->next)
        err = backend->next(call->arena, &call->question, call->now_ms, result, &call->request,
                            &more, &info);
    call->left_ms -= result->elapsed_ms;
    if (err != ERR_OK)
        finish(call, failure(arena_strdup(call->arena, info.text)));
    else if (!more)
        finish(call, backend->answer(call->arena, &call->question, result));
    else if (++call->steps > MAX_STEPS || call->left_ms <= 0)
        finish(call, failure("request failed: what comes before the query took too long"));
    else
        send_request(call);
}

static void after_pause(void *arg)
{
    struct metric_call *call = arg;

    call->pause = NULL;
    send_request(call);
}

/* It has too much to do, and says when it may be asked again. */
static bool is_busy(const struct http_result *result)
{
    return (result->status == 429 || result->status == 503) && result->retry_after_ms > 0;
}

/* Waited for when there is time; what is asked too often is no failed check of a revision. */
static bool wait_and_ask_again(struct metric_call *call, const struct http_result *result)
{
    int64_t left = call->left_ms - result->elapsed_ms;

    if (!is_busy(result) || result->retry_after_ms >= left)
        return false;
    call->left_ms = left - result->retry_after_ms;
    call->pause = timer_start(call->ways->loop, result->retry_after_ms, 0, after_pause, call);
    return true;
}

static void on_answer(void *arg, const struct http_result *result)
{
    struct metric_call *call = arg;

    call->http = NULL;
    if (call->freed)
        free(call);
    else if (result->err != ERR_OK)
        finish(call, failure(arena_strdup(call->arena, result->info->text)));
    else if (is_redirect(&call->request, result))
        follow(call, result);
    else if (!wait_and_ask_again(call, result))
        go_on(call, result);
}

static struct json_object *ambient_value(struct arena *arena, const struct metric_ambient *ambient)
{
    const char *value = getenv(ambient->variable);
    char *content;
    size_t len;
    struct errinfo info;

    if (!value || !*value)
        return NULL;
    if (!ambient->file)
        return json_object_new_string(base64_encode(arena, value, strlen(value)));
    if (file_read(arena, value, MAX_AMBIENT, &content, &len, &info) == ERR_OK)
        return json_object_new_string(base64_encode(arena, content, len));
    log_warn("metric_credentials_unread", NULL, info.text, LOG_STR("variable", ambient->variable));
    return NULL;
}

/*
 * The Secret with what the process itself has been given. All of it or nothing: one who writes some
 * of the keys must not be able to send the others where he likes.
 */
static struct json_object *with_ambient(struct arena *arena, const struct metric_ambient *ambient,
                                        struct json_object *secret)
{
    for (const struct metric_ambient *at = ambient; at->variable; at++) {
        if (json_at(secret, "data", at->key, NULL))
            return secret;
    }
    struct json_object *all = json_dup(secret);
    if (!all)
        all = json_object_new_object();
    json_own(arena, all);
    for (const struct metric_ambient *at = ambient; at->variable; at++) {
        struct json_object *value = ambient_value(arena, at);
        if (value)
            json_object_object_add(json_sub(all, "data"), at->key, value);
    }
    return all;
}

struct metric_call *metric_call_start(const struct metric_ways *ways, struct arena *arena,
                                      const struct metric_question *question, int64_t now_ms,
                                      metric_done_fn done, void *arg, struct metric_answer *at_once)
{
    const struct metric_backend *backend = metric_backend_find(question->backend);
    struct metric_question asked = *question;
    struct http_request request = {0};
    struct errinfo info = {0};

    if (!backend) {
        *at_once = failure(arena_printf(arena, "metric provider \"%s\" is not known",
                                        question->backend ? question->backend : ""));
        return NULL;
    }
    if (backend->ambient)
        asked.secret = with_ambient(arena, backend->ambient, question->secret);
    if (backend->request(arena, &asked, now_ms, &request, &info) != ERR_OK) {
        *at_once = failure(arena_strdup(arena, info.text));
        return NULL;
    }
    struct metric_call *call = heap_alloc(sizeof(*call));
    *call =
        (struct metric_call){.ways = ways,
                             .arena = arena,
                             .question = asked,
                             .backend = backend,
                             .now_ms = now_ms,
                             .request = request,
                             .left_ms = request.timeout_ms > 0 ? request.timeout_ms : TIMEOUT_MS,
                             .done = done,
                             .arg = arg};
    send_request(call);
    return call;
}

void metric_call_free(struct metric_call *call)
{
    if (!call)
        return;
    call->freed = true;
    if (call->pause) {
        timer_stop(call->pause);
        free(call);
    } else if (call->api)
        kube_cancel(call->api); /* on_answer comes and frees */
    else
        http_cancel(call->http);
}
