/* Webhooks that decide (contract/statemachine.md §8.2, §12): asked in list order, one that refuses
 * ends the list. */
#include "decide/release.h"

enum verdict gates_ask(struct release *r, enum hook_type type, enum phase phase,
                       const char *passed_text, const struct canary_webhook **closed,
                       const struct hook_answer **answer)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        if (hook->type != type)
            continue;
        if (!need_hook(r->tick, i, phase, answer))
            return VERDICT_NEED_FACTS;
        if (!(*answer)->passed) {
            *closed = hook;
            return VERDICT_STOP;
        }
        if (passed_text)
            release_say(r, "%s check %s passed", passed_text, hook->name);
    }
    return VERDICT_GO;
}

static void alert_waiting(struct release *r, const struct canary_webhook *hook, const char *text)
{
    if (!hook->mute_alert)
        plan_alert(r->tick, "warn", false, "%s", text);
}

enum verdict gates_confirm_rollout(struct release *r)
{
    const struct canary_webhook *hook;
    const struct hook_answer *answer;
    enum verdict verdict = gates_ask(r, HOOK_CONFIRM_ROLLOUT, r->canary->status.phase,
                                     "Confirm-rollout", &hook, &answer);

    if (verdict != VERDICT_STOP)
        return verdict;
    if (r->phase != PHASE_Waiting) {
        status_phase(r, PHASE_Waiting);
        release_warn(r, "Halt %s advancement waiting for approval %s", release_canary(r),
                     hook->name);
        alert_waiting(r, hook, "Canary is waiting for approval.");
    }
    return VERDICT_STOP;
}

/* Flagger warns and alerts on every tick; here the condition Approved remembers that it was told.
 */
enum verdict gates_confirm_traffic_increase(struct release *r)
{
    static const char condition[] = "Approved";
    const struct canary_webhook *hook;
    const struct hook_answer *answer;
    enum verdict verdict = gates_ask(r, HOOK_CONFIRM_TRAFFIC_INCREASE, PHASE_Progressing,
                                     "Confirm-traffic-increase", &hook, &answer);

    if (verdict == VERDICT_GO)
        status_untell(r, condition);
    if (verdict != VERDICT_STOP)
        return verdict;
    const char *text =
        arena_printf(r->tick->arena, "Halt %s advancement waiting for traffic increase approval %s",
                     release_canary(r), hook->name);
    if (status_tell(r, condition, "WaitingForTrafficIncrease", text)) {
        release_warn(r, "%s", text);
        alert_waiting(r, hook, "Canary traffic increase is waiting for approval.");
    }
    return VERDICT_STOP;
}

enum verdict gates_confirm_promotion(struct release *r)
{
    const struct canary_webhook *hook;
    const struct hook_answer *answer;
    enum verdict verdict = gates_ask(r, HOOK_CONFIRM_PROMOTION, PHASE_Progressing,
                                     "Confirm-promotion", &hook, &answer);

    if (verdict != VERDICT_STOP)
        return verdict;
    if (r->phase != PHASE_WaitingPromotion) {
        status_phase(r, PHASE_WaitingPromotion);
        release_warn(r, "Halt %s advancement waiting for promotion approval %s", release_canary(r),
                     hook->name);
        alert_waiting(r, hook, "Canary promotion is waiting for approval.");
    }
    return VERDICT_STOP;
}

enum verdict gates_rollback(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        const struct hook_answer *answer;
        if (hook->type != HOOK_ROLLBACK)
            continue;
        if (!need_hook(r->tick, i, r->canary->status.phase, &answer))
            return VERDICT_NEED_FACTS;
        if (!answer->passed) {
            release_say(r, "Rollback hook %s not signaling a rollback", hook->name);
            continue;
        }
        release_warn(r, "Rollback check %s passed", hook->name);
        release_warn(r, "Rolling back %s manual webhook invoked", release_canary(r));
        plan_alert(r->tick, "warn", false, "Rolling back manual webhook invoked");
        return VERDICT_STOP;
    }
    return VERDICT_GO;
}

void gates_post_rollout(struct release *r, enum phase phase)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        if (analysis->webhooks[i].type == HOOK_POST_ROLLOUT)
            plan_hook(r->tick, i, phase);
    }
}
