/*
 * The status of a Canary (decide/STATUS.md): rules set fields, and the end of the tick plans one
 * patch with those that differ from the Canary's. canaryWeight is always the routed weight.
 */
#include "decide/status.h"

#include <string.h>

#include "base/clock.h"
#include "decide/bake.h"
#include "decide/condition.h"
#include "decide/history.h"
#include "decide/release.h"
#include "tick/edit.h"

#define NOT_BEGUN "NotBegun" /* reason of Promoted=Unknown */

/* As in Flagger's first status, for clients that do not check whether fields exist. */
static void put_counts(struct json_object *status, struct json_object *before)
{
    static const char *const counts[] = {"canaryWeight", "failedChecks", "iterations"};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (!json_at(before, counts[i], NULL) && !json_at(status, counts[i], NULL))
            json_set_int(status, counts[i], 0);
}

void status_complete(struct json_object *status, struct json_object *before)
{
    if (phase_parse(json_str_at(before, "phase", NULL)) == PHASE_NONE &&
        !json_str_at(status, "phase", NULL))
        json_set_str(status, "phase", phase_name(PHASE_Initializing));
    put_counts(status, before);
}

bool status_not_begun(const struct release *r)
{
    return r->phase == PHASE_NONE || !condition_is_there(r, CONDITION_PROMOTED) ||
           condition_has_reason(r, CONDITION_PROMOTED, NOT_BEGUN);
}

void status_phase(struct release *r, enum phase phase)
{
    json_set_str(release_status(r), "phase", phase_name(phase));
    if (r->phase == PHASE_NONE)
        put_counts(release_status(r), NULL);
    r->phase = phase;
    if (phase == PHASE_Failed || phase == PHASE_Succeeded)
        condition_clear(r, CONDITION_OUTRUN);
    if (phase != PHASE_Failed && phase != PHASE_WaitingPromotion)
        condition_clear(r, CONDITION_CHECKS); /* in a failed release it has the reason */
    condition_put(r, CONDITION_PROMOTED, phase_promoted(phase), phase_name(phase),
                  phase_message(phase, r->tick->kind, r->tick->arena));
}

void status_int(struct release *r, const char *key, int value)
{
    json_set_int(release_status(r), key, value);
}

void status_text(struct release *r, const char *key, const char *value)
{
    json_set(release_status(r), key, NULL);
    json_set_str(release_status(r), key, value);
}

void status_object(struct release *r, const char *key, struct json_object *value)
{
    json_set(release_status(r), key, value);
}

static void tell_cookie(struct release *r, const char *key, const char *cookie)
{
    if (cookie || json_at(r->canary->status.json, key, NULL))
        status_text(r, key, cookie);
}

/* The cookies of the current routes. */
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

void status_share(struct release *r, int canary)
{
    weight_to_status(r->tick->arena, release_status(r), r->canary->status.json, canary);
}

void status_weight(struct release *r, int canary)
{
    bool all = r->canary->analysis.match && release_canary_serves_all(r);

    status_share(r, canary);
    if (all != r->canary->status.serves_everything)
        status_text(r, "canaryServes", all ? "everything" : NULL);
    if (canary > 0)
        condition_clear(r, CONDITION_DRAINED);
    else if (json_at(r->canary->status.json, "canaryPods", NULL))
        status_object(r, "canaryPods", NULL);
    put_cookies(r);
    plan_weights(r->tick, WEIGHT_ALL - canary, canary);
}

/* True if the spec that this status follows has `match`. */
static bool had_match(const struct release *r)
{
    struct json_object *before = r->canary->status.accepted_spec;
    struct json_object *analysis = json_at(before, "analysis", NULL);

    if (!analysis)
        analysis = json_at(before, "canaryAnalysis", NULL);
    return json_len(json_at(analysis, "match", NULL)) > 0;
}

bool status_weight_was_matched(const struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    return r->canary->status.canary_weight > 0 && !r->canary->status.serves_everything &&
           (!analysis->match || analysis->match_step) && had_match(r);
}

/* Our own hash, and with it the provider of this release's routes. */
void status_sync_hash(struct release *r)
{
    status_text(r, "lastAppliedSpec", r->info.hash);
    if (json_at(r->canary->status.json, "steer", "restart", NULL)) /* the release has begun */
        json_set(json_sub(release_status(r), "steer"), "restart", NULL);
    status_text(r, "provider", r->tick->provider);
    status_text(r, "serviceName", r->canary->service.name);
}

void status_sync(struct release *r)
{
    struct json_object *tracked = json_copy(r->tick->arena, r->info.configs);
    struct json_object *old = r->canary->status.tracked_configs;

    status_sync_hash(r);
    /*
     * While a config is missing, nothing is known about the configs: they count as changed when it
     * is back.
     */
    if (r->info.missing)
        return;
    if (tracked && json_object_is_type(old, json_type_object)) {
        /* a merge patch removes a config only by an explicit null */
        json_object_object_foreach(old, key, value)
        {
            (void)value;
            if (!json_at(tracked, key, NULL))
                json_set(tracked, key, NULL);
        }
    }
    json_set(release_status(r), "trackedConfigs", tracked);
}

void status_reset(struct release *r)
{
    status_int(r, "failedChecks", 0);
    status_int(r, "iterations", 0);
    if (json_at(r->canary->status.json, "prepared", NULL))
        status_text(r, "prepared", NULL);
    condition_clear(r, side_condition(SIDE_PRIMARY));
    condition_clear(r, side_condition(SIDE_CANARY));
    condition_clear(r, CONDITION_ROUTES);
    condition_clear(r, CONDITION_SHARES);
    condition_clear(r, CONDITION_ROLLED_BACK);
}

void status_forget_waits(struct release *r)
{
    condition_clear(r, CONDITION_APPROVED);
    condition_clear(r, CONDITION_MEASURED);
    condition_clear(r, CONDITION_JUDGED);
    condition_clear(r, CONDITION_TURN);
    condition_clear(r, CONDITION_SCHEDULED);
    condition_clear(r, CONDITION_ROLLBACK_ASKED);
    condition_clear(r, CONDITION_SHARE);
    condition_clear(r, CONDITION_POSSIBLE);
    status_text(r, "gate", NULL);
}

/* A target that still has requested pods keeps the record of its own number until they are gone:
 * another release may begin on them. */
static bool has_requested_pods(const struct release *r)
{
    return release_is_sized(r) && r->info.object && !r->info.at_zero && r->info.own_replicas > 0;
}

void status_forget_capacity(struct release *r)
{
    if (!has_requested_pods(r) && json_at(r->canary->status.json, "canaryCapacity", NULL))
        status_object(r, "canaryCapacity", NULL);
}

/*
 * The spec that was acted on, as a patch of the recorded one. While the Canary is suspended it is
 * not recorded: edits made then are detected when it is resumed, or deleted. It is written with a
 * status that is written anyway; on its own only if one is recorded already. (A CRD without the
 * field would drop it, and it would be written again for ever.)
 */
static struct json_object *spec_to_note(struct release *r)
{
    struct json_object *noted = r->canary->status.accepted_spec;
    struct json_object *spec = json_at(r->canary->json, "spec", NULL);

    if (r->refused || r->canary->suspend || r->canary->deleting || release_is_initialising(r) ||
        !spec)
        return NULL;
    /* until the weight is gone, the accepted spec shows which requests it applies to */
    if (status_weight_was_matched(r) && json_int_at(r->status, 1, "canaryWeight", NULL) > 0)
        return NULL;
    spec = edit_overlay(r->tick->arena, NULL, spec); /* without nulls */
    if (release_scaler_to_leave(r))
        json_set(spec, "autoscalerRef", release_scaler_to_leave(r));
    return json_merge_diff(r->tick->arena, noted ? noted : edit_object(r->tick->arena), spec);
}

/* The fields that differ from the Canary's; NULL if there are none. */
static struct json_object *difference(struct release *r)
{
    struct json_object *before = r->canary->status.json;

    if (!r->status)
        return NULL;
    if (!before)
        before = edit_object(r->tick->arena);
    return json_merge_diff(r->tick->arena, before, json_merge(r->tick->arena, before, r->status));
}

bool status_differs(struct release *r)
{
    return difference(r) != NULL;
}

/* True if the difference is more than a reporting condition, an alert, or a sample. */
static bool is_moved_by(struct json_object *diff)
{
    int tells = json_at(diff, "conditions", NULL) != NULL;

    tells += json_object_object_get_ex(diff, "pendingAlerts", NULL);
    tells += json_object_object_get_ex(diff, "judge", NULL);
    return json_object_object_length(diff) > tells;
}

bool status_moves(struct release *r)
{
    struct json_object *diff = difference(r);

    return diff && is_moved_by(diff);
}

/* The judge's evidence is about one analysis of one revision under this spec. */
static void forget_evidence(struct release *r)
{
    const char *applied = json_str_at(r->status, "lastAppliedSpec", NULL);
    bool same = !applied || strcmp(applied, r->canary->status.last_applied_spec) == 0;

    if (json_at(r->canary->status.json, "judge", NULL) == NULL &&
        json_at(r->status, "judge", NULL) == NULL)
        return;
    if (!release_is_analysing(r) || r->cancelled || !same || !r->canary->analysis.judge.given)
        status_object(r, "judge", NULL);
}

/* A step belongs to a release that is being analysed or promoted. */
static void forget_step(struct release *r)
{
    if (json_at(r->canary->status.json, "step", NULL) && (!release_is_analysing(r) || r->cancelled))
        status_object(r, "step", NULL);
    if (json_at(r->canary->status.json, "promotionStep", NULL) && r->phase != PHASE_Promoting)
        status_object(r, "promotionStep", NULL);
    if (json_at(r->canary->status.json, "rollbackStep", NULL) && !release_is_analysing(r) &&
        !release_is_promoting(r))
        status_object(r, "rollbackStep", NULL);
}

/* Also for the first status of a Canary that is refused or suspended when first seen. */
static struct json_object *complete(struct release *r)
{
    status_complete(release_status(r), r->canary->status.json);
    if (r->phase == PHASE_NONE)
        condition_put(r, CONDITION_PROMOTED, phase_promoted(PHASE_Initializing), NOT_BEGUN,
                      "nothing was initialised yet");
    return difference(r);
}

void status_write(struct release *r)
{
    struct json_object *patch = edit_object(r->tick->arena);
    forget_evidence(r);
    forget_step(r);
    bake_forget(r);
    struct json_object *diff = difference(r);
    struct json_object *spec = spec_to_note(r);
    char now[CLOCK_TEXT];

    if (!diff && !(spec && r->canary->status.accepted_spec))
        return;
    if (!diff)
        diff = edit_object(r->tick->arena);
    else
        diff = complete(r);
    if (is_moved_by(diff)) {
        condition_clear_now(r);
        history_write(r);
        diff = difference(r);
        json_set_str(diff, "lastTransitionTime", clock_rfc3339(r->tick->now_ms, now));
    }
    if (spec)
        json_set(diff, "acceptedSpec", spec);
    json_set(patch, "status", diff);
    plan_status(r->tick, patch);
}
