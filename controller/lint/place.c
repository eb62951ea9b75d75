#include "lint/place.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 };

static const char special[] = ".[]\" \t\r\n";

const char *place_text(struct arena *arena, const struct place *place)
{
    struct buf out;

    buf_init(&out, TEXT_MAX);
    for (int i = 0; i < place->depth; i++) {
        const char *key = place->steps[i].key;
        if (!key) {
            buf_printf(&out, "[%zu]", place->steps[i].index);
        } else if (*key && !key[strcspn(key, special)]) {
            buf_printf(&out, "%s%s", out.len > 0 ? "." : "", key);
        } else {
            buf_puts(&out, "[");
            json_quote(&out, key, strlen(key));
            buf_puts(&out, "]");
        }
    }
    const char *text = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    return text;
}

/* The end of the string that begins here, behind its quote; NULL: it has none. */
static const char *end_of_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at == '"' ? at + 1 : NULL;
}

/* "[3]" or "["a.b"]" */
static const char *parse_bracket(struct arena *arena, const char *at, struct place *out)
{
    struct json_object *key;
    struct errinfo ignored;

    if (isdigit((unsigned char)at[1])) {
        char *end;
        unsigned long index = strtoul(at + 1, &end, 10);
        *out = place_in(out, NULL, index);
        return *end == ']' ? end + 1 : NULL;
    }
    const char *end = at[1] == '"' ? end_of_string(at + 1) : NULL;
    if (!end || *end != ']' ||
        json_parse(arena, at + 1, (size_t)(end - at - 1), JSON_MAX_BYTES, &key, &ignored) != ERR_OK)
        return NULL;
    *out = place_in(out, json_object_get_string(key), 0);
    return end + 1;
}

bool place_parse(struct arena *arena, const char *sentence, struct place *out, const char **rest)
{
    const char *at = sentence;

    *out = (struct place){0};
    if (*at == '-')
        return false; /* an option of the controller */
    while (at && *at && *at != ':' && out->depth < PLACE_DEPTH) {
        if (*at == '[') {
            at = parse_bracket(arena, at, out);
            continue;
        }
        at += *at == '.' && out->depth > 0;
        size_t len = strcspn(at, ".[]\" \t\r\n:,");
        if (len == 0)
            return false;
        *out = place_in(out, arena_strndup(arena, at, len), 0);
        at += len;
    }
    if (!at || at[0] != ':' || at[1] != ' ' || out->depth == 0 || !out->steps[0].key)
        return false;
    *rest = at + 2;
    return true;
}

struct place place_in(const struct place *place, const char *key, size_t index)
{
    struct place in = *place;

    if (in.depth < PLACE_DEPTH)
        in.steps[in.depth++] = (struct place_step){.key = key, .index = index};
    return in;
}

struct place place_above(const struct place *place)
{
    struct place above = *place;

    if (above.depth > 0)
        above.depth--;
    return above;
}

struct json_object *place_get(const struct place *place, struct json_object *root)
{
    for (int i = 0; root && i < place->depth; i++) {
        const struct place_step *step = &place->steps[i];
        root = step->key ? json_at(root, step->key, NULL) : json_elem(root, step->index);
    }
    return root;
}

static bool is_same_step(const struct place_step *a, const struct place_step *b)
{
    if (!a->key || !b->key)
        return !a->key && !b->key && a->index == b->index;
    return strcmp(a->key, b->key) == 0;
}

bool place_is_near(const struct place *a, const struct place *b)
{
    for (int i = 0; i < a->depth && i < b->depth; i++)
        if (!is_same_step(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}

void places_add(struct arena *arena, struct places *places, const struct place *place)
{
    struct places_item *item = ARENA_NEW(arena, struct places_item);

    *item = (struct places_item){.next = places->first, .place = *place};
    for (int i = 0; i < place->depth; i++)
        item->place.steps[i].key = arena_strdup(arena, place->steps[i].key);
    places->first = item;
}

bool places_have(const struct places *places, const struct place *place)
{
    for (const struct places_item *item = places->first; item; item = item->next)
        if (item->place.depth == place->depth && place_is_near(&item->place, place))
            return true;
    return false;
}

bool places_have_near(const struct places *places, const struct place *place)
{
    for (const struct places_item *item = places->first; item; item = item->next)
        if (place_is_near(&item->place, place))
            return true;
    return false;
}

bool places_have_above(const struct places *places, const struct place *place)
{
    for (const struct places_item *item = places->first; item; item = item->next)
        if (item->place.depth <= place->depth && place_is_near(&item->place, place))
            return true;
    return false;
}
