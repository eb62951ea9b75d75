#include "mutate.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 40, CHANGES = 3 };

unsigned mutate_below(struct mutate_random *random, unsigned n)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random->state >> 33) % n;
}

/* --- a place of a tree */

struct place {
    struct json_object *parent;
    const char *key; /* NULL: an index */
    size_t index;
    const char *path;
};

static struct json_object *value_at(const struct place *place)
{
    return place->key ? json_at(place->parent, place->key, NULL)
                      : json_elem(place->parent, place->index);
}

static const char *nth_key(struct json_object *object, unsigned n)
{
    json_object_object_foreach(object, key, value)
    {
        (void)value;
        if (n-- == 0)
            return key;
    }
    return NULL;
}

static unsigned children(struct json_object *json)
{
    if (json_object_is_type(json, json_type_array))
        return (unsigned)json_len(json);
    return json_object_is_type(json, json_type_object) ? (unsigned)json_object_object_length(json)
                                                       : 0;
}

/* A random place below the documents; the deeper ones are as likely as the others. */
static struct place find_place(struct arena *arena, struct mutate_random *random,
                               struct json_object *docs)
{
    struct place place = {.parent = docs, .path = ""};
    struct json_object *at = docs;

    for (int depth = 0; depth < DEPTH; depth++) {
        unsigned n = children(at), i;
        if (n == 0)
            break;
        i = mutate_below(random, n);
        place.parent = at;
        place.key = NULL;
        place.index = i;
        if (json_object_is_type(at, json_type_object)) {
            place.key = nth_key(at, i);
            place.path = arena_printf(arena, "%s.%s", place.path, place.key);
        } else {
            place.path = arena_printf(arena, "%s[%u]", place.path, i);
        }
        at = value_at(&place);
        if (depth > 0 && mutate_below(random, 4) == 0)
            break;
    }
    return place;
}

static void put(const struct place *place, struct json_object *value)
{
    if (place->key)
        json_object_object_add(place->parent, place->key, value);
    else
        json_object_array_put_idx(place->parent, place->index, value);
}

/* --- changes; each returns what it has done, NULL for nothing */

typedef const char *change_fn(struct arena *arena, struct mutate_random *random,
                              const struct place *place, struct json_object *others);

static const char *take_away(struct arena *arena, struct mutate_random *random,
                             const struct place *place, struct json_object *others)
{
    (void)random;
    (void)others;
    if (place->key)
        json_object_object_del(place->parent, place->key);
    else
        json_object_array_del_idx(place->parent, place->index, 1);
    return arena_printf(arena, "%s taken away", place->path);
}

static const char *put_twice(struct arena *arena, struct mutate_random *random,
                             const struct place *place, struct json_object *others)
{
    struct json_object *value = value_at(place);

    (void)random;
    (void)others;
    if (!place->key)
        json_object_array_add(place->parent, json_dup(value));
    else if (json_object_is_type(value, json_type_array) && json_len(value) > 0)
        json_object_array_add(value, json_dup(json_elem(value, 0)));
    else
        return NULL;
    return arena_printf(arena, "%s doubled", place->path);
}

static const char *const odd[] = {"null",
                                  "0",
                                  "-1",
                                  "1",
                                  "2",
                                  "100",
                                  "101",
                                  "65535",
                                  "65536",
                                  "4294967296",
                                  "1.5",
                                  "true",
                                  "false",
                                  "\"\"",
                                  "\"x\"",
                                  "\"7\"",
                                  "\"a b\"",
                                  "\"1m\"",
                                  "\"0s\"",
                                  "[]",
                                  "[null]",
                                  "[\"x\"]",
                                  "{}",
                                  "{\"name\":\"x\"}",
                                  "\"Deployment\"",
                                  "\"Service\"",
                                  "\"apps/v1\"",
                                  "\"v1\"",
                                  "\"canary\"",
                                  "\"-\"",
                                  "\"UPPER\"",
                                  "\"a.b\"",
                                  "\"*\"",
                                  "\"app\"",
                                  "\"default\""};

static const char *replace(struct arena *arena, struct mutate_random *random,
                           const struct place *place, struct json_object *others)
{
    const char *text = odd[mutate_below(random, sizeof(odd) / sizeof(odd[0]))];

    (void)others;
    put(place, json_tokener_parse(text));
    return arena_printf(arena, "%s: %s", place->path, text);
}

/* A text one character, or many, longer: limits are at 63 and 253. */
static const char *lengthen(struct arena *arena, struct mutate_random *random,
                            const struct place *place, struct json_object *others)
{
    static const unsigned lengths[] = {1, 46, 54, 55, 56, 63, 64, 245, 246, 253, 254, 1000};
    struct json_object *value = value_at(place);
    unsigned n = lengths[mutate_below(random, sizeof(lengths) / sizeof(lengths[0]))];
    char tail[1024];

    (void)others;
    if (!json_object_is_type(value, json_type_string))
        return NULL;
    memset(tail, 'a', n);
    const char *text = arena_printf(arena, "%s%.*s", json_object_get_string(value), (int)n, tail);
    put(place, json_object_new_string(text));
    return arena_printf(arena, "%s: %zu characters", place->path, strlen(text));
}

static const char *append(struct arena *arena, struct mutate_random *random,
                          const struct place *place, struct json_object *others)
{
    static const char *const tails[] = {"-primary", "-canary", "s", "-", ".", ":80", "/v1", "ms"};
    const char *tail = tails[mutate_below(random, sizeof(tails) / sizeof(tails[0]))];
    struct json_object *value = value_at(place);

    (void)others;
    if (!json_object_is_type(value, json_type_string))
        return NULL;
    put(place,
        json_object_new_string(arena_printf(arena, "%s%s", json_object_get_string(value), tail)));
    return arena_printf(arena, "%s: ...%s", place->path, tail);
}

static const char *mistype(struct arena *arena, struct mutate_random *random,
                           const struct place *place, struct json_object *others)
{
    (void)random;
    (void)others;
    if (!place->key)
        return NULL;
    const char *key = arena_printf(arena, "%sx", place->key);
    json_set(place->parent, key, value_at(place));
    json_object_object_del(place->parent, place->key);
    return arena_printf(arena, "%s mistyped", place->path);
}

/* The value of a field of this name elsewhere. */
static struct json_object *found_elsewhere(struct mutate_random *random, struct json_object *json,
                                           const char *key, int depth)
{
    unsigned n = children(json);
    struct json_object *value = json_at(json, key, NULL);

    if (value && depth > 0)
        return value;
    for (unsigned i = 0, from = n ? mutate_below(random, n) : 0; depth < DEPTH && i < n; i++) {
        unsigned k = (from + i) % n;
        struct json_object *child = json_object_is_type(json, json_type_array)
                                        ? json_elem(json, k)
                                        : json_at(json, nth_key(json, k), NULL);
        struct json_object *found =
            children(child) ? found_elsewhere(random, child, key, depth + 1) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static const char *take_over(struct arena *arena, struct mutate_random *random,
                             const struct place *place, struct json_object *others)
{
    struct json_object *value = place->key ? found_elsewhere(random, others, place->key, 0) : NULL;

    if (!value)
        return NULL;
    put(place, json_object_get(json_copy(arena, value)));
    return arena_printf(arena, "%s: %s", place->path, json_text(arena, value));
}

/* A field that stands beside one of this name elsewhere. */
static const char *add_field(struct arena *arena, struct mutate_random *random,
                             const struct place *place, struct json_object *others)
{
    struct json_object *other = place->key ? found_elsewhere(random, others, place->key, 0) : NULL;
    struct json_object *value = value_at(place);
    unsigned n = children(other);

    if (!json_object_is_type(other, json_type_object) ||
        !json_object_is_type(value, json_type_object) || n == 0)
        return NULL;
    const char *key = nth_key(other, mutate_below(random, n));
    struct json_object *added = json_copy(arena, json_at(other, key, NULL));
    json_set(value, key, added);
    return arena_printf(arena, "%s.%s: %s", place->path, key, json_text(arena, added));
}

static change_fn *const changes[] = {take_away, take_away, put_twice, replace,   replace,
                                     lengthen,  append,    mistype,   take_over, add_field};

static const char *change_documents(struct arena *arena, struct mutate_random *random,
                                    struct json_object *docs, struct json_object *others)
{
    const char *all = "";

    for (unsigned i = mutate_below(random, CHANGES) + 1; i > 0 && json_len(docs) > 0; i--) {
        const struct place place = find_place(arena, random, docs);
        change_fn *change = changes[mutate_below(random, sizeof(changes) / sizeof(changes[0]))];
        const char *done = change(arena, random, &place, others);
        if (done)
            all = arena_printf(arena, "%s%s%s", all, *all ? "; " : "", done);
    }
    return all;
}

/* --- lines */

static const char *line_at(const char *text, unsigned n)
{
    while (n-- > 0 && *text)
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    return text;
}

static const char *change_lines(struct arena *arena, struct mutate_random *random,
                                const char **text)
{
    static const char *const ways[] = {"taken away", "doubled", "moved to the right",
                                       "moved to the left", "cut"};
    unsigned lines = 1, way = mutate_below(random, sizeof(ways) / sizeof(ways[0]));

    for (const char *at = *text; *at; at++)
        lines += *at == '\n';
    unsigned n = mutate_below(random, lines);
    const char *from = line_at(*text, n), *end = line_at(from, 1);
    int before = (int)(from - *text), len = (int)(end - from);
    const char *again = way == 1 ? from : "", *pad = way == 2 ? "  " : "";
    const char *kept = way == 3 && strncmp(from, "  ", 2) == 0 ? from + 2 : from;
    int left = way == 0 ? 0 : way == 4 ? len / 2 : (int)(end - kept);
    *text = arena_printf(arena, "%.*s%s%.*s%.*s%s", before, *text, pad, left, kept,
                         way == 1 ? len : 0, again, end);
    return arena_printf(arena, "line %u %s", n + 1, ways[way]);
}

struct mutant mutate(struct arena *arena, struct mutate_random *random, const char *text,
                     struct json_object *docs, struct json_object *others)
{
    enum { OF_LINES = 5 }; /* one of so many */
    struct mutant out = {.text = ""};

    if (mutate_below(random, OF_LINES) == 0) {
        out.text = text;
        out.changes = change_lines(arena, random, &out.text);
        return out;
    }
    struct json_object *copy = json_copy(arena, docs);
    out.changes = change_documents(arena, random, copy, others);
    for (size_t i = 0; i < json_len(copy); i++)
        out.text =
            arena_printf(arena, "%s---\n%s\n", out.text, json_text(arena, json_elem(copy, i)));
    return out;
}
