#include "members/desk.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "members/content.h"

const struct kube_resource desk_plans = {
    .group = "flagger.app", .version = "v1alpha1", .plural = "releaseplans", .kind = "ReleasePlan"};

enum kind { APPS, PLANS, FLEETS, ATTACHED, CLUSTERS, SECRETS, KINDS };
static const struct kube_resource *const resources[KINDS] = {
    [APPS] = &fleet_applications, [PLANS] = &desk_plans,        [FLEETS] = &fleet_fleets,
    [ATTACHED] = &fleet_attached, [CLUSTERS] = &fleet_clusters, [SECRETS] = &kube_secrets};

struct seen {
    struct digest digest;
    uint64_t content;
    char *labels; /* of a Secret that holds the kubeconfig of a cluster: as JSON; NULL: none */
};

struct drawer {
    struct desk *desk;
    enum kind kind;
    const char *namespace_; /* NULL: all */
    struct store *store;
};

/* What is known of a namespace, as long as it is used. */
struct page {
    struct page *next;
    const char *namespace_;
    struct fleet_known known;
};

struct desk {
    struct members_context *context;
    struct desk_owner owner;
    struct drawer *drawers; /* of each kind and namespace */
    size_t count;
    struct arena *arena; /* of the pages; NULL: there are none */
    struct page *pages;
    bool synced;
};

/* --- what is remembered */

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
    struct drawer *drawer = arg;
    struct json_object *labels = json_at(object, "metadata", "labels", NULL);

    seen_of(digest)->content = content_hash(object);
    if (drawer->kind != SECRETS || !json_str_at(labels, FLEET_CLUSTER_LABEL, NULL))
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

static bool is_settled(const struct drawer *drawer)
{
    struct watch_look look;

    store_look(drawer->store, &look);
    return look.synced || look.missing;
}

static void note_synced(struct desk *desk)
{
    if (desk->synced)
        return;
    for (size_t i = 0; i < desk->count; i++)
        if (!desk->drawers[i].store || !is_settled(&desk->drawers[i]))
            return;
    desk->synced = true;
    desk->owner.synced(desk->owner.arg);
}

static void tell_secret(struct desk *desk, const struct seen *before, const struct seen *after)
{
    const struct digest *digest = after ? &after->digest : &before->digest;
    const char *was = before ? before->labels : NULL, *is = after ? after->labels : NULL;

    if ((was || is) && !(was && is && strcmp(was, is) == 0))
        desk->owner.clusters(desk->owner.arg, digest->namespace_);
    desk->owner.secret(desk->owner.arg, digest->namespace_, digest->name);
}

static void on_changed(void *arg, const struct digest *before, const struct digest *after)
{
    struct drawer *drawer = arg;
    struct desk *desk = drawer->desk;
    const struct desk_owner *owner = &desk->owner;
    const struct digest *digest = after ? after : before;

    if (!digest)
        return;
    switch (drawer->kind) {
    case APPS:
        owner->app(owner->arg, digest->namespace_, digest->name);
        break;
    case PLANS:
        owner->plan(owner->arg, digest->namespace_, digest->name);
        break;
    case SECRETS:
        tell_secret(desk, seen_in(before), seen_in(after));
        break;
    default:
        if (!before || !after || seen_in(before)->content != seen_in(after)->content ||
            drawer->kind == CLUSTERS) /* whose status says where its Secret is */
            owner->clusters(owner->arg, digest->namespace_);
    }
}

static void on_settled(void *arg)
{
    note_synced(((struct drawer *)arg)->desk);
}

/* --- life */

static void open_drawer(struct desk *desk, enum kind kind, const char *namespace_)
{
    struct drawer *drawer = &desk->drawers[desk->count++];

    *drawer = (struct drawer){.desk = desk, .kind = kind, .namespace_ = namespace_};
    const struct store_spec spec = {.watch = {.resource = resources[kind],
                                              .namespace_ = namespace_,
                                              .metadata_only = kind == SECRETS},
                                    .size = sizeof(struct seen),
                                    .fill = fill,
                                    .free_extra = free_extra,
                                    .lean = kind == SECRETS ? NULL : lean,
                                    .changed = on_changed,
                                    .settled = on_settled,
                                    .arg = drawer};
    drawer->store = store_new(desk->context->loop, desk->context->kube, &spec);
}

struct desk *desk_new(struct members_context *context, const char *const *namespaces,
                      const struct desk_owner *owner)
{
    static const char *const all[] = {NULL, NULL};
    struct desk *desk = heap_alloc(sizeof(*desk));
    size_t count = 1;

    while (namespaces && namespaces[count])
        count++;
    *desk = (struct desk){.context = context, .owner = *owner};
    desk->drawers = heap_array(count * KINDS, sizeof(*desk->drawers));
    memset(desk->drawers, 0, count * KINDS * sizeof(*desk->drawers));
    for (size_t i = 0; i < count; i++)
        for (int kind = 0; kind < KINDS; kind++)
            open_drawer(desk, (enum kind)kind, namespaces ? namespaces[i] : all[0]);
    return desk;
}

void desk_free(struct desk *desk)
{
    if (!desk)
        return;
    desk_forget(desk);
    for (size_t i = 0; i < desk->count; i++)
        store_free(desk->drawers[i].store);
    free(desk->drawers);
    free(desk);
}

/* --- looking */

bool desk_synced(const struct desk *desk)
{
    return desk->synced;
}

const char *desk_trouble(const struct desk *desk)
{
    for (size_t i = 0; i < desk->count; i++) {
        const char *trouble = store_trouble(desk->drawers[i].store);
        if (trouble && !is_settled(&desk->drawers[i]))
            return trouble;
    }
    return NULL;
}

static const struct drawer *drawer_of(const struct desk *desk, enum kind kind,
                                      const char *namespace_)
{
    for (size_t i = 0; i < desk->count; i++) {
        const struct drawer *drawer = &desk->drawers[i];
        if (drawer->kind == kind &&
            (!drawer->namespace_ || strcmp(drawer->namespace_, namespace_) == 0))
            return drawer;
    }
    return NULL;
}

static enum desk_found find(const struct desk *desk, enum kind kind, struct arena *arena,
                            const char *namespace_, const char *name, struct json_object **out)
{
    const struct drawer *drawer = drawer_of(desk, kind, namespace_);
    const struct digest *digest = drawer ? store_get(drawer->store, namespace_, name) : NULL;

    *out = NULL;
    if (!digest)
        return DESK_NONE;
    return store_unpack(drawer->store, digest, arena, out, NULL) == ERR_OK ? DESK_FOUND
                                                                           : DESK_LATER;
}

enum desk_found desk_app(const struct desk *desk, struct arena *arena, const char *namespace_,
                         const char *name, struct json_object **out)
{
    return find(desk, APPS, arena, namespace_, name, out);
}

enum desk_found desk_plan(const struct desk *desk, struct arena *arena, const char *namespace_,
                          const char *name, struct json_object **out)
{
    return find(desk, PLANS, arena, namespace_, name, out);
}

static void learn(struct desk *desk, enum kind kind, struct json_object *object)
{
    const char *namespace_ = json_str_at(object, "metadata", "namespace", NULL);
    const struct drawer *drawer = namespace_ ? drawer_of(desk, kind, namespace_) : NULL;

    if (drawer)
        store_learn(drawer->store, object);
}

void desk_learn_app(struct desk *desk, struct json_object *object)
{
    learn(desk, APPS, object);
}

void desk_learn_plan(struct desk *desk, struct json_object *object)
{
    learn(desk, PLANS, object);
}

uint64_t desk_app_content(const struct desk *desk, const char *namespace_, const char *name)
{
    const struct drawer *drawer = drawer_of(desk, APPS, namespace_);
    const struct digest *digest = drawer ? store_get(drawer->store, namespace_, name) : NULL;

    return digest ? seen_in(digest)->content : 0;
}

/* All of a namespace, as a list of the arena; NULL: none. */
static struct json_object *gather(const struct desk *desk, enum kind kind, struct arena *arena,
                                  const char *namespace_)
{
    const struct drawer *drawer = drawer_of(desk, kind, namespace_);
    struct json_object *list = json_own(arena, json_object_new_array()), *object;
    const struct digest *digest;

    for (size_t i = 0; drawer && (digest = store_next(drawer->store, &i));) {
        if (strcmp(digest->namespace_, namespace_) != 0)
            continue;
        if (kind != SECRETS) {
            if (store_unpack(drawer->store, digest, arena, &object, NULL) == ERR_OK)
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

const struct fleet_known *desk_known(struct desk *desk, const char *namespace_)
{
    for (const struct page *at = desk->pages; at; at = at->next)
        if (strcmp(at->namespace_, namespace_) == 0)
            return &at->known;
    if (!desk->arena)
        desk->arena = arena_new();
    struct page *page = ARENA_NEW(desk->arena, struct page);
    *page = (struct page){.next = desk->pages,
                          .namespace_ = arena_strdup(desk->arena, namespace_),
                          .known = {.fleets = gather(desk, FLEETS, desk->arena, namespace_),
                                    .attached = gather(desk, ATTACHED, desk->arena, namespace_),
                                    .clusters = gather(desk, CLUSTERS, desk->arena, namespace_),
                                    .secrets = gather(desk, SECRETS, desk->arena, namespace_)}};
    desk->pages = page;
    return &page->known;
}

void desk_forget(struct desk *desk)
{
    arena_free(desk->arena);
    desk->arena = NULL;
    desk->pages = NULL;
}

static void each(const struct desk *desk, enum kind kind,
                 void (*fn)(void *arg, const char *namespace_, const char *name), void *arg)
{
    const struct digest *digest;

    for (size_t i = 0; i < desk->count; i++)
        for (size_t at = 0;
             desk->drawers[i].kind == kind && (digest = store_next(desk->drawers[i].store, &at));)
            fn(arg, digest->namespace_, digest->name);
}

void desk_each_app(const struct desk *desk,
                   void (*fn)(void *arg, const char *namespace_, const char *name), void *arg)
{
    each(desk, APPS, fn, arg);
}

void desk_each_plan(const struct desk *desk,
                    void (*fn)(void *arg, const char *namespace_, const char *name), void *arg)
{
    each(desk, PLANS, fn, arg);
}
