/* The cluster of a simulation: objects of the source, changed by plans and settled by
 * controllers. */
#ifndef SIMULATE_CLUSTER_H
#define SIMULATE_CLUSTER_H

#include "base/json.h"
#include "ctl/simulate/simulate.h"
#include "shadow/foresee.h"
#include "tick/fact.h"
#include "tick/tick.h"

struct cluster {
    struct arena *arena;
    const struct simulation_source *source;
    struct copies copies;
    struct json_object *assumed; /* names of the assumed objects */
};

/* Supplies a fact that the rules need. */
void cluster_answer(struct cluster *cluster, struct tick *tick, const struct need *need);
/* Lets the controllers catch up: pods get ready, addresses are assigned. */
void cluster_settle(struct cluster *cluster, const struct canary *canary);
/* Delivers a new revision of the target. */
void cluster_push(struct cluster *cluster, const struct canary *canary);

/* --- settling: an object after its controllers have seen it, if everything goes well */

/* A copy with the status that it has once its controller has seen it and its pods are ready; the
 * object itself, if its kind has no such status. */
struct json_object *settled(struct arena *arena, struct json_object *object);
/* A copy of a target with another revision. */
struct json_object *revised(struct arena *arena, struct json_object *target);

/* A Knative Service: its cluster creates a revision for each template. *revision: a new one, NULL
 * if none is needed. */
struct json_object *settled_knative(struct arena *arena, struct json_object *service,
                                    struct json_object **revision);

/* --- assumptions: the simplest objects and responses, in place of missing ones */

/* An object that the Canary names, owned by the arena; NULL if it does not exist until it is
 * created. */
struct json_object *assumed_object(struct arena *arena, const struct canary *canary,
                                   const struct kube_resource *resource, const char *namespace_,
                                   const char *name);
/* The response of the load tester to this webhook: figures that the Canary's metrics accept. */
const char *assumed_load(struct arena *arena, const struct canary_analysis *analysis, int webhook);
/* The answer that makes the check pass. */
struct metric_answer assumed_metric(const struct tick *tick,
                                    const struct metric_question *question);
/* True if it is a count for the judge, which is sampled continuously. */
bool assumed_is_count(const struct metric_question *question);

#endif
