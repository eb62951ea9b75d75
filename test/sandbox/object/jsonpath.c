#include "object/jsonpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static struct json_object *item_with(struct json_object *list, const char *key, const char *value)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *found = json_str_at(json_elem(list, i), key, NULL);
        if (found && strcmp(found, value) == 0)
            return json_elem(list, i);
    }
    return NULL;
}

/* One step in brackets; moves *path behind it. */
static struct json_object *item(struct json_object *list, const char **path)
{
    char key[64], value[128];
    int len = 0;
    if (sscanf(*path, "[?(@.%63[^=]==\"%127[^\"]\")]%n", key, value, &len) == 2 && len > 0) {
        *path += len;
        return item_with(list, key, value);
    }
    char *end;
    size_t index = (*path)[1] == '*' ? 0 : strtoul(*path + 1, &end, 10);
    const char *close = strchr(*path, ']');
    *path = close ? close + 1 : "";
    return close ? json_elem(list, index) : NULL;
}

struct json_object *jsonpath_first(struct arena *arena, struct json_object *obj, const char *path)
{
    while (obj && *path) {
        if (*path == '[') {
            obj = item(obj, &path);
            continue;
        }
        path += *path == '.';
        size_t len = strcspn(path, ".[");
        obj = json_at(obj, arena_strndup(arena, path, len), NULL);
        path += len;
    }
    return obj;
}
