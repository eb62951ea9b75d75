/*
 * Writes that the API server rejects permanently: a name too long with its suffix, a duplicate
 * port, a policy that requires a label. (Flagger retries for ever, without a condition or an alert,
 * whatever the deadline.)
 */
#include "decide/refused_write.h"

#include <string.h>

#include "decide/condition.h"
#include "decide/status.h"
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

/* True if the write concerns the object that the status names; any object if it names none. */
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

static bool is_service(struct json_object *noted)
{
    return is_text(json_str_at(noted, "resource", NULL), kube_services.plural);
}

bool refused_write_is_of_service(const struct release *r)
{
    struct json_object *noted = json_at(r->canary->status.json, FIELD, NULL);
    struct json_object *also = json_at(noted, ALSO, NULL);

    if (is_service(noted))
        return true;
    for (size_t i = 0; i < json_len(also); i++) {
        if (is_service(json_elem(also, i)))
            return true;
    }
    return false;
}

bool refused_write_is_of_target(const struct release *r)
{
    return json_at(r->canary->status.json, FIELD, NULL) &&
           is_of(r, r->target->resource->plural, r->canary->target.name);
}

bool refused_write_is_of(const struct release *r, const char *name)
{
    return condition_is_set(r, CONDITION_WRITES) && json_at(r->canary->status.json, FIELD, NULL) &&
           is_of(r, r->target->resource->plural, name);
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

/* Two writes that are rejected alternately are both recorded: each is reported once, and the end of
 * the release skips both. */
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
    release_requeue(r, REQUEUE_INTERVAL);
    condition_set(r, CONDITION_WRITES, REASON, refused->text);
    note(r, refused);
    if (known)
        return;
    event_warning(r, "The API server refuses a write, which is tried again: %s", refused->text);
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
    int64_t since;

    return condition_since(r, CONDITION_WRITES, REASON, &since) &&
           release_deadline_passed(r, since);
}

/*
 * Removes these writes from the plan, in order; NULL if none. rest: also the writes after the
 * first one, which may depend on it.
 */
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

/*
 * Denied access, usually a role that lacks a permission. The release holds, and a condition and an
 * event give the API server's own words, which name verb, resource, namespace and account. The end
 * of the denial is not announced, so the release retries with growing delays.
 *
 * Problems of the spec are still reported, since they do not depend on permissions. (Flagger only
 * logs all of this.)
 */

/* The wording of the API server for missing permissions, used for no other rejection. */
#define OF_ROLE " cannot "

void denied_hold(struct release *r)
{
    struct tick *tick = r->tick;
    const char *said = tick->denied ? tick->denied : tick->unwritable;

    if (!said) {
        condition_clear(r, CONDITION_ALLOWED);
        return;
    }
    hold_plan(r, tick->plan->first);
    tick->plan->held = true;
    tick->plan->stepped = false;
    release_requeue(r, REQUEUE_INTERVAL);
    condition_hold(r, CONDITION_ALLOWED, "Forbidden",
                   strstr(said, OF_ROLE)
                       ? arena_printf(tick->arena,
                                      "%s; the ClusterRole or Role of that account has to allow it",
                                      said)
                       : said);
}

/*
 * A missing CRD, or one not served in the version that we write. The release holds, and a condition
 * names it. Nothing is written after the object that cannot be created: neither a status that
 * depends on it, nor a report about it.
 *
 * The release continues by itself: the watch of the resource, one for all Canaries, retries from
 * time to time and wakes those that need one of its objects. (Flagger tries, and reports, at every
 * tick.)
 */

static bool is_unserved(const struct release *r, const struct effect *effect)
{
    return effect->kind == EFFECT_CREATE && tick_is_unserved(r->tick, effect->resource);
}

static struct effect *first_unserved(const struct release *r)
{
    for (struct effect *effect = r->tick->plan->first; effect; effect = effect->next) {
        if (is_unserved(r, effect))
            return effect;
    }
    return NULL;
}

static const char *sentence(const struct release *r, const struct kube_resource *resource)
{
    const char *version = kube_api_version(r->tick->arena, resource);
    bool apart = resource->meshed && r->tick->settings->mesh_apart;

    if (!strchr(resource->group, '.'))
        return arena_printf(r->tick->arena,
                            "the API server does not serve %s of %s, which %s needs",
                            resource->plural, version, r->canary->name);
    return arena_printf(
        r->tick->arena,
        "the API server%s does not serve %s of %s: install the CRDs of the provider "
        "%s, or choose another spec.provider",
        apart ? " of the mesh" : "", resource->plural, version, r->tick->provider);
}

void unserved_hold(struct release *r)
{
    struct plan *plan = r->tick->plan;
    const struct effect *missing = first_unserved(r);

    if (!missing)
        return;
    hold_plan(r, missing);
    /* Checked again an interval later; if idle, when the resource becomes served. */
    plan->stepped = r->tick->due && !release_is_idle(r);
    if (r->phase == PHASE_NONE)
        status_phase(r, PHASE_Initializing);
    condition_hold(r, CONDITION_SERVED, "NotServed", sentence(r, missing->resource));
}

void unserved_forgo(struct release *r)
{
    struct plan *plan = r->tick->plan;
    struct effect **last = &plan->first;

    for (struct effect *effect = plan->first; effect; effect = effect->next) {
        if (is_unserved(r, effect)) {
            plan->count--;
            continue;
        }
        *last = effect;
        last = &effect->next;
    }
    *last = NULL;
    plan->last = last;
}

void unserved_clear(struct release *r)
{
    condition_clear(r, CONDITION_SERVED);
}
