/*
 * What it means for a step that a metric says nothing (onMetricError, noData): a failed check as in
 * Flagger, nothing, or that the step waits for it, with an end. A metric that cannot be asked (no such
 * host, no connection, 401) says nothing of the revision: unless the spec says otherwise the step waits
 * for a person, and the release is neither promoted nor rolled back for it.
 */
#include "decide/ask/unmeasured.h"

#include "base/clock.h"
#include "base/duration.h"
#include "decide/ask/checks.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/steering.h"

static const char held[] = "Held", unreachable[] = "Unreachable";

/*
 * The step waits, which is told once: the condition remembers it, and when it began. GO: nothing is
 * counted. STOP: it has lasted too long, and is told and counted as a failed check from now on.
 */
static enum verdict hold(struct release *r, const char *reason, const char *sentence)
{
    int64_t bound = (int64_t)r->canary->progress_deadline_s * 1000, since;
    char text[CLOCK_TEXT], lasted[DURATION_TEXT];
    bool waited = condition_since(r, CONDITION_MEASURED, held, &since);

    if (waited && r->tick->now_ms - since >= bound && !steering_is_paused(r)) {
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
        release_warn(r, "%s", told);
    }
    r->held = true;
    return VERDICT_GO;
}

/* Without an end, which is told once, and to people by an alert. */
static enum verdict wait(struct release *r, const char *sentence)
{
    int64_t since;

    if (!condition_since(r, CONDITION_MEASURED, unreachable, &since) && !r->held) {
        const char *told = arena_printf(r->tick->arena,
                                        "%s; held until it can be asked, nothing is promoted or "
                                        "rolled back for it (onMetricError)",
                                        sentence);
        condition_clear(r, CONDITION_MEASURED);
        (void)condition_set(r, CONDITION_MEASURED, unreachable, told);
        release_warn(r, "%s", told);
        plan_alert(r->tick, "warn", false, "The release is held, a metric cannot be asked")
            ->reason = told;
    }
    r->held = true;
    return VERDICT_GO;
}

enum verdict metrics_unmeasured(struct release *r, enum canary_policy policy, const char *reason,
                                const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *sentence = arena_vprintf(r->tick->arena, fmt, args);
    va_end(args);
    switch (policy) {
    case POLICY_PASS:
        return VERDICT_GO;
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
    if (!condition_is_set(r, CONDITION_MEASURED))
        return;
    condition_clear(r, CONDITION_MEASURED);
    release_say(r, "The metrics of %s are there again", release_target(r));
}
