/*
 * What the Kubernetes API server fills into objects of the built-in kinds, as far as kubectl and
 * controllers rely on it. A value that is there is never changed, except that quantities are
 * brought into their canonical text.
 */
#ifndef SANDBOX_OBJDEFAULTS_H
#define SANDBOX_OBJDEFAULTS_H

#include <json-c/json.h>

void objdefaults_namespace(struct json_object *obj, struct json_object *old);
void objdefaults_pod(struct json_object *obj, struct json_object *old);
void objdefaults_service(struct json_object *obj, struct json_object *old);
void objdefaults_secret(struct json_object *obj, struct json_object *old);
void objdefaults_deployment(struct json_object *obj, struct json_object *old);
void objdefaults_replicaset(struct json_object *obj, struct json_object *old);
void objdefaults_daemonset(struct json_object *obj, struct json_object *old);
void objdefaults_hpa(struct json_object *obj, struct json_object *old);
void objdefaults_crd(struct json_object *obj, struct json_object *old);

#endif
