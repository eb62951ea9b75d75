#include "gate/api/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "net/server/server.h"

static struct metrics_family changes = {.name = "flagger_gate_changes_total",
                                        .help = "Changes of gates that were asked for, by outcome",
                                        .type = METRICS_COUNTER,
                                        .labels = {"gate", "change", "outcome"}};

void api_reply_error(struct http_conn_request *req, enum err err, const struct errinfo *info)
{
    int status = info->status >= 400 ? info->status : err == ERR_INVALID ? 400 : 503;
    http_reply_error(req, status, info->text);
}

static void on_gone(void *arg)
{
    struct pending *pending = arg;
    pending->req = NULL;
}

struct pending *pending_new(struct http_conn_request *req)
{
    struct arena *arena = arena_new();
    struct pending *pending = ARENA_NEW(arena, struct pending);
    *pending = (struct pending){.req = req, .arena = arena};
    http_req_on_gone(req, on_gone, pending);
    return pending;
}

void pending_free(struct pending *pending)
{
    arena_free(pending->arena);
}

void pending_reply(void *arg, enum err err, const struct errinfo *info, const char *json)
{
    struct pending *pending = arg;
    if (pending->req && err != ERR_OK)
        api_reply_error(pending->req, err, info);
    else if (pending->req)
        http_reply_json(pending->req, 200, json);
    pending_free(pending);
}

static void log_change(const struct pending *pending, const char *json)
{
    const struct gate_change *c = &pending->change;
    struct errinfo info = {0};
    struct json_object *result;
    const char *outcome = "changed", *hash = NULL;
    int64_t seq = 0;
    if (json_parse(pending->arena, json, strlen(json), JSON_MAX_BYTES, &result, &info) == ERR_OK) {
        seq = json_int_at(result, 0, "seq", NULL);
        hash = json_str_at(result, "hash", NULL);
        if (seq == 0)
            outcome = "unchanged";
    }
    metrics_add(&changes, 1, c->gate.kind, pending->closes ? "close" : "open", outcome);
    if (seq == 0)
        return;
    log_info("gate_changed",
             arena_printf(pending->arena, "%s.%s", c->gate.name, c->gate.namespace_),
             pending->closes ? "the gate is closed" : "somebody lets it through",
             LOG_STR("gate", c->gate.kind), LOG_STR("hook", c->gate.hook),
             LOG_STR("revision", c->revision), LOG_STR("who", c->who), LOG_STR("via", c->via),
             LOG_INT("seq", seq), LOG_STR("hash", hash ? hash : ""));
}

static bool is_refused(const struct errinfo *info)
{
    return info->status >= 400 && info->status < 500;
}

void pending_count(struct pending *pending, enum err err, const struct errinfo *info,
                   const char *json)
{
    if (err == ERR_OK)
        log_change(pending, json);
    else
        metrics_add(&changes, 1, pending->change.gate.kind, pending->closes ? "close" : "open",
                    is_refused(info) ? "refused" : "unknown");
}

bool pending_note_change(struct pending *pending, enum err err, const struct errinfo *info,
                         const char *json)
{
    struct http_conn_request *req = pending->req;
    pending_count(pending, err, info, json);
    if (err == ERR_OK)
        return true;
    if (req && is_refused(info))
        api_reply_error(req, err, info);
    else if (req)
        http_reply_error(req, 503,
                         arena_printf(pending->arena,
                                      "%s; whether it has changed is not known, ask again",
                                      info->text));
    return false;
}

void pending_changed(void *arg, enum err err, const struct errinfo *info, const char *json)
{
    struct pending *pending = arg;
    if (pending_note_change(pending, err, info, json) && pending->req)
        http_reply_json(pending->req, 200, json);
    pending_free(pending);
}

bool api_sign(struct http_conn_request *req, const struct identity *identity, const char *said,
              struct gate_change *change)
{
    bool named = *identity->name != '\0';
    if (named && said && strcmp(said, identity->name) != 0) {
        http_reply_error(req, 403,
                         arena_printf(http_req_arena(req),
                                      "who: the credentials are those of %s, leave it out",
                                      identity->name));
        return false;
    }
    change->who = named ? identity->name : said ? said : "anonymous";
    change->verified = named && identity->verified;
    return true;
}

/* GET /v1/whoami and /v1/events: the client's identity, and the stream of changes. */

void api_whoami(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    identity_whoami(api->identities, req);
}

void api_events(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct identity identity;
    struct errinfo info = {0};
    const char *last = http_req_header(req, "Last-Event-ID"), *after = NULL;
    if (!identity_admit(api->identities, req, ROLE_CHECK, &identity))
        return;
    bool resumes = last && *last;
    const char *field = resumes ? "Last-Event-ID" : "after";
    if (!resumes)
        last = http_req_param(req, "after");
    enum err err =
        request_number(http_req_arena(req), field, last, NULL, INT64_MAX - 1, &after, &info);
    if (err != ERR_OK)
        api_reply_error(req, err, &info);
    else
        feed_serve(api->feed, req, &identity, after ? strtoll(after, NULL, 10) : -1);
}

/* GET /debug/process: state of the process, for operators. */

static void add_connection(void *arg, const char *lane, const struct db_connection_snapshot *c)
{
    struct json_object *one = json_object_new_object();

    json_object_array_add(arg, one);
    json_set_str(one, "lane", lane);
    json_set_str(one, "state", c->state);
    debug_set_time(one, "since", c->since_ms);
    json_set_int(one, "inFlight", c->in_flight);
    if (c->oldest_ms > 0)
        json_set_int(one, "oldestMilliseconds", clock_monotonic_ms() - c->oldest_ms);
    json_set_str(one, "leaving", c->leaving);
}

static void set_database(struct json_object *out, const struct db *db)
{
    struct json_object *connections = json_object_new_array();
    const char *trouble = db_trouble(db);

    json_set_bool(out, "ready", db_ready(db));
    if (*trouble)
        json_set_str(out, "trouble", trouble);
    json_object_object_add(out, "connections", connections);
    db_each(db, add_connection, connections);
}

static void set_events(struct json_object *out, const struct feed *feed)
{
    struct feed_snapshot state;

    feed_snapshot(feed, &state);
    json_set_int(out, "clients", state.clients);
    json_set_int(out, "maxClients", FEED_MAX_CLIENTS);
    json_set_int(out, "behind", state.behind);
    json_set_int(out, "waiting", state.waiting);
    if (state.seq >= 0)
        json_set_int(out, "seq", state.seq);
}

void api_debug_process(void *arg, struct http_conn_request *req)
{
    const struct gate_api *api = arg;
    struct identity identity;

    if (!identity_admit(api->identities, req, ROLE_CHECK, &identity) || debug_shared(req))
        return;
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    debug_process(api->server, out);
    set_database(json_sub(out, "database"), api->db);
    set_events(json_sub(out, "events"), api->feed);
    debug_reply(req, out);
}

/* --- the web page */

/* Embedded by the build from gate/page and proto/page (flagger_page() in CMakeLists.txt). They
 * contain no data, so they are public; their scripts read /v1 with the user's token. */
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
