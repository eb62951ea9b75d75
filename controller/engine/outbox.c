#include "engine/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/table.h"
#include "engine/hook_call.h"

enum lane_kind { LANE_EVENTS, LANE_HOOKS, LANE_KINDS };
static const char *const lane_names[] = {[LANE_EVENTS] = "event", [LANE_HOOKS] = "hook"};

struct letter {
    struct letter *next;
    struct arena *arena;
    const char *namespace_;
    struct canary_webhook webhook;
    const char *body;
    /* of hooks */
    const struct canary *canary;
    enum phase phase;
    outbox_answer_fn answered;
    bool follows;
};

/* The letters of one kind of one Canary; lives while there are any. */
struct lane {
    struct outbox *outbox;
    enum lane_kind kind;
    char *canary;
    struct letter *first, **last;
    int count;
    struct hook_call *call; /* of the first letter */
};

struct outbox {
    struct engine_context *context;
    struct table lanes;    /* by Canary and kind */
    int count[LANE_KINDS]; /* letters in all lanes */
};

static void send_first(struct lane *lane);

static void lane_key(const void *item, const char **first, const char **second)
{
    const struct lane *lane = item;

    *first = lane->canary;
    *second = lane_names[lane->kind];
}

struct outbox *outbox_new(struct engine_context *context)
{
    struct outbox *outbox = heap_alloc(sizeof(*outbox));
    *outbox = (struct outbox){.context = context};
    table_init(&outbox->lanes, lane_key);
    return outbox;
}

static void drop_first(struct lane *lane)
{
    struct letter *letter = lane->first;
    lane->first = letter->next;
    if (!lane->first)
        lane->last = &lane->first;
    lane->count--;
    lane->outbox->count[lane->kind]--;
    arena_free(letter->arena);
}

static void lane_free(struct lane *lane)
{
    table_take(&lane->outbox->lanes, lane->canary, lane_names[lane->kind]);
    hook_call_cancel(lane->call);
    while (lane->first)
        drop_first(lane);
    free(lane->canary);
    free(lane);
}

void outbox_free(struct outbox *outbox)
{
    if (!outbox)
        return;
    if (outbox->count[LANE_HOOKS] > 0)
        log_warn("hooks_dropped", NULL, "hooks that only inform were not called before the end",
                 LOG_INT("count", outbox->count[LANE_HOOKS]));
    struct lane *lane;
    for (size_t i = 0; (lane = table_next(&outbox->lanes, &i)); i = 0)
        lane_free(lane);
    table_fini(&outbox->lanes);
    free(outbox);
}

/* --- sending */

static void tell_answer(struct lane *lane, const struct hook_answer *answer)
{
    const struct letter *letter = lane->first;
    if (letter->answered)
        letter->answered(lane->outbox->context, letter->canary, letter->phase, letter->webhook.name,
                         answer);
    else if (!answer->passed)
        log_warn("event_webhook_failed", lane->canary, "an event was not taken by its webhook",
                 LOG_STR("hook", letter->webhook.name), LOG_STR("error", answer->text));
}

static void on_answer(void *arg, const struct hook_answer *answer)
{
    struct lane *lane = arg;
    lane->call = NULL;
    tell_answer(lane, answer);
    drop_first(lane);
    /* As in Flagger: the hooks after one that failed are left out. */
    while (!answer->passed && lane->first && lane->first->follows)
        drop_first(lane);
    if (lane->first)
        send_first(lane);
    else
        lane_free(lane);
}

static void send_first(struct lane *lane)
{
    lane->call = hook_call_start(lane->outbox->context, lane->first->namespace_,
                                 &lane->first->webhook, lane->first->body, on_answer, lane);
}

/* --- what waits */

static struct lane *lane_get(struct outbox *outbox, const char *canary, enum lane_kind kind)
{
    struct lane *lane = table_get(&outbox->lanes, canary, lane_names[kind]);
    if (lane)
        return lane;
    lane = heap_alloc(sizeof(*lane));
    *lane = (struct lane){.outbox = outbox, .kind = kind, .canary = heap_strdup(canary)};
    lane->last = &lane->first;
    table_put(&outbox->lanes, lane);
    return lane;
}

/* The letter under way is the first; the one after it is the oldest that may be dropped. */
static void make_room(struct lane *lane)
{
    if (lane->count < OUTBOX_MAX_PER_CANARY)
        return;
    struct letter *oldest = lane->first->next;
    lane->first->next = oldest->next;
    if (!oldest->next)
        lane->last = &lane->first->next;
    lane->count--;
    lane->outbox->count[lane->kind]--;
    arena_free(oldest->arena);
    log_error("message_dropped", lane->canary,
              "too many messages wait for a webhook that does not take them",
              LOG_STR("kind", lane_names[lane->kind]));
}

static bool is_full(const struct outbox *outbox, enum lane_kind kind, const struct canary *canary,
                    const struct canary_webhook *webhook)
{
    if (outbox->count[kind] < OUTBOX_MAX)
        return false;
    log_error("message_dropped", canary->name,
              "too many messages of all canaries wait for webhooks that do not take them",
              LOG_STR("kind", lane_names[kind]), LOG_STR("hook", webhook->name));
    return true;
}

static struct letter *letter_new(const struct canary *canary, const struct canary_webhook *webhook)
{
    struct arena *arena = arena_new();
    struct letter *letter = ARENA_NEW(arena, struct letter);
    *letter = (struct letter){.arena = arena,
                              .namespace_ = arena_strdup(arena, canary->namespace_),
                              .webhook = hook_call_copy(arena, webhook)};
    return letter;
}

static void post(struct outbox *outbox, struct letter *letter, const struct canary *canary,
                 enum lane_kind kind)
{
    struct lane *lane = lane_get(
        outbox, arena_printf(letter->arena, "%s.%s", canary->name, canary->namespace_), kind);
    make_room(lane);
    *lane->last = letter;
    lane->last = &letter->next;
    lane->count++;
    outbox->count[kind]++;
    if (!lane->call)
        send_first(lane);
}

/* --- events */

static void post_event(struct outbox *outbox, const struct canary *canary,
                       const struct canary_webhook *webhook, struct json_object *facts,
                       enum phase phase)
{
    if (is_full(outbox, LANE_EVENTS, canary, webhook))
        return;
    struct letter *letter = letter_new(canary, webhook);
    struct arena *arena = letter->arena;
    /* The hook's own metadata does not overwrite what the event says. */
    struct json_object *metadata = json_copy(arena, facts);
    if (webhook->metadata) {
        json_object_object_foreach(webhook->metadata, key, value)
        {
            if (!json_object_object_get_ex(metadata, key, NULL))
                json_set(metadata, key, value);
        }
    }
    struct canary_webhook told = *webhook;
    told.metadata = metadata;
    letter->body = hook_body(arena, canary, &told, phase, canary_checksum(arena, canary));
    post(outbox, letter, canary, LANE_EVENTS);
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

/* What an event needs of a Canary: its name, what its checksum is made of, its event receivers. */
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
    if (is_full(outbox, LANE_HOOKS, canary, webhook))
        return;
    struct letter *letter = letter_new(canary, webhook);
    struct arena *arena = letter->arena;
    letter->body = hook_body(arena, canary, webhook, phase, canary_checksum(arena, canary));
    letter->canary = copy_canary(arena, canary);
    letter->phase = phase;
    letter->follows = follows;
    letter->answered = answered;
    post(outbox, letter, canary, LANE_HOOKS);
}

/* --- looking */

struct outbox_look outbox_look(const struct outbox *outbox)
{
    return (struct outbox_look){.events = outbox->count[LANE_EVENTS],
                                .hooks = outbox->count[LANE_HOOKS]};
}

static int letters_of(const struct outbox *outbox, const char *canary, enum lane_kind kind)
{
    const struct lane *lane = table_get(&outbox->lanes, canary, lane_names[kind]);
    return lane ? lane->count : 0;
}

struct outbox_look outbox_look_at(const struct outbox *outbox, const char *canary)
{
    return (struct outbox_look){.events = letters_of(outbox, canary, LANE_EVENTS),
                                .hooks = letters_of(outbox, canary, LANE_HOOKS)};
}
