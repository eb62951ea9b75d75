#include "engine/watchset.h"

#include <string.h>

#include "base/json.h"
#include "tick/tick.h"
#include "tick/wake.h"

struct entry {
    struct entry *next;
    struct watchset *set;
    const struct kube_resource *resource;
    struct store *store;
};

struct watchset {
    struct loop *loop;
    struct kube_client *kube;
    const char *namespace_;
    watchset_fn fn;
    void *arg;
    struct entry *entries;
};

static void fill_seen(void *arg, struct digest *digest, struct json_object *object)
{
    const struct entry *entry = arg;
    struct seen *seen = (struct seen *)digest;
    seen->spec_hash = wake_spec_hash(object, entry->resource->news);
    if (kube_resource_same(entry->resource, &tick_canaries))
        seen->claims = claim_set_read(object);
}

static void free_seen(struct digest *digest)
{
    claim_set_free(((struct seen *)digest)->claims);
}

static void on_changed(void *arg, const struct digest *before, const struct digest *after)
{
    struct entry *entry = arg;
    entry->set->fn(entry->set->arg, entry->resource, (const struct seen *)before,
                   (const struct seen *)after);
}

struct watchset *watchset_new(struct loop *loop, struct kube_client *kube, const char *namespace_,
                              watchset_fn fn, void *arg)
{
    struct watchset *set = heap_alloc(sizeof(*set));
    *set = (struct watchset){
        .loop = loop, .kube = kube, .namespace_ = namespace_, .fn = fn, .arg = arg};
    return set;
}

void watchset_free(struct watchset *set)
{
    if (!set)
        return;
    while (set->entries) {
        struct entry *entry = set->entries;
        set->entries = entry->next;
        store_free(entry->store);
        free(entry);
    }
    free(set);
}

static struct entry *find(const struct watchset *set, const struct kube_resource *resource)
{
    for (struct entry *entry = set->entries; entry; entry = entry->next)
        if (entry->resource == resource || kube_resource_same(entry->resource, resource))
            return entry;
    return NULL;
}

static bool is_metadata_only(const struct kube_resource *resource)
{
    return kube_resource_same(resource, &kube_secrets) ||
           kube_resource_same(resource, &kube_configmaps);
}

void watchset_add(struct watchset *set, const struct kube_resource *resource)
{
    if (find(set, resource))
        return;
    bool metadata_only = is_metadata_only(resource);
    struct entry *entry = heap_alloc(sizeof(*entry));
    *entry = (struct entry){.next = set->entries, .set = set, .resource = resource};
    set->entries = entry;
    struct store_spec spec = {
        .watch = {.resource = resource,
                  .namespace_ = resource->cluster_scoped ? NULL : set->namespace_,
                  .metadata_only = metadata_only},
        .size = sizeof(struct seen),
        .fill = metadata_only ? NULL : fill_seen,
        .free_extra = free_seen,
        .changed = on_changed,
        .arg = entry,
    };
    entry->store = store_new(set->loop, set->kube, &spec);
}

bool watchset_look(const struct watchset *set, const struct kube_resource *resource,
                   const char *namespace_, const char *name, const struct seen **out)
{
    struct entry *entry = find(set, resource);
    if (!entry || !store_synced(entry->store) || store_trouble(entry->store))
        return false;
    /* What lies in a namespace that is not watched is not known to be absent. */
    if (set->namespace_ && !resource->cluster_scoped &&
        (!namespace_ || strcmp(namespace_, set->namespace_) != 0))
        return false;
    *out = (const struct seen *)store_get(entry->store, namespace_, name);
    return true;
}

bool watchset_synced(const struct watchset *set, const struct kube_resource *resource)
{
    struct entry *entry = find(set, resource);
    return entry && store_synced(entry->store);
}

void watchset_each(const struct watchset *set,
                   void (*fn)(void *arg, const struct kube_resource *resource, bool metadata,
                              const struct store *store),
                   void *arg)
{
    for (const struct entry *entry = set->entries; entry; entry = entry->next)
        fn(arg, entry->resource, is_metadata_only(entry->resource), entry->store);
}
