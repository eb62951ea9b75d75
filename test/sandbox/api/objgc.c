/*
 * The garbage collector, the namespace controller and the CRD finalizer in one round, run from the
 * loop when something was removed, marked for deletion, or created with owners: over these objects,
 * their dependents, and what is dying. A round collects what to do, then does it; what it removes
 * asks for the next round, until nothing is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"
#include "base/log.h"

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

struct found {
    const struct objkind *kind;
    struct json_object *obj;
    struct found *next;
};

struct round {
    struct objstore *store;
    struct arena *arena;
    struct found *owned; /* has ownerReferences */
    struct found *dying; /* has deletionTimestamp */
};

/* Whose owner an object is, by its uid; whether it exists or not. */
struct objowner {
    char uid[OBJ_UID];
    struct objrecord **dependents;
    size_t count, cap;
};

struct objuid {
    struct objuid *next;
    char uid[OBJ_UID];
};

static void owner_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct objowner *)item)->uid;
    *second = NULL;
}

void objgc_init(struct objstore *store)
{
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

void objgc_note(struct objstore *store, struct objrecord *record, struct json_object *tree)
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

static void note(struct round *r, struct found **list, const struct objrecord *record)
{
    if (!record->set->kind)
        return;
    struct found *found = ARENA_NEW(r->arena, struct found);
    *found = (struct found){
        .kind = record->set->kind,
        .obj = json_own(r->arena, json_object_get(objstate_tree(r->store, record->state)))};
    found->next = *list;
    *list = found;
}

static struct found *dependents_of(struct round *r, const char *uid)
{
    const struct objowner *owner = table_get(&r->store->owners, uid, NULL);
    struct found *list = NULL;
    for (size_t i = 0; owner && i < owner->count; i++)
        note(r, &list, owner->dependents[i]);
    return list;
}

static void look_around(struct round *r)
{
    struct objrecord *record;
    while (r->store->looks) {
        struct objuid *look = r->store->looks;
        r->store->looks = look->next;
        record = table_get(&r->store->uids, look->uid, NULL);
        const struct objowner *owner =
            record ? NULL : table_get(&r->store->owners, look->uid, NULL);
        if (record && record->owned)
            note(r, &r->owned, record);
        for (size_t i = 0; owner && i < owner->count; i++)
            note(r, &r->owned, owner->dependents[i]);
        free(look);
    }
    LIST_FOREACH(record, &r->store->dying, deaths) note(r, &r->dying, record);
}

static const char *uid_of(struct json_object *obj)
{
    return json_str_at(obj, "metadata", "uid", NULL);
}

/* The object as it is now; NULL when an earlier step of the round removed it. */
static struct json_object *current(struct round *r, const struct found *found)
{
    return objstore_by_uid(r->store, uid_of(found->obj));
}

static void delete_it(struct round *r, const struct found *found, enum objpropagation how)
{
    struct objcall call = {.arena = r->arena, .manager = "garbage-collector"};
    struct json_object *metadata = json_at(found->obj, "metadata", NULL);
    struct objdelete options = {.propagation = how, .uid = uid_of(found->obj), .grace_seconds = -1};
    enum err err =
        objstore_delete(r->store, &call, found->kind, json_str_at(metadata, "namespace", NULL),
                        json_str_at(metadata, "name", NULL), &options, NULL, NULL);
    if (err != ERR_OK && err != ERR_NOT_FOUND && err != ERR_CONFLICT)
        log_warn("gc_delete", NULL, call.fail.message, LOG_STR("kind", found->kind->kind));
}

/* Without the references to owners that are gone; NULL when none of its owners is left. */
static struct json_object *living_owners(struct round *r, struct json_object *obj)
{
    struct json_object *owners = json_at(obj, "metadata", "ownerReferences", NULL);
    struct json_object *living = json_own(r->arena, json_object_new_array());
    for (size_t i = 0; i < json_len(owners); i++) {
        const char *uid = json_str_at(json_elem(owners, i), "uid", NULL);
        if (uid && objstore_by_uid(r->store, uid))
            json_object_array_add(living, json_object_get(json_elem(owners, i)));
    }
    return json_len(living) > 0 ? living : NULL;
}

static void store_changed(struct round *r, const struct objkind *kind, struct json_object *obj)
{
    objset_commit(r->store, objset_of_kind(r->store, kind), obj);
}

static void collect_dependents(struct round *r)
{
    for (struct found *it = r->owned; it; it = it->next) {
        struct json_object *obj = current(r, it);
        if (!obj)
            continue;
        struct json_object *owners = json_at(obj, "metadata", "ownerReferences", NULL);
        struct json_object *living = living_owners(r, obj);
        if (!living && !json_at(obj, "metadata", "deletionTimestamp", NULL)) {
            delete_it(r, it, OBJ_BACKGROUND);
        } else if (living && json_len(living) < json_len(owners)) {
            struct json_object *copy = json_copy(r->arena, obj);
            json_set(json_at(copy, "metadata", NULL), "ownerReferences", living);
            store_changed(r, it->kind, copy);
        }
    }
}

static bool is_owned_by(struct json_object *obj, const char *uid, bool *blocks)
{
    struct json_object *owners = json_at(obj, "metadata", "ownerReferences", NULL);
    for (size_t i = 0; i < json_len(owners); i++) {
        const char *own = json_str_at(json_elem(owners, i), "uid", NULL);
        if (own && strcmp(own, uid) == 0) {
            *blocks = json_bool_at(json_elem(owners, i), false, "blockOwnerDeletion", NULL);
            return true;
        }
    }
    return false;
}

/* Deletes the dependents of a foreground deletion; true when none that blocks is left. */
static bool delete_dependents(struct round *r, const char *uid)
{
    bool done = true;
    for (struct found *it = dependents_of(r, uid); it; it = it->next) {
        struct json_object *obj = current(r, it);
        bool blocks = false;
        if (!obj || !is_owned_by(obj, uid, &blocks))
            continue;
        if (!json_at(obj, "metadata", "deletionTimestamp", NULL)) {
            delete_it(r, it, OBJ_FOREGROUND);
            obj = current(r, it);
        }
        done = done && (!obj || !blocks);
    }
    return done;
}

/* Takes a finalizer away, and the object too if it was the last. */
static void finish(struct round *r, const struct found *found, struct json_object *obj,
                   const char *finalizer)
{
    struct json_object *copy = json_copy(r->arena, obj);
    objmeta_remove_finalizer(copy, finalizer);
    bool graceful = json_int_at(copy, 0, "metadata", "deletionGracePeriodSeconds", NULL) > 0;
    if (objmeta_has_finalizer(copy, NULL) || graceful)
        store_changed(r, found->kind, copy);
    else
        objdelete_now(r->store, found->kind, obj);
}

static bool empty_set(struct round *r, struct objset *set, const char *ns)
{
    size_t begin, end;
    objset_range(set, ns, &begin, &end);
    struct found *content = NULL;
    for (size_t i = begin; set->kind && i < end; i++)
        if (!set->records[i]->dying)
            note(r, &content, set->records[i]);
    for (struct found *it = content; it; it = it->next)
        delete_it(r, it, OBJ_BACKGROUND);
    objset_range(set, ns, &begin, &end);
    return begin == end;
}

static void end_namespace(struct round *r, const struct found *found, struct json_object *obj)
{
    const char *name = json_str_at(found->obj, "metadata", "name", NULL);
    bool empty = true;
    for (struct objset *set = r->store->sets; set; set = set->next)
        if (set->kind && objkind_namespaced(set->kind))
            empty = empty_set(r, set, name) && empty;
    if (empty && !objmeta_has_finalizer(obj, NULL))
        objdelete_now(r->store, found->kind, obj);
}

static void end_crd(struct round *r, const struct found *found, struct json_object *obj)
{
    struct objset *set = objset_of(r->store, json_str_at(found->obj, "spec", "group", NULL),
                                   json_str_at(found->obj, "spec", "names", "plural", NULL));
    if (!set->kind || !set->kind->custom || empty_set(r, set, NULL))
        finish(r, found, obj, CRD_FINALIZER);
}

static void finish_deletions(struct round *r)
{
    for (struct found *it = r->dying; it; it = it->next) {
        struct json_object *obj = current(r, it);
        if (!obj)
            continue;
        json_own(r->arena, json_object_get(obj));
        if (objmeta_has_finalizer(obj, "foregroundDeletion")) {
            if (delete_dependents(r, uid_of(it->obj)))
                finish(r, it, obj, "foregroundDeletion");
        } else if (strcmp(it->kind->kind, "Namespace") == 0 && !it->kind->custom) {
            end_namespace(r, it, obj);
        } else if (strcmp(it->kind->kind, "CustomResourceDefinition") == 0) {
            end_crd(r, it, obj);
        }
    }
}

static void run_round(void *arg)
{
    struct objstore *store = arg;
    store->gc_timer = NULL;
    struct round r = {.store = store, .arena = arena_new()};
    look_around(&r);
    collect_dependents(&r);
    finish_deletions(&r);
    arena_free(r.arena);
}

static void run_soon(struct objstore *store)
{
    if (!store->gc_timer)
        store->gc_timer = timer_start(store->loop, 0, 0, run_round, store);
}

void objgc_soon(struct objstore *store, const char *uid)
{
    struct objuid *look = heap_alloc(sizeof(*look));
    *look = (struct objuid){.next = store->looks};
    (void)snprintf(look->uid, sizeof(look->uid), "%s", uid);
    store->looks = look;
    run_soon(store);
}

void objgc_soon_all(struct objstore *store)
{
    const struct objowner *owner;
    for (size_t i = 0; (owner = table_next(&store->owners, &i));)
        if (!table_get(&store->uids, owner->uid, NULL))
            objgc_soon(store, owner->uid);
    run_soon(store);
}

void objgc_orphan(struct objstore *store, const char *uid)
{
    struct round r = {.store = store, .arena = arena_new()};
    for (struct found *it = dependents_of(&r, uid); it; it = it->next) {
        bool blocks;
        if (!is_owned_by(it->obj, uid, &blocks))
            continue;
        struct json_object *copy = json_copy(r.arena, it->obj);
        struct json_object *owners = json_at(copy, "metadata", "ownerReferences", NULL);
        for (size_t i = json_len(owners); i > 0; i--) {
            const char *own = json_str_at(json_elem(owners, i - 1), "uid", NULL);
            if (own && strcmp(own, uid) == 0)
                json_object_array_del_idx(owners, i - 1, 1);
        }
        if (json_len(owners) == 0)
            json_object_object_del(json_at(copy, "metadata", NULL), "ownerReferences");
        store_changed(&r, it->kind, copy);
    }
    arena_free(r.arena);
}

void objgc_free(struct objstore *store)
{
    struct objowner *owner;
    timer_stop(store->gc_timer);
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
