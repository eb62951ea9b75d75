#include "controller/debug_views.h"

#include <string.h>

#include "base/json.h"
#include "engine/snapshot.h"
#include "net/server/debug.h"

/* False if answered. Access as for the page: requires a known token if tokens are configured, and
 * one of its own host names. */
static bool admits(const struct debug_view *view, struct http_conn_request *req)
{
    if (!debug_admits(req) || !page_admits(&view->page->door, req))
        return false;
    if (*view->engine)
        return true;
    http_reply_error(req, 503, "the controller is stopping");
    return false;
}

static void get_process(void *arg, struct http_conn_request *req)
{
    const struct debug_view *view = arg;

    if (!admits(view, req) || debug_shared(req))
        return;
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    debug_process(*view->server, out);
    snapshot_process(*view->engine, out);
    if (*view->lease) {
        struct json_object *leader = json_sub(out, "leader");
        json_set_str(leader, "holder", lease_holder(*view->lease));
        json_set_str(leader, "identity", lease_identity(*view->lease));
    }
    debug_reply(req, out);
}

static void get_canaries(void *arg, struct http_conn_request *req)
{
    const struct debug_view *view = arg;
    struct debug_page page;

    if (!admits(view, req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    const struct snapshot_filter filter = {.namespace_ = http_req_param(req, "namespace"),
                                           .phase = http_req_param(req, "phase"),
                                           .state = http_req_param(req, "state")};
    struct json_object *out =
        snapshot_canaries(*view->engine, http_req_arena(req), &filter, page.after, page.limit);
    if (out)
        debug_reply(req, out);
    else
        http_reply_error(req, 410,
                         "the Canary that this page would begin behind is gone; begin anew, "
                         "without continue");
}

static void get_canary(void *arg, struct http_conn_request *req)
{
    const struct debug_view *view = arg;

    if (!admits(view, req) || debug_shared(req))
        return;
    const char *namespace_ = http_req_segment(req, 2), *name = http_req_segment(req, 3);
    struct json_object *out = NULL;
    if (namespace_ && name && !http_req_segment(req, 4))
        out = snapshot_canary(*view->engine, http_req_arena(req), namespace_, name);
    if (out)
        debug_reply(req, out);
    else
        http_reply_error(req, 404,
                         "there is no such Canary here: /debug/canaries/NAMESPACE/NAME; "
                         "GET /debug/canaries lists them");
}

static void get_page(void *arg, struct http_conn_request *req)
{
    const struct debug_view *view = arg;

    page_serve(view->page, req);
}

const struct http_route debug_page_routes[] = {
    {"GET", "/ui", get_page},
    {"GET", "/ui/*", get_page},
    {NULL, NULL, NULL},
};

const struct http_route debug_routes[] = {
    {"GET", "/ui", get_page},
    {"GET", "/ui/*", get_page},
    {"GET", "/debug/process", get_process},
    {"GET", "/debug/canaries", get_canaries},
    {"GET", "/debug/canaries/*", get_canary},
    {NULL, NULL, NULL},
};
