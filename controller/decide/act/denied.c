/*
 * A role that lacks a right, mostly. The release stays where it is, and one condition and one event
 * say what is denied, in the API server's own words: it names the verb, the resource, the namespace
 * and the account. Nothing tells us when that ends, so it is tried again with growing waits.
 *
 * What the rules found wrong with the spec is told nevertheless, as it is true whatever may be read.
 * (Flagger has all of this in its log alone.)
 */
#include "decide/act/denied.h"

#include <string.h>

#include "decide/act/hold.h"
#include "decide/release/condition.h"

/* The API server's words of a role, and of nothing else that can refuse a write. */
#define OF_ROLE " cannot "

void denied_hold(struct release *r)
{
    struct tick *tick = r->tick;
    const char *said = tick->denied ? tick->denied : tick->unwritable;

    if (!said) {
        condition_clear(r, CONDITION_ALLOWED);
        return;
    }
    hold_plan(r, tick->plan->first);
    tick->plan->held = true;
    tick->plan->stepped = false;
    release_again(r, AGAIN_INTERVAL);
    condition_hold(r, CONDITION_ALLOWED, "Forbidden",
                   strstr(said, OF_ROLE)
                       ? arena_printf(tick->arena,
                                      "%s; the ClusterRole or Role of that account has to allow it",
                                      said)
                       : said);
}
