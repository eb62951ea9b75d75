#include "engine/job_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "decide/decide.h"
#include "engine/claims.h"
#include "engine/gather.h"
#include "engine/gauges.h"
#include "engine/perform.h"
#include "engine/plans.h"
#include "kube/backoff.h"
#include "tick/wake.h"

/* A run that asks more often than this has rules that never have enough; ended, logged, tried again
 * later. */
enum { MAX_ROUNDS = 64, MAX_CONFLICTS = 8, FIRST_RETRY_MS = 500 };
/* The first conflict is answered at once; who meets another waits, and longer each time: the status
 * of a workload that grows changes many times a second. */
enum { CONFLICT_PAUSE_MS = 25 };
/* Events wake a canary at most so often in so long: an object that changes without end, or somebody
 * who fights over a route, must not keep the controller busy. */
enum { BURST_RUNS = 50, BURST_MS = 10000 };
enum { FAILURE_PAUSE_MS = 5 * 60 * 1000, FAILURES_TOLD = 3 };

static void decide_round(struct job *job);
static void read_canary(struct job *job);

static void job_set_state(struct job *job, enum job_state state)
{
    static const unsigned allowed[JOB_STATES] = {
        [JOB_IDLE] = 1u << JOB_QUEUED,
        [JOB_QUEUED] = 1u << JOB_READING,
        [JOB_READING] = 1u << JOB_GATHERING | 1u << JOB_IDLE,
        [JOB_GATHERING] = 1u << JOB_ASKING | 1u << JOB_PERFORMING | 1u << JOB_IDLE,
        [JOB_ASKING] = 1u << JOB_ANSWERED,
        [JOB_ANSWERED] = 1u << JOB_GATHERING,
        [JOB_PERFORMING] = 1u << JOB_READING | 1u << JOB_IDLE,
    };
    assert(allowed[job->state] & 1u << state);
    log_debug("job_state", job->label, "the job goes on",
              LOG_STR("from", job_state_names[job->state]), LOG_STR("to", job_state_names[state]));
    job->state = state;
    job->since = clock_monotonic_ms();
}

struct job *job_new(const struct job_owner *owner, const char *namespace_, const char *name)
{
    struct job *job = heap_alloc(sizeof(*job));
    *job = (struct job){.owner = owner,
                        .namespace_ = heap_strdup(namespace_),
                        .name = heap_strdup(name),
                        .label = heap_printf("%s.%s", name, namespace_),
                        .since = clock_monotonic_ms()};
    job->deps = deps_new(owner->index, job);
    gauges_total(namespace_, 1);
    return job;
}

static void drop_run(struct job *job)
{
    timer_stop(job->pause);
    job->pause = NULL;
    read_one_cancel(job->read);
    gather_cancel(job->gather);
    perform_cancel(job->perform);
    job->read = NULL;
    job->gather = NULL;
    job->perform = NULL;
    arena_free(job->arena);
    job->arena = NULL;
    job->tick = NULL;
}

void job_gone(struct job *job)
{
    perform_gone(job->perform);
}

void job_free(struct job *job)
{
    if (!job)
        return;
    drop_run(job);
    timer_stop(job->timer);
    deps_free(job->deps);
    plans_forget(job->owner->context->plans, job->namespace_, job->name);
    gauges_total(job->namespace_, -1);
    if (job->target)
        gauges_forget(job->target, job->namespace_);
    free(job->namespace_);
    free(job->name);
    free(job->label);
    free(job->target);
    free(job->failed_text);
    free(job);
}

const char *job_namespace(const struct job *job)
{
    return job->namespace_;
}

const char *job_name(const struct job *job)
{
    return job->name;
}

bool job_hears_status(const struct job *job)
{
    return job->state != JOB_IDLE || wake_hears_status(&job->wake);
}

static void ask_to_run(struct job *job)
{
    job_set_state(job, JOB_QUEUED);
    timer_stop(job->timer);
    job->timer = NULL;
    job->owner->wants(job->owner->arg, job, false);
}

static void note_waker(struct job *job, const char *by)
{
    job->woken_by = by;
    job->woken_at = clock_monotonic_ms();
}

static void on_timer(void *arg)
{
    struct job *job = arg;
    job->timer = NULL;
    note_waker(job, "timer");
    ask_to_run(job);
}

/* Runs after so long, or when it would have run anyway. */
static void run_after(struct job *job, int64_t ms)
{
    int64_t at = clock_monotonic_ms() + ms;
    if (job->timer && job->timer_at <= at)
        return;
    timer_stop(job->timer);
    job->timer = timer_start(job->owner->context->loop, ms, 0, on_timer, job);
    job->timer_at = at;
}

static void wake_up(struct job *job)
{
    if (job->state != JOB_IDLE) {
        job->woken = job->state != JOB_QUEUED;
        return;
    }
    int64_t now = clock_monotonic_ms();
    if (now - job->burst_since >= BURST_MS) {
        job->burst_since = now;
        job->burst_runs = 0;
    }
    if (job->burst_runs < BURST_RUNS) {
        job->burst_runs++;
        ask_to_run(job);
        return;
    }
    if (job->burst_runs == BURST_RUNS) {
        job->burst_runs++;
        log_warn("canary_restless", job->label,
                 "something that this canary depends on changes all the time; it waits a little");
    }
    run_after(job, job->burst_since + BURST_MS - now);
}

void job_wake(struct job *job)
{
    const struct kube_resource *changed = job->owner->changed;

    note_waker(job, changed ? changed->plural : "leadership");
    wake_up(job);
}

/* Ends the run; wakes again after `ms`, or not by itself when ms is negative. */
static void end_run(struct job *job, int64_t ms)
{
    bool keep_trees = !wake_rests(job->wake.phase);
    deps_end(job->deps, keep_trees);
    drop_run(job);
    job_set_state(job, JOB_IDLE);
    job->owner->ended(job->owner->arg, job);
    if (ms >= 0)
        run_after(job, ms);
    if (job->woken) {
        job->woken = false;
        wake_up(job);
    }
}

/* --- what goes wrong
 * ---------------------------------------------------------------------------------------- */

static int64_t retry_ms(struct job *job)
{
    int64_t wait = FIRST_RETRY_MS;
    for (int i = 0; i < job->failures && wait < job->owner->retry_ceiling_ms; i++)
        wait *= 2;
    if (wait > job->owner->retry_ceiling_ms)
        wait = job->owner->retry_ceiling_ms;
    job->failures++;
    return wait + backoff_random(wait / 4 + 1);
}

/* Told once while it lasts. A sentence that keeps changing is told once in FAILURE_PAUSE_MS. */
static bool is_news(struct job *job, const char *text)
{
    int64_t now = clock_monotonic_ms();
    if (job->failed_text &&
        (strcmp(job->failed_text, text) == 0 || now - job->failed_at < FAILURE_PAUSE_MS))
        return false;
    free(job->failed_text);
    job->failed_text = heap_strdup(text);
    job->failed_at = now;
    return true;
}

/* An event during an outage of the API may be lost with it: one that has lasted is told afterwards.
 */
static void forget_failures(struct job *job)
{
    struct engine_context *context = job->owner->context;
    if (job->failures > 0)
        log_info("tick_recovered", job->label, "the release goes on after failures",
                 LOG_INT("failures", job->failures));
    if (job->failures >= FAILURES_TOLD && job->failed_text &&
        context->may_write(context->may_write_arg))
        perform_event(context, &job->canary, job->canary.status.phase, "Normal",
                      arena_printf(job->arena, "Going on after %d failed tries: %s", job->failures,
                                   job->failed_text),
                      job->tick->now_ms);
    job->failures = 0;
    free(job->failed_text);
    job->failed_text = NULL;
}

/* The run cannot go on; the release holds as it stands, and everything is derived anew on the next
 * try. */
static void fail_run(struct job *job, enum err err, const struct errinfo *info)
{
    int64_t wait = retry_ms(job);
    deps_forget_trees(job->deps);
    log_warn("tick_failed", job->label, info->text, LOG_STR("error", err_name(err)),
             LOG_INT("retry_ms", wait));
    struct engine_context *context = job->owner->context;
    if (job->tick && err != ERR_CANCELLED && context->may_write(context->may_write_arg) &&
        is_news(job, info->text))
        perform_event(context, &job->canary, job->canary.status.phase, "Warning", info->text,
                      job->tick->now_ms);
    end_run(job, wait);
}

static void on_performed(void *arg, enum err err, const struct errinfo *info);

static void read_again(void *arg)
{
    struct job *job = arg;
    job->pause = NULL;
    deps_forget_trees(job->deps);
    read_canary(job);
}

/* Somebody else was first: observe and decide again at once. */
static void run_again(struct job *job, const struct errinfo *info)
{
    if (++job->conflicts > MAX_CONFLICTS) {
        fail_run(job, ERR_CONFLICT, info);
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

/* --- the end of a plan
 * -------------------------------------------------------------------------------------- */

static enum phase phase_after(const struct job *job)
{
    enum phase phase = job->canary.status.phase;
    for (const struct effect *effect = job->tick->plan->first; effect; effect = effect->next) {
        const char *text = effect->kind == EFFECT_STATUS
                               ? json_str_at(effect->body, "status", "phase", NULL)
                               : NULL;
        if (text)
            phase = phase_parse(text);
    }
    return phase;
}

static void plan_done(struct job *job)
{
    const struct plan *plan = job->tick->plan;
    int64_t now = clock_monotonic_ms();
    int64_t interval = tick_interval_ms(job->tick);
    forget_failures(job);
    wake_ran(&job->wake, plan, phase_after(job), job->began, interval);
    if (plan->stepped)
        gauges_tick_seconds(&job->canary, (double)(now - job->began) / 1000);
    if (wake_is_restless(&job->wake))
        log_warn("canary_restless", job->label,
                 "something undoes what the rules write; trying again after the interval",
                 LOG_INT("times", job->wake.again_now));
    end_run(job, wake_after(&job->wake, plan, job->began, now, interval));
}

static void on_performed(void *arg, enum err err, const struct errinfo *info)
{
    struct job *job = arg;
    job->perform = NULL;
    if (err == ERR_OK)
        plan_done(job);
    else if (err == ERR_CONFLICT || err == ERR_NOT_FOUND) /* changed, or gone, since it was read */
        run_again(job, info);
    else
        fail_run(job, err, info);
}

static void refused(struct job *job)
{
    struct errinfo info = {0};
    fail_run(job, err_set(&info, ERR_CANCELLED, "this replica is not the leader"), &info);
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

/* --- decide, and fetch what is missing
 * ---------------------------------------------------------------------- */

static void gathered(struct job *job, enum err err, const struct errinfo *info)
{
    if (err == ERR_OK)
        decide_round(job);
    else
        fail_run(job, err, info);
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
    job->asked_info = *info;
    job_set_state(job, JOB_ANSWERED);
    job->owner->wants(job->owner->arg, job, true);
}

/* Its plan is worth nothing, and nobody else is concerned. */
static void rule_broke(struct job *job)
{
    struct errinfo info = {0};
    log_error("rule_broke", job->label, job->tick->broken,
              LOG_STR("phase", phase_name(job->canary.status.phase)));
    fail_run(job, err_set(&info, ERR_INVALID, "a rule broke: %s", job->tick->broken), &info);
}

static void decide_round(struct job *job)
{
    struct engine_context *context = job->owner->context;
    for (;;) {
        tick_reset(job->tick);
        enum verdict verdict = decide(job->tick);
        if (job->tick->broken) {
            rule_broke(job);
            return;
        }
        if (verdict != VERDICT_NEED_FACTS) {
            perform_plan(job);
            return;
        }
        if (++job->rounds > MAX_ROUNDS) {
            struct errinfo info = {0};
            fail_run(job,
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

/* --- the Canary itself
 * -------------------------------------------------------------------------------------- */

/* Of a Canary that cannot be read: what an event needs. */
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

/* The object takes too much memory: its outline says whom to tell. */
static void tell_too_large(struct job *job, struct json_object *outline)
{
    struct json_object *tree = json_own(job->arena, json_object_get(outline));
    job->canary = nameplate(job, tree);
    job->tick =
        tick_new(job->arena, &job->canary, job->owner->context->settings, clock_wall_ms(), true);
}

/*
 * A spec that cannot be read is told once: the condition Accepted=False remembers the sentence. It
 * is touched no further until it changes.
 */
static void tell_mistake(struct job *job, struct json_object *tree, const struct errinfo *info)
{
    int64_t now = clock_wall_ms();
    job->canary = nameplate(job, tree);
    job->tick = tick_new(job->arena, &job->canary, job->owner->context->settings, now, true);
    if (!revert_unread(job->tick, tree, info->text)) {
        struct json_object *patch = accept_refusal(job->arena, tree, info->text, now);
        if (!patch) {
            wake_forget(&job->wake);
            end_run(job, -1);
            return;
        }
        plan_status(job->tick, patch);
        plan_event(job->tick, "Warning", PHASE_NONE, "%s", info->text);
    }
    job_set_state(job, JOB_GATHERING);
    perform_plan(job);
}

static int64_t interval_ms(const struct job *job)
{
    return tick_canary_interval_ms(&job->canary, job->owner->context->settings);
}

/*
 * A restart must not quicken a release: the first tick after it takes the time of the last step
 * from the status, as long as that makes sense by the wall clock.
 */
static void learn_cadence(struct job *job)
{
    const char *since = job->canary.status.last_transition_time;
    int64_t interval = interval_ms(job);
    int64_t last;
    job->cadence_known = true;
    if (!since || clock_parse(since, &last, NULL) != ERR_OK)
        return;
    int64_t left = interval - (clock_wall_ms() - last);
    if (left > 0 && left <= interval)
        job->wake.next_due = clock_monotonic_ms() + left;
}

static bool is_due(struct job *job)
{
    if (!job->cadence_known)
        learn_cadence(job);
    return wake_is_due(&job->wake, job->canary.status.phase, clock_monotonic_ms(),
                       interval_ms(job));
}

/* How this Canary stands to others of the same target or Services, whose gauges would have the same
 * labels. */
static void judge(struct job *job, struct json_object *tree)
{
    const char *target = job->canary.target.name;
    job->rivalry = claims_judge(job->owner->claims, job->arena, tree);
    if (job->rivalry.rival)
        return;
    if (job->target && strcmp(job->target, target) != 0)
        gauges_forget(job->target, job->namespace_);
    if (!job->target || strcmp(job->target, target) != 0) {
        free(job->target);
        job->target = heap_strdup(target);
    }
    gauges_canary(&job->canary); /* also of one that rests: a restart has lost them */
}

/* Once a spec: a Secret goes to whoever answers where nobody verifies who that is. */
static void warn_of_unverified_secrets(struct job *job)
{
    const struct canary *canary = &job->canary;
    if (job->warned_generation == canary->generation)
        return;
    job->warned_generation = canary->generation;
    for (int i = 0; i < canary->analysis.n_webhooks; i++) {
        const struct canary_webhook *webhook = &canary->analysis.webhooks[i];
        if (!webhook->disable_tls || webhook->n_headers_from == 0)
            continue;
        perform_event(job->owner->context, canary, canary->status.phase, "Warning",
                      arena_printf(job->arena,
                                   "spec.analysis.webhooks[%d]: with disableTLS the headers of "
                                   "headersFrom are sent to %s without knowing who answers there",
                                   i, webhook->url),
                      clock_wall_ms());
    }
}

static void start_tick(struct job *job, struct json_object *tree)
{
    struct errinfo info = {0};
    int64_t generation = job->tick ? job->canary.generation : -1;
    const char *mistake;
    enum err err = accept_view(job->arena, tree, &job->canary, &mistake, &info);
    if (err != ERR_OK) {
        tell_mistake(job, tree, &info);
        return;
    }
    judge(job, tree);
    warn_of_unverified_secrets(job);
    job_set_state(job, JOB_GATHERING);
    if (job->tick && generation == job->canary.generation) {
        /* The same tick goes on after a conflict: webhooks and metrics are not asked again. */
        facts_forget_objects(job->tick);
        tick_see(job->tick, &job->canary);
    } else {
        bool due = is_due(job);
        struct engine_context *context = job->owner->context;
        int64_t now = clock_wall_ms();
        clock_steps_see(&context->steps, now, clock_monotonic_ms());
        job->tick = tick_new(job->arena, &job->canary, context->settings, now, due);
        job->tick->stepped_at_ms = context->steps.at_ms;
    }
    job->tick->mistake = mistake;
    job->tick->rival = job->rivalry.rival;
    job->tick->barred = job->rivalry.barred;
    job->tick->heir = job->rivalry.heir;
    decide_round(job);
}

static void on_canary(void *arg, enum err err, struct json_object *tree, const struct errinfo *info)
{
    struct job *job = arg;
    job->read = NULL;
    if (err != ERR_OK) {
        if (tree)
            tell_too_large(job, tree);
        fail_run(job, err, info);
        return;
    }
    deps_read(job->deps, &tick_canaries, job->namespace_, job->name, tree);
    if (!tree) {
        end_run(job, -1); /* deleted; the watch will say so and end the job */
        return;
    }
    start_tick(job, json_own(job->arena, json_object_get(tree)));
}

static void read_canary(struct job *job)
{
    struct json_object *tree = NULL;
    struct engine_context *context = job->owner->context;
    if (deps_known(job->deps, context->watches, &tick_canaries, job->namespace_, job->name,
                   &tree) &&
        tree) {
        start_tick(job, json_own(job->arena, json_object_get(tree)));
        return;
    }
    job->read = read_one_start(context, &tick_canaries, job->namespace_, job->name, on_canary, job);
}

void job_run(struct job *job)
{
    if (job->state == JOB_ANSWERED) {
        job_set_state(job, JOB_GATHERING);
        gathered(job, job->asked, &job->asked_info);
        return;
    }
    job->arena = arena_new();
    job->began = clock_monotonic_ms();
    job->runs++;
    job->rounds = 0;
    job->conflicts = 0;
    job->woken = false;
    deps_begin(job->deps);
    job_set_state(job, JOB_READING);
    read_canary(job);
}
