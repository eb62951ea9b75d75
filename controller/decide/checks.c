#include "decide/checks.h"

#include <string.h>

#include "base/clock.h"
#include "decide/condition.h"
#include "decide/release.h"
#include "decide/steering.h"

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

/* Webhooks (engine/WEBHOOKS.md): called in list order, the first that refuses ends the list. */

/*
 * The revision that a hook is asked about. Before the start it is the waiting one, under the
 * checksum that the status will have (status_sync()): an approval names the revision and stays
 * valid at later gates. (Flagger sends the revision before it.)
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
 * connection, 401) says nothing about the revision: unless the spec says otherwise the step waits
 * for a person, and the release is neither promoted nor rolled back for it.
 */

static const char held[] = "Held", unreachable[] = "Unreachable", load_runs[] = "LoadTestRuns";

/*
 * The step waits, which is reported once: the condition records it and its beginning. CONTINUE:
 * nothing is counted. DONE: the time limit has passed; from now on it is reported and counted as a
 * failed check.
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
