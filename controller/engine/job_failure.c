/* What goes wrong in a run: how long the job waits then, and who is told. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/job_internal.h"
#include "engine/perform.h"
#include "kube/backoff.h"

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

static void forget_refused(struct job *job)
{
    free(job->refused.resource);
    free(job->refused.name);
    free(job->refused.text);
    job->refused.resource = job->refused.name = job->refused.text = NULL;
    job->refused.tells = false;
}

/* An event during an outage of the API may be lost with it: one that has lasted is told afterwards.
 */
void job_recover(struct job *job)
{
    struct engine_context *context = job->owner->context;
    if (job->failures > 0)
        log_info("tick_recovered", job->label, "the release goes on after failures",
                 LOG_INT("failures", job->failures));
    if (job->failures >= FAILURES_TOLD && job->failed_text &&
        context->may_write(context->may_write_arg))
        perform_event(context, job->canary, job->canary->status.phase, "Normal",
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
    /* A server that did not answer says nothing about what the watches show. */
    if (err != ERR_RETRY)
        deps_doubt_all(job->deps);
    log_warn("tick_failed", job->label, info->text, LOG_STR("error", err_name(err)),
             LOG_INT("retry_ms", wait));
    struct engine_context *context = job->owner->context;
    bool told_next = (err == ERR_DENIED && job->tells) || job->refused.text;
    if (job->tick && err != ERR_CANCELLED && !told_next &&
        context->may_write(context->may_write_arg) && is_news(job, info->text))
        perform_event(context, job->canary, job->canary->status.phase, "Warning", info->text,
                      job->tick->now_ms);
    job_end(job, wait);
}
