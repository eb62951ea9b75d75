#include "decide/act/hold.h"

#include "decide/release/condition.h"

void hold_plan(struct release *r, const struct effect *end)
{
    struct plan *plan = r->tick->plan;
    struct effect *effect = plan->first;
    bool before = true;

    condition_keep_spec(r);
    plan->last = &plan->first;
    plan->count = 0;
    for (; effect; effect = effect->next) {
        before = before && effect != end;
        if (!(before && effect_writes(effect)) &&
            !(effect->kind == EFFECT_EVENT && condition_spec_says(r, effect->text)))
            continue;
        plan->count++;
        *plan->last = effect;
        plan->last = &effect->next;
    }
    *plan->last = NULL;
    plan->begins = plan->queues = false;
    plan->wake_ms = 0;
    r->again_given = false;
    r->phase = r->canary->status.phase;
}
