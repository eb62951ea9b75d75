/* The objects that a rollout wants, as they are to be but for the mark. Shared by the files of this
 * folder. Trees belong to the arena; what is taken over of the Application is copied. */
#ifndef FLEET_DERIVE_H
#define FLEET_DERIVE_H

#include "fleet/fleet.h"

/* canary.c: the Canary. service, live: the Service and the Canary that are there, or NULL. ingress:
 * the name of the one that leads to the Service; NULL: none. */
struct json_object *derive_canary(struct arena *arena, const struct rollout *rollout,
                                  const char *ingress, struct json_object *service,
                                  struct json_object *live);
/* The port of the Service that the rollout means; NULL: it has no such port. */
struct json_object *derive_port(const struct rollout *rollout, struct json_object *service);

/* loader.c: the load tester's Deployment and Service, both of this name. deployment: the one that is
 * there, whose selector nobody can change, or NULL. */
const char *derive_loader_name(struct arena *arena, const struct rollout *rollout);
struct json_object *derive_loader_deployment(struct arena *arena, const struct fleet_place *place,
                                             struct json_object *deployment);
struct json_object *derive_loader_service(struct arena *arena, const struct rollout *rollout,
                                          struct json_object *deployment);

/* around.c: the MetricTemplate of a metric that has one of its own. */
struct json_object *derive_template(struct arena *arena, const struct rollout_metric *metric);
/* The rules of an Ingress that lead from the host to the Service. */
struct json_object *derive_ingress(struct arena *arena, const struct rollout *rollout);
/* It leads there already, whoever made it. */
bool derive_ingress_leads(struct json_object *ingress, const struct rollout *rollout);
/* What the mesh must find on the Namespace to add its proxies; NULL: nothing is missing. *mistake: it
 * says the contrary. namespace_ NULL: it is still to be made. */
struct json_object *derive_namespace(struct arena *arena, const struct rollout *rollout,
                                     struct json_object *namespace_, const char **mistake);

#endif
