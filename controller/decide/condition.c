/*
 * Conditions of a Canary. A wait is recorded as a condition and so survives a restart: the type
 * names the waiting part, the reason the awaited event, and lastTransitionTime the beginning. No
 * rule reads the message back.
 */
#include "decide/condition.h"

#include <string.h>

#include "base/clock.h"
#include "decide/release.h"
#include "tick/edit.h"

#define CONDITION(name, type, holds, of_spec, bad, kind, words) const char name[] = type;
#include "decide/conditions.def"
#undef CONDITION

static const struct row {
    const char *type;
    bool holds, of_spec;
} rows[] = {
#define CONDITION(name, type, holds, of_spec, bad, kind, words) {type, holds, of_spec},
#include "decide/conditions.def"
#undef CONDITION
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* The conditions as this tick leaves them: a copy that the rules modify. */
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

static bool has_text(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

/* The transition time, corrected if it lies in the future. NULL if missing. */
static const char *time_of(const struct release *r, struct json_object *condition, bool *ahead)
{
    const char *time = json_str_at(condition, "lastTransitionTime", NULL);
    int64_t since;
    char text[CLOCK_TEXT];

    *ahead = time && clock_parse(time, &since, NULL) == ERR_OK && tick_is_ahead(r->tick, since);
    if (!*ahead)
        return time;
    return arena_strdup(r->tick->arena, clock_rfc3339(tick_since(r->tick, since), text));
}

bool condition_put(struct release *r, const char *type, const char *status, const char *reason,
                   const char *message)
{
    struct json_object *list = conditions(r);
    struct json_object *next = edit_object(r->tick->arena);
    char now[CLOCK_TEXT];
    size_t index;
    struct json_object *old = json_find(list, "type", type, &index);
    bool ahead;
    const char *since = time_of(r, old, &ahead);

    if (old && !ahead && has_text(old, "status", status) && has_text(old, "reason", reason) &&
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

/* The condition before this tick; NULL if none. */
static struct json_object *before(const struct release *r, const char *type)
{
    return json_find(json_at(r->canary->status.json, "conditions", NULL), "type", type, NULL);
}

bool condition_set(struct release *r, const char *type, const char *reason, const char *message)
{
    return condition_put(r, type, strcmp(type, CONDITION_SUSPENDED) == 0 ? "True" : "False", reason,
                         message);
}

enum rule_result condition_hold(struct release *r, const char *type, const char *reason,
                                const char *message)
{
    if (condition_set(r, type, reason, message))
        event_warning(r, "%s", message);
    return RULE_DONE;
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

/*
 * Fails for a time in the future unless the clock is known to have been set; the wait then starts
 * anew.
 */
static bool parse_since(const struct release *r, const char *time, int64_t *since)
{
    if (clock_parse(time, since, NULL) != ERR_OK)
        return false;
    if (tick_is_ahead(r->tick, *since) && r->tick->stepped_at_ms == 0)
        return false;
    *since = tick_since(r->tick, *since);
    return true;
}

bool condition_since(const struct release *r, const char *type, const char *reason, int64_t *since)
{
    struct json_object *found = before(r, type);
    const char *time = json_str_at(found, "lastTransitionTime", NULL);

    return has_text(found, "reason", reason) && time && parse_since(r, time, since);
}

bool condition_time(const struct release *r, const char *type, int64_t *since)
{
    struct json_object *found = before(r, type);
    const char *time = json_str_at(found, "lastTransitionTime", NULL);

    return time && parse_since(r, time, since);
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
    if (json_find(list, "type", type, &index))
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

/* Keeps only the conditions about the spec from the status of this tick. */
static void condition_keep_spec(struct release *r)
{
    struct json_object *list = conditions(r);

    r->status = NULL;
    for (int i = 0; i < ROWS; i++) {
        struct json_object *found = json_find(list, "type", rows[i].type, NULL);
        if (!rows[i].of_spec)
            continue;
        if (found)
            condition_put(r, rows[i].type, json_str_at(found, "status", NULL),
                          json_str_at(found, "reason", NULL), json_str_at(found, "message", NULL));
        else
            condition_clear(r, rows[i].type);
    }
}

/* True if one of them has this message at the end of this tick. */
static bool condition_spec_says(struct release *r, const char *text)
{
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].of_spec &&
            has_text(json_find(conditions(r), "type", rows[i].type, NULL), "message", text))
            return true;
    }
    return false;
}

/*
 * The pause between leading traffic away from pods and removing them. Proxies and nodes learn of a
 * changed route or selector with a delay. So
 *
 *   written -> the mesh reports it applied -> a whole interval -> removed.
 *
 * The interval covers components that do not report: nodes, and proxies behind a gateway. A mesh
 * without reports (plain Services) is not waited for: the interval counts from the write, and
 * nothing is written twice.
 *
 * A condition records the pause across restarts: with one reason while waiting for the mesh, with
 * another, and its own transition time, while the interval counts. A mesh that withdraws its
 * report leads back to the first.
 */

static const char pending[] = "RoutesPending"; /* reason while waiting for the mesh */

static void tell(struct release *r, const struct pause *pause, bool counts)
{
    condition_clear(r, pause->type); /* otherwise its time would stay */
    if (!counts)
        condition_set(r, pause->type, pending, "The mesh has not taken over the routes yet.");
    else if (pause->done)
        condition_set_true(r, pause->type, pause->reason, pause->text);
    else
        condition_set(r, pause->type, pause->reason, pause->text);
}

static enum rule_result ask_mesh(struct release *r, const struct pause *pause, bool *has_taken_over)
{
    const char *why;
    enum rule_result verdict = pause->unasked ? RULE_CONTINUE : release_routes_settled(r, &why);

    *has_taken_over = verdict == RULE_CONTINUE;
    return verdict == RULE_NEEDS_FACTS ? verdict : RULE_CONTINUE;
}

enum rule_result pause_begin(struct release *r, const struct pause *pause)
{
    bool counts;
    enum rule_result verdict = ask_mesh(r, pause, &counts);

    if (verdict == RULE_CONTINUE)
        tell(r, pause, counts);
    return verdict;
}

enum rule_result pause_note(struct release *r, const struct pause *pause)
{
    int64_t since;
    bool counts;
    enum rule_result verdict = ask_mesh(r, pause, &counts);

    if (verdict == RULE_CONTINUE &&
        !condition_since(r, pause->type, counts ? pause->reason : pending, &since))
        tell(r, pause, counts);
    return verdict;
}

/* Waits for the mesh. A wait of more than an interval is reported. */
static enum rule_result wait_for_mesh(struct release *r, const struct pause *pause)
{
    int64_t since, interval = tick_interval_ms(r->tick);
    const char *why;

    release_requeue_within(r, interval);
    if (!condition_since(r, pause->type, pending, &since) || since + interval > r->tick->now_ms)
        return RULE_DONE;
    enum rule_result verdict = release_routes_settled(r, &why);
    return verdict == RULE_DONE ? condition_hold(r, pause->type, pending, why) : verdict;
}

int64_t pause_left_ms(struct release *r, const struct pause *pause)
{
    int64_t since, rest = 0;

    if (condition_since(r, pause->type, pause->reason, &since))
        rest = since + tick_interval_ms(r->tick) + pause->more_ms - r->tick->now_ms;
    return rest > 0 ? rest : 0;
}

enum rule_result pause_pass(struct release *r, const struct pause *pause)
{
    int64_t since = r->tick->now_ms, rest = tick_interval_ms(r->tick) + pause->more_ms;
    bool counts;
    enum rule_result verdict = pause_note(r, pause);

    if (verdict == RULE_CONTINUE)
        verdict = ask_mesh(r, pause, &counts);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!counts)
        return wait_for_mesh(r, pause);
    if (condition_since(r, pause->type, pause->reason, &since))
        rest -= r->tick->now_ms - since;
    if (rest <= 0)
        return RULE_CONTINUE;
    release_requeue_within(r, rest);
    return RULE_DONE;
}

enum rule_result settled_or_hold(struct release *r)
{
    const char *why;
    enum rule_result verdict = release_routes_settled(r, &why);

    if (verdict == RULE_CONTINUE)
        condition_clear(r, CONDITION_ROUTES);
    if (verdict != RULE_DONE || !r->tick->due)
        return verdict;
    r->tick->plan->stepped = true; /* check again an interval later */
    /* a sentence about a user's route begins with the field that names it */
    return condition_hold(
        r, CONDITION_ROUTES,
        strncmp(why, "spec.", strlen("spec.")) == 0 ? "RouteUnfit" : "RoutesPending", why);
}

void blocked_note(struct release *r)
{
    static const char blocked[] = "RoutesBlocked";
    const char *why = r->tick->plan->blocked;

    if (!r->tick->due)
        return; /* the finding of the last step remains */
    if (why)
        condition_set(r, CONDITION_ROUTES, blocked, why);
    else if (condition_has_reason(r, CONDITION_ROUTES, blocked))
        condition_clear(r, CONDITION_ROUTES);
}

void hold_plan(struct release *r, const struct effect *end)
{
    struct plan *plan = r->tick->plan;
    struct effect *effect = plan->first;
    bool before = true;

    condition_keep_spec(r);
    plan->last = &plan->first;
    plan->count = 0;
    for (; effect; effect = effect->next) {
        before = before && effect != end;
        if (!(before && effect_writes(effect)) &&
            !(effect->kind == EFFECT_EVENT && condition_spec_says(r, effect->text)))
            continue;
        plan->count++;
        *plan->last = effect;
        plan->last = &effect->next;
    }
    *plan->last = NULL;
    plan->begins = plan->queues = false;
    plan->wake_ms = 0;
    r->requeue_given = false;
    r->phase = r->canary->status.phase;
}
