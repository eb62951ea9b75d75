/*
 * A name that is too long with its suffix, a port that stands there twice, a policy that wants a label: what is refused
 * once is refused again. (Flagger tries for ever, without a condition or an alert, whatever the deadline says.)
 */
#include "decide/act/refused_write.h"

#include <string.h>

#include "decide/act/hold.h"
#include "decide/release/condition.h"
#include "decide/release/status.h"
#include "tick/edit.h"

#define REASON "Refused"
#define FIELD  "refusedWrite"
#define ALSO   "also"

enum { ALSO_MAX = 16 };

static bool is_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static bool names(struct json_object *noted, const char *resource, const char *name)
{
    return is_text(json_str_at(noted, "resource", NULL), resource) &&
           is_text(json_str_at(noted, "name", NULL), name);
}

/* It is about an object that the status names; where it names none, about any. */
static bool is_of(const struct release *r, const char *resource, const char *name)
{
    struct json_object *noted = json_at(r->canary->status.json, FIELD, NULL);
    struct json_object *also = json_at(noted, ALSO, NULL);

    if (!noted || names(noted, resource, name))
        return true;
    for (size_t i = 0; i < json_len(also); i++) {
        if (names(json_elem(also, i), resource, name))
            return true;
    }
    return false;
}

bool refused_write_is_of_target(const struct release *r)
{
    return json_at(r->canary->status.json, FIELD, NULL) &&
           is_of(r, r->target->resource->plural, r->canary->target.name);
}

static bool plan_has_it(const struct release *r)
{
    for (const struct effect *effect = r->tick->plan->first; effect; effect = effect->next)
        if (effect_writes(effect) && is_of(r, effect->resource->plural, effect->name))
            return true;
    return false;
}

static void keep(struct release *r, struct json_object *list, struct json_object *noted,
                 const struct refused_write *refused)
{
    const char *resource = json_str_at(noted, "resource", NULL);
    const char *name = json_str_at(noted, "name", NULL);
    struct json_object *object = edit_object(r->tick->arena);

    if (!resource || !name || names(noted, refused->resource, refused->name) ||
        json_len(list) == ALSO_MAX)
        return;
    json_set_str(object, "resource", resource);
    json_set_str(object, "name", name);
    json_object_array_add(list, json_object_get(object));
}

/* Two that are refused in turn are both known: each is told once, and the end does without both. */
static void note(struct release *r, const struct refused_write *refused)
{
    struct json_object *object = edit_object(r->tick->arena);
    struct json_object *noted = json_at(r->canary->status.json, FIELD, NULL);
    struct json_object *list = json_own(r->tick->arena, json_object_new_array());
    struct json_object *also = json_at(noted, ALSO, NULL);

    keep(r, list, noted, refused);
    for (size_t i = 0; i < json_len(also); i++)
        keep(r, list, json_elem(also, i), refused);
    json_set_str(object, "resource", refused->resource);
    json_set_str(object, "name", refused->name);
    if (json_len(list) > 0 || also)
        json_set(object, ALSO, json_len(list) > 0 ? list : NULL);
    status_object(r, FIELD, object);
}

void refused_write_forget(struct release *r)
{
    condition_clear(r, CONDITION_WRITES);
    if (json_at(r->canary->status.json, FIELD, NULL))
        status_object(r, FIELD, NULL);
}

static void tell(struct release *r, const struct refused_write *refused)
{
    bool known = condition_has_reason(r, CONDITION_WRITES, REASON) &&
                 is_of(r, refused->resource, refused->name);

    hold_plan(r, r->tick->plan->first);
    r->tick->plan->held = true;
    r->tick->plan->stepped = false;
    release_again(r, AGAIN_INTERVAL);
    condition_set(r, CONDITION_WRITES, REASON, refused->text);
    note(r, refused);
    if (known)
        return;
    release_warn(r, "The API server refuses a write, which is tried again: %s", refused->text);
    plan_alert(r->tick, "error", false, "The API server refuses a write: %s", refused->text);
}

void refused_write_hold(struct release *r)
{
    const struct refused_write *refused = &r->tick->refused_write;

    if (r->tick->denied || r->tick->unwritable)
        return;
    if (refused->text)
        tell(r, refused);
    else if (condition_is_set(r, CONDITION_WRITES) && !r->forgoes &&
             (plan_has_it(r) || r->tick->due))
        refused_write_forget(r);
}

bool refused_write_expired(struct release *r)
{
    int64_t since, deadline = r->canary->progress_deadline_s * (int64_t)1000;

    if (!condition_since(r, CONDITION_WRITES, REASON, &since))
        return false;
    if (since + deadline <= r->tick->now_ms)
        return true;
    release_wake(r, since + deadline - r->tick->now_ms);
    return false;
}

/* Takes them out of the plan, in their order; NULL: there are none. rest: and the writes behind the first
 * one, which may build on it. */
static struct effect *take_out(struct release *r, bool rest)
{
    struct plan *plan = r->tick->plan;
    struct effect **last = &plan->first, *out = NULL, **last_out = &out;

    for (struct effect *effect = plan->first, *next; effect; effect = next) {
        bool refused = effect_writes(effect) &&
                       ((rest && out) || is_of(r, effect->resource->plural, effect->name));
        struct effect ***list = refused ? &last_out : &last;
        next = effect->next;
        effect->next = NULL;
        **list = effect;
        *list = &effect->next;
        plan->count -= refused;
    }
    *last = NULL;
    plan->last = last;
    r->forgoes = r->forgoes || out;
    return out;
}

void refused_write_forgo(struct release *r)
{
    (void)take_out(r, false);
}

void refused_write_set_aside(struct release *r)
{
    r->set_aside = condition_is_set(r, CONDITION_WRITES) ? take_out(r, true) : NULL;
}

void refused_write_put_back(struct release *r)
{
    struct plan *plan = r->tick->plan;

    for (struct effect *effect = r->set_aside, *next; effect; effect = next) {
        next = effect->next;
        effect->next = NULL;
        *plan->last = effect;
        plan->last = &effect->next;
        plan->count++;
    }
    r->set_aside = NULL;
    r->forgoes = false;
}

bool refused_write_keeps(struct release *r, const struct weights *routed)
{
    bool moves = routed->canary != r->weights.canary || routed->mirrored != r->weights.mirrored ||
                 routed->matched != r->weights.matched;

    if (!moves || !condition_is_set(r, CONDITION_WRITES) ||
        !json_at(r->canary->status.json, FIELD, NULL) || !take_out(r, false))
        return false;
    r->weights = *routed;
    r->left = false;
    return true;
}

const char *refused_write_says(const struct release *r)
{
    return condition_message(r, CONDITION_WRITES);
}
