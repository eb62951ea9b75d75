#include "decide/checks.h"

#include <string.h>

#include "base/clock.h"
#include "decide/condition.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/status.h"
#include "decide/steering.h"
#include "proto/webhook_message.h"
#include "tick/edit.h"

enum rule_result checks_failed(struct release *r, const char *reason, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *sentence = arena_vprintf(r->tick->arena, fmt, args);
    va_end(args);
    (void)condition_set(r, CONDITION_CHECKS, reason, sentence);
    event_warning(r, "%s", sentence);
    return RULE_DONE;
}

void checks_passed(struct release *r)
{
    condition_clear(r, CONDITION_CHECKS);
}

const char *checks_why(const struct release *r)
{
    return condition_message(r, CONDITION_CHECKS);
}

/* Webhooks (engine/WEBHOOKS.md): called in list order; the first refusal ends the list. */

/*
 * The revision that a hook is asked about. Before the start it is the waiting revision, under the
 * checksum that the status will have (status_sync()): an approval names the revision and stays
 * valid at later gates. (Flagger sends the previous revision.)
 */
const char *hooks_revision(struct release *r)
{
    return release_checksum(r);
}

enum rule_result hooks_ask(struct release *r, enum hook_type type, enum phase phase,
                           const char *passed_text, const struct canary_webhook **closed,
                           const struct hook_answer **answer)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        if (hook->type != type || (type == HOOK_ROLLOUT && !release_calls(r, hook->name)))
            continue;
        if (!need_hook(r->tick, i, phase, hooks_revision(r), answer))
            return RULE_NEEDS_FACTS;
        if (!(*answer)->passed) {
            *closed = hook;
            return RULE_DONE;
        }
        if (passed_text)
            event_normal(r, "%s check %s passed", passed_text, hook->name);
    }
    return RULE_CONTINUE;
}

bool hooks_has(const struct release *r, enum hook_type type)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        if (analysis->webhooks[i].type == type)
            return true;
    }
    return false;
}

void hooks_post_rollout(struct release *r, enum phase phase)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        if (analysis->webhooks[i].type == HOOK_POST_ROLLOUT)
            plan_hook(r->tick, i, phase);
    }
}

/*
 * Metrics without an answer (onMetricError, noData): a failed check as in Flagger, ignored, or a
 * step that waits for it, with a time limit. A metric that cannot be queried (unknown host, no
 * connection, 401) says nothing about the revision: unless the spec says otherwise, the step waits
 * for a person, and the release is neither promoted nor rolled back because of it.
 */

static const char held[] = "Held", unreachable[] = "Unreachable", load_runs[] = "LoadTestRuns";

/*
 * Makes the step wait, and reports that once: the condition records the wait and its beginning.
 * CONTINUE: nothing is counted. DONE: the time limit has passed; from now on it is reported and
 * counted as a failed check.
 */
static enum rule_result hold(struct release *r, const char *reason, const char *sentence)
{
    int64_t bound = tick_deadline_ms(r->tick), since;
    char text[CLOCK_TEXT], lasted[DURATION_TEXT];
    bool waited = condition_since(r, CONDITION_MEASURED, held, &since);

    if (waited && tick_deadline_passed(r->tick, since) && !steering_is_paused(r)) {
        r->held = true;
        return checks_failed(r, reason, "%s; held for %s, now it counts as failed", sentence,
                             duration_format(bound * 1000000, lasted));
    }
    if (!waited && !r->held) {
        const char *told =
            arena_printf(r->tick->arena, "%s; held until %s, then it counts as failed", sentence,
                         clock_rfc3339(r->tick->now_ms / 1000 * 1000 + bound, text));
        condition_clear(r, CONDITION_MEASURED);
        (void)condition_set(r, CONDITION_MEASURED, held, told);
        event_warning(r, "%s", told);
    }
    r->held = true;
    return RULE_CONTINUE;
}

/* Waits without a time limit; reported once, with an alert. */
static enum rule_result wait(struct release *r, const char *sentence)
{
    int64_t since;

    if (!condition_since(r, CONDITION_MEASURED, unreachable, &since) && !r->held) {
        const char *told = arena_printf(r->tick->arena,
                                        "%s; held until it can be asked, nothing is promoted or "
                                        "rolled back for it (onMetricError)",
                                        sentence);
        condition_clear(r, CONDITION_MEASURED);
        (void)condition_set(r, CONDITION_MEASURED, unreachable, told);
        event_warning(r, "%s", told);
        plan_alert(r->tick, "warn", false, "The release is held, a metric cannot be asked")
            ->reason = told;
    }
    r->held = true;
    return RULE_CONTINUE;
}

/* The load tester ends each load test at a deadline of its own, so this wait has an end. */
enum rule_result metrics_load_runs(struct release *r, const char *fmt, ...)
{
    va_list args;
    int64_t since;

    va_start(args, fmt);
    const char *sentence = arena_vprintf(r->tick->arena, fmt, args);
    va_end(args);
    if (!condition_since(r, CONDITION_MEASURED, load_runs, &since) && !r->held) {
        condition_clear(r, CONDITION_MEASURED);
        (void)condition_set(r, CONDITION_MEASURED, load_runs, sentence);
        event_normal(r, "%s", sentence);
    }
    r->held = true;
    return RULE_CONTINUE;
}

enum rule_result metrics_unmeasured(struct release *r, enum canary_policy policy,
                                    const char *reason, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *sentence = arena_vprintf(r->tick->arena, fmt, args);
    va_end(args);
    switch (policy) {
    case POLICY_PASS:
        return RULE_CONTINUE;
    case POLICY_HOLD:
        return hold(r, reason, sentence);
    case POLICY_WAIT:
        return wait(r, sentence);
    case POLICY_FAIL:
        break;
    }
    return checks_failed(r, reason, "%s", sentence);
}

void metrics_measured(struct release *r)
{
    int64_t since;

    if (!condition_is_set(r, CONDITION_MEASURED))
        return;
    bool ran = condition_since(r, CONDITION_MEASURED, load_runs, &since);
    condition_clear(r, CONDITION_MEASURED);
    event_normal(r, ran ? "The load test of %s has ended" : "The metrics of %s are there again",
                 release_target(r));
}

/*
 * Load tests from many pods end with what they were started for: their release, whether it was
 * promoted, rolled back, cancelled or started over with another revision, or their Canary, when it is
 * deleted or suspended.
 *
 * A webhook of the types rollout and pre-rollout with metadata.type job or k6 starts one
 * (webhook_is_load()). status.loadTests names the release that may have some, before its first
 * webhook is called, and stands until each of these webhooks has taken the end: a controller that
 * restarts, or a load tester that was away, leaves nothing running. A load tester that does not take
 * it is asked once an interval, up to the progress deadline, or for a minute where the Canary is
 * deleted; from then on the deadlines of the load tests themselves count.
 */

static const char load_key[] = "loadTests";

/* A namespace is deleted with its load tester; its end should not wait for that. */
enum { DELETION_MS = 60 * 1000 };

static bool runs_load(const struct canary_webhook *hook)
{
    return (hook->type == HOOK_ROLLOUT || hook->type == HOOK_PRE_ROLLOUT) &&
           webhook_is_load(hook->metadata);
}

static bool has_load(const struct canary *canary)
{
    for (int i = 0; i < canary->analysis.n_webhooks; i++)
        if (runs_load(&canary->analysis.webhooks[i]))
            return true;
    return false;
}

static struct json_object *load_record(const struct release *r)
{
    return json_at(r->canary->status.json, load_key, NULL);
}

bool load_tests_may_run(const struct canary *canary)
{
    return has_load(canary) || json_at(canary->status.json, load_key, NULL);
}

/* The end of the release before it: one of the same revision that is started over is another one. */
static const char *load_after(const struct release *r)
{
    struct json_object *history = json_at(r->canary->status.json, "history", NULL);
    const char *ended = json_str_at(json_elem(history, 0), "ended", NULL);

    return ended ? ended : "";
}

/* The revision of the status: that of the release that runs, or has run last. */
static const char *load_revision(const struct release *r)
{
    return canary_checksum(r->tick->arena, r->canary);
}

static bool record_says(struct json_object *record, const char *field, const char *text)
{
    const char *found = json_str_at(record, field, NULL);

    return strcmp(found ? found : "", text) == 0;
}

/* True if the release that runs is the one of the record. */
static bool record_is_of_now(const struct release *r, struct json_object *record)
{
    bool runs = release_is_analysing(r) || release_is_promoting(r);

    return runs && record_says(record, "revision", load_revision(r)) &&
           record_says(record, "after", load_after(r));
}

/* CONTINUE: all have taken it, or *closed has not, which said *said. */
static enum rule_result send_load_end(struct release *r, const struct canary_webhook **closed,
                                      const char **said)
{
    enum phase phase = r->phase == PHASE_Succeeded ? PHASE_Succeeded : PHASE_Failed;
    const struct hook_answer *answer;

    *closed = NULL;
    for (int i = 0; i < r->canary->analysis.n_webhooks; i++) {
        const struct canary_webhook *hook = &r->canary->analysis.webhooks[i];
        if (!runs_load(hook))
            continue;
        if (!need_hook(r->tick, i, phase, load_revision(r), &answer))
            return RULE_NEEDS_FACTS;
        if (!answer->passed && !*closed) {
            *closed = hook;
            *said = answer->text;
        }
    }
    return RULE_CONTINUE;
}

/* They run on until their own deadline. */
static void leave_load(struct release *r, const char *why)
{
    event_warning(r,
                  "Load tests of %s are left running until their own deadline, they could not be "
                  "ended: %s",
                  release_canary(r), why);
    status_object(r, load_key, NULL);
}

static bool is_past(const struct release *r, const char *time, int64_t more_ms)
{
    int64_t at_ms;

    return clock_parse(time, &at_ms, NULL) != ERR_OK || r->tick->now_ms - at_ms >= more_ms;
}

static bool load_is_late(const struct release *r, const char *until)
{
    const char *deleted = json_str_at(r->canary->json, "metadata", "deletionTimestamp", NULL);

    return (until && is_past(r, until, 0)) ||
           (r->canary->deleting && (!deleted || is_past(r, deleted, DELETION_MS)));
}

/* Asked again in an interval. The record has the end of that, and the event is sent once. */
static void end_load_again(struct release *r, struct json_object *record, const char *why)
{
    const char *until = json_str_at(record, "until", NULL);
    struct json_object *now = json_copy(r->tick->arena, record);
    char text[CLOCK_TEXT];

    if (load_is_late(r, until)) {
        leave_load(r, why);
        return;
    }
    release_requeue_within(r, tick_interval_ms(r->tick));
    if (until)
        return;
    until = clock_rfc3339(r->tick->now_ms / 1000 * 1000 + tick_deadline_ms(r->tick), text);
    json_set_str(now, "until", until);
    status_object(r, load_key, now);
    event_warning(r, "Load tests of %s could not be ended, trying again: %s", release_canary(r),
                  why);
}

static enum rule_result close_load(struct release *r)
{
    struct json_object *record = load_record(r);
    const struct canary_webhook *closed;
    const char *said = "";

    if (!record)
        return RULE_CONTINUE;
    if (!has_load(r->canary)) {
        leave_load(r, "no webhook of the spec runs them any more");
        return RULE_CONTINUE;
    }
    enum rule_result verdict = send_load_end(r, &closed, &said);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (closed)
        end_load_again(r, record, arena_printf(r->tick->arena, "%s said: %s", closed->name, said));
    else
        status_object(r, load_key, NULL);
    return RULE_CONTINUE;
}

bool load_tests_are_left(const struct release *r)
{
    struct json_object *now;
    bool changed = json_object_object_get_ex(r->status, load_key, &now);

    return changed ? now != NULL : load_record(r) != NULL;
}

/* DONE: they have ended, which is written before anything else is asked or done. */
static enum rule_result close_load_first(struct release *r)
{
    bool had = load_tests_are_left(r);
    enum rule_result verdict = close_load(r);

    if (verdict != RULE_CONTINUE || !had || load_tests_are_left(r))
        return verdict;
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

enum rule_result load_tests_end(struct release *r)
{
    bool runs = release_is_analysing(r) || release_is_promoting(r);

    /* while a release runs, load_tests_begin() does this, behind the guards */
    return runs && !r->canary->suspend && !r->canary->deleting ? RULE_CONTINUE
                                                               : close_load_first(r);
}

/* A step may start a load test once the record of its release is written, and those of the release
 * before it have ended. */
enum rule_result load_tests_begin(struct release *r)
{
    struct json_object *record = load_record(r);

    if (record && !record_is_of_now(r, record)) {
        enum rule_result verdict = close_load_first(r);
        return verdict == RULE_CONTINUE ? RULE_DONE : verdict;
    }
    if (record || !has_load(r->canary))
        return RULE_CONTINUE;
    struct json_object *now = edit_object(r->tick->arena);
    json_set_str(now, "revision", load_revision(r));
    if (*load_after(r))
        json_set_str(now, "after", load_after(r));
    status_object(r, load_key, now);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}
