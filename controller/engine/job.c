#include "engine/job_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/alerts.h"
#include "engine/gather.h"
#include "engine/gauges.h"
#include "engine/outbox.h"
#include "engine/perform.h"
#include "engine/plans.h"
#include "engine/read_one.h"

/* Events wake a canary at most so often in so long: an object that changes without end, or somebody
 * who fights over a route, must not keep the controller busy. */
enum { BURST_RUNS = 50, BURST_MS = 10000 };

static const struct machine_state states[] = {
    [JOB_IDLE] = {.name = "idle", .next = 1u << JOB_QUEUED},
    [JOB_QUEUED] = {.name = "queued", .next = 1u << JOB_READING},
    [JOB_READING] = {.name = "reading", .next = 1u << JOB_GATHERING | 1u << JOB_IDLE},
    [JOB_GATHERING] = {.name = "gathering",
                       .next = 1u << JOB_ASKING | 1u << JOB_PERFORMING | 1u << JOB_IDLE},
    [JOB_ASKING] = {.name = "asking", .next = 1u << JOB_ANSWERED},
    [JOB_ANSWERED] = {.name = "answered", .next = 1u << JOB_GATHERING},
    [JOB_PERFORMING] = {.name = "performing", .next = 1u << JOB_READING | 1u << JOB_IDLE},
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
    job->turn.namespace_ = job->namespace_;
    job->deps = deps_new(owner->index, job);
    job->observer = owner->observes ? observer_new() : NULL;
    gauges_total(namespace_, 1);
    return job;
}

static void drop_run(struct job *job)
{
    timer_stop(job->pause);
    job->pause = NULL;
    read_one_free(job->read);
    gather_free(job->gather);
    perform_free(job->perform);
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
    alerts_forget(job->owner->context->alerts, job->namespace_, job->name);
    outbox_forget(job->owner->context->outbox, job->label);
}

void job_free(struct job *job)
{
    if (!job)
        return;
    drop_run(job);
    timer_stop(job->timer);
    if (job->owner->turns)
        job_set_turn(job, TURN_NONE);
    deps_free(job->deps);
    observer_free(job->observer);
    plans_forget(job->owner->context->plans, job->namespace_, job->name);
    gauges_total(job->namespace_, -1);
    if (job->other)
        job_set_left(job, false);
    others_let_go(job->owner->others, job->other);
    if (job->target)
        gauges_forget(job->target, job->namespace_);
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

void job_set_turn(struct job *job, enum turn_state state)
{
    struct turns *turns = job->owner->turns;

    turns_set(turns, &job->turn, state);
    gauges_releases(turns_under_way(turns), turns_waiting(turns));
}

void job_note_release(struct job *job, bool under_way)
{
    if (job->runs == 0)
        job_set_turn(job, under_way ? TURN_HAS : TURN_NONE);
}

bool job_releases(const struct job *job)
{
    return job->turn.state == TURN_HAS;
}

void job_called(struct turn *turn)
{
    struct job *job = (struct job *)(void *)((char *)turn - offsetof(struct job, turn));

    note_waker(job, "turn");
    wake_up(job);
}

void job_wake(struct job *job)
{
    const struct kube_resource *changed = job->owner->changed;

    note_waker(job, changed ? changed->plural : "leadership");
    wake_up(job);
}

/* Who has taken over waits for one look more. */
void job_note_other(struct job *job, const struct other *other, bool changed)
{
    if (job->other == other && (changed || job->taken))
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
    return turns_place(job->owner->turns, &job->turn);
}

void job_look(const struct job *job, struct job_look *out)
{
    *out = (struct job_look){
        .namespace_ = job->namespace_,
        .name = job->name,
        .label = job->label,
        .state = machine_name(&job_machine, (int)job->state),
        .idle = job->state == JOB_IDLE,
        .since_ms = job->since,
        .phase = job->tick ? job->canary->status.phase : job->wake.phase,
        .other = job->other && !job->taken ? other_lease(job->other) : NULL,
        .other_state = job->other ? other_state(job->other) : OTHER_UNKNOWN,
        .queued = job->turn.state == TURN_WAITS,
        .wakes_ms = job->timer ? job->timer_at : -1,
        .woken_by = job->woken_by,
        .woken_ms = job->woken_at,
        .runs = job->runs,
        .again = job->woken,
        .failures = job->failures,
        .failed_text = job->failed_text,
        .failed_ms = job->failed_at,
        .gather = job->gather,
        .perform = job->perform,
        .observer = job->observer,
        .bytes = sizeof(*job),
    };
    if (job->arena) {
        out->began_ms = job->began;
        out->rounds = job->rounds;
        out->conflicts = job->conflicts;
    }
}

void job_tell_observed(const struct job *job)
{
    struct observer_look look;

    observer_look(job->observer, &look);
    if (look.observed == OBSERVED_NOTHING)
        return;
    gauges_observed(job->namespace_, observed_name(look.observed));
    if (look.observed == OBSERVED_AGREES)
        log_info("observed_agrees", job->label, look.text);
    else
        log_warn("observed_differs", job->label, look.text,
                 LOG_STR("what", observed_name(look.observed)));
}
