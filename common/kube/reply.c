#include "kube/reply.h"

enum err reply_parse(struct arena *arena, const char *text, size_t len, struct json_object **out,
                     bool *outline, struct errinfo *ei)
{
    struct json_bounds bounds = {.max_text = REPLY_MAX_TEXT, .max_tree = REPLY_MAX_TREE};
    struct errinfo why = {0};
    enum err err = json_parse_within(arena, text, len, &bounds, out, &why);

    *outline = err != ERR_OK && bounds.tree > bounds.max_tree;
    if (!*outline) {
        if (ei)
            *ei = why;
        return err;
    }
    bounds.outline = true;
    return json_parse_within(arena, text, len, &bounds, out, ei);
}
