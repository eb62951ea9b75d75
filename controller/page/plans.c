#include "page/plans.h"

#include <string.h>

#include "base/clock.h"
#include "net/server/debug.h"
#include "page/show_plan.h"

/* LIST_MS: a page of the list ends early rather than keep the loop from its work. */
enum { MOST = 100, LIST_MS = 20 };

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

static void get_list(const struct plans_page *page, struct http_conn_request *req,
                     const char **names, size_t count)
{
    struct arena *arena = http_req_arena(req);
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *list = json_own(arena, json_object_new_array());
    int64_t until = clock_monotonic_ms() + LIST_MS;
    struct debug_page part;
    size_t at = 0;

    if (!debug_read_page(req, &part))
        return;
    while (part.after && at < count && strcmp(names[at], part.after) <= 0)
        at++;
    size_t end = at + (size_t)(part.limit < MOST ? part.limit : MOST);
    for (size_t from = at; at < count && at < end && (at == from || clock_monotonic_ms() < until);
         at++) {
        const char *slash = strchr(names[at], '/');
        struct json_object *plan =
            page->get(page->arg, arena,
                      arena_strndup(arena, names[at], (size_t)(slash - names[at])), slash + 1);
        if (plan)
            json_object_array_add(list, json_object_get(show_plan_brief(arena, plan)));
    }
    json_set(out, "plans", list);
    if (at < count)
        json_set_str(out, "continue", names[at - 1]);
    debug_reply(req, out);
}

static void get_one(const struct plans_page *page, struct http_conn_request *req)
{
    const char *namespace_ = http_req_segment(req, 3), *name = http_req_segment(req, 4);
    struct json_object *plan = namespace_ && name && !http_req_segment(req, 5)
                                   ? page->get(page->arg, http_req_arena(req), namespace_, name)
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
    const char **names;
    size_t count;

    if (!page_admits(&page->door, req) || debug_shared(req))
        return;
    if (!page->names(page->arg, http_req_arena(req), &names, &count))
        http_reply_error(req, 503, "the plans are not known yet, or the daemon is stopping");
    else if (strcmp(http_req_path(req), "/ui/api/plans") == 0)
        get_list(page, req, names, count);
    else
        get_one(page, req);
}

void plans_page_serve(struct plans_page *page, struct http_conn_request *req)
{
    page_answer(&page->door, req, files, get_data, page);
}
