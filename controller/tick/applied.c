#include "tick/applied.h"

#include <string.h>

#include "tick/edit.h"

static bool is_object(struct json_object *value)
{
    return json_object_is_type(value, json_type_object);
}

static bool is_empty(struct json_object *value)
{
    return is_object(value) && json_object_object_length(value) == 0;
}

static struct json_object *shape_of(struct arena *arena, struct json_object *wanted);

/* --- the shape of what is wanted */

/* As one shape if all elements have the same. */
static struct json_object *list_shape(struct arena *arena, struct json_object *wanted)
{
    struct json_object *list = edit_array(arena);
    bool same = true;

    for (size_t i = 0; i < json_len(wanted); i++) {
        edit_add(list, shape_of(arena, json_elem(wanted, i)));
        same = same && json_same(json_elem(list, i), json_elem(list, 0));
    }
    if (same)
        json_object_array_del_idx(list, 1, json_len(list) - 1);
    return list;
}

static struct json_object *shape_of(struct arena *arena, struct json_object *wanted)
{
    if (json_object_is_type(wanted, json_type_array) && is_object(json_elem(wanted, 0)))
        return list_shape(arena, wanted);
    if (!is_object(wanted) || is_empty(wanted))
        return json_own(arena, json_object_new_int(0));
    struct json_object *shape = edit_object(arena);
    json_object_object_foreach(wanted, key, value)
    {
        if (value && strcmp(key, EDIT_PAIR) != 0)
            json_set(shape, key, shape_of(arena, value));
    }
    return shape;
}

/* --- the annotation */

static void drop_when_empty(struct json_object *object, const char *key)
{
    if (is_empty(json_at(object, key, NULL)))
        json_object_object_del(object, key); /* which is an object then */
}

/* A bare name is no shape. */
static void note(struct arena *arena, struct json_object *object, struct json_object *shape)
{
    struct json_object *metadata = json_sub(object, "metadata");
    struct json_object *annotations = json_at(metadata, "annotations", NULL);

    if (is_object(shape) && !is_empty(shape)) {
        json_set_str(json_sub(metadata, "annotations"), APPLIED, json_text_sorted(arena, shape));
    } else if (json_at(annotations, APPLIED, NULL)) {
        json_object_object_del(annotations, APPLIED);
        drop_when_empty(metadata, "annotations");
    }
}

/*
 * Keeps of an object its members that are objects, except for these keys; what others wrote into
 * the annotation must not cause more harm than a missing field.
 */
static void keep_objects(struct json_object *from, struct json_object *to,
                         const char *const except[], size_t count)
{
    json_object_object_foreach(from, key, value)
    {
        bool is_kept = is_object(value);
        for (size_t i = 0; i < count; i++)
            is_kept = is_kept && strcmp(key, except[i]) != 0;
        if (is_kept)
            json_set(to, key, value);
    }
}

struct json_object *applied_of(struct arena *arena, struct json_object *live)
{
    static const char *const apart[] = {"metadata", "status"};
    static const char *const maps[] = {"labels", "annotations"};
    const char *text = json_str_at(live, "metadata", "annotations", APPLIED, NULL);
    struct json_object *noted, *applied = edit_object(arena);
    struct errinfo ei;

    enum { ANNOTATION_MAX = 256 * 1024 }; /* limit of Kubernetes for all annotations of an object */
    if (!text || json_parse(arena, text, strlen(text), ANNOTATION_MAX, &noted, &ei) != ERR_OK ||
        !is_object(noted))
        return NULL;
    keep_objects(noted, applied, apart, sizeof(apart) / sizeof(apart[0]));
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        struct json_object *keys = json_at(noted, "metadata", maps[i], NULL);
        if (!is_object(keys))
            continue;
        json_object_object_del(keys, APPLIED);
        json_set(json_sub(applied, "metadata"), maps[i], keys);
    }
    return applied;
}

void applied_disclaim(struct arena *arena, struct json_object *object, const char *map,
                      const char *key)
{
    struct json_object *applied = applied_of(arena, object);
    struct json_object *keys = json_at(applied, "metadata", map, NULL);

    if (!json_at(keys, key, NULL))
        return;
    json_object_object_del(keys, key);
    note(arena, object, applied);
}

/* --- applying */

/* True if every key of one shape is in the other. */
static bool is_part(struct json_object *shape, struct json_object *of)
{
    if (!of || json_object_get_type(shape) != json_object_get_type(of))
        return false;
    for (size_t i = 0; i < json_len(shape); i++) {
        if (!is_part(json_elem(shape, i), json_elem(of, i)))
            return false;
    }
    if (!is_object(shape))
        return true;
    json_object_object_foreach(shape, key, inner)
    {
        if (!is_part(inner, json_at(of, key, NULL)))
            return false;
    }
    return true;
}

/*
 * An object that is up to date is written only if the annotation must change for it. Surplus keys
 * in the annotation are removed with the next write.
 */
static bool is_worth_a_write(struct json_object *shape, struct json_object *applied)
{
    return applied ? !is_part(shape, applied) : json_at(shape, "metadata", NULL) != NULL;
}

struct json_object *applied_lay(struct arena *arena, struct json_object *live,
                                struct json_object *base, struct json_object *wanted)
{
    struct json_object *asked = json_copy(arena, wanted);
    struct json_object *metadata = json_at(asked, "metadata", NULL);
    struct json_object *applied = applied_of(arena, base);

    /* a map without keys wants nothing, and a server would drop it */
    drop_when_empty(metadata, "labels");
    drop_when_empty(metadata, "annotations");
    drop_when_empty(asked, "metadata");
    struct json_object *out = edit_merge(arena, base, asked, applied);
    struct json_object *shape = shape_of(arena, asked);
    if (!live || !json_same(out, live) || is_worth_a_write(shape, applied))
        note(arena, out, shape);
    return out;
}

struct json_object *applied_follow(struct arena *arena, struct json_object *live, const char *map,
                                   struct json_object *all, struct json_object *followed)
{
    struct json_object *got = json_at(applied_of(arena, live), "metadata", map, NULL);
    struct json_object *out = json_copy(arena, live ? followed : all);

    if (!live || !all || !got)
        return out;
    json_object_object_foreach(all, key, ignored)
    {
        struct json_object *value = json_at(live, "metadata", map, key, NULL);
        (void)ignored;
        if (value && json_at(got, key, NULL) && !json_at(out, key, NULL))
            json_set(out, key, value);
    }
    return out;
}
