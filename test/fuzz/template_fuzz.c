/* Templates of queries: any text is rendered within its bounds, the same each time, or told why
 * not. */
#include <assert.h>
#include <string.h>

#include "fuzz.h"
#include "metric/template.h"

enum { MOST = 4096 };

FUZZ_TARGET(arena, data, size)
{
    struct json_object *map = json_own(arena, json_object_new_object());
    const struct template_function functions[] = {
        {"name", "podinfo", NULL}, {"variables", NULL, map}, {"none", NULL, NULL}, {0}};
    const char *text = arena_strndup(arena, (const char *)data, size);
    const char *out = NULL, *again = NULL;
    struct errinfo ei = {0};

    json_set_str(map, "a", "1");
    json_set_str(map, "b", "two");
    enum err err = template_render(arena, text, functions, MOST, NULL, &out, &ei);
    if (err != ERR_OK) {
        assert(err == ERR_INVALID && strncmp(ei.text, "template:", 9) == 0);
    } else {
        assert(strlen(out) <= MOST);
        err = template_render(arena, text, functions, MOST, NULL, &again, &ei);
        assert(err == ERR_OK && strcmp(out, again) == 0);
    }
}
