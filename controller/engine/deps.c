#include "engine/deps.h"

#include <assert.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "tick/wake.h"

enum doubt {
    DOUBT_NONE,
    DOUBT_VERSION, /* the version that is known is not the last one */
    DOUBT_ALL,     /* only a read is believed */
};

/* One object that one canary depends on. `version` is "" when the object did not exist. */
struct dep {
    struct dep *next;        /* in the canary's list */
    struct dep *next_sharer; /* in the index: other canaries that depend on the same object */
    struct deps *deps;
    char *version; /* as last read or written; NULL: not read yet */
    char *
        previous; /* before our own write, as long as the watch may still show it; NULL otherwise */
    enum doubt doubt;
    bool used;
    bool unserved; /* its resource was not served when it was read */
    char key[];
};

struct deps {
    struct deps_index *index;
    void *owner;
    struct dep *list;
};

struct deps_index {
    struct table by_key; /* the first sharer of each key */
    size_t n_deps;
};

enum { KEY_MAX = 1024 };

static void make_key(char key[KEY_MAX], const struct kube_resource *resource,
                     const char *namespace_, const char *name)
{
    snprintf(key, KEY_MAX, "%s/%s/%s/%s", resource->group, resource->plural,
             namespace_ ? namespace_ : "", name ? name : "");
}

static void dep_key(const void *item, const char **key, const char **none)
{
    const struct dep *dep = item;

    *key = dep->key;
    *none = NULL;
}

struct deps_index *deps_index_new(void)
{
    struct deps_index *index = heap_alloc(sizeof(*index));
    table_init(&index->by_key, dep_key);
    return index;
}

void deps_index_free(struct deps_index *index)
{
    if (!index)
        return;
    table_fini(&index->by_key);
    free(index);
}

static struct dep *index_find(const struct deps_index *index, const char *key)
{
    return table_get(&index->by_key, key, NULL);
}

static void index_add(struct deps_index *index, struct dep *dep)
{
    dep->next_sharer = index_find(index, dep->key);
    (void)table_put(&index->by_key, dep);
}

static void index_remove(struct deps_index *index, struct dep *dep)
{
    struct dep *first = index_find(index, dep->key);
    if (first == dep) {
        (void)table_take(&index->by_key, dep->key, NULL);
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
    free(dep->version);
    free(dep->previous);
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
    char key[KEY_MAX];
    make_key(key, resource, namespace_, name);
    for (struct dep *dep = deps->list; dep; dep = dep->next)
        if (strcmp(dep->key, key) == 0)
            return dep;
    size_t size = strlen(key) + 1;
    struct dep *dep = heap_alloc(sizeof(*dep) + size);
    *dep = (struct dep){.next = deps->list, .deps = deps};
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

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static void set_version(struct dep *dep, const char *version)
{
    char *copy = heap_strdup(version ? version : "");
    free(dep->version);
    dep->version = copy;
}

static void forget_previous(struct dep *dep)
{
    free(dep->previous);
    dep->previous = NULL;
}

enum deps_known deps_known(struct deps *deps, const struct watchset *watches,
                           const struct kube_resource *resource, const char *namespace_,
                           const char *name, struct arena *arena, struct json_object **tree)
{
    struct dep *dep = dep_get(deps, resource, namespace_, name);
    const struct seen *seen;
    dep->used = true;
    *tree = NULL;
    if (dep->doubt == DOUBT_ALL)
        return DEPS_UNKNOWN;
    enum watchset_known known = watchset_find(watches, resource, namespace_, name, &seen);
    if (known != WATCHSET_KNOWN)
        return known == WATCHSET_SOON ? DEPS_SOON : DEPS_UNKNOWN;
    const char *now = seen ? seen->digest.resource_version : "";
    /* The watch still shows what was there before our own write. */
    if (same(now, dep->previous))
        return DEPS_UNKNOWN;
    if (dep->doubt == DOUBT_VERSION && same(now, dep->version))
        return DEPS_SOON;
    if (seen && !watchset_unpack(watches, resource, seen, arena, tree))
        return DEPS_UNKNOWN;
    if (!same(now, dep->version))
        set_version(dep, now);
    forget_previous(dep);
    dep->doubt = DOUBT_NONE;
    return DEPS_KNOWN;
}

static void remember(struct dep *dep, struct json_object *tree)
{
    set_version(dep, json_str_at(tree, "metadata", "resourceVersion", NULL));
    dep->used = true;
    dep->unserved = false;
    dep->doubt = DOUBT_NONE;
}

void deps_read(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
               const char *name, struct json_object *tree)
{
    struct dep *dep = dep_get(deps, resource, namespace_, name);
    remember(dep, tree);
    forget_previous(dep);
}

void deps_unserved(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                   const char *name)
{
    deps_read(deps, resource, namespace_, name, NULL);
    dep_get(deps, resource, namespace_, name)->unserved = true;
}

void deps_wrote(struct deps *deps, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *tree)
{
    struct dep *dep = dep_get(deps, resource, namespace_, name);
    /* The watch still shows what was there before the first of several writes in a row. */
    if (!dep->previous)
        dep->previous = heap_strdup(dep->version);
    remember(dep, tree);
}

/* Is the change news for this canary? Notes what it knows now. */
static bool is_news(struct dep *dep, struct wake_change change, bool hears_status)
{
    change.known = dep->version;
    change.previous = dep->previous;
    enum wake_news news = wake_news(&change, hears_status);
    if (news == WAKE_ECHO)
        forget_previous(dep);
    if (news == WAKE_STATUS)
        set_version(dep, change.now);
    return news == WAKE_NEWS;
}

void deps_index_changed(struct deps_index *index, const struct kube_resource *resource,
                        const struct seen *before, const struct seen *after,
                        bool (*hears_status)(void *owner), void (*fn)(void *owner))
{
    assert((before || after) && "a change has an object before it or after it");
    const struct digest *digest = after ? &after->digest : &before->digest;
    const struct wake_change change = {
        .now = after ? after->digest.resource_version : "",
        .status_only =
            before && after && after->spec_hash != 0 && before->spec_hash == after->spec_hash,
        .is_canary = kube_resource_same(resource, &tick_canaries),
    };
    char key[KEY_MAX];
    make_key(key, resource, digest->namespace_, digest->name);
    for (struct dep *dep = index_find(index, key); dep; dep = dep->next_sharer)
        if (is_news(dep, change, hears_status(dep->deps->owner)))
            fn(dep->deps->owner);
}

/* The namespace and name of a key that begins with the resource's prefix; false for other keys. */
static bool split_key(char *key, const char *prefix, char **namespace_, char **name)
{
    size_t len = strlen(prefix);
    if (strncmp(key, prefix, len) != 0)
        return false;
    *namespace_ = key + len;
    char *slash = strchr(*namespace_, '/');
    if (!slash)
        return false;
    *slash = '\0';
    *name = slash + 1;
    return true;
}

void deps_index_listed(struct deps_index *index, const struct watchset *watches,
                       const struct kube_resource *resource, void (*fn)(void *owner))
{
    char prefix[KEY_MAX], key[KEY_MAX];
    snprintf(prefix, sizeof(prefix), "%s/%s/", resource->group, resource->plural);
    struct dep *dep;
    for (size_t i = 0; (dep = table_next(&index->by_key, &i));) {
        const struct seen *seen = NULL;
        char *namespace_, *name;
        snprintf(key, sizeof(key), "%s", dep->key);
        if (!split_key(key, prefix, &namespace_, &name) ||
            !watchset_look(watches, resource, namespace_, name, &seen) || seen)
            continue;
        for (; dep; dep = dep->next_sharer) {
            if (!dep->unserved && (!dep->version || !*dep->version))
                continue;
            dep->unserved = false;
            forget_previous(dep);
            fn(dep->deps->owner);
        }
    }
}

bool deps_index_has(const struct deps_index *index, const struct kube_resource *resource,
                    const char *namespace_, const char *name)
{
    char key[KEY_MAX];
    make_key(key, resource, namespace_, name);
    return index_find(index, key) != NULL;
}

size_t deps_index_count(const struct deps_index *index)
{
    return index->n_deps;
}
