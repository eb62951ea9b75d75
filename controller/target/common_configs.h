/*
 * ConfigMaps and Secrets that a pod template names (target/OBJECTS.md):
 * their hashes, the copies for the primary, and the template rewritten to use the copies.
 */
#ifndef TARGET_COMMON_CONFIGS_H
#define TARGET_COMMON_CONFIGS_H

#include "target/target.h"

struct config_ref {
    struct config_ref *next; /* sorted by kind and name */
    const struct kube_resource *resource;
    const char *key; /* "configmap/NAME" */
    const char *name;
    bool mandatory; /* some reference to it is not optional */
    struct json_object *object;
    bool tracked; /* it exists, is of a kind to track and not opted out */
};

/* Fills info->configs, config_refs and missing; all NULL when tracking is off. */
enum verdict configs_read(struct tick *tick, struct json_object *pod_spec,
                          struct target_info *info);
/* Calls edit() for each copy that is there and that the pod spec of a primary names. */
enum verdict configs_edit_copies(struct tick *tick, struct json_object *pod_spec,
                                 void (*edit)(struct tick *tick,
                                              const struct kube_resource *resource,
                                              struct json_object *live));
/*
 * Makes the Canary an owner of a copy, which is the caller's own. Canaries that read the same config
 * share its copy: the first one is its controller, the others are further owners, and it stays as
 * long as one of them does. A copy that has this Canary already is not changed, so that two never
 * undo each other's references.
 */
void configs_own_copy(struct tick *tick, struct json_object *copy);
/* Creates or updates `NAME-primary` of each tracked config. */
enum verdict configs_copy(struct tick *tick, const struct target_info *info);
/* *same: the primary copy of each tracked config holds what the config holds now. */
enum verdict configs_compare(struct tick *tick, const struct target_info *info, bool *same);
/* What the copies hold that the primary's pod_spec names, in the form of info->configs; NULL when
 * tracking is off. */
enum verdict configs_of_primary(struct tick *tick, struct json_object *pod_spec,
                                struct json_object **out);
/*
 * Makes copies anew that a primary's pod_spec names and that are gone, where is_promoted() says
 * that the copies that are there, with what the sources of the others hold now, are what was
 * promoted. *lost: one of the others that no pod can start without ("configmap
 * settings-primary.test"), or NULL.
 */
enum verdict configs_restore(struct tick *tick, struct json_object *pod_spec,
                             bool (*is_promoted)(void *arg, struct json_object *configs), void *arg,
                             const char **lost);
/*
 * The release is over, and the primary, which is ready, runs one template: copies that it does not name
 * (of configs whose names change with their content) are deleted, where this Canary alone owns them.
 * has_copies: there may be some although the target reads no config any more; otherwise nothing is
 * asked for then.
 */
enum verdict configs_sweep(struct tick *tick, const struct target_info *info, bool has_copies);
/* Pods of this spec may read copies. */
bool configs_has_copies(struct tick *tick, struct json_object *pod_spec);
/* Renames the tracked configs in pod_spec (a tree of the caller's own) to their primary copies. */
void configs_rename(struct tick *tick, const struct target_info *info,
                    struct json_object *pod_spec);
/* The other way round: every config named like a primary copy gets the name of what it copies. */
void configs_unname(struct tick *tick, struct json_object *pod_spec);

/* Keys that end so hold the hash of a ConfigMap's binaryData, which Flagger does not track: one
 * that a status does not have yet is no change. */
#define CONFIGS_BINARY "#binaryData"

#endif
