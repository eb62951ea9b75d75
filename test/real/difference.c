#include "real/difference.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"

enum { UUID_LEN = 36, TEXT_MAX = 400 };

/* Fields whose value says nothing: in words. */
static const struct {
    const char *key, *word;
} fields[] = {
    {"uid", "(uid)"},           {"resourceVersion", "(version)"}, {"continue", "(continue)"},
    {"clusterIP", "(address)"}, {"clusterIPs", "(addresses)"},
};

static const char *word_of(const char *key)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (strcmp(fields[i].key, key) == 0)
            return fields[i].word;
    return NULL;
}

/* Uids also stand in the middle of sentences. */
static bool is_uuid(const char *text)
{
    for (int i = 0; i < UUID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

static const char *without_uuids(struct arena *arena, const char *text)
{
    struct buf out;
    buf_init(&out, JSON_MAX_BYTES);
    while (*text) {
        if (is_uuid(text)) {
            buf_puts(&out, "(uid)");
            text += UUID_LEN;
        } else {
            buf_add(&out, text++, 1);
        }
    }
    const char *copy = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    return copy;
}

static struct json_object *plain_text(struct arena *arena, const char *text)
{
    struct errinfo ei = {0};
    int64_t when;
    bool time = clock_parse(text, &when, &ei) == ERR_OK;
    return json_object_new_string(time ? "(time)" : without_uuids(arena, text));
}

/* A value under a key that stands for itself; NULL for all others. */
static struct json_object *worded(const char *key, struct json_object *value)
{
    const char *word = word_of(key);
    bool empty = json_object_get_type(value) == json_type_string && !*json_object_get_string(value);
    return word && !empty ? json_object_new_string(word) : NULL;
}

static struct json_object *plain(struct arena *arena, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string:
        return plain_text(arena, json_object_get_string(value));
    case json_type_array: {
        struct json_object *copy = json_object_new_array();
        for (size_t i = 0; i < json_len(value); i++)
            json_object_array_add(copy, plain(arena, json_elem(value, i)));
        return copy;
    }
    case json_type_object: {
        struct json_object *copy = json_object_new_object();
        json_object_object_foreach(value, key, child)
        {
            struct json_object *word = worded(key, child);
            json_object_object_add(copy, key, word ? word : plain(arena, child));
        }
        const char *random = json_str_at(copy, "generateName", NULL);
        if (random && json_at(copy, "name", NULL))
            json_set_str(copy, "name", arena_printf(arena, "%s(random)", random));
        return copy;
    }
    default:
        return json_object_get(value);
    }
}

struct json_object *difference_plain(struct arena *arena, struct json_object *answer)
{
    return json_own(arena, plain(arena, answer));
}

struct finder {
    struct arena *arena;
    difference_fn fn;
    void *arg;
    size_t count;
};

static const char *text_of(struct finder *finder, struct json_object *value)
{
    const char *text = json_text_sorted(finder->arena, value);
    return strlen(text) <= TEXT_MAX ? text : arena_printf(finder->arena, "%.*s...", TEXT_MAX, text);
}

static void differ(struct finder *finder, const char *path, const char *one, const char *other)
{
    finder->count++;
    finder->fn(finder->arg, path, one, other);
}

static void find(struct finder *finder, const char *path, struct json_object *one,
                 struct json_object *other);

static void find_in_object(struct finder *finder, const char *path, struct json_object *one,
                           struct json_object *other)
{
    const char *dot = *path ? "." : "";
    json_object_object_foreach(one, key, value)
    {
        const char *below = arena_printf(finder->arena, "%s%s%s", path, dot, key);
        struct json_object *its = NULL;
        if (json_object_object_get_ex(other, key, &its))
            find(finder, below, value, its);
        else
            differ(finder, below, text_of(finder, value), "(missing)");
    }
    json_object_object_foreach(other, its_key, its_value)
    {
        if (!json_object_object_get_ex(one, its_key, NULL))
            differ(finder, arena_printf(finder->arena, "%s%s%s", path, dot, its_key), "(missing)",
                   text_of(finder, its_value));
    }
}

static void find(struct finder *finder, const char *path, struct json_object *one,
                 struct json_object *other)
{
    json_type type = json_object_get_type(one);
    if (json_same(one, other))
        return;
    if (type == json_type_object && json_object_get_type(other) == type) {
        find_in_object(finder, path, one, other);
    } else if (type == json_type_array && json_object_get_type(other) == type &&
               json_len(one) == json_len(other)) {
        for (size_t i = 0; i < json_len(one); i++)
            find(finder, arena_printf(finder->arena, "%s[%zu]", path, i), json_elem(one, i),
                 json_elem(other, i));
    } else {
        differ(finder, path, text_of(finder, one), text_of(finder, other));
    }
}

size_t difference_find(struct arena *arena, struct json_object *one, struct json_object *other,
                       difference_fn fn, void *arg)
{
    struct finder finder = {.arena = arena, .fn = fn, .arg = arg};
    find(&finder, "", one, other);
    return finder.count;
}
