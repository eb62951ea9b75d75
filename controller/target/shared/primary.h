/* The primary's pod template and metadata, made from the target's (target/OBJECTS.md).
 */
#ifndef TARGET_SHARED_PRIMARY_H
#define TARGET_SHARED_PRIMARY_H

#include "target/target.h"

/* "podinfo-primary" */
const char *primary_name(struct tick *tick);
/*
 * The selector of a Service for a side's pods, a new map. Target: all labels of its selector.
 * Primary: those of its own immutable selector, and those of the target's once all its pods have
 * them; before it exists, the target's with one value rewritten. `live`: the current selector of
 * the Service, or NULL.
 */
struct json_object *primary_pods(struct tick *tick, const struct target_info *info, bool primary,
                                 struct json_object *live);
/* spec.selector of a new primary. */
struct json_object *primary_new_selector(struct tick *tick, const struct target_info *info);
/* Sets the labels of the primary's selector in a map of the caller's own. */
void primary_set_label(struct tick *tick, const struct target_info *info,
                       struct json_object *labels);
/* The pod template: labels, `flagger-id` and configs rewritten. */
struct json_object *primary_template(struct tick *tick, const struct target_info *info);
/* Affinity, anti-affinity and spread that select the target's pods select the primary's instead, or
 * the inverse, in a tree of the caller's own. */
void primary_rewrite_affinity(struct tick *tick, const struct target_info *info,
                              struct json_object *pod_spec, bool to_primary);
/* Annotation that identifies the primary's revision; derived from info's hash and configs. */
#define PRIMARY_ID "flagger-id"
const char *primary_id(struct tick *tick, const struct target_info *info);
/* True if a label selector matches these labels; NULL matches all. */
bool primary_selects(struct json_object *selector, struct json_object *labels);
/* Labels of the workload: the included ones of the target, without those of the selector. */
struct json_object *primary_labels(struct tick *tick, const struct target_info *info);
/* The selector label of `object` that distinguishes info->primary (may be NULL) from it: that of
 * the primary's own matchLabels, else the first of the settings' that it has; false if there is
 * none. */
bool primary_selector(struct tick *tick, struct json_object *object, struct target_info *info);
/* Ports declared by the containers, as Service ports, without the main port and without mesh
 * sidecars. */
/* Reason that a Service cannot have these ports beside the main one, NULL if it can. */
const char *primary_ports_refused(struct tick *tick, struct json_object *ports);
struct json_object *primary_ports(struct tick *tick, struct json_object *pod_spec);

#endif
