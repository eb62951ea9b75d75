/* Objects in a file: one as JSON in each line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"
#include "base/file.h"

enum { LINE_MAX_BYTES = 4 * 1024 * 1024 };

/* The definition of a kind stands before its objects. */
enum err objstore_save(struct objstore *store, const char *path, struct errinfo *ei)
{
    struct buf out;
    buf_init(&out, SIZE_MAX / 2);
    for (int crds = 1; crds >= 0; crds--) {
        for (struct objset *set = store->sets; set; set = set->next) {
            bool is_crds = strcmp(set->plural, "customresourcedefinitions") == 0;
            size_t len;
            for (size_t i = 0; is_crds == (crds == 1) && i < set->count; i++) {
                const char *text = objstate_text(set->records[i]->state, &len);
                buf_add(&out, text, len);
                buf_puts(&out, "\n");
            }
        }
    }
    enum err err = file_write(path, out.data, out.len, 0600, ei);
    buf_fini(&out);
    return err;
}

static enum err load_object(struct objstore *store, struct arena *arena, const char *line,
                            struct errinfo *ei)
{
    struct json_object *obj;
    size_t len = strcspn(line, "\n");
    enum err err = json_parse(arena, line, len, LINE_MAX_BYTES, &obj, ei);
    if (err != ERR_OK)
        return err;
    const char *api_version = json_str_at(obj, "apiVersion", NULL) ?: "";
    const char *kind_name = json_str_at(obj, "kind", NULL) ?: "";
    const char *slash = strchr(api_version, '/');
    const char *group =
        slash ? arena_strndup(arena, api_version, (size_t)(slash - api_version)) : "";
    const struct objkind *kind = objstore_kind_named(store, group, kind_name);
    const char *uid = json_str_at(obj, "metadata", "uid", NULL);
    const char *name = json_str_at(obj, "metadata", "name", NULL);
    const char *ns = json_str_at(obj, "metadata", "namespace", NULL);
    if (!kind || !uid || strlen(uid) >= OBJ_UID || !name || objkind_namespaced(kind) != !!ns)
        return err_set(ei, ERR_INVALID, "no object of a known kind, with name and uid: %s %s",
                       api_version, kind_name);
    struct objstate *state = objstate_of_text(line, len);
    objcommit_load(store, objset_of_kind(store, kind), obj, state);
    objstate_put(store, state);
    const char *version = json_str_at(obj, "metadata", "resourceVersion", NULL);
    uint64_t number = version ? strtoull(version, NULL, 10) : 0;
    store->version = number > store->version ? number : store->version;
    if (strcmp(kind->kind, "CustomResourceDefinition") == 0)
        objcrd_changed(store, NULL, obj);
    return ERR_OK;
}

enum err objstore_load(struct objstore *store, const char *path, struct errinfo *ei)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return err_set(ei, errno == ENOENT ? ERR_NOT_FOUND : ERR_DENIED, "%s: %s", path,
                       strerror(errno));
    char *line = heap_alloc(LINE_MAX_BYTES);
    struct arena *arena = arena_new();
    enum err err = ERR_OK;
    int64_t number = 0;
    while (err == ERR_OK && fgets(line, LINE_MAX_BYTES, file)) {
        arena_reset(arena);
        err = load_object(store, arena, line, ei);
        number++;
    }
    if (err != ERR_OK)
        err = err_wrap(ei, err, "%s, line %lld", path, (long long)number);
    else if (ferror(file))
        err = err_set(ei, ERR_DENIED, "%s: it cannot be read", path);
    arena_free(arena);
    free(line);
    fclose(file); /* it was only read */
    store->version++;
    objstore_compact(store);
    objowner_look_all(store);
    return err;
}
