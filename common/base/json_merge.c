/* RFC 7386 merge patches. JSON null is NULL in a tree, so a key's presence is asked apart from its
 * value. */
#include "base/json.h"

static bool is_object(struct json_object *obj)
{
    return json_object_is_type(obj, json_type_object);
}

/* Changes target, which the caller owns, and gives the result. Nulls inside a patch never reach the
 * result. */
static struct json_object *merge_into(struct json_object *target, struct json_object *patch)
{
    if (!is_object(patch)) {
        json_object_put(target);
        return json_dup(patch);
    }
    if (!is_object(target)) {
        json_object_put(target);
        target = json_object_new_object();
    }
    json_object_object_foreach(patch, key, value)
    {
        if (!value) {
            json_object_object_del(target, key);
            continue;
        }
        struct json_object *old = json_object_get(json_at(target, key, NULL));
        if (is_object(old) && is_object(value)) {
            merge_into(old, value);
            json_object_put(old);
            continue;
        }
        json_object_put(old);
        json_object_object_add(target, key, merge_into(NULL, value));
    }
    return target;
}

struct json_object *json_merge(struct arena *arena, struct json_object *target,
                               struct json_object *patch)
{
    return json_own(arena, merge_into(json_dup(target), patch));
}

/* A new reference, or NULL when there is nothing to change. from and to are objects. */
static struct json_object *diff(struct json_object *from, struct json_object *to)
{
    struct json_object *patch = NULL;
    json_object_object_foreach(from, gone, unused)
    {
        (void)unused;
        if (json_object_object_get_ex(to, gone, NULL))
            continue;
        if (!patch)
            patch = json_object_new_object();
        json_object_object_add(patch, gone, NULL);
    }
    json_object_object_foreach(to, key, value)
    {
        struct json_object *old = json_at(from, key, NULL);
        struct json_object *change = NULL;
        if (is_object(old) && is_object(value))
            change = diff(old, value);
        else if (!json_same(old, value))
            change = json_dup(value);
        else
            continue;
        if (!change && value && is_object(old) && is_object(value))
            continue;
        if (!patch)
            patch = json_object_new_object();
        json_object_object_add(patch, key, change);
    }
    return patch;
}

struct json_object *json_merge_diff(struct arena *arena, struct json_object *from,
                                    struct json_object *to)
{
    if (is_object(from) && is_object(to))
        return json_own(arena, diff(from, to));
    return json_same(from, to) ? NULL : json_copy(arena, to);
}
