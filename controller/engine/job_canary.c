/* What a run learns of its Canary before the rules are asked. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "decide/act/driver.h"
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

bool job_take_mistake(struct job *job, struct json_object *tree, const struct errinfo *info)
{
    *job->canary = nameplate(job, tree);
    job->canary->json = tree;
    job->canary->status.controller = json_str_at(tree, "status", "controller", NULL);
    job->tick =
        tick_new(job->arena, job->canary, job->owner->context->settings, clock_wall_ms(), true);
    job_see_other(job);
    if (driver_leaves(job->tick))
        return job->tick->plan->first != NULL;
    if (!plan_mistake(job, tree, info)) {
        wake_forget(&job->wake);
        return false;
    }
    driver_claim(job->tick);
    return true;
}

/* True: our name is missing there. */
static bool names_another(const struct job *job, const char *named)
{
    const char *own = job->owner->context->settings->controller;

    return named && !(own && strcmp(named, own) == 0);
}

/* It is left to the other controller, or no more. */
void job_set_left(struct job *job, bool left)
{
    if (left != job->left)
        other_left(job->other, left ? 1 : -1);
    job->left = left;
}

static void let_go(struct job *job)
{
    job_set_left(job, false);
    others_let_go(job->owner->others, job->other);
    job->other = NULL;
    job->taken = 0;
}

static enum other_state state_of_other(const struct job *job)
{
    struct json_object *labels = json_at(job->canary->json, "metadata", "labels", NULL);

    if (!other_was_looked_at(job->other, job->taken))
        return OTHER_UNKNOWN;
    return other_covers(job->other, job->namespace_, labels) ? other_state(job->other) : OTHER_GONE;
}

void job_see_other(struct job *job)
{
    const char *named = job->canary->status.controller;
    struct other_controller *out = &job->tick->other;

    if (job->observer) /* it writes nothing, whoever drives the Canary */
        return;
    *out = (struct other_controller){.state = OTHER_GONE};
    if (!names_another(job, named)) {
        job->claimed &= !named;
        if (job->other && (!job->taken || state_of_other(job) == OTHER_GONE))
            let_go(job);
    } else {
        if (!job->other || strcmp(other_lease(job->other), named) != 0) {
            let_go(job);
            job->other = others_hold(job->owner->others, named);
        }
        job->taken = 0;
        out->lease = named;
    }
    job->tick->claimed = job->claimed;
    if (!job->other)
        return;
    *out = (struct other_controller){.lease = other_lease(job->other),
                                     .state = state_of_other(job),
                                     .trouble = other_trouble(job->other),
                                     .told = job->left};
}

void job_note_claim(struct job *job)
{
    if (!job->tick->plan->claims)
        return;
    job->claimed = true;
    if (job->other)
        job->taken = other_next_look(job->other);
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
    if (!job->observer)             /* whoever looks after it shows them already */
        gauges_canary(job->canary); /* also of one that rests: a restart has lost them */
}

void job_warn_of_secrets(struct job *job)
{
    const struct canary *canary = job->canary;
    if (job->warned_generation == canary->generation || job->tick->other.lease)
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
