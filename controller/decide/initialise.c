/*
 * Everything that a release needs. In every phase, missing objects are created and changed ones
 * repaired; in phase Initializing the traffic moves from the target to its primary, in an order
 * that loses no request: primary ready, apex Service and routes lead to it, and only then the
 * target goes to zero. (Flagger scales the target down before the mesh knows the primary.)
 */
#include "decide/rules.h"

#include <stdio.h>
#include <string.h>

#include "decide/capacity.h"
#include "decide/companions.h"
#include "decide/condition.h"
#include "decide/foreign.h"
#include "decide/leftover.h"
#include "decide/metrics.h"
#include "decide/promote.h"
#include "decide/refused_write.h"
#include "decide/release.h"
#include "decide/revision.h"
#include "decide/rollback.h"
#include "decide/serving.h"
#include "decide/share.h"
#include "decide/status.h"
#include "decide/takeover.h"
#include "notify/notify.h"
#include "router/shared/services.h"
#include "target/shared/configs.h"
#include "target/shared/primary.h"
#include "tick/edit.h"

/*
 * The target was deleted, or can no longer be released, and the pods for the canary's share are
 * gone with it: the share goes to the primary. A complete promotion is finished. Everything else
 * needs the target, which may be about to be recreated: the release waits for it until the progress
 * deadline, and then fails. The condition TargetFound=False records the beginning. (Flagger reports
 * it at every tick, for ever.)
 */

static const char missing[] = "TargetMissing", unusable[] = "TargetUnusable";

static enum rule_result take_share(struct release *r)
{
    enum rule_result verdict = release_read_routes(r);

    if (verdict == RULE_CONTINUE)
        verdict = release_route(r, 0);
    /* also a share that was routed before and not reported */
    if (verdict == RULE_CONTINUE && r->canary->status.canary_weight > 0)
        status_weight(r, 0);
    return verdict;
}

static enum rule_result expire(struct release *r, const char *reason)
{
    int64_t since;

    if (!condition_since(r, CONDITION_TARGET, reason, &since))
        since = r->tick->now_ms;
    if (!release_deadline_passed(r, since))
        return RULE_DONE;
    event_warning(r, "Rolling back %s there has been no target for %d seconds", release_canary(r),
                  r->canary->progress_deadline_s);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded, there is no target");
    condition_clear(r, CONDITION_DRAINED);
    return rollback_run(r, false);
}

static enum rule_result end_promotion(struct release *r, const char *reason)
{
    enum carried carried = CARRIED_ALL;
    enum rule_result verdict = RULE_CONTINUE;

    if (!r->info.primary)
        return expire(r, reason);
    if (r->target->carried || promote_is_being_written(r))
        verdict = promote_carried(r, &carried);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (carried == CARRIED_ALL) {
        verdict = ready_or_end(r, SIDE_PRIMARY);
        if (verdict != RULE_CONTINUE)
            return verdict;
        condition_clear(r, CONDITION_WHOLE);
        condition_clear(r, CONDITION_DRAINED);
        return shift_end(r);
    }
    verdict = expire(r, reason);
    if (r->phase == PHASE_Failed && carried == CARRIED_PART)
        promote_give_up(r);
    else if (r->phase == PHASE_Failed)
        condition_clear(r, CONDITION_WHOLE);
    return verdict;
}

enum rule_result lost_target(struct release *r)
{
    const char *reason = r->info.object ? unusable : missing;

    if (condition_set(r, CONDITION_TARGET, reason, r->info.unusable))
        event_warning(r, "%s", r->info.unusable);
    if (release_is_initialising(r))
        return RULE_DONE;
    r->info.object = NULL; /* its replacement is not touched */
    enum rule_result verdict = take_share(r);
    if (verdict == RULE_CONTINUE && r->refused && release_is_analysing(r))
        verdict = refusal_expire(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (release_is_promoting(r))
        return end_promotion(r, reason);
    return release_is_analysing(r) ? expire(r, reason) : RULE_DONE;
}

/* The target exists: clears the condition. */
static void lost_clear(struct release *r)
{
    condition_clear(r, CONDITION_TARGET);
}

/* A Canary that was refused or suspended when first seen has that phase too, and has not begun. */
enum rule_result initialise_begin(struct release *r)
{
    if (!status_not_begun(r))
        return RULE_CONTINUE;
    status_phase(r, PHASE_Initializing);
    return r->canary->skip_analysis ? RULE_CONTINUE : metrics_probe(r);
}

enum rule_result initialise_target(struct release *r)
{
    /* both before waiting for an answer, so that they are fetched together */
    enum rule_result scaled = scaled_read(r), verdict = r->target->read(r->tick, &r->info);

    share_note_own(r);
    r->info.target_scaled = r->own_scaler[SIDE_CANARY].object != NULL;
    r->info.primary_scaled = r->own_scaler[SIDE_PRIMARY].object != NULL;
    if (verdict != RULE_CONTINUE)
        return verdict == RULE_DONE ? lost_target(r) : verdict;
    if (scaled != RULE_CONTINUE)
        return scaled;
    lost_clear(r);
    /* Everything that creates pods waits for their configs; a rollback does not. */
    if (!r->info.missing)
        condition_clear(r, CONDITION_CONFIGURED);
    else if (release_is_initialising(r) || !r->info.primary)
        return condition_hold(r, CONDITION_CONFIGURED, "ConfigMissing", r->info.missing);
    return RULE_CONTINUE;
}

enum rule_result initialise_services(struct release *r)
{
    struct service_pods pods = serving_pods(r);
    enum rule_result verdict = owners_check(r);

    if (verdict != RULE_CONTINUE)
        return verdict;
    verdict = r->target->own_services ? r->target->own_services(r->tick, &r->info)
                                      : services_reconcile_sides(r->tick, &pods);

    if (verdict == RULE_CONTINUE && !r->target->own_services && refused_write_is_of_service(r))
        verdict = services_keep_port(r->tick);
    return verdict == RULE_CONTINUE && r->router->prepare ? r->router->prepare(r->tick) : verdict;
}

/*
 * True if the target's current revision may become the primary: only if it was analysed. The same
 * spec with other configs is another revision; the copies of the configs, or a status without a
 * later revision, then show whether it is the promoted one.
 */
static enum rule_result may_become_primary(struct release *r, bool *may)
{
    const struct canary_status *status = &r->canary->status;
    bool promoted = strcmp(r->info.hash, status->last_promoted_spec) == 0;

    *may = true;
    if (release_is_initialising(r))
        return RULE_CONTINUE;
    if (promoted && !revision_changed(r) &&
        (r->phase == PHASE_Initialized || r->phase == PHASE_Succeeded))
        return RULE_CONTINUE;
    if (release_is_promoting(r) && !revision_configs_changed(r) &&
        strcmp(r->info.hash, status->last_applied_spec) == 0)
        return RULE_CONTINUE;
    *may = false;
    return promoted ? configs_compare(r->tick, &r->info, may) : RULE_CONTINUE;
}

/* Without a primary there is no way back: a ready canary with a share takes all traffic. *moved:
 * true if it did not have it yet. */
static enum rule_result serve_by_canary(struct release *r, bool *moved)
{
    const char *why;
    enum rule_result verdict = release_read_routes(r);

    *moved = false;
    if (verdict == RULE_CONTINUE && r->weights.canary > 0 && !r->info.at_zero &&
        !release_canary_serves_all(r) &&
        (release_ready(r, SIDE_CANARY, &why) == READY || share_grows(r))) {
        verdict = release_route_everything(r);
        *moved = true;
    }
    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    if (release_canary_serves_all(r))
        share_take_all(r);
    /* also a step that was routed before and not reported */
    if (r->router->weighted && r->weights.canary != r->canary->status.canary_weight) {
        status_weight(r, r->weights.canary);
        *moved = true;
    }
    return RULE_CONTINUE;
}

/*
 * The primary is gone and may not be recreated: reported once. Every change that could permit it
 * wakes the Canary, except the return of former revisions: these are listed again now and then, but
 * not at each interval.
 */
static enum rule_result leave_lost_primary(struct release *r)
{
    enum { RECALL_MS = 60 * 1000 };
    bool moved;

    if (serve_by_canary(r, &moved) == RULE_NEEDS_FACTS)
        return RULE_NEEDS_FACTS;
    if (!moved && !release_is_idle(r) &&
        condition_has_reason(r, CONDITION_PRIMARY, "PrimaryMissing")) {
        release_requeue(r, REQUEUE_NEVER);
        release_requeue_within(r, RECALL_MS);
    }
    return condition_hold(
        r, CONDITION_PRIMARY, "PrimaryMissing",
        arena_printf(r->tick->arena,
                     "%s-primary.%s is missing and %s holds a revision that was not promoted; "
                     "restore the promoted spec and the primary is made from it",
                     r->canary->target.name, r->canary->namespace_, release_target(r)));
}

/*
 * Without a release, a primary scaled to zero may be intended, by a person or a schedule, and is
 * left alone; but the status explains why no pod answers. An autoscaler has its own reasons.
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
        event_warning(r, "%s", text);
}

static const char made_anew[] = "MadeAnew"; /* reason of PrimaryServes=False */

/*
 * While initialising, the primary behind the apex Service is gone, for example that of a formerly
 * released target. A primary made from the target now has never served. That is recorded before it
 * is made: a primary found without this record may have served.
 */
static enum rule_result note_made_anew(struct release *r)
{
    bool leads;
    enum rule_result verdict = RULE_CONTINUE;

    if (!release_is_initialising(r) || r->target->own_services || !r->info.label ||
        condition_has_reason(r, CONDITION_SERVES, made_anew))
        return RULE_CONTINUE;
    verdict = serving_leads(r, &leads);
    if (verdict != RULE_CONTINUE || !leads)
        return verdict;
    release_requeue(r, REQUEUE_NOW);
    return condition_hold(r, CONDITION_SERVES, made_anew,
                          arena_printf(r->tick->arena,
                                       "%s-primary.%s is gone, nobody serves %s; it is recreated "
                                       "from %s, and follows that until it serves",
                                       r->canary->target.name, r->canary->namespace_,
                                       release_canary(r), release_target(r)));
}

/*
 * The revision of a new primary may never get ready. As long as it has not served, it follows the
 * target, so that fixing the target helps. (In Flagger the primary stays as it was created and must
 * be deleted by hand.)
 */
static enum rule_result follow_target(struct release *r)
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
        return RULE_CONTINUE;
    enum rule_result verdict = made ? RULE_CONTINUE : serving_leads(r, &led);
    if (verdict != RULE_CONTINUE || led)
        return verdict;
    return r->target->promote(r->tick, &r->info);
}

/* A copy without the fields that the API server sets. */
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
 * Plans to make the primary again. DONE: nothing else is decided without the primary. While the API
 * server refuses it, the traffic is moved first, in a tick of its own, so that its status is
 * written.
 */
static enum rule_result make_again(struct release *r, struct json_object *primary, const char *text)
{
    bool refused = refused_write_is_of(r, primary_name(r->tick)), moved = false;

    if (refused && serve_by_canary(r, &moved) == RULE_NEEDS_FACTS)
        return RULE_NEEDS_FACTS;
    release_requeue(r, refused && !moved ? REQUEUE_INTERVAL : REQUEUE_NOW);
    r->forgoes = r->forgoes || moved;
    if (moved)
        return RULE_DONE;
    plan_create(r->tick, r->target->resource, r->canary->namespace_, primary);
    event_warning(r, "%s", text);
    condition_clear(r, CONDITION_PRIMARY);
    return RULE_DONE;
}

/*
 * A primary deleted by mistake is recreated as the watch last showed it: same template, selector
 * and replicas, whatever the target holds now. While it starts, a ready canary takes all traffic
 * (fail_over()). DONE: planned.
 */
static enum rule_result restore_primary(struct release *r)
{
    const char *name = primary_name(r->tick);
    struct json_object *seen;

    if (r->info.primary || r->target->own_services || release_is_initialising(r))
        return RULE_CONTINUE;
    if (!need_last_seen(r->tick, r->target->resource, r->canary->namespace_, name, &seen))
        return RULE_NEEDS_FACTS;
    if (!seen || !edit_is_owned(r->tick, seen))
        return RULE_CONTINUE;
    return make_again(r, without_server_fields(r, seen),
                      arena_printf(r->tick->arena, "%s.%s was deleted, it is made again as it was",
                                   name, r->canary->namespace_));
}

/* Another process saw the primary last: the cluster has kept the promoted template. */
static enum rule_result recall_primary(struct release *r)
{
    const char *promoted = r->canary->status.last_promoted_spec;
    struct json_object *primary = NULL;
    enum rule_result verdict = r->target->recall && *promoted && !release_is_promoting(r)
                                   ? r->target->recall(r->tick, &r->info, promoted, &primary)
                                   : RULE_CONTINUE;

    if (verdict != RULE_CONTINUE || !primary)
        return verdict;
    return make_again(
        r, primary,
        arena_printf(r->tick->arena, "%s.%s is missing, it is made again from revision %s of %s",
                     primary_name(r->tick), r->canary->namespace_, promoted, release_target(r)));
}

/* Flagger recreates a deleted primary from the target, whatever its revision. */
enum rule_result initialise_primary(struct release *r)
{
    bool may = true;
    enum rule_result verdict = restore_primary(r);

    if (verdict == RULE_CONTINUE)
        verdict = r->info.primary ? follow_target(r) : may_become_primary(r, &may);
    if (verdict == RULE_CONTINUE && !r->info.primary && may)
        verdict = note_made_anew(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!may) {
        verdict = recall_primary(r);
        return verdict == RULE_CONTINUE ? leave_lost_primary(r) : verdict;
    }
    tell_empty_primary(r);
    return r->target->ensure_primary(r->tick, &r->info);
}

/*
 * True if the primary has this template (of any revision that the Canary knows) with these
 * configs.
 */
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
 * Running pods do not miss a deleted copy of a config, but the next pod cannot start. (Flagger
 * recreates it with the next promotion.)
 */
enum rule_result initialise_copies(struct release *r)
{
    const char *lost = NULL;
    enum rule_result verdict = RULE_CONTINUE;

    if (r->info.primary && !release_is_promoting(r))
        verdict = configs_restore(
            r->tick, json_at(r->info.primary, "spec", "template", "spec", NULL), carries, r, &lost);
    if (verdict == RULE_NEEDS_FACTS || !lost) {
        if (verdict == RULE_CONTINUE)
            condition_clear(r, CONDITION_COPIES);
        return verdict;
    }
    const char *text = arena_printf(r->tick->arena,
                                    "%s is gone, no new pod of %s-primary.%s can start without it, "
                                    "and the object that it copies holds something else by now; "
                                    "create it again with what was promoted, or restore that",
                                    lost, r->canary->target.name, r->canary->namespace_);
    if (condition_set(r, CONDITION_COPIES, "ConfigMissing", text))
        event_warning(r, "%s", text);
    return RULE_CONTINUE;
}

/*
 * The primary's copy always follows the source. (Flagger: only with the next promotion.) The
 * target's scaler is not paused before its traffic is gone: KEDA would remove the pods at once.
 */
enum rule_result initialise_scaler(struct release *r)
{
    const char *why = NULL;
    enum rule_result verdict =
        r->scaler ? r->scaler->reconcile_primary(r->tick, capacity_floor(r), &why) : RULE_CONTINUE;
    enum rule_result held = share_hold(r, capacity_asked(r));
    if (verdict != RULE_NEEDS_FACTS && held != RULE_NEEDS_FACTS)
        capacity_raise(r);
    if (verdict == RULE_DONE)
        condition_hold(r, CONDITION_SCALER, "AutoscalerMissing", why);
    else if (verdict == RULE_CONTINUE)
        condition_clear(r, CONDITION_SCALER);
    if (held == RULE_NEEDS_FACTS)
        return held;
    /* A missing scaler was reported; it must not block the rollback of a running release. */
    return verdict == RULE_DONE && !release_is_initialising(r) ? RULE_CONTINUE : verdict;
}

/* At any time, so that the copy of a budget follows its source without a release. */
enum rule_result initialise_companions(struct release *r)
{
    return companions_copy(r);
}

enum rule_result initialise_wait(struct release *r)
{
    if (release_has_writes(r))
        return release_reread(r);
    /*
     * Also with skipAnalysis, and also if waiting seems pointless: until a person helps, the
     * target serves.
     */
    return ready_or_hold(r, SIDE_PRIMARY);
}

enum rule_result initialise_apex(struct release *r)
{
    return serving_apex(r);
}

/*
 * When `match` is removed from the spec, the share of the matched requests goes to the primary,
 * which may have shrunk: the route stays until the primary has pods for all traffic, or while a
 * rollback waits for them.
 */
static enum rule_result match_may_go(struct release *r, bool *may)
{
    enum rule_result verdict = release_read_routes(r);

    *may = true;
    if (verdict != RULE_CONTINUE || !r->router->weighted || !r->weights.matched ||
        r->weights.canary == 0 || r->canary->analysis.match)
        return verdict;
    *may = !capacity_is_empty(r);
    if (!*may || (capacity_waits(r, NULL) && !capacity_waits(r, CAPACITY_RESTART))) {
        *may = false;
        return RULE_CONTINUE;
    }
    return capacity_wait(r, CAPACITY_RESTART);
}

/* Routes to a port follow once their Services have it. */
enum rule_result initialise_routes(struct release *r)
{
    struct service_pods pods = serving_pods(r);
    struct json_object *old;
    bool adds = false;
    enum rule_result verdict =
        r->target->own_services ? RULE_CONTINUE : services_old_ports(r->tick, &pods, &adds, &old);

    if (verdict != RULE_CONTINUE || (adds && release_has_writes(r)))
        return verdict;
    bool may;
    verdict = match_may_go(r, &may);
    return verdict == RULE_CONTINUE && may ? r->router->reconcile(r->tick) : verdict;
}

enum rule_result initialise_settle(struct release *r)
{
    enum rule_result verdict = release_reread(r);

    if (verdict == RULE_CONTINUE)
        unserved_clear(r);
    return verdict;
}

/* The controller may not change the destination of this route. */
static void hold_ports(struct release *r, const char *route)
{
    condition_hold(
        r, CONDITION_PORTS, "OldPortInUse",
        arena_printf(r->tick->arena,
                     "%s, which %s does not manage, leads to a port that is no longer in the spec; "
                     "the port stays until the route is gone or leads elsewhere",
                     route, release_canary(r)));
}

/* A primary with a single label may match foreign pods, whenever they are created. */
enum rule_result initialise_owners(struct release *r)
{
    return r->target->own_services || !r->info.label || !r->info.primary ? RULE_CONTINUE
                                                                         : owners_check_around(r);
}

/* Removes ports that neither the spec nor a route refers to. */
enum rule_result initialise_ports(struct release *r)
{
    static const struct pause pause = {
        .type = CONDITION_PORTS,
        .reason = "OldPortServed",
        .text = "A port that is no longer in the spec is served until it is known everywhere that "
                "the routes have left it",
    };
    struct service_pods pods = serving_pods(r);
    struct json_object *old = NULL;
    const char *route = NULL;
    bool adds, behind;
    enum rule_result verdict =
        r->target->own_services ? RULE_CONTINUE : services_old_ports(r->tick, &pods, &adds, &old);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (json_len(old) == 0) {
        condition_clear(r, CONDITION_PORTS);
        return RULE_CONTINUE;
    }
    verdict = leftover_uses_ports(r, old, &route, &behind);
    if (verdict != RULE_CONTINUE || route || behind) {
        if (route)
            hold_ports(r, route);
        else if (behind) /* the pause counts from the time when the route has left */
            condition_clear(r, CONDITION_PORTS);
        return verdict;
    }
    verdict = pause_pass(r, &pause);
    if (verdict != RULE_CONTINUE) /* does not block the rest */
        return verdict == RULE_DONE ? RULE_CONTINUE : verdict;
    pods.drop_old_ports = true;
    verdict = services_reconcile_sides(r->tick, &pods);
    if (verdict == RULE_CONTINUE)
        verdict = services_reconcile_apex(r->tick, &pods);
    return verdict == RULE_CONTINUE ? release_reread(r) : verdict;
}

/* A Service older than the Canary keeps its ports. */
static enum rule_result tell_found_ports(struct release *r)
{
    struct service_pods pods = serving_pods(r);
    const char *found = NULL;
    enum rule_result verdict =
        r->target->own_services ? RULE_CONTINUE : services_found_ports(r->tick, &pods, &found);

    if (verdict == RULE_CONTINUE && found)
        event_normal(
            r,
            "Ports that Services of %s had before stay beside that of the spec: %s; remove "
            "those that nobody uses",
            release_canary(r), found);
    return verdict;
}

/* The traffic is on the primary: the target may go to zero, after a pause. */
enum rule_result initialise_finish(struct release *r)
{
    enum rule_result verdict = settled_or_hold(r);

    if (verdict == RULE_CONTINUE)
        verdict = release_read_routes(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (r->weights.canary > 0) {
        verdict = release_route(r, 0);
        return verdict == RULE_CONTINUE ? release_reread(r) : verdict;
    }
    bool is_same = r->target->is_promoted(r->tick, &r->info);
    if (!is_same)
        verdict = r->target->compare(r->tick, &r->info, &is_same);
    if (verdict == RULE_CONTINUE)
        verdict = drain_target(r);
    /* The first check; a finding keeps the target running for now. */
    if (verdict == RULE_CONTINUE && bystander_check(r) == RULE_NEEDS_FACTS)
        verdict = RULE_NEEDS_FACTS;
    if (verdict == RULE_CONTINUE)
        verdict = companions_check(r);
    if (verdict == RULE_CONTINUE)
        verdict = contested_check(r);
    if (verdict == RULE_CONTINUE)
        verdict = owners_check_pods(r);
    if (verdict == RULE_CONTINUE)
        verdict = tell_found_ports(r);
    if (verdict != RULE_CONTINUE)
        return verdict;

    status_phase(r, PHASE_Initialized);
    status_share(r, 0);
    status_reset(r);
    if (is_same) {
        status_sync(r);
        status_text(r, "lastPromotedSpec", r->info.hash);
    } else {
        /*
         * The target changed while the primary started, or the primary is older than this Canary
         * and runs another revision: the next tick treats the target as a new revision.
         */
        status_text(r, "lastAppliedSpec", "");
        status_text(r, "lastPromotedSpec", takeover_primary_hash(r));
    }
    event_normal(r, "Initialization done! %s", release_canary(r));
    plan_alert(r->tick, "info", true, "New %s detected, initialization completed.", r->tick->kind);
    r->tick->plan->change = alert_change_name(ALERT_DEPLOYED);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/*
 * Leaves an autoscaler that the spec no longer refers to, or refers to by another name: deletes the
 * primary's copy and removes the pause written into the original. The primary keeps its replicas.
 * During a release this waits: a scaler with a floor or a pause must not change. Until then only
 * status.acceptedSpec names it, so the name of a new one is recorded there before anything is made
 * for it.
 */

enum rule_result leave_scaler(struct release *r)
{
    struct json_object *before = release_scaler_to_leave(r);
    const char *kind = json_str_at(before, "kind", NULL);
    const struct scaler *scaler = kind ? scaler_find(kind) : NULL;

    if (!before || r->canary->status.canary_weight > 0)
        return RULE_CONTINUE;
    enum rule_result verdict =
        scaler ? scaler->leave(r->tick, json_str_at(before, "name", NULL)) : RULE_CONTINUE;
    r->scaler_left = verdict == RULE_CONTINUE;
    return verdict;
}

enum rule_result leave_note(struct release *r)
{
    if (!r->scaler || !r->canary->status.accepted_spec || release_scaler_to_leave(r) ||
        release_scaler_is_accepted(r))
        return RULE_CONTINUE;
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}
