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
    const char *kind, *parent; /* NULL: any */
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

static struct place inside(struct place at, const char *field)
{
    return (struct place){.kind = at.kind, .parent = at.field, .field = field};
}

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

/* ---- lists ---- */

/* What an item is found by: the value of its key, or, in a list of plain values, itself. */
static struct json_object *identity(struct json_object *item, const char *key)
{
    return key ? json_at(item, key, NULL) : item;
}

static size_t find_item(struct json_object *list, const char *key, struct json_object *wanted)
{
    size_t i = 0;
    while (i < json_len(list)) {
        struct json_object *found = identity(json_elem(list, i), key);
        if (found && json_same(found, wanted))
            break;
        i++;
    }
    return i;
}

static bool holds(struct json_object *list, const char *key, struct json_object *wanted)
{
    return find_item(list, key, wanted) < json_len(list);
}

static enum err merge_item(struct merger *m, struct place at, struct json_object *list,
                           const char *key, struct json_object *item)
{
    struct json_object *id = identity(item, key);
    if (!id)
        return fail(m, 400,
                    arena_printf(m->arena, "an item has no value for its merge key %s", key),
                    at.field);
    size_t index = find_item(list, key, id);
    bool found = index < json_len(list);
    if (is_patch(item, "delete")) {
        for (; index < json_len(list); index = find_item(list, key, id))
            json_object_array_del_idx(list, index, 1);
        return ERR_OK;
    }
    if (found)
        return merge_object(m, at, json_elem(list, index), item);
    json_object_array_add(list, plain(item));
    return ERR_OK;
}

static enum err merge_list(struct merger *m, struct place at, struct json_object *list,
                           struct json_object *patch)
{
    const char *key = rule_of(at)->key;
    for (size_t i = 0; i < json_len(patch); i++) {
        struct json_object *item = json_elem(patch, i);
        if (!json_object_is_type(item, json_type_object))
            return fail(m, 400, "expected only objects in a list that merges by key", at.field);
        if (is_patch(item, "replace"))
            continue;
        enum err err = merge_item(m, at, list, key, item);
        if (err)
            return err;
    }
    return ERR_OK;
}

static bool has_replace(struct json_object *patch)
{
    for (size_t i = 0; i < json_len(patch); i++)
        if (is_patch(json_elem(patch, i), "replace"))
            return true;
    return false;
}

static void join_values(struct json_object *list, struct json_object *patch)
{
    for (size_t i = 0; i < json_len(patch); i++)
        if (!holds(list, NULL, json_elem(patch, i)))
            json_object_array_add(list, plain(json_elem(patch, i)));
}

static enum err patch_list(struct merger *m, struct place at, struct json_object *target,
                           const char *field, struct json_object *patch)
{
    struct json_object *list = json_at(target, field, NULL);
    const struct rule *rule = rule_of(at);
    if (json_len(patch) > MAX_ITEMS || json_len(list) > MAX_ITEMS)
        return fail(m, 422, "the list is too long to merge", field);
    if (!json_object_is_type(list, json_type_array) || has_replace(patch) || !rule) {
        json_object_object_add(target, field, plain(patch));
        return ERR_OK;
    }
    if (rule->key)
        return merge_list(m, at, list, patch);
    join_values(list, patch);
    return ERR_OK;
}

/* ---- objects ---- */

static enum err retain_keys(struct merger *m, struct json_object *target, struct json_object *patch)
{
    struct json_object *keys;
    if (!json_object_object_get_ex(patch, "$retainKeys", &keys))
        return ERR_OK;
    if (!json_object_is_type(keys, json_type_array))
        return fail(m, 400, "expected an array", "$retainKeys");
    json_object_object_foreach(patch, key, value)
    {
        struct json_object *name = json_own(m->arena, json_object_new_string(key));
        if (value && !is_directive(key) && !holds(keys, NULL, name))
            return fail(m, 400,
                        arena_printf(m->arena, "the patch sets %s, which is not listed", key),
                        "$retainKeys");
    }
    json_object_object_foreach(target, old, ignored)
    {
        struct json_object *name = json_own(m->arena, json_object_new_string(old));
        (void)ignored;
        if (!holds(keys, NULL, name))
            json_object_object_del(target, old);
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
    for (size_t i = 0; i < json_len(values); i++) {
        size_t index;
        while ((index = find_item(list, NULL, json_elem(values, i))) < json_len(list))
            json_object_array_del_idx(list, index, 1);
    }
    return ERR_OK;
}

static enum err merge_field(struct merger *m, struct place at, struct json_object *target,
                            const char *key, struct json_object *value)
{
    struct json_object *old = json_at(target, key, NULL);
    struct place here = inside(at, key);
    if (!value) {
        json_object_object_del(target, key);
        return ERR_OK;
    }
    if (json_object_is_type(value, json_type_array))
        return patch_list(m, here, target, key, value);
    if (!json_object_is_type(value, json_type_object)) {
        json_object_object_add(target, key, plain(value));
        return ERR_OK;
    }
    if (is_patch(value, "delete")) {
        json_object_object_del(target, key);
        return ERR_OK;
    }
    if (!json_object_is_type(old, json_type_object)) {
        json_object_object_add(target, key, plain(value));
        return ERR_OK;
    }
    enum err err = merge_object(m, here, old, value);
    return err ? err_wrap(m->ei, err, "%s", key) : ERR_OK;
}

static void clear(struct json_object *obj)
{
    json_object_object_foreach(obj, key, value)
    {
        (void)value;
        json_object_object_del(obj, key);
    }
}

static enum err check_directive(struct merger *m, struct json_object *patch)
{
    struct json_object *value;
    if (!json_object_object_get_ex(patch, "$patch", &value) || is_patch(patch, "merge") ||
        is_patch(patch, "replace") || is_patch(patch, "delete"))
        return ERR_OK;
    return fail(m, 400, "must be one of merge, replace, delete", "$patch");
}

static enum err merge_object(struct merger *m, struct place at, struct json_object *target,
                             struct json_object *patch)
{
    enum err err = check_directive(m, patch);
    if (err)
        return err;
    if (is_patch(patch, "replace") || is_patch(patch, "delete"))
        clear(target);
    if (is_patch(patch, "delete"))
        return ERR_OK;
    err = retain_keys(m, target, patch);
    if (err)
        return err;
    json_object_object_foreach(patch, key, value)
    {
        if (starts_with(key, DELETE))
            err = delete_values(m, target, key, value);
        else if (key[0] == '$' && !is_directive(key))
            err = fail(m, 400, "unknown directive", key);
        else if (!is_directive(key))
            err = merge_field(m, at, target, key, value);
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
