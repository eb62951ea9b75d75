/* Rows of data files: structs whose fields are given by name. */
#ifndef TEST_ROWS_H
#define TEST_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

struct row_column {
    const char *name;
    size_t text, flag, number; /* the field's place (const char *, bool, int); the others are 0 */
};

/*
 * Puts the value into the field of this name; a tree becomes a text of JSON. Texts live as long as
 * the tree that they are of, or the arena. False: there is no such column.
 */
bool row_set(struct arena *arena, const struct row_column *columns, size_t count, void *row,
             const char *key, struct json_object *value);
/* The documents of a file of rows. Where it cannot be read, tells why and ends the program. */
struct json_object *rows_read(struct arena *arena, const char *path);

#endif
