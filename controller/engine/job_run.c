/* One run of a job: reads the Canary, decides, fetches what is missing, carries out the plan. */
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "decide/decide.h"
#include "engine/alerts.h"
#include "engine/gather.h"
#include "engine/gauges.h"
#include "engine/job_internal.h"
#include "engine/perform.h"
#include "engine/plans.h"
#include "engine/read_one.h"
#include "kube/backoff.h"
#include "kube/status.h"

/* A run that asks more often than this has rules that never have enough; ended, logged, tried again
 * later. */
enum { MAX_ROUNDS = 64, MAX_CONFLICTS = 8 };
/* After so many conflicts in a row everything is read from the API. */
enum { DISTRUST = 3 };
/* The first conflict is answered at once; who meets another waits, and longer each time: the status
 * of a workload that grows changes many times a second. */
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

/* Somebody else was first: observe and decide again at once. */
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

/* Before a gate a revision is looked at once an interval: in between, it keeps its place. */
static void settle_turn(struct job *job)
{
    if (releases(job))
        job_set_turn(job, TURN_HAS);
    else if (job->tick->due)
        job_set_turn(job, job->tick->plan->queues ? TURN_WAITS : TURN_NONE);
}

/* Releases that begin at the same time do not take all of their steps at the same time. */
static int64_t jitter(const struct job *job, int64_t interval)
{
    enum { SHARE = 10 };
    bool begins = wake_rests(job->wake.phase) && !wake_rests(phase_after(job));
    return begins ? backoff_random(interval / SHARE + 1) : 0;
}

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
    if (job->other)
        job_set_left(job, job->tick->other.state == OTHER_LIVES);
    settle_turn(job);
    wake_ran(&job->wake, plan, phase_after(job), began, interval);
    if (plan->stepped && due_at > 0 && job->began >= due_at)
        gauges_lag_seconds((double)(job->began - due_at) / 1000);
    if (plan->stepped)
        gauges_tick_seconds(job->canary, (double)(now - job->began) / 1000);
    if (wake_is_restless(&job->wake))
        log_warn("canary_restless", job->label,
                 "something undoes what the rules write; trying again after the interval",
                 LOG_INT("times", job->wake.again_now));
    if (plan->held)
        job->tells = job->refused.tells = false;
    job_end(job,
            plan->held ? job_retry_ms(job) : wake_after(&job->wake, plan, began, now, interval));
}

/* What was refused is not as it was seen; of what was not answered nobody knows. */
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
    const struct effect *effect = perform_effect(job->perform);
    bool unheard = err == ERR_RETRY && (effect_writes(effect) || effect->kind == EFFECT_STATUS);
    if (err == ERR_CONFLICT || err == ERR_NOT_FOUND || unheard)
        doubt(job, effect);
    if ((err == ERR_DENIED || err == ERR_INVALID) && effect_writes(effect) &&
        kube_status_refused(info))
        job_refused(job, effect, info->text);
    else if (err == ERR_DENIED && kube_status_forbidden(info) && effect_writes(effect))
        job_denied(job, info->text);
    job->perform = NULL;
    if (err == ERR_OK)
        plan_done(job);
    else if (err == ERR_CONFLICT || err == ERR_NOT_FOUND) /* changed, or gone, since it was read */
        run_again(job, info);
    else
        job_fail(job, err, info);
}

static void refused(struct job *job)
{
    struct errinfo info = {0};
    job_fail(job, err_set(&info, ERR_CANCELLED, "this replica is not the leader"), &info);
}

/* Also of a plan that fails: it is what was meant. */
static void keep_plan(struct job *job)
{
    const char *outline = plan_outline(job->tick, PLANS_TEXT);
    if (outline)
        plans_keep(job->owner->context->plans, job->namespace_, job->name, outline,
                   clock_wall_ms());
}

static void perform_plan(struct job *job)
{
    keep_plan(job);
    job_note_claim(job);
    if (releases(job))
        job_set_turn(job, TURN_HAS);
    job_set_state(job, JOB_PERFORMING);
    switch (perform_start(job->owner->context, job->deps, job->tick, on_performed, job,
                          &job->perform)) {
    case PERFORM_PENDING:
        return;
    case PERFORM_DONE:
        plan_done(job);
        return;
    case PERFORM_REFUSED:
        refused(job);
        return;
    }
}

/* --- decide, and fetch what is missing */

static void gathered(struct job *job, enum err err, const struct errinfo *info)
{
    if (err == ERR_OK)
        decide_round(job);
    else
        job_fail(job, err, info);
}

static void on_gathered(void *arg, enum err err, const struct errinfo *info)
{
    struct job *job = arg;
    job->gather = NULL;
    if (job->state != JOB_ASKING) {
        gathered(job, err, info);
        return;
    }
    job->asked = err;
    *job->asked_info = *info;
    job_set_state(job, JOB_ANSWERED);
    job->owner->wants(job->owner->arg, job, true);
}

/* Its plan is worth nothing, and nobody else is concerned. */
static void rule_broke(struct job *job)
{
    struct errinfo info = {0};
    log_error("rule_broke", job->label, job->tick->broken,
              LOG_STR("phase", phase_name(job->canary->status.phase)));
    job_fail(job, err_set(&info, ERR_INVALID, "a rule broke: %s", job->tick->broken), &info);
}

static void decide_round(struct job *job)
{
    struct engine_context *context = job->owner->context;
    for (;;) {
        tick_reset(job->tick);
        job->tick->queued = !turns_may_begin(job->owner->turns, &job->turn);
        enum verdict verdict =
            job->observer ? observer_decide(job->observer, job->tick) : decide(job->tick);
        if (job->tick->broken) {
            rule_broke(job);
            return;
        }
        if (verdict != VERDICT_NEED_FACTS) {
            if (job->observer)
                job_tell_observed(job);
            perform_plan(job);
            return;
        }
        if (++job->rounds > MAX_ROUNDS) {
            struct errinfo info = {0};
            deps_doubt_all(job->deps);
            job_fail(job,
                     err_set(&info, ERR_RETRY, "the rules asked %d times and still miss facts",
                             MAX_ROUNDS),
                     &info);
            return;
        }
        /* Webhooks act: whoever leads now calls them. */
        if (!context->may_write(context->may_write_arg)) {
            refused(job);
            return;
        }
        job->gather = gather_start(context, job->deps, job->tick, on_gathered, job);
        if (job->gather && gather_asks(job->gather)) {
            job_set_state(job, JOB_ASKING);
            job->owner->waits(job->owner->arg, job);
        }
        if (job->gather)
            return;
    }
}

/* --- the Canary itself */

static void start_mistake(struct job *job, struct json_object *tree, const struct errinfo *info)
{
    if (job->observer || !job_take_mistake(job, tree, info)) {
        job_end(job, -1);
        return;
    }
    job_set_state(job, JOB_GATHERING);
    perform_plan(job);
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
    job_judge(job, tree);
    job_set_state(job, JOB_GATHERING);
    if (job->tick && generation == job->canary->generation) {
        /* The same tick goes on after a conflict: webhooks and metrics are not asked again. */
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
    }
    job_see_other(job);
    job_warn_of_secrets(job);
    job->tick->alerts =
        alerts_states(job->owner->context->alerts, job->arena, job->canary, &job->tick->n_alerts);
    job->tick->mistake = mistake;
    job->tick->unwritable = job->tells ? job->unwritable : NULL;
    if (job->refused.tells)
        job->tick->refused_write = (struct refused_write){.resource = job->refused.resource,
                                                          .name = job->refused.name,
                                                          .text = job->refused.text};
    job->tick->rival = job->rivalry.rival;
    job->tick->barred = job->rivalry.barred;
    job->tick->heir = job->rivalry.heir;
    if (job->observer)
        observer_begin(job->observer);
    decide_round(job);
}

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
        job_end(job, -1); /* deleted; the watch will say so and end the job */
        return;
    }
    watchset_learn(job->owner->context->watches, &tick_canaries, tree);
    start_tick(job, json_own(job->arena, json_object_get(tree)));
}

static void look_again(void *arg)
{
    struct job *job = arg;
    job->pause = NULL;
    read_canary(job);
}

static void read_canary(struct job *job)
{
    struct json_object *tree;
    struct engine_context *context = job->owner->context;
    enum deps_known known = deps_known(job->deps, context->watches, &tick_canaries, job->namespace_,
                                       job->name, job->arena, &tree);
    if (known == DEPS_KNOWN && tree) {
        start_tick(job, tree);
        return;
    }
    int64_t now = clock_monotonic_ms();
    if (!job->patience)
        job->patience = now + GATHER_PATIENCE_MS;
    if (known == DEPS_SOON && now < job->patience) {
        job->pause = timer_start(context->loop, GATHER_LOOK_MS, 0, look_again, job);
        return;
    }
    job->read =
        read_one_start(context, &tick_canaries, job->namespace_, job->name, NULL, on_canary, job);
}

void job_run(struct job *job)
{
    if (job->state == JOB_ANSWERED) {
        job_set_state(job, JOB_GATHERING);
        gathered(job, job->asked, job->asked_info);
        return;
    }
    job->arena = arena_new();
    job->canary = ARENA_NEW(job->arena, struct canary);
    job->asked_info = ARENA_NEW(job->arena, struct errinfo);
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
