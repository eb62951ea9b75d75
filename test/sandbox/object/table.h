/*
 * meta.k8s.io Tables: what `kubectl get` prints.
 *
 * A struct table is a list of columns: built in (static, never freed), or compiled from a CRD's
 * additionalPrinterColumns (heap, freed with table_free()).
 */
#ifndef OBJECT_TABLE_H
#define OBJECT_TABLE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum { TABLE_MAX_COLUMNS = 64 };

struct table;

/* The columns of a built-in kind; Name and Age for any other. Static: table_free() ignores it. */
const struct table *table_builtin(const char *group, const char *kind);
/* columns: the additionalPrinterColumns array; NULL or empty gives Name and Age, as Kubernetes
 * does. */
enum err table_compile(struct json_object *columns, struct table **out,
                       struct errinfo *ei) MUST_USE;
void table_free(struct table *table); /* NULL is allowed */

/* ?includeObject= */
enum table_include { TABLE_METADATA, TABLE_OBJECT, TABLE_NONE };
/* False for an unknown text; NULL and "" are Metadata. */
bool table_include_parse(const char *text, enum table_include *out);

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
struct json_object *table_render(struct arena *arena, const struct table *table,
                                 const struct table_request *request, struct json_object *items,
                                 struct json_object *list_metadata);

/* Kubernetes' human age: "0s", "59s", "2m5s", "35m", "3h12m", "2d4h", "41d", "3y27d". */
enum { TABLE_AGE = 32 };
char *table_age(int64_t ms, char text[TABLE_AGE]);

#endif
