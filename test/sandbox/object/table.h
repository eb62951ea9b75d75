/*
 * meta.k8s.io Tables: what `kubectl get` prints. The columns of a kind are those that its CRD or,
 * for the built-in kinds, api/kinds.yaml names, after the object's name.
 */
#ifndef OBJECT_TABLE_H
#define OBJECT_TABLE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct table_column {
    const char *name, *type; /* string, integer, number, boolean or date */
    const char *path;        /* jsonpath_first() */
    int priority;            /* above 0: only -o wide shows it */
};

/* The age alone, as Kubernetes shows of a kind that names no columns. */
extern const struct table_column table_age_alone[];

/* An array of additionalPrinterColumns, ended by name NULL; NULL or empty gives the age alone.
 * Owned by the arena. */
const struct table_column *table_columns(struct arena *arena, struct json_object *columns);

/* ?includeObject= */
enum table_include { TABLE_METADATA, TABLE_OBJECT, TABLE_NONE };
/* NULL, "" and unknown texts are Metadata. */
enum table_include table_include_of(const char *text);

struct table_request {
    const char *version;        /* "v1" or "v1beta1" of meta.k8s.io, from the Accept header */
    enum table_include include; /* what each row carries as its object */
    int64_t now_ms;             /* wall clock, for ages */
    bool no_definitions;        /* watch events after the first leave columnDefinitions out */
};

/*
 * The Table of items (an array of objects), owned by the arena. list_metadata (resourceVersion,
 * continue, remainingItemCount) becomes the Table's metadata; for a single object give its own
 * metadata or NULL.
 */
struct json_object *table_render(struct arena *arena, const struct table_column *columns,
                                 const struct table_request *request, struct json_object *items,
                                 struct json_object *list_metadata);

/* Kubernetes' human age: "0s", "59s", "2m5s", "35m", "3h12m", "2d4h", "41d", "3y27d". */
enum { TABLE_AGE = 48 };
char *table_age(int64_t ms, char text[TABLE_AGE]);

#endif
