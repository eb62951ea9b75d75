/* What is read as YAML is bounded, and is the same after it was written as JSON and read again. */
#include <assert.h>
#include <string.h>

#include "base/yaml.h"
#include "fuzz.h"

enum { MAX = 64 * 1024 };

/* JSON is YAML, but for what YAML alone takes for the end of a line. */
static void check_document(struct arena *arena, struct json_object *doc)
{
    struct json_object *docs;
    struct errinfo ei;
    const char *text = json_text(arena, doc);
    if (strstr(text, "\xc2\x85") || strstr(text, "\xe2\x80\xa8") || strstr(text, "\xe2\x80\xa9") ||
        strchr(text, 0x7f))
        return;
    enum err err = yaml_parse(arena, "back", text, strlen(text), JSON_MAX_BYTES, &docs, &ei);
    assert(err == ERR_OK && json_len(docs) == 1);
    assert(json_same(doc, json_elem(docs, 0)));
    (void)err;
}

FUZZ_TARGET(arena, data, size)
{
    struct json_object *docs;
    struct errinfo ei = {0};
    if (yaml_parse(arena, "fuzz", (const char *)data, size, MAX, &docs, &ei) == ERR_OK) {
        assert(strlen(json_text(arena, docs)) < 40 * (size_t)MAX);
        for (size_t i = 0; i < json_len(docs); i++)
            check_document(arena, json_elem(docs, i));
    } else {
        assert(strncmp(ei.text, "fuzz:", 5) == 0);
    }
}
