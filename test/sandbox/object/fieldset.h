/*
 * Sets of fields of an object, as metadata.managedFields keeps them (FieldsV1), and the walks that
 * make them.
 *
 * In memory a set is a JSON tree in which every member is spelled out:
 * {"f:spec":{"f:replicas":{".":{}}}}. FieldsV1 writes a member without children as {}:
 * fieldset_parse() and fieldset_text() convert. NULL is the empty set, and no set holds an empty
 * branch. Sets are never changed once made and belong to the arena.
 *
 * Keys: "f:NAME" a field, "k:{...}" an item of a list of type map, "v:..." an item of a list of
 * type set.
 */
#ifndef OBJECT_FIELDSET_H
#define OBJECT_FIELDSET_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "object/typing.h"

struct json_object *fieldset_parse(struct arena *arena, struct json_object *fields_v1);
struct json_object *fieldset_text(struct arena *arena, struct json_object *set);

struct json_object *fieldset_join(struct arena *arena, struct json_object *a,
                                  struct json_object *b);
struct json_object *fieldset_minus(struct arena *arena, struct json_object *a,
                                   struct json_object *b);
struct json_object *fieldset_common(struct arena *arena, struct json_object *a,
                                    struct json_object *b);
/* The set without what the server itself keeps: apiVersion, kind, metadata.name and their kind. */
struct json_object *fieldset_without_server(struct arena *arena, struct json_object *set);

/* Every field that the object sets. */
struct json_object *fieldset_of(struct arena *arena, struct typing at, struct json_object *obj);
/* What is new or has another value in `after`, and what is no longer there. */
void fieldset_compare(struct arena *arena, struct typing at, struct json_object *before,
                      struct json_object *after, struct json_object **changed,
                      struct json_object **removed);

/* Calls visit with the path of every member: ".spec.containers[name=\"a\"].image". */
void fieldset_each(struct arena *arena, struct json_object *set,
                   void (*visit)(void *ctx, const char *path), void *ctx);

/*
 * The items of a list that stands at `at` by their keys ("k:..." or "v:..."), borrowed. NULL when
 * the list is atomic, or when an item has no key or a key occurs twice; then *why (may be NULL)
 * says so, and stays NULL for atomic.
 */
struct json_object *fieldset_index(struct arena *arena, struct typing at, struct json_object *list,
                                   const char **why);
/* The key of one item; NULL when it has none. */
const char *fieldset_item_key(struct arena *arena, struct typing at, struct json_object *item);

#endif
