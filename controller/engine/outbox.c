#include "engine/outbox.h"

#include <string.h>

#include "base/log.h"
#include "engine/hook_call.h"

struct letter {
    struct letter *next;
    struct arena *arena;
    const char *namespace_;
    struct canary_webhook webhook;
    const char *body;
};

/* The letters of one Canary; lives while there are any. */
struct lane {
    struct lane *next;
    struct outbox *outbox;
    char *canary;
    struct letter *first, **last;
    int count;
    struct hook_call *call; /* of the first letter */
};

struct outbox {
    struct engine_context *context;
    struct lane *lanes;
    int count; /* letters in all lanes */
};

static void send_first(struct lane *lane);

struct outbox *outbox_new(struct engine_context *context)
{
    struct outbox *outbox = heap_alloc(sizeof(*outbox));
    *outbox = (struct outbox){.context = context};
    return outbox;
}

static void drop_first(struct lane *lane)
{
    struct letter *letter = lane->first;
    lane->first = letter->next;
    if (!lane->first)
        lane->last = &lane->first;
    lane->count--;
    lane->outbox->count--;
    arena_free(letter->arena);
}

static void lane_free(struct lane *lane)
{
    struct lane **link = &lane->outbox->lanes;
    while (*link != lane)
        link = &(*link)->next;
    *link = lane->next;
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
    while (outbox->lanes)
        lane_free(outbox->lanes);
    free(outbox);
}

static void on_answer(void *arg, const struct hook_answer *answer)
{
    struct lane *lane = arg;
    lane->call = NULL;
    if (!answer->passed)
        log_warn("event_webhook_failed", lane->canary, "an event was not taken by its webhook",
                 LOG_STR("hook", lane->first->webhook.name), LOG_STR("error", answer->text));
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

static struct lane *lane_get(struct outbox *outbox, const char *canary)
{
    for (struct lane *lane = outbox->lanes; lane; lane = lane->next)
        if (strcmp(lane->canary, canary) == 0)
            return lane;
    struct lane *lane = heap_alloc(sizeof(*lane));
    *lane = (struct lane){.next = outbox->lanes, .outbox = outbox, .canary = heap_strdup(canary)};
    lane->last = &lane->first;
    outbox->lanes = lane;
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
    lane->outbox->count--;
    arena_free(oldest->arena);
    log_error("event_dropped", lane->canary,
              "too many events wait for a webhook that does not take them");
}

static void post(struct outbox *outbox, const struct canary *canary,
                 const struct canary_webhook *webhook, struct json_object *facts, enum phase phase)
{
    if (outbox->count >= OUTBOX_MAX) {
        log_error("event_dropped", canary->name,
                  "too many events of all canaries wait for webhooks that do not take them",
                  LOG_STR("hook", webhook->name));
        return;
    }
    struct arena *arena = arena_new();
    struct letter *letter = ARENA_NEW(arena, struct letter);
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
    *letter = (struct letter){.arena = arena,
                              .namespace_ = arena_strdup(arena, canary->namespace_),
                              .webhook = hook_call_copy(arena, webhook)};
    letter->body = hook_body(arena, canary, &told, phase, canary_checksum(arena, canary));
    struct lane *lane =
        lane_get(outbox, arena_printf(arena, "%s.%s", canary->name, canary->namespace_));
    make_room(lane);
    *lane->last = letter;
    lane->last = &letter->next;
    lane->count++;
    outbox->count++;
    if (!lane->call)
        send_first(lane);
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
            post(outbox, canary, webhook, facts, phase);
        }
    }
    const char *global = outbox->context->event_webhook;
    if (!own && global && *global) {
        struct canary_webhook webhook = {
            .type = HOOK_EVENT, .name = "events", .url = global, .timeout_ms = 10000};
        post(outbox, canary, &webhook, facts, phase);
    }
    arena_free(arena);
}
