#include "api/restscale.h"

#include <string.h>

#include "api/objinternal.h"
#include "object/jsonpath.h"
#include "object/selector.h"

/* The first key of a path such as ".spec.replicas", and the rest of it. */
static const char *first_key(struct arena *arena, const char **path)
{
    *path += **path == '.' ? 1 : 0;
    size_t len = strcspn(*path, ".");
    const char *key = arena_strndup(arena, *path, len);
    *path += len;
    return key;
}

static struct json_object *follow(struct arena *arena, struct json_object *obj, const char *path)
{
    return path ? jsonpath_first(arena, obj, path) : NULL;
}

static void put(struct arena *arena, struct json_object *obj, const char *path, int64_t value)
{
    while (true) {
        const char *key = first_key(arena, &path);
        if (!*path) {
            json_set_int(obj, key, value);
            return;
        }
        obj = json_sub(obj, key);
    }
}

static const char *selector_of(struct restreq *req, struct json_object *obj)
{
    struct json_object *value = follow(req->arena, obj, req->version->scale.selector);
    const struct selector *selector = NULL;
    if (json_object_is_type(value, json_type_string))
        return json_object_get_string(value);
    if (!value || selector_from_object(req->arena, value, &selector, NULL) != ERR_OK)
        return NULL;
    return selector_text(selector);
}

struct json_object *restscale_of(struct restreq *req, struct json_object *obj)
{
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    struct json_object *scale = json_own(req->arena, json_object_new_object());
    json_set_str(scale, "kind", "Scale");
    json_set_str(scale, "apiVersion", "autoscaling/v1");
    struct json_object *metadata = json_sub(scale, "metadata");
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        json_set_str(metadata, kept[i], json_str_at(obj, "metadata", kept[i], NULL));
    const struct objscale *paths = &req->version->scale;
    struct json_object *wanted = follow(req->arena, obj, paths->spec_replicas);
    struct json_object *current = follow(req->arena, obj, paths->status_replicas);
    struct json_object *spec = json_sub(scale, "spec");
    if (wanted && json_object_get_int64(wanted) != 0) /* zero is left out, as Go does */
        json_set_int(spec, "replicas", json_object_get_int64(wanted));
    struct json_object *status = json_sub(scale, "status");
    json_set_int(status, "replicas", current ? json_object_get_int64(current) : 0);
    json_set_str(status, "selector", selector_of(req, obj));
    return scale;
}

void restscale_store(struct restreq *req, struct json_object *obj, struct json_object *scale)
{
    struct json_object *replicas = json_at(scale, "spec", "replicas", NULL);
    int64_t wanted = replicas ? json_object_get_int64(replicas) : 0;
    if (wanted < 0 || (replicas && !json_object_is_type(replicas, json_type_int))) {
        req->call.fail.arena = req->arena;
        objfail_cause(&req->call.fail, CAUSE_INVALID, "spec.replicas",
                      "Invalid value: %s: must be greater than or equal to 0",
                      json_text(req->arena, replicas));
        (void)!objfail_invalid(&req->call.fail, "autoscaling", "Scale", req->path.name);
        restreply_fail(req);
        return;
    }
    const char *uid = json_str_at(scale, "metadata", "uid", NULL);
    const char *own_uid = json_str_at(obj, "metadata", "uid", NULL);
    if (uid && *uid && strcmp(uid, own_uid) != 0) {
        objmeta_describe(&req->call.fail, req->kind, req->path.name);
        req->call.fail.kind = arena_printf(req->arena, "%s/scale", req->kind->plural);
        restreply_error(req, 409, "Conflict",
                        "Operation cannot be fulfilled on %s/scale.%s \"%s\": Precondition failed: "
                        "UID in precondition: %s, UID in object meta: %s",
                        req->kind->plural, req->kind->group, req->path.name, uid, own_uid);
        return;
    }
    struct json_object *copy = json_copy(req->arena, obj), *stored;
    struct json_object *metadata = json_at(copy, "metadata", NULL);
    json_object_object_del(metadata, "resourceVersion");
    json_set_str(metadata, "resourceVersion",
                 json_str_at(scale, "metadata", "resourceVersion", NULL));
    put(req->arena, copy, req->version->scale.spec_replicas, wanted);
    if (objstore_update(req->store, &req->call, req->kind, req->path.ns, OBJSUB_NONE, copy,
                        &stored) != ERR_OK) {
        restreply_fail(req);
        return;
    }
    restreply_tree(req, 200, restscale_of(req, stored));
}

void restscale(struct restreq *req)
{
    struct json_object *obj = objstore_get(req->store, req->kind, req->path.ns, req->path.name);
    struct json_object *scale;
    if (!obj) {
        restreply_not_found(req);
        return;
    }
    obj = objstore_as_version(req->arena, req->kind, obj, req->version->name);
    switch (req->verb) {
    case REST_GET:
        restreply_tree(req, 200, restscale_of(req, obj));
        return;
    case REST_UPDATE:
        if (restbody_options(req) && restbody_read(req, &scale))
            restscale_store(req, obj, scale);
        return;
    case REST_PATCH:
        restpatch(req);
        return;
    default:
        restreply_error(req, 405, "MethodNotAllowed",
                        "the server does not allow this method on the requested resource");
    }
}
