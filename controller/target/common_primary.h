/* The primary's pod template and metadata, made from the target's (target/OBJECTS.md).
 */
#ifndef TARGET_COMMON_PRIMARY_H
#define TARGET_COMMON_PRIMARY_H

#include "target/target.h"

/* "podinfo-primary" */
const char *primary_name(struct tick *tick);
/*
 * The selector of a Service that leads to a side's pods, a new map. The target's: all labels of its
 * selector. The primary's: those of its own selector where it is there, which cannot be changed,
 * and those of the target's as soon as all its pods have them; of one to be made, the target's with
 * one value rewritten. `live`: the selector that the Service has, or NULL.
 */
struct json_object *primary_pods(struct tick *tick, const struct target_info *info, bool primary,
                                 struct json_object *live);
/* spec.selector of a primary to be made. */
struct json_object *primary_new_selector(struct tick *tick, const struct target_info *info);
/* Sets the labels of the primary's selector, in a map of the caller's own. */
void primary_set_label(struct tick *tick, const struct target_info *info,
                       struct json_object *labels);
/* The pod template: labels, `flagger-id` and configs rewritten. */
struct json_object *primary_template(struct tick *tick, const struct target_info *info);
/* Affinity, anti-affinity and spread that select the target's pods select the primary's instead, or
 * back, in a tree of the caller's own. */
void primary_rewrite_affinity(struct tick *tick, const struct target_info *info,
                              struct json_object *pod_spec, bool to_primary);
/* The same of one label selector. */
void primary_rewrite_selector(struct tick *tick, const struct target_info *info,
                              struct json_object *selector, bool to_primary);
/* The annotation that says which revision the primary carries; it follows from info's hash and
 * configs. */
#define PRIMARY_ID "flagger-id"
const char *primary_id(struct tick *tick, const struct target_info *info);
/* A label selector picks pods with these labels; NULL: it picks all. */
bool primary_selects(struct json_object *selector, struct json_object *labels);
/* Labels of the workload: those of the target that are included, without those of the selector. */
struct json_object *primary_labels(struct tick *tick, const struct target_info *info);
/* The selector label of `object`, by which info->primary (NULL: none) is told from it: the one that
 * the primary's own matchLabels say, else the first of the settings' that it has; false when there
 * is none. */
bool primary_selector(struct tick *tick, struct json_object *object, struct target_info *info);
/* Ports that the containers declare, as Service ports, without the main port and without mesh
 * sidecars. */
/* Why a Service cannot have these ports beside the main one, NULL: it can. */
const char *primary_ports_refused(struct tick *tick, struct json_object *ports);
struct json_object *primary_ports(struct tick *tick, struct json_object *pod_spec);

#endif
