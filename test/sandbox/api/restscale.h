/* The scale subresource: an autoscaling/v1 Scale made of, and written back to, its object. */
#ifndef SANDBOX_RESTSCALE_H
#define SANDBOX_RESTSCALE_H

#include "api/rest.h"

/* The Scale of obj, which is in the request's version. */
struct json_object *restscale_of(struct restreq *req, struct json_object *obj);
/* Stores obj with the replicas of scale and answers with the new Scale. */
void restscale_store(struct restreq *req, struct json_object *obj, struct json_object *scale);

#endif
