/* What a PodSpec must be, in a pod or in a workload's template. */
#ifndef SANDBOX_OBJPODSPEC_H
#define SANDBOX_OBJPODSPEC_H

#include <json-c/json.h>
#include <stdbool.h>

#include "api/objfail.h"

/* spec may be NULL; field is its path. A template's pods must restart always. */
void objpodspec_check(struct objfail *fail, struct json_object *spec, const char *field,
                      bool template_);
/* 1..65535 */
void objpodspec_check_port(struct objfail *fail, struct json_object *port, const char *field);
/* Whether a running pod's spec may be changed so: only images, the deadline and tolerations. */
bool objpodspec_may_become(struct json_object *before, struct json_object *after);

#endif
