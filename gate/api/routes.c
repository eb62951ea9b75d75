#include <string.h>

#include "base/metrics.h"
#include "gate/api/api.h"
#include "net/server/server.h"

/* --- the web page */

/* Embedded by the build from gate/page and proto/page (flagger_page() in CMakeLists.txt). They hold
 * no data, so they are public; their scripts read /v1 with the token of the user. */
extern const char gate_page_index_html[], gate_page_page_css[], gate_page_icon_svg[],
    gate_page_main_js[], gate_page_api_js[], gate_page_card_js[], gate_page_act_js[],
    gate_page_model_js[], gate_page_dom_js[], gate_page_span_js[], gate_page_link_css[];

static const struct http_file page_files[] = {
    {"/", HTTP_FILE_HTML, gate_page_index_html},
    {"/page/page.css", HTTP_FILE_CSS, gate_page_page_css},
    {"/page/link.css", HTTP_FILE_CSS, gate_page_link_css},
    {"/page/icon.svg", HTTP_FILE_SVG, gate_page_icon_svg},
    {"/page/main.js", HTTP_FILE_JS, gate_page_main_js},
    {"/page/api.js", HTTP_FILE_JS, gate_page_api_js},
    {"/page/card.js", HTTP_FILE_JS, gate_page_card_js},
    {"/page/act.js", HTTP_FILE_JS, gate_page_act_js},
    {"/page/model.js", HTTP_FILE_JS, gate_page_model_js},
    {"/page/dom.js", HTTP_FILE_JS, gate_page_dom_js},
    {"/page/span.js", HTTP_FILE_JS, gate_page_span_js},
    {NULL, NULL, NULL},
};

static void page_serve(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_files_serve(req, page_files);
}

/* --- the table */

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

static struct metrics_family foreign = {
    .name = "flagger_gate_foreign_hosts_total",
    .help = "Requests that were refused because their Host header is not a name of this gate",
    .type = METRICS_COUNTER};

/*
 * A controller uses any host name that a Canary's spec contains, such as flagger-gate.flagger;
 * rejecting it would keep every gate closed. Browsers never match: they send an Origin with a POST.
 */
static bool is_hook(struct http_conn_request *req)
{
    const char *path = http_req_path(req);

    return strcmp(http_req_method(req), "POST") == 0 && !http_req_header(req, "origin") &&
           (strcmp(path, "/gate/check") == 0 || strcmp(path, "/rollback/check") == 0);
}

bool routes_admit(void *arg, struct http_conn_request *req)
{
    const struct gate_api *api = arg;
    const char *host = http_req_header(req, "host");
    if (hosts_own(api->hosts, host) || is_hook(req))
        return true;
    metrics_add(&foreign, 1);
    http_reply_error(req, 421,
                     arena_printf(http_req_arena(req),
                                  "this gate does not answer to the name %.100s: --public-url and "
                                  "--hosts say which names are its own",
                                  host));
    return false;
}
