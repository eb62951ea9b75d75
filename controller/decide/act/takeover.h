/* What another version of Flagger has left, and names that were other ones before. */
#ifndef DECIDE_TAKEOVER_H
#define DECIDE_TAKEOVER_H

#include "decide/release/release.h"

/* The hash of what the primary (which must exist) runs, "" when it cannot be told. */
const char *takeover_primary_hash(struct release *r);
/* Service and provider have the names that the status says from now on; one that was another before
 * is told. */
void takeover_note_names(struct release *r);

#endif
