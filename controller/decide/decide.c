/*
 * One decision: the rules run in order (rules.c) until one ends the tick; then their effects are
 * put in order. No rule runs for a Canary that another controller drives.
 */
#include "decide/decide.h"

#include "decide/alerts.h"
#include "decide/condition.h"
#include "decide/refused_write.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/status.h"
#include "decide/takeover.h"

static bool is_asked(const struct rule *rule, const struct release *r)
{
    return (rule->phases & 1u << r->phase) != 0 &&
           (rule->strategies == 0 || (rule->strategies & 1u << r->strategy) != 0) &&
           (rule->asked == ALWAYS || (rule->asked == IF_REFUSED) == (r->refused != NULL));
}

/*
 * A Canary goes idle only after a tick without changes: a write may leave more to do, such as a
 * revision that arrived during a failed promotion.
 */
static bool changes(const struct plan *plan)
{
    return plan->first && (effect_writes(plan->first) || plan->first->kind == EFFECT_STATUS);
}

/*
 * Writes first, then the status that records them, then notifications; each group in its own
 * order.
 */
static void order_effects(struct plan *plan)
{
    struct effect *lists[3] = {NULL, NULL, NULL};
    struct effect **lasts[3] = {&lists[0], &lists[1], &lists[2]};

    for (struct effect *effect = plan->first, *next; effect; effect = next) {
        int list = effect_writes(effect) ? 0 : effect->kind == EFFECT_STATUS ? 1 : 2;
        next = effect->next;
        effect->next = NULL;
        *lasts[list] = effect;
        lasts[list] = &effect->next;
    }
    plan->first = NULL;
    plan->last = &plan->first;
    for (int list = 0; list < 3; list++) {
        *plan->last = lists[list];
        if (lists[list])
            plan->last = lasts[list];
    }
}

enum rule_result decide(struct tick *tick)
{
    struct release release = {.tick = tick, .phase = tick->canary->status.phase};
    enum rule_result verdict = RULE_CONTINUE;

    if (driver_leaves(tick))
        return RULE_DONE;
    release_follow(&release, tick->canary);
    for (size_t i = 0; verdict == RULE_CONTINUE && i < n_rules; i++) {
        if (is_asked(&rules[i], &release))
            verdict = rules[i].ask(&release);
    }
    if (verdict == RULE_CONTINUE && !release.refused)
        verdict = tick_broken(tick, "no rule ended a tick in phase %s", phase_name(release.phase));
    if (verdict == RULE_NEEDS_FACTS && (tick->needs || !tick->denied))
        return driver_claims_first(tick) ? RULE_DONE : verdict;

    unserved_hold(&release);
    denied_hold(&release);
    refused_write_hold(&release);
    blocked_note(&release);
    stall_note(&release);
    alerts_owe(&release);
    status_write(&release);
    order_effects(tick->plan);
    tick->plan->requeue = release.requeue_given        ? release.requeue
                          : !release_is_idle(&release) ? REQUEUE_INTERVAL
                          : changes(tick->plan)        ? REQUEUE_NOW
                                                       : REQUEUE_NEVER;
    driver_claim(tick);
    return RULE_DONE;
}
