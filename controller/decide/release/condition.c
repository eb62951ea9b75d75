/*
 * The conditions of a Canary. A wait is remembered by one, so that it outlives a restart: its type
 * says what waits, its reason for what, and lastTransitionTime since when. No rule reads the
 * message back.
 */
#include "decide/release/condition.h"

#include <string.h>

#include "base/clock.h"
#include "tick/edit.h"

#define CONDITION(name, type, holds, of_spec) const char name[] = type;
#include "decide/release/conditions.def"
#undef CONDITION

static const struct row {
    const char *type;
    bool holds, of_spec;
} rows[] = {
#define CONDITION(name, type, holds, of_spec) {type, holds, of_spec},
#include "decide/release/conditions.def"
#undef CONDITION
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

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
    return condition_put(r, type, strcmp(type, CONDITION_SUSPENDED) == 0 ? "True" : "False", reason,
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

bool condition_holds(const char *type)
{
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].type, type) == 0)
            return rows[i].holds;
    }
    return true;
}

void condition_keep_spec(struct release *r)
{
    struct json_object *list = conditions(r);
    size_t index;

    r->status = NULL;
    for (int i = 0; i < ROWS; i++) {
        struct json_object *found = condition_of(list, rows[i].type, &index);
        if (!rows[i].of_spec)
            continue;
        if (found)
            condition_put(r, rows[i].type, json_str_at(found, "status", NULL),
                          json_str_at(found, "reason", NULL), json_str_at(found, "message", NULL));
        else
            condition_clear(r, rows[i].type);
    }
}

bool condition_spec_says(struct release *r, const char *text)
{
    size_t index;

    for (int i = 0; i < ROWS; i++) {
        if (rows[i].of_spec &&
            has_text(condition_of(conditions(r), rows[i].type, &index), "message", text))
            return true;
    }
    return false;
}
