#include "test/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

enum { FILE_MAX = 4 * 1024 * 1024 };

bool row_set(struct arena *arena, const struct row_column *columns, size_t count, void *row,
             const char *key, struct json_object *value)
{
    bool is_text = json_object_is_type(value, json_type_string);
    const struct row_column *column = columns, *end = columns + count;

    while (column < end && strcmp(column->name, key) != 0)
        column++;
    if (column == end)
        return false;
    void *field = (char *)row + column->at;
    if (column->type == ROW_TYPE_TEXT)
        *(const char **)field = is_text ? json_object_get_string(value) : json_text(arena, value);
    else if (column->type == ROW_TYPE_FLAG)
        *(bool *)field = json_object_get_boolean(value);
    else
        *(int *)field = json_object_get_int(value);
    return true;
}

void *rows_fill(struct arena *arena, struct json_object *list, const struct row_column *columns,
                size_t n_columns, const void *first, size_t size, size_t *count)
{
    char *rows = arena_array(arena, json_len(list), size);

    *count = json_len(list);
    for (size_t i = 0; i < *count; i++) {
        memcpy(rows + i * size, first, size);
        json_object_object_foreach(json_elem(list, i), key, value)
        {
            if (!row_set(arena, columns, n_columns, rows + i * size, key, value)) {
                fprintf(stderr, "\"%s\" is not known: %s\n", key,
                        json_text(arena, json_elem(list, i)));
                exit(2);
            }
        }
    }
    return rows;
}

static _Noreturn void give_up(const struct errinfo *ei)
{
    fprintf(stderr, "%s\n", ei->text);
    exit(2);
}

struct json_object *rows_read(struct arena *arena, const char *path)
{
    struct json_object *docs;
    struct errinfo ei;

    if (yaml_parse_file(arena, path, FILE_MAX, &docs, &ei) != ERR_OK)
        give_up(&ei);
    return docs;
}

struct json_object *rows_parse(struct arena *arena, const char *name, const char *text, size_t len)
{
    struct json_object *docs;
    struct errinfo ei;

    if (yaml_parse(arena, name, text, len, FILE_MAX, &docs, &ei) != ERR_OK)
        give_up(&ei);
    return docs;
}

struct json_object *rows_json(struct arena *arena, const char *quoted)
{
    char *text = arena_strdup(arena, quoted);
    struct json_object *object = NULL;
    struct errinfo ei;

    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &object, &ei) != ERR_OK) {
        fprintf(stderr, "%s in %s\n", ei.text, text);
        exit(2);
    }
    return object;
}
