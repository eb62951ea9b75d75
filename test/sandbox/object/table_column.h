/* What a table is made of: private to the table_*.c files. */
#ifndef OBJECT_TABLE_COLUMN_H
#define OBJECT_TABLE_COLUMN_H

#include "base/json.h"
#include "object/jsonpath.h"
#include "object/table.h"

enum { TABLE_FIELD_DEPTH = 4 };

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
    /* Where the cell comes from. A CRD's column has a path. A built-in one computes it (owned by
     * the arena or borrowed; NULL is null), or names a field by its keys, and what stands for one
     * that is not there: for a text also when it is empty. A field with neither is shown as it is.
     */
    struct jsonpath *path;
    struct json_object *(*cell)(const struct table_row *row);
    const char *field[TABLE_FIELD_DEPTH + 1];
    const char *absent;
    bool number;
    int64_t absent_number;
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

#define TABLE_NAME                                                                                 \
    {                                                                                              \
        .name = "Name", .type = "string", .format = "name", .field = {"metadata", "name"},         \
        .description = "Name of the object, unique in its namespace"                               \
    }
#define TABLE_AGE_COLUMN                                                                           \
    {                                                                                              \
        .name = "Age", .type = "string", .cell = table_cell_age,                                   \
        .description = "Time since the object was created"                                         \
    }
/* wide: 1 for a column that only -o wide shows. The keys of the field come last. */
#define TABLE_CELL(name_, wide, cell_)                                                             \
    {                                                                                              \
        .name = (name_), .type = "string", .priority = (wide), .cell = (cell_)                     \
    }
#define TABLE_TEXT(name_, wide, absent_, ...)                                                      \
    {                                                                                              \
        .name = (name_), .type = "string", .priority = (wide), .absent = (absent_), .field = {     \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define TABLE_NUMBER(name_, type_, absent_, ...)                                                   \
    {                                                                                              \
        .name = (name_), .type = (type_), .number = true, .absent_number = (absent_), .field = {   \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define TABLE_AS_IT_IS(name_, type_, ...)                                                          \
    {                                                                                              \
        .name = (name_), .type = (type_), .field = { __VA_ARGS__ }                                 \
    }

/* Cells and parts of cells that several kinds share. */
struct json_object *table_cell_age(const struct table_row *row);
struct json_object *table_text(const struct table_row *row, const char *text); /* NULL: null */
/* "<none>" for NULL and "". */
struct json_object *table_or_none(const struct table_row *row, const char *text);
struct json_object *table_int(const struct table_row *row, int64_t number);
/* The age of an RFC 3339 time; "<unknown>" when it is missing, "<invalid>" when it is none. */
const char *table_since(const struct table_row *row, const char *time);
/* first + sep + next, or just next. */
const char *table_join(const struct table_row *row, const char *first, const char *sep,
                       const char *next);

#endif
