/* Reading and writing what all Kubernetes objects share. Pure; results are borrowed from the tree.
 */
#ifndef OBJECT_META_H
#define OBJECT_META_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

const char *meta_name(struct json_object *obj); /* "" if none, as the next two */
const char *meta_ns(struct json_object *obj);
const char *meta_uid(struct json_object *obj);
bool meta_deleting(struct json_object *obj);
int64_t meta_generation(struct json_object *obj);         /* 1 if none */
struct json_object *meta_labels(struct json_object *obj); /* NULL if none */
const char *meta_label(struct json_object *obj, const char *key);
const char *meta_annotation(struct json_object *obj, const char *key);
/* The controller's owner reference, NULL if there is none. */
struct json_object *meta_controller(struct json_object *obj);
bool meta_owned_by(struct json_object *obj, const char *uid);
/* creationTimestamp in Unix seconds, 0 if it cannot be read. */
int64_t meta_created(struct json_object *obj);

/* A list of one owner reference {controller, blockOwnerDeletion}; api_version such as "apps/v1".
 * Owned by the arena. */
struct json_object *meta_owner_list(struct arena *arena, struct json_object *owner,
                                    const char *api_version, const char *kind);

/* The item of a list of objects whose member key is this text, NULL if there is none. */
struct json_object *meta_item(struct json_object *list, const char *key, const char *text);
/* The same of an array of conditions, by type. */
struct json_object *meta_condition(struct json_object *conditions, const char *type);
bool meta_condition_true(struct json_object *conditions, const char *type);
/*
 * Adds a condition to conditions and returns it. Its lastTransitionTime is that of the condition of
 * this type in before (an array, may be NULL) if that had the same status, or else now.
 */
struct json_object *meta_add_condition(struct arena *arena, struct json_object *conditions,
                                       struct json_object *before, const char *type,
                                       const char *status, const char *reason, const char *message,
                                       const char *now);

/* A time as objects carry it. Owned by the arena. */
const char *meta_time(struct arena *arena, int64_t wall_ms);
/*
 * A hash of a tree as the workload controllers put it into names: letters and digits that make no
 * words. Equal trees give equal text whatever the order of their keys. Owned by the arena.
 */
const char *meta_hash(struct arena *arena, struct json_object *tree);

/*
 * The first that the path finds, borrowed from obj; NULL when there is nothing, or no such path. It
 * is the part of kubectl's JSONPath that printer columns and scale subresources use: fields, .a.b;
 * items of lists, [0] and [*]; and the item that has a field of some value, [?(@.type=="Ready")].
 */
struct json_object *jsonpath_first(struct arena *arena, struct json_object *obj, const char *path);

/*
 * The limits of a rollout: an int as it is, "N%" of total rounded up or down. obj NULL gives
 * missing. ERR_INVALID for anything else.
 */
enum err intstr_scaled(struct json_object *obj, int total, bool round_up, int missing, int *out,
                       struct errinfo *ei) MUST_USE;

#endif
