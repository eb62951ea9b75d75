/* Recursion follows objects and sets, which are bounded by JSON_MAX_DEPTH. */
#include "object/fieldset.h"

#include <string.h>

#include "base/json.h"

static struct json_object *new_node(struct arena *arena)
{
    return json_own(arena, json_object_new_object());
}

static struct json_object *member(struct arena *arena)
{
    struct json_object *node = new_node(arena);
    json_object_object_add(node, ".", json_object_new_object());
    return node;
}

static struct json_object *child(struct json_object *set, const char *key)
{
    struct json_object *value = NULL;
    if (set)
        json_object_object_get_ex(set, key, &value);
    return value;
}

static bool is_dot(const char *key)
{
    return strcmp(key, ".") == 0;
}

/* NULL for a node without anything, so that no set holds an empty branch. */
static struct json_object *unless_empty(struct json_object *node)
{
    return json_object_object_length(node) > 0 ? node : NULL;
}

struct json_object *fieldset_parse(struct arena *arena, struct json_object *fields_v1)
{
    if (!json_object_is_type(fields_v1, json_type_object))
        return NULL;
    struct json_object *node = new_node(arena);
    json_object_object_foreach(fields_v1, key, value)
    {
        bool leaf = !value || (json_object_is_type(value, json_type_object) &&
                               json_object_object_length(value) == 0);
        struct json_object *parsed =
            leaf && !is_dot(key) ? member(arena) : fieldset_parse(arena, value);
        if (is_dot(key))
            json_object_object_add(node, ".", json_object_new_object());
        else if (parsed)
            json_set(node, key, parsed);
    }
    return unless_empty(node);
}

struct json_object *fieldset_text(struct arena *arena, struct json_object *set)
{
    struct json_object *node = new_node(arena);
    if (!set)
        return node;
    json_object_object_foreach(set, key, value)
    {
        if (!is_dot(key))
            json_set(node, key, fieldset_text(arena, value));
        else if (json_object_object_length(set) > 1)
            json_object_object_add(node, ".", json_object_new_object());
    }
    return node;
}

struct json_object *fieldset_join(struct arena *arena, struct json_object *a, struct json_object *b)
{
    if (!a || !b)
        return a ? a : b;
    struct json_object *node = new_node(arena);
    json_object_object_foreach(a, key, value)
    {
        json_set(node, key, is_dot(key) ? value : fieldset_join(arena, value, child(b, key)));
    }
    json_object_object_foreach(b, other, added)
    {
        if (!child(a, other))
            json_set(node, other, added);
    }
    return node;
}

struct json_object *fieldset_minus(struct arena *arena, struct json_object *a,
                                   struct json_object *b)
{
    if (!a || !b)
        return a;
    struct json_object *node = new_node(arena);
    json_object_object_foreach(a, key, value)
    {
        struct json_object *other = child(b, key);
        struct json_object *left = NULL;
        if (!is_dot(key))
            left = fieldset_minus(arena, value, other);
        else if (!other)
            left = value;
        if (left)
            json_set(node, key, left);
    }
    return unless_empty(node);
}

struct json_object *fieldset_common(struct arena *arena, struct json_object *a,
                                    struct json_object *b)
{
    if (!a || !b)
        return NULL;
    struct json_object *node = new_node(arena);
    json_object_object_foreach(a, key, value)
    {
        struct json_object *other = child(b, key);
        struct json_object *both = other;
        if (!is_dot(key))
            both = fieldset_common(arena, value, other);
        if (both)
            json_set(node, key, both);
    }
    return unless_empty(node);
}

struct json_object *fieldset_without_server(struct arena *arena, struct json_object *set)
{
    static const char *const names[] = {
        "f:name",       "f:namespace",     "f:creationTimestamp", "f:selfLink",          "f:uid",
        "f:generation", "f:managedFields", "f:resourceVersion",   "f:deletionTimestamp",
    };
    struct json_object *server = member(arena); /* the object as a whole has no owner */
    struct json_object *metadata = member(arena);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        json_set(metadata, names[i], member(arena));
    json_set(server, "f:metadata", metadata);
    json_set(server, "f:apiVersion", member(arena));
    json_set(server, "f:kind", member(arena));
    return fieldset_minus(arena, set, server);
}

/* ---- lists ---- */

const char *fieldset_item_key(struct arena *arena, struct typing at, struct json_object *item)
{
    const char *keys[TYPING_MAX_KEYS];
    if (typing_list(at) == SCHEMA_LIST_SET)
        return item ? arena_printf(arena, "v:%s", json_text_sorted(arena, item)) : NULL;
    if (!json_object_is_type(item, json_type_object))
        return NULL;
    struct json_object *identity = new_node(arena);
    size_t count = typing_list_keys(at, keys);
    for (size_t i = 0; i < count; i++) {
        struct json_object *value = json_at(item, keys[i], NULL);
        if (!value)
            value = typing_key_default(at, arena, keys[i]);
        if (!value)
            return NULL;
        json_set(identity, keys[i], value);
    }
    return arena_printf(arena, "k:%s", json_text_sorted(arena, identity));
}

static const char *missing_key(struct arena *arena, struct typing at, size_t index)
{
    const char *keys[TYPING_MAX_KEYS], *names = "";
    size_t count = typing_list(at) == SCHEMA_LIST_MAP ? typing_list_keys(at, keys) : 0;
    for (size_t i = 0; i < count; i++)
        names = arena_printf(arena, "%s%s%s", names, i ? ", " : "", keys[i]);
    return arena_printf(arena, "%s[%zu]: the item must have a value for its key%s%s", at.field,
                        index, count ? ": " : "", names);
}

struct json_object *fieldset_index(struct arena *arena, struct typing at, struct json_object *list,
                                   const char **why)
{
    const char *ignored;
    why = why ? why : &ignored;
    *why = NULL;
    if (typing_list(at) == SCHEMA_LIST_ATOMIC)
        return NULL;
    struct json_object *index = new_node(arena);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_elem(list, i);
        const char *key = fieldset_item_key(arena, at, item);
        if (!key)
            *why = missing_key(arena, at, i);
        else if (child(index, key))
            *why = arena_printf(arena, "%s[%zu]: the key occurs twice: %s", at.field, i, key + 2);
        if (*why)
            return NULL;
        json_set(index, key, item);
    }
    return index;
}

/* ---- walks over objects ---- */

static struct json_object *of_list(struct arena *arena, struct typing at, struct json_object *list)
{
    struct json_object *index = fieldset_index(arena, at, list, NULL);
    if (!index || json_len(list) == 0)
        return member(arena);
    struct json_object *node = new_node(arena);
    json_object_object_foreach(index, key, item)
    {
        struct json_object *inner = NULL;
        if (key[0] == 'k')
            inner = fieldset_of(arena, typing_item(at), item);
        json_set(node, key, fieldset_join(arena, member(arena), inner));
    }
    return node;
}

struct json_object *fieldset_of(struct arena *arena, struct typing at, struct json_object *obj)
{
    if (json_object_is_type(obj, json_type_array))
        return of_list(arena, at, obj);
    if (!json_object_is_type(obj, json_type_object) || json_object_object_length(obj) == 0 ||
        typing_map_atomic(at))
        return member(arena);
    struct json_object *node = new_node(arena);
    json_object_object_foreach(obj, key, value)
    {
        json_set(node, arena_printf(arena, "f:%s", key),
                 fieldset_of(arena, typing_field(at, key), value));
    }
    return node;
}

/* Compares two objects, or two lists as indexed by their keys. prefix: "f:", or "" for lists. */
static void compare_members(struct arena *arena, struct typing at, const char *prefix,
                            struct json_object *before, struct json_object *after,
                            struct json_object **changed, struct json_object **removed)
{
    bool list = !prefix[0];
    struct json_object *new_fields = new_node(arena), *old_fields = new_node(arena);
    json_object_object_foreach(after, key, value)
    {
        struct json_object *old, *sub_changed = NULL, *sub_removed = NULL;
        const char *name = arena_printf(arena, "%s%s", prefix, key);
        struct typing here = list ? typing_item(at) : typing_field(at, key);
        bool was = json_object_object_get_ex(before, key, &old);
        if (was)
            fieldset_compare(arena, here, old, value, &sub_changed, &sub_removed);
        else
            sub_changed = fieldset_of(arena, here, value);
        if (!was && list)
            sub_changed = fieldset_join(arena, sub_changed, member(arena));
        if (sub_changed)
            json_set(new_fields, name, sub_changed);
        if (sub_removed)
            json_set(old_fields, name, sub_removed);
    }
    json_object_object_foreach(before, gone, last)
    {
        const char *name = arena_printf(arena, "%s%s", prefix, gone);
        struct typing here = list ? typing_item(at) : typing_field(at, gone);
        if (json_object_object_get_ex(after, gone, NULL))
            continue;
        struct json_object *set = fieldset_of(arena, here, last);
        json_set(old_fields, name, fieldset_join(arena, set, member(arena)));
    }
    *changed = unless_empty(new_fields);
    *removed = unless_empty(old_fields);
}

void fieldset_compare(struct arena *arena, struct typing at, struct json_object *before,
                      struct json_object *after, struct json_object **changed,
                      struct json_object **removed)
{
    struct json_object *old_index = NULL, *new_index = NULL;
    *changed = *removed = NULL;
    if (json_same(before, after))
        return;
    if (json_object_is_type(before, json_type_object) &&
        json_object_is_type(after, json_type_object) && !typing_map_atomic(at)) {
        compare_members(arena, at, "f:", before, after, changed, removed);
        return;
    }
    if (json_object_is_type(before, json_type_array) &&
        json_object_is_type(after, json_type_array)) {
        old_index = fieldset_index(arena, at, before, NULL);
        new_index = fieldset_index(arena, at, after, NULL);
    }
    if (old_index && new_index) {
        compare_members(arena, at, "", old_index, new_index, changed, removed);
        return;
    }
    *changed = fieldset_of(arena, at, after);
    *removed = fieldset_minus(arena, fieldset_of(arena, at, before), *changed);
}

/* ---- paths ---- */

/* One key of a set as it stands in a path. */
static const char *path_step(struct arena *arena, const char *key)
{
    const char *text = key + 2, *joined = "";
    struct json_object *identity = NULL;
    if (key[0] == 'f')
        return arena_printf(arena, ".%s", text);
    if (key[0] != 'k')
        return arena_printf(arena, "[=%s]", text);
    if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &identity, NULL))
        return arena_printf(arena, "[%s]", text);
    json_object_object_foreach(identity, name, value)
    {
        joined = arena_printf(arena, "%s%s%s=%s", joined, joined[0] ? "," : "", name,
                              json_text(arena, value));
    }
    return arena_printf(arena, "[%s]", joined);
}

static void each(struct arena *arena, struct json_object *set, const char *path,
                 void (*visit)(void *ctx, const char *path), void *ctx)
{
    json_object_object_foreach(set, key, value)
    {
        if (is_dot(key))
            visit(ctx, path);
        else if (key[0] && key[1] == ':')
            each(arena, value, arena_printf(arena, "%s%s", path, path_step(arena, key)), visit,
                 ctx);
    }
}

void fieldset_each(struct arena *arena, struct json_object *set,
                   void (*visit)(void *ctx, const char *path), void *ctx)
{
    if (set)
        each(arena, set, "", visit, ctx);
}
