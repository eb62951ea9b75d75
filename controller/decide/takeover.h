/* What another version of Flagger has left. */
#ifndef DECIDE_TAKEOVER_H
#define DECIDE_TAKEOVER_H

#include "decide/release/release.h"

/* The hash of what the primary (which must exist) runs, "" when it cannot be told. */
const char *takeover_primary_hash(struct release *r);

#endif
