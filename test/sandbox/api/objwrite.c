/*
 * Create and update: from the tree that somebody sent to the tree that is stored. Both go the same
 * way: normalise (version, namespace) - prune and default - system fields - admission - validation
 * - store.
 */
#include <inttypes.h>
#include <string.h>

#include "api/objinternal.h"
#include "base/clock.h"
#include "object/managed.h"
#include "object/schema.h"

/* One write on its way. */
struct write {
    struct objstore *store;
    struct objcall *call;
    const struct objkind *kind;
    const struct objversion *version; /* of the request */
    struct json_object *obj;          /* the new tree, ours to change */
    struct json_object *old;          /* NULL on create */
    enum objop op;
    const char *ns, *name;
};

static struct arena *arena_of(struct write *w)
{
    return w->call->arena;
}

/* Built-in kinds have no schema here; their outer shape is all that decoding would have refused. */
static bool has_shape(struct json_object *obj)
{
    static const char *const parts[] = {"metadata", "spec", "status"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct json_object *part = json_at(obj, parts[i], NULL);
        if (part && !json_object_is_type(part, json_type_object))
            return false;
    }
    return json_object_is_type(obj, json_type_object);
}

static enum err check_type(struct write *w, struct json_object *obj)
{
    struct objfail *fail = &w->call->fail;
    const char *kind = json_str_at(obj, "kind", NULL);
    const char *api_version = json_str_at(obj, "apiVersion", NULL);
    const char *expected = objkind_api_version(arena_of(w), w->kind, w->version->name);
    if (!has_shape(obj))
        return objfail_set(fail, 400, "BadRequest",
                           "%s in version \"%s\" cannot be handled as a %s: metadata, spec and "
                           "status must be objects",
                           w->kind->kind, w->version->name, w->kind->kind);
    if (kind && strcmp(kind, w->kind->kind) != 0) {
        return objfail_set(fail, 400, "BadRequest",
                           "the object provided is unrecognized (must be of type %s): kind is %s",
                           w->kind->kind, kind);
    }
    if (api_version && strcmp(api_version, expected) != 0)
        return objfail_set(fail, 400, "BadRequest",
                           "the API version in the data (%s) does not match the expected API "
                           "version (%s)",
                           api_version, expected);
    return ERR_OK;
}

/* Copies what was sent, with kind, apiVersion, name and namespace as the request says. */
static enum err take_in(struct write *w, const char *ns, struct json_object *sent)
{
    struct objfail *fail = &w->call->fail;
    fail->arena = arena_of(w);
    const char *wanted = w->call->version ? w->call->version : w->kind->storage;
    w->version = objkind_version(w->kind, wanted);
    if (!w->version)
        return objfail_set(fail, 404, "NotFound", "%s has no version %s", w->kind->kind, wanted);
    enum err err = check_type(w, sent);
    if (err != ERR_OK)
        return err;
    /* apiVersion and kind come first for the reader of kubectl get -o yaml. */
    w->obj = json_own(arena_of(w), json_object_new_object());
    json_set_str(w->obj, "apiVersion", objkind_api_version(arena_of(w), w->kind, w->version->name));
    json_set_str(w->obj, "kind", w->kind->kind);
    json_object_object_foreach(json_copy(arena_of(w), sent), key, value)
    {
        if (strcmp(key, "apiVersion") != 0 && strcmp(key, "kind") != 0)
            json_set(w->obj, key, value);
    }
    struct json_object *metadata = json_sub(w->obj, "metadata");
    objtidy(w->obj, !w->kind->custom);
    const char *own = json_str_at(metadata, "namespace", NULL);
    if (!objkind_namespaced(w->kind)) {
        json_object_object_del(metadata, "namespace");
        return ERR_OK;
    }
    if (own && *own && ns && *ns && strcmp(own, ns) != 0)
        return objfail_set(fail, 400, "BadRequest",
                           "the namespace of the provided object does not match the namespace "
                           "sent on the request");
    w->ns = ns && *ns ? ns : own;
    if (!w->ns || !*w->ns)
        return objfail_set(fail, 400, "BadRequest",
                           "an empty namespace may not be set when a resource name is provided");
    w->ns = arena_strdup(arena_of(w), w->ns);
    json_set_str(metadata, "namespace", w->ns);
    return ERR_OK;
}

static void warn(struct write *w, const char *text)
{
    if (!w->call->warnings)
        w->call->warnings = json_own(arena_of(w), json_object_new_array());
    json_object_array_add(w->call->warnings, json_object_new_string(text));
}

static enum err report_unknown(struct write *w, const struct schema_paths *unknown)
{
    for (size_t i = 0; i < unknown->count; i++) {
        const char *text = arena_printf(arena_of(w), "unknown field \"%s\"", unknown->paths[i]);
        if (w->call->strict)
            return objfail_set(&w->call->fail, 400, "BadRequest",
                               "%s in version \"%s\" cannot be handled as a %s: strict decoding "
                               "error: %s",
                               w->kind->kind, w->version->name, w->kind->kind, text);
        if (!w->call->quiet)
            warn(w, text);
    }
    return ERR_OK;
}

static enum err prune_and_default(struct write *w)
{
    const struct schema *schema = w->version->schema;
    if (schema && w->kind->custom) { /* those of the built-in kinds do not know all fields */
        struct schema_paths unknown = {0};
        schema_prune(schema, arena_of(w), w->obj, &unknown);
        enum err err = report_unknown(w, &unknown);
        if (err != ERR_OK)
            return err;
    }
    if (schema)
        schema_default(schema, w->obj);
    const char *storage = objkind_api_version(arena_of(w), w->kind, w->kind->storage);
    json_set_str(w->obj, "apiVersion", storage);
    if (w->kind->defaults)
        w->kind->defaults(w->obj, w->old);
    return ERR_OK;
}

static enum err check_namespace(struct write *w)
{
    struct objfail *fail = &w->call->fail;
    if (!w->ns)
        return ERR_OK;
    struct json_object *ns =
        objstore_get(w->store, objstore_kind(w->store, "", "namespaces"), NULL, w->ns);
    if (!ns) {
        fail->kind = "namespaces";
        fail->name = w->ns;
        return objfail_set(fail, 404, "NotFound", "namespaces \"%s\" not found", w->ns);
    }
    if (json_str_at(ns, "metadata", "deletionTimestamp", NULL)) {
        objmeta_describe(fail, w->kind, w->name);
        return objfail_set(fail, 403, "Forbidden",
                           "%s \"%s\" is forbidden: unable to create new content in namespace %s "
                           "because it is being terminated",
                           objkind_resource(arena_of(w), w->kind), w->name, w->ns);
    }
    return ERR_OK;
}

static bool is_rbac(const struct objkind *kind)
{
    return strcmp(kind->group, "rbac.authorization.k8s.io") == 0;
}

static enum err validate(struct write *w)
{
    struct objfail *fail = &w->call->fail;
    if (w->op == OBJOP_CREATE) {
        if (!w->name || !*w->name) {
            objfail_cause(fail, CAUSE_REQUIRED, "metadata.name",
                          "Required value: name or generateName is required");
        } else {
            objname_check(fail, "metadata.name", w->name,
                          is_rbac(w->kind) ? OBJNAME_SEGMENT : OBJNAME_SUBDOMAIN);
        }
    }
    objname_check_metadata(fail, w->obj);
    fail->causes.arena = arena_of(w);
    if (w->version->schema)
        (void)schema_validate(w->version->schema, w->obj, &fail->causes);
    if (w->kind->validate)
        w->kind->validate(fail, w->obj, w->old);
    return objfail_invalid(fail, w->kind->group, w->kind->kind, w->name);
}

/* A field that only the version of the request knows is not stored. */
static void prune_for_storage(struct write *w)
{
    const struct objversion *storage = objkind_version(w->kind, w->kind->storage);
    if (storage != w->version && storage->schema && w->kind->custom) {
        schema_prune(storage->schema, arena_of(w), w->obj, NULL);
        schema_default(storage->schema, w->obj);
    }
}

static void track(struct write *w, enum objsub sub)
{
    const char *manager = w->call->manager ? w->call->manager : "unknown";
    managed_note(arena_of(w), w->obj, w->old, manager, sub == OBJSUB_STATUS ? "status" : NULL,
                 clock_wall_ms());
}

static void make_service_account(struct objstore *store, const char *ns)
{
    struct objcall call = {.arena = arena_new(), .manager = "sandbox"};
    struct json_object *account = json_own(call.arena, json_object_new_object());
    json_set_str(json_sub(account, "metadata"), "name", "default");
    /* Cannot fail: the namespace was just made, and the name is a constant. */
    (void)!objstore_create(store, &call, objstore_kind(store, "", "serviceaccounts"), ns, account,
                           NULL);
    arena_free(call.arena);
}

static void commit(struct write *w)
{
    struct objset *set = objset_of_kind(w->store, w->kind);
    struct json_object *old = json_own(arena_of(w), json_object_get(w->old));
    objcommit_put(w->store, set, w->obj);
    if (w->kind->kind[0] == 'C' && strcmp(w->kind->kind, "CustomResourceDefinition") == 0)
        objcrd_changed(w->store, old, w->obj);
    if (!old && strcmp(w->kind->plural, "namespaces") == 0 && !*w->kind->group)
        make_service_account(w->store, w->name);
    if (json_len(json_at(w->obj, "metadata", "ownerReferences", NULL)) > 0 ||
        objmeta_has_finalizer(w->obj, "foregroundDeletion"))
        objowner_look(w->store, json_str_at(w->obj, "metadata", "uid", NULL));
}

static void give_out(struct write *w, struct json_object **out)
{
    if (out)
        *out = objstore_as_version(arena_of(w), w->kind, w->obj, w->version->name);
}

/* ---- create ---- */

static void new_metadata(struct write *w)
{
    static const char *const system[] = {"resourceVersion",   "uid",
                                         "deletionTimestamp", "deletionGracePeriodSeconds",
                                         "selfLink",          "generation"};
    struct json_object *metadata = json_at(w->obj, "metadata", NULL);
    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
        json_object_object_del(metadata, system[i]);
    char uid[37], now[CLOCK_TEXT];
    json_set_str(metadata, "uid", objmeta_uid(uid));
    json_set_str(metadata, "creationTimestamp", clock_rfc3339(clock_wall_ms(), now));
    if (w->kind->flags & OBJKIND_GENERATION)
        json_set_int(metadata, "generation", 1);
}

static enum err choose_name(struct write *w)
{
    enum { ATTEMPTS = 8 };
    struct objfail *fail = &w->call->fail;
    struct json_object *metadata = json_at(w->obj, "metadata", NULL);
    const char *base = json_str_at(metadata, "generateName", NULL);
    w->name = json_str_at(metadata, "name", NULL);
    bool generate = (!w->name || !*w->name) && base && *base;
    for (int i = 0; generate && i < ATTEMPTS; i++) {
        w->name = objmeta_generate_name(arena_of(w), base);
        if (!objstore_get(w->store, w->kind, w->ns, w->name))
            break;
    }
    if (generate)
        json_set_str(metadata, "name", w->name);
    if (w->name && *w->name && objstore_get(w->store, w->kind, w->ns, w->name)) {
        objmeta_describe(fail, w->kind, w->name);
        return objfail_set(fail, 409, "AlreadyExists", "%s \"%s\" already exists",
                           objkind_resource(arena_of(w), w->kind), w->name);
    }
    return ERR_OK;
}

enum err objstore_create(struct objstore *store, struct objcall *call, const struct objkind *kind,
                         const char *ns, struct json_object *obj, struct json_object **out)
{
    struct write w = {.store = store, .call = call, .kind = kind, .op = OBJOP_CREATE};
    enum err err = take_in(&w, ns, obj);
    if (err != ERR_OK)
        return err;
    const char *version = json_str_at(w.obj, "metadata", "resourceVersion", NULL);
    if (version && *version && strcmp(version, "0") != 0)
        return objfail_set(&call->fail, 400, "BadRequest",
                           "resourceVersion should not be set on objects to be created");
    if (w.version->flags & OBJKIND_STATUS)
        json_object_object_del(w.obj, "status");
    if ((err = choose_name(&w)) != ERR_OK || (err = check_namespace(&w)) != ERR_OK ||
        (err = prune_and_default(&w)) != ERR_OK)
        return err;
    new_metadata(&w);
    if ((err = objmeta_admit(store, call, kind, w.op, w.obj, w.old)) != ERR_OK ||
        (err = validate(&w)) != ERR_OK)
        return err;
    prune_for_storage(&w);
    if (strcmp(kind->kind, "CustomResourceDefinition") == 0) {
        objmeta_add_finalizer(w.obj, "customresourcecleanup.apiextensions.k8s.io");
        objcrd_status(store, w.obj);
    }
    track(&w, OBJSUB_NONE);
    if (!call->dry_run)
        commit(&w);
    give_out(&w, out);
    return ERR_OK;
}

/* ---- update ---- */

/* The status of a custom object is written over the metadata as it is: another uid there says
 * nothing. */
static enum err check_preconditions(struct write *w, enum objsub sub)
{
    struct objfail *fail = &w->call->fail;
    const char *version = json_str_at(w->obj, "metadata", "resourceVersion", NULL);
    const char *uid = json_str_at(w->obj, "metadata", "uid", NULL);
    const char *old_version = json_str_at(w->old, "metadata", "resourceVersion", NULL);
    const char *old_uid = json_str_at(w->old, "metadata", "uid", NULL);
    bool ignored = sub == OBJSUB_STATUS && w->kind->custom;
    if (uid && *uid && strcmp(uid, old_uid) != 0 && !ignored)
        return objmeta_conflict(fail, w->kind, w->name, OBJMETA_OTHER_UID, uid, old_uid);
    if (version && *version && strcmp(version, "0") != 0 && strcmp(version, old_version) != 0)
        return objmeta_conflict(fail, w->kind, w->name,
                                "the object has been modified; please apply your changes to the "
                                "latest version and try again");
    return ERR_OK;
}

/* What no client can change. */
static void keep_metadata(struct write *w)
{
    static const char *const system[] = {"name",
                                         "namespace",
                                         "uid",
                                         "creationTimestamp",
                                         "deletionTimestamp",
                                         "deletionGracePeriodSeconds",
                                         "generation",
                                         "generateName",
                                         "resourceVersion"};
    struct json_object *metadata = json_at(w->obj, "metadata", NULL);
    struct json_object *before = json_at(w->old, "metadata", NULL);
    json_object_object_del(metadata, "selfLink");
    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++) {
        struct json_object *value = json_at(before, system[i], NULL);
        if (value)
            json_set(metadata, system[i], value);
        else
            json_object_object_del(metadata, system[i]);
    }
}

/* A plain write keeps the status; a status write keeps everything else, but for a Deployment's
 * annotations: its controller writes its revision so. */
static void split_status(struct write *w, enum objsub sub)
{
    struct json_object *from = sub == OBJSUB_STATUS ? w->obj : w->old;
    struct json_object *to = w->obj;
    if (sub == OBJSUB_STATUS) {
        to = json_copy(arena_of(w),
                       objstore_as_version(arena_of(w), w->kind, w->old, w->version->name));
    } else if (!(w->version->flags & OBJKIND_STATUS)) {
        return;
    }
    struct json_object *status = json_at(from, "status", NULL);
    if (status)
        json_set(to, "status", status);
    else
        json_object_object_del(to, "status");
    struct json_object *notes = json_at(w->obj, "metadata", "annotations", NULL);
    if (sub == OBJSUB_STATUS && w->kind->flags & OBJKIND_ANNOTATIONS && notes)
        json_set(json_at(to, "metadata", NULL), "annotations", notes);
    w->obj = to;
}

/* Whether anything but metadata and status differs. */
static bool spec_changed(struct json_object *a, struct json_object *b)
{
    json_object_object_foreach(a, key, value)
    {
        if (strcmp(key, "metadata") != 0 && strcmp(key, "status") != 0 &&
            strcmp(key, "apiVersion") != 0 && !json_same(value, json_object_object_get(b, key)))
            return true;
    }
    return false;
}

static void count_generation(struct write *w, enum objsub sub)
{
    if (!(w->kind->flags & OBJKIND_GENERATION))
        return;
    bool changed = spec_changed(w->obj, w->old) || spec_changed(w->old, w->obj);
    if (!(w->version->flags & OBJKIND_STATUS)) {
        changed =
            changed || !json_same(json_at(w->obj, "status", NULL), json_at(w->old, "status", NULL));
    }
    if (w->kind->flags & OBJKIND_ANNOTATIONS && sub != OBJSUB_STATUS) {
        changed = changed || !json_same(json_at(w->obj, "metadata", "annotations", NULL),
                                        json_at(w->old, "metadata", "annotations", NULL));
    }
    if (changed) {
        int64_t before = json_int_at(w->old, 0, "metadata", "generation", NULL);
        json_set_int(json_at(w->obj, "metadata", NULL), "generation", before + 1);
    }
}

static void check_finalizers(struct write *w)
{
    struct json_object *list = json_at(w->obj, "metadata", "finalizers", NULL);
    if (!json_str_at(w->old, "metadata", "deletionTimestamp", NULL))
        return;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *text = json_object_get_string(json_elem(list, i));
        if (text && !objmeta_has_finalizer(w->old, text)) {
            objfail_cause(&w->call->fail, CAUSE_FORBIDDEN, "metadata.finalizers",
                          "Forbidden: no new finalizers can be added if the object is being "
                          "deleted, found new finalizers []string{\"%s\"}",
                          text);
        }
    }
}

/* The last finalizer of a dying object has gone, and nobody has to end it gracefully. */
static bool may_go(struct write *w)
{
    return json_str_at(w->obj, "metadata", "deletionTimestamp", NULL) &&
           !objmeta_has_finalizer(w->obj, NULL) &&
           json_int_at(w->obj, 0, "metadata", "deletionGracePeriodSeconds", NULL) == 0 &&
           strcmp(w->kind->kind, "Namespace") != 0;
}

static enum err store_update(struct write *w)
{
    if (w->call->dry_run || json_same(w->obj, w->old))
        return ERR_OK;
    bool gone = may_go(w);
    commit(w);
    if (!gone)
        return ERR_OK;
    struct objcall call = {.arena = arena_of(w), .manager = w->call->manager};
    return objstore_delete(w->store, &call, w->kind, w->ns, w->name, NULL, NULL, NULL);
}

static enum err find_old(struct write *w)
{
    w->name = json_str_at(w->obj, "metadata", "name", NULL);
    w->old = w->name && *w->name ? objstore_get(w->store, w->kind, w->ns, w->name) : NULL;
    if (w->old) {
        w->old = json_own(arena_of(w), json_object_get(w->old));
        w->name = json_str_at(w->old, "metadata", "name", NULL);
        return ERR_OK;
    }
    return objmeta_not_found(&w->call->fail, w->kind, w->name);
}

enum err objstore_update(struct objstore *store, struct objcall *call, const struct objkind *kind,
                         const char *ns, enum objsub sub, struct json_object *obj,
                         struct json_object **out)
{
    struct write w = {.store = store, .call = call, .kind = kind};
    w.op = sub == OBJSUB_STATUS ? OBJOP_STATUS : OBJOP_UPDATE;
    enum err err = take_in(&w, ns, obj);
    if (err != ERR_OK || (err = find_old(&w)) != ERR_OK ||
        (err = check_preconditions(&w, sub)) != ERR_OK)
        return err;
    if (sub == OBJSUB_STATUS && !(w.version->flags & OBJKIND_STATUS))
        return objfail_set(&call->fail, 404, "NotFound", "%s has no subresource status",
                           objkind_resource(call->arena, kind));
    split_status(&w, sub);
    keep_metadata(&w);
    if ((err = prune_and_default(&w)) != ERR_OK ||
        (err = objmeta_admit(store, call, kind, w.op, w.obj, w.old)) != ERR_OK)
        return err;
    check_finalizers(&w);
    if ((err = validate(&w)) != ERR_OK)
        return err;
    prune_for_storage(&w);
    if (strcmp(kind->kind, "CustomResourceDefinition") == 0 && sub == OBJSUB_NONE)
        objcrd_status(store, w.obj);
    count_generation(&w, sub);
    track(&w, sub);
    if ((err = store_update(&w)) != ERR_OK)
        return err;
    if (json_same(w.obj, w.old))
        w.obj = w.old;
    give_out(&w, out);
    return ERR_OK;
}

enum err objstore_merge(struct objstore *store, struct objcall *call, const struct objkind *kind,
                        const char *ns, const char *name, enum objsub sub,
                        struct json_object *patch, struct json_object **out)
{
    call->fail.arena = call->arena;
    struct json_object *old = objstore_get(store, kind, ns, name);
    if (!old)
        return objmeta_not_found(&call->fail, kind, arena_strdup(call->arena, name));
    const char *version = call->version ? call->version : kind->storage;
    struct json_object *base = objstore_as_version(call->arena, kind, old, version);
    struct json_object *merged = json_merge(call->arena, base, patch);
    return objstore_update(store, call, kind, ns, sub, merged, out);
}
