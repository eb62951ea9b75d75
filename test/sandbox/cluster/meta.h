/* Reading and writing what all Kubernetes objects share. Pure; results are borrowed from the tree.
 */
#ifndef CLUSTER_META_H
#define CLUSTER_META_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

const char *meta_name(struct json_object *obj);
const char *meta_ns(struct json_object *obj); /* "" if none */
const char *meta_uid(struct json_object *obj);
bool meta_deleting(struct json_object *obj);
struct json_object *meta_labels(struct json_object *obj); /* NULL if none */
const char *meta_label(struct json_object *obj, const char *key);
const char *meta_annotation(struct json_object *obj, const char *key);
/* The controller's owner reference, NULL if there is none. */
struct json_object *meta_controller(struct json_object *obj);
bool meta_owned_by(struct json_object *obj, const char *uid);
/* creationTimestamp in Unix seconds, 0 if it cannot be read. */
int64_t meta_created(struct json_object *obj);

/* A list of one owner reference {controller, blockOwnerDeletion}; api_version such as "apps/v1".
 * New reference. */
struct json_object *meta_owner_list(struct json_object *owner, const char *api_version,
                                    const char *kind);

/* The condition of that type in an array of conditions, NULL if there is none. */
struct json_object *meta_condition(struct json_object *conditions, const char *type);
bool meta_condition_true(struct json_object *conditions, const char *type);

/*
 * A hash of a tree as the workload controllers put it into names: letters and digits that make no
 * words. Equal trees give equal text whatever the order of their keys. Owned by the arena.
 */
const char *meta_hash(struct arena *arena, struct json_object *tree);

#endif
