/* The query of a MetricTemplate of type web: any text is a path or a sentence, and a path selects
 * within the document. The first line is the path, the rest the document. */
#include <assert.h>
#include <string.h>

#include "fuzz.h"
#include "metric/jsonpath.h"

FUZZ_TARGET(arena, data, size)
{
    const char *text = arena_strndup(arena, (const char *)data, size);
    size_t line = strcspn(text, "\n"), len = strlen(text);
    struct jsonpath path;
    struct json_object *root = NULL;
    struct errinfo ei = {0};

    if (jsonpath_parse(arena, arena_strndup(arena, text, line), &path, &ei) != ERR_OK) {
        assert(*ei.text);
        return;
    }
    assert(path.n_steps <= JSONPATH_MAX_STEPS);
    if (line < len &&
        json_parse(arena, text + line + 1, len - line - 1, 1024 * 1024, &root, &ei) != ERR_OK)
        return;
    const struct jsonpath_found found = jsonpath_find(arena, &path, root);
    assert(!found.missing ||
           (!found.value && strncmp(found.missing, path.text, strlen(found.missing)) == 0));
}
