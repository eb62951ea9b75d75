/* What a table is made of: private to the table_*.c files. */
#ifndef OBJECT_TABLE_COLUMN_H
#define OBJECT_TABLE_COLUMN_H

#include "base/json.h"
#include "object/jsonpath.h"
#include "object/table.h"

/* One row while it is made. */
struct table_row {
    struct arena *arena;
    struct json_object *obj;
    int64_t now_ms;
};

struct table_column {
    const char *name;
    const char *type; /* string, integer, number, boolean, date */
    const char *format;
    const char *description;
    int priority; /* above 0: only with -o wide */
    /* Built-in columns compute their cell (owned by the arena or borrowed; NULL is null); others
     * have a path. */
    struct json_object *(*cell)(const struct table_row *row);
    struct jsonpath *path;
};

struct table {
    struct arena *arena; /* NULL: static */
    const struct table_column *columns;
    size_t count;
};

struct table_kind {
    const char *group, *kind;
    struct table table;
};
#define TABLE_KIND(group_, kind_, columns_)                                                        \
    {                                                                                              \
        .group = (group_), .kind = (kind_), .table = {                                             \
            .columns = (columns_),                                                                 \
            .count = sizeof(columns_) / sizeof((columns_)[0])                                      \
        }                                                                                          \
    }
/* Each ends with kind NULL. */
extern const struct table_kind table_workloads[]; /* table_workload.c */
extern const struct table_kind table_others[];    /* table_other.c */

/* Cells and parts of cells that several kinds share. */
#define TABLE_NAME                                                                                 \
    {                                                                                              \
        .name = "Name", .type = "string", .format = "name", .cell = table_cell_name,               \
        .description = "Name of the object, unique in its namespace"                               \
    }
#define TABLE_AGE_COLUMN                                                                           \
    {                                                                                              \
        .name = "Age", .type = "string", .cell = table_cell_age,                                   \
        .description = "Time since the object was created"                                         \
    }
struct json_object *table_cell_name(const struct table_row *row);
struct json_object *table_cell_age(const struct table_row *row);
struct json_object *table_text(const struct table_row *row, const char *text); /* NULL: null */
struct json_object *table_int(const struct table_row *row, int64_t number);
/* The age of an RFC 3339 time; "<unknown>" when it is missing, "<invalid>" when it is none. */
const char *table_since(const struct table_row *row, const char *time);
/* first + sep + next, or just next. */
const char *table_join(const struct table_row *row, const char *first, const char *sep,
                       const char *next);

#endif
