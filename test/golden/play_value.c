#include <ctype.h>
#include <string.h>

#include "play.h"
#include "world_kind.h"

/* "name", or "name.key" of what it stands for. */
static struct json_object *variable(struct play *play, const char *name)
{
    const char *dot = strchr(name, '.');
    struct json_object *value = NULL;

    if (dot) {
        value = variable(play, arena_strndup(play->arena, name, (size_t)(dot - name)));
        return json_at(value, dot + 1, NULL);
    }
    if (!json_object_object_get_ex(play->vars, name, &value) &&
        !json_object_object_get_ex(play->kept, name, &value) &&
        !json_object_object_get_ex(play->columns, name, &value) &&
        !json_object_object_get_ex(json_at(play->head, "values", NULL), name, &value))
        play_fail(play, "nothing is called $%s here", name);
    return value;
}

/* The name, where the whole text is "$name"; else NULL. */
static const char *whole_name(const char *text)
{
    if (text[0] != '$' || !islower((unsigned char)text[1]))
        return NULL;
    for (const char *at = text + 1; *at; at++) {
        if (!isalnum((unsigned char)*at) && *at != '_' && *at != '.')
            return NULL;
    }
    return text + 1;
}

/* What stands between "${" and "}" replaced, as often as it occurs. */
static const char *replace_inside(struct play *play, const char *text)
{
    for (const char *start; (start = strstr(text, "${"));) {
        size_t len = strcspn(start + 2, "}");
        const char *name = arena_strndup(play->arena, start + 2, len);
        struct json_object *value = variable(play, name);
        if (start[2 + len] != '}' || !value)
            play_fail(play, "\"%s\" has no text for ${%s}", text, name);
        text = arena_printf(play->arena, "%.*s%s%s", (int)(start - text), text,
                            json_object_get_string(value), start + len + 3);
    }
    return text;
}

struct json_object *play_value(struct play *play, struct json_object *given)
{
    struct json_object *out;

    if (json_object_is_type(given, json_type_string)) {
        const char *text = replace_inside(play, json_object_get_string(given));
        const char *name = whole_name(text);
        return name ? variable(play, name) : json_own(play->arena, json_object_new_string(text));
    }
    if (json_object_is_type(given, json_type_array)) {
        out = json_own(play->arena, json_object_new_array());
        for (size_t i = 0; i < json_len(given); i++)
            json_object_array_add(out, json_object_get(play_value(play, json_elem(given, i))));
        return out;
    }
    if (!json_object_is_type(given, json_type_object))
        return given;
    out = json_own(play->arena, json_object_new_object());
    json_object_object_foreach(given, key, value)
    {
        json_set(out, replace_inside(play, key), play_value(play, value));
    }
    return out;
}

const char *play_quoted(struct play *play, struct json_object *value)
{
    const char *text = value ? json_text(play->arena, value) : NULL, *quote;

    /* The world reads a single quote as a double one; written as a number it stays what it is. */
    while (text && (quote = strchr(text, '\'')))
        text = arena_printf(play->arena, "%.*s\\u0027%s", (int)(quote - text), text, quote + 1);
    return text;
}

const char *play_key(struct play *play, const char *key)
{
    static const char target[] = "target/";

    if (strncmp(key, target, strlen(target)) != 0)
        return key;
    return world_key(play->world, key + strlen(target));
}
