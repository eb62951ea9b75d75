#include "engine/metric_call.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "metric/backend.h"

enum { MAX_REDIRECTS = 10, TIMEOUT_MS = 10000 };

struct metric_call {
    struct engine_context *context;
    struct arena *arena;
    const struct metric_question *question;
    const struct metric_backend *backend;
    struct http_request request; /* the one under way */
    struct http_call *http;
    int redirects;
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

static bool is_redirect(const struct http_result *result)
{
    int status = result->status;

    return result->redirect_url &&
           (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

static bool may_know(const char *from, const char *to)
{
    bool weaker = strncasecmp(from, "https:", 6) == 0 && strncasecmp(to, "https:", 6) != 0;

    return !weaker && url_same_host(from, to);
}

static void on_answer(void *arg, const struct http_result *result);

static void send_request(struct metric_call *call)
{
    call->request.timeout_ms = call->left_ms;
    call->http = http_send(call->context->http, &call->request, on_answer, call);
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

static void on_answer(void *arg, const struct http_result *result)
{
    struct metric_call *call = arg;

    call->http = NULL;
    if (call->freed)
        free(call);
    else if (result->err != ERR_OK)
        finish(call, failure(arena_strdup(call->arena, result->info->text)));
    else if (is_redirect(result))
        follow(call, result);
    else
        finish(call, call->backend->answer(call->arena, call->question, result));
}

struct metric_call *metric_call_start(struct engine_context *context, struct arena *arena,
                                      const struct metric_question *question, int64_t now_ms,
                                      metric_done_fn done, void *arg, struct metric_answer *at_once)
{
    const struct metric_backend *backend = metric_backend_find(question->backend);
    struct http_request request = {0};
    struct errinfo info = {0};

    if (!backend) {
        *at_once = failure(arena_printf(arena, "metric provider \"%s\" is not known",
                                        question->backend ? question->backend : ""));
        return NULL;
    }
    /* A question without a query asks only whether the backend answers. */
    enum err err = question->query ? backend->request(arena, question, now_ms, &request, &info)
                                   : backend->probe(arena, question, now_ms, &request, &info);
    if (err != ERR_OK) {
        *at_once = failure(arena_strdup(arena, info.text));
        return NULL;
    }
    struct metric_call *call = heap_alloc(sizeof(*call));
    *call =
        (struct metric_call){.context = context,
                             .arena = arena,
                             .question = question,
                             .backend = backend,
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
    http_cancel(call->http); /* on_answer comes and frees */
}
