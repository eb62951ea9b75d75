/* How the Services of a release lead to its pods. */
#ifndef DECIDE_SERVING_H
#define DECIDE_SERVING_H

#include "decide/release/release.h"
#include "router/common_services.h"

/* Whose pods they select, and at which ports. */
struct service_pods serving_pods(struct release *r);
/* The apex Service selects the primary; plans it where it does not. */
enum verdict serving_apex(struct release *r);
/* The apex Service selects the primary's pods; the target must have a selector label. */
enum verdict serving_leads(struct release *r, bool *leads);

/* The primary has no ready pod, and the apex Service leads to those of the target. */
enum verdict serving_needs_target(struct release *r, bool *needs);

/* The reason of TrafficServed=False: the primary has no ready pod, and the canary serves. Where the
 * router cannot split traffic, the apex Service leads to the target for as long. */
#define SERVING_GONE "PrimaryNotServing"

#endif
