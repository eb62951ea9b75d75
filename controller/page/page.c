#include "page/page.h"

#include <string.h>
#include <strings.h>

#include "net/server/debug.h"
#include "net/server/files.h"
#include "page/show.h"

/* The build makes these of controller/page and proto/page (flagger_page() in CMakeLists.txt). */
extern const char controller_page_index_html[], controller_page_page_css[],
    controller_page_icon_svg[], controller_page_main_js[], controller_page_api_js[],
    controller_page_list_js[], controller_page_release_js[], controller_page_chart_js[],
    controller_page_words_js[], controller_page_dom_js[], controller_page_span_js[];

static const struct http_file files[] = {
    {"/ui/", HTTP_FILE_HTML, controller_page_index_html},
    {"/ui/page.css", HTTP_FILE_CSS, controller_page_page_css},
    {"/ui/icon.svg", HTTP_FILE_SVG, controller_page_icon_svg},
    {"/ui/main.js", HTTP_FILE_JS, controller_page_main_js},
    {"/ui/api.js", HTTP_FILE_JS, controller_page_api_js},
    {"/ui/list.js", HTTP_FILE_JS, controller_page_list_js},
    {"/ui/release.js", HTTP_FILE_JS, controller_page_release_js},
    {"/ui/chart.js", HTTP_FILE_JS, controller_page_chart_js},
    {"/ui/words.js", HTTP_FILE_JS, controller_page_words_js},
    {"/ui/dom.js", HTTP_FILE_JS, controller_page_dom_js},
    {"/ui/span.js", HTTP_FILE_JS, controller_page_span_js},
    {NULL, NULL, NULL},
};

/* A page of another site that makes a browser ask gets nothing; ours asks from the same origin. */
static bool is_other_site(struct http_conn_request *req)
{
    const char *site = http_req_header(req, "sec-fetch-site");

    return site && strcasecmp(site, "none") != 0 && strcasecmp(site, "same-origin") != 0;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t more = strlen(end);

    return len >= more && strncasecmp(text + len - more, end, more) == 0;
}

/*
 * Without tokens only the name that a browser asked for tells our page from one of a stranger who had
 * his own name lead here: an address, a name without a dot and a Service's name are nobody else's.
 */
static bool is_own_name(const char *host)
{
    size_t len = host ? strcspn(host, ":") : 0;

    return !host || *host == '[' || !memchr(host, '.', len) || strspn(host, "0123456789.") >= len ||
           ends_with(host, len, ".svc") || ends_with(host, len, ".svc.cluster.local") ||
           ends_with(host, len, ".localhost");
}

/* False: answered. */
static bool admits(const struct page *page, struct http_conn_request *req)
{
    if (is_other_site(req)) {
        http_reply_error(req, 403, "a page of another site sent this request; it is shown nothing");
    } else if (page->tokens && !tokens_find(page->tokens, http_req_header(req, "authorization"))) {
        http_reply_header(req, "WWW-Authenticate", "Bearer");
        http_reply_error(req, 401,
                         "a token of the file of --ui-token-file is wanted: Authorization: Bearer "
                         "TOKEN");
    } else if (!page->tokens && !is_own_name(http_req_header(req, "host"))) {
        http_reply_error(req, 421,
                         "without --ui-token-file the page is served by its address, localhost or "
                         "the name of a Service, not by other names");
    } else if (!*page->engine) {
        http_reply_error(req, 503, "the controller is stopping");
    } else {
        return true;
    }
    return false;
}

static void get_list(const struct page *page, struct http_conn_request *req)
{
    struct debug_page part;

    if (!debug_read_page(req, &part) || debug_shared(req))
        return;
    const int limit = part.limit < PAGE_LIST ? part.limit : PAGE_LIST;
    struct json_object *out = show_list(*page->engine, http_req_arena(req), part.after, limit);
    if (out)
        debug_reply(req, out);
    else
        http_reply_error(req, 410,
                         "the Canary that this page would begin behind is gone; begin anew, "
                         "without continue");
}

static void get_one(const struct page *page, struct http_conn_request *req)
{
    const char *namespace_ = http_req_segment(req, 3), *name = http_req_segment(req, 4);
    struct json_object *out = NULL;

    if (debug_shared(req))
        return;
    if (namespace_ && name && !http_req_segment(req, 5))
        out = show_one(*page->engine, page->settings, &page->links, http_req_arena(req), namespace_,
                       name);
    if (out)
        debug_reply(req, out);
    else
        http_reply_error(req, 404,
                         "there is no such Canary here: /ui/api/canaries/NAMESPACE/NAME; GET "
                         "/ui/api/canaries lists them");
}

static void get_data(const struct page *page, struct http_conn_request *req)
{
    static const char list[] = "/ui/api/canaries";
    const char *path = http_req_path(req);

    http_reply_header(req, "X-Content-Type-Options", "nosniff");
    http_reply_header(req, "Cross-Origin-Resource-Policy", "same-origin");
    if (!admits(page, req))
        return;
    if (strcmp(path, list) == 0)
        get_list(page, req);
    else
        get_one(page, req);
}

void page_serve(const struct page *page, struct http_conn_request *req)
{
    if (!page->open && !page->tokens) {
        http_reply_error(req, 404,
                         "the release page is off: --ui-token-file FILE serves it to who has a "
                         "token, --ui to everybody who reaches this port");
    } else if (strncmp(http_req_path(req), "/ui/api/", 8) == 0) {
        get_data(page, req);
    } else if (strcmp(http_req_path(req), "/ui") == 0) {
        http_reply_header(req, "Location", "ui/");
        http_reply(req, 308, NULL, "", 0);
    } else {
        http_files_serve(req, files);
    }
}
