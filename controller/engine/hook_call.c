#include "engine/hook_call.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/log.h"
#include "engine/cache.h"
#include "kube/secret.h"
#include "proto/webhook_message.h"
#include "proto/weight.h"

enum {
    MAX_ANSWER = 1024 * 1024,
    MAX_TOLD = 16 * 1024,
    ROOM_WAIT_MS = 2000,
    FIRST_WAIT_MS = 1000,
    MAX_WAIT_MS = 30000,
    MAX_REDIRECTS = 10
};

struct hook_call {
    struct arena *arena;
    struct engine_context *context;
    const char *namespace_;
    struct canary_webhook webhook;
    const char *body;
    struct secret_headers headers; /* from Secrets */
    int n_read;                    /* number of webhook.headers_from read */
    const char *ca_pem;            /* from the Secret of webhook.ca_secret */
    struct secret_read *read;
    const char *url; /* webhook.url, or the target of its redirect */
    int redirects;   /* during this attempt */
    hook_done_fn done;
    void *arg;
    int attempts;
    /* When the client first had no room for the answer, monotonic; 0 if never. */
    int64_t no_room_ms;
    struct http_call *http;
    struct timer *timer;
    bool freed;
};

static void send_once(void *arg);
static void send_request(struct hook_call *call);

static void destroy(struct hook_call *call)
{
    timer_stop(call->timer);
    arena_free(call->arena);
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

/* The path is the secret of chat services, and texts reach events and logs. */
static const char *shown_url(struct hook_call *call)
{
    return url_origin(call->arena, call->webhook.url);
}

/* The reason is the body, or otherwise the status. Several attempts are worded as in Flagger. */
static const char *answer_text(struct hook_call *call, const struct http_result *result,
                               bool passed)
{
    const char *text = result->err != ERR_OK ? result->info->text : result->body;
    if (result->err == ERR_OK && !passed && (!text || !*text))
        text = arena_printf(call->arena, "%s answered %d", shown_url(call), result->status);
    if (!passed && call->attempts > 1)
        text = arena_printf(call->arena, "POST %s giving up after %d attempt(s): %s",
                            shown_url(call), call->attempts, text);
    text = secret_headers_redact(&call->headers, call->arena, text ? text : "");
    size_t len = strlen(text);
    return len <= MAX_TOLD ? text : arena_strndup(call->arena, text, utf8_cut(text, MAX_TOLD));
}

static void end(struct hook_call *call, const struct hook_answer *answer)
{
    call->done(call->arg, answer);
    destroy(call);
}

static bool is_redirect(const struct http_result *result)
{
    int status = result->status;
    return result->err == ERR_OK && result->redirect_url &&
           (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

/* An upgrade from http to https on the same host is allowed, unless the headers are credentials. */
static bool leads_elsewhere(const struct hook_call *call, const char *to)
{
    static const char plain[] = "http:", safe[] = "https:";
    const char *from = call->webhook.url;
    bool upgrades = call->headers.count == 0 && strncasecmp(from, plain, strlen(plain)) == 0 &&
                    strncasecmp(to, safe, strlen(safe)) == 0 && url_same_host(from, to);

    return !upgrades && !url_same_origin(from, to);
}

/*
 * Only the host of the URL may answer a hook: another host may be reachable only from the
 * controller, such as the metadata service of a cloud. A sign-on proxy answers a POST with 302 to
 * its login page, which a GET fetches with 200: that is not an approval. NULL if the redirect
 * repeats the POST on the same host.
 */
static const char *no_answer(struct hook_call *call, const struct http_result *result)
{
    const char *to = result->redirect_url, *why = NULL;

    if (leads_elsewhere(call, to))
        why = "which is another host";
    else if (result->status <= 303)
        why = "where a GET would take the place of the POST, as a login page wants it";
    return why ? arena_printf(
                     call->arena,
                     "%s redirects with %d to %s, %s: no answer; expected one from url itself",
                     shown_url(call), result->status, url_origin(call->arena, to), why)
               : NULL;
}

static void follow(struct hook_call *call, const struct http_result *result)
{
    struct hook_answer answer = {.text = no_answer(call, result)};

    if (!answer.text && ++call->redirects > MAX_REDIRECTS)
        answer.text = arena_printf(call->arena, "%s redirects more than %d times", shown_url(call),
                                   (int)MAX_REDIRECTS);
    if (answer.text) {
        end(call, &answer);
        return;
    }
    call->url = arena_strdup(call->arena, result->redirect_url);
    send_request(call);
}

/* Lack of room in this process says nothing about the service: retry within the hook's own
 * time-out. */
static bool time_is_left(struct hook_call *call)
{
    int64_t now = clock_monotonic_ms();

    if (call->no_room_ms == 0)
        call->no_room_ms = now;
    return now - call->no_room_ms + ROOM_WAIT_MS < call->webhook.timeout_ms;
}

static void on_reply(void *arg, const struct http_result *result)
{
    struct hook_call *call = arg;
    call->http = NULL;
    if (call->freed) {
        destroy(call);
        return;
    }
    if (is_redirect(result)) {
        follow(call, result);
        return;
    }
    if (result->no_room && time_is_left(call)) {
        log_warn("webhook_without_room", NULL, result->info->text,
                 LOG_STR("hook", call->webhook.name));
        call->attempts--;
        call->timer = timer_start(call->context->loop, ROOM_WAIT_MS, 0, send_once, call);
        return;
    }
    bool passed = result->err == ERR_OK && webhook_passes(result->status);
    if (!passed && worth_repeating(result) && call->attempts <= call->webhook.retries) {
        log_warn("webhook_retried", NULL, "a webhook failed and is called again",
                 LOG_STR("hook", call->webhook.name), LOG_INT("status", result->status));
        call->timer = timer_start(call->context->loop, wait_ms(call, result), 0, send_once, call);
        return;
    }
    struct hook_answer answer = {.passed = passed, .text = answer_text(call, result, passed)};
    end(call, &answer);
}

/* No decision depends on the answer of such a hook. */
static bool informs(const struct hook_call *call)
{
    return call->webhook.type == HOOK_EVENT || call->webhook.type == HOOK_POST_ROLLOUT;
}

/* The operator sets the address of --event-webhook. */
static bool is_own(const struct hook_call *call)
{
    const char *own = call->context->event_webhook;

    return own && strcmp(own, call->webhook.url) == 0;
}

static void send_request(struct hook_call *call)
{
    struct http_header headers[SECRET_HEADERS_MAX + 2] = {{"Content-Type", "application/json"}};
    memcpy(headers + 1, call->headers.list, sizeof(call->headers.list));
    struct http_tls tls = {.insecure = call->webhook.disable_tls, .ca_pem = call->ca_pem};
    struct http_request request = {
        .method = "POST",
        .url = call->url,
        .headers = headers,
        .body = call->body,
        .body_len = strlen(call->body),
        .tls = &tls,
        .proxy = call->webhook.disable_tls ? "" : NULL, /* as Flagger */
        .timeout_ms = call->webhook.timeout_ms,
        .max_body = informs(call) ? MAX_TOLD : MAX_ANSWER,
        .cuts_body = informs(call),
        .owner = call->namespace_,
        .secret_path = true,
        .own_address = is_own(call),
    };
    call->http = http_send(call->context->http, &request, on_reply, call);
}

static void send_once(void *arg)
{
    struct hook_call *call = arg;
    call->timer = NULL;
    call->attempts++;
    call->redirects = 0;
    call->url = call->webhook.url;
    send_request(call);
}

/* --- headersFrom and caSecretRef */

/* The next Secret to read; NULL if all were read. */
static const char *next_secret(const struct hook_call *call)
{
    if (call->n_read < call->webhook.n_headers_from)
        return call->webhook.headers_from[call->n_read];
    return call->ca_pem ? NULL : call->webhook.ca_secret;
}

static bool is_for_headers(const struct hook_call *call)
{
    return call->n_read < call->webhook.n_headers_from;
}

static const char *secret_name(const struct hook_call *call)
{
    return arena_printf(call->arena, "%s.%s", next_secret(call), call->namespace_);
}

static void tell_unasked(void *arg)
{
    struct hook_call *call = arg;
    call->timer = NULL;
    struct hook_answer answer = {.unasked = true, .text = call->body};
    end(call, &answer);
}

/* The reason is stored in body, which is no longer sent. */
static void give_up(struct hook_call *call, const char *why)
{
    call->body = arena_printf(call->arena, "%s: %s",
                              is_for_headers(call) ? "headersFrom" : "caSecretRef", why);
    call->timer = timer_start(call->context->loop, 0, 0, tell_unasked, call);
}

static enum err take_secret(struct hook_call *call, struct json_object *secret,
                            struct errinfo *info)
{
    if (!is_for_headers(call))
        return secret_ca_read(call->arena, secret_name(call), secret, call->webhook.ca_key,
                              &call->ca_pem, info);
    enum err err = secret_headers_add(&call->headers, call->arena, secret_name(call), secret, info);
    if (err == ERR_OK)
        call->n_read++;
    return err;
}

/* False if the Secret cannot be used; the call has then been given up. */
static bool add_secret(struct hook_call *call, struct json_object *secret)
{
    struct errinfo info;
    if (!secret)
        give_up(call, arena_printf(call->arena, "Secret %s does not exist", secret_name(call)));
    else if (take_secret(call, secret, &info) != ERR_OK)
        give_up(call, info.text);
    return !call->timer;
}

static void on_secret(void *arg, enum err err, struct json_object *tree,
                      const struct errinfo *info);

static void read_secrets(struct hook_call *call)
{
    struct secrets *secrets = call->context->secrets;
    const char *name;
    while ((name = next_secret(call))) {
        struct json_object *tree;
        if (!secrets_cached(secrets, call->namespace_, name, &tree)) {
            call->read = secrets_read(secrets, call->namespace_, name, on_secret, call);
            return;
        }
        if (!add_secret(call, tree))
            return;
    }
    send_once(call);
}

static void on_secret(void *arg, enum err err, struct json_object *tree, const struct errinfo *info)
{
    struct hook_call *call = arg;
    call->read = NULL;
    if (err != ERR_OK)
        give_up(call, arena_printf(call->arena, "Secret %s cannot be read: %s", secret_name(call),
                                   info->text));
    else if (add_secret(call, tree))
        read_secrets(call);
}

struct canary_webhook hook_call_copy(struct arena *arena, const struct canary_webhook *webhook)
{
    struct canary_webhook copy = *webhook;
    copy.name = arena_strdup(arena, webhook->name);
    copy.url = arena_strdup(arena, webhook->url);
    copy.metadata = NULL;
    copy.headers_from = arena_array(arena, (size_t)webhook->n_headers_from, sizeof(const char *));
    for (int i = 0; i < webhook->n_headers_from; i++)
        copy.headers_from[i] = arena_strdup(arena, webhook->headers_from[i]);
    copy.ca_secret = arena_strdup(arena, webhook->ca_secret);
    copy.ca_key = arena_strdup(arena, webhook->ca_key);
    return copy;
}

struct hook_call *hook_call_start(struct engine_context *context, const char *namespace_,
                                  const struct canary_webhook *webhook, const char *body,
                                  hook_done_fn done, void *arg)
{
    struct arena *arena = arena_new();
    struct hook_call *call = ARENA_NEW(arena, struct hook_call);
    *call = (struct hook_call){.arena = arena,
                               .context = context,
                               .namespace_ = arena_strdup(arena, namespace_),
                               .webhook = hook_call_copy(arena, webhook),
                               .body = arena_strdup(arena, body),
                               .done = done,
                               .arg = arg};
    read_secrets(call);
    return call;
}

int hook_call_attempts(const struct hook_call *call)
{
    return call->attempts;
}

void hook_call_free(struct hook_call *call)
{
    if (!call)
        return;
    if (call->http) {
        call->freed = true; /* on_reply frees it */
        http_cancel(call->http);
        return;
    }
    secret_read_free(call->read);
    destroy(call);
}

static const char *release_of(const struct canary *canary)
{
    struct json_object *history = json_at(canary->status.json, "history", NULL);
    const char *ended = json_str_at(json_elem(history, 0), "ended", NULL);

    return ended ? ended : json_str_at(canary->json, "metadata", "creationTimestamp", NULL);
}

static bool asks_a_gate(const struct canary_webhook *webhook)
{
    return hook_type_is_gate(webhook->type) || webhook->type == HOOK_ROLLBACK;
}

/* The step that a load test belongs to: the same at each call until the release advances. */
static const char *step_of(struct arena *arena, const struct canary *canary)
{
    struct json_object *step = json_at(canary->status.json, "step", NULL);

    if (canary->status.iterations > 0)
        return arena_printf(arena, "iteration %d", canary->status.iterations);
    if (canary->status.canary_weight == 0 && json_bool_at(step, false, "match", NULL))
        return "match";
    if (canary->status.canary_weight == 0 && json_int_at(step, 0, "mirror", NULL) > 0)
        return "mirror";
    return arena_printf(arena, "weight %s", weight_text(arena, canary->status.canary_weight));
}

const char *hook_body(struct arena *arena, const struct canary *canary,
                      const struct canary_webhook *webhook, enum phase phase, const char *checksum)
{
    bool load = webhook_is_load(webhook->metadata);
    struct webhook_message message = {
        .name = canary->name,
        .namespace_ = canary->namespace_,
        .phase = phase_name(phase),
        .checksum = checksum,
        .metadata = webhook->metadata,
        .release = asks_a_gate(webhook) || load ? release_of(canary) : NULL,
        .step = load ? step_of(arena, canary) : NULL,
    };
    return webhook_text(arena, &message);
}
