#include "engine/cache.h"

#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "kube/reply.h"
#include "tick/need.h"
#include "tick/tick.h"
#include "tick/wake.h"

struct entry {
    struct entry *next;
    struct object_cache *set;
    const struct kube_resource *resource;
    const char *namespace_; /* NULL if all, or if the resource is cluster-scoped */
    struct store *store;
};

/*
 * An index entry: an autoscaler, found by the workload that it scales. Also a copied config, found
 * by its controlling Canary, and a workload, found by the label of its pods.
 */
struct scaling {
    struct scaling *next; /* the next one with the same key */
    const struct kube_resource *resource;
    char *name, *namespace_, *scales;
};

struct object_cache {
    struct loop *loop;
    struct kube_client *kube;
    struct cache_scope scope;
    struct cache_owner owner;
    struct entry *entries;
    struct object_presence mentions; /* names in the specs of Canaries */
    struct table scalings;           /* first entry of each key */
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

static void scaling_add(struct object_cache *set, const struct kube_resource *resource,
                        const struct cached_object *seen)
{
    struct scaling *scaling = heap_alloc(sizeof(*scaling));

    *scaling = (struct scaling){.resource = resource,
                                .name = heap_strdup(seen->digest.name),
                                .namespace_ = heap_strdup(seen->digest.namespace_),
                                .scales = heap_strdup(seen->scales)};
    scaling->next = table_put(&set->scalings, scaling);
}

static void scaling_drop(struct object_cache *set, const struct kube_resource *resource,
                         const struct cached_object *seen)
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

static void scaling_changed(struct object_cache *set, const struct kube_resource *resource,
                            const struct cached_object *before, const struct cached_object *after)
{
    if (before && after && before->scales && after->scales &&
        strcmp(before->scales, after->scales) == 0)
        return;
    if (before && before->scales)
        scaling_drop(set, resource, before);
    if (after && after->scales)
        scaling_add(set, resource, after);
}

void cache_scalers(const struct object_cache *set, const struct kube_resource *resource,
                   const char *namespace_, const char *scales,
                   void (*fn)(void *arg, const char *name), void *arg)
{
    const struct scaling *one = table_get(&set->scalings, namespace_, scales);

    for (; one; one = one->next)
        if (kube_resource_same(one->resource, resource))
            fn(arg, one->name);
}

static void free_scalings(struct object_cache *set)
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

/* For a workload: the label that pods of a primary have (tick/need.h, need_labelled()). */
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
    struct cached_object *seen = (struct cached_object *)digest;
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

/* For resources watched as metadata: the Canary that controls the object. */
static void fill_copy(void *arg, struct digest *digest, struct json_object *object)
{
    struct cached_object *seen = (struct cached_object *)digest;
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
    claim_set_free(((struct cached_object *)digest)->claims);
    free(((struct cached_object *)digest)->scales);
}

static void on_changed(void *arg, const struct digest *before, const struct digest *after)
{
    struct entry *entry = arg;
    const struct cache_owner *owner = &entry->set->owner;
    scaling_changed(entry->set, entry->resource, (const struct cached_object *)before,
                    (const struct cached_object *)after);
    owner->changed(owner->arg, entry->resource, (const struct cached_object *)before,
                   (const struct cached_object *)after);
}

static bool is_metadata_only(const struct kube_resource *resource)
{
    return kube_resource_same(resource, &kube_secrets) ||
           kube_resource_same(resource, &kube_configmaps);
}

static bool is_wanted(void *arg, const char *namespace_, const char *name)
{
    const struct entry *entry = arg;
    const struct cache_owner *owner = &entry->set->owner;
    return is_of_canaries(entry) || entry->resource->scales || !owner->wanted ||
           (is_metadata_only(entry->resource) && is_copy(name)) ||
           mentions_has(&entry->set->mentions, namespace_, name) ||
           owner->wanted(owner->arg, entry->resource, namespace_, name);
}

static struct json_object *strip(void *arg, struct json_object *object)
{
    (void)arg;
    return strip_object(object);
}

static void on_settled(void *arg)
{
    const struct entry *entry = arg;
    const struct cache_owner *owner = &entry->set->owner;
    if (owner->settled)
        owner->settled(owner->arg);
}

struct object_cache *cache_new(struct loop *loop, struct kube_client *kube,
                               const struct cache_scope *scope, const struct cache_owner *owner)
{
    struct object_cache *set = heap_alloc(sizeof(*set));
    *set = (struct object_cache){.loop = loop, .kube = kube, .scope = *scope, .owner = *owner};
    object_presence_init(&set->mentions);
    table_init(&set->scalings, scaling_key);
    return set;
}

void cache_free(struct object_cache *set)
{
    if (!set)
        return;
    while (set->entries) {
        struct entry *entry = set->entries;
        set->entries = entry->next;
        store_free(entry->store);
        free(entry);
    }
    object_presence_fini(&set->mentions);
    free_scalings(set);
    free(set);
}

static bool is_of(const struct entry *entry, const struct kube_resource *resource)
{
    return entry->resource == resource || kube_resource_same(entry->resource, resource);
}

/* Objects in an unwatched namespace are unknown. */
static struct entry *find(const struct object_cache *set, const struct kube_resource *resource,
                          const char *namespace_)
{
    for (struct entry *entry = set->entries; entry; entry = entry->next)
        if (is_of(entry, resource) &&
            (!entry->namespace_ || (namespace_ && strcmp(namespace_, entry->namespace_) == 0)))
            return entry;
    return NULL;
}

/* Retry interval for a kind of autoscaler that the API server does not serve. */
enum { SCALERS_MISSING_MS = 10 * 60 * 1000 };

static void add(struct object_cache *set, const struct kube_resource *resource,
                const char *namespace_)
{
    bool metadata_only = is_metadata_only(resource);
    struct entry *entry = heap_alloc(sizeof(*entry));
    *entry = (struct entry){
        .next = set->entries, .set = set, .resource = resource, .namespace_ = namespace_};
    set->entries = entry;
    /*
     * Autoscalers are watched wherever there are Canaries, and most clusters have no KEDA. A rule
     * that needs an autoscaler named by a Canary has it read.
     */
    struct watch_timing timing = {.missing_min_ms = resource->scales ? SCALERS_MISSING_MS : 0,
                                  .missing_ms = resource->scales ? SCALERS_MISSING_MS : 0};
    struct store_spec spec = {
        .watch = {.resource = resource,
                  .timing = timing,
                  .namespace_ = namespace_,
                  .label_selector = is_of_canaries(entry) ? set->scope.canary_selector : NULL,
                  .metadata_only = metadata_only},
        .size = sizeof(struct cached_object),
        .fill = metadata_only ? fill_copy : fill_seen,
        .free_extra = free_seen,
        .wants = is_wanted,
        .strip = strip,
        .changed = on_changed,
        .settled = on_settled,
        .arg = entry,
    };
    struct kube_client *kube = resource->meshed && set->scope.mesh ? set->scope.mesh : set->kube;
    entry->store = store_new(set->loop, kube, &spec);
}

void cache_add(struct object_cache *set, const struct kube_resource *resource)
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

enum cache_known cache_find(const struct object_cache *set, const struct kube_resource *resource,
                            const char *namespace_, const char *name,
                            const struct cached_object **out)
{
    const struct entry *entry = find(set, resource, namespace_);
    const struct digest *digest;
    *out = NULL;
    if (!entry)
        return CACHE_UNKNOWN;
    if (is_listing(entry))
        return CACHE_SOON;
    if (!store_synced(entry->store) || store_trouble(entry->store) ||
        store_find(entry->store, namespace_, name, &digest) == STORE_EXISTS)
        return CACHE_UNKNOWN;
    *out = (const struct cached_object *)digest;
    return CACHE_KNOWN;
}

bool cache_shows(const struct object_cache *set, const struct kube_resource *resource,
                 const char *namespace_)
{
    const struct entry *entry = find(set, resource, namespace_);

    return entry && store_synced(entry->store);
}

bool cache_unpack(const struct object_cache *set, const struct kube_resource *resource,
                  const struct cached_object *seen, struct arena *arena, struct json_object **out)
{
    const struct entry *entry = find(set, resource, seen->digest.namespace_);
    struct errinfo info;
    return entry && store_unpack(entry->store, &seen->digest, arena, out, &info) == ERR_OK;
}

struct json_object *cache_last(const struct object_cache *set, const struct kube_resource *resource,
                               const char *namespace_, const char *name, struct arena *arena)
{
    const struct entry *entry = find(set, resource, namespace_);
    struct json_object *out;
    struct errinfo info;

    return entry && store_last(entry->store, namespace_, name, arena, &out, &info) == ERR_OK ? out
                                                                                             : NULL;
}

void cache_learn(struct object_cache *set, const struct kube_resource *resource,
                 struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);
    const char *namespace_ = json_str_at(metadata, "namespace", NULL);
    struct entry *entry = find(set, resource, namespace_);
    if (!entry)
        return;
    /* Only the watch adds and removes Canaries: the running job must not end inside this call. */
    const char *uid = json_str_at(metadata, "uid", NULL);
    const struct digest *digest =
        store_get(entry->store, namespace_, json_str_at(metadata, "name", NULL));
    if (is_of_canaries(entry) && (!digest || !uid || digest->uid != name_hash(NULL, uid)))
        return;
    store_learn(entry->store, object);
}

void cache_learn_gone(struct object_cache *set, const struct kube_resource *resource,
                      const char *namespace_, const char *name, uint64_t uid)
{
    struct entry *entry = find(set, resource, namespace_);
    if (entry && !is_of_canaries(entry))
        store_learn_gone(entry->store, namespace_, name, uid);
}

bool cache_get(const struct object_cache *set, const struct kube_resource *resource,
               const char *namespace_, const char *name, const struct cached_object **out)
{
    return cache_find(set, resource, namespace_, name, out) == CACHE_KNOWN;
}

bool cache_listing(const struct object_cache *set)
{
    for (const struct entry *entry = set->entries; entry; entry = entry->next)
        if (is_listing(entry))
            return true;
    return false;
}

bool cache_synced(const struct object_cache *set, const struct kube_resource *resource)
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

void cache_each(const struct object_cache *set,
                void (*fn)(void *arg, const struct kube_resource *resource, const char *namespace_,
                           bool metadata, const struct store *store),
                void *arg)
{
    for (const struct entry *entry = set->entries; entry; entry = entry->next)
        fn(arg, entry->resource, entry->namespace_, is_metadata_only(entry->resource),
           entry->store);
}

/* --- the fields that are kept */

static struct json_object *share(struct json_object *object, const char *but)
{
    struct json_object *copy = json_object_new_object();

    json_object_object_foreach(object, key, value)
    {
        if (strcmp(key, but) != 0)
            json_set(copy, key, value);
    }
    return copy;
}

/* Keeps only the time of the last write to the pod template. */
static struct json_object *strip_managers(struct json_object *managers)
{
    struct json_object *strip = json_object_new_array();

    for (size_t i = 0; i < json_len(managers); i++) {
        struct json_object *entry = json_elem(managers, i);
        if (!json_at(entry, "fieldsV1", "f:spec", "f:template", NULL))
            continue;
        struct json_object *one = json_object_new_object();
        json_object_array_add(strip, one);
        json_set_str(one, "time", json_str_at(entry, "time", NULL));
        json_sub(json_sub(json_sub(one, "fieldsV1"), "f:spec"), "f:template");
    }
    return strip;
}

struct json_object *strip_object(struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);
    struct json_object *managers = json_at(metadata, "managedFields", NULL);

    if (!managers)
        return json_object_get(object);
    struct json_object *strip = share(object, "metadata");
    struct json_object *stripped_metadata = share(metadata, "managedFields");
    json_object_object_add(strip, "metadata", stripped_metadata);
    struct json_object *kept = strip_managers(managers);
    if (json_len(kept) > 0)
        json_object_object_add(stripped_metadata, "managedFields", kept);
    else
        json_object_put(kept);
    return strip;
}

/* --- names that Canaries mention */

enum { MAX_DEPTH = 8 };

static void add_names(struct object_presence *mentions, const char *namespace_,
                      struct json_object *value, int depth)
{
    if (depth > MAX_DEPTH)
        return;
    for (size_t i = 0; i < json_len(value); i++)
        add_names(mentions, namespace_, json_elem(value, i), depth + 1);
    if (!json_object_is_type(value, json_type_object))
        return;
    const char *name = json_str_at(value, "name", NULL);
    const char *elsewhere = json_str_at(value, "namespace", NULL);
    if (name)
        object_presence_add(mentions, elsewhere ? elsewhere : namespace_, name);
    json_object_object_foreach(value, key, member)
    {
        (void)key;
        add_names(mentions, namespace_, member, depth + 1);
    }
}

void mentions_add(struct object_presence *mentions, struct json_object *canary)
{
    if (mentions->count > MENTIONS_MAX) {
        object_presence_fini(mentions);
        object_presence_init(mentions);
    }
    add_names(mentions, json_str_at(canary, "metadata", "namespace", NULL),
              json_at(canary, "spec", NULL), 0);
}

bool mentions_has(const struct object_presence *mentions, const char *namespace_, const char *name)
{
    static const char *const sides[] = {"-primary", "-canary"};
    char stem[256];
    size_t len = strlen(name);

    if (mentions->count == 0)
        return false;
    if (object_presence_has(mentions, namespace_, name))
        return true;
    for (size_t i = 0; i < 2; i++) {
        size_t side = strlen(sides[i]);
        if (len <= side || len - side >= sizeof(stem) || strcmp(name + len - side, sides[i]) != 0)
            continue;
        memcpy(stem, name, len - side);
        stem[len - side] = '\0';
        if (object_presence_has(mentions, namespace_, stem))
            return true;
    }
    return false;
}

/* --- direct reads */

struct object_read {
    struct kube_call *call;
    read_done_fn done;
    void *arg;
    bool freed;
};

static void on_object(void *arg, const struct kube_result *result)
{
    struct object_read *read = arg;
    if (!read->freed) {
        if (result->err == ERR_OK)
            read->done(read->arg, ERR_OK, result->body, result->info);
        else if (result->err == ERR_NOT_FOUND)
            read->done(read->arg,
                       kube_status_unserved(result->status, result->body) ? ERR_NOT_FOUND : ERR_OK,
                       NULL, result->info);
        else
            read->done(read->arg, result->err, result->outline ? result->body : NULL, result->info);
    }
    free(read);
}

struct object_read *object_read_start(struct engine_context *context,
                                      const struct kube_resource *resource, const char *namespace_,
                                      const char *name, const char *query, read_done_fn done,
                                      void *arg)
{
    struct object_read *read = heap_alloc(sizeof(*read));
    *read = (struct object_read){.done = done, .arg = arg};
    struct kube_request request = {.verb = name ? KUBE_GET : KUBE_LIST,
                                   .resource = resource,
                                   .namespace_ = resource->cluster_scoped ? NULL : namespace_,
                                   .name = name,
                                   .query = query,
                                   .keeps = true};
    read->call = kube_send(context_kube(context, resource), &request, on_object, read);
    return read;
}

void object_read_free(struct object_read *read)
{
    if (!read)
        return;
    read->freed = true;
    kube_cancel(read->call);
}

/* --- Secrets that webhooks and alerts read */

struct kept {
    struct kept *next;
    char *key;                /* "namespace/name" */
    struct json_object *tree; /* holds a reference */
};

struct secrets {
    struct engine_context *context;
    struct kept *kept; /* most recently used first */
    int count;
};

struct secret_read {
    struct secrets *secrets;
    char *key;
    struct object_read *read;
    read_done_fn done;
    void *arg;
};

struct secrets *secrets_new(struct engine_context *context)
{
    struct secrets *secrets = heap_alloc(sizeof(*secrets));
    *secrets = (struct secrets){.context = context};
    return secrets;
}

static void kept_free(struct kept *kept)
{
    json_object_put(kept->tree);
    free(kept->key);
    free(kept);
}

void secrets_free(struct secrets *secrets)
{
    if (!secrets)
        return;
    while (secrets->kept) {
        struct kept *kept = secrets->kept;
        secrets->kept = kept->next;
        kept_free(kept);
    }
    free(secrets);
}

/* Removes the Secret from the list. */
static struct kept *take(struct secrets *secrets, const char *key)
{
    for (struct kept **link = &secrets->kept; *link; link = &(*link)->next) {
        struct kept *kept = *link;
        if (strcmp(kept->key, key) != 0)
            continue;
        *link = kept->next;
        secrets->count--;
        return kept;
    }
    return NULL;
}

static void put_first(struct secrets *secrets, struct kept *kept)
{
    kept->next = secrets->kept;
    secrets->kept = kept;
    secrets->count++;
    if (secrets->count <= SECRETS_MAX)
        return;
    struct kept **link = &secrets->kept;
    while ((*link)->next)
        link = &(*link)->next;
    kept_free(*link);
    *link = NULL;
    secrets->count--;
}

bool secrets_keep(const struct secrets *secrets, const char *namespace_, const char *name)
{
    size_t len = strlen(namespace_);
    for (const struct kept *kept = secrets->kept; kept; kept = kept->next)
        if (strncmp(kept->key, namespace_, len) == 0 && kept->key[len] == '/' &&
            strcmp(kept->key + len + 1, name) == 0)
            return true;
    return false;
}

static bool is_current(const struct kept *kept, const struct cached_object *seen)
{
    const char *version = json_str_at(kept->tree, "metadata", "resourceVersion", NULL);
    return version && version_mark(version) == seen->digest.version;
}

bool secrets_cached(struct secrets *secrets, const char *namespace_, const char *name,
                    struct json_object **tree)
{
    const struct cached_object *seen;
    cache_add(secrets->context->cache, &kube_secrets);
    if (!cache_get(secrets->context->cache, &kube_secrets, namespace_, name, &seen))
        return false;
    *tree = NULL;
    char *key = heap_printf("%s/%s", namespace_, name);
    struct kept *kept = take(secrets, key);
    free(key);
    if (kept && seen && is_current(kept, seen)) {
        put_first(secrets, kept);
        *tree = kept->tree;
        return true;
    }
    if (kept)
        kept_free(kept);
    return !seen;
}

static void on_read(void *arg, enum err err, struct json_object *tree, const struct errinfo *info)
{
    struct secret_read *read = arg;
    struct secrets *secrets = read->secrets;
    if (err == ERR_NOT_FOUND) /* Secrets are served by every API server */
        err = ERR_OK;
    if (err == ERR_OK) {
        struct kept *old = take(secrets, read->key);
        if (old)
            kept_free(old);
        if (tree) {
            struct kept *kept = heap_alloc(sizeof(*kept));
            *kept = (struct kept){.key = heap_strdup(read->key), .tree = json_object_get(tree)};
            put_first(secrets, kept);
            cache_learn(secrets->context->cache, &kube_secrets, tree);
        }
    }
    read->done(read->arg, err, tree, info);
    free(read->key);
    free(read);
}

struct secret_read *secrets_read(struct secrets *secrets, const char *namespace_, const char *name,
                                 read_done_fn done, void *arg)
{
    struct secret_read *read = heap_alloc(sizeof(*read));
    *read = (struct secret_read){.secrets = secrets,
                                 .key = heap_printf("%s/%s", namespace_, name),
                                 .done = done,
                                 .arg = arg};
    read->read =
        object_read_start(secrets->context, &kube_secrets, namespace_, name, NULL, on_read, read);
    return read;
}

void secret_read_free(struct secret_read *read)
{
    if (!read)
        return;
    object_read_free(read->read);
    free(read->key);
    free(read);
}
