/* The plan as text, for golden cases and for human readers. */
#include <string.h>

#include "base/buf.h"
#include "tick/plan.h"
#include "tick/tick.h"

enum { PRINT_MAX = 1024 * 1024 };

/* The body without the precondition, which does not matter to its meaning. */
static const char *body_text(struct arena *arena, struct json_object *body)
{
    struct json_object *copy = json_copy(arena, body);
    struct json_object *metadata = json_at(copy, "metadata", NULL);

    if (metadata) {
        json_object_object_del(metadata, "resourceVersion");
        if (json_object_object_length(metadata) == 0)
            json_object_object_del(copy, "metadata");
    }
    return json_text_sorted(arena, copy);
}

static void print_write(struct arena *arena, struct buf *buf, const char *verb,
                        const struct effect *effect)
{
    buf_printf(buf, "%s %s %s/%s", verb, effect->resource->plural, effect->namespace_,
               effect->name);
    if (effect->why)
        buf_printf(buf, " %s", effect->why);
    else if (effect->kind == EFFECT_PATCH)
        buf_printf(buf, " %s", body_text(arena, effect->body));
}

/*
 * "phase=Waiting canaryWeight=10 [Promoted=Unknown]": fields in order, conditions by type; without
 * times, the copy of the spec and the history.
 */
static void print_status(struct arena *arena, struct buf *buf, struct json_object *body)
{
    struct json_object *status = json_at(body, "status", NULL);
    struct json_object *conditions = json_at(status, "conditions", NULL);

    buf_puts(buf, "status");
    json_object_object_foreach(status, key, value)
    {
        if (strcmp(key, "conditions") == 0 || strcmp(key, "lastTransitionTime") == 0 ||
            strcmp(key, "acceptedSpec") == 0 || strcmp(key, "release") == 0 ||
            strcmp(key, "history") == 0)
            continue;
        const char *text = json_object_is_type(value, json_type_string)
                               ? json_object_get_string(value)
                               : json_text_sorted(arena, value);
        buf_printf(buf, " %s=%s", key, text);
    }
    for (size_t i = 0; i < json_len(conditions); i++)
        buf_printf(buf, "%s%s=%s%s", i == 0 ? " [" : " ",
                   json_str_at(json_elem(conditions, i), "type", NULL),
                   json_str_at(json_elem(conditions, i), "status", NULL),
                   i + 1 == json_len(conditions) ? "]" : "");
}

static void print_effect(struct tick *tick, struct buf *buf, const struct effect *effect)
{
    const struct canary *canary = tick->canary;

    switch (effect->kind) {
    case EFFECT_CREATE:
        print_write(tick->arena, buf, "create", effect);
        break;
    case EFFECT_PATCH:
        print_write(tick->arena, buf, "patch", effect);
        break;
    case EFFECT_DELETE:
        print_write(tick->arena, buf, "delete", effect);
        break;
    case EFFECT_STATUS:
        print_status(tick->arena, buf, effect->body);
        break;
    case EFFECT_EVENT:
        buf_printf(buf, "event %s %s: %s", effect->event_type, phase_name(effect->phase),
                   effect->text);
        break;
    case EFFECT_ALERT:
        buf_printf(buf, "alert %s%s: %s", effect->severity, effect->with_metadata ? "+" : "",
                   effect->text);
        break;
    case EFFECT_WEIGHTS:
        buf_printf(buf, "weights %s/%s", weight_text(tick->arena, effect->primary_weight),
                   weight_text(tick->arena, effect->canary_weight));
        break;
    case EFFECT_METRIC:
        buf_printf(buf, "metric %s %g", effect->text, effect->value);
        break;
    case EFFECT_OUTCOME:
        buf_printf(buf, "outcome %s %s", effect->success ? "success" : "failure", effect->text);
        break;
    case EFFECT_HOOK:
        buf_printf(buf, "hook %s %s", canary->analysis.webhooks[effect->webhook].name,
                   phase_name(effect->phase));
        break;
    }
    buf_puts(buf, "\n");
}

const char *plan_print(struct tick *tick)
{
    static const char *const requeue[] = {
        [REQUEUE_NEVER] = "never", [REQUEUE_INTERVAL] = "interval", [REQUEUE_NOW] = "now"};
    struct buf buf;

    buf_init(&buf, PRINT_MAX);
    for (const struct effect *effect = tick->plan->first; effect; effect = effect->next)
        print_effect(tick, &buf, effect);
    buf_printf(&buf, "again %s", requeue[tick->plan->requeue]);
    if (tick->plan->wake_ms > 0 && tick->plan->requeue != REQUEUE_NOW)
        buf_printf(&buf, ", within %g s", (double)tick->plan->wake_ms / 1000);
    buf_puts(&buf, tick->plan->stepped ? ", stepped\n" : "\n");
    const char *text = arena_strdup(tick->arena, buf.data);
    buf_fini(&buf);
    return text;
}

/* "status phase=Progressing canaryWeight=10": the numbers and the phase, no other text. */
static void outline_status(struct buf *buf, struct json_object *body)
{
    struct json_object *status = json_at(body, "status", NULL);

    buf_puts(buf, "status");
    if (!status)
        return;
    json_object_object_foreach(status, key, value)
    {
        if (strcmp(key, "phase") == 0 || json_object_is_type(value, json_type_int))
            buf_printf(buf, " %s=%s", key, json_object_get_string(value));
    }
}

static void outline_write(struct buf *buf, const char *verb, const struct effect *effect)
{
    buf_printf(buf, "%s %s %s/%s", verb, effect->resource->plural, effect->namespace_,
               effect->name);
    if (effect->why)
        buf_printf(buf, " (%s)", effect->why);
}

/* False for metrics. */
static bool outline_effect(const struct tick *tick, struct buf *buf, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_CREATE:
        outline_write(buf, "create", effect);
        return true;
    case EFFECT_PATCH:
        outline_write(buf, "patch", effect);
        return true;
    case EFFECT_DELETE:
        outline_write(buf, "delete", effect);
        return true;
    case EFFECT_STATUS:
        outline_status(buf, effect->body);
        return true;
    case EFFECT_EVENT:
        buf_printf(buf, "event %s", effect->event_type);
        return true;
    case EFFECT_ALERT:
        buf_printf(buf, "alert %s", effect->severity);
        return true;
    case EFFECT_HOOK:
        buf_printf(buf, "hook %s %s", tick->canary->analysis.webhooks[effect->webhook].name,
                   phase_name(effect->phase));
        return true;
    case EFFECT_WEIGHTS:
    case EFFECT_METRIC:
    case EFFECT_OUTCOME:
        return false;
    }
    return false;
}

const char *plan_outline(const struct tick *tick, size_t max)
{
    static const char more[] = "...\n";
    struct buf text, line;
    const char *outline = NULL;

    buf_init(&text, max);
    buf_init(&line, max);
    for (const struct effect *effect = tick->plan->first; effect; effect = effect->next) {
        buf_clear(&line);
        if (!outline_effect(tick, &line, effect))
            continue;
        bool last = !effect->next;
        if (line.truncated || text.len + line.len + 1 + (last ? 0 : strlen(more)) > max) {
            buf_puts(&text, more);
            break;
        }
        buf_puts(&line, "\n");
        buf_add(&text, line.data, line.len);
    }
    if (text.len > 0)
        outline = arena_strdup(tick->arena, text.data);
    buf_fini(&line);
    buf_fini(&text);
    return outline;
}
