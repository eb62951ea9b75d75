/* Routes of others for the same hosts as the Canary's. */
#ifndef DECIDE_CONTESTED_H
#define DECIDE_CONTESTED_H

#include "decide/release/release.h"

/* Reports an older route of the namespace that takes requests where the route of the Canary would
 * (router->claims): the condition RouteFirst stands until a later look finds none. GO or NEED_FACTS. */
enum verdict contested_look(struct release *r);

#endif
