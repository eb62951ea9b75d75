#include "decide/act/driver.h"

#include <string.h>

#include "base/json.h"
#include "decide/release/status.h"

static bool is_ours(const struct tick *tick)
{
    const char *named = tick->live->status.controller, *own = tick->settings->controller;

    return named && own && strcmp(named, own) == 0;
}

/* It is named in the status; otherwise the Canary was taken over from it. */
static bool is_named(const struct tick *tick)
{
    const char *named = tick->live->status.controller;

    return named && strcmp(named, tick->other.lease) == 0;
}

static struct json_object *name_patch(struct tick *tick, const char *lease)
{
    struct json_object *patch = json_own(tick->arena, json_object_new_object());
    struct json_object *status = json_sub(patch, "status");

    status_complete(status, tick->live->status.json);
    json_set(status, "controller", NULL);
    json_set_str(status, "controller", lease);
    return patch;
}

static const char *own_name(const struct tick *tick)
{
    const char *own = tick->settings->controller;

    return own ? arena_printf(tick->arena, "the controller of the lease %s", own)
               : "this controller, which has no lease,";
}

static void tell_overlap(struct tick *tick)
{
    const struct other_controller *other = &tick->other;
    const char *why = other->trouble ? arena_printf(tick->arena, " (%s)", other->trouble) : "";

    plan_event(tick, "Warning", tick->live->status.phase,
               "%s leaves this Canary alone: status.controller names %s, which drives it%s; "
               "--namespace and --watch-selector of the two should not overlap",
               own_name(tick), other->lease, why);
}

bool driver_leaves(struct tick *tick)
{
    const struct other_controller *other = &tick->other;

    if (!other->lease || other->state == OTHER_GONE)
        return false;
    tick->plan->again = AGAIN_NEVER;
    if (other->state == OTHER_UNKNOWN)
        return true;
    /* It came back in the moment in which the Canary was taken over from it. */
    if (!is_named(tick))
        plan_status(tick, name_patch(tick, other->lease));
    if (!other->told)
        tell_overlap(tick);
    return true;
}

/* It drove the Canary, and does so no more. */
static bool is_to_be_taken(const struct tick *tick)
{
    return tick->other.lease && is_named(tick);
}

static bool is_to_be_named(const struct tick *tick)
{
    return tick->settings->controller && !is_ours(tick);
}

/* The one that is taken over from is looked at once more before anything else is done. */
static void claim_alone(struct tick *tick)
{
    const struct other_controller *other = &tick->other;

    tick_reset(tick);
    plan_status(tick, name_patch(tick, tick->settings->controller));
    tick->plan->claims = true;
    tick->plan->again = AGAIN_NOW;
    if (other->lease)
        plan_event(tick, "Normal", tick->live->status.phase,
                   "%s takes this Canary over: %s, which drove it, does so no more", own_name(tick),
                   other->lease);
}

bool driver_claims_first(struct tick *tick)
{
    const struct need *need = tick->needs;

    while (need && need->kind != NEED_HOOK)
        need = need->next;
    if (!need || !(is_to_be_taken(tick) || (is_to_be_named(tick) && !tick->claimed)))
        return false;
    claim_alone(tick);
    return true;
}

/* It is seen outside of this process. */
static bool is_seen(const struct effect *effect)
{
    return effect->kind != EFFECT_WEIGHTS && effect->kind != EFFECT_METRIC;
}

static bool is_of_canary(const struct effect *effect)
{
    return effect->kind == EFFECT_STATUS || effect->resource == &tick_canaries;
}

static void claim_ahead(struct tick *tick)
{
    struct plan *plan = tick->plan;
    struct effect *rest = plan->first, **last = plan->last;

    plan->first = NULL;
    plan->last = &plan->first;
    plan_status(tick, name_patch(tick, tick->settings->controller));
    *plan->last = rest;
    plan->last = last;
    plan->claims = true;
}

void driver_claim(struct tick *tick)
{
    struct effect *effect = tick->plan->first;

    while (effect && !is_seen(effect))
        effect = effect->next;
    if (effect && is_to_be_taken(tick)) {
        claim_alone(tick);
        return;
    }
    if (!is_to_be_named(tick))
        return;
    while (effect && effect->kind != EFFECT_STATUS && (is_of_canary(effect) || !is_seen(effect)))
        effect = effect->next;
    if (!effect)
        return;
    if (effect->kind == EFFECT_STATUS) {
        json_set_str(json_sub(effect->body, "status"), "controller", tick->settings->controller);
        tick->plan->claims = true;
    } else if (!tick->claimed) {
        claim_ahead(tick);
    }
}
