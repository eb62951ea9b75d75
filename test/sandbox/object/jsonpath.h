/*
 * The part of kubectl's JSONPath that printer columns and scale subresources use: fields, .a.b;
 * items of lists, [0] and [*]; and the item that has a field of some value, [?(@.type=="Ready")].
 */
#ifndef OBJECT_JSONPATH_H
#define OBJECT_JSONPATH_H

#include <json-c/json.h>

#include "base/arena.h"

/* The first that the path finds, borrowed from obj; NULL when there is nothing, or no such path. */
struct json_object *jsonpath_first(struct arena *arena, struct json_object *obj, const char *path);

#endif
