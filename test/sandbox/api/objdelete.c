/* Deletion of one object: at once, or marked until its finalizers and its graceful end are done. */
#include <string.h>

#include "api/objinternal.h"
#include "base/clock.h"

static enum err find(struct objstore *store, struct objcall *call, const struct objkind *kind,
                     const char *ns, const char *name, struct json_object **obj)
{
    struct objfail *fail = &call->fail;
    fail->arena = call->arena;
    *obj = objstore_get(store, kind, ns, name);
    if (*obj) {
        json_own(call->arena, json_object_get(*obj));
        return ERR_OK;
    }
    return objmeta_not_found(fail, kind, arena_strdup(call->arena, name));
}

static enum err check(struct objcall *call, const struct objkind *kind, struct json_object *obj,
                      const struct objdelete *options)
{
    const char *uid = json_str_at(obj, "metadata", "uid", NULL);
    const char *version = json_str_at(obj, "metadata", "resourceVersion", NULL);
    const char *name = json_str_at(obj, "metadata", "name", NULL);
    if (options->uid && strcmp(options->uid, uid) != 0)
        return objmeta_conflict(&call->fail, kind, name, OBJMETA_OTHER_UID, options->uid, uid);
    if (options->resource_version && strcmp(options->resource_version, version) != 0)
        return objmeta_conflict(&call->fail, kind, name,
                                "the ResourceVersion in the precondition (%s) does not match the "
                                "ResourceVersion in record (%s). The object might have been "
                                "modified",
                                options->resource_version, version);
    return ERR_OK;
}

/* Kinds whose content has to go first: a namespace's objects, a CRD's. See objgc.c. */
static bool is_container(const struct objkind *kind)
{
    return strcmp(kind->kind, "CustomResourceDefinition") == 0 ||
           (strcmp(kind->kind, "Namespace") == 0 && !*kind->group);
}

static int64_t grace_of(struct objset *set, struct json_object *obj,
                        const struct objdelete *options)
{
    if (!set->graceful || options->grace_seconds == 0)
        return 0;
    if (options->grace_seconds > 0)
        return options->grace_seconds;
    /* A pod that runs nowhere has nothing to end. */
    if (!json_str_at(obj, "spec", "nodeName", NULL))
        return 0;
    return json_int_at(obj, 30, "spec", "terminationGracePeriodSeconds", NULL);
}

static struct json_object *mark(struct arena *arena, const struct objkind *kind,
                                struct json_object *obj, const struct objdelete *options,
                                int64_t grace)
{
    struct json_object *copy = json_copy(arena, obj);
    struct json_object *metadata = json_at(copy, "metadata", NULL);
    if (!json_str_at(metadata, "deletionTimestamp", NULL)) {
        char when[CLOCK_TEXT];
        json_set_str(metadata, "deletionTimestamp",
                     clock_rfc3339(clock_wall_ms() + grace * 1000, when));
        json_set_int(metadata, "deletionGracePeriodSeconds", grace);
        if (kind->flags & OBJKIND_GENERATION)
            json_set_int(metadata, "generation", json_int_at(metadata, 0, "generation", NULL) + 1);
    } else if (grace < json_int_at(metadata, 0, "deletionGracePeriodSeconds", NULL)) {
        json_set_int(metadata, "deletionGracePeriodSeconds", grace);
    }
    objmeta_remove_finalizer(copy, "orphan");
    if (options->propagation == OBJ_FOREGROUND)
        objmeta_add_finalizer(copy, "foregroundDeletion");
    else
        objmeta_remove_finalizer(copy, "foregroundDeletion");
    if (strcmp(kind->kind, "Namespace") == 0 && !*kind->group)
        json_set_str(json_sub(copy, "status"), "phase", "Terminating");
    return copy;
}

void objdelete_now(struct objstore *store, const struct objkind *kind, struct json_object *obj)
{
    struct arena *arena = arena_new();
    struct json_object *metadata = json_at(json_own(arena, json_object_get(obj)), "metadata", NULL);
    const char *ns = objkind_namespaced(kind) ? json_str_at(metadata, "namespace", NULL) : NULL;
    const char *key = objset_key(arena, ns, json_str_at(metadata, "name", NULL));
    objcommit_remove(store, objset_of_kind(store, kind), key);
    objowner_look(store, json_str_at(metadata, "uid", NULL));
    if (strcmp(kind->kind, "CustomResourceDefinition") == 0)
        objcrd_changed(store, obj, NULL);
    arena_free(arena);
}

/* Takes uid out of the ownerReferences of its dependents. */
static void orphan(struct objstore *store, const char *uid)
{
    struct arena *arena = arena_new();
    for (struct objfound *it = objowner_dependents(store, arena, uid); it; it = it->next) {
        struct json_object *copy = json_copy(arena, it->obj);
        struct json_object *owners = json_at(copy, "metadata", "ownerReferences", NULL);
        for (size_t i = json_len(owners); i > 0; i--) {
            const char *own = json_str_at(json_elem(owners, i - 1), "uid", NULL);
            if (own && strcmp(own, uid) == 0)
                json_object_array_del_idx(owners, i - 1, 1);
        }
        if (json_len(owners) == 0)
            json_object_object_del(json_at(copy, "metadata", NULL), "ownerReferences");
        objcommit_put(store, objset_of_kind(store, it->kind), copy);
    }
    arena_free(arena);
}

enum err objstore_delete(struct objstore *store, struct objcall *call, const struct objkind *kind,
                         const char *ns, const char *name, const struct objdelete *options,
                         struct json_object **out, bool *gone)
{
    static const struct objdelete plain = {.propagation = OBJ_BACKGROUND};
    options = options ? options : &plain;
    struct json_object *obj;
    enum err err = find(store, call, kind, ns, name, &obj);
    if (err != ERR_OK || (err = check(call, kind, obj, options)) != ERR_OK ||
        (err = objmeta_admit(store, call, kind, OBJOP_DELETE, NULL, obj)) != ERR_OK)
        return err;
    struct objset *set = objset_of_kind(store, kind);
    int64_t grace = grace_of(set, obj, options);
    struct json_object *marked = mark(call->arena, kind, obj, options, grace);
    bool waits = grace > 0 || objmeta_has_finalizer(marked, NULL) || is_container(kind);
    if (!call->dry_run) {
        if (options->propagation == OBJ_ORPHAN)
            orphan(store, json_str_at(obj, "metadata", "uid", NULL));
        if (!waits) {
            objdelete_now(store, kind, obj);
        } else if (!json_same(marked, obj)) {
            objcommit_put(store, set, marked);
            objowner_look(store, json_str_at(obj, "metadata", "uid", NULL));
        }
    }
    const char *version = call->version ? call->version : kind->storage;
    if (out)
        *out = objstore_as_version(call->arena, kind, waits ? marked : obj, version);
    if (gone)
        *gone = !waits;
    return ERR_OK;
}
