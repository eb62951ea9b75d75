/* The objects that a rollout wants on a member cluster, without the mark. Trees belong to the
 * arena; parts of the Application are copied. */
#ifndef FLEET_DERIVE_H
#define FLEET_DERIVE_H

#include "fleet/rules/fleet.h"

/* The Canary. service and live are the present Service and Canary, NULL if there is none; ingress
 * is the name of the Ingress that leads to the Service, NULL if none does. */
struct json_object *derive_canary(struct arena *arena, const struct rollout *rollout,
                                  const char *ingress, struct json_object *service,
                                  struct json_object *live);
/* The Service's port that the rollout names; NULL if it has no such port. */
struct json_object *derive_port(const struct rollout *rollout, struct json_object *service);

/* The load tester's Deployment and Service, both of this name. deployment is the present one, whose
 * selector is immutable, or NULL. */
const char *derive_loader_name(struct arena *arena, const struct rollout *rollout);
struct json_object *derive_loader_deployment(struct arena *arena, const struct fleet_place *place,
                                             struct json_object *deployment);
struct json_object *derive_loader_service(struct arena *arena, const struct rollout *rollout,
                                          struct json_object *deployment);

/* The MetricTemplate of a metric that has its own. */
struct json_object *derive_template(struct arena *arena, const struct rollout_metric *metric);
/* The rules of an Ingress that lead from the host to the Service. */
struct json_object *derive_ingress(struct arena *arena, const struct rollout *rollout);
/* True if the Ingress leads there already, no matter what made it. */
bool derive_ingress_leads(struct json_object *ingress, const struct rollout *rollout);
/* The labels that the mesh needs on the Namespace to inject proxies; NULL if none is missing.
 * *mistake is set if the Namespace opts out. namespace_ is NULL if it is still to be made. */
struct json_object *derive_namespace(struct arena *arena, const struct rollout *rollout,
                                     struct json_object *namespace_, const char **mistake);

#endif
