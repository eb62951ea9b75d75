#include "engine/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/alert_deliveries.h"
#include "engine/apply_plan.h"
#include "engine/cache.h"
#include "engine/controller_metrics.h"
#include "engine/fetch_facts.h"
#include "engine/job_internal.h"
#include "engine/outbox.h"
#include "engine/recent.h"
#include "kube/rate_limit.h"

/*
 * Limits how often events wake a Canary: an object that changes constantly, or a controller that
 * fights over a route, must not keep this one busy.
 */
enum { BURST_RUNS = 50, BURST_MS = 10000 };

static const struct machine_state states[] = {
    [JOB_IDLE] = {.name = "idle", .next = 1u << JOB_QUEUED},
    [JOB_QUEUED] = {.name = "queued", .next = 1u << JOB_READING},
    [JOB_READING] = {.name = "reading", .next = 1u << JOB_FETCHING | 1u << JOB_IDLE},
    [JOB_FETCHING] = {.name = "gathering",
                      .next = 1u << JOB_ASKING | 1u << JOB_APPLYING | 1u << JOB_IDLE},
    [JOB_ASKING] = {.name = "asking", .next = 1u << JOB_ANSWERED},
    [JOB_ANSWERED] = {.name = "answered", .next = 1u << JOB_FETCHING},
    [JOB_APPLYING] = {.name = "performing", .next = 1u << JOB_READING | 1u << JOB_IDLE},
};
const struct machine job_machine = {MACHINE_STATES(states), .event = "job_state"};

void job_set_state(struct job *job, enum job_state state)
{
    machine_step(&job_machine, job->state, state, job->label, "the job goes on");
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
    job->slot.namespace_ = job->namespace_;
    job->deps = deps_new(owner->index, job);
    job->shadow = owner->observes ? shadow_new() : NULL;
    controller_metrics_total(namespace_, 1);
    return job;
}

static void drop_run(struct job *job)
{
    timer_stop(job->pause);
    job->pause = NULL;
    object_read_free(job->read);
    fetch_free(job->fetch);
    apply_free(job->apply);
    job->read = NULL;
    job->fetch = NULL;
    job->apply = NULL;
    arena_free(job->arena);
    job->arena = NULL;
    job->tick = NULL;
}

void job_gone(struct job *job)
{
    apply_gone(job->apply);
    alert_deliveries_forget(job->owner->context->alerts, job->namespace_, job->name);
    outbox_forget(job->owner->context->outbox, job->label);
}

/* Records that the Canary is left to the peer controller, or no longer left to it. */
void job_set_left(struct job *job, bool left)
{
    if (left != job->left)
        peer_count_left(job->peer, left ? 1 : -1);
    job->left = left;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    drop_run(job);
    timer_stop(job->timer);
    if (job->owner->slots)
        job_set_slot(job, SLOT_NONE);
    deps_free(job->deps);
    shadow_free(job->shadow);
    recent_plans_forget(job->owner->context->recent_plans, job->namespace_, job->name);
    controller_metrics_total(job->namespace_, -1);
    if (job->peer)
        job_set_left(job, false);
    peers_let_go(job->owner->peers, job->peer);
    if (job->target)
        controller_metrics_forget(job->target, job->namespace_);
    free(job->namespace_);
    free(job->name);
    free(job->label);
    free(job->target);
    free(job->failed_text);
    free(job->unwritable);
    free(job->refused.resource);
    free(job->refused.name);
    free(job->refused.text);
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

/* Runs after ms, or at the time already set if that is earlier. */
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

void job_set_slot(struct job *job, enum slot_state state)
{
    struct release_slots *slots = job->owner->slots;

    release_slots_set(slots, &job->slot, state);
    controller_metrics_releases(release_slots_under_way(slots), release_slots_waiting(slots));
}

void job_note_release(struct job *job, bool under_way)
{
    if (job->runs == 0)
        job_set_slot(job, under_way ? SLOT_HELD : SLOT_NONE);
}

bool job_releases(const struct job *job)
{
    return job->slot.state == SLOT_HELD;
}

void job_called(struct release_slot *slot)
{
    struct job *job = (struct job *)(void *)((char *)slot - offsetof(struct job, slot));

    note_waker(job, "turn");
    wake_up(job);
}

void job_wake(struct job *job)
{
    const struct kube_resource *changed = job->owner->changed;

    note_waker(job, changed ? changed->plural : "leadership");
    wake_up(job);
}

/* After replacing another controller, waits for one more check of its lease. */
void job_note_peer(struct job *job, const struct peer *peer, bool changed)
{
    if (job->peer == peer && (changed || job->taken))
        job_wake(job);
}

void job_end(struct job *job, int64_t ms)
{
    deps_end(job->deps);
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

int job_place(const struct job *job)
{
    return release_slots_place(job->owner->slots, &job->slot);
}

void job_snapshot(const struct job *job, struct job_snapshot *out)
{
    *out = (struct job_snapshot){
        .namespace_ = job->namespace_,
        .name = job->name,
        .label = job->label,
        .state = machine_name(&job_machine, (int)job->state),
        .idle = job->state == JOB_IDLE,
        .since_ms = job->since,
        .phase = job->tick ? job->canary->status.phase : job->wake.phase,
        .peer = job->peer && !job->taken ? peer_lease(job->peer) : NULL,
        .peer_state = job->peer ? peer_state(job->peer) : PEER_UNKNOWN,
        .queued = job->slot.state == SLOT_WAITING,
        .wakes_ms = job->timer ? job->timer_at : -1,
        .woken_by = job->woken_by,
        .woken_ms = job->woken_at,
        .runs = job->runs,
        .run_again = job->woken,
        .failures = job->failures,
        .failed_text = job->failed_text,
        .failed_ms = job->failed_at,
        .fetch = job->fetch,
        .apply = job->apply,
        .shadow = job->shadow,
        .bytes = sizeof(*job),
    };
    if (job->arena) {
        out->began_ms = job->began;
        out->rounds = job->rounds;
        out->conflicts = job->conflicts;
    }
}

void job_report_observed(const struct job *job)
{
    struct shadow_snapshot snapshot;

    shadow_snapshot(job->shadow, &snapshot);
    if (snapshot.waits_anew)
        log_warn("observed_waits", job->label, snapshot.waits);
    if (snapshot.observed == OBSERVED_NOTHING)
        return;
    controller_metrics_observed(job->namespace_, observed_name(snapshot.observed));
    if (snapshot.observed == OBSERVED_AGREES)
        log_info("observed_agrees", job->label, snapshot.text);
    else
        log_warn("observed_differs", job->label, snapshot.text,
                 LOG_STR("what", observed_name(snapshot.observed)));
}

/* --- failures of a run: the delay before the next try, and the report */

enum { FIRST_RETRY_MS = 500, FAILURE_PAUSE_MS = 5 * 60 * 1000, FAILURES_TOLD = 3 };

int64_t job_retry_ms(struct job *job)
{
    int64_t wait = FIRST_RETRY_MS;
    for (int i = 0; i < job->failures && wait < job->owner->retry_ceiling_ms; i++)
        wait *= 2;
    if (wait > job->owner->retry_ceiling_ms)
        wait = job->owner->retry_ceiling_ms;
    job->failures++;
    return wait + backoff_random(wait / 4 + 1);
}

/*
 * Reported once while the failure lasts. A message that keeps changing is reported once per
 * FAILURE_PAUSE_MS.
 */
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

static void forget_refused(struct job *job)
{
    free(job->refused.resource);
    free(job->refused.name);
    free(job->refused.text);
    job->refused.resource = job->refused.name = job->refused.text = NULL;
    job->refused.tells = false;
}

/*
 * An event may be lost during an outage of the API: a long failure is reported again once it is
 * over.
 */
void job_recover(struct job *job)
{
    struct engine_context *context = job->owner->context;
    if (job->failures > 0)
        log_info("tick_recovered", job->label, "the release goes on after failures",
                 LOG_INT("failures", job->failures));
    if (job->failures >= FAILURES_TOLD && job->failed_text &&
        context->may_write(context->may_write_arg))
        report_event(context, job->canary, job->canary->status.phase, "Normal",
                     arena_printf(job->arena, "Going on after %d failed tries: %s", job->failures,
                                  job->failed_text),
                     job->tick->now_ms);
    job->failures = 0;
    free(job->failed_text);
    free(job->unwritable);
    job->failed_text = job->unwritable = NULL;
    forget_refused(job);
}

void job_denied(struct job *job, const char *text)
{
    job->tells = !job->unwritable || strcmp(job->unwritable, text) != 0;
    if (!job->tells)
        return;
    free(job->unwritable);
    job->unwritable = heap_strdup(text);
}

void job_refused(struct job *job, const struct effect *effect, const char *text)
{
    if (job->refused.text && strcmp(job->refused.resource, effect->resource->plural) == 0 &&
        strcmp(job->refused.name, effect->name) == 0)
        return;
    forget_refused(job);
    job->refused.resource = heap_strdup(effect->resource->plural);
    job->refused.name = heap_strdup(effect->name);
    job->refused.text = heap_strdup(text);
    job->refused.tells = true;
}

void job_fail(struct job *job, enum err err, const struct errinfo *info)
{
    int64_t wait = job_retry_ms(job);
    /* A server that did not answer does not cast doubt on the watches. */
    if (err != ERR_RETRY)
        deps_doubt_all(job->deps);
    log_warn("tick_failed", job->label, info->text, LOG_STR("error", err_name(err)),
             LOG_INT("retry_ms", wait));
    struct engine_context *context = job->owner->context;
    bool told_next = (err == ERR_DENIED && job->tells) || job->refused.text;
    if (job->tick && err != ERR_CANCELLED && !told_next &&
        context->may_write(context->may_write_arg) && is_news(job, info->text))
        report_event(context, job->canary, job->canary->status.phase, "Warning", info->text,
                     job->tick->now_ms);
    job_end(job, wait);
}
