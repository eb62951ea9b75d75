/* The API server itself: sockets, the token, and the way of a request to what answers it. */
#include "api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/apiauth.h"
#include "api/apievict.h"
#include "api/apifaults.h"
#include "api/apistats.h"
#include "api/apitls.h"
#include "api/objinternal.h"
#include "api/rest.h"
#include "base/encoding.h"
#include "base/file.h"
#include "object/form.h"

enum {
    BODY_MAX = 3 * 1024 * 1024,
    HELD_MAX = 1024 * 1024 * 1024, /* a list of 100,000 objects has 310 MB */
    IDLE_MS = 5 * 60 * 1000,
    CONNECTIONS_MAX = 4096
};

/* ---- what is asked ---- */

static enum restverb verb_of(struct restreq *req)
{
    static const struct {
        const char *method;
        enum restverb one, many; /* of one object, or of a collection */
    } rows[] = {
        {"GET", REST_GET, REST_LIST},       {"HEAD", REST_GET, REST_LIST},
        {"POST", REST_CREATE, REST_CREATE}, {"PUT", REST_UPDATE, REST_UPDATE},
        {"PATCH", REST_PATCH, REST_PATCH},  {"DELETE", REST_DELETE, REST_DELETE_COLLECTION},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool get = rows[i].one == REST_GET;
        if (strcmp(rows[i].method, req->method) != 0)
            continue;
        if (get && req->path.resource && restreq_is_true(req, "watch"))
            return REST_WATCH;
        return req->path.name || (get && !req->path.resource) ? rows[i].one : rows[i].many;
    }
    return REST_OTHER;
}

static void find_kind(struct restreq *req)
{
    if (!req->path.resource || req->path.excess)
        return;
    req->kind = objstore_kind(req->store, req->path.group, req->path.plural);
    req->version = req->kind ? objkind_version(req->kind, req->path.version) : NULL;
    if (req->version && !req->version->served)
        req->version = NULL;
    if (req->version)
        req->call.version = arena_strdup(req->arena, req->version->name);
}

/* ---- who answers ---- */

static void not_found(struct restreq *req)
{
    restreply_error(req, 404, "NotFound", "the server could not find the requested resource");
}

/* No resource, or not in this version: here the API has nobody to make a Status. */
static void not_served(struct restreq *req)
{
    http_reply_text(req->http, 404, "404 page not found\n");
}

static void not_allowed(struct restreq *req)
{
    restreply_error(req, 405, "MethodNotAllowed",
                    "the server does not allow this method on the requested resource");
}

/* The log of a pod, as a whole. */
static void serve_log(struct restreq *req)
{
    enum { LOG_MAX = 1024 * 1024 };
    if (req->verb != REST_GET) {
        not_allowed(req);
        return;
    }
    if (!objstore_get(req->store, req->kind, req->path.ns, req->path.name)) {
        restreply_not_found(req);
        return;
    }
    struct buf log;
    buf_init(&log, LOG_MAX);
    if (req->api->pod_log)
        req->api->pod_log(req->api->pod_log_arg, req->path.ns, req->path.name, &log);
    http_reply(req->http, 200, "text/plain", log.data, log.len);
    buf_fini(&log);
}

static void serve_sub(struct restreq *req)
{
    const char *sub = req->path.sub;
    bool core = !*req->kind->group, pod = core && strcmp(req->kind->kind, "Pod") == 0;
    bool account = core && strcmp(req->kind->kind, "ServiceAccount") == 0;
    if (account && strcmp(sub, "token") == 0 && req->verb == REST_CREATE)
        apiauth_token(req);
    else if (pod && strcmp(sub, "eviction") == 0 && req->verb == REST_CREATE)
        apievict(req);
    else if (strcmp(sub, "scale") == 0 && req->version->scale.spec_replicas)
        restscale(req);
    else if (pod && strcmp(sub, "log") == 0)
        serve_log(req);
    else if (strcmp(sub, "status") != 0 || !(req->version->flags & OBJKIND_STATUS))
        not_found(req);
    else if (req->verb == REST_GET)
        restread_get(req);
    else if (req->verb == REST_UPDATE)
        restwrite_update(req);
    else if (req->verb == REST_PATCH)
        restpatch(req);
    else
        not_allowed(req);
}

static void serve_resource(struct restreq *req)
{
    static void (*const verbs[])(struct restreq *) = {
        [REST_GET] = restread_get,        [REST_LIST] = restread_list,
        [REST_WATCH] = restwatch_start,   [REST_CREATE] = restwrite_create,
        [REST_UPDATE] = restwrite_update, [REST_PATCH] = restpatch,
        [REST_DELETE] = restdelete_one,   [REST_DELETE_COLLECTION] = restdelete_collection,
        [REST_OTHER] = not_allowed,
    };
    bool one = req->verb == REST_GET || req->verb == REST_UPDATE || req->verb == REST_PATCH ||
               req->verb == REST_DELETE;
    if (!req->path.excess && (!req->kind || !req->version))
        not_served(req);
    else if (req->path.excess || (req->path.ns && !objkind_namespaced(req->kind)))
        not_found(req);
    else if (one && objkind_namespaced(req->kind) && !req->path.ns)
        not_found(req);
    else if (req->path.sub)
        serve_sub(req);
    else if (one && !req->path.name)
        not_allowed(req);
    else
        verbs[req->verb](req);
}

static void serve(struct restreq *req)
{
    if (!req->accept.acceptable && req->path.resource) {
        restreply_error(req, 406, "NotAcceptable",
                        "only the following media types are accepted: application/json, "
                        "application/json;as=Table;v=v1;g=meta.k8s.io, "
                        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    } else if (req->path.resource) {
        serve_resource(req);
    } else if (!restdiscovery(req) && !apisandbox(req)) {
        not_found(req);
    }
}

/* ---- faults ---- */

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {400, "BadRequest"},    {401, "Unauthorized"},
        {403, "Forbidden"},     {404, "NotFound"},
        {409, "Conflict"},      {410, "Expired"},
        {422, "Invalid"},       {429, "TooManyRequests"},
        {500, "InternalError"}, {503, "ServiceUnavailable"},
        {504, "Timeout"},
    };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

static void on_faulty_gone(void *arg)
{
    timer_stop(((struct restreq *)arg)->delay);
}

static void act_on_fault(void *arg)
{
    struct restreq *req = arg;
    const struct apifault *fault = &req->fault;
    req->delay = NULL;
    http_req_on_gone(req->http, NULL, NULL);
    if (fault->drop) {
        http_req_drop(req->http);
    } else if (fault->status) {
        req->call.fail.retry_after_s = fault->retry_after_s;
        restreply_error(req, fault->status, reason_of(fault->status),
                        "a fault was injected into this request");
    } else {
        find_kind(req); /* time has passed */
        serve(req);
    }
}

/* True when a fault takes the request over. */
static bool is_faulty(struct restreq *req)
{
    struct api *api = req->api;
    const char *verb = restverb_name(req->verb);
    if (strncmp(req->path.full, "/sandbox/", 9) == 0)
        return false;
    if (req->path.resource && api->on_request &&
        !api->on_request(api->on_request_arg, verb, req->http))
        req->fault.drop = true;
    else if (!apifaults_take(api->faults, req->method, verb, req->path.full, req->agent,
                             &req->fault))
        return false;
    http_req_on_gone(req->http, on_faulty_gone, req);
    req->delay = timer_start(api->loop, req->fault.delay_ms, 0, act_on_fault, req);
    return true;
}

/* ---- one request ---- */

static void on_request(void *arg, struct http_conn_request *http)
{
    struct api *api = arg;
    struct arena *arena = http_req_arena(http);
    struct restreq *req = ARENA_NEW(arena, struct restreq);
    *req = (struct restreq){
        .api = api,
        .store = api->store,
        .http = http,
        .arena = arena,
        .method = http_req_method(http),
        .path = restpath_parse(arena, http_req_path(http)),
        .accept = restaccept_parse(arena, http_req_header(http, "accept")),
        .call = {.arena = arena, .fail = {.arena = arena}},
    };
    req->include = table_include_of(http_req_param(http, "includeObject"));
    req->verb = verb_of(req);
    find_kind(req);
    const char *agent = http_req_header(http, "user-agent");
    req->agent = arena_strdup(arena, agent ? agent : "");
    req->resource = req->kind ? objkind_resource(arena, req->kind) : "";
    if (req->kind && req->path.sub)
        req->resource = arena_printf(arena, "%s/%s", req->resource, req->path.sub);
    if (strncmp(req->path.full, "/sandbox/", 9) != 0)
        apistats_count(api->stats, req->agent, restverb_name(req->verb), req->resource);
    if (apiauth_allows(req) && !is_faulty(req))
        serve(req);
}

/* ---- start and end ---- */

static const struct http_route routes[] = {
    {.path = "/*", .fn = on_request},
    {.path = NULL},
};

static enum err listen_on(struct api *api, const struct api_options *options, int port,
                          const struct apitls *tls, struct http_server **out, struct errinfo *ei)
{
    struct http_server_options http = {
        .address = options->address ? options->address : "127.0.0.1",
        .port = port,
        .routes = routes,
        .arg = api,
        .max_body = BODY_MAX,
        .request_timeout_ms = IDLE_MS,
        .max_connections = CONNECTIONS_MAX,
        .max_held = HELD_MAX,
        .tls_cert_file = tls ? tls->cert_file : NULL,
        .tls_key_file = tls ? tls->key_file : NULL,
        .no_builtin = true,
    };
    return http_server_new(api->loop, &http, out, ei);
}

static enum err write_kubeconfig(struct api *api, struct arena *arena,
                                 const struct api_options *options, const struct apitls *tls,
                                 struct errinfo *ei)
{
    const char *host = options->address ? options->address : "127.0.0.1";
    const char *ca = tls->ca_pem ? base64_encode(arena, tls->ca_pem, strlen(tls->ca_pem)) : NULL;
    if (strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    const char *text = json_text(
        arena,
        form(arena,
             "{apiVersion: v1, kind: Config, current-context: sandbox, clusters: [{name: sandbox, "
             "cluster: {server: %s, certificate-authority-data: %s}}], contexts: [{name: sandbox, "
             "context: {cluster: sandbox, user: sandbox, namespace: default}}], "
             "users: [{name: sandbox, user: {token: %s}}]}",
             arena_printf(arena, "%s://%s:%d", ca ? "https" : "http", host,
                          ca ? api_https_port(api) : api_http_port(api)),
             ca, api->token));
    api->kubeconfig = heap_printf("%s/kubeconfig", options->directory);
    enum err err = file_write(api->kubeconfig, text, strlen(text), 0600, ei);
    if (err == ERR_OK) {
        err = file_write(arena_printf(arena, "%s/token", options->directory), api->token,
                         strlen(api->token), 0600, ei);
    }
    return err;
}

static void on_drain(void *arg)
{
    restwatch_cut_all(arg);
}

enum err api_new(struct loop *loop, struct objstore *store, const struct api_options *options,
                 struct api **out, struct errinfo *ei)
{
    struct api *api = heap_alloc(sizeof(*api));
    *api = (struct api){.loop = loop, .store = store};
    char random[37];
    api->watch_delay_ms = options->watch_delay_ms;
    api->token = heap_strdup(options->token ? options->token : objmeta_uid(random));
    api->readonly_token = heap_printf("%s-readonly", api->token);
    api->stats = apistats_new();
    api->faults = json_object_new_array();
    struct arena *arena = arena_new();
    struct apitls tls = {0};
    enum err err = ERR_OK;
    if (options->https_port >= 0) {
        err = apitls_make(arena, options->directory, &tls, ei);
        if (err == ERR_OK)
            err = listen_on(api, options, options->https_port, &tls, &api->https, ei);
    }
    if (err == ERR_OK && options->http_port >= 0)
        err = listen_on(api, options, options->http_port, NULL, &api->http, ei);
    if (err == ERR_OK)
        err = write_kubeconfig(api, arena, options, &tls, ei);
    arena_free(arena);
    if (err != ERR_OK) {
        api_free(api);
        return err;
    }
    loop_on_drain(loop, on_drain, api);
    *out = api;
    return ERR_OK;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    restwatch_cut_all(api);
    http_server_free(api->http);
    http_server_free(api->https);
    apistats_free(api->stats);
    json_object_put(api->faults);
    free(api->token);
    free(api->readonly_token);
    free(api->kubeconfig);
    free(api);
}

int api_http_port(const struct api *api)
{
    return api->http ? http_server_port(api->http) : -1;
}

int api_https_port(const struct api *api)
{
    return api->https ? http_server_port(api->https) : -1;
}

const char *api_kubeconfig(const struct api *api)
{
    return api->kubeconfig;
}

void api_on_pod_log(struct api *api, api_pod_log_fn fn, void *arg)
{
    api->pod_log = fn;
    api->pod_log_arg = arg;
}

void api_on_request(struct api *api, api_request_fn fn, void *arg)
{
    api->on_request = fn;
    api->on_request_arg = arg;
}

struct json_object *api_counts(const struct api *api, struct arena *arena)
{
    return apistats_counts(api->stats, arena);
}
