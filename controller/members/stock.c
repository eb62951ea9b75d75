#include "members/stock.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fleet/fleet.h"
#include "fleet/waves.h"
#include "members/content.h"

static const struct {
    const struct kube_resource *resource;
    bool labelled; /* only those with our label are watched */
} kinds[STOCK_KINDS] = {
    {&fleet_canaries, false},  {&fleet_namespaces, false}, {&kube_services, false},
    {&kube_deployments, true}, {&fleet_templates, true},   {&fleet_ingresses, true},
};
enum { CANARIES };

struct shelf {
    struct stock *stock;
    int kind;
    struct store *store; /* NULL: nobody needs it */
    bool settled;
};

struct stock {
    struct members_context *context;
    struct kube_client *kube;
    struct stock_owner owner;
    struct shelf shelves[STOCK_KINDS];
};

static int kind_of(const struct kube_resource *resource)
{
    for (int i = 0; i < STOCK_KINDS; i++)
        if (kinds[i].resource == resource)
            return i;
    return -1;
}

/* --- what is remembered */

uint64_t stock_mark(const char *mark)
{
    return mark ? name_hash(mark, NULL) : 0;
}

/* What is packed: the rules read no status but what stock_canary has of it. */
static struct json_object *lean(void *arg, struct json_object *object)
{
    (void)arg;
    return content_without(object, true);
}

static void fill_seen(struct stock_seen *seen, struct json_object *object)
{
    seen->content = content_hash(object);
    seen->mark = stock_mark(json_str_at(object, "metadata", "annotations", FLEET_MARK, NULL));
}

static void fill_labels(struct stock_canary *canary, struct json_object *labels)
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
static void fill_texts(struct stock_canary *canary, struct json_object *object)
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
    struct stock_canary *canary = (struct stock_canary *)(void *)digest;
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
    struct stock_canary *canary = (struct stock_canary *)(void *)digest;

    free(canary->texts);
    free(canary->labels);
}

static void fill_other(void *arg, struct digest *digest, struct json_object *object)
{
    (void)arg;
    fill_seen((struct stock_seen *)(void *)digest, object);
}

/* --- the stores */

static const struct stock_seen *seen_of(const struct digest *digest)
{
    return (const struct stock_seen *)(const void *)digest;
}

static void on_changed(void *arg, const struct digest *before, const struct digest *after)
{
    struct shelf *shelf = arg;
    const struct stock_owner *owner = &shelf->stock->owner;

    if (before || after)
        owner->changed(owner->arg, kinds[shelf->kind].resource, seen_of(before), seen_of(after));
}

static void on_settled(void *arg)
{
    struct shelf *shelf = arg;

    shelf->settled = true;
    shelf->stock->owner.settled(shelf->stock->owner.arg);
}

static bool wants(void *arg, const char *namespace_, const char *name)
{
    struct shelf *shelf = arg;
    const struct stock_owner *owner = &shelf->stock->owner;

    return kinds[shelf->kind].labelled ||
           owner->wants(owner->arg, kinds[shelf->kind].resource, namespace_, name);
}

static void open_shelf(struct stock *stock, int kind)
{
    struct shelf *shelf = &stock->shelves[kind];
    bool canaries = kind == CANARIES;
    const struct store_spec spec = {
        .watch = {.resource = kinds[kind].resource,
                  .label_selector =
                      kinds[kind].labelled ? FLEET_LABEL "=" FLEET_LABEL_VALUE : NULL},
        .size = canaries ? sizeof(struct stock_canary) : sizeof(struct stock_seen),
        .fill = canaries ? fill_canary : fill_other,
        .free_extra = canaries ? free_canary : NULL,
        .wants = canaries ? NULL : wants,
        .lean = lean,
        .packer = stock->context->packers[kind],
        .changed = on_changed,
        .settled = on_settled,
        .arg = shelf};

    if (!shelf->store)
        shelf->store = store_new(stock->context->loop, stock->kube, &spec);
}

struct stock *stock_new(struct members_context *context, struct kube_client *kube,
                        const struct stock_owner *owner)
{
    struct stock *stock = heap_alloc(sizeof(*stock));

    *stock = (struct stock){.context = context, .kube = kube, .owner = *owner};
    for (int i = 0; i < STOCK_KINDS; i++)
        stock->shelves[i] = (struct shelf){.stock = stock, .kind = i};
    open_shelf(stock, CANARIES);
    return stock;
}

void stock_free(struct stock *stock)
{
    if (!stock)
        return;
    for (int i = 0; i < STOCK_KINDS; i++)
        store_free(stock->shelves[i].store);
    free(stock);
}

void stock_need(struct stock *stock, const struct kube_resource *resource)
{
    int kind = kind_of(resource);

    if (kind >= 0)
        open_shelf(stock, kind);
}

/* --- looking */

bool stock_look(const struct stock *stock, struct arena *arena,
                const struct kube_resource *resource, const char *namespace_, const char *name,
                struct json_object **out)
{
    int kind = kind_of(resource);
    const struct store *store = kind >= 0 ? stock->shelves[kind].store : NULL;
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

void stock_learn(struct stock *stock, const struct kube_resource *resource,
                 struct json_object *object)
{
    int kind = kind_of(resource);

    if (kind >= 0 && stock->shelves[kind].store)
        store_learn(stock->shelves[kind].store, object);
}

void stock_learn_gone(struct stock *stock, const struct kube_resource *resource,
                      const char *namespace_, const char *name, const char *uid)
{
    int kind = kind_of(resource);

    if (kind >= 0 && stock->shelves[kind].store)
        store_learn_gone(stock->shelves[kind].store, namespace_, name, name_hash(NULL, uid));
}

static const struct stock_canary *canary_of(const struct digest *digest)
{
    return (const struct stock_canary *)(const void *)digest;
}

const struct stock_canary *stock_canary(const struct stock *stock, const char *namespace_,
                                        const char *name)
{
    return canary_of(store_get(stock->shelves[CANARIES].store, namespace_, name));
}

const struct stock_canary *stock_next(const struct stock *stock, size_t *index)
{
    return canary_of(store_next(stock->shelves[CANARIES].store, index));
}

bool stock_has_label(const struct stock_canary *canary, const char *key, const char *value)
{
    uint64_t wanted = name_hash(key, value);

    for (int i = 0; i < canary->n_labels; i++)
        if (canary->labels[i] == wanted)
            return true;
    return false;
}

void stock_marked(const struct stock *stock, uint64_t mark,
                  void (*fn)(void *arg, const struct kube_resource *resource,
                             const struct digest *digest),
                  void *arg)
{
    for (int kind = 0; kind < STOCK_KINDS; kind++) {
        const struct store *store = stock->shelves[kind].store;
        const struct digest *digest;
        for (size_t i = 0; store && (digest = store_next(store, &i));)
            if (seen_of(digest)->mark == mark)
                fn(arg, kinds[kind].resource, digest);
    }
}

bool stock_synced(const struct stock *stock)
{
    return store_synced(stock->shelves[CANARIES].store);
}

bool stock_settled(const struct stock *stock)
{
    for (int i = 0; i < STOCK_KINDS; i++)
        if (stock->shelves[i].store && !stock->shelves[i].settled)
            return false;
    return true;
}

const char *stock_trouble(const struct stock *stock, bool *missing)
{
    struct watch_look look;

    store_look(stock->shelves[CANARIES].store, &look);
    *missing = look.missing;
    return look.trouble;
}

int64_t stock_heard_ms(const struct stock *stock)
{
    struct watch_look look;

    store_look(stock->shelves[CANARIES].store, &look);
    return look.heard_ms;
}

size_t stock_canaries(const struct stock *stock)
{
    return store_count(stock->shelves[CANARIES].store);
}
