#include "test/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

enum { FILE_MAX = 1024 * 1024 };

bool row_set(struct arena *arena, const struct row_column *columns, size_t count, void *row,
             const char *key, struct json_object *value)
{
    bool is_text = json_object_is_type(value, json_type_string);
    const struct row_column *column = columns, *end = columns + count;
    char *at = row;

    while (column < end && strcmp(column->name, key) != 0)
        column++;
    if (column == end)
        return false;
    if (column->text)
        *(const char **)(void *)(at + column->text) =
            is_text ? json_object_get_string(value) : json_text(arena, value);
    else if (column->flag)
        *(bool *)(void *)(at + column->flag) = json_object_get_boolean(value);
    else
        *(int *)(void *)(at + column->number) = json_object_get_int(value);
    return true;
}

struct json_object *rows_read(struct arena *arena, const char *path)
{
    struct json_object *docs;
    struct errinfo ei;

    if (yaml_parse_file(arena, path, FILE_MAX, &docs, &ei) == ERR_OK)
        return docs;
    fprintf(stderr, "%s\n", ei.text);
    exit(2);
}
