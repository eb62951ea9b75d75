/* Finding kinds, objects and the sets that keep them. */
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"

struct objset *objset_of(struct objstore *store, const char *group, const char *plural)
{
    struct objset **at = &store->sets;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->group, group) == 0 && strcmp((*at)->plural, plural) == 0)
            return *at;
    struct objset *set = heap_alloc(sizeof(*set));
    *set = (struct objset){.group = heap_strdup(group), .plural = heap_strdup(plural)};
    *at = set;
    return set;
}

struct objset *objset_of_kind(struct objstore *store, const struct objkind *kind)
{
    return objset_of(store, kind->group, kind->plural);
}

size_t objset_find(const struct objset *set, const char *key, bool *found)
{
    size_t low = 0, high = set->count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(set->records[middle]->key, key);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct objrecord *objset_get(const struct objset *set, const char *key)
{
    bool found;
    size_t index = objset_find(set, key, &found);
    return found ? set->records[index] : NULL;
}

void objset_range(const struct objset *set, const char *ns, size_t *begin, size_t *end)
{
    *begin = 0;
    *end = set->count;
    if (!ns || !*ns)
        return;
    /* Keys of a namespace lie between "ns/" and "ns0": '0' is the byte after '/'. */
    bool found;
    struct arena *arena = arena_new();
    *begin = objset_find(set, arena_printf(arena, "%s/", ns), &found);
    *end = objset_find(set, arena_printf(arena, "%s0", ns), &found);
    arena_free(arena);
}

char *objset_key(struct arena *arena, const char *ns, const char *name)
{
    return ns && *ns ? arena_printf(arena, "%s/%s", ns, name) : arena_strdup(arena, name);
}

void objset_free(struct objstore *store, struct objset *set)
{
    for (size_t i = 0; i < set->count; i++) {
        objstate_put(store, set->records[i]->state);
        free(set->records[i]->key);
        free(set->records[i]);
    }
    free(set->records);
    free(set->group);
    free(set->plural);
    free(set);
}

/* ---- what is in the store ---- */

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
