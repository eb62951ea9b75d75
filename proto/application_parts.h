/*
 * The readers that application_view() is made of; nobody else includes this but the reader of a
 * ReleasePlan, for a destination and for names. Each records the first
 * mistake in `r`; after one the part is incomplete and must not be used.
 */
#ifndef PROTO_APPLICATION_PARTS_H
#define PROTO_APPLICATION_PARTS_H

#include "proto/application.h"

/* application.c: parent's destination. False: none is given, and *out is as it was. */
bool application_read_destination(struct json_reader *r, struct json_object *parent,
                                  struct application_destination *out);

/* application_rollout.c: syncPolicies[].rollout. `app`: the namespace of the workload where it names
 * none. NULL when there is none. */
struct rollout *application_read_rollout(struct json_reader *r, struct json_object *policy,
                                         const struct application *app);

/* application_routing.c: rolloutPolicy.trafficRouting. */
void application_read_routing(struct json_reader *r, struct json_object *policy,
                              struct rollout *out);

/* application_analysis.c: rolloutPolicy.trafficAnalysis. */
void application_read_analysis(struct json_reader *r, struct json_object *policy,
                               struct rollout_analysis *out);

/* application_parts.c: a name that an object of Kubernetes may have, at most `max` characters. */
const char *application_read_name(struct json_reader *r, struct json_object *obj, const char *key,
                                  enum json_need need, size_t max);

enum { APPLICATION_MAX_NAME = 253, APPLICATION_MAX_LABEL = 63 };

#endif
