/* The cluster of a simulation: objects of the source, changed by plans, and settled by controllers.
 */
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

/* Answers a need of the rules. */
void cluster_answer(struct cluster *cluster, struct tick *tick, const struct need *need);
/* Lets the controllers catch up: pods get ready, addresses are assigned. */
void cluster_settle(struct cluster *cluster, const struct canary *canary);
/* Delivers a new revision of the target. */
void cluster_push(struct cluster *cluster, const struct canary *canary);

/* --- settling: an object after its controllers have seen it, if all goes well */

/* A copy with the status that it has when its controller has seen it and its pods are ready; of a
 * kind that has no such status, the object itself. */
struct json_object *settled(struct arena *arena, struct json_object *object);
/* Another revision of a target, a copy. */
struct json_object *revised(struct arena *arena, struct json_object *target);

/* A Knative Service: its cluster makes a revision of each template. *revision: a new one, NULL if
 * none is needed. */
struct json_object *settled_knative(struct arena *arena, struct json_object *service,
                                    struct json_object **revision);

/* --- assumptions: the simplest objects and answers in place of missing ones */

/* An object that the Canary names, owned by the arena; NULL if it does not exist until it is made.
 */
struct json_object *assumed_object(struct arena *arena, const struct canary *canary,
                                   const struct kube_resource *resource, const char *namespace_,
                                   const char *name);
/* The answer of the load tester to this webhook: figures that the metrics of the Canary accept. */
const char *assumed_load(struct arena *arena, const struct canary_analysis *analysis, int webhook);
/* The answer with which the check passes. */
struct metric_answer assumed_metric(const struct tick *tick,
                                    const struct metric_question *question);
/* True if it is a count for the judge, which is sampled all the time. */
bool assumed_is_count(const struct metric_question *question);

#endif
