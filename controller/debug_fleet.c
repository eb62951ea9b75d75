#include "controller/debug_fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fleet/select.h"
#include "members/app.h"
#include "members/wave.h"
#include "net/server/debug.h"

/* False: answered. As the page: to those with a token where tokens are asked for, and by its own
 * names. */
static bool admits(const struct debug_fleet *view, struct http_conn_request *req)
{
    if (!debug_admits(req) || !page_admits(&view->page.door, req))
        return false;
    if (*view->members)
        return true;
    http_reply_error(req, 503, "the daemon is stopping");
    return false;
}

static void get_process(void *arg, struct http_conn_request *req)
{
    const struct debug_fleet *view = arg;
    struct members_look look;

    if (!admits(view, req) || debug_shared(req))
        return;
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    debug_process(*view->server, out);
    members_look(*view->members, &look);
    json_set_bool(out, "leads", look.leads);
    json_set_bool(out, "ready", members_ready(*view->members));
    json_set_str(out, "waitsFor", desk_trouble(look.hub->desk));
    json_set_str(out, "identity", look.hub->context.identity);
    json_set_int(out, "applications", (int64_t)look.apps);
    json_set_int(out, "plans", (int64_t)look.plans);
    json_set_int(out, "canaries", (int64_t)look.canaries);
    struct json_object *clusters = json_sub(out, "clusters");
    for (int i = 0; i < MEMBER_STATES; i++)
        json_set_int(clusters, member_state_name((enum member_state)i), look.of[i]);
    struct json_object *work = json_sub(out, "rollouts");
    json_set_int(work, "waiting", look.waiting);
    json_set_int(work, "running", look.running);
    json_set_int(out, "writesUnderWay", look.hub->context.writes);
    if (*view->lease) {
        struct json_object *leader = json_sub(out, "leader");
        json_set_str(leader, "holder", lease_holder(*view->lease));
        json_set_str(leader, "identity", lease_identity(*view->lease));
    }
    debug_reply(req, out);
}

/* --- lists, by name */

struct listed {
    const char *key;
    const void *item;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct listed *)a)->key, ((const struct listed *)b)->key);
}

/* A page of them, each shown by `show`. */
static void reply_page(struct http_conn_request *req, const struct debug_page *page,
                       struct listed *all, size_t count, const char *name,
                       void (*show)(const void *item, struct json_object *out))
{
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    struct json_object *list = json_object_new_array();
    size_t at = 0;

    if (count > 0)
        qsort(all, count, sizeof(*all), by_key);
    json_object_object_add(out, name, list);
    while (page->after && at < count && strcmp(all[at].key, page->after) <= 0)
        at++;
    for (int i = 0; i < page->limit && at < count; i++, at++) {
        struct json_object *one = json_object_new_object();
        json_object_array_add(list, one);
        show(all[at].item, one);
    }
    if (at < count)
        json_set_str(out, "continue", all[at - 1].key);
    debug_reply(req, out);
}

static void show_member(const void *item, struct json_object *out)
{
    const struct member *member = item;

    json_set_str(out, "namespace", member->namespace_);
    json_set_str(out, "secret", *member->access ? member->access : FLEET_HOST);
    json_set_str(out, "state", member_state_name(member->state));
    json_set_str(out, "why", member->why);
    json_set_int(out, "running", member->running);
    if (!member->stock)
        return;
    json_set_int(out, "canaries", (int64_t)stock_canaries(member->stock));
    if (stock_heard_ms(member->stock) > 0)
        debug_set_time(out, "heard", stock_heard_ms(member->stock));
}

static void get_clusters(void *arg, struct http_conn_request *req)
{
    const struct debug_fleet *view = arg;
    struct arena *arena = http_req_arena(req);
    const struct member *member;
    struct members_look look;
    struct debug_page page;
    size_t count = 0;

    if (!admits(view, req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    members_look(*view->members, &look);
    struct listed *all = arena_array(arena, look.members, sizeof(*all));
    for (size_t i = 0; (member = members_next(*view->members, &i));)
        all[count++] =
            (struct listed){.key = arena_printf(arena, "%s/%s", member->namespace_, member->access),
                            .item = member};
    reply_page(req, &page, all, count, "clusters", show_member);
}

static void show_app(const void *item, struct json_object *out)
{
    enum { MOST = 1000 };
    const struct app *app = item;
    struct json_object *places = json_object_new_array();
    struct app_look look;
    int shown = 0;

    app_look(app, &look);
    json_set_str(out, "namespace", app_namespace(app));
    json_set_str(out, "name", app_name(app));
    json_set_str(out, "trouble", look.trouble);
    json_set_int(out, "count", (int64_t)look.places);
    json_object_object_add(out, "places", places);
    for (struct place *place = NULL; shown < MOST && (place = app_next_place(app, place));
         shown++) {
        struct json_object *one = json_object_new_object();
        struct report_row row;
        place_report(place, &row);
        json_object_array_add(places, one);
        json_set_str(one, "policy", row.policy);
        json_set_str(one, "cluster", row.cluster);
        json_set_str(one, "doing", place_state_name(place->state));
        json_set_str(one, "state", report_state_name(row.state));
        json_set_str(one, "message", row.says);
    }
}

static void get_applications(void *arg, struct http_conn_request *req)
{
    const struct debug_fleet *view = arg;
    struct arena *arena = http_req_arena(req);
    struct members_look look;
    struct debug_page page;
    const struct app *app;
    size_t count = 0;

    if (!admits(view, req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    members_look(*view->members, &look);
    struct listed *all = arena_array(arena, look.apps, sizeof(*all));
    for (size_t i = 0; (app = members_next_app(*view->members, &i));)
        all[count++] = (struct listed){.key = app_label(app), .item = app};
    reply_page(req, &page, all, count, "applications", show_app);
}

static void show_plan(const void *item, struct json_object *out)
{
    const struct wave *wave = item;
    struct wave_look look;

    wave_look(wave, &look);
    json_set_str(out, "namespace", wave_namespace(wave));
    json_set_str(out, "name", wave_name(wave));
    json_set_str(out, "doing", look.state);
    json_set_str(out, "phase", look.phase);
    json_set_int(out, "steps", look.steps);
    json_set_int(out, "looks", look.looks);
    json_set_bool(out, "asksGate", look.asks);
}

static void get_plans(void *arg, struct http_conn_request *req)
{
    const struct debug_fleet *view = arg;
    struct arena *arena = http_req_arena(req);
    struct members_look look;
    const struct wave *wave;
    struct debug_page page;
    size_t count = 0;

    if (!admits(view, req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    members_look(*view->members, &look);
    struct listed *all = arena_array(arena, look.plans, sizeof(*all));
    for (size_t i = 0; (wave = members_next_plan(*view->members, &i));)
        all[count++] = (struct listed){
            .key = arena_printf(arena, "%s/%s", wave_namespace(wave), wave_name(wave)),
            .item = wave};
    reply_page(req, &page, all, count, "plans", show_plan);
}

static void get_page(void *arg, struct http_conn_request *req)
{
    struct debug_fleet *view = arg;

    plans_page_serve(&view->page, req);
}

const struct http_route debug_fleet_page_routes[] = {
    {"GET", "/ui", get_page}, {"GET", "/ui/*", get_page}, {0}};
const struct http_route debug_fleet_routes[] = {{"GET", "/ui", get_page},
                                                {"GET", "/ui/*", get_page},
                                                {"GET", "/debug/process", get_process},
                                                {"GET", "/debug/clusters", get_clusters},
                                                {"GET", "/debug/applications", get_applications},
                                                {"GET", "/debug/plans", get_plans},
                                                {0}};
