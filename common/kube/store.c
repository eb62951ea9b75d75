#include "kube/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"

struct store {
    struct store_spec spec; /* its watch part is not used after store_new() */
    struct watch *watch;
    struct table table;
    bool synced;
};

static void key_of(const void *item, const char **first, const char **second)
{
    const struct digest *digest = item;

    *first = digest->namespace_;
    *second = digest->name;
}

static const char *text_at(struct json_object *metadata, const char *key)
{
    const char *text = json_str_at(metadata, key, NULL);

    return text ? text : "";
}

/* The four texts of a digest are one heap block, which namespace_ points to. */
static void set_texts(struct digest *digest, const char *namespace_, const char *name,
                      const char *uid, const char *version)
{
    size_t sizes[] = {strlen(namespace_) + 1, strlen(name) + 1, strlen(uid) + 1,
                      strlen(version) + 1};
    char *at = heap_alloc(sizes[0] + sizes[1] + sizes[2] + sizes[3]);

    digest->namespace_ = memcpy(at, namespace_, sizes[0]);
    at += sizes[0];
    digest->name = memcpy(at, name, sizes[1]);
    at += sizes[1];
    digest->uid = memcpy(at, uid, sizes[2]);
    at += sizes[2];
    digest->resource_version = memcpy(at, version, sizes[3]);
}

static struct digest *digest_new(const struct store_spec *spec, struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);
    struct digest *digest =
        spec->make ? spec->make(spec->arg, object) : heap_alloc(sizeof(*digest));

    set_texts(digest, text_at(metadata, "namespace"), text_at(metadata, "name"),
              text_at(metadata, "uid"), text_at(metadata, "resourceVersion"));
    digest->generation = json_int_at(metadata, 0, "generation", NULL);
    digest->deleting = json_at(metadata, "deletionTimestamp", NULL) != NULL;
    return digest;
}

static void digest_free(void (*free_extra)(struct digest *digest), struct digest *digest)
{
    if (!digest)
        return;
    if (free_extra)
        free_extra(digest);
    free((void *)(uintptr_t)digest->namespace_);
    free(digest);
}

/* changed() may free the store: nothing of it is touched afterwards. */
static void tell(const struct store *store, struct digest *before, const struct digest *after)
{
    void (*free_extra)(struct digest * digest) = store->spec.free_extra;

    if (store->spec.changed)
        store->spec.changed(store->spec.arg, before, after);
    digest_free(free_extra, before);
}

static void put(struct store *store, struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);
    struct digest *before =
        table_get(&store->table, text_at(metadata, "namespace"), text_at(metadata, "name"));

    /* A list brings again what is known: nothing has changed then. */
    if (before && strcmp(before->uid, text_at(metadata, "uid")) == 0 &&
        strcmp(before->resource_version, text_at(metadata, "resourceVersion")) == 0)
        return;
    struct digest *after = digest_new(&store->spec, object);
    table_put(&store->table, after);
    tell(store, before, after);
}

static void on_event(void *arg, enum watch_event event, struct json_object *object)
{
    struct store *store = arg;
    struct json_object *metadata = json_at(object, "metadata", NULL);
    struct digest *gone = NULL;

    switch (event) {
    case WATCH_PUT:
        put(store, object);
        break;
    case WATCH_GONE:
        gone = table_take(&store->table, text_at(metadata, "namespace"), text_at(metadata, "name"));
        if (gone)
            tell(store, gone, NULL);
        break;
    case WATCH_SYNCED:
        store->synced = true;
        tell(store, NULL, NULL);
        break;
    }
}

struct store *store_new(struct loop *loop, struct kube_client *client,
                        const struct store_spec *spec)
{
    struct store *store = heap_alloc(sizeof(*store));

    *store = (struct store){.spec = *spec};
    table_init(&store->table, key_of);
    store->watch = watch_new(loop, client, &spec->watch, on_event, store);
    return store;
}

void store_free(struct store *store)
{
    struct digest *digest = NULL;

    if (!store)
        return;
    watch_free(store->watch);
    for (size_t i = 0; (digest = table_next(&store->table, &i));)
        digest_free(store->spec.free_extra, digest);
    table_fini(&store->table);
    free(store);
}

const struct digest *store_get(const struct store *store, const char *namespace_, const char *name)
{
    return table_get(&store->table, namespace_, name);
}

size_t store_count(const struct store *store)
{
    return store->table.count;
}

bool store_synced(const struct store *store)
{
    return store->synced;
}

const char *store_trouble(const struct store *store)
{
    return watch_trouble(store->watch);
}

void store_look(const struct store *store, struct watch_look *out)
{
    watch_look(store->watch, out);
}
