/* Webhooks (engine/WEBHOOKS.md): asked in list order, one that refuses ends the list. */
#include "decide/ask/hooks.h"

#include <string.h>

#include "decide/release/release.h"

/*
 * What a hook is asked about. Before the start that is the revision which waits, under the checksum
 * that the status will have of it (status_sync()): so that an approval names what it approves, and
 * holds at the later gates. (Flagger sends the revision before it.)
 */
const char *hooks_revision(struct release *r)
{
    return release_checksum(r);
}

enum verdict hooks_ask(struct release *r, enum hook_type type, enum phase phase,
                       const char *passed_text, const struct canary_webhook **closed,
                       const struct hook_answer **answer)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        if (hook->type != type)
            continue;
        if (!need_hook(r->tick, i, phase, hooks_revision(r), answer))
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
