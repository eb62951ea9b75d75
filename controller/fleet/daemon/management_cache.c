#include "fleet/daemon/management_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fleet/daemon/member_cache.h"

const struct kube_resource fleet_plans_resource = {
    .group = "flagger.app", .version = "v1alpha1", .plural = "releaseplans", .kind = "ReleasePlan"};

enum kind { APPS, PLANS, FLEETS, ATTACHED, CLUSTERS, SECRETS, KINDS };
static const struct kube_resource *const resources[KINDS] = {
    [APPS] = &fleet_applications, [PLANS] = &fleet_plans_resource, [FLEETS] = &fleet_fleets,
    [ATTACHED] = &fleet_attached, [CLUSTERS] = &fleet_clusters,    [SECRETS] = &kube_secrets};

struct seen {
    struct digest digest;
    uint64_t content;
    char *labels; /* of a Secret that holds the kubeconfig of a cluster: as JSON; NULL if none */
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
    struct informer *informers; /* of each kind and namespace */
    size_t count;
    struct arena *arena; /* of the snapshots; NULL if there are none */
    struct namespace_snapshot *snapshots;
    bool synced;
};

/* --- the digests */

static struct seen *seen_of(struct digest *digest)
{
    return (struct seen *)(void *)digest;
}

static const struct seen *seen_in(const struct digest *digest)
{
    return (const struct seen *)(const void *)digest;
}

static struct json_object *lean(void *arg, struct json_object *object)
{
    (void)arg;
    return content_without(object, false);
}

static void fill(void *arg, struct digest *digest, struct json_object *object)
{
    struct informer *informer = arg;
    struct json_object *labels = json_at(object, "metadata", "labels", NULL);

    seen_of(digest)->content = content_hash(object);
    if (informer->kind != SECRETS || !json_str_at(labels, FLEET_CLUSTER_LABEL, NULL))
        return;
    struct arena *arena = arena_new();
    seen_of(digest)->labels = heap_strdup(json_text(arena, labels));
    arena_free(arena);
}

static void free_extra(struct digest *digest)
{
    free(seen_of(digest)->labels);
}

/* --- changes */

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

static void on_changed(void *arg, const struct digest *before, const struct digest *after)
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

static void on_settled(void *arg)
{
    note_synced(((struct informer *)arg)->management);
}

/* --- life */

static void open_drawer(struct management_cache *management, enum kind kind, const char *namespace_)
{
    struct informer *informer = &management->informers[management->count++];

    *informer = (struct informer){.management = management, .kind = kind, .namespace_ = namespace_};
    const struct store_spec spec = {.watch = {.resource = resources[kind],
                                              .namespace_ = namespace_,
                                              .metadata_only = kind == SECRETS},
                                    .size = sizeof(struct seen),
                                    .fill = fill,
                                    .free_extra = free_extra,
                                    .strip = kind == SECRETS ? NULL : lean,
                                    .changed = on_changed,
                                    .settled = on_settled,
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
            open_drawer(management, (enum kind)kind, namespaces ? namespaces[i] : all[0]);
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

/* --- looking */

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

/* All of a namespace, as a list of the arena; NULL if none. */
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
