/*
 * A Knative Service: revisions come and go by themselves, and its spec.traffic says which gets how
 * much (router/OBJECTS.md). The latest revision is the canary; the one that the annotation
 * names is the primary. What target/knative.c and
 * router/knative.c share, who stand beside each other.
 */
#ifndef TICK_KNATIVE_H
#define TICK_KNATIVE_H

#include "tick/tick.h"

#define KNATIVE_PRIMARY "flagger.app/primary-revision"

/* The target; NULL when it does not exist. */
bool knative_need(struct tick *tick, struct json_object **service);
/* The revision that was created last; NULL: none yet. */
const char *knative_latest(struct json_object *service);
/* What the annotation says; without it, the one that the traffic names. NULL: neither does. */
const char *knative_primary(struct json_object *service);
/* The revision that the traffic names, beside the latest one; NULL: none. */
const char *knative_named(struct json_object *traffic);
/* Percent of the latest revision in spec.traffic or status.traffic; all where nothing is said. */
int knative_share(struct json_object *traffic);
/* Its generation is the one that the cluster has acted on. */
bool knative_is_observed(struct json_object *service);

/* The Service as the plan so far leaves it: a copy, without nulls. */
struct json_object *knative_as_planned(struct tick *tick, struct json_object *service);
/* Plans the annotation, and the traffic between that revision and the latest one. Plans nothing
 * where it is so. Changes that this plan makes to the Service already stay. */
void knative_route(struct tick *tick, struct json_object *service, const char *primary, int canary,
                   const char *why);
/* The annotation alone; NULL takes it away. */
void knative_annotate(struct tick *tick, struct json_object *service, const char *primary,
                      const char *why);
/* All traffic to the latest revision, whichever that is. */
void knative_release(struct tick *tick, struct json_object *service, const char *why);

#endif
