#include "api/objstore.h"

#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"

enum { LOG_EVENTS = 2048 };

static void uid_key(const void *record, const char **first, const char **second)
{
    *first = ((const struct objrecord *)record)->uid;
    *second = NULL;
}

static void make_namespace(struct objstore *store, const char *name)
{
    struct objcall call = {.arena = arena_new(), .manager = "sandbox"};
    struct json_object *obj = json_own(call.arena, json_object_new_object());
    json_set_str(json_sub(obj, "metadata"), "name", name);
    if (objstore_create(store, &call, objstore_kind(store, "", "namespaces"), NULL, obj, NULL) !=
        ERR_OK)
        abort(); /* two constant names in an empty store */
    arena_free(call.arena);
}

struct objstore *objstore_new(struct loop *loop, size_t log_events)
{
    struct objstore *store = heap_alloc(sizeof(*store));
    *store = (struct objstore){.loop = loop};
    table_init(&store->uids, uid_key);
    TAILQ_INIT(&store->lately);
    objgc_init(store);
    store->log = objlog_new(store, log_events ? log_events : LOG_EVENTS);
    for (const struct objkind *kind = objkind_builtin(); kind->kind; kind++) {
        struct objset *set = objset_of_kind(store, kind);
        if (!set->kind)
            set->kind = kind;
    }
    make_namespace(store, "default");
    make_namespace(store, "kube-system");
    return store;
}

void objstore_free(struct objstore *store)
{
    if (!store)
        return;
    objlog_free(store->log);
    table_fini(&store->uids);
    while (store->sets) {
        struct objset *set = store->sets;
        store->sets = set->next;
        objset_free(store, set);
    }
    objgc_free(store);
    while (store->admits) {
        struct objadmit *admit = store->admits;
        store->admits = admit->next;
        free(admit);
    }
    objcrd_free(store);
    free(store);
}

struct kind_query {
    const char *group, *plural, *kind;
    const struct objkind *found;
};

static void match_kind(void *arg, const struct objkind *kind)
{
    struct kind_query *query = arg;
    if (!query->found && strcmp(kind->group, query->group) == 0 &&
        (!query->plural || strcmp(kind->plural, query->plural) == 0) &&
        (!query->kind || strcmp(kind->kind, query->kind) == 0))
        query->found = kind;
}

const struct objkind *objstore_kind(struct objstore *store, const char *group, const char *plural)
{
    struct kind_query query = {.group = group, .plural = plural};
    objstore_kinds(store, match_kind, &query);
    return query.found;
}

const struct objkind *objstore_kind_named(struct objstore *store, const char *group,
                                          const char *kind)
{
    struct kind_query query = {.group = group, .kind = kind};
    objstore_kinds(store, match_kind, &query);
    return query.found;
}

void objstore_kinds(struct objstore *store, void (*fn)(void *arg, const struct objkind *kind),
                    void *arg)
{
    for (const struct objkind *kind = objkind_builtin(); kind->kind; kind++)
        fn(arg, kind);
    for (struct objcustom *custom = store->customs; custom; custom = custom->next)
        if (custom->kind.served)
            fn(arg, &custom->kind);
}

struct json_object *objstore_get(struct objstore *store, const struct objkind *kind, const char *ns,
                                 const char *name)
{
    struct arena *arena = arena_new();
    struct objrecord *record = objset_get(
        objset_of_kind(store, kind), objset_key(arena, objkind_namespaced(kind) ? ns : NULL, name));
    arena_free(arena);
    return record ? objstate_tree(store, record->state) : NULL;
}

struct json_object *objstore_by_uid(struct objstore *store, const char *uid)
{
    const struct objrecord *record = table_get(&store->uids, uid, NULL);
    return record ? objstate_tree(store, record->state) : NULL;
}

size_t objstore_list(struct objstore *store, struct arena *arena, const struct objkind *kind,
                     const char *ns, struct json_object ***items)
{
    struct objset *set = objset_of_kind(store, kind);
    size_t begin, end;
    objset_range(set, ns, &begin, &end);
    *items = arena_array(arena, end - begin, sizeof(struct json_object *));
    for (size_t i = begin; i < end; i++)
        (*items)[i - begin] =
            json_own(arena, json_object_get(objstate_tree(store, set->records[i]->state)));
    return end - begin;
}

void objstore_graceful(struct objstore *store, const struct objkind *kind)
{
    objset_of_kind(store, kind)->graceful = true;
}

void objstore_on_admit(struct objstore *store, const struct objkind *kind, objadmit_fn fn,
                       void *arg)
{
    struct objadmit *admit = heap_alloc(sizeof(*admit));
    *admit = (struct objadmit){.kind = kind, .fn = fn, .arg = arg};
    struct objadmit **at = &store->admits;
    while (*at)
        at = &(*at)->next;
    *at = admit;
}

struct json_object *objstore_as_version(struct arena *arena, const struct objkind *kind,
                                        struct json_object *obj, const char *version)
{
    const char *wanted = objkind_api_version(arena, kind, version);
    const char *from = json_str_at(obj, "apiVersion", NULL);
    if (from && strcmp(from, wanted) == 0)
        return obj;
    struct json_object *copy = json_copy(arena, obj);
    json_set_str(copy, "apiVersion", wanted);
    return copy;
}
