/* /sandbox/...: faults, the watch log, counts and changes of many objects; see api.h. */
#include <string.h>

#include "api/apifaults.h"
#include "api/apistats.h"
#include "api/rest.h"
#include "object/form.h"
#include "object/patch.h"

static void show_faults(struct restreq *req)
{
    restreply_tree(req, 200, form(req->arena, "{faults: %p}", req->api->faults));
}

static void add_faults(struct restreq *req)
{
    struct json_object *body;
    struct errinfo ei;
    if (!restbody_read(req, &body))
        return;
    if (apifaults_add(req->api->faults, req->arena, body, &ei) == ERR_OK)
        show_faults(req);
    else
        restreply_error(req, 400, "BadRequest", "%s", ei.text);
}

static void clear_faults(struct restreq *req)
{
    apifaults_forget(req->api->faults, http_req_param(req->http, "path"));
    show_faults(req);
}

static void compact(struct restreq *req)
{
    struct json_object *body;
    if (!restbody_read(req, &body))
        return;
    objstore_compact(req->store);
    if (json_bool_at(body, false, "expire", NULL))
        restwatch_expire_all(req->api);
    restreply_tree(req, 200, form(req->arena, "{}"));
}

static void cut(struct restreq *req)
{
    struct json_object *out = form(req->arena, "{cut: %zu}", restwatch_count(req->api));
    restwatch_cut_all(req->api);
    restreply_tree(req, 200, out);
}

static void stats(struct restreq *req)
{
    struct json_object *out = apistats_counts(req->api->stats, req->arena);
    json_set_int(out, "watches", (int64_t)restwatch_count(req->api));
    json_set_int(out, "resourceVersion", (int64_t)objstore_version(req->store));
    restreply_tree(req, 200, out);
}

static void reset_stats(struct restreq *req)
{
    apistats_reset(req->api->stats);
    stats(req);
}

/* ---- the same change of many objects ---- */

/* As a client with a PATCH each would change it. */
static enum err change_one(struct objstore *store, struct objcall *call, const struct objkind *kind,
                           struct json_object *object, struct json_object *change)
{
    const char *ns = json_str_at(object, "namespace", NULL);
    const char *name = json_str_at(object, "name", NULL);
    struct json_object *patched = NULL;
    struct errinfo ei = {.status = 400};
    if (kind->custom)
        return objstore_merge(store, call, kind, ns, name ? name : "", OBJSUB_NONE, change, NULL);
    struct json_object *old = objstore_get(store, kind, ns, name ? name : "");
    if (!old)
        return objfail_set(&call->fail, 404, "NotFound", "there is no %s %s/%s", kind->plural,
                           ns ? ns : "", name ? name : "");
    if (patch_strategic(call->arena, kind->kind, old, change, &patched, &ei) != ERR_OK)
        return objfail_set(&call->fail, ei.status, "Invalid", "%s", ei.text);
    return objstore_update(store, call, kind, ns, OBJSUB_NONE, patched, NULL);
}

/* All in this turn of the loop, so that watches tell of them at once. */
static void change_all(struct restreq *req, const struct objkind *kind, struct json_object *objects,
                       struct json_object *change)
{
    size_t count = json_len(objects);
    for (size_t i = 0; i < count; i++) {
        struct objcall call = {.arena = arena_new(), .manager = "sandbox"};
        call.fail.arena = call.arena;
        bool failed = change_one(req->store, &call, kind, json_elem(objects, i), change) != ERR_OK;
        if (failed)
            restreply_error(req, call.fail.code, call.fail.reason,
                            "objects[%zu], with those before it changed: %s", i, call.fail.message);
        arena_free(call.arena);
        if (failed)
            return;
    }
    restreply_tree(req, 200, form(req->arena, "{changed: %zu}", count));
}

static void change_many(struct restreq *req)
{
    struct json_object *body;
    if (!restbody_read(req, &body))
        return;
    const char *group = json_str_at(body, "group", NULL);
    const char *plural = json_str_at(body, "resource", NULL);
    struct json_object *objects = json_at(body, "objects", NULL);
    struct json_object *change = json_at(body, "patch", NULL);
    const struct objkind *kind =
        plural ? objstore_kind(req->store, group ? group : "", plural) : NULL;
    if (!kind)
        restreply_error(req, 400, "BadRequest", "resource must be the plural of a kind of group");
    else if (!json_object_is_type(objects, json_type_array))
        restreply_error(req, 400, "BadRequest", "objects must be a list of namespace and name");
    else if (!json_object_is_type(change, json_type_object))
        restreply_error(req, 400, "BadRequest", "patch must be an object");
    else
        change_all(req, kind, objects, change);
}

bool apisandbox(struct restreq *req)
{
    static const struct {
        const char *method, *path;
        void (*serve)(struct restreq *req);
    } pages[] = {
        {"POST", "/sandbox/faults", add_faults},
        {"GET", "/sandbox/faults", show_faults},
        {"DELETE", "/sandbox/faults", clear_faults},
        {"POST", "/sandbox/change", change_many},
        {"POST", "/sandbox/compact", compact},
        {"POST", "/sandbox/cut", cut},
        {"GET", "/sandbox/stats", stats},
        {"DELETE", "/sandbox/stats", reset_stats},
    };
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (strcmp(pages[i].method, req->method) == 0 &&
            strcmp(pages[i].path, req->path.full) == 0) {
            pages[i].serve(req);
            return true;
        }
    }
    return false;
}
