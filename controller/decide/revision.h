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
/* Unpins the target that the Canary had before: it keeps the revision that was pushed last, and no
 * annotation of ours. CONTINUE or NEEDS_FACTS. */
enum rule_result revision_unpin_former(struct release *r, const struct canary_ref *former);

#endif
