/*
 * The garbage collector, the namespace controller and the CRD finalizer in one round, run from the
 * loop when something was removed, marked for deletion, or created with owners: over these objects,
 * their dependents, and what is dying. A round collects what to do, then does it; what it removes
 * asks for the next round, until nothing is left.
 */
#include <string.h>

#include "api/objinternal.h"
#include "base/log.h"

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

struct round {
    struct objstore *store;
    struct arena *arena;
    struct objfound *owned; /* has ownerReferences */
    struct objfound *dying; /* has deletionTimestamp */
};

static const char *uid_of(struct json_object *obj)
{
    return json_str_at(obj, "metadata", "uid", NULL);
}

/* The object as it is now; NULL when an earlier step of the round removed it. */
static struct json_object *current(struct round *r, const struct objfound *found)
{
    return objstore_by_uid(r->store, uid_of(found->obj));
}

static void delete_it(struct round *r, const struct objfound *found, enum objpropagation how)
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
    objcommit_put(r->store, objset_of_kind(r->store, kind), obj);
}

static void collect_dependents(struct round *r)
{
    for (struct objfound *it = r->owned; it; it = it->next) {
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
    for (struct objfound *it = objowner_dependents(r->store, r->arena, uid); it; it = it->next) {
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
static void finish(struct round *r, const struct objfound *found, struct json_object *obj,
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
    struct objfound *content = NULL;
    for (size_t i = begin; set->kind && i < end; i++)
        if (!set->records[i]->dying)
            objowner_find(r->store, r->arena, &content, set->records[i]);
    for (struct objfound *it = content; it; it = it->next)
        delete_it(r, it, OBJ_BACKGROUND);
    objset_range(set, ns, &begin, &end);
    return begin == end;
}

static void end_namespace(struct round *r, const struct objfound *found, struct json_object *obj)
{
    const char *name = json_str_at(found->obj, "metadata", "name", NULL);
    bool empty = true;
    for (struct objset *set = r->store->sets; set; set = set->next)
        if (set->kind && objkind_namespaced(set->kind))
            empty = empty_set(r, set, name) && empty;
    if (empty && !objmeta_has_finalizer(obj, NULL))
        objdelete_now(r->store, found->kind, obj);
}

static void end_crd(struct round *r, const struct objfound *found, struct json_object *obj)
{
    struct objset *set = objset_of(r->store, json_str_at(found->obj, "spec", "group", NULL),
                                   json_str_at(found->obj, "spec", "names", "plural", NULL));
    if (!set->kind || !set->kind->custom || empty_set(r, set, NULL))
        finish(r, found, obj, CRD_FINALIZER);
}

static void finish_deletions(struct round *r)
{
    for (struct objfound *it = r->dying; it; it = it->next) {
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

void objgc_round(void *arg)
{
    struct objstore *store = arg;
    const struct objrecord *record;
    struct round r = {.store = store, .arena = arena_new()};
    r.owned = objowner_looked(store, r.arena);
    LIST_FOREACH(record, &store->dying, deaths)
    objowner_find(store, r.arena, &r.dying, record);
    collect_dependents(&r);
    finish_deletions(&r);
    arena_free(r.arena);
}
