/* Which objects name which as their owner, which are dying, and at which the collector has to look. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"

/* By its uid; whether it exists or not. */
struct objowner {
    char uid[OBJ_UID];
    struct objrecord **dependents;
    size_t count, cap;
};

/* An object at which to look in the next round, or at its dependents. */
struct objuid {
    struct objuid *next;
    char uid[OBJ_UID];
};

static void owner_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct objowner *)item)->uid;
    *second = NULL;
}

void objowner_init(struct objstore *store, void (*look)(void *store))
{
    store->look = look;
    table_init(&store->owners, owner_key);
    LIST_INIT(&store->dying);
}

static void join(struct objstore *store, struct objrecord *record, const char *uid)
{
    struct objowner *owner = table_get(&store->owners, uid, NULL);
    if (!owner) {
        owner = heap_alloc(sizeof(*owner));
        *owner = (struct objowner){0};
        (void)snprintf(owner->uid, sizeof(owner->uid), "%s", uid);
        table_put(&store->owners, owner);
    }
    if (owner->count == owner->cap) {
        owner->cap = owner->cap ? owner->cap * 2 : 4;
        owner->dependents = heap_grow(owner->dependents, owner->cap * sizeof(struct objrecord *));
    }
    owner->dependents[owner->count++] = record;
}

static void leave(struct objstore *store, struct objrecord *record, const char *uid)
{
    struct objowner *owner = table_get(&store->owners, uid, NULL);
    size_t i = 0;
    while (owner->dependents[i] != record)
        i++;
    owner->dependents[i] = owner->dependents[--owner->count];
    if (owner->count > 0)
        return;
    table_take(&store->owners, uid, NULL);
    free(owner->dependents);
    free(owner);
}

/* An owner's uid is any text to the API; no object has one that is as long as this. */
static void each_owner(struct objstore *store, struct objrecord *record, struct json_object *tree,
                       void (*fn)(struct objstore *store, struct objrecord *record,
                                  const char *uid))
{
    struct json_object *owners = json_at(tree, "metadata", "ownerReferences", NULL);
    for (size_t i = 0; i < json_len(owners); i++) {
        const char *uid = json_str_at(json_elem(owners, i), "uid", NULL);
        if (uid && strlen(uid) < OBJ_UID)
            fn(store, record, uid);
    }
}

void objowner_note(struct objstore *store, struct objrecord *record, struct json_object *tree)
{
    struct json_object *metadata = json_at(tree, "metadata", NULL);
    bool dying = json_at(metadata, "deletionTimestamp", NULL);
    if (record->owned)
        each_owner(store, record, objstate_tree(store, record->state), leave);
    each_owner(store, record, tree, join);
    record->owned = json_len(json_at(metadata, "ownerReferences", NULL)) > 0;
    if (dying && !record->dying)
        LIST_INSERT_HEAD(&store->dying, record, deaths);
    else if (!dying && record->dying)
        LIST_REMOVE(record, deaths);
    record->dying = dying;
}

/* ---- at whom to look ---- */

void objowner_find(struct objstore *store, struct arena *arena, struct objfound **list,
                   const struct objrecord *record)
{
    if (!record->set->kind)
        return;
    struct objfound *found = ARENA_NEW(arena, struct objfound);
    *found = (struct objfound){
        .kind = record->set->kind,
        .obj = json_own(arena, json_object_get(objstate_tree(store, record->state))),
        .next = *list};
    *list = found;
}

static void find_dependents(struct objstore *store, struct arena *arena, struct objfound **list,
                            const char *uid)
{
    const struct objowner *owner = table_get(&store->owners, uid, NULL);
    for (size_t i = 0; owner && i < owner->count; i++)
        objowner_find(store, arena, list, owner->dependents[i]);
}

struct objfound *objowner_dependents(struct objstore *store, struct arena *arena, const char *uid)
{
    struct objfound *list = NULL;
    find_dependents(store, arena, &list, uid);
    return list;
}

struct objfound *objowner_looked(struct objstore *store, struct arena *arena)
{
    struct objfound *list = NULL;
    store->look_timer = NULL;
    while (store->looks) {
        struct objuid *look = store->looks;
        store->looks = look->next;
        const struct objrecord *record = table_get(&store->uids, look->uid, NULL);
        if (record && record->owned)
            objowner_find(store, arena, &list, record);
        else if (!record)
            find_dependents(store, arena, &list, look->uid);
        free(look);
    }
    return list;
}

static void look_soon(struct objstore *store)
{
    if (!store->look_timer)
        store->look_timer = timer_start(store->loop, 0, 0, store->look, store);
}

void objowner_look(struct objstore *store, const char *uid)
{
    struct objuid *look = heap_alloc(sizeof(*look));
    *look = (struct objuid){.next = store->looks};
    (void)snprintf(look->uid, sizeof(look->uid), "%s", uid);
    store->looks = look;
    look_soon(store);
}

void objowner_look_all(struct objstore *store)
{
    const struct objowner *owner;
    for (size_t i = 0; (owner = table_next(&store->owners, &i));)
        if (!table_get(&store->uids, owner->uid, NULL))
            objowner_look(store, owner->uid);
    look_soon(store);
}

void objowner_free(struct objstore *store)
{
    struct objowner *owner;
    timer_stop(store->look_timer);
    while (store->looks) {
        struct objuid *look = store->looks;
        store->looks = look->next;
        free(look);
    }
    for (size_t i = 0; (owner = table_next(&store->owners, &i));) {
        free(owner->dependents);
        free(owner);
    }
    table_fini(&store->owners);
}
