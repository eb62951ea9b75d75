/*
 * Steps 3 to 14: everything a release needs is there. In every phase what is missing is created and
 * what others changed is repaired; in phase Initializing the traffic is moved from the target to
 * its primary, in an order in which no request is lost: primary ready, apex Service and routes
 * point to it, and only then the target goes to zero. (Flagger scales the target down before the
 * mesh knows the primary.)
 */
#include <stdio.h>
#include <string.h>

#include "decide/act/bystander.h"
#include "decide/act/capacity.h"
#include "decide/act/companions.h"
#include "decide/act/drain.h"
#include "decide/act/leftover.h"
#include "decide/act/lost.h"
#include "decide/act/owners.h"
#include "decide/act/ready.h"
#include "decide/act/share.h"
#include "decide/act/takeover.h"
#include "decide/act/unserved.h"
#include "decide/ask/metrics.h"
#include "decide/release/condition.h"
#include "decide/release/pause.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/scaled.h"
#include "decide/release/serving.h"
#include "decide/release/settled.h"
#include "decide/release/status.h"
#include "decide/rules.h"
#include "router/common_services.h"
#include "target/common_configs.h"
#include "target/common_primary.h"
#include "tick/edit.h"

/* One that was refused or suspended as it was found has that phase, and has not begun. */
enum verdict initialise_begin(struct release *r)
{
    if (!status_not_begun(r))
        return VERDICT_GO;
    status_phase(r, PHASE_Initializing);
    return r->canary->skip_analysis ? VERDICT_GO : metrics_probe(r);
}

enum verdict initialise_target(struct release *r)
{
    /* both before any answer is waited for, so that they are asked together */
    enum verdict scaled = scaled_read(r), verdict = r->target->read(r->tick, &r->info);

    share_note_own(r);
    r->info.target_scaled = r->own_scaler[SIDE_CANARY].object != NULL;
    r->info.primary_scaled = r->own_scaler[SIDE_PRIMARY].object != NULL;
    if (verdict != VERDICT_GO)
        return verdict == VERDICT_STOP ? lost_target(r) : verdict;
    if (scaled != VERDICT_GO)
        return scaled;
    lost_clear(r);
    /* Everything that makes pods waits for their configs; a rollback does not. */
    if (!r->info.missing)
        condition_clear(r, CONDITION_CONFIGURED);
    else if (release_is_initialising(r) || !r->info.primary)
        return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
    return VERDICT_GO;
}

enum verdict initialise_services(struct release *r)
{
    struct service_pods pods = serving_pods(r);
    enum verdict verdict = owners_look(r);

    if (verdict != VERDICT_GO)
        return verdict;
    verdict = r->target->own_services ? r->target->own_services(r->tick, &r->info)
                                      : services_reconcile_sides(r->tick, &pods);

    return verdict == VERDICT_GO && r->router->prepare ? r->router->prepare(r->tick) : verdict;
}

/*
 * Whether a primary may be made from what the target holds now: only from what was analysed. The
 * same spec with other configs is another revision; what was promoted is then known from the copies
 * of the configs, or from a status that has seen no other revision since.
 */
static enum verdict may_become_primary(struct release *r, bool *may)
{
    const struct canary_status *status = &r->canary->status;
    bool promoted = strcmp(r->info.hash, status->last_promoted_spec) == 0;

    *may = true;
    if (release_is_initialising(r))
        return VERDICT_GO;
    if (promoted && !revision_changed(r) &&
        (r->phase == PHASE_Initialized || r->phase == PHASE_Succeeded))
        return VERDICT_GO;
    if (release_is_promoting(r) && !revision_configs_changed(r) &&
        strcmp(r->info.hash, status->last_applied_spec) == 0)
        return VERDICT_GO;
    *may = false;
    return promoted ? configs_compare(r->tick, &r->info, may) : VERDICT_GO;
}

/*
 * The primary is gone, and nothing may take its place: it is told once. There is nobody left to go
 * back to, so that a canary which has a share already and is ready takes the rest.
 */
static enum verdict leave_lost_primary(struct release *r)
{
    const char *why;
    enum verdict verdict = release_read_routes(r);

    if (verdict == VERDICT_GO && r->weights.canary > 0 && !r->info.at_zero &&
        !release_canary_serves_all(r) && release_ready(r, SIDE_CANARY, &why) == READY)
        verdict = release_route_everything(r);
    if (verdict == VERDICT_NEED_FACTS)
        return verdict;
    /* also a step that was routed before, and not told of */
    if (r->router->weighted && r->weights.canary != r->canary->status.canary_weight)
        status_weight(r, r->weights.canary);
    return condition_hold(
        r, CONDITION_PRIMARY, "PrimaryMissing",
        arena_printf(r->tick->arena,
                     "%s-primary.%s is missing and %s holds a revision that was not promoted; "
                     "restore the promoted spec and the primary is made from it",
                     r->canary->target.name, r->canary->namespace_, release_target(r)));
}

/*
 * Nothing is under way, and the primary is scaled to zero: a person, or a timetable, may want that,
 * so that nobody undoes it; but whoever looks at the Canary is told why no one answers. An
 * autoscaler has its own reasons.
 */
static void tell_empty_primary(struct release *r)
{
    const char *text;

    if (!release_is_idle(r) || r->scaler || !r->info.primary || !r->info.primary_at_zero ||
        r->canary->status.canary_weight > 0) {
        condition_clear(r, CONDITION_PRIMARY);
        return;
    }
    text = arena_printf(r->tick->arena,
                        "%s-primary.%s serves %s and is scaled to zero; scale it up, no release "
                        "begins before it is ready",
                        r->canary->target.name, r->canary->namespace_, release_canary(r));
    if (condition_set(r, CONDITION_PRIMARY, "ScaledToZero", text))
        release_warn(r, "%s", text);
}

static const char made_anew[] = "MadeAnew"; /* the reason of PrimaryServes=False */

/*
 * While initialising, the primary that the apex Service leads to already is gone: of a target that
 * was released before, say. What is made of the target now has served nobody. This is written down
 * before it is made: what is found there without this note may have served.
 */
static enum verdict note_made_anew(struct release *r)
{
    bool leads;
    enum verdict verdict = VERDICT_GO;

    if (!release_is_initialising(r) || r->target->own_services || !r->info.label ||
        condition_has_reason(r, CONDITION_SERVES, made_anew))
        return VERDICT_GO;
    verdict = serving_leads(r, &leads);
    if (verdict != VERDICT_GO || !leads)
        return verdict;
    release_again(r, AGAIN_NOW);
    return condition_hold(
        r, CONDITION_SERVES, made_anew,
        arena_printf(
            r->tick->arena,
            "%s-primary.%s is gone, nobody serves %s; it is made anew from %s, and follows "
            "that until it serves",
            r->canary->target.name, r->canary->namespace_, release_canary(r), release_target(r)));
}

/*
 * The revision that a new primary was made from may never get ready. As long as nobody was ever
 * served by it, it follows the target, so that a fix of the target is not waited for in vain.
 * (Flagger: the primary stays as it was made, and has to be deleted by hand.)
 */
static enum verdict follow_target(struct release *r)
{
    const char *why;
    bool led = false, made = condition_has_reason(r, CONDITION_SERVES, made_anew);

    if (made && release_serves(r, SIDE_PRIMARY)) {
        condition_clear(r, CONDITION_SERVES);
        made = false;
    }
    if (!release_is_initialising(r) || r->target->own_services || !r->info.label ||
        r->info.primary_at_zero || release_ready(r, SIDE_PRIMARY, &why) == READY ||
        !edit_is_owned(r->tick, r->info.primary) || r->target->is_promoted(r->tick, &r->info))
        return VERDICT_GO;
    enum verdict verdict = made ? VERDICT_GO : serving_leads(r, &led);
    if (verdict != VERDICT_GO || led)
        return verdict;
    return r->target->promote(r->tick, &r->info);
}

/* A copy without the fields that the API server puts into an object. */
static struct json_object *without_server_fields(struct release *r, struct json_object *seen)
{
    static const char *const fields[] = {"uid",           "resourceVersion",   "generation",
                                         "managedFields", "creationTimestamp", "deletionTimestamp",
                                         "selfLink",      "finalizers",        NULL};
    struct json_object *object = json_copy(r->tick->arena, seen);
    struct json_object *metadata = json_at(object, "metadata", NULL);

    for (const char *const *field = fields; *field; field++)
        json_object_object_del(metadata, *field);
    json_object_object_del(object, "status");
    return object;
}

/*
 * Deleted by mistake, the primary is made again as the watch has last shown it: the same template,
 * selector and number of pods, whatever the target holds by now. While it starts, a canary that is
 * ready takes all traffic (failover.c). STOP: it is planned.
 */
static enum verdict restore_primary(struct release *r)
{
    const char *name = primary_name(r->tick);
    struct json_object *seen;

    if (r->info.primary || r->target->own_services || release_is_initialising(r))
        return VERDICT_GO;
    if (!need_last_seen(r->tick, r->target->resource, r->canary->namespace_, name, &seen))
        return VERDICT_NEED_FACTS;
    if (!seen || !edit_is_owned(r->tick, seen))
        return VERDICT_GO;
    plan_create(r->tick, r->target->resource, r->canary->namespace_,
                without_server_fields(r, seen));
    release_warn(r, "%s.%s was deleted, it is made again as it was", name, r->canary->namespace_);
    condition_clear(r, CONDITION_PRIMARY);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* Another process has seen it last: the cluster keeps the template that was promoted. */
static enum verdict recall_primary(struct release *r)
{
    const char *promoted = r->canary->status.last_promoted_spec;
    struct json_object *primary = NULL;
    enum verdict verdict = r->target->recall && *promoted && !release_is_promoting(r)
                               ? r->target->recall(r->tick, &r->info, promoted, &primary)
                               : VERDICT_GO;

    if (verdict != VERDICT_GO || !primary)
        return verdict;
    plan_create(r->tick, r->target->resource, r->canary->namespace_, primary);
    release_warn(r, "%s.%s is missing, it is made again from revision %s of %s",
                 primary_name(r->tick), r->canary->namespace_, promoted, release_target(r));
    condition_clear(r, CONDITION_PRIMARY);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* Flagger makes a primary that was deleted anew from the target, whatever that holds. */
enum verdict initialise_primary(struct release *r)
{
    bool may = true;
    enum verdict verdict = restore_primary(r);

    if (verdict == VERDICT_GO)
        verdict = r->info.primary ? follow_target(r) : may_become_primary(r, &may);
    if (verdict == VERDICT_GO && !r->info.primary && may)
        verdict = note_made_anew(r);
    if (verdict != VERDICT_GO)
        return verdict;
    if (!may) {
        verdict = recall_primary(r);
        return verdict == VERDICT_GO ? leave_lost_primary(r) : verdict;
    }
    tell_empty_primary(r);
    return r->target->ensure_primary(r->tick, &r->info);
}

/* The primary carries this template (of any revision that the Canary knows) with these configs. */
static bool carries(void *arg, struct json_object *configs)
{
    struct release *r = arg;
    const struct canary_status *status = &r->canary->status;
    const char *hashes[] = {status->last_promoted_spec, status->last_applied_spec, r->info.hash};

    for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
        struct target_info then = {.primary = r->info.primary, .configs = configs};
        snprintf(then.hash, sizeof(then.hash), "%s", hashes[i]);
        if (r->target->is_promoted(r->tick, &then))
            return true;
    }
    return false;
}

/*
 * Pods that run do not miss a copy of a config that somebody has deleted; the next one cannot
 * start. (Flagger makes it anew with the next promotion.)
 */
enum verdict initialise_copies(struct release *r)
{
    const char *lost = NULL;
    enum verdict verdict = VERDICT_GO;

    if (r->info.primary && !release_is_promoting(r))
        verdict = configs_restore(
            r->tick, json_at(r->info.primary, "spec", "template", "spec", NULL), carries, r, &lost);
    if (verdict == VERDICT_NEED_FACTS || !lost) {
        if (verdict == VERDICT_GO)
            condition_clear(r, CONDITION_COPIES);
        return verdict;
    }
    const char *text = arena_printf(
        r->tick->arena,
        "%s is gone, no new pod of %s-primary.%s can start without it, and what it is a copy of "
        "holds something else by now; make it again with what was promoted, or put that back",
        lost, r->canary->target.name, r->canary->namespace_);
    if (condition_set(r, CONDITION_COPIES, "ConfigMissing", text))
        release_warn(r, "%s", text);
    return VERDICT_GO;
}

/*
 * The primary's copy follows the source at any time. (Flagger: only with the next promotion.) The
 * target's own scaler is not paused before the traffic is gone from it: KEDA takes its pods at once
 * then.
 */
enum verdict initialise_scaler(struct release *r)
{
    const char *missing = NULL;
    enum verdict verdict =
        r->scaler ? r->scaler->reconcile_primary(r->tick, capacity_floor(r), &missing) : VERDICT_GO;
    enum verdict held = share_hold(r, capacity_asked(r));
    if (verdict != VERDICT_NEED_FACTS && held != VERDICT_NEED_FACTS)
        capacity_raise(r);
    if (verdict == VERDICT_STOP)
        condition_hold(r, CONDITION_SCALER, "AutoscalerMissing", missing);
    else if (verdict == VERDICT_GO)
        condition_clear(r, CONDITION_SCALER);
    if (held == VERDICT_NEED_FACTS)
        return held;
    /* A scaler that went missing was told; it must not keep a running release from its rollback. */
    return verdict == VERDICT_STOP && !release_is_initialising(r) ? VERDICT_GO : verdict;
}

/* At any time, so that a budget follows what it is a copy of without a release. */
enum verdict initialise_companions(struct release *r)
{
    return companions_copy(r);
}

enum verdict initialise_wait(struct release *r)
{
    if (release_has_writes(r))
        return release_reread(r);
    /* Also with skipAnalysis, and also when waiting is pointless: until a person helps, the target
     * serves. */
    return ready_or_hold(r, SIDE_PRIMARY);
}

enum verdict initialise_apex(struct release *r)
{
    return serving_apex(r);
}

/*
 * Where `match` is taken out of the spec, the share of the matched requests goes to the primary, which may
 * have shrunk to what was left to it: the route stays until that has the pods for all of it, or while a
 * rollback waits for just that.
 */
static enum verdict match_may_go(struct release *r, bool *may)
{
    enum verdict verdict = release_read_routes(r);

    *may = true;
    if (verdict != VERDICT_GO || !r->router->weighted || !r->weights.matched ||
        r->weights.canary == 0 || r->canary->analysis.match)
        return verdict;
    *may = !capacity_is_empty(r);
    if (!*may || (capacity_waits(r, NULL) && !capacity_waits(r, CAPACITY_RESTART))) {
        *may = false;
        return VERDICT_GO;
    }
    return capacity_wait(r, CAPACITY_RESTART);
}

/* Routes that refer to a port follow when the Services that they lead to have it. */
enum verdict initialise_routes(struct release *r)
{
    struct service_pods pods = serving_pods(r);
    struct json_object *old;
    bool adds = false;
    enum verdict verdict =
        r->target->own_services ? VERDICT_GO : services_old_ports(r->tick, &pods, &adds, &old);

    if (verdict != VERDICT_GO || (adds && release_has_writes(r)))
        return verdict;
    bool may;
    verdict = match_may_go(r, &may);
    return verdict == VERDICT_GO && may ? r->router->reconcile(r->tick) : verdict;
}

enum verdict initialise_settle(struct release *r)
{
    enum verdict verdict = release_reread(r);

    if (verdict == VERDICT_GO)
        unserved_clear(r);
    return verdict;
}

/* It is not ours to make it lead elsewhere. */
static void hold_ports(struct release *r, const char *route)
{
    condition_hold(r, CONDITION_PORTS, "OldPortInUse",
                   arena_printf(r->tick->arena,
                                "%s, which %s does not look after, leads to a port that the spec "
                                "no longer says; the port stays until the route is gone or leads "
                                "elsewhere",
                                route, release_canary(r)));
}

/* A primary of one label may pick pods of others, whenever those are made. */
enum verdict initialise_owners(struct release *r)
{
    return r->target->own_services || !r->info.label || !r->info.primary ? VERDICT_GO
                                                                         : owners_look_around(r);
}

/* Nothing refers to a port any more that the spec no longer says. */
enum verdict initialise_ports(struct release *r)
{
    static const struct pause pause = {
        .type = CONDITION_PORTS,
        .reason = "OldPortServed",
        .text = "A port that the spec no longer says is served until it is known everywhere that "
                "the routes have left it",
    };
    struct service_pods pods = serving_pods(r);
    struct json_object *old = NULL;
    const char *route = NULL;
    bool adds;
    enum verdict verdict =
        r->target->own_services ? VERDICT_GO : services_old_ports(r->tick, &pods, &adds, &old);

    if (verdict != VERDICT_GO)
        return verdict;
    if (json_len(old) == 0) {
        condition_clear(r, CONDITION_PORTS);
        return VERDICT_GO;
    }
    verdict = leftover_uses_ports(r, old, &route);
    if (verdict != VERDICT_GO || route) {
        if (route)
            hold_ports(r, route);
        return verdict;
    }
    verdict = pause_pass(r, &pause);
    if (verdict != VERDICT_GO) /* which keeps nothing else from being done */
        return verdict == VERDICT_STOP ? VERDICT_GO : verdict;
    pods.drop_old_ports = true;
    verdict = services_reconcile_sides(r->tick, &pods);
    if (verdict == VERDICT_GO)
        verdict = services_reconcile_apex(r->tick, &pods);
    return verdict == VERDICT_GO ? release_reread(r) : verdict;
}

/* A Service that was there before the Canary keeps the ports that it had. */
static enum verdict tell_found_ports(struct release *r)
{
    struct service_pods pods = serving_pods(r);
    const char *found = NULL;
    enum verdict verdict =
        r->target->own_services ? VERDICT_GO : services_found_ports(r->tick, &pods, &found);

    if (verdict == VERDICT_GO && found)
        release_say(r,
                    "Ports that Services of %s had before stay beside that of the spec: %s; remove "
                    "those that nobody uses",
                    release_canary(r), found);
    return verdict;
}

/* The traffic is on the primary: the target may go, after a pause. */
enum verdict initialise_finish(struct release *r)
{
    enum verdict verdict = settled_or_hold(r);

    if (verdict == VERDICT_GO)
        verdict = release_read_routes(r);
    if (verdict != VERDICT_GO)
        return verdict;
    if (r->weights.canary > 0) {
        verdict = release_route(r, 0);
        return verdict == VERDICT_GO ? release_reread(r) : verdict;
    }
    bool is_same = r->target->is_promoted(r->tick, &r->info);
    if (!is_same)
        verdict = r->target->compare(r->tick, &r->info, &is_same);
    if (verdict == VERDICT_GO)
        verdict = drain_target(r);
    /* The first look; what it finds keeps the target for the time being. */
    if (verdict == VERDICT_GO && bystander_look(r) == VERDICT_NEED_FACTS)
        verdict = VERDICT_NEED_FACTS;
    if (verdict == VERDICT_GO)
        verdict = companions_look(r);
    if (verdict == VERDICT_GO)
        verdict = owners_look_at_pods(r);
    if (verdict == VERDICT_GO)
        verdict = tell_found_ports(r);
    if (verdict != VERDICT_GO)
        return verdict;

    status_phase(r, PHASE_Initialized);
    status_int(r, "canaryWeight", 0);
    status_reset(r);
    if (is_same) {
        status_sync(r);
        status_text(r, "lastPromotedSpec", r->info.hash);
    } else {
        /* The target changed while the primary started, or the primary is older than this Canary
         * and runs something else: the next tick takes the target for a new revision. */
        status_text(r, "lastAppliedSpec", "");
        status_text(r, "lastPromotedSpec", takeover_primary_hash(r));
    }
    release_say(r, "Initialization done! %s", release_canary(r));
    plan_alert(r->tick, "info", true, "New %s detected, initialization completed.", r->tick->kind);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}
