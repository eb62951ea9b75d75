/* PATCH: JSON patch, merge patch and strategic merge patch. */
#include <string.h>
#include <strings.h>

#include "api/objinternal.h"
#include "api/rest.h"
#include "api/restscale.h"
#include "object/patch.h"

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
    const char *before = json_str_at(old, "metadata", "uid", NULL);
    const char *uid = json_str_at(patched, "metadata", "uid", NULL);
    if (req->path.sub || !uid || strcmp(uid, before) == 0)
        return true;
    req->call.fail.arena = req->arena;
    objfail_cause(&req->call.fail, CAUSE_INVALID, "metadata.uid",
                  "Invalid value: \"%s\": field is immutable", uid);
    (void)!objfail_invalid(&req->call.fail, req->kind->group, req->kind->kind, req->path.name);
    restreply_fail(req);
    return false;
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
    struct json_object *patched = NULL, *stored;
    if (!apply_patch(req, type, scale ? restscale_of(req, base) : base, patch, &patched))
        return;
    if (scale) {
        restscale_store(req, base, patched);
        return;
    }
    const char *name = json_str_at(patched, "metadata", "name", NULL);
    if (!name || strcmp(name, req->path.name) != 0) {
        restreply_error(req, 400, "BadRequest",
                        "the name of the object (%s) does not match the name on the URL (%s)",
                        name ? name : "", req->path.name);
        return;
    }
    if (!check_uid(req, old, patched))
        return;
    enum objsub sub = req->path.sub ? OBJSUB_STATUS : OBJSUB_NONE;
    if (objstore_update(req->store, &req->call, req->kind, req->path.ns, sub, patched, &stored) !=
        ERR_OK) {
        restreply_fail(req);
        return;
    }
    restreply_object(req, 200, stored);
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
