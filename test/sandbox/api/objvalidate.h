/*
 * The essentials that the Kubernetes API server checks on objects of the built-in kinds, with its
 * messages. The object has its defaults; old is NULL on create. Each mistake adds a cause to fail.
 */
#ifndef SANDBOX_OBJVALIDATE_H
#define SANDBOX_OBJVALIDATE_H

#include <json-c/json.h>

#include "api/objfail.h"

void objvalidate_namespace(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_pod(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_service(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_configmap(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_secret(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_event(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_lease(struct objfail *fail, struct json_object *obj, struct json_object *old);
/* Deployment, ReplicaSet, DaemonSet */
void objvalidate_workload(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_hpa(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_ingress(struct objfail *fail, struct json_object *obj, struct json_object *old);
void objvalidate_crd(struct objfail *fail, struct json_object *obj, struct json_object *old);

#endif
