/* /sandbox/...: faults, the watch log and counts; see api.h. */
#include <string.h>

#include "api/apifaults.h"
#include "api/apistats.h"
#include "api/rest.h"
#include "object/form.h"

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
    json_object_array_del_idx(req->api->faults, 0, json_len(req->api->faults));
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

bool apisandbox(struct restreq *req)
{
    static const struct {
        const char *method, *path;
        void (*serve)(struct restreq *req);
    } pages[] = {
        {"POST", "/sandbox/faults", add_faults},
        {"GET", "/sandbox/faults", show_faults},
        {"DELETE", "/sandbox/faults", clear_faults},
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
