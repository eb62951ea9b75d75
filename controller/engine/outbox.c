#include "engine/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/json.h"
#include "base/log.h"
#include "base/shares.h"
#include "base/table.h"
#include "decide/alerts.h"
#include "engine/cache.h"
#include "engine/hook_call.h"

enum message_kind { MESSAGE_EVENTS, MESSAGE_HOOKS, MESSAGE_ALERTS, MESSAGE_KINDS };
static const char *const kind_names[] = {
    [MESSAGE_EVENTS] = "event", [MESSAGE_HOOKS] = "hook", [MESSAGE_ALERTS] = "alert"};
static const enum budget kind_budgets[] = {[MESSAGE_EVENTS] = BUDGET_EVENTS,
                                           [MESSAGE_HOOKS] = BUDGET_HOOKS,
                                           [MESSAGE_ALERTS] = BUDGET_ALERTS};

struct message {
    struct message *next;
    struct arena *arena;
    const char *namespace_;
    struct canary_webhook webhook;
    const char *body;
    /* for hooks */
    const struct canary *canary;
    enum phase phase;
    outbox_answer_fn answered;
    bool follows;
    bool last; /* reports the deletion of its Canary */
    /* for alerts */
    struct channel channel;
    struct alert alert;
    alert_report_fn report;
    void *report_arg;
};

/* Messages of one kind for one Canary, alerts by channel; freed when empty. */
struct queue {
    struct outbox *outbox;
    enum message_kind kind;
    char *canary, *namespace_;
    char *line; /* the kind; for alerts with the name of the channel */
    struct message *first, **last;
    int count;
    struct hook_call *call; /* for the first message */
    struct alert_call *alert_call;
    bool troubled; /* the first message has failed once */
    bool gone;     /* the Canary was deleted */
};

struct outbox {
    struct engine_context *context;
    struct table queues;                  /* by Canary and line */
    struct shares waiting[MESSAGE_KINDS]; /* messages, by namespace */
};

static void send_first(struct queue *queue);

static void queue_key(const void *item, const char **first, const char **second)
{
    const struct queue *queue = item;

    *first = queue->canary;
    *second = queue->line;
}

struct outbox *outbox_new(struct engine_context *context)
{
    struct outbox *outbox = heap_alloc(sizeof(*outbox));
    *outbox = (struct outbox){.context = context};
    table_init(&outbox->queues, queue_key);
    for (int i = 0; i < MESSAGE_KINDS; i++)
        shares_init(&outbox->waiting[i], kind_budgets[i], OUTBOX_MAX);
    return outbox;
}

static void drop_first(struct queue *queue)
{
    struct message *message = queue->first;
    queue->first = message->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->count--;
    shares_give_back(&queue->outbox->waiting[queue->kind], queue->namespace_, 1);
    arena_free(message->arena);
}

static void queue_free(struct queue *queue)
{
    table_take(&queue->outbox->queues, queue->canary, queue->line);
    hook_call_free(queue->call);
    alert_call_free(queue->alert_call);
    while (queue->first)
        drop_first(queue);
    free(queue->canary);
    free(queue->namespace_);
    free(queue->line);
    free(queue);
}

void outbox_free(struct outbox *outbox)
{
    if (!outbox)
        return;
    if (outbox->waiting[MESSAGE_HOOKS].taken > 0)
        log_warn("hooks_dropped", NULL, "hooks that only inform were not called before the end",
                 LOG_INT("count", (int64_t)outbox->waiting[MESSAGE_HOOKS].taken));
    struct queue *queue;
    for (size_t i = 0; (queue = table_next(&outbox->queues, &i)); i = 0)
        queue_free(queue);
    table_fini(&outbox->queues);
    for (int i = 0; i < MESSAGE_KINDS; i++)
        shares_fini(&outbox->waiting[i]);
    free(outbox);
}

/* --- sending */

static void report_answer(struct queue *queue, const struct hook_answer *answer)
{
    const struct message *message = queue->first;
    if (message->answered)
        message->answered(queue->outbox->context, message->canary, message->phase,
                          message->webhook.name, answer);
    else if (!answer->passed)
        log_warn("event_webhook_failed", queue->canary, "an event was not taken by its webhook",
                 LOG_STR("hook", message->webhook.name), LOG_STR("error", answer->text));
}

static void send_next(struct queue *queue)
{
    drop_first(queue);
    queue->troubled = false;
    if (queue->first)
        send_first(queue);
    else
        queue_free(queue);
}

static void on_answer(void *arg, const struct hook_answer *answer)
{
    struct queue *queue = arg;
    queue->call = NULL;
    report_answer(queue, answer);
    /* As in Flagger, hooks after a failed one are skipped. */
    while (!answer->passed && queue->first->next && queue->first->next->follows)
        drop_first(queue);
    send_next(queue);
}

/* The Canary was deleted and the channel does not accept its alerts. */
static void forget_alerts(struct queue *queue)
{
    alert_call_free(queue->alert_call);
    queue->alert_call = NULL;
    for (struct message *message = queue->first; message; message = message->next)
        message->report(message->report_arg, "the Canary was deleted before its alert was taken",
                        true);
    queue_free(queue);
}

static void on_alert_report(void *arg, const char *trouble, bool ended)
{
    struct queue *queue = arg;
    queue->troubled = true;
    if (!ended && queue->gone) {
        forget_alerts(queue);
        return;
    }
    queue->first->report(queue->first->report_arg, trouble, ended);
    if (!ended)
        return;
    queue->alert_call = NULL;
    send_next(queue);
}

static void send_first(struct queue *queue)
{
    if (queue->kind == MESSAGE_ALERTS) {
        queue->alert_call = alert_call_start(queue->outbox->context, &queue->first->channel,
                                             &queue->first->alert, on_alert_report, queue);
        return;
    }
    queue->call = hook_call_start(queue->outbox->context, queue->first->namespace_,
                                  &queue->first->webhook, queue->first->body, on_answer, queue);
}

/* --- waiting messages */

static struct queue *queue_get(struct outbox *outbox, const char *canary, const char *namespace_,
                               enum message_kind kind, const char *line)
{
    struct queue *queue = table_get(&outbox->queues, canary, line);
    if (queue)
        return queue;
    queue = heap_alloc(sizeof(*queue));
    *queue = (struct queue){.outbox = outbox,
                            .kind = kind,
                            .canary = heap_strdup(canary),
                            .namespace_ = heap_strdup(namespace_),
                            .line = heap_strdup(line)};
    queue->last = &queue->first;
    table_put(&outbox->queues, queue);
    return queue;
}

/* The first message is being sent; the second is the oldest that may be dropped. */
static void drop_oldest(struct queue *queue, const char *why)
{
    struct message *oldest = queue->first->next;
    queue->first->next = oldest->next;
    if (!oldest->next)
        queue->last = &queue->first->next;
    queue->count--;
    shares_give_back(&queue->outbox->waiting[queue->kind], queue->namespace_, 1);
    if (oldest->report)
        oldest->report(oldest->report_arg,
                       arena_printf(oldest->arena, "an alert was dropped: %s", why), true);
    log_error("message_dropped", queue->canary,
              "too many messages wait for receivers that do not take them",
              LOG_STR("kind", kind_names[queue->kind]), LOG_STR("why", why));
    arena_free(oldest->arena);
}

/* The longest queue of a namespace with messages behind the one being sent. */
static struct queue *find_longest(struct outbox *outbox, const char *namespace_,
                                  enum message_kind kind)
{
    struct queue *queue, *longest = NULL;

    for (size_t i = 0; (queue = table_next(&outbox->queues, &i));)
        if (queue->kind == kind && queue->count > 1 && strcmp(queue->namespace_, namespace_) == 0 &&
            (!longest || queue->count > longest->count))
            longest = queue;
    return longest;
}

/*
 * Makes room for one more message: drops the oldest message of the namespace with most messages.
 * False if that is this namespace, or if it has no message to drop.
 */
static bool make_room(struct outbox *outbox, const char *namespace_, enum message_kind kind,
                      const char *canary, const char *receiver)
{
    const char *greedy = shares_yields(&outbox->waiting[kind], namespace_, 1);

    if (!greedy)
        return true;
    struct queue *longest =
        strcmp(greedy, namespace_) == 0 ? NULL : find_longest(outbox, greedy, kind);
    if (longest) {
        drop_oldest(longest,
                    "too many messages of its namespace wait for receivers that do not take "
                    "them");
        return true;
    }
    log_error("message_dropped", canary,
              "too many messages wait for receivers that do not take them",
              LOG_STR("kind", kind_names[kind]), LOG_STR("receiver", receiver),
              LOG_STR("share", budget_name(outbox->waiting[kind].budget)));
    return false;
}

static struct message *message_new(const struct canary *canary,
                                   const struct canary_webhook *webhook)
{
    struct arena *arena = arena_new();
    struct message *message = ARENA_NEW(arena, struct message);
    *message = (struct message){.arena = arena,
                                .namespace_ = arena_strdup(arena, canary->namespace_),
                                .last = canary->deleting,
                                .webhook = hook_call_copy(arena, webhook)};
    return message;
}

static void post(struct outbox *outbox, struct message *message, const char *canary,
                 const char *namespace_, enum message_kind kind, const char *line)
{
    struct queue *queue = queue_get(outbox, canary, namespace_, kind, line);
    if (queue->count >= OUTBOX_MAX_PER_CANARY)
        drop_oldest(queue, "too many wait for its channel");
    *queue->last = message;
    queue->last = &message->next;
    queue->count++;
    queue->gone = false;
    shares_take(&outbox->waiting[kind], namespace_, 1);
    if (!queue->call && !queue->alert_call)
        send_first(queue);
}

static const char *label_of(struct arena *arena, const struct canary *canary)
{
    return arena_printf(arena, "%s.%s", canary->name, canary->namespace_);
}

/* --- events */

static void post_event(struct outbox *outbox, const struct canary *canary,
                       const struct canary_webhook *webhook, struct json_object *facts,
                       enum phase phase)
{
    if (!make_room(outbox, canary->namespace_, MESSAGE_EVENTS, canary->name, webhook->name))
        return;
    struct message *message = message_new(canary, webhook);
    struct arena *arena = message->arena;
    /* Metadata of the hook does not replace the fields of the event. */
    struct json_object *metadata = json_copy(arena, facts);
    if (webhook->metadata) {
        json_object_object_foreach(webhook->metadata, key, value)
        {
            if (!json_object_object_get_ex(metadata, key, NULL))
                json_set(metadata, key, value);
        }
    }
    struct canary_webhook merged = *webhook;
    merged.metadata = metadata;
    message->body = hook_body(arena, canary, &merged, phase, canary_checksum(arena, canary));
    post(outbox, message, label_of(arena, canary), canary->namespace_, MESSAGE_EVENTS,
         kind_names[MESSAGE_EVENTS]);
}

void outbox_event(struct outbox *outbox, const struct canary *canary, enum phase phase,
                  const char *type, const char *text, int64_t now_ms)
{
    struct arena *arena = arena_new();
    struct json_object *facts = json_own(arena, json_object_new_object());
    json_set_str(facts, "eventMessage", text);
    json_set_str(facts, "eventType", type);
    json_set_str(facts, "timestamp", arena_printf(arena, "%lld", (long long)now_ms));
    bool own = false;
    for (int i = 0; i < canary->analysis.n_webhooks; i++) {
        const struct canary_webhook *webhook = &canary->analysis.webhooks[i];
        if (webhook->type == HOOK_EVENT) {
            own = true;
            post_event(outbox, canary, webhook, facts, phase);
        }
    }
    const char *global = outbox->context->event_webhook;
    if (!own && global && *global) {
        struct canary_webhook webhook = {
            .type = HOOK_EVENT, .name = "events", .url = global, .timeout_ms = 10000};
        post_event(outbox, canary, &webhook, facts, phase);
    }
    arena_free(arena);
}

/* --- informing hooks */

/* Copies the parts of a Canary that an event needs: name, checksum input, event receivers. */
static const struct canary *copy_canary(struct arena *arena, const struct canary *canary)
{
    struct canary *copy = ARENA_NEW(arena, struct canary);
    *copy = (struct canary){
        .name = arena_strdup(arena, canary->name),
        .namespace_ = arena_strdup(arena, canary->namespace_),
        .uid = arena_strdup(arena, canary->uid),
        .resource_version = arena_strdup(arena, canary->resource_version),
        .status = {.phase = canary->status.phase,
                   .last_applied_spec = arena_strdup(arena, canary->status.last_applied_spec),
                   .tracked_configs =
                       json_own(arena, json_object_get(canary->status.tracked_configs))},
    };
    copy->analysis.webhooks =
        arena_array(arena, (size_t)canary->analysis.n_webhooks, sizeof(*copy->analysis.webhooks));
    for (int i = 0; i < canary->analysis.n_webhooks; i++) {
        const struct canary_webhook *webhook = &canary->analysis.webhooks[i];
        if (webhook->type != HOOK_EVENT)
            continue;
        struct canary_webhook one = hook_call_copy(arena, webhook);
        one.metadata = json_own(arena, json_object_get(webhook->metadata));
        copy->analysis.webhooks[copy->analysis.n_webhooks++] = one;
    }
    return copy;
}

void outbox_hook(struct outbox *outbox, const struct canary *canary,
                 const struct canary_webhook *webhook, enum phase phase, bool follows,
                 outbox_answer_fn answered)
{
    if (!make_room(outbox, canary->namespace_, MESSAGE_HOOKS, canary->name, webhook->name))
        return;
    struct message *message = message_new(canary, webhook);
    struct arena *arena = message->arena;
    message->body = hook_body(arena, canary, webhook, phase, canary_checksum(arena, canary));
    message->canary = copy_canary(arena, canary);
    message->phase = phase;
    message->follows = follows;
    message->answered = answered;
    post(outbox, message, label_of(arena, canary), canary->namespace_, MESSAGE_HOOKS,
         kind_names[MESSAGE_HOOKS]);
}

/* --- alerts */

bool outbox_alert(struct outbox *outbox, const char *canary, const struct channel *channel,
                  const struct alert *alert, alert_report_fn report, void *arg)
{
    if (!make_room(outbox, alert->namespace_, MESSAGE_ALERTS, canary, channel->name))
        return false;
    struct arena *arena = arena_new();
    struct message *message = ARENA_NEW(arena, struct message);
    *message = (struct message){.arena = arena,
                                .channel = channel_copy(arena, channel),
                                .alert = alert_copy(arena, alert),
                                .report = report,
                                .report_arg = arg};
    post(outbox, message, canary, message->alert.namespace_, MESSAGE_ALERTS,
         arena_printf(arena, "%s %s", kind_names[MESSAGE_ALERTS], channel->name));
    return true;
}

/* --- deleted Canaries */

/* A call in progress continues, unless it has failed before. */
static void forget_messages(struct queue *queue)
{
    struct message *first = queue->first, *kept = NULL, **last = &kept, *next;
    bool drops_first = !first->last && queue->call && hook_call_attempts(queue->call) > 1;

    for (struct message *message = first->next; message; message = next) {
        next = message->next;
        message->next = NULL;
        if (message->last) {
            *last = message;
            last = &message->next;
            continue;
        }
        queue->count--;
        shares_give_back(&queue->outbox->waiting[queue->kind], queue->namespace_, 1);
        arena_free(message->arena);
    }
    first->next = kept;
    queue->last = kept ? last : &first->next;
    if (!drops_first)
        return;
    hook_call_free(queue->call);
    queue->call = NULL;
    send_next(queue);
}

void outbox_forget(struct outbox *outbox, const char *canary)
{
    struct queue *queue;
    bool changed;

    do {
        changed = false;
        for (size_t i = 0; !changed && (queue = table_next(&outbox->queues, &i));) {
            changed = !queue->gone && strcmp(queue->canary, canary) == 0;
            if (!changed)
                continue;
            queue->gone = true;
            if (queue->kind != MESSAGE_ALERTS)
                forget_messages(queue);
            else if (queue->troubled)
                forget_alerts(queue);
        }
    } while (changed);
}

/* --- counts */

struct outbox_counts outbox_counts(const struct outbox *outbox)
{
    return (struct outbox_counts){.events = (int)outbox->waiting[MESSAGE_EVENTS].taken,
                                  .hooks = (int)outbox->waiting[MESSAGE_HOOKS].taken,
                                  .alerts = (int)outbox->waiting[MESSAGE_ALERTS].taken};
}

struct outbox_counts outbox_counts_of(const struct outbox *outbox, const char *canary)
{
    int count[MESSAGE_KINDS] = {0};
    const struct queue *queue;
    for (size_t i = 0; (queue = table_next(&outbox->queues, &i));) {
        if (strcmp(queue->canary, canary) == 0)
            count[queue->kind] += queue->count;
    }
    return (struct outbox_counts){.events = count[MESSAGE_EVENTS],
                                  .hooks = count[MESSAGE_HOOKS],
                                  .alerts = count[MESSAGE_ALERTS]};
}

/* --- one alert to one channel */

enum {
    FIRST_WAIT_MS = 1000,
    MAX_WAIT_MS = 60 * 1000,
    LASTS = 3, /* consecutive failures before a persistent one is reported */
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
    const char *said; /* the last problem that was reported */
    struct secret_read *read;
    struct http_call *http;
    struct timer *timer;
    bool freed;
};

static void attempt_alert(void *arg);

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

/* The message for users: the alert, its destination, and the reason of the failure. */
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
    call->timer = timer_start(call->context->loop, wait_ms(call, asked_ms), 0, attempt_alert, call);
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

static void attempt_alert(void *arg)
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
    call->timer = timer_start(context->loop, 0, 0, attempt_alert, call);
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
