#include "page/page.h"

#include <string.h>

#include "net/server/debug.h"
#include "net/server/files.h"
#include "page/show.h"

/* The build makes these of controller/page and proto/page (flagger_page() in CMakeLists.txt). */
extern const char controller_page_index_html[], controller_page_page_css[],
    controller_page_icon_svg[], controller_page_main_js[], controller_page_live_js[],
    controller_page_api_js[], controller_page_list_js[], controller_page_release_js[],
    controller_page_chart_js[], controller_page_words_js[], controller_page_dom_js[],
    controller_page_span_js[];

static const struct http_file files[] = {
    {"/ui/", HTTP_FILE_HTML, controller_page_index_html},
    {"/ui/page.css", HTTP_FILE_CSS, controller_page_page_css},
    {"/ui/icon.svg", HTTP_FILE_SVG, controller_page_icon_svg},
    {"/ui/main.js", HTTP_FILE_JS, controller_page_main_js},
    {"/ui/live.js", HTTP_FILE_JS, controller_page_live_js},
    {"/ui/api.js", HTTP_FILE_JS, controller_page_api_js},
    {"/ui/list.js", HTTP_FILE_JS, controller_page_list_js},
    {"/ui/release.js", HTTP_FILE_JS, controller_page_release_js},
    {"/ui/chart.js", HTTP_FILE_JS, controller_page_chart_js},
    {"/ui/words.js", HTTP_FILE_JS, controller_page_words_js},
    {"/ui/dom.js", HTTP_FILE_JS, controller_page_dom_js},
    {"/ui/span.js", HTTP_FILE_JS, controller_page_span_js},
    {NULL, NULL, NULL},
};

/* False: answered. */
static bool admits(const struct page *page, struct http_conn_request *req)
{
    if (!page_admits(&page->door, req))
        return false;
    if (!*page->engine)
        http_reply_error(req, 503, "the controller is stopping");
    return *page->engine != NULL;
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

    if (!admits(page, req))
        return;
    if (strcmp(path, list) == 0)
        get_list(page, req);
    else
        get_one(page, req);
}

static void serve_data(void *arg, struct http_conn_request *req)
{
    get_data(arg, req);
}

void page_serve(struct page *page, struct http_conn_request *req)
{
    page_answer(&page->door, req, files, serve_data, page);
}
