/*
 * The status of a Canary (decide/STATUS.md): the rules set fields, the end of the tick
 * plans one patch with those that differ from what the Canary has. canaryWeight is always what is
 * routed.
 */
#include "decide/release/status.h"

#include <string.h>

#include "base/clock.h"
#include "decide/release/affinity.h"
#include "decide/release/release.h"
#include "tick/edit.h"

static struct json_object *fields(struct release *r)
{
    if (!r->status)
        r->status = edit_object(r->tick->arena);
    return r->status;
}

/* conditions as this tick leaves them: a copy of the Canary's, on which the rules work. */
static struct json_object *conditions(struct release *r)
{
    struct json_object *copy = json_at(fields(r), "conditions", NULL);

    if (copy)
        return copy;
    copy = json_copy(r->tick->arena, json_at(r->canary->status.json, "conditions", NULL));
    if (!json_object_is_type(copy, json_type_array))
        copy = edit_array(r->tick->arena);
    json_set(fields(r), "conditions", copy);
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

/* Replaces the condition when status, reason or message change; its transition time only with the
 * status. */
static bool put_condition(struct release *r, const char *type, const char *status,
                          const char *reason, const char *message)
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

void status_phase(struct release *r, enum phase phase)
{
    r->phase = phase;
    json_set_str(fields(r), "phase", phase_name(phase));
    put_condition(r, "Promoted", phase_promoted(phase), phase_name(phase),
                  phase_message(phase, r->tick->kind, r->tick->arena));
}

void status_int(struct release *r, const char *key, int value)
{
    json_set_int(fields(r), key, value);
}

void status_text(struct release *r, const char *key, const char *value)
{
    json_set(fields(r), key, NULL);
    json_set_str(fields(r), key, value);
}

void status_object(struct release *r, const char *key, struct json_object *value)
{
    json_set(fields(r), key, value);
}

static void tell_cookie(struct release *r, const char *key, const char *cookie)
{
    if (cookie || json_at(r->canary->status.json, key, NULL))
        status_text(r, key, cookie);
}

/* The cookies of what is routed. */
static void put_cookies(struct release *r)
{
    const struct canary_affinity *affinity = &r->canary->analysis.affinity;
    struct cookies cookies = affinity_cookies(r, r->weights.canary);

    if (!r->router->session_affinity)
        return;
    tell_cookie(r, "sessionAffinityCookie", cookies.canary);
    if (cookies.primary || !affinity->primary_cookie_name)
        tell_cookie(r, "primarySessionAffinityCookie", cookies.primary);
    if (cookies.previous || !affinity->cookie_name)
        tell_cookie(r, "previousSessionAffinityCookie", cookies.previous);
}

void status_weight(struct release *r, int canary)
{
    bool all = r->canary->analysis.match && release_canary_serves_all(r);

    status_int(r, "canaryWeight", canary);
    if (all != r->canary->status.serves_everything)
        status_text(r, "canaryServes", all ? "everything" : NULL);
    if (canary > 0)
        status_untell(r, CONDITION_DRAINED);
    put_cookies(r);
    plan_weights(r->tick, 100 - canary, canary);
}

/* Our hash, and with it what the routes of this release are made by. */
void status_sync_hash(struct release *r)
{
    status_text(r, "lastAppliedSpec", r->info.hash);
    status_text(r, "provider", r->tick->provider);
    status_text(r, "serviceName", r->canary->service.name);
}

void status_sync(struct release *r)
{
    struct json_object *tracked = json_copy(r->tick->arena, r->info.configs);
    struct json_object *old = r->canary->status.tracked_configs;

    status_sync_hash(r);
    /* Without one of the configs nothing can be said about them: they count as changed when it is
     * there again. */
    if (r->info.missing)
        return;
    if (tracked && json_object_is_type(old, json_type_object)) {
        /* a merge patch removes a config that is no longer named only by saying so */
        json_object_object_foreach(old, key, value)
        {
            (void)value;
            if (!json_at(tracked, key, NULL))
                json_set(tracked, key, NULL);
        }
    }
    json_set(fields(r), "trackedConfigs", tracked);
}

void status_reset(struct release *r)
{
    status_int(r, "failedChecks", 0);
    status_int(r, "iterations", 0);
    status_untell(r, side_condition(SIDE_PRIMARY));
    status_untell(r, side_condition(SIDE_CANARY));
}

bool status_tell(struct release *r, const char *type, const char *reason, const char *message)
{
    return put_condition(r, type, strcmp(type, "Suspended") == 0 ? "True" : "False", reason,
                         message);
}

enum verdict status_hold(struct release *r, const char *type, const char *reason,
                         const char *message)
{
    if (status_tell(r, type, reason, message))
        release_warn(r, "%s", message);
    return VERDICT_STOP;
}

bool status_has(struct release *r, const char *type)
{
    size_t index;

    return condition_of(json_at(r->canary->status.json, "conditions", NULL), type, &index) != NULL;
}

bool status_is(const struct release *r, const char *type, const char *reason)
{
    size_t index;

    return has_text(condition_of(json_at(r->canary->status.json, "conditions", NULL), type, &index),
                    "reason", reason);
}

/* A wait that began so much later than now was written with a clock that was wrong. */
enum { CLOCK_SLACK_MS = 60 * 1000 };

bool status_since(const struct release *r, const char *type, const char *reason, int64_t *since)
{
    size_t index;
    struct json_object *found =
        condition_of(json_at(r->canary->status.json, "conditions", NULL), type, &index);
    const char *time = json_str_at(found, "lastTransitionTime", NULL);

    if (!has_text(found, "reason", reason) || !time || clock_parse(time, since, NULL) != ERR_OK ||
        *since > r->tick->now_ms + CLOCK_SLACK_MS || *since < r->tick->stepped_at_ms)
        return false;
    return true;
}

bool status_time(struct release *r, const char *type, int64_t *since)
{
    size_t index;
    struct json_object *found =
        condition_of(json_at(r->canary->status.json, "conditions", NULL), type, &index);
    const char *time = json_str_at(found, "lastTransitionTime", NULL);

    return time && clock_parse(time, since, NULL) == ERR_OK;
}

const char *status_message(struct release *r, const char *type)
{
    size_t index;
    const char *message =
        json_str_at(condition_of(json_at(r->canary->status.json, "conditions", NULL), type, &index),
                    "message", NULL);

    return message ? message : "";
}

bool status_answer(struct release *r, const char *type, const char *reason, const char *message)
{
    return put_condition(r, type, "True", reason, message);
}

void status_untell(struct release *r, const char *type)
{
    size_t index;

    if (!status_has(r, type))
        return;
    struct json_object *list = conditions(r);
    if (condition_of(list, type, &index))
        json_object_array_del_idx(list, index, 1);
}

void status_forget_waits(struct release *r)
{
    status_untell(r, CONDITION_APPROVED);
    status_untell(r, CONDITION_MEASURED);
    status_text(r, "gate", NULL);
}

/*
 * The spec that was acted on, as a patch of the one that is noted. While the Canary is suspended
 * nothing is: what is edited then is seen as an edit when it is resumed, or deleted. It goes with a
 * status that is written anyway; on its own only where one is noted already. (A CRD that knows no
 * such field drops it, and it would be written for ever.)
 */
static struct json_object *spec_to_note(struct release *r)
{
    struct json_object *noted = r->canary->status.accepted_spec;
    struct json_object *spec = json_at(r->canary->json, "spec", NULL);

    if (r->refused || r->canary->suspend || r->canary->deleting || release_is_initialising(r) ||
        !spec)
        return NULL;
    spec = edit_overlay(r->tick->arena, NULL, spec); /* without nulls */
    if (release_scaler_to_leave(r))
        json_set(spec, "autoscalerRef", release_scaler_to_leave(r));
    return json_merge_diff(r->tick->arena, noted ? noted : edit_object(r->tick->arena), spec);
}

/* What differs from what the Canary has; NULL: nothing. */
static struct json_object *difference(struct release *r)
{
    struct json_object *before = r->canary->status.json;

    if (!r->status)
        return NULL;
    if (!before)
        before = edit_object(r->tick->arena);
    return json_merge_diff(r->tick->arena, before, json_merge(r->tick->arena, before, r->status));
}

void status_write(struct release *r)
{
    struct json_object *patch = edit_object(r->tick->arena);
    struct json_object *diff = difference(r);
    struct json_object *spec = spec_to_note(r);
    char now[CLOCK_TEXT];

    if (!diff && !(spec && r->canary->status.accepted_spec))
        return;
    if (!diff)
        diff = edit_object(r->tick->arena);
    /* A condition that tells something does not move the release. */
    int conditions = json_at(diff, "conditions", NULL) != NULL;
    if (json_object_object_length(diff) > conditions)
        json_set_str(diff, "lastTransitionTime", clock_rfc3339(r->tick->now_ms, now));
    if (spec)
        json_set(diff, "acceptedSpec", spec);
    json_set(patch, "status", diff);
    plan_status(r->tick, patch);
}
