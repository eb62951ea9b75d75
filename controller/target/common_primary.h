/* The primary's pod template and metadata, made from the target's (target/OBJECTS.md).
 */
#ifndef TARGET_COMMON_PRIMARY_H
#define TARGET_COMMON_PRIMARY_H

#include "target/target.h"

/* "podinfo-primary" */
const char *primary_name(struct tick *tick);
/* The label that selects the primary's pods, and its value: what the primary says that is there,
 * for nobody can change that; of one to be made, the target's and "{value}-primary". */
const char *primary_label(struct tick *tick, const struct target_info *info);
const char *primary_label_value(struct tick *tick, const struct target_info *info);
/* Sets the selector label, in a map of the caller's own. */
void primary_set_label(struct tick *tick, const struct target_info *info,
                       struct json_object *labels);
/* The pod template: labels, `flagger-id` and configs rewritten. */
struct json_object *primary_template(struct tick *tick, const struct target_info *info);
/* Anti-affinity and spread that name the target name the primary instead, in a tree of the caller's
 * own. */
void primary_rewrite_affinity(struct tick *tick, struct json_object *pod_spec, const char *from,
                              const char *to);
/* The annotation that says which revision the primary carries; it follows from info's hash and
 * configs. */
#define PRIMARY_ID "flagger-id"
const char *primary_id(struct tick *tick, const struct target_info *info);
/* Labels of the workload: those of the target that are included, without the selector label. */
struct json_object *primary_labels(struct tick *tick, const struct target_info *info);
/* The selector label of `object` from its spec.selector.matchLabels; false when it has none of the
 * settings'. */
bool primary_selector(struct tick *tick, struct json_object *object, struct target_info *info);
/* Ports that the containers declare, as Service ports, without the main port and without mesh
 * sidecars. */
/* Why a Service cannot have these ports beside the main one, NULL: it can. */
const char *primary_ports_refused(struct tick *tick, struct json_object *ports);
struct json_object *primary_ports(struct tick *tick, struct json_object *pod_spec);

#endif
