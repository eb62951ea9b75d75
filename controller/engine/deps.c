#include "engine/deps.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "tick/wake.h"

enum doubt {
    DOUBT_NONE,
    DOUBT_VERSION, /* a newer version than the known one is required */
    DOUBT_ALL,     /* only a read is trusted */
};

/*
 * An object that a Canary depends on. There are about ten per Canary, so they are small: versions
 * are marks, as in tick/wake.h.
 */
struct dep {
    struct dep *next;        /* in the Canary's list */
    struct dep *next_sharer; /* in the index: other Canaries that depend on the same object */
    struct deps *deps;
    uint64_t version;  /* as last read or written; 0 if not read yet */
    uint64_t previous; /* before our own write, while the watch may still show it; or 0 */
    uint16_t kind;     /* index in `kinds` */
    uint8_t doubt;     /* enum doubt */
    bool used;
    bool unserved; /* its resource was not served when read */
    bool absent;   /* when last read, it did not exist */
    char key[];    /* "namespace/name" */
};

struct deps {
    struct deps_index *index;
    void *owner;
    struct dep *list;
};

struct deps_index {
    struct table by_key; /* the first sharer of each kind and key */
    char **kinds;        /* "group/plural", unique */
    uint16_t n_kinds;
    size_t n_deps;
};

enum { KEY_MAX = 1024 };

static void make_key(char key[KEY_MAX], const char *namespace_, const char *name)
{
    snprintf(key, KEY_MAX, "%s/%s", namespace_ ? namespace_ : "", name ? name : "");
}

static void dep_key(const void *item, const char **kind, const char **key)
{
    const struct dep *dep = item;

    *kind = dep->deps->index->kinds[dep->kind];
    *key = dep->key;
}

/* Returns n_kinds if no Canary depends on an object of the kind. */
static uint16_t find_kind(const struct deps_index *index, const struct kube_resource *resource)
{
    size_t len = strlen(resource->group);
    uint16_t i = 0;

    while (i < index->n_kinds &&
           !(strncmp(index->kinds[i], resource->group, len) == 0 && index->kinds[i][len] == '/' &&
             strcmp(index->kinds[i] + len + 1, resource->plural) == 0))
        i++;
    return i;
}

static uint16_t obtain_kind(struct deps_index *index, const struct kube_resource *resource)
{
    uint16_t kind = find_kind(index, resource);

    if (kind < index->n_kinds)
        return kind;
    assert(kind < UINT16_MAX && "there are no more kinds than the tables of variants name");
    index->kinds = heap_grow(index->kinds, (kind + 1u) * sizeof(*index->kinds));
    index->kinds[kind] = heap_printf("%s/%s", resource->group, resource->plural);
    index->n_kinds++;
    return kind;
}

struct deps_index *deps_index_new(void)
{
    struct deps_index *index = heap_alloc(sizeof(*index));
    *index = (struct deps_index){0};
    table_init(&index->by_key, dep_key);
    return index;
}

void deps_index_free(struct deps_index *index)
{
    if (!index)
        return;
    table_fini(&index->by_key);
    for (size_t i = 0; i < index->n_kinds; i++)
        free(index->kinds[i]);
    free(index->kinds);
    free(index);
}

static struct dep *index_find(const struct deps_index *index, const struct kube_resource *resource,
                              const char *namespace_, const char *name)
{
    uint16_t kind = find_kind(index, resource);
    char key[KEY_MAX];

    if (kind == index->n_kinds)
        return NULL;
    make_key(key, namespace_, name);
    return table_get(&index->by_key, index->kinds[kind], key);
}

static struct dep *first_sharer(const struct deps_index *index, const struct dep *dep)
{
    return table_get(&index->by_key, index->kinds[dep->kind], dep->key);
}

static void index_add(struct deps_index *index, struct dep *dep)
{
    dep->next_sharer = first_sharer(index, dep);
    (void)table_put(&index->by_key, dep);
}

static void index_remove(struct deps_index *index, struct dep *dep)
{
    struct dep *first = first_sharer(index, dep);
    if (first == dep) {
        (void)table_take(&index->by_key, index->kinds[dep->kind], dep->key);
        if (dep->next_sharer)
            (void)table_put(&index->by_key, dep->next_sharer);
        return;
    }
    for (; first; first = first->next_sharer) {
        if (first->next_sharer == dep) {
            first->next_sharer = dep->next_sharer;
            return;
        }
    }
}

struct deps *deps_new(struct deps_index *index, void *owner)
{
    struct deps *deps = heap_alloc(sizeof(*deps));
    *deps = (struct deps){.index = index, .owner = owner};
    return deps;
}

static void dep_free(struct dep *dep)
{
    index_remove(dep->deps->index, dep);
    dep->deps->index->n_deps--;
    free(dep);
}

void deps_free(struct deps *deps)
{
    if (!deps)
        return;
    while (deps->list) {
        struct dep *dep = deps->list;
        deps->list = dep->next;
        dep_free(dep);
    }
    free(deps);
}

static struct dep *dep_get(struct deps *deps, const struct kube_resource *resource,
                           const char *namespace_, const char *name)
{
    uint16_t kind = obtain_kind(deps->index, resource);
    char key[KEY_MAX];
    make_key(key, namespace_, name);
    for (struct dep *dep = deps->list; dep; dep = dep->next)
        if (dep->kind == kind && strcmp(dep->key, key) == 0)
            return dep;
    size_t size = strlen(key) + 1;
    struct dep *dep = heap_alloc(offsetof(struct dep, key) + size);
    memset(dep, 0, offsetof(struct dep, key));
    dep->next = deps->list;
    dep->deps = deps;
    dep->kind = kind;
    memcpy(dep->key, key, size);
    deps->list = dep;
    deps->index->n_deps++;
    index_add(deps->index, dep);
    return dep;
}

void deps_begin(struct deps *deps)
{
    for (struct dep *dep = deps->list; dep; dep = dep->next)
        dep->used = false;
}

void deps_end(struct deps *deps)
{
    struct dep **link = &deps->list;
    while (*link) {
        struct dep *dep = *link;
        if (dep->used) {
            link = &dep->next;
            continue;
        }
        *link = dep->next;
        dep_free(dep);
    }
}

void deps_doubt(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                const char *name)
{
    struct dep *dep = dep_get(deps, resource, namespace_, name);
    if (dep->doubt == DOUBT_NONE)
        dep->doubt = DOUBT_VERSION;
}

void deps_doubt_all(struct deps *deps)
{
    for (struct dep *dep = deps->list; dep; dep = dep->next)
        dep->doubt = DOUBT_ALL;
}

enum deps_known deps_known(struct deps *deps, const struct object_cache *cache,
                           const struct kube_resource *resource, const char *namespace_,
                           const char *name, struct arena *arena, struct json_object **tree)
{
    struct dep *dep = dep_get(deps, resource, namespace_, name);
    const struct cached_object *seen;
    dep->used = true;
    *tree = NULL;
    if (dep->doubt == DOUBT_ALL)
        return DEPS_UNKNOWN;
    enum cache_known known = cache_find(cache, resource, namespace_, name, &seen);
    if (known != CACHE_KNOWN)
        return known == CACHE_SOON ? DEPS_SOON : DEPS_UNKNOWN;
    uint64_t now = seen ? seen->digest.version : version_mark("");
    /* The watch still shows the version before our own write. */
    if (now == dep->previous)
        return DEPS_UNKNOWN;
    if (dep->doubt == DOUBT_VERSION && now == dep->version)
        return DEPS_SOON;
    if (seen && !cache_unpack(cache, resource, seen, arena, tree))
        return DEPS_UNKNOWN;
    dep->version = now;
    dep->previous = 0;
    dep->doubt = DOUBT_NONE;
    return DEPS_KNOWN;
}

static void remember(struct dep *dep, struct json_object *tree)
{
    dep->version = version_mark(json_str_at(tree, "metadata", "resourceVersion", NULL));
    dep->used = true;
    dep->unserved = false;
    dep->absent = tree == NULL;
    dep->doubt = DOUBT_NONE;
}

void deps_read(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
               const char *name, struct json_object *tree)
{
    struct dep *dep = dep_get(deps, resource, namespace_, name);
    remember(dep, tree);
    dep->previous = 0;
}

void deps_unserved(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                   const char *name)
{
    deps_read(deps, resource, namespace_, name, NULL);
    dep_get(deps, resource, namespace_, name)->unserved = true;
}

bool deps_is_unserved(struct deps *deps, const struct object_cache *cache,
                      const struct kube_resource *resource, const char *namespace_,
                      const char *name)
{
    const struct dep *dep = dep_get(deps, resource, namespace_, name);

    return dep->unserved && dep->doubt == DOUBT_NONE && !resource->scales &&
           !cache_shows(cache, resource, namespace_);
}

bool deps_is_absent(struct deps *deps, const struct object_cache *cache,
                    const struct kube_resource *resource, const char *namespace_, const char *name)
{
    const struct dep *dep = dep_get(deps, resource, namespace_, name);
    const struct cached_object *seen;

    return dep->absent && dep->doubt == DOUBT_NONE && cache_shows(cache, resource, namespace_) &&
           cache_find(cache, resource, namespace_, name, &seen) == CACHE_KNOWN && !seen;
}

void deps_wrote(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *tree)
{
    struct dep *dep = dep_get(deps, resource, namespace_, name);
    /* The watch still shows the version before the first of several writes in a row. */
    if (!dep->previous)
        dep->previous = dep->version;
    remember(dep, tree);
}

/* True if the change is news for this Canary; records the version that the Canary now knows. */
static bool is_news(struct dep *dep, struct wake_change change, bool hears_status)
{
    change.known = dep->version;
    change.previous = dep->previous;
    enum wake_news news = wake_news(&change, hears_status);
    if (news == WAKE_ECHO)
        dep->previous = 0;
    if (news == WAKE_STATUS)
        dep->version = change.now;
    return news == WAKE_NEWS;
}

/* A key that no object can have. */
static const char *list_name(char name[KEY_MAX], const char *scales)
{
    snprintf(name, KEY_MAX, "?%s", scales);
    return name;
}

void deps_scalers(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                  const char *scales, bool unserved)
{
    char name[KEY_MAX];
    struct dep *dep = dep_get(deps, resource, namespace_, list_name(name, scales));

    dep->used = true;
    dep->unserved = unserved;
    dep->version = version_mark("");
}

static void wake_list(struct deps_index *index, const struct kube_resource *resource,
                      const struct cached_object *seen, void (*fn)(void *owner))
{
    char name[KEY_MAX];
    struct dep *dep =
        index_find(index, resource, seen->digest.namespace_, list_name(name, seen->scales));

    for (; dep; dep = dep->next_sharer)
        fn(dep->deps->owner);
}

/* The autoscalers of a workload have changed. */
static void lists_changed(struct deps_index *index, const struct kube_resource *resource,
                          const struct cached_object *before, const struct cached_object *after,
                          void (*fn)(void *owner))
{
    const char *was = before ? before->scales : NULL;
    const char *is = after ? after->scales : NULL;

    if (was && is && strcmp(was, is) == 0)
        return;
    if (was)
        wake_list(index, resource, before, fn);
    if (is)
        wake_list(index, resource, after, fn);
}

void deps_index_changed(struct deps_index *index, const struct kube_resource *resource,
                        const struct cached_object *before, const struct cached_object *after,
                        bool (*hears_status)(void *owner), void (*fn)(void *owner))
{
    assert((before || after) && "a change has an object before it or after it");
    const struct digest *digest = after ? &after->digest : &before->digest;
    const struct wake_change change = {
        .now = after ? after->digest.version : version_mark(""),
        .status_only =
            before && after && after->spec_hash != 0 && before->spec_hash == after->spec_hash,
        .is_canary = kube_resource_same(resource, &tick_canaries),
    };
    struct dep *dep = index_find(index, resource, digest->namespace_, digest->name);
    for (; dep; dep = dep->next_sharer)
        if (is_news(dep, change, hears_status(dep->deps->owner)))
            fn(dep->deps->owner);
    lists_changed(index, resource, before, after, fn);
}

void deps_index_listed(struct deps_index *index, const struct object_cache *cache,
                       const struct kube_resource *resource, void (*fn)(void *owner))
{
    uint64_t absent = version_mark("");
    uint16_t kind = find_kind(index, resource);
    struct dep *dep;
    for (size_t i = 0; (dep = table_next(&index->by_key, &i));) {
        const struct cached_object *seen = NULL;
        char namespace_[KEY_MAX];
        size_t len = strcspn(dep->key, "/");
        snprintf(namespace_, sizeof(namespace_), "%.*s", (int)len, dep->key);
        if (dep->kind != kind ||
            !cache_get(cache, resource, namespace_, dep->key + len + 1, &seen) || seen)
            continue;
        for (; dep; dep = dep->next_sharer) {
            if (!dep->unserved && (dep->version == 0 || dep->version == absent))
                continue; /* always true for a list of scalers */
            dep->unserved = false;
            dep->previous = 0;
            fn(dep->deps->owner);
        }
    }
}

bool deps_index_has(const struct deps_index *index, const struct kube_resource *resource,
                    const char *namespace_, const char *name)
{
    return index_find(index, resource, namespace_, name) != NULL;
}

size_t deps_index_count(const struct deps_index *index)
{
    return index->n_deps;
}
