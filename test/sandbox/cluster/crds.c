#include "cluster/crds.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/yaml.h"
#include "object/meta.h"

enum { MAX_BYTES = 16 * 1024 * 1024 };

static enum err put(struct objstore *store, struct arena *arena, struct json_object *crd,
                    bool replace, struct errinfo *ei)
{
    const struct objkind *kind =
        objstore_kind(store, "apiextensions.k8s.io", "customresourcedefinitions");
    struct json_object *live = objstore_get(store, kind, NULL, meta_name(crd));
    struct objcall call = {.arena = arena, .manager = "flagger-sandbox", .fail = {.arena = arena}};
    enum err err;

    if (live && !replace)
        return ERR_OK;
    if (live) {
        struct json_object *copy = json_copy(arena, live);
        json_set(copy, "spec", json_at(crd, "spec", NULL));
        err = objstore_update(store, &call, kind, NULL, OBJSUB_NONE, copy, NULL);
    } else {
        err = objstore_create(store, &call, kind, NULL, crd, NULL);
    }
    return err == ERR_OK ? ERR_OK : objfail_info(&call.fail, ei);
}

static enum err put_all(struct objstore *store, struct arena *arena, const char *name,
                        struct json_object *docs, bool replace, struct errinfo *ei)
{
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *doc = json_elem(docs, i);
        const char *kind = json_str_at(doc, "kind", NULL);
        if (!kind || strcmp(kind, "CustomResourceDefinition") != 0)
            return err_set(ei, ERR_INVALID,
                           "%s: document %zu is a %s, expected a CustomResourceDefinition", name,
                           i + 1, kind ? kind : "document without kind");
        enum err err = put(store, arena, doc, replace, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "%s", name);
    }
    return ERR_OK;
}

static enum err load(struct objstore *store, const char *name, const char *text, bool replace,
                     struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct json_object *docs;
    enum err err = text ? yaml_parse(arena, name, text, strlen(text), MAX_BYTES, &docs, ei)
                        : yaml_parse_file(arena, name, MAX_BYTES, &docs, ei);
    if (err == ERR_OK)
        err = put_all(store, arena, name, docs, replace, ei);
    arena_free(arena);
    return err;
}

enum err crds_install(struct objstore *store, struct errinfo *ei)
{
    enum err err = ERR_OK;
    for (const struct crds_file *file = crds_embedded; file->name && err == ERR_OK; file++)
        err = load(store, file->name, file->text, false, ei);
    return err;
}

static int is_yaml(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

enum err crds_load(struct objstore *store, const char *path, struct errinfo *ei)
{
    struct stat st;
    struct dirent **entries;
    enum err err = ERR_OK;

    if (stat(path, &st) != 0)
        return err_set(ei, ERR_NOT_FOUND, "--crds %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return load(store, path, NULL, true, ei);
    int count = scandir(path, &entries, is_yaml, alphasort);
    if (count < 0)
        return err_set(ei, ERR_DENIED, "--crds %s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char *file = heap_printf("%s/%s", path, entries[i]->d_name);
        if (err == ERR_OK)
            err = load(store, file, NULL, true, ei);
        free(file);
        free(entries[i]);
    }
    free(entries);
    return err;
}
