#include "engine/hook_call.h"

#include <string.h>

#include "base/log.h"
#include "proto/spechash.h"
#include "proto/webhook.h"

enum { MAX_ANSWER = 64 * 1024, FIRST_WAIT_MS = 1000, MAX_WAIT_MS = 30000, MAX_REDIRECTS = 10 };

struct hook_call {
    struct arena *arena;
    struct engine_context *context;
    struct canary_webhook webhook;
    const char *body;
    hook_done_fn done;
    void *arg;
    int attempts;
    struct http_call *http;
    struct timer *timer;
    bool cancelled;
};

static void send_once(void *arg);

static void hook_call_free(struct hook_call *call)
{
    timer_stop(call->timer);
    arena_free(call->arena);
}

static bool passes(int status)
{
    return (status >= 200 && status <= 202) || status == 204;
}

static bool worth_repeating(const struct http_result *result)
{
    if (result->err != ERR_OK)
        return result->err == ERR_RETRY;
    return result->status == 429 || (result->status >= 500 && result->status != 501);
}

static int64_t wait_ms(const struct hook_call *call, const struct http_result *result)
{
    if (result->err == ERR_OK && result->retry_after_ms > 0 &&
        (result->status == 429 || result->status == 503))
        return result->retry_after_ms < MAX_WAIT_MS ? result->retry_after_ms : MAX_WAIT_MS;
    int64_t wait = FIRST_WAIT_MS;
    for (int i = 1; i < call->attempts && wait < MAX_WAIT_MS; i++)
        wait *= 2;
    return wait < MAX_WAIT_MS ? wait : MAX_WAIT_MS;
}

/* The body tells why; without one the status does. Several attempts are told as Flagger tells them.
 */
static const char *answer_text(struct hook_call *call, const struct http_result *result,
                               bool passed)
{
    const char *text = result->err != ERR_OK ? result->info->text : result->body;
    if (result->err == ERR_OK && !passed && (!text || !*text))
        text = arena_printf(call->arena, "%s answered %d", call->webhook.url, result->status);
    if (!passed && call->attempts > 1)
        text = arena_printf(call->arena, "POST %s giving up after %d attempt(s): %s",
                            call->webhook.url, call->attempts, text);
    return text ? text : "";
}

static void on_reply(void *arg, const struct http_result *result)
{
    struct hook_call *call = arg;
    call->http = NULL;
    if (call->cancelled) {
        hook_call_free(call);
        return;
    }
    bool passed = result->err == ERR_OK && passes(result->status);
    if (!passed && worth_repeating(result) && call->attempts <= call->webhook.retries) {
        log_warn("webhook_retried", NULL, "a webhook failed and is called again",
                 LOG_STR("hook", call->webhook.name), LOG_INT("status", result->status));
        call->timer = timer_start(call->context->loop, wait_ms(call, result), 0, send_once, call);
        return;
    }
    struct hook_answer answer = {.passed = passed, .text = answer_text(call, result, passed)};
    call->done(call->arg, &answer);
    hook_call_free(call);
}

static void send_once(void *arg)
{
    struct hook_call *call = arg;
    call->timer = NULL;
    call->attempts++;
    static const struct http_header headers[] = {{"Content-Type", "application/json"},
                                                 {NULL, NULL}};
    struct http_tls tls = {.insecure = call->webhook.disable_tls};
    struct http_request request = {
        .method = "POST",
        .url = call->webhook.url,
        .headers = headers,
        .body = call->body,
        .body_len = strlen(call->body),
        .tls = &tls,
        .timeout_ms = call->webhook.timeout_ms,
        .max_body = MAX_ANSWER,
        .max_redirects = MAX_REDIRECTS,
    };
    call->http = http_send(call->context->http, &request, on_reply, call);
}

struct hook_call *hook_call_start(struct engine_context *context,
                                  const struct canary_webhook *webhook, const char *body,
                                  hook_done_fn done, void *arg)
{
    struct arena *arena = arena_new();
    struct hook_call *call = ARENA_NEW(arena, struct hook_call);
    *call = (struct hook_call){.arena = arena,
                               .context = context,
                               .webhook = *webhook,
                               .body = arena_strdup(arena, body),
                               .done = done,
                               .arg = arg};
    call->webhook.name = arena_strdup(arena, webhook->name);
    call->webhook.url = arena_strdup(arena, webhook->url);
    call->webhook.metadata = NULL;
    send_once(call);
    return call;
}

void hook_call_cancel(struct hook_call *call)
{
    if (!call)
        return;
    if (call->http) {
        call->cancelled = true; /* on_reply comes and frees */
        http_cancel(call->http);
        return;
    }
    hook_call_free(call);
}

const char *hook_body(struct arena *arena, const struct canary *canary,
                      const struct canary_webhook *webhook, enum phase phase)
{
    char checksum[SPECHASH_TEXT];
    spechash_checksum(arena, canary->status.tracked_configs, canary->status.last_applied_spec,
                      checksum);
    struct webhook_message message = {
        .name = canary->name,
        .namespace_ = canary->namespace_,
        .phase = phase_name(phase),
        .checksum = checksum,
        .metadata = webhook->metadata,
    };
    return webhook_text(arena, &message);
}
