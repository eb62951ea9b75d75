/* Rows of data files: structs whose fields are given by name. */
#ifndef TEST_ROWS_H
#define TEST_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/* ROW_TEXT(struct story, canary), ROW_FLAG(...), ROW_NUMBER(...): a field that is a const char *, a
 * bool or an int. */
enum row_type { ROW_TYPE_TEXT, ROW_TYPE_FLAG, ROW_TYPE_NUMBER };
struct row_column {
    const char *name;
    enum row_type type;
    size_t at;
};
#define ROW_COLUMN(row, field, type_)                                                              \
    {                                                                                              \
        .name = #field, .type = (type_), .at = offsetof(row, field)                                \
    }
#define ROW_TEXT(row, field)   ROW_COLUMN(row, field, ROW_TYPE_TEXT)
#define ROW_FLAG(row, field)   ROW_COLUMN(row, field, ROW_TYPE_FLAG)
#define ROW_NUMBER(row, field) ROW_COLUMN(row, field, ROW_TYPE_NUMBER)

/*
 * Puts the value into the field of this name; a tree becomes a text of JSON. Texts live as long as
 * the tree that they are of, or the arena. False: there is no such column.
 */
bool row_set(struct arena *arena, const struct row_column *columns, size_t count, void *row,
             const char *key, struct json_object *value);
/*
 * An array of structs, each as `first` with what a row of the list says; it lives in the arena. A
 * row with a key that is not known ends the program. ROWS_FILL(arena, list, columns, first, &count)
 */
void *rows_fill(struct arena *arena, struct json_object *list, const struct row_column *columns,
                size_t n_columns, const void *first, size_t size, size_t *count);
#define ROWS_FILL(arena, list, columns, first, count)                                              \
    rows_fill(arena, list, columns, sizeof(columns) / sizeof((columns)[0]), &(first),              \
              sizeof(first), count)
/* The documents of a file of rows, or of its text. Where it cannot be read, tells why and ends the
 * program. */
struct json_object *rows_read(struct arena *arena, const char *path);
struct json_object *rows_parse(struct arena *arena, const char *name, const char *text, size_t len);

/* JSON with single quotes, as texts in C are written. A mistake in it ends the program. */
struct json_object *rows_json(struct arena *arena, const char *quoted);

#endif
