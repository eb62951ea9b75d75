#include "page/plans.h"

#include <string.h>

#include "net/server/debug.h"
#include "page/show_plan.h"

enum { MOST = 100 };

/* The build makes these of controller/page and proto/page (flagger_page() in CMakeLists.txt). */
extern const char controller_page_fleet_html[], controller_page_page_css[],
    controller_page_icon_svg[], controller_page_fleet_js[], controller_page_live_js[],
    controller_page_api_js[], controller_page_list_js[], controller_page_plan_js[],
    controller_page_plan_words_js[], controller_page_chart_js[], controller_page_words_js[],
    controller_page_dom_js[], controller_page_span_js[];

static const struct http_file files[] = {
    {"/ui/", HTTP_FILE_HTML, controller_page_fleet_html},
    {"/ui/page.css", HTTP_FILE_CSS, controller_page_page_css},
    {"/ui/icon.svg", HTTP_FILE_SVG, controller_page_icon_svg},
    {"/ui/fleet.js", HTTP_FILE_JS, controller_page_fleet_js},
    {"/ui/live.js", HTTP_FILE_JS, controller_page_live_js},
    {"/ui/api.js", HTTP_FILE_JS, controller_page_api_js},
    {"/ui/list.js", HTTP_FILE_JS, controller_page_list_js},
    {"/ui/plan.js", HTTP_FILE_JS, controller_page_plan_js},
    {"/ui/plan_words.js", HTTP_FILE_JS, controller_page_plan_words_js},
    {"/ui/chart.js", HTTP_FILE_JS, controller_page_chart_js},
    {"/ui/words.js", HTTP_FILE_JS, controller_page_words_js},
    {"/ui/dom.js", HTTP_FILE_JS, controller_page_dom_js},
    {"/ui/span.js", HTTP_FILE_JS, controller_page_span_js},
    {NULL, NULL, NULL},
};

static void get_list(struct json_object *plans, struct http_conn_request *req)
{
    struct debug_page part;

    if (!debug_read_page(req, &part))
        return;
    struct json_object *out = show_plan_list(http_req_arena(req), plans, part.after,
                                             part.limit < MOST ? part.limit : MOST);
    if (out)
        debug_reply(req, out);
    else
        http_reply_error(req, 410,
                         "the plan that this page would begin behind is gone; begin anew, without "
                         "continue");
}

static void get_one(struct json_object *plans, struct http_conn_request *req)
{
    const char *namespace_ = http_req_segment(req, 3), *name = http_req_segment(req, 4);
    struct json_object *plan = namespace_ && name && !http_req_segment(req, 5)
                                   ? show_plan_find(plans, namespace_, name)
                                   : NULL;

    if (plan)
        debug_reply(req, show_plan(http_req_arena(req), plan));
    else
        http_reply_error(req, 404,
                         "there is no such plan here: /ui/api/plans/NAMESPACE/NAME; GET "
                         "/ui/api/plans lists them");
}

static void get_data(void *arg, struct http_conn_request *req)
{
    const struct plans_page *page = arg;

    if (!page_admits(&page->door, req) || debug_shared(req))
        return;
    struct json_object *plans = page->list(page->arg, http_req_arena(req));
    if (!plans)
        http_reply_error(req, 503, "the plans are not known yet");
    else if (strcmp(http_req_path(req), "/ui/api/plans") == 0)
        get_list(plans, req);
    else
        get_one(plans, req);
}

void plans_page_serve(struct plans_page *page, struct http_conn_request *req)
{
    page_answer(&page->door, req, files, get_data, page);
}
