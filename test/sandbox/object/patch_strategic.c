/*
 * Strategic merge patch: as a merge patch, but lists that have a merge key are merged item by item,
 * and directives ($patch, $retainKeys, $deleteFromPrimitiveList/LIST) say what merging cannot.
 * $setElementOrder/LIST is taken and not followed: new items stand last, and nobody here goes by
 * their order.
 *
 * Both trees come from json_parse() and the result is never deeper than the deeper of them, so
 * recursion is bounded.
 */
#include <string.h>

#include "base/json.h"
#include "object/patch.h"

/* Merging lists is quadratic. */
enum { MAX_ITEMS = 10000 };

/* How the lists of the built-in kinds merge; the first row that fits. What has no row is replaced
 * as a whole. */
static const struct rule {
    const char *kind, *parent; /* NULL for any */
    const char *field;
    const char *key; /* what tells items apart; NULL: plain values, which are joined */
} rules[] = {
    {.parent = "metadata", .field = "ownerReferences", .key = "uid"},
    {.parent = "metadata", .field = "finalizers"},
    {.field = "containers", .key = "name"},
    {.field = "initContainers", .key = "name"},
    {.parent = "containers", .field = "ports", .key = "containerPort"},
    {.parent = "initContainers", .field = "ports", .key = "containerPort"},
    {.kind = "Service", .parent = "spec", .field = "ports", .key = "port"},
    {.field = "env", .key = "name"},
    {.field = "volumeMounts", .key = "mountPath"},
    {.parent = "spec", .field = "volumes", .key = "name"},
    {.field = "imagePullSecrets", .key = "name"},
    {.kind = "ServiceAccount", .field = "secrets", .key = "name"},
    {.field = "hostAliases", .key = "ip"},
    {.field = "topologySpreadConstraints", .key = "topologyKey"},
    {.parent = "status", .field = "conditions", .key = "type"},
};

/* A place in an object: the field that stands there (NULL: the root) and the one around it. An item
 * of a list stands where the list does. */
struct place {
    const char *kind, *parent, *field;
};

static bool is_named(const char *wanted, const char *found)
{
    return !wanted || (found && strcmp(wanted, found) == 0);
}

static const struct rule *rule_of(struct place at)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (is_named(rules[i].field, at.field) && is_named(rules[i].kind, at.kind) &&
            is_named(rules[i].parent, at.parent))
            return &rules[i];
    return NULL;
}

#define ORDER  "$setElementOrder/"
#define DELETE "$deleteFromPrimitiveList/"

struct merger {
    struct arena *arena;
    struct errinfo *ei;
};

static enum err merge_object(struct merger *m, struct place at, struct json_object *target,
                             struct json_object *patch);

static enum err fail(struct merger *m, int status, const char *why, const char *what)
{
    err_set(m->ei, ERR_INVALID, "%s: %s", what, why);
    if (m->ei)
        m->ei->status = status;
    return ERR_INVALID;
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_directive(const char *key)
{
    return strcmp(key, "$patch") == 0 || strcmp(key, "$retainKeys") == 0 ||
           starts_with(key, ORDER) || starts_with(key, DELETE);
}

static bool is_patch(struct json_object *obj, const char *directive)
{
    const char *found = json_str_at(obj, "$patch", NULL);
    return found && strcmp(found, directive) == 0;
}

/* A copy of what a patch adds: without directives, nulls in objects and items marked for deletion.
 */
static struct json_object *plain(struct json_object *value)
{
    if (json_object_is_type(value, json_type_object)) {
        struct json_object *copy = json_object_new_object();
        json_object_object_foreach(value, key, child)
        {
            if (child && !is_directive(key))
                json_object_object_add(copy, key, plain(child));
        }
        return copy;
    }
    if (json_object_is_type(value, json_type_array)) {
        struct json_object *copy = json_object_new_array();
        for (size_t i = 0; i < json_len(value); i++) {
            struct json_object *item = json_elem(value, i);
            if (!is_patch(item, "delete") && !is_patch(item, "replace"))
                json_object_array_add(copy, plain(item));
        }
        return copy;
    }
    struct json_object *copy = NULL;
    if (value)
        json_object_deep_copy(value, &copy, NULL);
    return copy;
}

/* --- lists */

/* Where the item is that has this value of its key, or that is this plain value; behind the last if
 * none is. */
static size_t find_item(struct json_object *list, const char *key, struct json_object *wanted)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_elem(list, i),
                           *found = key ? json_at(item, key, NULL) : item;
        if (found && json_same(found, wanted))
            return i;
    }
    return json_len(list);
}

static void drop_items(struct json_object *list, const char *key, struct json_object *wanted)
{
    size_t index;
    while ((index = find_item(list, key, wanted)) < json_len(list))
        json_object_array_del_idx(list, index, 1);
}

static enum err merge_item(struct merger *m, struct place at, struct json_object *list,
                           const char *key, struct json_object *item)
{
    struct json_object *id = key ? json_at(item, key, NULL) : item;
    if (key && !json_object_is_type(item, json_type_object))
        return fail(m, 400, "expected only objects in a list that merges by key", at.field);
    if (is_patch(item, "replace"))
        return ERR_OK;
    if (!id)
        return fail(m, 400,
                    arena_printf(m->arena, "an item has no value for its merge key %s", key),
                    at.field);
    size_t index = find_item(list, key, id);
    if (is_patch(item, "delete"))
        drop_items(list, key, id);
    else if (index == json_len(list))
        json_object_array_add(list, plain(item));
    else if (key)
        return merge_object(m, at, json_elem(list, index), item);
    return ERR_OK;
}

static bool has_replace(struct json_object *patch)
{
    for (size_t i = 0; i < json_len(patch); i++)
        if (is_patch(json_elem(patch, i), "replace"))
            return true;
    return false;
}

static enum err merge_list(struct merger *m, struct place at, struct json_object *target,
                           struct json_object *patch)
{
    struct json_object *list = json_at(target, at.field, NULL);
    const struct rule *rule = rule_of(at);
    enum err err = ERR_OK;
    if (json_len(patch) > MAX_ITEMS || json_len(list) > MAX_ITEMS)
        return fail(m, 422, "the list is too long to merge", at.field);
    if (!json_object_is_type(list, json_type_array) || has_replace(patch) || !rule)
        json_object_object_add(target, at.field, plain(patch));
    else
        for (size_t i = 0; i < json_len(patch) && err == ERR_OK; i++)
            err = merge_item(m, at, list, rule->key, json_elem(patch, i));
    return err;
}

/* --- objects */

static enum err retain_keys(struct merger *m, struct json_object *target, struct json_object *patch)
{
    struct json_object *keys = json_at(patch, "$retainKeys", NULL);
    if (!keys)
        return ERR_OK;
    if (!json_object_is_type(keys, json_type_array))
        return fail(m, 400, "expected an array", "$retainKeys");
    json_object_object_foreach(target, old, ignored)
    {
        struct json_object *name = json_own(m->arena, json_object_new_string(old));
        (void)ignored;
        if (find_item(keys, NULL, name) == json_len(keys))
            json_object_object_del(target, old);
    }
    json_object_object_foreach(patch, key, value)
    {
        struct json_object *name = json_own(m->arena, json_object_new_string(key));
        if (value && !is_directive(key) && find_item(keys, NULL, name) == json_len(keys))
            return fail(m, 400,
                        arena_printf(m->arena, "the patch sets %s, which is not listed", key),
                        "$retainKeys");
    }
    return ERR_OK;
}

static enum err delete_values(struct merger *m, struct json_object *target, const char *directive,
                              struct json_object *values)
{
    struct json_object *list = json_at(target, directive + strlen(DELETE), NULL);
    if (!json_object_is_type(values, json_type_array))
        return fail(m, 400, "expected an array", directive);
    if (json_len(values) > MAX_ITEMS || json_len(list) > MAX_ITEMS)
        return fail(m, 422, "the list is too long to merge", directive);
    for (size_t i = 0; i < json_len(values); i++)
        drop_items(list, NULL, json_elem(values, i));
    return ERR_OK;
}

static enum err merge_field(struct merger *m, struct place at, struct json_object *target,
                            struct json_object *value)
{
    struct json_object *old = json_at(target, at.field, NULL);
    bool both =
        json_object_is_type(value, json_type_object) && json_object_is_type(old, json_type_object);
    if (json_object_is_type(value, json_type_array))
        return merge_list(m, at, target, value);
    if (!value || is_patch(value, "delete"))
        json_object_object_del(target, at.field);
    else if (!both)
        json_object_object_add(target, at.field, plain(value));
    enum err err = both && !is_patch(value, "delete") ? merge_object(m, at, old, value) : ERR_OK;
    return err ? err_wrap(m->ei, err, "%s", at.field) : ERR_OK;
}

static enum err merge_object(struct merger *m, struct place at, struct json_object *target,
                             struct json_object *patch)
{
    bool replaces = is_patch(patch, "replace"), deletes = is_patch(patch, "delete");
    if (json_at(patch, "$patch", NULL) && !replaces && !deletes && !is_patch(patch, "merge"))
        return fail(m, 400, "must be one of merge, replace, delete", "$patch");
    if (replaces || deletes) {
        json_object_object_foreach(target, old, ignored)
        {
            (void)ignored;
            json_object_object_del(target, old);
        }
    }
    enum err err = deletes ? ERR_OK : retain_keys(m, target, patch);
    if (err || deletes)
        return err;
    json_object_object_foreach(patch, key, value)
    {
        struct place here = {.kind = at.kind, .parent = at.field, .field = key};
        if (starts_with(key, DELETE))
            err = delete_values(m, target, key, value);
        else if (key[0] == '$' && !is_directive(key))
            err = fail(m, 400, "unknown directive", key);
        else if (!is_directive(key))
            err = merge_field(m, here, target, value);
        if (err)
            return err;
    }
    return ERR_OK;
}

enum err patch_strategic(struct arena *arena, const char *kind, struct json_object *target,
                         struct json_object *patch, struct json_object **out, struct errinfo *ei)
{
    struct merger m = {.arena = arena, .ei = ei};
    struct json_object *result =
        target ? json_copy(arena, target) : json_own(arena, json_object_new_object());
    if (!json_object_is_type(patch, json_type_object))
        return fail(&m, 400, "expected an object", "the patch");
    if (!json_object_is_type(result, json_type_object))
        return fail(&m, 422, "expected an object", "the target");
    enum err err = merge_object(&m, (struct place){.kind = kind}, result, patch);
    if (!err)
        *out = result;
    return err;
}
