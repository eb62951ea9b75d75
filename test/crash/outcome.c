#include "crash/outcome.h"

#include <string.h>

#include "base/buf.h"

static bool is_dropped(const char *key)
{
    static const char *const keys[] = {
        "resourceVersion",
        "uid",
        "generation",
        "creationTimestamp",
        "managedFields",
        "selfLink",
        "lastUpdateTime",
        "lastTransitionTime",
        "observedGeneration",
        "clusterIP",
        "clusterIPs",
        "deletionTimestamp",
        "url",
        "at", /* a ReleaseRequest was carried out then */
        "since",
        "resumed",
        "release", /* times, and steps that a kill repeats */
        "history",
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(keys[i], key) == 0)
            return true;
    }
    return false;
}

/* A sentence names the world's own server. */
static struct json_object *without_port(struct arena *arena, struct json_object *text)
{
    const char *says = json_object_get_string(text), *host = strstr(says, "http://127.0.0.1:");

    return host ? json_own(arena, json_object_new_string_len(says, (int)(host - says))) : text;
}

/* Without what is dropped, wherever it stands. */
static struct json_object *reduced(struct arena *arena, struct json_object *tree)
{
    if (json_object_is_type(tree, json_type_array)) {
        struct json_object *list = json_own(arena, json_object_new_array());
        for (size_t i = 0; i < json_len(tree); i++)
            json_object_array_add(list, json_object_get(reduced(arena, json_elem(tree, i))));
        return list;
    }
    if (json_object_is_type(tree, json_type_string))
        return without_port(arena, tree);
    if (!json_object_is_type(tree, json_type_object))
        return tree;
    struct json_object *out = json_own(arena, json_object_new_object());
    json_object_object_foreach(tree, key, value)
    {
        if (!is_dropped(key))
            json_set(out, key, reduced(arena, value));
    }
    return out;
}

struct walk {
    struct arena *arena;
    struct objstore *store;
    struct buf out;
};

static void add_kind(void *arg, const struct objkind *kind)
{
    struct walk *walk = arg;
    struct json_object **items;

    if (!objkind_namespaced(kind) || strcmp(kind->kind, "Event") == 0 ||
        strcmp(kind->kind, "Lease") == 0 || strcmp(kind->kind, "ServiceAccount") == 0)
        return;
    size_t count = objstore_list(walk->store, walk->arena, kind, "test", &items);
    for (size_t i = 0; i < count; i++) {
        struct json_object *object = reduced(walk->arena, items[i]);
        buf_printf(&walk->out, "%s %s %s\n", kind->kind,
                   json_str_at(items[i], "metadata", "name", NULL),
                   json_text_sorted(walk->arena, object));
    }
}

const char *outcome_text(struct arena *arena, struct objstore *store)
{
    struct walk walk = {.arena = arena, .store = store};

    buf_init(&walk.out, JSON_MAX_BYTES);
    objstore_kinds(store, add_kind, &walk);
    const char *text = arena_strdup(arena, walk.out.data);
    buf_fini(&walk.out);
    return text;
}

static bool has_line(const char *text, const char *line, size_t len)
{
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, line, len) == 0 && at[len] == '\n')
            return true;
    }
    return false;
}

static void add_lines(struct buf *out, char mark, const char *text, const char *other)
{
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        size_t len = strcspn(at, "\n");
        if (!has_line(other, at, len))
            buf_printf(out, "%c %.*s\n", mark, (int)len, at);
    }
}

const char *outcome_difference(struct arena *arena, const char *was, const char *is)
{
    struct buf out;

    buf_init(&out, JSON_MAX_BYTES);
    add_lines(&out, '-', was, is);
    add_lines(&out, '+', is, was);
    const char *text = arena_strdup(arena, out.data);
    buf_fini(&out);
    return text;
}
