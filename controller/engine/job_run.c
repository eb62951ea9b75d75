/* One run of a job: read the Canary, decide, fetch missing facts, apply the plan. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "decide/decide.h"
#include "decide/takeover.h"
#include "engine/alert_deliveries.h"
#include "engine/apply_plan.h"
#include "engine/cache.h"
#include "engine/controller_metrics.h"
#include "engine/fetch_facts.h"
#include "engine/job_internal.h"
#include "engine/recent.h"
#include "kube/rate_limit.h"
#include "kube/reply.h"

/*
 * Limit of conflicts in a run. The rules of a run that exceeds it never settle; it ends with a log
 * line and is retried later.
 */
enum { MAX_CONFLICTS = 8 };
/* After this many conflicts in a row, everything is read from the API server. */
enum { DISTRUST = 3 };
/*
 * The first conflict is retried at once, further ones after growing delays: the status of a
 * growing workload changes many times a second.
 */
enum { CONFLICT_PAUSE_MS = 25 };
static void decide_round(struct job *job);
static void read_canary(struct job *job);

static void read_again(void *arg)
{
    struct job *job = arg;
    job->pause = NULL;
    if (job->conflicts >= DISTRUST)
        deps_doubt_all(job->deps);
    job->patience = 0;
    read_canary(job);
}

/* Another client wrote first: observe and decide again at once. */
static void run_again(struct job *job, const struct errinfo *info)
{
    if (++job->conflicts > MAX_CONFLICTS) {
        job_fail(job, ERR_CONFLICT, info);
        return;
    }
    log_info("conflict", job->label, info->text, LOG_INT("attempt", job->conflicts));
    job_set_state(job, JOB_READING);
    if (job->conflicts == 1) {
        read_again(job);
        return;
    }
    int64_t wait = (int64_t)CONFLICT_PAUSE_MS << (job->conflicts - 2);
    job->pause = timer_start(job->owner->context->loop, wait + backoff_random(wait / 2 + 1), 0,
                             read_again, job);
}

/* --- the end of a plan */

static enum phase phase_after(const struct job *job)
{
    enum phase phase = job->canary->status.phase;
    for (const struct effect *effect = job->tick->plan->first; effect; effect = effect->next) {
        const char *text = effect->kind == EFFECT_STATUS
                               ? json_str_at(effect->body, "status", "phase", NULL)
                               : NULL;
        if (text)
            phase = phase_parse(text);
    }
    return phase;
}

static bool releases(const struct job *job)
{
    return job->tick->plan->begins || wake_releases(phase_after(job));
}

/* Before a gate, the revision is checked once per interval; in between, the Canary keeps its
 * slot. */
static void settle_turn(struct job *job)
{
    if (releases(job))
        job_set_slot(job, SLOT_HELD);
    else if (job->tick->due)
        job_set_slot(job, job->tick->plan->queues ? SLOT_WAITING : SLOT_NONE);
}

/* Spreads the steps of releases that begin at the same time. */
static int64_t jitter(const struct job *job, int64_t interval)
{
    enum { SHARE = 10 };
    bool begins = wake_rests(job->wake.phase) && !wake_rests(phase_after(job));
    return begins ? backoff_random(interval / SHARE + 1) : 0;
}

static void job_note_claim(struct job *job);

static void plan_done(struct job *job)
{
    const struct plan *plan = job->tick->plan;
    int64_t now = clock_monotonic_ms();
    int64_t interval = tick_interval_ms(job->tick);
    int64_t began = job->began + jitter(job, interval);
    int64_t due_at = job->wake.next_due;
    if (!plan->held)
        job_recover(job);
    job_note_claim(job);
    if (job->peer)
        job_set_left(job, job->tick->peer.state == PEER_LIVES);
    settle_turn(job);
    wake_ran(&job->wake, plan, phase_after(job), began, interval);
    if (plan->stepped && due_at > 0 && job->began >= due_at)
        controller_metrics_lag_seconds((double)(job->began - due_at) / 1000);
    if (plan->stepped)
        controller_metrics_tick_seconds(job->canary, (double)(now - job->began) / 1000);
    if (wake_is_restless(&job->wake))
        log_warn("canary_restless", job->label,
                 "something undoes what the rules write; trying again after the interval",
                 LOG_INT("times", job->wake.requeues_now));
    if (plan->held)
        job->tells = job->refused.tells = false;
    job_end(job,
            plan->held ? job_retry_ms(job) : wake_after(&job->wake, plan, began, now, interval));
}

/*
 * A refused write means that the object differs from the watched one; an unanswered write leaves
 * it unknown.
 */
static void doubt(struct job *job, const struct effect *effect)
{
    const struct canary *canary = job->canary;
    if (effect->kind == EFFECT_STATUS)
        deps_doubt(job->deps, &tick_canaries, canary->namespace_, canary->name);
    else
        deps_doubt(job->deps, effect->resource, effect->namespace_, effect->name);
}

static void on_performed(void *arg, enum err err, const struct errinfo *info)
{
    struct job *job = arg;
    const struct effect *effect = apply_effect(job->apply);
    bool unheard = err == ERR_RETRY && (effect_writes(effect) || effect->kind == EFFECT_STATUS);
    if (err == ERR_CONFLICT || err == ERR_NOT_FOUND || unheard)
        doubt(job, effect);
    if ((err == ERR_DENIED || err == ERR_INVALID) && effect_writes(effect) &&
        kube_status_refused(info))
        job_refused(job, effect, info->text);
    else if (err == ERR_DENIED && kube_status_forbidden(info) && effect_writes(effect))
        job_denied(job, info->text);
    job->apply = NULL;
    if (err == ERR_OK)
        plan_done(job);
    else if (err == ERR_CONFLICT || err == ERR_NOT_FOUND) /* changed or deleted since it was read */
        run_again(job, info);
    else
        job_fail(job, err, info);
}

static void refused(struct job *job)
{
    struct errinfo info = {0};
    job_fail(job, err_set(&info, ERR_CANCELLED, "this replica is not the leader"), &info);
}

/* The plan is kept even if it fails: it shows the intent. */
static void keep_plan(struct job *job)
{
    const char *outline = plan_outline(job->tick, RECENT_PLANS_TEXT);
    if (outline)
        recent_plans_put(job->owner->context->recent_plans, job->namespace_, job->name, outline,
                         clock_wall_ms());
}

static void apply_plan(struct job *job)
{
    keep_plan(job);
    job_note_claim(job);
    if (releases(job))
        job_set_slot(job, SLOT_HELD);
    job_set_state(job, JOB_APPLYING);
    switch (
        apply_start(job->owner->context, job->deps, job->tick, on_performed, job, &job->apply)) {
    case APPLY_PENDING:
        return;
    case APPLY_DONE:
        plan_done(job);
        return;
    case APPLY_REFUSED:
        refused(job);
        return;
    }
}

/* --- decide, and fetch missing facts */

static void fetched(struct job *job, enum err err, const struct errinfo *info)
{
    if (err == ERR_OK)
        decide_round(job);
    else
        job_fail(job, err, info);
}

static void on_gathered(void *arg, enum err err, const struct errinfo *info)
{
    struct job *job = arg;
    job->fetch = NULL;
    if (job->state != JOB_ASKING) {
        fetched(job, err, info);
        return;
    }
    job->asked = err;
    *job->asked_info = *info;
    job_set_state(job, JOB_ANSWERED);
    job->owner->wants(job->owner->arg, job, true);
}

/* A broken invariant ends this run only; other Canaries are not affected. */
static void rule_broke(struct job *job)
{
    struct errinfo info = {0};
    log_error("rule_broke", job->label, job->tick->broken,
              LOG_STR("phase", phase_name(job->canary->status.phase)));
    job_fail(job, err_set(&info, ERR_INVALID, "a rule broke: %s", job->tick->broken), &info);
}

static void make_arena(struct job *job)
{
    job->arena = arena_new();
    job->canary = ARENA_NEW(job->arena, struct canary);
    job->asked_info = ARENA_NEW(job->arena, struct errinfo);
    job->tick = NULL;
}

/* Releases the memory of the run, and keeps only the Canary that was read. */
static struct json_object *start_again(struct job *job)
{
    struct json_object *tree = json_object_get(job->canary->json);

    arena_free(job->arena);
    make_arena(job);
    return json_own(job->arena, tree);
}

static bool job_take_mistake(struct job *job, struct json_object *tree, const struct errinfo *info);

/*
 * The rules of this Canary exceed the memory limit of a run: drops the plan, leaves the release
 * unchanged and retries later, when the objects may be smaller.
 */
static bool takes_too_much(struct job *job)
{
    struct errinfo info = {0};

    if (arena_used(job->arena) <= TICK_MOST)
        return false;
    err_set(&info, ERR_INVALID,
            "one tick of this Canary takes more than %d MiB of memory, and is not made: expected "
            "fewer or shorter webhooks, metrics and matches",
            (int)(TICK_MOST >> 20));
    log_warn("tick_too_large", job->label, info.text,
             LOG_INT("bytes", (int64_t)arena_used(job->arena)));
    if (job->shadow || !job_take_mistake(job, start_again(job), &info)) {
        job_end(job, job_retry_ms(job));
        return true;
    }
    job->tick->plan->requeue = REQUEUE_INTERVAL;
    apply_plan(job);
    return true;
}

static void decide_round(struct job *job)
{
    struct engine_context *context = job->owner->context;
    for (;;) {
        tick_reset(job->tick);
        job->tick->queued = !release_slots_may_begin(job->owner->slots, &job->slot);
        enum rule_result verdict =
            job->shadow ? shadow_decide(job->shadow, job->tick) : decide(job->tick);
        if (job->tick->broken) {
            rule_broke(job);
            return;
        }
        if (takes_too_much(job))
            return;
        if (verdict != RULE_NEEDS_FACTS) {
            if (job->shadow)
                job_report_observed(job);
            apply_plan(job);
            return;
        }
        if (++job->rounds > TICK_MAX_ROUNDS) {
            struct errinfo info = {0};
            deps_doubt_all(job->deps);
            job_fail(job,
                     err_set(&info, ERR_RETRY, "the rules asked %d times and still miss facts",
                             TICK_MAX_ROUNDS),
                     &info);
            return;
        }
        /* Webhooks have effects: only the leader calls them. */
        if (!context->may_write(context->may_write_arg)) {
            refused(job);
            return;
        }
        job->fetch = fetch_start(context, job->deps, job->tick, on_gathered, job);
        if (job->fetch && fetch_waits_long(job->fetch)) {
            job_set_state(job, JOB_ASKING);
            job->owner->waits(job->owner->arg, job);
        }
        if (job->fetch)
            return;
    }
}

/* --- the Canary */

static void start_mistake(struct job *job, struct json_object *tree, const struct errinfo *info)
{
    if (job->shadow) {
        shadow_begin(job->shadow);
        shadow_refuse(job->shadow, info->text);
        job_report_observed(job);
    }
    if (job->shadow || !job_take_mistake(job, tree, info)) {
        job_end(job, -1);
        return;
    }
    job_set_state(job, JOB_FETCHING);
    apply_plan(job);
}

static void job_warn_of_insecure_secrets(struct job *job);
static bool job_is_due(struct job *job);
static void job_find_peer(struct job *job);
static void job_check_claims(struct job *job, struct json_object *tree);

/* Facts that the watches show need no round of their own. */
static void answer_known(void *arg, struct tick *tick, const struct need *need)
{
    struct job *job = arg;

    fetch_known(job->owner->context, job->deps, tick, need);
}

static void start_tick(struct job *job, struct json_object *tree)
{
    struct errinfo info = {0};
    int64_t generation = job->tick ? job->canary->generation : -1;
    const char *mistake;
    enum err err = accept_view(job->arena, tree, job->canary, &mistake, &info);
    if (err != ERR_OK) {
        start_mistake(job, tree, &info);
        return;
    }
    job_check_claims(job, tree);
    job_set_state(job, JOB_FETCHING);
    if (job->tick && generation == job->canary->generation) {
        /* After a conflict the same tick continues: webhooks and metrics are not called again. */
        facts_forget(job->tick, NEED_OBJECT);
        tick_see(job->tick, job->canary);
    } else {
        bool due = job_is_due(job);
        struct engine_context *context = job->owner->context;
        int64_t now = clock_wall_ms();
        clock_steps_see(&context->steps, now, clock_monotonic_ms());
        job->tick = tick_new(job->arena, job->canary, context->settings, now, due);
        job->tick->stepped_at_ms = context->steps.at_ms;
        job->tick->templates = context->templates;
        job->tick->answer = answer_known;
        job->tick->answer_arg = job;
    }
    job_find_peer(job);
    job_warn_of_insecure_secrets(job);
    job->tick->alerts = alert_deliveries_states(job->owner->context->alerts, job->arena,
                                                job->canary, &job->tick->n_alerts);
    job->tick->mistake = mistake;
    job->tick->unwritable = job->tells ? job->unwritable : NULL;
    if (job->refused.tells)
        job->tick->refused_write = (struct refused_write){.resource = job->refused.resource,
                                                          .name = job->refused.name,
                                                          .text = job->refused.text};
    job->tick->conflict = job->claim_conflict.conflict;
    job->tick->locked_out = job->claim_conflict.locked_out;
    job->tick->successor = job->claim_conflict.successor;
    if (job->shadow)
        shadow_begin(job->shadow);
    decide_round(job);
}

static void job_take_outline(struct job *job, struct json_object *outline);

static void on_canary(void *arg, enum err err, struct json_object *tree, const struct errinfo *info)
{
    struct job *job = arg;
    job->read = NULL;
    if (err != ERR_OK && err != ERR_NOT_FOUND) {
        if (tree)
            job_take_outline(job, tree);
        job_fail(job, err, info);
        return;
    }
    deps_read(job->deps, &tick_canaries, job->namespace_, job->name, tree);
    if (!tree) {
        job_end(job, -1); /* deleted; the watch will report it and end the job */
        return;
    }
    cache_learn(job->owner->context->cache, &tick_canaries, tree);
    start_tick(job, json_own(job->arena, json_object_get(tree)));
}

static void poll_again(void *arg)
{
    struct job *job = arg;
    job->pause = NULL;
    read_canary(job);
}

static void read_canary(struct job *job)
{
    struct json_object *tree;
    struct engine_context *context = job->owner->context;
    enum deps_known known = deps_known(job->deps, context->cache, &tick_canaries, job->namespace_,
                                       job->name, job->arena, &tree);
    if (known == DEPS_KNOWN && tree) {
        start_tick(job, tree);
        return;
    }
    int64_t now = clock_monotonic_ms();
    if (!job->patience)
        job->patience = now + FETCH_PATIENCE_MS;
    if (known == DEPS_SOON && now < job->patience) {
        job->pause = timer_start(context->loop, FETCH_POLL_MS, 0, poll_again, job);
        return;
    }
    job->read = object_read_start(context, &tick_canaries, job->namespace_, job->name, NULL,
                                  on_canary, job);
}

void job_run(struct job *job)
{
    if (job->state == JOB_ANSWERED) {
        job_set_state(job, JOB_FETCHING);
        fetched(job, job->asked, job->asked_info);
        return;
    }
    make_arena(job);
    job->began = clock_monotonic_ms();
    job->runs++;
    job->rounds = 0;
    job->conflicts = 0;
    job->patience = 0;
    job->woken = false;
    deps_begin(job->deps);
    job_set_state(job, JOB_READING);
    read_canary(job);
}

/* --- the Canary before the rules run */

/* The parts of an unreadable Canary that an event needs. */
static struct canary nameplate(const struct job *job, struct json_object *tree)
{
    return (struct canary){.name = job->name,
                           .namespace_ = job->namespace_,
                           .uid = json_str_at(tree, "metadata", "uid", NULL),
                           .resource_version =
                               json_str_at(tree, "metadata", "resourceVersion", NULL),
                           .target = {.kind = "", .name = ""},
                           .generation = json_int_at(tree, 0, "metadata", "generation", NULL)};
}

/* The object exceeds the memory limit: fills in the parts that an event needs from its outline. */
static void job_take_outline(struct job *job, struct json_object *outline)
{
    struct json_object *tree = json_own(job->arena, json_object_get(outline));
    *job->canary = nameplate(job, tree);
    job->tick =
        tick_new(job->arena, job->canary, job->owner->context->settings, clock_wall_ms(), true);
}

static bool plan_mistake(struct job *job, struct json_object *tree, const struct errinfo *info)
{
    if (revert_unread(job->tick, tree, info->text))
        return true;
    struct json_object *patch = accept_refusal(job->arena, tree, info->text, job->tick->now_ms);
    if (!patch)
        return false;
    plan_status(job->tick, patch);
    plan_event(job->tick, "Warning", PHASE_NONE, "%s", info->text);
    return true;
}

/*
 * Reports an unreadable spec once: the condition Accepted=False keeps the message, and the Canary
 * is left alone until it changes. Returns true if a plan was made, false if nothing is left to do.
 */
static bool job_take_mistake(struct job *job, struct json_object *tree, const struct errinfo *info)
{
    *job->canary = nameplate(job, tree);
    job->canary->json = tree;
    job->canary->status.controller = json_str_at(tree, "status", "controller", NULL);
    job->tick =
        tick_new(job->arena, job->canary, job->owner->context->settings, clock_wall_ms(), true);
    job_find_peer(job);
    if (driver_leaves(job->tick))
        return job->tick->plan->first != NULL;
    if (!plan_mistake(job, tree, info)) {
        wake_forget(&job->wake);
        return false;
    }
    driver_claim(job->tick);
    return true;
}

/* True if our name is missing in the status. */
static bool names_peer(const struct job *job, const char *named)
{
    const char *own = job->owner->context->settings->controller;

    return named && !(own && strcmp(named, own) == 0);
}

static void let_go(struct job *job)
{
    job_set_left(job, false);
    peers_let_go(job->owner->peers, job->peer);
    job->peer = NULL;
    job->taken = 0;
}

static enum peer_state state_of_peer(const struct job *job)
{
    struct json_object *labels = json_at(job->canary->json, "metadata", "labels", NULL);

    if (!peer_was_probed(job->peer, job->taken))
        return PEER_UNKNOWN;
    return peer_covers(job->peer, job->namespace_, labels) ? peer_state(job->peer) : PEER_GONE;
}

/* Finds the peer controller named in the status, and its state. */
static void job_find_peer(struct job *job)
{
    const char *named = job->canary->status.controller;
    struct peer_controller *out = &job->tick->peer;

    if (job->shadow) /* shadow mode writes nothing, whichever controller drives the Canary */
        return;
    *out = (struct peer_controller){.state = PEER_GONE};
    if (!names_peer(job, named)) {
        job->claimed &= !named;
        if (job->peer && (!job->taken || state_of_peer(job) == PEER_GONE))
            let_go(job);
    } else {
        if (!job->peer || strcmp(peer_lease(job->peer), named) != 0) {
            let_go(job);
            job->peer = peers_hold(job->owner->peers, named);
        }
        job->taken = 0;
        out->lease = named;
    }
    job->tick->claimed = job->claimed;
    if (!job->peer)
        return;
    *out = (struct peer_controller){.lease = peer_lease(job->peer),
                                    .state = state_of_peer(job),
                                    .trouble = peer_trouble(job->peer),
                                    .told = job->left};
}

/* Called when a plan that writes our name is about to be applied, or was applied. */
static void job_note_claim(struct job *job)
{
    if (!job->tick->plan->claims)
        return;
    job->claimed = true;
    if (job->peer)
        job->taken = peer_next_probe(job->peer);
}

static int64_t interval_ms(const struct job *job)
{
    return tick_canary_interval_ms(job->canary, job->owner->context->settings);
}

/*
 * A restart must not speed up a release: the first tick takes the time of the last step from the
 * status if it is plausible by the wall clock.
 */
static void learn_cadence(struct job *job)
{
    const char *since = job->canary->status.last_transition_time;
    int64_t interval = interval_ms(job);
    int64_t last;
    job->cadence_known = true;
    if (!since || clock_parse(since, &last, NULL) != ERR_OK)
        return;
    int64_t left = interval - (clock_wall_ms() - last);
    if (left > 0 && left <= interval)
        job->wake.next_due = clock_monotonic_ms() + left;
}

/* True if a step is due, and not just a repair. */
static bool job_is_due(struct job *job)
{
    if (!job->cadence_known)
        learn_cadence(job);
    return wake_is_due(&job->wake, job->canary->status.phase, clock_monotonic_ms(),
                       interval_ms(job));
}

/*
 * Checks for conflicts with other Canaries on the same target or Services: their metrics would
 * have the same labels.
 */
static void job_check_claims(struct job *job, struct json_object *tree)
{
    const char *target = job->canary->target.name;
    job->claim_conflict = claims_check(job->owner->claims, job->arena, tree);
    if (job->claim_conflict.conflict)
        return;
    if (job->target && strcmp(job->target, target) != 0)
        controller_metrics_forget(job->target, job->namespace_);
    if (!job->target || strcmp(job->target, target) != 0) {
        free(job->target);
        job->target = heap_strdup(target);
    }
    if (!job->shadow) /* the controller that manages it exports them already */
        controller_metrics_canary(job->canary); /* also when idle: they were lost in a restart */
}

/* Warns once per spec if a Secret is sent to a server without verifying its identity. */
static void job_warn_of_insecure_secrets(struct job *job)
{
    const struct canary *canary = job->canary;
    if (job->warned_generation == canary->generation || job->tick->peer.lease)
        return;
    job->warned_generation = canary->generation;
    for (int i = 0; i < canary->analysis.n_webhooks; i++) {
        const struct canary_webhook *webhook = &canary->analysis.webhooks[i];
        if (!webhook->disable_tls || webhook->n_headers_from == 0)
            continue;
        report_event(job->owner->context, canary, canary->status.phase, "Warning",
                     arena_printf(job->arena,
                                  "spec.analysis.webhooks[%d]: with disableTLS the headers of "
                                  "headersFrom are sent to %s without knowing who answers there",
                                  i, webhook->url),
                     clock_wall_ms());
    }
}
