/*
 * ConfigMaps and Secrets named by a pod template (target/OBJECTS.md): their hashes, their copies
 * for the primary, and the template rewritten to use the copies.
 */
#ifndef TARGET_SHARED_CONFIGS_H
#define TARGET_SHARED_CONFIGS_H

#include "target/target.h"

struct config_ref {
    struct config_ref *next; /* sorted by kind and name */
    const struct kube_resource *resource;
    const char *key; /* "configmap/NAME" */
    const char *name;
    bool mandatory; /* at least one reference is not optional */
    struct json_object *object;
    bool tracked; /* it exists, is of a tracked kind and not opted out */
};

/* Fills info->configs, config_refs and missing; all NULL if tracking is off. */
enum rule_result configs_read(struct tick *tick, struct json_object *pod_spec,
                              struct target_info *info);
/* Calls edit() for each existing copy that the pod spec of a primary names. */
enum rule_result configs_edit_copies(struct tick *tick, struct json_object *pod_spec,
                                     void (*edit)(struct tick *tick,
                                                  const struct kube_resource *resource,
                                                  struct json_object *live));
/*
 * Makes the Canary an owner of a copy; the object belongs to the caller. Canaries that read the
 * same config share its copy: the first Canary is its controller, the others are additional owners,
 * and the copy is deleted with the last of them. A copy that already has this Canary as owner is
 * left unchanged, so that two Canaries never undo each other's references.
 */
void configs_own_copy(struct tick *tick, struct json_object *copy);
/* Creates or updates `NAME-primary` for each tracked config. */
enum rule_result configs_copy(struct tick *tick, const struct target_info *info);
/* *same: the primary copy of each tracked config equals the config. */
enum rule_result configs_compare(struct tick *tick, const struct target_info *info, bool *same);
/* Hashes of the copies that the primary's pod_spec names, in the form of info->configs; NULL if
 * tracking is off. */
enum rule_result configs_of_primary(struct tick *tick, struct json_object *pod_spec,
                                    struct json_object **out);
/*
 * Creates missing copies that a primary's pod_spec names, if is_promoted() confirms that the
 * existing copies, together with the sources of the missing ones, are the promoted revision. *lost:
 * a missing copy that pods need to start ("configmap settings-primary.test"), or NULL.
 */
enum rule_result configs_restore(struct tick *tick, struct json_object *pod_spec,
                                 bool (*is_promoted)(void *arg, struct json_object *configs),
                                 void *arg, const char **lost);
/*
 * After the release, when the primary is ready and all its pods have one template: deletes copies
 * that this template does not name (of configs whose names contain a hash of their content), if
 * this Canary is the only owner. has_copies: copies may exist although the target no longer reads
 * any configs; otherwise nothing is requested then.
 */
enum rule_result configs_sweep(struct tick *tick, const struct target_info *info, bool has_copies);
/* True if pods of this spec may read copies. */
bool configs_has_copies(struct tick *tick, struct json_object *pod_spec);
/* Renames the tracked configs in pod_spec (a tree that the caller owns) to their primary copies. */
void configs_rename(struct tick *tick, const struct target_info *info,
                    struct json_object *pod_spec);
/* The inverse: every config named like a primary copy gets the name of its source. */
void configs_unname(struct tick *tick, struct json_object *pod_spec);

/* Suffix of the keys for the hash of a ConfigMap's binaryData, which Flagger does not track: a
 * status without such a key does not mean that the config has changed. */
#define CONFIGS_BINARY "#binaryData"

#endif
