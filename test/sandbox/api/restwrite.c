#include <string.h>

#include "api/objinternal.h"
#include "api/rest.h"

/* The body must be an object; for an update of the name that the path says. */
static bool read_object(struct restreq *req, struct json_object **obj)
{
    if (!restbody_options(req) || !restbody_read(req, obj))
        return false;
    if (!json_object_is_type(*obj, json_type_object)) {
        restreply_error(req, 400, "BadRequest", "the request body must be one object");
        return false;
    }
    const char *name = json_str_at(*obj, "metadata", "name", NULL);
    if (req->path.name && name && *name && strcmp(name, req->path.name) != 0) {
        restreply_error(req, 400, "BadRequest",
                        "the name of the object (%s) does not match the name on the URL (%s)", name,
                        req->path.name);
        return false;
    }
    if (req->path.name)
        json_set_str(json_sub(*obj, "metadata"), "name", req->path.name);
    return true;
}

void restwrite_create(struct restreq *req)
{
    struct json_object *obj, *stored;
    if (req->path.name) {
        restreply_error(req, 405, "MethodNotAllowed",
                        "the server does not allow this method on the requested resource");
        return;
    }
    if (!read_object(req, &obj))
        return;
    if (objstore_create(req->store, &req->call, req->kind, req->path.ns, obj, &stored) != ERR_OK) {
        restreply_fail(req);
        return;
    }
    restreply_object(req, 201, stored);
}

void restwrite_update(struct restreq *req)
{
    struct json_object *obj, *stored;
    enum objsub sub = req->path.sub ? OBJSUB_STATUS : OBJSUB_NONE;
    if (!read_object(req, &obj))
        return;
    const char *version = json_str_at(obj, "metadata", "resourceVersion", NULL);
    bool exists = objstore_get(req->store, req->kind, req->path.ns, req->path.name) != NULL;
    if (exists && req->kind->custom && (!version || !*version)) {
        req->call.fail.arena = req->arena;
        objfail_cause(&req->call.fail, CAUSE_INVALID, "metadata.resourceVersion",
                      "Invalid value: 0x0: must be specified for an update");
        (void)!objfail_invalid(&req->call.fail, req->kind->group, req->kind->kind, req->path.name);
        restreply_fail(req);
        return;
    }
    if (objstore_update(req->store, &req->call, req->kind, req->path.ns, sub, obj, &stored) !=
        ERR_OK) {
        restreply_fail(req);
        return;
    }
    restreply_object(req, 200, stored);
}
