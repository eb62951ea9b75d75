#include "fleet/daemon/member_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fleet/rules/fleet.h"
#include "fleet/rules/waves.h"
#include "kube/kept_object.h"

static const struct {
    const struct kube_resource *resource;
    bool labelled; /* only those with our label are watched */
} kinds[MEMBER_CACHE_KINDS] = {
    {&fleet_canaries, false},  {&fleet_namespaces, false}, {&kube_services, false},
    {&kube_deployments, true}, {&fleet_templates, true},   {&fleet_ingresses, true},
};
enum { CANARIES };

struct kind_store {
    struct member_cache *cache;
    int kind;
    struct store *store; /* NULL if not needed */
    bool settled;
};

struct member_cache {
    struct members_context *context;
    struct kube_client *kube;
    struct member_cache_owner owner;
    struct kind_store kinds[MEMBER_CACHE_KINDS];
};

static int kind_of(const struct kube_resource *resource)
{
    for (int i = 0; i < MEMBER_CACHE_KINDS; i++)
        if (kinds[i].resource == resource)
            return i;
    return -1;
}

/* --- the digests */

uint64_t member_cache_mark(const char *mark)
{
    return mark ? name_hash(mark, NULL) : 0;
}

/* The part that is kept: the rules read of the status only the fields of member_cache_canary(). */
static struct json_object *lean(void *arg, struct json_object *object)
{
    (void)arg;
    return content_without(object, true);
}

static void fill_seen(struct member_object *seen, struct json_object *object)
{
    seen->content = content_hash(object);
    seen->mark =
        member_cache_mark(json_str_at(object, "metadata", "annotations", FLEET_MARK, NULL));
}

static void fill_labels(struct member_canary *canary, struct json_object *labels)
{
    enum { MOST = 1000 };
    int count = labels ? json_object_object_length(labels) : 0;

    if (count == 0 || count > MOST)
        return;
    canary->labels = heap_array((size_t)count, sizeof(*canary->labels));
    json_object_object_foreach(labels, key, value)
    {
        canary->labels[canary->n_labels++] = name_hash(key, json_object_get_string(value));
    }
}

/* The texts in one block. */
static void fill_texts(struct member_canary *canary, struct json_object *object)
{
    struct json_object *status = json_at(object, "status", NULL);
    struct json_object *notes = json_at(object, "metadata", "annotations", NULL);
    const char *const texts[] = {
        json_str_at(status, "lastAppliedSpec", NULL), json_str_at(status, "lastPromotedSpec", NULL),
        json_str_at(status, "lastTransitionTime", NULL), json_str_at(notes, WAVES_HELD_BY, NULL),
        json_str_at(notes, WAVES_MANAGER, NULL)};
    const char **const to[] = {&canary->applied, &canary->promoted, &canary->transition,
                               &canary->held_by, &canary->manager};
    enum { COUNT = sizeof(texts) / sizeof(texts[0]), MOST = 1024 };
    size_t sizes[COUNT], all = 0;

    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = texts[i] ? strnlen(texts[i], MOST) + 1 : 1;
        all += sizes[i];
    }
    char *at = canary->texts = heap_alloc(all);
    for (size_t i = 0; i < COUNT; i++) {
        memcpy(at, texts[i] ? texts[i] : "", sizes[i] - 1);
        at[sizes[i] - 1] = '\0';
        *to[i] = at;
        at += sizes[i];
    }
}

static int small(struct json_object *status, const char *key)
{
    int64_t value = json_int_at(status, 0, key, NULL);

    return value < 0 || value > INT32_MAX ? 0 : (int)value;
}

static void fill_canary(void *arg, struct digest *digest, struct json_object *object)
{
    struct member_canary *canary = (struct member_canary *)(void *)digest;
    struct json_object *status = json_at(object, "status", NULL);

    (void)arg;
    fill_seen(&canary->seen, object);
    canary->phase = phase_parse(json_str_at(status, "phase", NULL));
    canary->weight = small(status, "canaryWeight");
    canary->failed_checks = small(status, "failedChecks");
    canary->iterations = small(status, "iterations");
    canary->suspended = json_bool_at(object, false, "spec", "suspend", NULL);
    canary->deleting = json_at(object, "metadata", "deletionTimestamp", NULL) != NULL;
    fill_texts(canary, object);
    fill_labels(canary, json_at(object, "metadata", "labels", NULL));
}

static void free_canary(struct digest *digest)
{
    struct member_canary *canary = (struct member_canary *)(void *)digest;

    free(canary->texts);
    free(canary->labels);
}

static void fill_other(void *arg, struct digest *digest, struct json_object *object)
{
    (void)arg;
    fill_seen((struct member_object *)(void *)digest, object);
}

/* --- the stores */

static const struct member_object *seen_of(const struct digest *digest)
{
    return (const struct member_object *)(const void *)digest;
}

static void on_changed(void *arg, const struct digest *before, const struct digest *after)
{
    struct kind_store *kept = arg;
    const struct member_cache_owner *owner = &kept->cache->owner;

    if (before || after)
        owner->changed(owner->arg, kinds[kept->kind].resource, seen_of(before), seen_of(after));
}

static void on_settled(void *arg)
{
    struct kind_store *kept = arg;

    kept->settled = true;
    kept->cache->owner.settled(kept->cache->owner.arg);
}

static bool wants(void *arg, const char *namespace_, const char *name)
{
    struct kind_store *kept = arg;
    const struct member_cache_owner *owner = &kept->cache->owner;

    return kinds[kept->kind].labelled ||
           owner->wants(owner->arg, kinds[kept->kind].resource, namespace_, name);
}

static void open_kind(struct member_cache *cache, int kind)
{
    struct kind_store *kept = &cache->kinds[kind];
    bool canaries = kind == CANARIES;
    const struct store_spec spec = {
        .watch = {.resource = kinds[kind].resource,
                  .label_selector =
                      kinds[kind].labelled ? FLEET_LABEL "=" FLEET_LABEL_VALUE : NULL},
        .size = canaries ? sizeof(struct member_canary) : sizeof(struct member_object),
        .fill = canaries ? fill_canary : fill_other,
        .free_extra = canaries ? free_canary : NULL,
        .wants = canaries ? NULL : wants,
        .strip = lean,
        .compressor = cache->context->object_compressors[kind],
        .changed = on_changed,
        .settled = on_settled,
        .arg = kept};

    if (!kept->store)
        kept->store = store_new(cache->context->loop, cache->kube, &spec);
}

struct member_cache *member_cache_new(struct members_context *context, struct kube_client *kube,
                                      const struct member_cache_owner *owner)
{
    struct member_cache *cache = heap_alloc(sizeof(*cache));

    *cache = (struct member_cache){.context = context, .kube = kube, .owner = *owner};
    for (int i = 0; i < MEMBER_CACHE_KINDS; i++)
        cache->kinds[i] = (struct kind_store){.cache = cache, .kind = i};
    open_kind(cache, CANARIES);
    return cache;
}

void member_cache_free(struct member_cache *cache)
{
    if (!cache)
        return;
    for (int i = 0; i < MEMBER_CACHE_KINDS; i++)
        store_free(cache->kinds[i].store);
    free(cache);
}

void member_cache_need(struct member_cache *cache, const struct kube_resource *resource)
{
    int kind = kind_of(resource);

    if (kind >= 0)
        open_kind(cache, kind);
}

/* --- looking */

bool member_cache_find(const struct member_cache *cache, struct arena *arena,
                       const struct kube_resource *resource, const char *namespace_,
                       const char *name, struct json_object **out)
{
    int kind = kind_of(resource);
    const struct store *store = kind >= 0 ? cache->kinds[kind].store : NULL;
    const struct digest *digest;

    *out = NULL;
    if (!store || !store_synced(store))
        return false;
    switch (store_find(store, namespace_, name, &digest)) {
    case STORE_ABSENT:
        return !kinds[kind].labelled;
    case STORE_EXISTS:
        return false;
    case STORE_KEPT:
        return store_unpack(store, digest, arena, out, NULL) == ERR_OK;
    }
    return false;
}

void member_cache_learn(struct member_cache *cache, const struct kube_resource *resource,
                        struct json_object *object)
{
    int kind = kind_of(resource);

    if (kind >= 0 && cache->kinds[kind].store)
        store_learn(cache->kinds[kind].store, object);
}

void member_cache_learn_gone(struct member_cache *cache, const struct kube_resource *resource,
                             const char *namespace_, const char *name, const char *uid)
{
    int kind = kind_of(resource);

    if (kind >= 0 && cache->kinds[kind].store)
        store_learn_gone(cache->kinds[kind].store, namespace_, name, name_hash(NULL, uid));
}

static const struct member_canary *canary_of(const struct digest *digest)
{
    return (const struct member_canary *)(const void *)digest;
}

const struct member_canary *member_cache_canary(const struct member_cache *cache,
                                                const char *namespace_, const char *name)
{
    return canary_of(store_get(cache->kinds[CANARIES].store, namespace_, name));
}

const struct member_canary *member_cache_next(const struct member_cache *cache, size_t *index)
{
    return canary_of(store_next(cache->kinds[CANARIES].store, index));
}

bool member_cache_has_label(const struct member_canary *canary, const char *key, const char *value)
{
    uint64_t wanted = name_hash(key, value);

    for (int i = 0; i < canary->n_labels; i++)
        if (canary->labels[i] == wanted)
            return true;
    return false;
}

void member_cache_marked(const struct member_cache *cache, uint64_t mark,
                         void (*fn)(void *arg, const struct kube_resource *resource,
                                    const struct digest *digest),
                         void *arg)
{
    for (int kind = 0; kind < MEMBER_CACHE_KINDS; kind++) {
        const struct store *store = cache->kinds[kind].store;
        const struct digest *digest;
        for (size_t i = 0; store && (digest = store_next(store, &i));)
            if (seen_of(digest)->mark == mark)
                fn(arg, kinds[kind].resource, digest);
    }
}

bool member_cache_synced(const struct member_cache *cache)
{
    return store_synced(cache->kinds[CANARIES].store);
}

bool member_cache_settled(const struct member_cache *cache)
{
    for (int i = 0; i < MEMBER_CACHE_KINDS; i++)
        if (cache->kinds[i].store && !cache->kinds[i].settled)
            return false;
    return true;
}

const char *member_cache_trouble(const struct member_cache *cache, bool *missing)
{
    struct watch_snapshot look;

    store_snapshot(cache->kinds[CANARIES].store, &look);
    *missing = look.missing;
    return look.trouble;
}

int64_t member_cache_heard_ms(const struct member_cache *cache)
{
    struct watch_snapshot look;

    store_snapshot(cache->kinds[CANARIES].store, &look);
    return look.heard_ms;
}

size_t member_cache_canaries(const struct member_cache *cache)
{
    return store_count(cache->kinds[CANARIES].store);
}

/* left_out is NULL-terminated. */
static struct json_object *without(struct json_object *object, const char *const *left_out)
{
    struct json_object *copy = json_object_new_object();

    json_object_object_foreach(object, key, value)
    {
        bool kept = true;
        for (const char *const *at = left_out; *at; at++)
            kept = kept && strcmp(key, *at) != 0;
        if (kept)
            json_set(copy, key, value);
    }
    return copy;
}

static struct json_object *slim(struct json_object *object, const char *const *left_out,
                                const char *const *metadata_left_out)
{
    struct json_object *copy = without(object, left_out);
    struct json_object *metadata = json_at(object, "metadata", NULL);

    if (metadata)
        json_object_object_add(copy, "metadata", without(metadata, metadata_left_out));
    return copy;
}

static const char *const nothing[] = {NULL};
static const char *const the_status[] = {"status", NULL};

struct json_object *content_without(struct json_object *object, bool status)
{
    static const char *const managers[] = {"managedFields", NULL};

    return slim(object, status ? the_status : nothing, managers);
}

uint64_t content_hash(struct json_object *object)
{
    static const char *const bookkeeping[] = {"managedFields", "resourceVersion", "generation",
                                              NULL};
    struct arena *arena = arena_new();
    struct json_object *part = json_own(arena, slim(object, the_status, bookkeeping));
    uint64_t hash = name_hash(json_text(arena, part), NULL);

    arena_free(arena);
    return hash;
}
