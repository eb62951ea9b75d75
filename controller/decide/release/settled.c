#include "decide/release/settled.h"

#include "decide/release/condition.h"

enum verdict settled_or_hold(struct release *r)
{
    const char *why;
    enum verdict verdict = release_look_settled(r, &why);

    if (verdict == VERDICT_GO)
        condition_clear(r, CONDITION_ROUTES);
    if (verdict != VERDICT_STOP || !r->tick->due)
        return verdict;
    r->tick->plan->stepped = true; /* and is looked at again an interval later */
    return condition_hold(r, CONDITION_ROUTES, "RoutesPending", why);
}
