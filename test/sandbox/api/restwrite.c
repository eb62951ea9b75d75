/* Everything that writes: POST, PUT, PATCH, DELETE, and the subresource scale. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/objinternal.h"
#include "api/rest.h"
#include "object/form.h"
#include "object/meta.h"
#include "object/patch.h"

/* Answers with what was stored, or why nothing was. */
static void reply(struct restreq *req, enum err err, int code, struct json_object *const *stored)
{
    if (err == ERR_OK)
        restreply_object(req, code, *stored);
    else
        restreply_fail(req);
}

static void not_allowed(struct restreq *req)
{
    restreply_error(req, 405, "MethodNotAllowed",
                    "the server does not allow this method on the requested resource");
}

/* Answers with 422 when there are causes to. */
static bool refused(struct restreq *req, const char *group, const char *kind)
{
    if (objfail_invalid(&req->call.fail, group, kind, req->path.name) == ERR_OK)
        return false;
    restreply_fail(req);
    return true;
}

/* False, and 400, when the object has another name than the path. */
static bool check_name(struct restreq *req, const char *name)
{
    if (strcmp(name, req->path.name) == 0)
        return true;
    restreply_error(req, 400, "BadRequest",
                    "the name of the object (%s) does not match the name on the URL (%s)", name,
                    req->path.name);
    return false;
}

/* ---- POST and PUT ---- */

/* The body must be an object; for an update of the name that the path says. */
static bool read_object(struct restreq *req, struct json_object **obj)
{
    if (!restbody_options(req) || !restbody_read(req, obj))
        return false;
    if (!json_object_is_type(*obj, json_type_object))
        return restreply_error(req, 400, "BadRequest", "the request body must be one object");
    if (req->path.name && *meta_name(*obj) && !check_name(req, meta_name(*obj)))
        return false;
    if (req->path.name)
        json_set_str(json_sub(*obj, "metadata"), "name", req->path.name);
    return true;
}

void restwrite_create(struct restreq *req)
{
    struct json_object *obj, *stored = NULL;
    if (req->path.name)
        not_allowed(req);
    else if (read_object(req, &obj))
        reply(req, objstore_create(req->store, &req->call, req->kind, req->path.ns, obj, &stored),
              201, &stored);
}

void restwrite_update(struct restreq *req)
{
    struct json_object *obj, *stored = NULL;
    enum objsub sub = req->path.sub ? OBJSUB_STATUS : OBJSUB_NONE;
    if (!read_object(req, &obj))
        return;
    const char *version = json_str_at(obj, "metadata", "resourceVersion", NULL);
    bool exists = objstore_get(req->store, req->kind, req->path.ns, req->path.name) != NULL;
    if (exists && req->kind->custom && (!version || !*version))
        objfail_cause(&req->call.fail, CAUSE_INVALID, "metadata.resourceVersion",
                      "Invalid value: 0x0: must be specified for an update");
    if (!refused(req, req->kind->group, req->kind->kind))
        reply(req,
              objstore_update(req->store, &req->call, req->kind, req->path.ns, sub, obj, &stored),
              200, &stored);
}

/* ---- scale ---- */

static struct json_object *follow(struct arena *arena, struct json_object *obj, const char *path)
{
    return path ? jsonpath_first(arena, obj, path) : NULL;
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

/* The Scale of obj, which is in the request's version. */
static struct json_object *scale_of(struct restreq *req, struct json_object *obj)
{
    const struct objscale *paths = &req->version->scale;
    struct json_object *wanted = follow(req->arena, obj, paths->spec_replicas);
    struct json_object *current = follow(req->arena, obj, paths->status_replicas);
    bool none = json_object_get_int64(wanted) == 0; /* zero is left out, as Go does */
    return form(req->arena,
                "{kind: Scale, apiVersion: autoscaling/v1, metadata: {name: %s, namespace: %s, "
                "uid: %s, resourceVersion: %s, creationTimestamp: %s}, spec: {replicas: %p}, "
                "status: {replicas: %ld, selector: %s}}",
                meta_name(obj), json_str_at(obj, "metadata", "namespace", NULL), meta_uid(obj),
                json_str_at(obj, "metadata", "resourceVersion", NULL),
                json_str_at(obj, "metadata", "creationTimestamp", NULL), none ? NULL : wanted,
                json_object_get_int64(current), selector_of(req, obj));
}

/* Writes the number where the path of the scale leads: members alone, ".spec.replicas". */
static void put_replicas(struct restreq *req, struct json_object *obj, int64_t wanted)
{
    char *path = arena_strdup(req->arena, req->version->scale.spec_replicas);
    char *key = strsep(&path, ".");
    while (path) {
        obj = *key ? json_sub(obj, key) : obj;
        key = strsep(&path, ".");
    }
    json_set_int(obj, key, wanted);
}

/* Stores obj with the replicas of scale and answers with the new Scale. */
static void store_scale(struct restreq *req, struct json_object *obj, struct json_object *scale)
{
    struct json_object *replicas = json_at(scale, "spec", "replicas", NULL);
    int64_t wanted = json_object_get_int64(replicas);
    if (wanted < 0 || (replicas && !json_object_is_type(replicas, json_type_int)))
        objfail_cause(&req->call.fail, CAUSE_INVALID, "spec.replicas",
                      "Invalid value: %s: must be greater than or equal to 0",
                      json_text(req->arena, replicas));
    if (refused(req, "autoscaling", "Scale"))
        return;
    if (*meta_uid(scale) && strcmp(meta_uid(scale), meta_uid(obj)) != 0) {
        objmeta_describe(&req->call.fail, req->kind, req->path.name);
        req->call.fail.kind = arena_printf(req->arena, "%s/scale", req->kind->plural);
        restreply_error(req, 409, "Conflict",
                        "Operation cannot be fulfilled on %s/scale.%s \"%s\": Precondition failed: "
                        "UID in precondition: %s, UID in object meta: %s",
                        req->kind->plural, req->kind->group, req->path.name, meta_uid(scale),
                        meta_uid(obj));
        return;
    }
    struct json_object *copy = json_copy(req->arena, obj), *stored = NULL;
    struct json_object *metadata = json_at(copy, "metadata", NULL);
    json_object_object_del(metadata, "resourceVersion");
    json_set_str(metadata, "resourceVersion",
                 json_str_at(scale, "metadata", "resourceVersion", NULL));
    put_replicas(req, copy, wanted);
    if (objstore_update(req->store, &req->call, req->kind, req->path.ns, OBJSUB_NONE, copy,
                        &stored) == ERR_OK)
        restreply_tree(req, 200, scale_of(req, stored));
    else
        restreply_fail(req);
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
    if (req->verb == REST_GET)
        restreply_tree(req, 200, scale_of(req, obj));
    else if (req->verb == REST_PATCH)
        restpatch(req);
    else if (req->verb != REST_UPDATE)
        not_allowed(req);
    else if (restbody_options(req) && restbody_read(req, &scale))
        store_scale(req, obj, scale);
}

/* ---- PATCH ---- */

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_UNKNOWN };

static enum patch_type type_of(const char *header)
{
    static const struct {
        const char *name;
        enum patch_type type;
    } types[] = {
        {"application/json-patch+json", PATCH_JSON},
        {"application/merge-patch+json", PATCH_MERGE},
        {"application/strategic-merge-patch+json", PATCH_STRATEGIC},
    };
    for (size_t i = 0; header && i < sizeof(types) / sizeof(types[0]); i++) {
        size_t len = strlen(types[i].name);
        if (strncasecmp(header, types[i].name, len) == 0 && strchr(" ;", header[len]))
            return types[i].type;
    }
    return PATCH_UNKNOWN;
}

/* An error of the patch itself as a Status. */
static void reply_bad_patch(struct restreq *req, const struct errinfo *ei)
{
    if (ei->status == 422) {
        objmeta_describe(&req->call.fail, req->kind, req->path.name);
        restreply_error(req, 422, "Invalid",
                        "the server rejected our request due to an error in our request: %s",
                        ei->text);
        return;
    }
    restreply_error(req, 400, "BadRequest", "%s", ei->text);
}

static bool apply_patch(struct restreq *req, enum patch_type type, struct json_object *base,
                        struct json_object *patch, struct json_object **out)
{
    struct errinfo ei = {.status = 400};
    enum err err = ERR_OK;
    if (type == PATCH_JSON)
        err = patch_json(req->arena, base, patch, out, &ei);
    else if (!json_object_is_type(patch, json_type_object))
        err = err_set(&ei, ERR_INVALID, "the patch must be an object");
    else if (type == PATCH_MERGE)
        *out = json_merge(req->arena, base, patch);
    else
        err = patch_strategic(req->arena, req->kind->kind, base, patch, out, &ei);
    if (err == ERR_OK && !json_object_is_type(*out, json_type_object))
        err = err_set(&ei, ERR_INVALID, "the patch leaves no object");
    if (err != ERR_OK)
        reply_bad_patch(req, &ei);
    return err == ERR_OK;
}

/* A patch is no precondition on the uid: who changes it tries to change what cannot be changed. */
static bool check_uid(struct restreq *req, struct json_object *old, struct json_object *patched)
{
    const char *uid = json_str_at(patched, "metadata", "uid", NULL);
    if (!req->path.sub && uid && strcmp(uid, meta_uid(old)) != 0)
        objfail_cause(&req->call.fail, CAUSE_INVALID, "metadata.uid",
                      "Invalid value: \"%s\": field is immutable", uid);
    return !refused(req, req->kind->group, req->kind->kind);
}

static void patch_existing(struct restreq *req, enum patch_type type, struct json_object *patch)
{
    struct json_object *old = objstore_get(req->store, req->kind, req->path.ns, req->path.name);
    if (!old) {
        restreply_not_found(req);
        return;
    }
    bool scale = req->path.sub && strcmp(req->path.sub, "scale") == 0;
    struct json_object *base = objstore_as_version(req->arena, req->kind, old, req->version->name);
    struct json_object *patched = NULL, *stored = NULL;
    enum objsub sub = req->path.sub ? OBJSUB_STATUS : OBJSUB_NONE;
    if (!apply_patch(req, type, scale ? scale_of(req, base) : base, patch, &patched))
        return;
    if (scale)
        store_scale(req, base, patched);
    else if (check_name(req, meta_name(patched)) && check_uid(req, old, patched))
        reply(
            req,
            objstore_update(req->store, &req->call, req->kind, req->path.ns, sub, patched, &stored),
            200, &stored);
}

void restpatch(struct restreq *req)
{
    enum patch_type type = type_of(http_req_header(req->http, "content-type"));
    if (type == PATCH_UNKNOWN || (type == PATCH_STRATEGIC && req->kind->custom)) {
        restreply_error(req, 415, "UnsupportedMediaType",
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json-patch+json, application/merge-patch+json%s",
                        req->kind->custom ? "" : ", application/strategic-merge-patch+json");
        return;
    }
    struct json_object *patch;
    if (restbody_options(req) && restbody_read(req, &patch))
        patch_existing(req, type, patch);
}

/* ---- DELETE ---- */

static bool read_propagation(struct restreq *req, const char *text, struct objdelete *options)
{
    static const char *const names[] = {
        [OBJ_BACKGROUND] = "Background", [OBJ_FOREGROUND] = "Foreground", [OBJ_ORPHAN] = "Orphan"};
    for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            options->propagation = (enum objpropagation)i;
            return true;
        }
    }
    if (!text || !*text)
        return true;
    restreply_error(req, 422, "Invalid",
                    "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported "
                    "value: \"%s\": supported values: \"Background\", \"Foreground\", \"Orphan\"",
                    text);
    return false;
}

/* From the body (DeleteOptions), else from the query. */
static bool read_options(struct restreq *req, struct objdelete *options)
{
    struct json_object *body;
    *options = (struct objdelete){.grace_seconds = -1};
    if (!restbody_options(req) || !restbody_read(req, &body))
        return false;
    const char *propagation = json_str_at(body, "propagationPolicy", NULL);
    const char *grace = http_req_param(req->http, "gracePeriodSeconds");
    if (!read_propagation(
            req, propagation ? propagation : http_req_param(req->http, "propagationPolicy"),
            options))
        return false;
    if (json_bool_at(body, false, "orphanDependents", NULL))
        options->propagation = OBJ_ORPHAN;
    options->grace_seconds = json_int_at(body, grace && *grace ? strtoll(grace, NULL, 10) : -1,
                                         "gracePeriodSeconds", NULL);
    options->uid = json_str_at(body, "preconditions", "uid", NULL);
    options->resource_version = json_str_at(body, "preconditions", "resourceVersion", NULL);
    struct json_object *dry_run = json_at(body, "dryRun", NULL);
    req->call.dry_run = req->call.dry_run || json_len(dry_run) > 0;
    return true;
}

/* What the server says when the object has gone: a Status, not the object. */
static struct json_object *success(struct restreq *req, struct json_object *obj)
{
    return form(req->arena,
                "{kind: Status, apiVersion: v1, metadata: {}, status: Success, details: {name: %s, "
                "group: %s, kind: %s, uid: %s}}",
                req->path.name, *req->kind->group ? req->kind->group : NULL, req->kind->plural,
                meta_uid(obj));
}

void restdelete_one(struct restreq *req)
{
    struct objdelete options;
    struct json_object *obj;
    bool gone;
    if (!read_options(req, &options))
        return;
    if (objstore_delete(req->store, &req->call, req->kind, req->path.ns, req->path.name, &options,
                        &obj, &gone) != ERR_OK) {
        restreply_fail(req);
        return;
    }
    bool pod = strcmp(req->kind->kind, "Pod") == 0;
    restreply_tree(req, 200, gone && !pod ? success(req, obj) : obj);
}

void restdelete_collection(struct restreq *req)
{
    struct objdelete options;
    struct restselect select;
    if (!read_options(req, &options) || !restselect_read(req, req->arena, &select))
        return;
    struct json_object **items;
    size_t count = objstore_list(req->store, req->arena, req->kind, select.ns, &items);
    struct json_object *deleted = json_own(req->arena, json_object_new_array());
    for (size_t i = 0; i < count; i++) {
        if (!restselect_match(&select, items[i]))
            continue;
        struct objcall call = req->call;
        struct json_object *obj;
        enum err err = objstore_delete(req->store, &call, req->kind, meta_ns(items[i]),
                                       meta_name(items[i]), &options, &obj, NULL);
        if (err != ERR_OK && err != ERR_NOT_FOUND) {
            req->call.fail = call.fail;
            restreply_fail(req);
            return;
        }
        if (err == ERR_OK)
            json_object_array_add(deleted, json_object_get(obj));
    }
    const char *version =
        arena_printf(req->arena, "%llu", (unsigned long long)objstore_version(req->store));
    restreply_tree(
        req, 200, restreply_list(req, deleted, form(req->arena, "{resourceVersion: %s}", version)));
}
