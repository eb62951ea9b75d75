/* The primary's pod template and metadata, made from the target's (target/OBJECTS.md).
 */
#ifndef TARGET_SHARED_PRIMARY_H
#define TARGET_SHARED_PRIMARY_H

#include "target/target.h"

/* "podinfo-primary" */
const char *primary_name(struct tick *tick);
/*
 * The selector of a Service for a side's pods, a new map. Target: all labels of its selector.
 * Primary: the labels of its own immutable selector, plus those of the target's selector once all
 * its pods have them; before the primary exists, the target's labels with one value rewritten.
 * `live`: the current selector of the Service, or NULL.
 */
struct json_object *primary_pods(struct tick *tick, const struct target_info *info, bool primary,
                                 struct json_object *live);
/* spec.selector of a new primary. */
struct json_object *primary_new_selector(struct tick *tick, const struct target_info *info);
/* Sets the labels of the primary's selector in a map that the caller owns. */
void primary_set_label(struct tick *tick, const struct target_info *info,
                       struct json_object *labels);
/* The pod template, with labels, `flagger-id` and configs rewritten. */
struct json_object *primary_template(struct tick *tick, const struct target_info *info);
/* Makes affinity, anti-affinity and spread constraints that select the target's pods select the
 * primary's instead, or the inverse, in a tree that the caller owns. */
void primary_rewrite_affinity(struct tick *tick, const struct target_info *info,
                              struct json_object *pod_spec, bool to_primary);
/* Annotation that identifies the primary's revision; derived from info's hash and configs. */
#define PRIMARY_ID "flagger-id"
const char *primary_id(struct tick *tick, const struct target_info *info);
/* True if a label selector matches these labels; NULL matches all. */
bool primary_selects(struct json_object *selector, struct json_object *labels);
/* Labels of the workload: the target's labels that are included, without those of the selector. */
struct json_object *primary_labels(struct tick *tick, const struct target_info *info);
/* The selector label of `object` that distinguishes info->primary (may be NULL) from it: the one in
 * the primary's own matchLabels, else the first of those in the settings that it has; false if
 * there is none. */
bool primary_selector(struct tick *tick, struct json_object *object, struct target_info *info);
/* Why a Service cannot have these ports besides the main one, NULL if it can. */
const char *primary_ports_refused(struct tick *tick, struct json_object *ports);
/* Ports declared by the containers, as Service ports, without the main port and without mesh
 * sidecars. */
struct json_object *primary_ports(struct tick *tick, struct json_object *pod_spec);

#endif
