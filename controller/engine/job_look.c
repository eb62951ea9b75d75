#include "engine/job_internal.h"

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
        .bytes = sizeof(*job),
    };
    if (job->arena) {
        out->began_ms = job->began;
        out->rounds = job->rounds;
        out->conflicts = job->conflicts;
    }
}
