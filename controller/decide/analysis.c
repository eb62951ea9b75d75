/* Steps 28 and 29: the checks before a step. A check that fails is told where it fails; here it is
 * counted. */
#include <string.h>

#include "decide/ask/checks.h"
#include "decide/ask/hooks.h"
#include "decide/ask/metrics.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"
#include "decide/rules.h"

static enum verdict fail(struct release *r)
{
    status_int(r, "failedChecks", r->canary->status.failed_checks + 1);
    return VERDICT_STOP;
}

/*
 * They prepare a revision once, however long a gate or pods keep it from its first step: what was
 * set up stands, and a repeat that fails would roll back what waits for a person. (Flagger calls
 * them at every interval.)
 */
static enum verdict prepare(struct release *r)
{
    const char *prepared = json_str_at(r->canary->status.json, "prepared", NULL);
    const char *revision = release_checksum(r);
    const struct canary_webhook *hook;
    const struct hook_answer *answer;

    if (prepared && strcmp(prepared, revision) == 0)
        return VERDICT_GO;
    enum verdict verdict =
        hooks_ask(r, HOOK_PRE_ROLLOUT, PHASE_Progressing, "Pre-rollout", &hook, &answer);
    if (verdict == VERDICT_GO) {
        checks_passed(r);
        if (hooks_has(r, HOOK_PRE_ROLLOUT))
            status_text(r, "prepared", revision);
    }
    if (verdict == VERDICT_STOP)
        (void)checks_failed(r, "HookFailed", "Halt %s advancement pre-rollout check %s failed %s",
                            release_canary(r), hook->name, answer->text);
    return verdict;
}

enum verdict analysis_start(struct release *r)
{
    if (!release_is_first_step(r))
        return VERDICT_GO;
    if (steering_is_paused(r))
        return VERDICT_STOP;
    /* not again after a failed check, nor while the traffic gate is closed or a write is refused */
    if (r->canary->status.failed_checks == 0 && !condition_is_set(r, CONDITION_APPROVED) &&
        !r->forgoes)
        release_say(r, "Starting canary analysis for %s", release_target(r));
    enum verdict verdict = prepare(r);
    if (verdict != VERDICT_STOP)
        return verdict;
    return fail(r);
}

enum verdict analysis_check(struct release *r)
{
    const struct canary_webhook *hook;
    const struct hook_answer *answer;

    if (release_is_first_step(r))
        return VERDICT_GO;
    enum verdict verdict = hooks_ask(r, HOOK_ROLLOUT, PHASE_Progressing, NULL, &hook, &answer);
    if (verdict == VERDICT_STOP)
        (void)checks_failed(r, "HookFailed", "Halt %s advancement external check %s failed %s",
                            release_canary(r), hook->name, answer->text);
    else if (verdict == VERDICT_GO)
        verdict = metrics_check(r);
    if (verdict == VERDICT_STOP)
        return fail(r);
    return verdict == VERDICT_GO && r->held ? VERDICT_STOP : verdict;
}
