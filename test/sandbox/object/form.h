/*
 * Trees written as the text that they are:
 *
 *     form(arena, "{type: %s, status: 'True', count: %d, parents: [%p]}", type, count, parent)
 *
 * Keys and words stand as they are, or in single quotes where they have one of ,:{}[] or a space
 * at an end. Numbers, true, false and null are what they look like. In place of a key or a value
 * stand %s (a text), %d (an int), %ld (an int64_t), %zu, %i (a bool, as true or false) and %p (a
 * tree: a reference of it is taken). A member or an item whose %s or %p is NULL is left out.
 */
#ifndef OBJECT_FORM_H
#define OBJECT_FORM_H

#include <json-c/json.h>

#include "base/arena.h"

/* Owned by the arena. A text that is not of this form ends the process. */
struct json_object *form(struct arena *arena, const char *text, ...) PRINTF_LIKE(2, 3);
/* Adds a tree to an array, which takes a reference of its own. */
void form_add(struct json_object *array, struct json_object *item);

#endif
