/* What the status does not say of a release, read from the cluster. */
#ifndef DECIDE_FORMER_H
#define DECIDE_FORMER_H

#include "decide/release/release.h"

/* Where the status does not say what was accepted. GO: from here on it says so, if the
 * cluster tells it; NEED_FACTS. */
enum verdict former_recall(struct release *r);
/* What else has changed: nothing leads to the target before, or to its Services. */
enum former { FORMER_SAME, FORMER_TARGET, FORMER_SERVICE };
enum verdict former_look(struct release *r, enum former *out);

#endif
