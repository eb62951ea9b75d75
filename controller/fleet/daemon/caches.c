#include "fleet/daemon/caches.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fleet/rules/fleet.h"
#include "fleet/rules/waves.h"
#include "kube/kept_object.h"

static const struct {
    const struct kube_resource *resource;
    bool labelled; /* only objects with our label are watched */
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

/* --- a member cluster: the digests */

uint64_t member_cache_mark(const char *mark)
{
    return mark ? name_hash(mark, NULL) : 0;
}

/* The part that is kept: the rules read only the fields of the status that member_cache_canary()
 * provides. */
static struct json_object *strip_status(void *arg, struct json_object *object)
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

/* Stores the texts in one block. */
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

/* --- a member cluster: the stores */

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
        .strip = strip_status,
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

/* --- a member cluster: lookups */

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

/* --- the management cluster */

const struct kube_resource fleet_plans_resource = {
    .group = "flagger.app", .version = "v1alpha1", .plural = "releaseplans", .kind = "ReleasePlan"};

enum kind { APPS, PLANS, FLEETS, ATTACHED, CLUSTERS, SECRETS, KINDS };
static const struct kube_resource *const resources[KINDS] = {
    [APPS] = &fleet_applications, [PLANS] = &fleet_plans_resource, [FLEETS] = &fleet_fleets,
    [ATTACHED] = &fleet_attached, [CLUSTERS] = &fleet_clusters,    [SECRETS] = &kube_secrets};

struct seen {
    struct digest digest;
    uint64_t content;
    char *labels; /* labels of a Secret with the kubeconfig of a cluster, as JSON; NULL if none */
};

struct informer {
    struct management_cache *management;
    enum kind kind;
    const char *namespace_; /* NULL for all */
    struct store *store;
};

/* The objects of a namespace, kept while they are used. */
struct namespace_snapshot {
    struct namespace_snapshot *next;
    const char *namespace_;
    struct fleet_known known;
};

struct management_cache {
    struct members_context *context;
    struct management_cache_owner owner;
    struct informer *informers; /* one for each kind and namespace */
    size_t count;
    struct arena *arena; /* arena of the snapshots; NULL if there are none */
    struct namespace_snapshot *snapshots;
    bool synced;
};

/* --- the management cluster: the digests */

static struct seen *seen_at(struct digest *digest)
{
    return (struct seen *)(void *)digest;
}

static const struct seen *seen_in(const struct digest *digest)
{
    return (const struct seen *)(const void *)digest;
}

static struct json_object *strip_managed_fields(void *arg, struct json_object *object)
{
    (void)arg;
    return content_without(object, false);
}

static void fill(void *arg, struct digest *digest, struct json_object *object)
{
    struct informer *informer = arg;
    struct json_object *labels = json_at(object, "metadata", "labels", NULL);

    seen_at(digest)->content = content_hash(object);
    if (informer->kind != SECRETS || !json_str_at(labels, FLEET_CLUSTER_LABEL, NULL))
        return;
    struct arena *arena = arena_new();
    seen_at(digest)->labels = heap_strdup(json_text(arena, labels));
    arena_free(arena);
}

static void free_extra(struct digest *digest)
{
    free(seen_at(digest)->labels);
}

/* --- the management cluster: changes */

static bool is_settled(const struct informer *informer)
{
    struct watch_snapshot look;

    store_snapshot(informer->store, &look);
    return look.synced || look.missing;
}

static void note_synced(struct management_cache *management)
{
    if (management->synced)
        return;
    for (size_t i = 0; i < management->count; i++)
        if (!management->informers[i].store || !is_settled(&management->informers[i]))
            return;
    management->synced = true;
    management->owner.synced(management->owner.arg);
}

static void tell_secret(struct management_cache *management, const struct seen *before,
                        const struct seen *after)
{
    const struct digest *digest = after ? &after->digest : &before->digest;
    const char *was = before ? before->labels : NULL, *is = after ? after->labels : NULL;

    if ((was || is) && !(was && is && strcmp(was, is) == 0))
        management->owner.clusters(management->owner.arg, digest->namespace_);
    management->owner.secret(management->owner.arg, digest->namespace_, digest->name);
}

static void on_informer_changed(void *arg, const struct digest *before, const struct digest *after)
{
    struct informer *informer = arg;
    struct management_cache *management = informer->management;
    const struct management_cache_owner *owner = &management->owner;
    const struct digest *digest = after ? after : before;

    if (!digest)
        return;
    switch (informer->kind) {
    case APPS:
        owner->app(owner->arg, digest->namespace_, digest->name);
        break;
    case PLANS:
        owner->plan(owner->arg, digest->namespace_, digest->name);
        break;
    case SECRETS:
        tell_secret(management, seen_in(before), seen_in(after));
        break;
    default:
        if (!before || !after || seen_in(before)->content != seen_in(after)->content ||
            informer->kind == CLUSTERS) /* its status names its Secret */
            owner->clusters(owner->arg, digest->namespace_);
    }
}

static void on_informer_settled(void *arg)
{
    note_synced(((struct informer *)arg)->management);
}

/* --- the management cluster: life */

static void open_informer(struct management_cache *management, enum kind kind,
                          const char *namespace_)
{
    struct informer *informer = &management->informers[management->count++];

    *informer = (struct informer){.management = management, .kind = kind, .namespace_ = namespace_};
    const struct store_spec spec = {.watch = {.resource = resources[kind],
                                              .namespace_ = namespace_,
                                              .metadata_only = kind == SECRETS},
                                    .size = sizeof(struct seen),
                                    .fill = fill,
                                    .free_extra = free_extra,
                                    .strip = kind == SECRETS ? NULL : strip_managed_fields,
                                    .changed = on_informer_changed,
                                    .settled = on_informer_settled,
                                    .arg = informer};
    informer->store = store_new(management->context->loop, management->context->kube, &spec);
}

struct management_cache *management_cache_new(struct members_context *context,
                                              const char *const *namespaces,
                                              const struct management_cache_owner *owner)
{
    static const char *const all[] = {NULL, NULL};
    struct management_cache *management = heap_alloc(sizeof(*management));
    size_t count = 1;

    while (namespaces && namespaces[count])
        count++;
    *management = (struct management_cache){.context = context, .owner = *owner};
    management->informers = heap_array(count * KINDS, sizeof(*management->informers));
    memset(management->informers, 0, count * KINDS * sizeof(*management->informers));
    for (size_t i = 0; i < count; i++)
        for (int kind = 0; kind < KINDS; kind++)
            open_informer(management, (enum kind)kind, namespaces ? namespaces[i] : all[0]);
    return management;
}

void management_cache_free(struct management_cache *management)
{
    if (!management)
        return;
    management_cache_forget(management);
    for (size_t i = 0; i < management->count; i++)
        store_free(management->informers[i].store);
    free(management->informers);
    free(management);
}

/* --- the management cluster: lookups */

bool management_cache_synced(const struct management_cache *management)
{
    return management->synced;
}

const char *management_cache_trouble(const struct management_cache *management)
{
    for (size_t i = 0; i < management->count; i++) {
        const char *trouble = store_trouble(management->informers[i].store);
        if (trouble && !is_settled(&management->informers[i]))
            return trouble;
    }
    return NULL;
}

static const struct informer *informer_of(const struct management_cache *management, enum kind kind,
                                          const char *namespace_)
{
    for (size_t i = 0; i < management->count; i++) {
        const struct informer *informer = &management->informers[i];
        if (informer->kind == kind &&
            (!informer->namespace_ || strcmp(informer->namespace_, namespace_) == 0))
            return informer;
    }
    return NULL;
}

static enum management_found find(const struct management_cache *management, enum kind kind,
                                  struct arena *arena, const char *namespace_, const char *name,
                                  struct json_object **out)
{
    const struct informer *informer = informer_of(management, kind, namespace_);
    const struct digest *digest = informer ? store_get(informer->store, namespace_, name) : NULL;

    *out = NULL;
    if (!digest)
        return MANAGEMENT_NONE;
    return store_unpack(informer->store, digest, arena, out, NULL) == ERR_OK ? MANAGEMENT_FOUND
                                                                             : MANAGEMENT_LATER;
}

enum management_found management_cache_app(const struct management_cache *management,
                                           struct arena *arena, const char *namespace_,
                                           const char *name, struct json_object **out)
{
    return find(management, APPS, arena, namespace_, name, out);
}

enum management_found management_cache_plan(const struct management_cache *management,
                                            struct arena *arena, const char *namespace_,
                                            const char *name, struct json_object **out)
{
    return find(management, PLANS, arena, namespace_, name, out);
}

static void learn(struct management_cache *management, enum kind kind, struct json_object *object)
{
    const char *namespace_ = json_str_at(object, "metadata", "namespace", NULL);
    const struct informer *informer = namespace_ ? informer_of(management, kind, namespace_) : NULL;

    if (informer)
        store_learn(informer->store, object);
}

void management_cache_learn_app(struct management_cache *management, struct json_object *object)
{
    learn(management, APPS, object);
}

void management_cache_learn_plan(struct management_cache *management, struct json_object *object)
{
    learn(management, PLANS, object);
}

uint64_t management_cache_app_content(const struct management_cache *management,
                                      const char *namespace_, const char *name)
{
    const struct informer *informer = informer_of(management, APPS, namespace_);
    const struct digest *digest = informer ? store_get(informer->store, namespace_, name) : NULL;

    return digest ? seen_in(digest)->content : 0;
}

/* All objects in a namespace, as a list in the arena; NULL if there are none. */
static struct json_object *gather(const struct management_cache *management, enum kind kind,
                                  struct arena *arena, const char *namespace_)
{
    const struct informer *informer = informer_of(management, kind, namespace_);
    struct json_object *list = json_own(arena, json_object_new_array()), *object;
    const struct digest *digest;

    for (size_t i = 0; informer && (digest = store_next(informer->store, &i));) {
        if (strcmp(digest->namespace_, namespace_) != 0)
            continue;
        if (kind != SECRETS) {
            if (store_unpack(informer->store, digest, arena, &object, NULL) == ERR_OK)
                json_object_array_add(list, json_object_get(object));
            continue;
        }
        const char *labels = seen_in(digest)->labels;
        struct json_object *map;
        if (!labels ||
            json_parse(arena, labels, strlen(labels), REPLY_MAX_TEXT, &map, NULL) != ERR_OK)
            continue;
        object = json_object_new_object();
        json_object_array_add(list, object);
        json_set_str(json_sub(object, "metadata"), "name", digest->name);
        json_set(json_sub(object, "metadata"), "labels", map);
    }
    return list;
}

const struct fleet_known *management_cache_known(struct management_cache *management,
                                                 const char *namespace_)
{
    for (const struct namespace_snapshot *at = management->snapshots; at; at = at->next)
        if (strcmp(at->namespace_, namespace_) == 0)
            return &at->known;
    if (!management->arena)
        management->arena = arena_new();
    struct namespace_snapshot *snapshot = ARENA_NEW(management->arena, struct namespace_snapshot);
    *snapshot = (struct namespace_snapshot){
        .next = management->snapshots,
        .namespace_ = arena_strdup(management->arena, namespace_),
        .known = {.fleets = gather(management, FLEETS, management->arena, namespace_),
                  .attached = gather(management, ATTACHED, management->arena, namespace_),
                  .clusters = gather(management, CLUSTERS, management->arena, namespace_),
                  .secrets = gather(management, SECRETS, management->arena, namespace_)}};
    management->snapshots = snapshot;
    return &snapshot->known;
}

void management_cache_forget(struct management_cache *management)
{
    arena_free(management->arena);
    management->arena = NULL;
    management->snapshots = NULL;
}

void management_cache_each_plan(const struct management_cache *management,
                                void (*fn)(void *arg, const char *namespace_, const char *name),
                                void *arg)
{
    const struct digest *digest;

    for (size_t i = 0; i < management->count; i++)
        for (size_t at = 0; management->informers[i].kind == PLANS &&
                            (digest = store_next(management->informers[i].store, &at));)
            fn(arg, digest->namespace_, digest->name);
}
