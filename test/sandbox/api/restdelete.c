#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"
#include "api/rest.h"
#include "api/restselect.h"

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
    struct json_object *status = json_own(req->arena, json_object_new_object());
    json_set_str(status, "kind", "Status");
    json_set_str(status, "apiVersion", "v1");
    json_sub(status, "metadata");
    json_set_str(status, "status", "Success");
    struct json_object *details = json_sub(status, "details");
    json_set_str(details, "name", req->path.name);
    json_set_str(details, "group", *req->kind->group ? req->kind->group : NULL);
    json_set_str(details, "kind", req->kind->plural);
    json_set_str(details, "uid", json_str_at(obj, "metadata", "uid", NULL));
    return status;
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
        enum err err = objstore_delete(
            req->store, &call, req->kind, json_str_at(items[i], "metadata", "namespace", NULL),
            json_str_at(items[i], "metadata", "name", NULL), &options, &obj, NULL);
        if (err != ERR_OK && err != ERR_NOT_FOUND) {
            req->call.fail = call.fail;
            restreply_fail(req);
            return;
        }
        if (err == ERR_OK)
            json_object_array_add(deleted, json_object_get(obj));
    }
    struct json_object *metadata = json_own(req->arena, json_object_new_object());
    json_set_str(
        metadata, "resourceVersion",
        arena_printf(req->arena, "%llu", (unsigned long long)objstore_version(req->store)));
    restreply_tree(req, 200, restreply_list(req, deleted, metadata));
}
