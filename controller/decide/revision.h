/* The target's revision compared with those in the status. */
#ifndef DECIDE_REVISION_H
#define DECIDE_REVISION_H

#include "decide/release.h"

/* True if Flagger wrote the status last, as far as known. */
bool revision_is_flaggers(const struct release *r);
/* True if its template is the last promoted, or applied, one. */
bool revision_is_promoted(const struct release *r);
bool revision_is_applied(const struct release *r);
/* True if template or tracked configs differ from those applied last; the configs alone. */
bool revision_changed(struct release *r);
bool revision_configs_changed(const struct release *r);

#endif
