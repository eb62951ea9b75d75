#include "object/form.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct reader {
    struct arena *arena;
    const char *at;
    va_list args;
};

static struct json_object *read_value(struct reader *r, bool *left_out);

static bool take(struct reader *r, char sign)
{
    r->at += strspn(r->at, " ");
    if (*r->at != sign)
        return false;
    r->at++;
    return true;
}

/* What stands for an argument; false when nothing does. */
static bool read_argument(struct reader *r, struct json_object **out, bool *left_out)
{
    static const char *const signs[] = {"%s", "%p", "%d", "%i", "%ld", "%zu"};
    size_t sign = 0;
    while (sign < 6 && strncmp(r->at, signs[sign], strlen(signs[sign])) != 0)
        sign++;
    if (sign == 6)
        return false;
    r->at += strlen(signs[sign]);
    if (sign == 0) {
        const char *text = va_arg(r->args, const char *);
        *out = text ? json_object_new_string(text) : NULL;
    } else if (sign == 1) {
        *out = json_object_get(va_arg(r->args, struct json_object *));
    } else if (sign == 3) {
        *out = json_object_new_boolean(va_arg(r->args, int));
    } else {
        int64_t number = sign == 2 ? va_arg(r->args, int) : va_arg(r->args, int64_t);
        *out = json_object_new_int64(number);
    }
    *left_out = !*out;
    return true;
}

static char *read_word(struct reader *r)
{
    bool quoted = take(r, '\'');
    size_t len = strcspn(r->at, quoted ? "'" : ",:{}[]");
    char *word = arena_strndup(r->arena, r->at, len);
    r->at += len + quoted;
    return word;
}

static struct json_object *read_plain(struct reader *r)
{
    bool quoted = *r->at == '\'';
    const char *word = read_word(r);
    char *end;
    int64_t number = strtoll(word, &end, 10);
    if (quoted || !*word)
        return json_object_new_string(word);
    if (strcmp(word, "null") == 0)
        return NULL;
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        return json_object_new_boolean(*word == 't');
    return *end ? json_object_new_string(word) : json_object_new_int64(number);
}

static struct json_object *read_members(struct reader *r)
{
    struct json_object *out = json_object_new_object();
    while (!take(r, '}')) {
        bool left_out = false, no_key = false;
        struct json_object *key = NULL;
        r->at += strspn(r->at, " ");
        if (!read_argument(r, &key, &no_key))
            key = json_object_new_string(read_word(r));
        bool colon = take(r, ':');
        assert(colon && !no_key);
        struct json_object *value = read_value(r, &left_out);
        if (!left_out)
            json_object_object_add(out, json_object_get_string(key), value);
        json_object_put(key);
        bool more = take(r, ',');
        assert(more || *r->at == '}');
    }
    return out;
}

static struct json_object *read_items(struct reader *r)
{
    struct json_object *out = json_object_new_array();
    while (!take(r, ']')) {
        bool left_out = false;
        struct json_object *value = read_value(r, &left_out);
        if (!left_out)
            json_object_array_add(out, value);
        bool more = take(r, ',');
        assert(more || *r->at == ']');
    }
    return out;
}

/* Recursion follows the text, which is the program's own. */
static struct json_object *read_value(struct reader *r, bool *left_out)
{
    struct json_object *out;
    if (take(r, '{'))
        return read_members(r);
    if (take(r, '['))
        return read_items(r);
    return read_argument(r, &out, left_out) ? out : read_plain(r);
}

struct json_object *form(struct arena *arena, const char *text, ...)
{
    struct reader r = {.arena = arena, .at = text};
    bool left_out = false;
    va_start(r.args, text);
    struct json_object *out = json_own(arena, read_value(&r, &left_out));
    va_end(r.args);
    assert(!*r.at);
    return out;
}

void form_add(struct json_object *array, struct json_object *item)
{
    json_object_array_add(array, json_object_get(item));
}
