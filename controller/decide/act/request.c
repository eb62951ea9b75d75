#include "decide/act/request.h"

#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "decide/release/status.h"
#include "tick/edit.h"

/* The CRD allows no more; requests of before are as many as stay. */
enum { NAME_MAX_BYTES = 253, WHY_MAX_BYTES = 512, KEPT = 5 };

static const char field[] = "requests";

static const char *text_of(struct release *r, struct json_object *object, const char *key,
                           size_t max)
{
    const char *text = json_str_at(object, "spec", key, NULL);

    if (!text)
        return "";
    return strlen(text) > max ? arena_strndup(r->tick->arena, text, utf8_cut(text, max)) : text;
}

static enum verdict read_object(struct release *r, struct json_object **out)
{
    return need_object_if_watched(r->tick, &tick_requests, r->canary->namespace_, r->canary->name,
                                  out)
               ? VERDICT_GO
               : VERDICT_NEED_FACTS;
}

static bool is_noted(const struct release *r, const char *uid)
{
    struct json_object *list = json_at(r->tick->live->status.json, field, NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        const char *found = json_str_at(json_elem(list, i), "uid", NULL);
        if (found && strcmp(found, uid) == 0)
            return true;
    }
    return false;
}

static const char *uid_of(struct json_object *object)
{
    const char *uid = json_str_at(object, "metadata", "uid", NULL);

    return uid ? uid : "";
}

enum verdict request_find(struct release *r, const struct request **out)
{
    struct json_object *object;
    enum verdict verdict = read_object(r, &object);

    *out = NULL;
    if (verdict != VERDICT_GO || !object || is_noted(r, uid_of(object)) ||
        json_at(object, "metadata", "deletionTimestamp", NULL))
        return verdict;
    struct request *request = ARENA_NEW(r->tick->arena, struct request);
    *request = (struct request){.object = object,
                                .uid = uid_of(object),
                                .action = text_of(r, object, "action", NAME_MAX_BYTES),
                                .revision = text_of(r, object, "revision", NAME_MAX_BYTES),
                                .by = text_of(r, object, "by", NAME_MAX_BYTES),
                                .why = text_of(r, object, "why", WHY_MAX_BYTES)};
    *out = request;
    return VERDICT_GO;
}

static void take_away(struct release *r, struct json_object *object)
{
    plan_delete(r->tick, &tick_requests, object);
    plan_why(r->tick, "done with");
}

bool request_clear(struct release *r)
{
    struct json_object *object;

    if (read_object(r, &object) != VERDICT_GO || !object || !is_noted(r, uid_of(object)) ||
        json_at(object, "metadata", "deletionTimestamp", NULL))
        return false;
    take_away(r, object);
    return true;
}

const char *request_who(struct release *r, const struct request *request)
{
    const char *by = *request->by ? request->by : "somebody";

    return *request->why ? arena_printf(r->tick->arena, "%s: %s", by, request->why) : by;
}

static void put(struct json_object *out, const char *key, const char *text)
{
    if (*text)
        json_set_str(out, key, text);
}

/* The last one first. */
static void note(struct release *r, const struct request *request, const char *outcome,
                 const char *sentence)
{
    struct json_object *old = json_at(r->tick->live->status.json, field, NULL);
    struct json_object *list = edit_array(r->tick->arena);
    struct json_object *entry = edit_object(r->tick->arena);
    char now[CLOCK_TEXT];

    put(entry, "uid", request->uid);
    put(entry, "action", request->action);
    put(entry, "revision", request->revision);
    put(entry, "by", request->by);
    put(entry, "why", request->why);
    put(entry, "at", clock_rfc3339(r->tick->now_ms, now));
    put(entry, "outcome", outcome);
    put(entry, "message", sentence);
    json_object_array_add(list, json_object_get(entry));
    for (size_t i = 0; i < json_len(old) && i + 1 < KEPT; i++)
        json_object_array_add(list, json_object_get(json_elem(old, i)));
    status_object(r, field, list);
    release_again(r, AGAIN_NOW);
}

void request_done(struct release *r, const struct request *request, const char *sentence)
{
    note(r, request, "done", sentence);
    release_say(r, "Request %s (%s): %s", request->action, request_who(r, request), sentence);
}

static void tell_refusal(struct release *r, const struct request *request, const char *sentence)
{
    release_warn(r, "Request %s (%s) is refused: %s",
                 *request->action ? request->action : "without an action", request_who(r, request),
                 sentence);
}

void request_refused(struct release *r, const struct request *request, const char *sentence)
{
    note(r, request, "refused", sentence);
    tell_refusal(r, request, sentence);
}

void request_turn_away(struct release *r, const struct request *request, const char *sentence)
{
    take_away(r, request->object);
    tell_refusal(r, request, sentence);
}
