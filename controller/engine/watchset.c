#include "engine/watchset.h"

#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "engine/lean.h"
#include "tick/tick.h"
#include "tick/wake.h"

struct entry {
    struct entry *next;
    struct watchset *set;
    const struct kube_resource *resource;
    const char *namespace_; /* NULL: all of them, or it has none */
    struct store *store;
};

/* An autoscaler and the workload that it scales, found by the latter; in the same way a copy and the
 * Canary that controls it, a workload and the label of its pods. */
struct scaling {
    struct scaling *next; /* that scales the same */
    const struct kube_resource *resource;
    char *name, *namespace_, *scales;
};

struct watchset {
    struct loop *loop;
    struct kube_client *kube;
    struct watchset_scope scope;
    struct watchset_owner owner;
    struct entry *entries;
    struct name_set mentions; /* by Canaries */
    struct table scalings;    /* the first of those that scale the same */
};

static void scaling_key(const void *item, const char **first, const char **second)
{
    const struct scaling *scaling = item;

    *first = scaling->namespace_;
    *second = scaling->scales;
}

static void scaling_free(struct scaling *scaling)
{
    free(scaling->name);
    free(scaling->namespace_);
    free(scaling->scales);
    free(scaling);
}

static void scaling_add(struct watchset *set, const struct kube_resource *resource,
                        const struct seen *seen)
{
    struct scaling *scaling = heap_alloc(sizeof(*scaling));

    *scaling = (struct scaling){.resource = resource,
                                .name = heap_strdup(seen->digest.name),
                                .namespace_ = heap_strdup(seen->digest.namespace_),
                                .scales = heap_strdup(seen->scales)};
    scaling->next = table_put(&set->scalings, scaling);
}

static void scaling_drop(struct watchset *set, const struct kube_resource *resource,
                         const struct seen *seen)
{
    struct scaling *first = table_take(&set->scalings, seen->digest.namespace_, seen->scales);

    for (struct scaling **link = &first; *link; link = &(*link)->next) {
        struct scaling *one = *link;
        if (one->resource != resource || strcmp(one->name, seen->digest.name) != 0)
            continue;
        *link = one->next;
        scaling_free(one);
        break;
    }
    if (first)
        (void)table_put(&set->scalings, first);
}

static void scaling_changed(struct watchset *set, const struct kube_resource *resource,
                            const struct seen *before, const struct seen *after)
{
    if (before && after && before->scales && after->scales &&
        strcmp(before->scales, after->scales) == 0)
        return;
    if (before && before->scales)
        scaling_drop(set, resource, before);
    if (after && after->scales)
        scaling_add(set, resource, after);
}

void watchset_scalers(const struct watchset *set, const struct kube_resource *resource,
                      const char *namespace_, const char *scales,
                      void (*fn)(void *arg, const char *name), void *arg)
{
    const struct scaling *one = table_get(&set->scalings, namespace_, scales);

    for (; one; one = one->next)
        if (kube_resource_same(one->resource, resource))
            fn(arg, one->name);
}

static void free_scalings(struct watchset *set)
{
    struct scaling *first;

    for (size_t i = 0; (first = table_next(&set->scalings, &i));)
        while (first) {
            struct scaling *next = first->next;
            scaling_free(first);
            first = next;
        }
    table_fini(&set->scalings);
}

static bool is_of_canaries(const struct entry *entry)
{
    return kube_resource_same(entry->resource, &tick_canaries);
}

static bool is_copy(const char *name)
{
    static const char tail[] = "-primary";
    size_t len = strlen(name);

    return len >= sizeof(tail) && strcmp(name + len - (sizeof(tail) - 1), tail) == 0;
}

/* Of a workload: the label that its pods have as those of a primary (tick.h, need_labelled()). */
static char *label_of(struct json_object *object)
{
    struct json_object *labels = json_at(object, "spec", "selector", "matchLabels", NULL);

    if (!json_object_is_type(labels, json_type_object))
        return NULL;
    json_object_object_foreach(labels, key, value)
    {
        const char *text = json_object_get_string(value);
        if (text && is_copy(text))
            return heap_printf("%s/%s=%s", TICK_LABELLED, key, text);
    }
    return NULL;
}

static void fill_seen(void *arg, struct digest *digest, struct json_object *object)
{
    const struct entry *entry = arg;
    struct seen *seen = (struct seen *)digest;
    seen->spec_hash = wake_spec_hash(object, entry->resource->news);
    struct json_object *ref = json_at(object, "spec", "scaleTargetRef", NULL);
    const char *kind = json_str_at(ref, "kind", NULL), *name = json_str_at(ref, "name", NULL);
    if (name)
        seen->scales = heap_printf("%s/%s", kind ? kind : "Deployment", name);
    else
        seen->scales = label_of(object);
    if (!is_of_canaries(entry))
        return;
    const char *phase = json_str_at(object, "status", "phase", NULL);
    seen->rests = phase && wake_rests(phase_parse(phase));
    seen->releases = phase && wake_releases(phase_parse(phase));
    seen->claims = claim_set_read(object);
    mentions_add(&entry->set->mentions, object);
}

/* Of what is watched as metadata: which Canary controls it. */
static void fill_copy(void *arg, struct digest *digest, struct json_object *object)
{
    struct seen *seen = (struct seen *)digest;
    struct json_object *owners = json_at(object, "metadata", "ownerReferences", NULL);

    (void)arg;
    for (size_t i = 0; is_copy(digest->name) && !seen->scales && i < json_len(owners); i++) {
        struct json_object *owner = json_elem(owners, i);
        const char *kind = json_str_at(owner, "kind", NULL);
        const char *name = json_str_at(owner, "name", NULL);
        if (name && kind && strcmp(kind, tick_canaries.kind) == 0 &&
            json_bool_at(owner, false, "controller", NULL))
            seen->scales = heap_printf("%s/%s", kind, name);
    }
}

static void free_seen(struct digest *digest)
{
    claim_set_free(((struct seen *)digest)->claims);
    free(((struct seen *)digest)->scales);
}

static void on_changed(void *arg, const struct digest *before, const struct digest *after)
{
    struct entry *entry = arg;
    const struct watchset_owner *owner = &entry->set->owner;
    scaling_changed(entry->set, entry->resource, (const struct seen *)before,
                    (const struct seen *)after);
    owner->changed(owner->arg, entry->resource, (const struct seen *)before,
                   (const struct seen *)after);
}

static bool is_metadata_only(const struct kube_resource *resource)
{
    return kube_resource_same(resource, &kube_secrets) ||
           kube_resource_same(resource, &kube_configmaps);
}

static bool is_wanted(void *arg, const char *namespace_, const char *name)
{
    const struct entry *entry = arg;
    const struct watchset_owner *owner = &entry->set->owner;
    return is_of_canaries(entry) || entry->resource->scales || !owner->wanted ||
           (is_metadata_only(entry->resource) && is_copy(name)) ||
           mentions_has(&entry->set->mentions, namespace_, name) ||
           owner->wanted(owner->arg, entry->resource, namespace_, name);
}

static struct json_object *lean(void *arg, struct json_object *object)
{
    (void)arg;
    return lean_object(object);
}

static void on_settled(void *arg)
{
    const struct entry *entry = arg;
    const struct watchset_owner *owner = &entry->set->owner;
    if (owner->settled)
        owner->settled(owner->arg);
}

struct watchset *watchset_new(struct loop *loop, struct kube_client *kube,
                              const struct watchset_scope *scope,
                              const struct watchset_owner *owner)
{
    struct watchset *set = heap_alloc(sizeof(*set));
    *set = (struct watchset){.loop = loop, .kube = kube, .scope = *scope, .owner = *owner};
    name_set_init(&set->mentions);
    table_init(&set->scalings, scaling_key);
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
    name_set_fini(&set->mentions);
    free_scalings(set);
    free(set);
}

static bool is_of(const struct entry *entry, const struct kube_resource *resource)
{
    return entry->resource == resource || kube_resource_same(entry->resource, resource);
}

/* What lies in a namespace that is not watched is not known. */
static struct entry *find(const struct watchset *set, const struct kube_resource *resource,
                          const char *namespace_)
{
    for (struct entry *entry = set->entries; entry; entry = entry->next)
        if (is_of(entry, resource) &&
            (!entry->namespace_ || (namespace_ && strcmp(namespace_, entry->namespace_) == 0)))
            return entry;
    return NULL;
}

/* Until a kind of autoscalers that the API server does not serve is asked for again. */
enum { SCALERS_MISSING_MS = 10 * 60 * 1000 };

static void add(struct watchset *set, const struct kube_resource *resource, const char *namespace_)
{
    bool metadata_only = is_metadata_only(resource);
    struct entry *entry = heap_alloc(sizeof(*entry));
    *entry = (struct entry){
        .next = set->entries, .set = set, .resource = resource, .namespace_ = namespace_};
    set->entries = entry;
    /* Those of others are looked for wherever there are Canaries, and most clusters have no KEDA. One
     * that a Canary names is read when a rule asks for it. */
    struct watch_timing timing = {.missing_min_ms = resource->scales ? SCALERS_MISSING_MS : 0,
                                  .missing_ms = resource->scales ? SCALERS_MISSING_MS : 0};
    struct store_spec spec = {
        .watch = {.resource = resource,
                  .timing = timing,
                  .namespace_ = namespace_,
                  .label_selector = is_of_canaries(entry) ? set->scope.canary_selector : NULL,
                  .metadata_only = metadata_only},
        .size = sizeof(struct seen),
        .fill = metadata_only ? fill_copy : fill_seen,
        .free_extra = free_seen,
        .wants = is_wanted,
        .lean = lean,
        .changed = on_changed,
        .settled = on_settled,
        .arg = entry,
    };
    struct kube_client *kube = resource->meshed && set->scope.mesh ? set->scope.mesh : set->kube;
    entry->store = store_new(set->loop, kube, &spec);
}

void watchset_add(struct watchset *set, const struct kube_resource *resource)
{
    const char *const *namespaces = set->scope.namespaces;

    for (const struct entry *entry = set->entries; entry; entry = entry->next)
        if (is_of(entry, resource))
            return;
    if (!namespaces || resource->cluster_scoped)
        add(set, resource, NULL);
    else
        for (; *namespaces; namespaces++)
            add(set, resource, *namespaces);
}

static bool is_listing(const struct entry *entry)
{
    return !store_synced(entry->store) && !store_trouble(entry->store);
}

enum watchset_known watchset_find(const struct watchset *set, const struct kube_resource *resource,
                                  const char *namespace_, const char *name, const struct seen **out)
{
    const struct entry *entry = find(set, resource, namespace_);
    const struct digest *digest;
    *out = NULL;
    if (!entry)
        return WATCHSET_UNKNOWN;
    if (is_listing(entry))
        return WATCHSET_SOON;
    if (!store_synced(entry->store) || store_trouble(entry->store) ||
        store_find(entry->store, namespace_, name, &digest) == STORE_EXISTS)
        return WATCHSET_UNKNOWN;
    *out = (const struct seen *)digest;
    return WATCHSET_KNOWN;
}

bool watchset_shows(const struct watchset *set, const struct kube_resource *resource,
                    const char *namespace_)
{
    const struct entry *entry = find(set, resource, namespace_);

    return entry && store_synced(entry->store);
}

bool watchset_unpack(const struct watchset *set, const struct kube_resource *resource,
                     const struct seen *seen, struct arena *arena, struct json_object **out)
{
    const struct entry *entry = find(set, resource, seen->digest.namespace_);
    struct errinfo info;
    return entry && store_unpack(entry->store, &seen->digest, arena, out, &info) == ERR_OK;
}

struct json_object *watchset_last(const struct watchset *set, const struct kube_resource *resource,
                                  const char *namespace_, const char *name, struct arena *arena)
{
    const struct entry *entry = find(set, resource, namespace_);
    struct json_object *out;
    struct errinfo info;

    return entry && store_last(entry->store, namespace_, name, arena, &out, &info) == ERR_OK ? out
                                                                                             : NULL;
}

void watchset_learn(struct watchset *set, const struct kube_resource *resource,
                    struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);
    const char *namespace_ = json_str_at(metadata, "namespace", NULL);
    struct entry *entry = find(set, resource, namespace_);
    if (!entry)
        return;
    /* Which Canaries there are is for the watch alone to tell: who runs now must not end in this
     * call. */
    const char *uid = json_str_at(metadata, "uid", NULL);
    const struct digest *digest =
        store_get(entry->store, namespace_, json_str_at(metadata, "name", NULL));
    if (is_of_canaries(entry) && (!digest || !uid || digest->uid != name_hash(NULL, uid)))
        return;
    store_learn(entry->store, object);
}

void watchset_learn_gone(struct watchset *set, const struct kube_resource *resource,
                         const char *namespace_, const char *name, uint64_t uid)
{
    struct entry *entry = find(set, resource, namespace_);
    if (entry && !is_of_canaries(entry))
        store_learn_gone(entry->store, namespace_, name, uid);
}

bool watchset_look(const struct watchset *set, const struct kube_resource *resource,
                   const char *namespace_, const char *name, const struct seen **out)
{
    return watchset_find(set, resource, namespace_, name, out) == WATCHSET_KNOWN;
}

bool watchset_listing(const struct watchset *set)
{
    for (const struct entry *entry = set->entries; entry; entry = entry->next)
        if (is_listing(entry))
            return true;
    return false;
}

bool watchset_synced(const struct watchset *set, const struct kube_resource *resource)
{
    bool found = false;
    for (const struct entry *entry = set->entries; entry; entry = entry->next) {
        if (!is_of(entry, resource))
            continue;
        if (!store_synced(entry->store))
            return false;
        found = true;
    }
    return found;
}

void watchset_each(const struct watchset *set,
                   void (*fn)(void *arg, const struct kube_resource *resource,
                              const char *namespace_, bool metadata, const struct store *store),
                   void *arg)
{
    for (const struct entry *entry = set->entries; entry; entry = entry->next)
        fn(arg, entry->resource, entry->namespace_, is_metadata_only(entry->resource),
           entry->store);
}
