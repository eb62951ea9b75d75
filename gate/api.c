#include "gate/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/expo.h"
#include "base/json.h"
#include "base/log.h"
#include "gate/gates.h"
#include "proto/webhook.h"

static struct expo_metric checks = {.name = "flagger_gate_checks_total",
                                    .help = "Gate checks by what was answered",
                                    .type = EXPO_COUNTER,
                                    .labels = {"gate", "answer"}};
static struct expo_metric changes = {.name = "flagger_gate_changes_total",
                                     .help = "Gates that were opened or closed",
                                     .type = EXPO_COUNTER,
                                     .labels = {"gate", "change"}};

enum { NAME_MAX_BYTES = 253 };

/* One request that waits for the database. The client may go first: then only the answer is
 * dropped. */
struct waiting {
    struct http_conn_request *req; /* NULL: gone */
    enum gate_kind kind;
    bool open;  /* what a change asked for */
    char *gate; /* "name.namespace", for the log */
};

static const char *kind_name(enum gate_kind kind)
{
    return kind == GATE_ROLLBACK ? "rollback" : "gate";
}

static void on_gone(void *arg)
{
    struct waiting *waiting = arg;
    waiting->req = NULL;
}

static void reply_error(struct http_conn_request *req, int status, const char *text)
{
    struct arena *arena = http_req_arena(req);
    struct json_object *body = json_own(arena, json_object_new_object());
    json_set_str(body, "error", text);
    http_reply_json(req, status, json_text(arena, body));
}

/* Which Canary is meant; answers 400 itself when that cannot be told. */
static bool read_canary(struct http_conn_request *req, struct webhook_message *message)
{
    size_t len;
    const char *body = http_req_body(req, &len);
    struct errinfo info = {0};
    if (webhook_parse(http_req_arena(req), body, len, message, &info) != ERR_OK) {
        reply_error(req, 400, info.text);
        return false;
    }
    if (!message->name || !*message->name || !message->namespace_ || !*message->namespace_) {
        reply_error(
            req, 400,
            "expected a body that names the Canary: {\"name\": \"...\", \"namespace\": \"...\"}");
        return false;
    }
    if (strlen(message->name) > NAME_MAX_BYTES || strlen(message->namespace_) > NAME_MAX_BYTES) {
        reply_error(req, 400, "name and namespace: expected at most 253 bytes each");
        return false;
    }
    return true;
}

static struct waiting *wait_for(struct http_conn_request *req, enum gate_kind kind,
                                const struct webhook_message *message)
{
    struct waiting *waiting = heap_alloc(sizeof(*waiting));
    *waiting = (struct waiting){
        .req = req, .kind = kind, .gate = heap_printf("%s.%s", message->name, message->namespace_)};
    http_req_on_gone(req, on_gone, waiting);
    return waiting;
}

static void waiting_free(struct waiting *waiting)
{
    free(waiting->gate);
    free(waiting);
}

static void on_checked(void *arg, enum err err, const struct errinfo *info, bool open)
{
    struct waiting *waiting = arg;
    expo_add(&checks, 1, kind_name(waiting->kind),
             err != ERR_OK ? "unknown"
             : open        ? "open"
                           : "closed");
    if (waiting->req) {
        if (err != ERR_OK)
            reply_error(waiting->req, 503, info->text);
        else if (open)
            http_reply_text(waiting->req, 200, "Approved");
        else
            http_reply_text(waiting->req, 403, "Forbidden");
    }
    waiting_free(waiting);
}

static void check(struct gate_api *api, struct http_conn_request *req, enum gate_kind kind)
{
    struct webhook_message message;
    if (read_canary(req, &message))
        gates_check(api->db, kind, message.namespace_, message.name, on_checked,
                    wait_for(req, kind, &message));
}

static void on_set(void *arg, enum err err, const struct errinfo *info, bool open)
{
    struct waiting *waiting = arg;
    const char *change = waiting->open ? "opened" : "closed";
    if (err == ERR_OK) {
        expo_add(&changes, 1, kind_name(waiting->kind), change);
        log_info("gate_changed", waiting->gate, open ? "the gate is open" : "the gate is closed",
                 LOG_STR("gate", kind_name(waiting->kind)));
    }
    if (waiting->req) {
        if (err != ERR_OK)
            reply_error(waiting->req, 503,
                        arena_printf(http_req_arena(waiting->req),
                                     "%s; whether the gate has changed is not known, ask again",
                                     info->text));
        else
            http_reply(waiting->req, 202, NULL, "", 0);
    }
    waiting_free(waiting);
}

static void set(struct gate_api *api, struct http_conn_request *req, enum gate_kind kind, bool open)
{
    struct webhook_message message;
    if (!read_canary(req, &message))
        return;
    struct waiting *waiting = wait_for(req, kind, &message);
    waiting->open = open;
    gates_set(api->db, kind, message.namespace_, message.name, open, on_set, waiting);
}

static void gate_check(void *arg, struct http_conn_request *req)
{
    check(arg, req, GATE_CONFIRM);
}

static void gate_open(void *arg, struct http_conn_request *req)
{
    set(arg, req, GATE_CONFIRM, true);
}

static void gate_close(void *arg, struct http_conn_request *req)
{
    set(arg, req, GATE_CONFIRM, false);
}

static void rollback_check(void *arg, struct http_conn_request *req)
{
    check(arg, req, GATE_ROLLBACK);
}

static void rollback_open(void *arg, struct http_conn_request *req)
{
    set(arg, req, GATE_ROLLBACK, true);
}

static void rollback_close(void *arg, struct http_conn_request *req)
{
    set(arg, req, GATE_ROLLBACK, false);
}

/* For specs that want a gate that is always open or always closed. */
static void gate_approve(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_reply_text(req, 200, "OK");
}

static void gate_halt(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_reply_text(req, 403, "Forbidden");
}

static void on_listed(void *arg, enum err err, const struct errinfo *info, const char *json)
{
    struct waiting *waiting = arg;
    if (waiting->req) {
        if (err != ERR_OK)
            reply_error(waiting->req, 503, info->text);
        else
            http_reply_json(waiting->req, 200, json);
    }
    waiting_free(waiting);
}

static void gates(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    static const struct webhook_message all = {.name = "all", .namespace_ = "all"};
    gates_list(api->db, on_listed, wait_for(req, GATE_CONFIRM, &all));
}

const struct http_route gate_routes[] = {
    {"POST", "/gate/check", gate_check},
    {"POST", "/gate/open", gate_open},
    {"POST", "/gate/close", gate_close},
    {NULL, "/gate/approve", gate_approve},
    {NULL, "/gate/halt", gate_halt},
    {"POST", "/rollback/check", rollback_check},
    {"POST", "/rollback/open", rollback_open},
    {"POST", "/rollback/close", rollback_close},
    {"GET", "/gates", gates},
    {NULL, NULL, NULL},
};
