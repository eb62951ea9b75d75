/* /sandbox/...: faults, the watch log, counts and the ring of requests; see api.h. */
#include <stdlib.h>
#include <string.h>

#include "api/apifaults.h"
#include "api/apistats.h"
#include "api/rest.h"

static bool is(const struct restreq *req, const char *method, const char *path)
{
    return strcmp(req->method, method) == 0 && strcmp(req->path.full, path) == 0;
}

static void add_faults(struct restreq *req)
{
    struct json_object *body;
    struct errinfo ei;
    if (!restbody_read(req, &body))
        return;
    if (apifaults_add(req->api->faults, req->arena, body, &ei) != ERR_OK) {
        restreply_error(req, 400, "BadRequest", "%s", ei.text);
        return;
    }
    restreply_tree(req, 200, apifaults_list(req->api->faults, req->arena));
}

static void compact(struct restreq *req)
{
    struct json_object *body;
    if (!restbody_read(req, &body))
        return;
    objstore_compact(req->store);
    if (json_bool_at(body, false, "expire", NULL))
        restwatch_expire_all(req->api);
    restreply_tree(req, 200, json_own(req->arena, json_object_new_object()));
}

static void cut(struct restreq *req)
{
    struct json_object *out = json_own(req->arena, json_object_new_object());
    json_set_int(out, "cut", (int64_t)restwatch_count(req->api));
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

bool apisandbox(struct restreq *req)
{
    if (is(req, "POST", "/sandbox/faults")) {
        add_faults(req);
    } else if (is(req, "GET", "/sandbox/faults")) {
        restreply_tree(req, 200, apifaults_list(req->api->faults, req->arena));
    } else if (is(req, "DELETE", "/sandbox/faults")) {
        apifaults_clear(req->api->faults);
        restreply_tree(req, 200, apifaults_list(req->api->faults, req->arena));
    } else if (is(req, "POST", "/sandbox/compact")) {
        compact(req);
    } else if (is(req, "POST", "/sandbox/cut")) {
        cut(req);
    } else if (is(req, "GET", "/sandbox/stats")) {
        stats(req);
    } else if (is(req, "DELETE", "/sandbox/stats")) {
        apistats_reset(req->api->stats);
        stats(req);
    } else if (is(req, "GET", "/sandbox/requests")) {
        const char *since = http_req_param(req->http, "since");
        uint64_t after = since ? strtoull(since, NULL, 10) : 0;
        restreply_tree(req, 200, apistats_requests(req->api->stats, req->arena, after));
    } else {
        return false;
    }
    return true;
}
