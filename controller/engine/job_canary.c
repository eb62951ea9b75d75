/* What a run learns of its Canary before the rules are asked. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "decide/decide.h"
#include "engine/gauges.h"
#include "engine/job_internal.h"
#include "engine/perform.h"

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

void job_take_outline(struct job *job, struct json_object *outline)
{
    struct json_object *tree = json_own(job->arena, json_object_get(outline));
    *job->canary = nameplate(job, tree);
    job->tick =
        tick_new(job->arena, job->canary, job->owner->context->settings, clock_wall_ms(), true);
}

bool job_take_mistake(struct job *job, struct json_object *tree, const struct errinfo *info)
{
    int64_t now = clock_wall_ms();
    *job->canary = nameplate(job, tree);
    job->tick = tick_new(job->arena, job->canary, job->owner->context->settings, now, true);
    if (revert_unread(job->tick, tree, info->text))
        return true;
    struct json_object *patch = accept_refusal(job->arena, tree, info->text, now);
    if (!patch) {
        wake_forget(&job->wake);
        return false;
    }
    plan_status(job->tick, patch);
    plan_event(job->tick, "Warning", PHASE_NONE, "%s", info->text);
    return true;
}

static int64_t interval_ms(const struct job *job)
{
    return tick_canary_interval_ms(job->canary, job->owner->context->settings);
}

/*
 * A restart must not quicken a release: the first tick after it takes the time of the last step
 * from the status, as long as that makes sense by the wall clock.
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

bool job_is_due(struct job *job)
{
    if (!job->cadence_known)
        learn_cadence(job);
    return wake_is_due(&job->wake, job->canary->status.phase, clock_monotonic_ms(),
                       interval_ms(job));
}

void job_judge(struct job *job, struct json_object *tree)
{
    const char *target = job->canary->target.name;
    job->rivalry = claims_judge(job->owner->claims, job->arena, tree);
    if (job->rivalry.rival)
        return;
    if (job->target && strcmp(job->target, target) != 0)
        gauges_forget(job->target, job->namespace_);
    if (!job->target || strcmp(job->target, target) != 0) {
        free(job->target);
        job->target = heap_strdup(target);
    }
    gauges_canary(job->canary); /* also of one that rests: a restart has lost them */
}

void job_warn_of_secrets(struct job *job)
{
    const struct canary *canary = job->canary;
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
