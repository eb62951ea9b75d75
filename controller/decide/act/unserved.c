/*
 * A CRD that is missing, or not served in the version that we write. The release stays where it is,
 * and one condition says what is missing. Nothing is written behind the object that cannot be made:
 * neither a status that counts on it, nor what tells of it.
 *
 * It goes on by itself: the watch of the resource, one for all Canaries, asks for it now and then,
 * and wakes those that wait for an object of it. (Flagger tries, and tells, at every tick.)
 */
#include "decide/act/unserved.h"

#include <string.h>

#include "decide/act/hold.h"
#include "decide/release/condition.h"
#include "decide/release/status.h"

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
    /* Looked at again an interval later; at rest, when the resource is served. */
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
