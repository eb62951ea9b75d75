/*
 * The conditions of a Canary. A wait is remembered by one, so that it outlives a restart: its type
 * says what waits, its reason for what, and lastTransitionTime since when. No rule reads the
 * message back.
 */
#include "decide/release/condition.h"

#include <string.h>

#include "base/clock.h"
#include "tick/edit.h"

/* conditions as this tick leaves them: a copy of the Canary's, on which the rules work. */
static struct json_object *conditions(struct release *r)
{
    struct json_object *copy = json_at(release_status(r), "conditions", NULL);

    if (copy)
        return copy;
    copy = json_copy(r->tick->arena, json_at(r->canary->status.json, "conditions", NULL));
    if (!json_object_is_type(copy, json_type_array))
        copy = edit_array(r->tick->arena);
    json_set(release_status(r), "conditions", copy);
    return copy;
}

static struct json_object *condition_of(struct json_object *list, const char *type, size_t *index)
{
    for (*index = 0; *index < json_len(list); (*index)++) {
        const char *found = json_str_at(json_elem(list, *index), "type", NULL);
        if (found && strcmp(found, type) == 0)
            return json_elem(list, *index);
    }
    return NULL;
}

static bool has_text(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

bool condition_put(struct release *r, const char *type, const char *status, const char *reason,
                   const char *message)
{
    struct json_object *list = conditions(r);
    struct json_object *next = edit_object(r->tick->arena);
    char now[CLOCK_TEXT];
    size_t index;
    struct json_object *old = condition_of(list, type, &index);
    const char *since = json_str_at(old, "lastTransitionTime", NULL);

    if (old && has_text(old, "status", status) && has_text(old, "reason", reason) &&
        has_text(old, "message", message))
        return false;
    clock_rfc3339(r->tick->now_ms, now);
    json_set_str(next, "type", type);
    json_set_str(next, "status", status);
    json_set_str(next, "reason", reason);
    json_set_str(next, "message", message);
    json_set_str(next, "lastUpdateTime", now);
    json_set_str(next, "lastTransitionTime",
                 since && has_text(old, "status", status) ? since : now);
    if (old)
        json_object_array_put_idx(list, index, json_object_get(next));
    else
        json_object_array_add(list, json_object_get(next));
    return true;
}

/* The condition that the Canary came with; NULL: none. */
static struct json_object *before(const struct release *r, const char *type)
{
    size_t index;

    return condition_of(json_at(r->canary->status.json, "conditions", NULL), type, &index);
}

bool condition_set(struct release *r, const char *type, const char *reason, const char *message)
{
    return condition_put(r, type, strcmp(type, "Suspended") == 0 ? "True" : "False", reason,
                         message);
}

enum verdict condition_hold(struct release *r, const char *type, const char *reason,
                            const char *message)
{
    if (condition_set(r, type, reason, message))
        release_warn(r, "%s", message);
    return VERDICT_STOP;
}

bool condition_is_set(const struct release *r, const char *type)
{
    return before(r, type) != NULL;
}

bool condition_is_there(const struct release *r, const char *type)
{
    return before(r, type) != NULL;
}

bool condition_has_reason(const struct release *r, const char *type, const char *reason)
{
    return has_text(before(r, type), "reason", reason);
}

/* A wait that began so much later than now was written with a clock that was wrong. */
enum { CLOCK_SLACK_MS = 60 * 1000 };

bool condition_since(const struct release *r, const char *type, const char *reason, int64_t *since)
{
    struct json_object *found = before(r, type);
    const char *time = json_str_at(found, "lastTransitionTime", NULL);

    if (!has_text(found, "reason", reason) || !time || clock_parse(time, since, NULL) != ERR_OK ||
        *since > r->tick->now_ms + CLOCK_SLACK_MS || *since < r->tick->stepped_at_ms)
        return false;
    return true;
}

bool condition_time(const struct release *r, const char *type, int64_t *since)
{
    struct json_object *found = before(r, type);
    const char *time = json_str_at(found, "lastTransitionTime", NULL);

    return time && clock_parse(time, since, NULL) == ERR_OK;
}

const char *condition_message(const struct release *r, const char *type)
{
    const char *message = json_str_at(before(r, type), "message", NULL);

    return message ? message : "";
}

bool condition_set_true(struct release *r, const char *type, const char *reason,
                        const char *message)
{
    return condition_put(r, type, "True", reason, message);
}

void condition_clear(struct release *r, const char *type)
{
    size_t index;

    if (!condition_is_set(r, type))
        return;
    struct json_object *list = conditions(r);
    if (condition_of(list, type, &index))
        json_object_array_del_idx(list, index, 1);
}

void condition_clear_later(struct release *r, const char *type)
{
    r->past = type;
}

void condition_clear_now(struct release *r)
{
    if (r->past)
        condition_clear(r, r->past);
}

static const char *const of_spec[] = {CONDITION_ACCEPTED, CONDITION_IGNORED, CONDITION_ALERTS};
enum { OF_SPEC = sizeof(of_spec) / sizeof(of_spec[0]) };

void condition_keep_spec(struct release *r)
{
    struct json_object *list = conditions(r);
    size_t index;

    r->status = NULL;
    for (int i = 0; i < OF_SPEC; i++) {
        struct json_object *found = condition_of(list, of_spec[i], &index);
        if (found)
            condition_put(r, of_spec[i], json_str_at(found, "status", NULL),
                          json_str_at(found, "reason", NULL), json_str_at(found, "message", NULL));
        else
            condition_clear(r, of_spec[i]);
    }
}

bool condition_spec_says(struct release *r, const char *text)
{
    size_t index;

    for (int i = 0; i < OF_SPEC; i++) {
        if (has_text(condition_of(conditions(r), of_spec[i], &index), "message", text))
            return true;
    }
    return false;
}
