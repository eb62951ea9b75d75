/*
 * Knative Services: revisions are created automatically, and spec.traffic sets their shares
 * (router/OBJECTS.md). The latest revision is the canary; the annotation names the primary. Shared
 * by target/knative.c and router/knative.c, which are on one layer.
 */
#ifndef TICK_KNATIVE_H
#define TICK_KNATIVE_H

#include "tick/tick.h"

#define KNATIVE_PRIMARY "flagger.app/primary-revision"

/* The target; NULL if it does not exist. */
bool knative_need(struct tick *tick, struct json_object **service);
/* The revision created last; NULL if there is none yet. */
const char *knative_latest(struct json_object *service);
/* The revision in the annotation, else the one named by the traffic; NULL if neither. */
const char *knative_primary(struct json_object *service);
/* The revision that the traffic names, besides the latest; NULL if none. */
const char *knative_named(struct json_object *traffic);
/* Percentage of the latest revision in spec.traffic or status.traffic; 100 if not specified. */
int knative_share(struct json_object *traffic);
/* True if the cluster has acted on its present generation. */
bool knative_is_observed(struct json_object *service);

/* The Service as changed by the plan so far: a copy, without nulls. */
struct json_object *knative_as_planned(struct tick *tick, struct json_object *service);
/*
 * Plans the annotation, and the traffic between that revision and the latest. Plans nothing if
 * unchanged. Keeps earlier changes of this plan to the Service.
 */
void knative_route(struct tick *tick, struct json_object *service, const char *primary, int canary,
                   const char *why);
/* The annotation alone; NULL removes it. */
void knative_annotate(struct tick *tick, struct json_object *service, const char *primary,
                      const char *why);
/* All traffic to the latest revision, whichever that is. */
void knative_release(struct tick *tick, struct json_object *service, const char *why);

#endif
