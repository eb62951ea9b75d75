/*
 * One decision: the rules are asked one after another (rules.c), until one of them ends the tick;
 * then what they planned is put into order. None is asked about a Canary that another controller
 * drives.
 */
#include "decide/decide.h"

#include "decide/act/alerts.h"
#include "decide/act/denied.h"
#include "decide/act/driver.h"
#include "decide/act/refused_write.h"
#include "decide/act/stall.h"
#include "decide/act/unserved.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "decide/rules.h"

static bool is_asked(const struct rule *rule, const struct release *r)
{
    return (rule->phases & 1u << r->phase) != 0 &&
           (rule->strategies == 0 || (rule->strategies & 1u << r->strategy) != 0) &&
           (rule->asked == ALWAYS || (rule->asked == IF_REFUSED) == (r->refused != NULL));
}

/*
 * A canary goes to sleep only after a tick that had nothing to do: what is written may leave
 * something else, such as a revision that came during a promotion which failed.
 */
static bool changes(const struct plan *plan)
{
    return plan->first && (effect_writes(plan->first) || plan->first->kind == EFFECT_STATUS);
}

/* Writes first, then the status that says they are done, then what tells of them; each in its own
 * order. */
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

enum verdict decide(struct tick *tick)
{
    struct release release = {.tick = tick, .phase = tick->canary->status.phase};
    enum verdict verdict = VERDICT_GO;

    if (driver_leaves(tick))
        return VERDICT_STOP;
    release_follow(&release, tick->canary);
    for (size_t i = 0; verdict == VERDICT_GO && i < n_rules; i++) {
        if (is_asked(&rules[i], &release))
            verdict = rules[i].ask(&release);
    }
    if (verdict == VERDICT_GO && !release.refused)
        verdict = tick_broken(tick, "no rule ended a tick in phase %s", phase_name(release.phase));
    if (verdict == VERDICT_NEED_FACTS && (tick->needs || !tick->denied))
        return driver_claims_first(tick) ? VERDICT_STOP : verdict;

    unserved_hold(&release);
    denied_hold(&release);
    refused_write_hold(&release);
    stall_note(&release);
    alerts_owe(&release);
    status_write(&release);
    order_effects(tick->plan);
    tick->plan->again = release.again_given          ? release.again
                        : !release_is_idle(&release) ? AGAIN_INTERVAL
                        : changes(tick->plan)        ? AGAIN_NOW
                                                     : AGAIN_NEVER;
    driver_claim(tick);
    return VERDICT_STOP;
}
