#include "tick/edit.h"

#include <stdlib.h>
#include <string.h>

/* Annotations that make GitOps tools ignore an object when "disabled". */
static const char *const disowned[] = {"kustomize.toolkit.fluxcd.io/reconcile",
                                       "helm.toolkit.fluxcd.io/driftDetection"};
enum { DISOWNED = sizeof(disowned) / sizeof(disowned[0]) };

struct json_object *edit_object(struct arena *arena)
{
    return json_own(arena, json_object_new_object());
}

struct json_object *edit_array(struct arena *arena)
{
    return json_own(arena, json_object_new_array());
}

void edit_add(struct json_object *array, struct json_object *value)
{
    json_object_array_add(array, json_object_get(value));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **edit_keys(struct arena *arena, struct json_object *map, size_t *count)
{
    bool is_map = json_object_is_type(map, json_type_object);
    *count = is_map ? json_count(map) : 0;
    const char **keys = arena_array(arena, *count + 1, sizeof *keys);
    size_t n = 0;

    if (!is_map)
        return keys;
    json_object_object_foreach(map, key, value)
    {
        (void)value;
        keys[n++] = key;
    }
    qsort(keys, n, sizeof *keys, by_text);
    return keys;
}

void edit_put(struct arena *arena, struct json_object *object, const char *key,
              struct json_object *value)
{
    if (value)
        json_set(object, key, json_copy(arena, value));
    else
        json_del(object, key);
}

static bool all_objects(struct json_object *array)
{
    for (size_t i = 0; i < json_len(array); i++) {
        if (!json_object_is_type(json_elem(array, i), json_type_object))
            return false;
    }
    return json_len(array) > 0;
}

/* Elements of different types have only their position in common. */
static bool same_type(struct json_object *a, struct json_object *b)
{
    return json_same(json_at(a, "type", NULL), json_at(b, "type", NULL));
}

/* The first element at or after `from` that has all wanted values already; the length if none. */
static size_t find_same(struct arena *arena, struct json_object *live, struct json_object *wanted,
                        size_t from)
{
    for (size_t i = from; i < json_len(live); i++) {
        if (json_same(edit_merge(arena, json_elem(live, i), wanted, NULL), json_elem(live, i)))
            return i;
    }
    return json_len(live);
}

/* The shape of an element: one shape stands for a list of equal shapes. */
static struct json_object *shape_at(struct json_object *applied, size_t index)
{
    return json_elem(applied, json_len(applied) == 1 ? 0 : index);
}

static size_t find_equal(struct json_object *list, struct json_object *element)
{
    size_t i = 0;

    while (i < json_len(list) && !json_same(json_elem(list, i), element))
        i++;
    return i;
}

static struct json_object *merge_array(struct arena *arena, struct json_object *live,
                                       struct json_object *wanted, struct json_object *applied)
{
    struct json_object *out = edit_array(arena);
    bool objects = all_objects(live) && all_objects(wanted);
    bool pairwise = json_len(live) == json_len(wanted);
    size_t none = json_len(live), from = 0;

    for (size_t i = 0; i < json_len(wanted); i++) {
        struct json_object *one = json_elem(wanted, i), *given;
        size_t at = none;
        if (json_object_object_get_ex(one, EDIT_PAIR, &given)) {
            at = find_equal(live, given);
        } else if (objects && pairwise) {
            at = same_type(json_elem(live, i), one) ? i : none;
        } else if (objects) {
            at = find_same(arena, live, one, from);
            from = at < none ? at + 1 : from;
        }
        edit_add(out, edit_merge(arena, at < none ? json_elem(live, at) : NULL, one,
                                 at < none ? shape_at(applied, at) : NULL));
    }
    return out;
}

void edit_pair(struct json_object *element, struct json_object *live)
{
    json_set(element, EDIT_PAIR, live);
}

/* Removes the applied fields from object[key]; additions by others stay. */
static void take_away(struct json_object *object, const char *key, struct json_object *applied)
{
    struct json_object *value = json_at(object, key, NULL);

    if (json_object_is_type(value, json_type_object) &&
        json_object_is_type(applied, json_type_object)) {
        json_object_object_foreach(applied, inner, rest)
        {
            take_away(value, inner, rest);
        }
        if (json_count(value) > 0)
            return;
    }
    json_del(object, key);
}

/*
 * Like edit_merge(), on an object that is our own copy: copying at each level would copy deep
 * values many times.
 */
static void lay_over(struct arena *arena, struct json_object *out, struct json_object *wanted,
                     struct json_object *applied)
{
    json_object_object_foreach(wanted, key, value)
    {
        struct json_object *old = json_at(out, key, NULL);
        struct json_object *shape = json_at(applied, key, NULL);
        if (!value)
            json_del(out, key);
        else if (json_object_is_type(value, json_type_object) &&
                 json_object_is_type(old, json_type_object))
            lay_over(arena, old, value, shape);
        else
            json_set(out, key, edit_merge(arena, old, value, shape));
    }
    json_del(out, EDIT_PAIR);
    if (!json_object_is_type(applied, json_type_object))
        return;
    json_object_object_foreach(applied, gone, inner)
    {
        if (!json_object_object_get_ex(wanted, gone, NULL))
            take_away(out, gone, inner);
    }
}

struct json_object *edit_merge(struct arena *arena, struct json_object *live,
                               struct json_object *wanted, struct json_object *applied)
{
    if (json_object_is_type(wanted, json_type_array))
        return merge_array(arena, live, wanted, applied);
    if (!json_object_is_type(wanted, json_type_object))
        return json_copy(arena, wanted);

    struct json_object *out =
        json_object_is_type(live, json_type_object) ? json_copy(arena, live) : edit_object(arena);
    lay_over(arena, out, wanted, applied);
    return out;
}

struct json_object *edit_overlay(struct arena *arena, struct json_object *live,
                                 struct json_object *wanted)
{
    return edit_merge(arena, live, wanted, NULL);
}

struct json_object *edit_owner_reference(struct tick *tick)
{
    struct json_object *owner = edit_object(tick->arena);

    json_set_str(owner, "apiVersion", "flagger.app/v1beta1");
    json_set_str(owner, "kind", "Canary");
    json_set_str(owner, "name", tick->canary->name);
    json_set_str(owner, "uid", tick->canary->uid);
    json_set_bool(owner, "controller", true);
    json_set_bool(owner, "blockOwnerDeletion", true);
    return owner;
}

static const char *owner_name(struct tick *tick)
{
    return arena_printf(tick->arena, "%s.%s", tick->canary->name, tick->canary->namespace_);
}

bool edit_can_own(const struct tick *tick, const struct kube_resource *resource)
{
    return !resource->cluster_scoped && !(resource->meshed && tick->settings->mesh_apart);
}

void edit_own(struct tick *tick, const struct kube_resource *resource, struct json_object *object,
              struct json_object *others)
{
    struct json_object *metadata = json_sub(object, "metadata");
    struct json_object *owners = edit_array(tick->arena);

    if (!edit_can_own(tick, resource)) {
        json_set_str(json_sub(metadata, "annotations"), OWNER, owner_name(tick));
        return;
    }
    for (size_t i = 0; i < json_len(others); i++)
        edit_add(owners, json_elem(others, i));
    edit_add(owners, edit_owner_reference(tick));
    json_set(metadata, "ownerReferences", owners);
}

struct json_object *edit_new(struct tick *tick, const struct kube_resource *resource,
                             const char *name)
{
    struct json_object *object = edit_object(tick->arena);

    json_set_str(object, "apiVersion", kube_api_version(tick->arena, resource));
    json_set_str(object, "kind", resource->kind);
    struct json_object *metadata = json_sub(object, "metadata");
    json_set_str(metadata, "name", name);
    if (!resource->cluster_scoped)
        json_set_str(metadata, "namespace", tick->canary->namespace_);
    edit_own(tick, resource, object, NULL);
    return object;
}

bool edit_refers(struct tick *tick, struct json_object *owner)
{
    const char *kind = json_str_at(owner, "kind", NULL);
    const char *name = json_str_at(owner, "name", NULL);
    const char *version = json_str_at(owner, "apiVersion", NULL);

    return kind && name && version && strcmp(kind, "Canary") == 0 &&
           strcmp(name, tick->canary->name) == 0 && strncmp(version, "flagger.app/", 12) == 0;
}

bool edit_is_owned(struct tick *tick, struct json_object *object)
{
    struct json_object *owners = json_at(object, "metadata", "ownerReferences", NULL);
    const char *noted = json_str_at(object, "metadata", "annotations", OWNER, NULL);

    if (noted && strcmp(noted, owner_name(tick)) == 0)
        return true;
    for (size_t i = 0; i < json_len(owners); i++) {
        struct json_object *owner = json_elem(owners, i);
        const char *kind = json_str_at(owner, "kind", NULL);
        const char *name = json_str_at(owner, "name", NULL);
        if (json_bool_at(owner, false, "controller", NULL) && kind && name &&
            strcmp(kind, "Canary") == 0 && strcmp(name, tick->canary->name) == 0)
            return true;
    }
    return false;
}

static void drop_empty(struct json_object *metadata, const char *key)
{
    struct json_object *value = json_at(metadata, key, NULL);

    if ((json_object_is_type(value, json_type_array) && json_len(value) == 0) ||
        (json_object_is_type(value, json_type_object) && json_count(value) == 0))
        json_del(metadata, key);
}

struct json_object *edit_released(struct tick *tick, struct json_object *live, bool managed)
{
    struct json_object *copy = json_copy(tick->arena, live);
    struct json_object *metadata = json_sub(copy, "metadata");
    struct json_object *owners = json_at(metadata, "ownerReferences", NULL);
    struct json_object *annotations = json_at(metadata, "annotations", NULL);

    for (size_t i = json_len(owners); i > 0; i--) {
        if (edit_refers(tick, json_elem(owners, i - 1)))
            json_object_array_del_idx(owners, i - 1, 1);
    }
    drop_empty(metadata, "ownerReferences");
    if (annotations)
        json_del(annotations, APPLIED);
    if (annotations && edit_is_owned(tick, copy))
        json_del(annotations, OWNER);
    for (int i = 0; managed && annotations && i < DISOWNED; i++) {
        const char *value = json_str_at(annotations, disowned[i], NULL);
        if (value && strcmp(value, "disabled") == 0)
            json_del(annotations, disowned[i]);
    }
    drop_empty(metadata, "annotations");
    return copy;
}

/* Parts of the keys by which Flux, Argo CD and Helm mark an object as theirs and record how to
 * treat it. */
static const char *const gitops_keys[] = {"toolkit.fluxcd.io", "argocd.argoproj.io/",
                                          "meta.helm.sh/"};

/* True for keys by which a tool describes the object that carries them. */
static bool is_tool_key(const char *key)
{
    for (size_t i = 0; i < sizeof(gitops_keys) / sizeof(*gitops_keys); i++) {
        if (strstr(key, gitops_keys[i]))
            return true;
    }
    return strcmp(key, APPLIED) == 0 || strcmp(key, OWNER) == 0;
}

struct json_object *edit_without_gitops(struct arena *arena, struct json_object *map)
{
    struct json_object *out = edit_object(arena);

    if (!json_object_is_type(map, json_type_object))
        return out;
    json_object_object_foreach(map, key, value)
    {
        if (!is_tool_key(key))
            json_set(out, key, value);
    }
    return out;
}

struct json_object *edit_of_source(struct arena *arena, struct json_object *map)
{
    struct json_object *out = edit_without_gitops(arena, map);

    json_del(out, "app.kubernetes.io/instance");
    return out;
}

static bool is_included(const struct settings *settings, const char *key)
{
    const char *const *prefix = settings->include_label_prefixes;

    for (; prefix && *prefix; prefix++) {
        if (strcmp(*prefix, "*") == 0 || (**prefix && strncmp(key, *prefix, strlen(*prefix)) == 0))
            return true;
    }
    return false;
}

struct json_object *edit_included(struct tick *tick, struct json_object *map)
{
    struct json_object *all = edit_of_source(tick->arena, map);
    struct json_object *out = edit_object(tick->arena);

    json_object_object_foreach(all, key, value)
    {
        if (is_included(tick->settings, key))
            json_set(out, key, value);
    }
    return out;
}

void edit_disown_gitops(struct json_object *annotations)
{
    for (int i = 0; i < DISOWNED; i++)
        json_set_str(annotations, disowned[i], "disabled");
}

bool edit_has_finalizer(struct json_object *object, const char *name)
{
    struct json_object *list = json_at(object, "metadata", "finalizers", NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        const char *one = json_object_get_string(json_elem(list, i));
        if (one && strcmp(one, name) == 0)
            return true;
    }
    return false;
}

struct json_object *edit_finalizers(struct arena *arena, struct json_object *object,
                                    const char *name, bool wanted)
{
    struct json_object *list = json_at(object, "metadata", "finalizers", NULL);
    struct json_object *out = edit_array(arena);

    for (size_t i = 0; i < json_len(list); i++) {
        const char *one = json_object_get_string(json_elem(list, i));
        if (!one || strcmp(one, name) != 0)
            json_object_array_add(out, json_object_get(json_elem(list, i)));
    }
    if (wanted)
        json_object_array_add(out, json_object_new_string(name));
    return out;
}

static bool is_object(struct json_object *value)
{
    return json_object_is_type(value, json_type_object);
}

static bool is_empty(struct json_object *value)
{
    return is_object(value) && json_object_object_length(value) == 0;
}

static struct json_object *shape_of(struct arena *arena, struct json_object *wanted);

/* --- ownership of fields: the shape of the wanted fields */

/* A single shape if all elements have the same one. */
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

/* --- ownership of fields: the annotation */

static void drop_when_empty(struct json_object *object, const char *key)
{
    if (is_empty(json_at(object, key, NULL)))
        json_object_object_del(object, key); /* an object, since it has the key */
}

/* A bare name is not a shape. */
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
 * Keeps only the members of an object that are objects themselves, without these keys. Foreign text
 * in the annotation must do no more harm than remove a field.
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

/* --- ownership of fields: applying */

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
