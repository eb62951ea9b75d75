/*
 * How the lists and maps of a kind merge: from a table for the built-in kinds, from the schema
 * (x-kubernetes-list-type, -list-map-keys, -map-type) for custom ones. Used by patch.h and apply.h.
 *
 * A struct typing is a small value that stands for one place in an object; it borrows the kind and
 * the schema it was made of. One walks down with typing_field() and typing_item().
 */
#ifndef OBJECT_TYPING_H
#define OBJECT_TYPING_H

#include <stdbool.h>
#include <stddef.h>

#include "object/schema.h"

enum { TYPING_MAX_KEYS = 8 };

struct typing {
    const struct schema *schema; /* custom kinds */
    const char *kind;            /* built-in kinds: "Deployment" */
    const char *parent;          /* the field around this one; NULL at the root */
    const char *field;           /* the field that stands here; NULL at the root */
};

struct typing typing_builtin(const char *kind);
/* schema NULL: nothing is known, every list is atomic (except in metadata). */
struct typing typing_custom(const struct schema *schema);

struct typing typing_field(struct typing at, const char *key);
/* An item of the list that stands here. */
struct typing typing_item(struct typing at);

enum schema_list typing_list(struct typing at);
/* The keys of a list of maps for server-side apply, e.g. containerPort and protocol. Returns how
 * many. */
size_t typing_list_keys(struct typing at, const char *keys[TYPING_MAX_KEYS]);
/* The value that a missing key stands for (protocol: TCP), or NULL. Borrowed or owned by the arena.
 */
struct json_object *typing_key_default(struct typing at, struct arena *arena, const char *key);
bool typing_map_atomic(struct typing at);

/* The one key that strategic merge uses for this list, e.g. containerPort; NULL: the list is
 * replaced. */
const char *typing_merge_key(struct typing at);
/* True for lists of strings that strategic merge joins (finalizers). */
bool typing_merge_set(struct typing at);

#endif
