#include "decide/act/refusal.h"

#include "decide/act/rollback.h"
#include "decide/release/condition.h"

#define REASON "InvalidSpec"

bool refusal_set(struct release *r, const char *sentence)
{
    return condition_set(r, CONDITION_ACCEPTED, REASON, sentence);
}

void refusal_clear(struct release *r)
{
    condition_clear(r, CONDITION_ACCEPTED);
}

enum verdict refusal_expire(struct release *r)
{
    int64_t since, deadline = r->canary->progress_deadline_s * (int64_t)1000;

    if (!condition_since(r, CONDITION_ACCEPTED, REASON, &since)) {
        refusal_clear(r);
        refusal_set(r, r->refused);
        since = r->tick->now_ms;
    }
    if (since + deadline > r->tick->now_ms) {
        release_wake(r, since + deadline - r->tick->now_ms);
        return VERDICT_GO;
    }
    release_warn(r, "Rolling back %s the spec has been refused for %d seconds: %s",
                 release_canary(r), r->canary->progress_deadline_s, r->refused);
    plan_alert(r->tick, "error", false, "Progress deadline exceeded, the spec is refused: %s",
               r->refused);
    return rollback_run(r, false);
}
