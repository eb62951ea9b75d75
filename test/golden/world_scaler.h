/* The autoscalers of the simulated cluster: HPAs and KEDA, for Deployments. */
#ifndef GOLDEN_WORLD_SCALER_H
#define GOLDEN_WORLD_SCALER_H

#include "world.h"

/* Before the workloads settle: they get the replicas that their scalers want. `canary` is the
 * weight that is routed now; autoscalers will have measured it the next time. */
void world_scale(struct world *world, int canary);
/* After the workloads have settled: the primary gets no more pods than there is room for. */
void world_limit(struct world *world);
/* The safety rules about scalers, after each effect. */
void world_check_scalers(struct world *world, int was, int canary, bool primary_selected);

/* After a write of ours of this object: no number that an autoscaler owns was taken. */
void world_check_number(struct world *world, const char *key, struct json_object *before);
/* The target of this name is at zero, or about to be: KEDA takes its pods as soon as it is paused.
 */
bool world_is_down(struct world *world, const char *name);
/* Between moving traffic and scaling down there is a pause. serves: it has traffic now. */
void world_check_pause(struct world *world, const char *name, bool serves);

#endif
