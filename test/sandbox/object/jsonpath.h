/*
 * The part of kubectl's JSONPath that printer columns use: .a.b, ['a.b'], ["a"], [0], [-1], [*],
 * .*, [1:3],
 * [?(@.type=="Ready")] with == != < <= > >= or a bare @.path, and a leading $ or surrounding
 * braces.
 *
 * A path is compiled once (heap, jsonpath_free()) and may be used for any number of objects.
 */
#ifndef OBJECT_JSONPATH_H
#define OBJECT_JSONPATH_H

#include <json-c/json.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum { JSONPATH_MAX_BYTES = 4096, JSONPATH_MAX_STEPS = 64, JSONPATH_MAX_RESULTS = 1000 };

struct jsonpath;

enum err jsonpath_compile(const char *text, struct jsonpath **out, struct errinfo *ei) MUST_USE;
void jsonpath_free(struct jsonpath *path); /* NULL is allowed */

/* What the path finds, in order. A field that is missing finds nothing; that is no error. */
struct jsonpath_result {
    struct json_object *
        *values;  /* array owned by the arena, values borrowed from obj; NULL is JSON null */
    size_t count; /* at most JSONPATH_MAX_RESULTS */
};
struct jsonpath_result jsonpath_find(const struct jsonpath *path, struct arena *arena,
                                     struct json_object *obj);

#endif
