/*
 * A status left by Flagger in the middle of a release. Hashes of configs are ours, but the hash of
 * a spec differs between versions of Flagger: a hash that is not the target's may mean that the
 * target changed, or that another version computed it. They are told apart by:
 *
 *   - the primary runs exactly what the target holds: then that is the revision of the status,
 *     whatever its hash;
 *   - our hash of the primary is the one in the status: the hashes are ours, and another one means
 *     another revision;
 *   - the target's template is older than the status: Flagger compares at every tick before it
 *     writes, and in Failed it writes at every tick, so it has seen this target.
 *
 * If none of these applies, the target counts as changed: a revision is analysed once too often
 * rather than lost. A status of our own has a serviceName, which Flagger drops.
 */
#include "decide/takeover.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "decide/release.h"
#include "decide/revision.h"
#include "decide/rules.h"
#include "decide/status.h"
#include "tick/fact.h"

static bool has_other_hash(const struct release *r)
{
    const struct canary_status *status = &r->canary->status;

    return revision_is_flaggers(r) && *status->last_applied_spec &&
           strcmp(r->info.hash, status->last_applied_spec) != 0 &&
           strcmp(r->info.hash, status->last_promoted_spec) != 0;
}

static bool is_our_hash(struct release *r, const char *hash)
{
    const struct canary_status *status = &r->canary->status;

    return *hash && (strcmp(hash, status->last_promoted_spec) == 0 ||
                     strcmp(hash, status->last_applied_spec) == 0);
}

/*
 * The target is older than the status. A tick of Flagger takes a while: a revision pushed during
 * the last one may have been missed. In Failed it hashes when it writes.
 */
static bool is_older_than_status(struct release *r)
{
    int64_t margin = r->phase == PHASE_Failed ? 0 : tick_interval_ms(r->tick);
    int64_t written;
    struct errinfo ei;

    return r->target->untouched_since &&
           clock_parse(r->canary->status.last_transition_time, &written, &ei) == ERR_OK &&
           r->target->untouched_since(r->tick, &r->info, written - margin);
}

/* From here on the status has our hashes; the next round continues with them. */
static enum rule_result adopt(struct release *r, const char *promoted)
{
    if (revision_configs_changed(r))
        status_sync_hash(r);
    else
        status_sync(r);
    if (promoted)
        status_text(r, "lastPromotedSpec", promoted);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* The primary runs what the target holds, while a release is under way or has failed. */
static enum rule_result adopt_what_runs(struct release *r)
{
    if (release_is_analysing(r)) {
        /*
         * An interrupted promotion, or a restored spec: ends like a promotion, with a ready
         * primary.
         */
        status_phase(r, PHASE_Promoting);
        status_weight(r, r->weights.canary);
        event_normal(r, "%s-primary.%s runs the spec of %s already, ending the release",
                     r->canary->target.name, r->canary->namespace_, release_target(r));
        return adopt(r, NULL);
    }
    if (release_is_promoting(r))
        return adopt(r, NULL);
    /* After a failed promotion the primary has a revision that was never analysed while running
     * there.
     */
    return adopt(r, r->canary->status.canary_weight == WEIGHT_ALL ? "" : r->info.hash);
}

enum rule_result takeover_hashes(struct release *r)
{
    bool same;

    if (!has_other_hash(r))
        return RULE_CONTINUE;
    enum rule_result verdict = r->target->compare(r->tick, &r->info, &same);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (same)
        return adopt_what_runs(r);
    /* While promoting, a different primary means that a revision was pushed meanwhile. */
    const char *promoted = takeover_primary_hash(r);
    if (release_is_promoting(r) || is_our_hash(r, promoted) || !is_older_than_status(r))
        return RULE_CONTINUE;
    return adopt(r, r->canary->status.canary_weight == WEIGHT_ALL ? "" : promoted);
}

enum rule_result takeover_names(struct release *r)
{
    takeover_note_names(r);
    return RULE_CONTINUE;
}

const char *takeover_primary_hash(struct release *r)
{
    return r->target->primary_hash ? r->target->primary_hash(r->tick, &r->info) : "";
}

/*
 * These changes are refused during a release (move.c). Otherwise the new objects exist, and the
 * old ones may still be in use.
 */
void takeover_note_names(struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    const char *name = status->service_name;

    if (name && strcmp(name, r->canary->service.name) != 0) {
        event_normal(
            r,
            "spec.service.name: changed from %s to %s; the Services %s, %s-primary and "
            "%s-canary and the routes of that name stay, delete them when nobody uses them",
            name, r->canary->service.name, name, name, name);
        status_text(r, "serviceName", r->canary->service.name);
    }
    if (status->provider && strcmp(status->provider, r->tick->provider) != 0) {
        event_normal(
            r,
            "spec.provider: changed from %s to %s; the routes of %s stay, delete them when "
            "nobody uses them",
            status->provider, r->tick->provider, status->provider);
        status_text(r, "provider", r->tick->provider);
    }
}

static bool is_ours(const struct tick *tick)
{
    const char *named = tick->live->status.controller, *own = tick->settings->controller;

    return named && own && strcmp(named, own) == 0;
}

/* Named in the status; otherwise this process has just replaced it. */
static bool is_named(const struct tick *tick)
{
    const char *named = tick->live->status.controller;

    return named && strcmp(named, tick->peer.lease) == 0;
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
    const struct peer_controller *peer = &tick->peer;
    const char *why = peer->trouble ? arena_printf(tick->arena, " (%s)", peer->trouble) : "";

    plan_event(tick, "Warning", tick->live->status.phase,
               "%s leaves this Canary alone: status.controller names %s, which drives it%s; "
               "--namespace and --watch-selector of the two should not overlap",
               own_name(tick), peer->lease, why);
}

bool driver_leaves(struct tick *tick)
{
    const struct peer_controller *peer = &tick->peer;

    if (!peer->lease || peer->state == PEER_GONE)
        return false;
    tick->plan->requeue = REQUEUE_NEVER;
    if (peer->state == PEER_UNKNOWN)
        return true;
    /* It came back just when this process had replaced it. */
    if (!is_named(tick))
        plan_status(tick, name_patch(tick, peer->lease));
    if (!peer->told)
        tell_overlap(tick);
    return true;
}

/* True if it drove the Canary and no longer does. */
static bool is_to_be_taken(const struct tick *tick)
{
    return tick->peer.lease && is_named(tick);
}

static bool is_to_be_named(const struct tick *tick)
{
    return tick->settings->controller && !is_ours(tick);
}

/* The former controller's lease is checked once more before anything else is done. */
static void claim_alone(struct tick *tick)
{
    const struct peer_controller *peer = &tick->peer;

    tick_reset(tick);
    plan_status(tick, name_patch(tick, tick->settings->controller));
    tick->plan->claims = true;
    tick->plan->requeue = REQUEUE_NOW;
    if (peer->lease)
        plan_event(tick, "Normal", tick->live->status.phase,
                   "%s takes this Canary over: %s, which drove it, no longer does", own_name(tick),
                   peer->lease);
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

/* True if the effect is visible outside of this process. */
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
