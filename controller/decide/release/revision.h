/* Which revision the target is, beside those that the status speaks of (step 15). */
#ifndef DECIDE_REVISION_H
#define DECIDE_REVISION_H

#include "decide/release/release.h"

/* The status was last written by Flagger, as far as can be told. */
bool revision_is_flaggers(const struct release *r);
/* Its template is the one that was promoted, or applied, last. */
bool revision_is_promoted(const struct release *r);
bool revision_is_applied(const struct release *r);
/* Template or tracked configs differ from what was applied last; the configs alone. */
bool revision_changed(struct release *r);
bool revision_configs_changed(const struct release *r);

#endif
