#include "ctl/yaml.h"

#include <string.h>

#include "base/yaml.h"

enum { MAX_TEXT = 64 * 1024 * 1024 };

struct writing {
    struct arena *arena;
    struct buf out;
};

static void put_value(struct writing *w, struct json_object *value, int indent, bool in_list);

static bool is_filled(struct json_object *value)
{
    return (json_object_is_type(value, json_type_object) && json_object_object_length(value) > 0) ||
           json_len(value) > 0;
}

static void put_indent(struct writing *w, int indent)
{
    buf_printf(&w->out, "%*s", indent, "");
}

/* Plain text that YAML reads as this string, and as nothing else. */
static bool is_plain(struct arena *arena, const char *text)
{
    static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-_./ ()%+,";
    struct json_object *docs = NULL;
    size_t len = strlen(text);

    if (len == 0 || len > 200 || strspn(text, fine) != len || strchr("-_./ ()%+,", text[0]) ||
        text[len - 1] == ' ')
        return false;
    return yaml_parse(arena, "", text, len, len, &docs, NULL) == ERR_OK && json_len(docs) == 1 &&
           json_object_is_type(json_elem(docs, 0), json_type_string);
}

/* Lines of a script as they are written; a line that begins with a blank, or control characters,
 * would not come back as they were. */
static bool is_block(const char *text)
{
    if (!strchr(text, '\n') || strchr(" \n", text[0]) || text[strlen(text) - 1] != '\n')
        return false;
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || (unsigned char)*c >= 0x7f ||
            (*c == ' ' && c[1] == '\n'))
            return false;
    return !strstr(text, "\n\n\n") && strcmp(text + strlen(text) - 2, "\n\n") != 0;
}

static void put_block(struct writing *w, const char *text, int indent)
{
    buf_puts(&w->out, "|\n");
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len > 0)
            put_indent(w, indent);
        buf_printf(&w->out, "%.*s\n", (int)len, text);
        text += len + 1;
    }
}

static void put_string(struct writing *w, const char *text, size_t len, int indent)
{
    if (strlen(text) == len && is_plain(w->arena, text))
        buf_puts(&w->out, text);
    else if (strlen(text) == len && len > 1 && is_block(text)) {
        put_block(w, text, indent);
        return;
    } else
        json_quote(&w->out, text, len);
    buf_puts(&w->out, "\n");
}

static void put_members(struct writing *w, struct json_object *object, int indent, bool in_list)
{
    bool first = in_list; /* behind "- " */

    json_object_object_foreach(object, key, value)
    {
        if (!first)
            put_indent(w, indent);
        first = false;
        if (is_plain(w->arena, key))
            buf_puts(&w->out, key);
        else
            json_quote(&w->out, key, strlen(key));
        buf_puts(&w->out, ":");
        if (is_filled(value)) {
            buf_puts(&w->out, "\n");
            put_value(w, value, json_len(value) > 0 ? indent : indent + 2, false);
        } else {
            buf_puts(&w->out, " ");
            put_value(w, value, indent + 2, false);
        }
    }
}

static void put_elements(struct writing *w, struct json_object *array, int indent, bool in_list)
{
    for (size_t i = 0; i < json_len(array); i++) {
        if (i > 0 || !in_list)
            put_indent(w, indent);
        buf_puts(&w->out, "- ");
        put_value(w, json_elem(array, i), indent + 2, true);
    }
}

/* The depth is bound by that of what is read (JSON_MAX_DEPTH). */
static void put_value(struct writing *w, struct json_object *value, int indent, bool in_list)
{
    if (json_object_is_type(value, json_type_object) && is_filled(value))
        put_members(w, value, indent, in_list);
    else if (is_filled(value))
        put_elements(w, value, indent, in_list);
    else if (json_object_is_type(value, json_type_string))
        put_string(w, json_object_get_string(value), (size_t)json_object_get_string_len(value),
                   indent);
    else
        buf_printf(&w->out, "%s\n",
                   json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE));
}

const char *yaml_print(struct arena *arena, struct json_object *object)
{
    struct writing w = {.arena = arena};

    buf_init(&w.out, MAX_TEXT);
    put_value(&w, object, 0, false);
    const char *text = arena_strndup(arena, w.out.data, w.out.len);
    buf_fini(&w.out);
    return text;
}
