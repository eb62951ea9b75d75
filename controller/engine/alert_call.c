#include "engine/alert_call.h"

#include <string.h>

#include "base/encoding.h"
#include "base/json.h"
#include "base/log.h"
#include "decide/alerts.h"
#include "engine/secrets.h"

enum {
    FIRST_WAIT_MS = 1000,
    MAX_WAIT_MS = 60 * 1000,
    LASTS = 3, /* consecutive failures before one is reported */
};

struct alert_call {
    struct arena *arena;
    struct arena *attempt; /* of the current request */
    struct engine_context *context;
    struct channel channel;
    struct address address; /* of the attempt: the channel's address, completed from its Secret */
    struct alert alert;
    alert_report_fn report;
    void *arg;
    int attempts;
    int64_t began;    /* monotonic */
    const char *said; /* last trouble reported */
    struct secret_read *read;
    struct http_call *http;
    struct timer *timer;
    bool freed;
};

static void start_attempt(void *arg);

static void destroy(struct alert_call *call)
{
    timer_stop(call->timer);
    if (call->attempt)
        arena_free(call->attempt);
    arena_free(call->arena);
}

static void end(struct alert_call *call, const char *trouble)
{
    call->report(call->arg, trouble, true);
    destroy(call);
}

static int64_t wait_ms(const struct alert_call *call, int64_t asked_ms)
{
    int64_t wait = FIRST_WAIT_MS;

    if (asked_ms > 0)
        return asked_ms < ALERT_PATIENCE_MS ? asked_ms : ALERT_PATIENCE_MS;
    for (int i = 1; i < call->attempts && wait < MAX_WAIT_MS; i++)
        wait *= 2;
    return wait < MAX_WAIT_MS ? wait : MAX_WAIT_MS;
}

/* The message for people: which alert, to where, why it failed. */
static const char *sentence(struct alert_call *call, const char *why)
{
    return arena_printf(call->attempt, "alert %s by %s was not delivered: %s", call->channel.name,
                        call->channel.notifier->type, why);
}

static void fail(struct alert_call *call, const char *why, bool final, int64_t asked_ms)
{
    const char *trouble = sentence(call, why);

    final = final || clock_monotonic_ms() - call->began >= ALERT_PATIENCE_MS;
    if (final) {
        end(call, trouble);
        return;
    }
    log_info("alert_retried", alert_subject(call->attempt, &call->alert), trouble,
             LOG_INT("attempts", call->attempts));
    call->timer = timer_start(call->context->loop, wait_ms(call, asked_ms), 0, start_attempt, call);
    if (call->attempts < LASTS || (call->said && strcmp(call->said, trouble) == 0))
        return;
    call->said = arena_strdup(call->arena, trouble);
    call->report(call->arg, call->said, false); /* may free the call */
}

/* --- the request */

static void on_reply(void *arg, const struct http_result *result)
{
    struct alert_call *call = arg;

    call->http = NULL;
    if (call->freed) {
        destroy(call);
        return;
    }
    bool again;
    const char *why = notify_refusal(call->attempt, &call->address, result, &again);
    if (!why)
        end(call, NULL);
    else
        fail(call, why, !again, result->retry_after_ms);
}

static void send_request(struct alert_call *call)
{
    struct http_request request;
    struct errinfo info;
    const char *text = NULL;

    if (alert_template_render(call->attempt, &call->channel, &call->alert, &text, &info) !=
            ERR_OK ||
        notify_request(call->attempt, call->channel.notifier, &call->address, &call->alert, text,
                       &request, &info) != ERR_OK)
        fail(call, info.text, false, 0);
    else {
        request.owner = call->alert.namespace_;
        request.own_address = call->channel.own;
        call->http = http_send(call->context->http, &request, on_reply, call);
    }
}

/* --- the Secret */

/* The text under a key, without the trailing newline that `echo` adds; NULL if missing. */
static const char *secret_text(struct arena *arena, struct json_object *secret, const char *key)
{
    const char *encoded = json_str_at(secret, "data", key, NULL);
    struct errinfo info;
    char *text;
    size_t len;

    if (!encoded || base64_decode(arena, encoded, &text, &len, &info) != ERR_OK)
        return NULL;
    while (len > 0 && strchr("\r\n \t", text[len - 1]))
        len--;
    return arena_strndup(arena, text, len);
}

static void use_secret(struct alert_call *call, struct json_object *secret)
{
    const struct channel *channel = &call->channel;

    call->address.url = secret_text(call->attempt, secret, "address");
    call->address.token = secret_text(call->attempt, secret, "token");
    if (!secret)
        fail(call,
             arena_printf(call->attempt, "Secret %s.%s does not exist", channel->secret,
                          channel->secret_namespace),
             false, 0);
    else if (!call->address.url)
        fail(call,
             arena_printf(call->attempt, "Secret %s.%s: expected the key address", channel->secret,
                          channel->secret_namespace),
             false, 0);
    else
        send_request(call);
}

static void on_secret(void *arg, enum err err, struct json_object *tree, const struct errinfo *info)
{
    struct alert_call *call = arg;

    call->read = NULL;
    if (err == ERR_OK)
        use_secret(call, tree);
    else
        fail(call,
             arena_printf(call->attempt, "Secret %s.%s cannot be read: %s", call->channel.secret,
                          call->channel.secret_namespace, info->text),
             false, 0);
}

static void start_attempt(void *arg)
{
    struct alert_call *call = arg;
    const struct channel *channel = &call->channel;
    struct json_object *secret;

    call->timer = NULL;
    call->attempts++;
    call->address = channel->address;
    if (call->attempt)
        arena_free(call->attempt);
    call->attempt = arena_new();
    if (!channel->secret)
        send_request(call);
    else if (secrets_cached(call->context->secrets, channel->secret_namespace, channel->secret,
                            &secret))
        use_secret(call, secret);
    else
        call->read = secrets_read(call->context->secrets, channel->secret_namespace,
                                  channel->secret, on_secret, call);
}

/* --- start and end */

struct channel channel_copy(struct arena *arena, const struct channel *channel)
{
    struct channel copy = *channel;

    copy.name = arena_strdup(arena, channel->name);
    copy.address.url = arena_strdup(arena, channel->address.url);
    copy.address.token = arena_strdup(arena, channel->address.token);
    copy.address.proxy = arena_strdup(arena, channel->address.proxy);
    copy.address.username = arena_strdup(arena, channel->address.username);
    copy.address.channel = arena_strdup(arena, channel->address.channel);
    copy.address.template = arena_strdup(arena, channel->address.template);
    copy.secret = arena_strdup(arena, channel->secret);
    copy.secret_namespace = arena_strdup(arena, channel->secret_namespace);
    return copy;
}

struct alert alert_copy(struct arena *arena, const struct alert *alert)
{
    struct alert copy = *alert;

    copy.canary = arena_strdup(arena, alert->canary);
    copy.namespace_ = arena_strdup(arena, alert->namespace_);
    copy.severity = arena_strdup(arena, alert->severity);
    copy.text = arena_strdup(arena, alert->text);
    copy.key = arena_strdup(arena, alert->key);
    copy.service = arena_strdup(arena, alert->service);
    copy.cluster = arena_strdup(arena, alert->cluster);
    copy.image = arena_strdup(arena, alert->image);
    copy.at = arena_strdup(arena, alert->at);
    for (int i = 0; i < alert->n_fields; i++)
        copy.fields[i] = (struct alert_field){arena_strdup(arena, alert->fields[i].name),
                                              arena_strdup(arena, alert->fields[i].value)};
    return copy;
}

struct alert_call *alert_call_start(struct engine_context *context, const struct channel *channel,
                                    const struct alert *alert, alert_report_fn report, void *arg)
{
    struct arena *arena = arena_new();
    struct alert_call *call = ARENA_NEW(arena, struct alert_call);

    *call = (struct alert_call){.arena = arena,
                                .context = context,
                                .channel = channel_copy(arena, channel),
                                .alert = alert_copy(arena, alert),
                                .report = report,
                                .arg = arg,
                                .began = clock_monotonic_ms()};
    call->timer = timer_start(context->loop, 0, 0, start_attempt, call);
    return call;
}

void alert_call_free(struct alert_call *call)
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
