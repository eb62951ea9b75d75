/*
 * Conversion between the versions of built-in kinds that differ in more than apiVersion. obj is
 * changed in place; from and to are full apiVersions.
 */
#ifndef SANDBOX_OBJCONVERT_H
#define SANDBOX_OBJCONVERT_H

#include <json-c/json.h>

/* "v1" and "events.k8s.io/v1", kept as "v1". */
void objconvert_event(struct json_object *obj, const char *from, const char *to);
/* autoscaling v1, v2beta2 and v2, kept as v2. */
void objconvert_hpa(struct json_object *obj, const char *from, const char *to);

#endif
