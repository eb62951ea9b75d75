#include "gate/api/routes.h"

#include <string.h>

#include "base/expo.h"
#include "gate/api/api.h"
#include "gate/page/page.h"

const struct http_route gate_routes[] = {
    {"POST", "/gate/check", api_gate_check},
    {"POST", "/gate/open", api_gate_open},
    {"POST", "/gate/close", api_gate_close},
    {NULL, "/gate/approve", api_gate_approve},
    {NULL, "/gate/halt", api_gate_halt},
    {"POST", "/rollback/check", api_rollback_check},
    {"POST", "/rollback/open", api_rollback_open},
    {"POST", "/rollback/close", api_rollback_close},
    {"GET", "/v1/whoami", api_whoami},
    {"GET", "/v1/gates", api_gates_list},
    {NULL, "/v1/gates/*", api_gates_one},
    {"GET", "/v1/history", api_history},
    {"GET", "/v1/events", api_events},
    {"GET", "/v1/freezes", api_freezes_list},
    {"POST", "/v1/freezes", api_freezes_add},
    {"DELETE", "/v1/freezes/*", api_freezes_end},
    {"POST", "/v1/links", api_links_make},
    {"GET", "/links/*", api_links_show},
    {"POST", "/links/*", api_links_use},
    {"GET", "/debug/process", api_debug_process},
    /* for people */
    {"GET", "/", page_serve},
    {"GET", "/page/*", page_serve},
    {NULL, NULL, NULL},
};

static struct expo_metric foreign = {
    .name = "flagger_gate_foreign_hosts_total",
    .help = "Requests that were refused because their Host header is not a name of this gate",
    .type = EXPO_COUNTER};

/*
 * A controller asks by whatever name the Canary's spec has, such as flagger-gate.flagger, and must
 * not find every gate closed for it. No browser is such a one: with a POST it sends an Origin.
 */
static bool is_hook(struct http_conn_request *req)
{
    const char *path = http_req_path(req);

    return strcmp(http_req_method(req), "POST") == 0 && !http_req_header(req, "origin") &&
           (strcmp(path, "/gate/check") == 0 || strcmp(path, "/rollback/check") == 0);
}

/* A link brings its right along; the rest is bounded by what its body may hold. */
bool routes_know(void *arg, struct http_conn_request *req)
{
    const struct gate_api *api = arg;
    return strncmp(http_req_path(req), "/links/", strlen("/links/")) == 0 ||
           identity_knows(api->identities, req, is_hook(req));
}

bool routes_admit(void *arg, struct http_conn_request *req)
{
    const struct gate_api *api = arg;
    const char *host = http_req_header(req, "host");
    if (hosts_own(api->hosts, host) || is_hook(req))
        return true;
    expo_add(&foreign, 1);
    http_reply_error(req, 421,
                     arena_printf(http_req_arena(req),
                                  "this gate does not answer to the name %.100s: --public-url and "
                                  "--hosts say which names are its own",
                                  host));
    return false;
}
