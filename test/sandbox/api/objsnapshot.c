/* The whole store as one JSON file: {"resourceVersion": N, "objects": [...]}, CRDs first. */
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"
#include "base/file.h"

static void add_set(struct json_object *list, struct objset *set)
{
    for (size_t i = 0; i < set->count; i++)
        json_object_array_add(list, json_object_get(set->records[i]->obj));
}

static bool is_crds(const struct objset *set)
{
    return strcmp(set->plural, "customresourcedefinitions") == 0;
}

enum err objstore_save(struct objstore *store, const char *path, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct json_object *file = json_own(arena, json_object_new_object());
    struct json_object *list = json_own(arena, json_object_new_array());
    json_set_int(file, "resourceVersion", (int64_t)store->version);
    json_set(file, "objects", list);
    for (int crds = 1; crds >= 0; crds--) {
        for (struct objset *set = store->sets; set; set = set->next)
            if (is_crds(set) == (crds == 1))
                add_set(list, set);
    }
    const char *text = json_text(arena, file);
    enum err err = file_write(path, text, strlen(text), 0600, ei);
    arena_free(arena);
    return err;
}

static enum err load_object(struct objstore *store, struct arena *arena, struct json_object *obj,
                            struct errinfo *ei)
{
    const char *api_version = json_str_at(obj, "apiVersion", NULL) ?: "";
    const char *name = json_str_at(obj, "kind", NULL) ?: "";
    const char *slash = strchr(api_version, '/');
    const char *group =
        slash ? arena_strndup(arena, api_version, (size_t)(slash - api_version)) : "";
    const struct objkind *kind = objstore_kind_named(store, group, name);
    const char *uid = json_str_at(obj, "metadata", "uid", NULL);
    if (!kind || !uid || !json_str_at(obj, "metadata", "name", NULL)) {
        return err_set(ei, ERR_INVALID, "no object of a known kind, with name and uid: %s %s",
                       api_version, name);
    }
    const char *version = json_str_at(obj, "metadata", "resourceVersion", NULL);
    uint64_t next = version ? strtoull(version, NULL, 10) : 0;
    /* The object keeps the version it had, so that clients need not read it anew. */
    store->version = next > 0 ? next - 1 : store->version;
    const char *ns = json_str_at(obj, "metadata", "namespace", NULL);
    struct json_object *old =
        objstore_get(store, kind, ns, json_str_at(obj, "metadata", "name", NULL));
    if (old) {
        objset_remove(store, objset_of_kind(store, kind),
                      objset_key(arena, objkind_namespaced(kind) ? ns : NULL,
                                 json_str_at(obj, "metadata", "name", NULL)));
        store->version = next > 0 ? next - 1 : store->version;
    }
    objset_commit(store, objset_of_kind(store, kind), obj);
    if (strcmp(name, "CustomResourceDefinition") == 0)
        objcrd_changed(store, NULL, obj);
    return ERR_OK;
}

enum err objstore_load(struct objstore *store, const char *path, struct errinfo *ei)
{
    enum { MAX = 512 * 1024 * 1024 };
    struct arena *arena = arena_new();
    char *text;
    size_t len;
    struct json_object *file;
    enum err err = file_read(arena, path, MAX, &text, &len, ei);
    if (err != ERR_OK || (err = json_parse(arena, text, len, MAX, &file, ei)) != ERR_OK) {
        err = err == ERR_NOT_FOUND ? err : err_wrap(ei, err, "snapshot %s", path);
        goto out;
    }
    struct json_object *list = json_at(file, "objects", NULL);
    for (size_t i = 0; err == ERR_OK && i < json_len(list); i++)
        err = load_object(store, arena, json_copy(arena, json_elem(list, i)), ei);
    if (err != ERR_OK) {
        err = err_wrap(ei, err, "snapshot %s", path);
        goto out;
    }
    store->version = (uint64_t)json_int_at(file, (int64_t)store->version, "resourceVersion", NULL);
    objstore_compact(store);
    objgc_soon(store);
out:
    arena_free(arena);
    return err;
}
