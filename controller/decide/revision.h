/* The target's revision compared with those in the status. */
#ifndef DECIDE_REVISION_H
#define DECIDE_REVISION_H

#include "decide/release.h"

/* True if, as far as known, Flagger wrote the status last. */
bool revision_is_flaggers(const struct release *r);
/* True if the template of the target is the last promoted, or last applied, one. */
bool revision_is_promoted(const struct release *r);
bool revision_is_applied(const struct release *r);
/* True if template or tracked configs differ from those applied last; or just the configs. */
bool revision_changed(struct release *r);
bool revision_configs_changed(const struct release *r);

#endif
