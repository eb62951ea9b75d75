/*
 * Gates: /v1/gates, /v1/history and /v1/freezes serve gates with their passes, changes and freezes;
 * further down, /gate/ and /rollback/ are the webhooks of a Canary and the interface of Flagger's
 * gate for people (proto/openapi/gate.yaml).
 */
#include <string.h>

#include "base/metrics.h"
#include "gate/api/api.h"

#define MOST "1000"

/* "namespace/name/kind" of an earlier answer; no part contains a slash. */
static enum err read_continue(struct arena *arena, const char *text, struct gate_name *after,
                              struct errinfo *ei)
{
    *after = (struct gate_name){.kind = "", .namespace_ = "", .name = ""};
    if (!text || !*text)
        return ERR_OK;
    char *rest = arena_strdup(arena, text);
    after->namespace_ = strsep(&rest, "/");
    after->name = strsep(&rest, "/");
    after->kind = rest;
    if (!after->kind)
        return err_set(ei, ERR_INVALID,
                       "continue: expected what an earlier answer said, found "
                       "\"%.80s\"",
                       text);
    return ERR_OK;
}

static const char *param(struct http_conn_request *req, const char *name)
{
    const char *value = http_req_param(req, name);
    return value ? value : "";
}

/* Names in the query restrict the result; "" means all. */
static enum err read_names(struct http_conn_request *req, const char **namespace_,
                           const char **name, struct errinfo *ei)
{
    *namespace_ = param(req, "namespace");
    *name = param(req, "name");
    enum err err = **namespace_ ? request_name("namespace", *namespace_, ei) : ERR_OK;
    return err == ERR_OK && **name ? request_name("name", *name, ei) : err;
}

void api_gates_list(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct arena *arena = http_req_arena(req);
    struct identity identity;
    struct errinfo info = {0};
    struct gate_name after;
    const char *namespace_, *name, *limit;
    if (!identity_admit(api->identities, req, ROLE_CHECK, &identity))
        return;
    enum err err = read_names(req, &namespace_, &name, &info);
    if (err == ERR_OK)
        err = request_number(arena, "limit", http_req_param(req, "limit"), "100", 1000, &limit,
                             &info);
    if (err == ERR_OK)
        err = read_continue(arena, http_req_param(req, "continue"), &after, &info);
    if (err != ERR_OK) {
        api_reply_error(req, err, &info);
        return;
    }
    if (*namespace_ && !identity_admit_to(req, &identity, namespace_))
        return;
    gates_list(api->db, namespace_, identity.namespaces, &after, limit, pending_reply,
               pending_new(req));
}

void api_history(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct arena *arena = http_req_arena(req);
    struct identity identity;
    struct errinfo info = {0};
    const char *namespace_, *name, *after, *limit;
    if (!identity_admit(api->identities, req, ROLE_CHECK, &identity))
        return;
    enum err err = read_names(req, &namespace_, &name, &info);
    if (err == ERR_OK)
        err = request_number(arena, "after", http_req_param(req, "after"), "0", INT64_MAX, &after,
                             &info);
    if (err == ERR_OK)
        err = request_number(arena, "limit", http_req_param(req, "limit"), "100", 1000, &limit,
                             &info);
    if (err != ERR_OK) {
        api_reply_error(req, err, &info);
        return;
    }
    if (*namespace_ && !identity_admit_to(req, &identity, namespace_))
        return;
    gates_history(api->db, namespace_, identity.namespaces, name, after, limit, pending_reply,
                  pending_new(req));
}

/* --- one gate */

typedef void (*change_fn)(struct db *db, const struct gate_change *change, gates_json_fn done,
                          void *arg);

/* open, approve, close */
static void change_gate(struct gate_api *api, struct http_conn_request *req,
                        const struct gate_name *gate, enum request_verb verb)
{
    struct identity identity;
    struct errinfo info = {0};
    size_t len;
    const char *body = http_req_body(req, &len);
    if (!identity_admit(api->identities, req, ROLE_OPERATE, &identity) ||
        !identity_admit_to(req, &identity, gate->namespace_))
        return;
    struct pending *pending = pending_new(req);
    struct gate_change *change = &pending->change;
    change->gate = (struct gate_name){
        .namespace_ = arena_strdup(pending->arena, gate->namespace_),
        .name = arena_strdup(pending->arena, gate->name),
    };
    enum err err = request_change(pending->arena, body, len, verb, change, &info);
    if (err != ERR_OK)
        api_reply_error(req, err, &info);
    if (err != ERR_OK || !api_sign(req, &identity, change->who, change)) {
        pending_free(pending);
        return;
    }
    pending->closes = verb == REQUEST_CLOSE;
    change->via = "api";
    change->who = arena_strdup(pending->arena, change->who);
    (pending->closes ? gates_close : gates_open)(api->db, change, pending_changed, pending);
}

static void set_policy(struct gate_api *api, struct http_conn_request *req,
                       const struct gate_name *gate, bool removes)
{
    struct identity identity;
    struct errinfo info = {0};
    struct arena *arena = http_req_arena(req);
    struct gate_change change = {.gate = *gate, .via = "api"};
    struct gate_policy policy;
    size_t len;
    const char *body = http_req_body(req, &len);
    if (!identity_admit(api->identities, req, ROLE_ADMIN, &identity) ||
        !identity_admit_to(req, &identity, gate->namespace_))
        return;
    enum err err = request_policy(arena, body, len, &change, &policy, &info);
    if (err != ERR_OK) {
        api_reply_error(req, err, &info);
        return;
    }
    if (removes)
        policy = (struct gate_policy){0};
    if (api_sign(req, &identity, change.who, &change))
        gates_set_policy(api->db, &change, &policy, pending_reply, pending_new(req));
}

static void show(struct gate_api *api, struct http_conn_request *req, const struct gate_name *gate)
{
    struct identity identity;
    if (identity_admit(api->identities, req, ROLE_CHECK, &identity) &&
        identity_admit_to(req, &identity, gate->namespace_))
        gates_show(api->db, gate->namespace_, gate->name, pending_reply, pending_new(req));
}

static bool is_asked(struct http_conn_request *req, const char *verb, const char *method,
                     const char *wanted)
{
    return strcmp(verb, wanted) == 0 && strcmp(http_req_method(req), method) == 0;
}

void api_gates_one(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct errinfo info = {0};
    struct gate_name gate = {0};
    const char *verb = http_req_segment(req, 4);
    if (request_canary(http_req_segment(req, 2), http_req_segment(req, 3), &gate, &info) !=
        ERR_OK) {
        api_reply_error(req, ERR_INVALID, &info);
        return;
    }
    if (!verb)
        verb = "";
    if (http_req_segment(req, 5))
        http_reply_error(req, 404, "there is nothing below a gate's verbs");
    else if (is_asked(req, verb, "GET", ""))
        show(api, req, &gate);
    else if (is_asked(req, verb, "POST", "open"))
        change_gate(api, req, &gate, REQUEST_OPEN);
    else if (is_asked(req, verb, "POST", "approve"))
        change_gate(api, req, &gate, REQUEST_APPROVE);
    else if (is_asked(req, verb, "POST", "close"))
        change_gate(api, req, &gate, REQUEST_CLOSE);
    else if (is_asked(req, verb, "PUT", "policy"))
        set_policy(api, req, &gate, false);
    else if (is_asked(req, verb, "DELETE", "policy"))
        set_policy(api, req, &gate, true);
    else
        http_reply_error(req, 404,
                         "expected GET /v1/gates/NAMESPACE/NAME, POST to its /open, /approve or "
                         "/close, PUT or DELETE of its /policy");
}

/* --- freezes: times in which nothing may be released */

void api_freezes_list(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct identity identity;
    if (identity_admit(api->identities, req, ROLE_CHECK, &identity))
        gates_freezes(api->db, identity.namespaces, pending_reply, pending_new(req));
}

void api_freezes_add(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct identity identity;
    struct errinfo info = {0};
    struct gate_change change = {.via = "api"};
    struct gate_freeze freeze;
    size_t len;
    const char *body = http_req_body(req, &len);
    if (!identity_admit(api->identities, req, ROLE_ADMIN, &identity))
        return;
    if (request_freeze(http_req_arena(req), body, len, &change, &freeze, &info) != ERR_OK) {
        api_reply_error(req, ERR_INVALID, &info);
        return;
    }
    if (identity_admit_to(req, &identity, change.gate.namespace_) &&
        api_sign(req, &identity, change.who, &change))
        gates_freeze(api->db, &change, &freeze, pending_reply, pending_new(req));
}

void api_freezes_end(void *arg, struct http_conn_request *req)
{
    struct gate_api *api = arg;
    struct identity identity;
    struct errinfo info = {0};
    struct gate_change change = {.via = "api", .reason = ""};
    const char *id;
    if (!identity_admit(api->identities, req, ROLE_ADMIN, &identity))
        return;
    if (request_number(http_req_arena(req), "the freeze", http_req_segment(req, 2), "0", INT64_MAX,
                       &id, &info) != ERR_OK) {
        api_reply_error(req, ERR_INVALID, &info);
        return;
    }
    if (api_sign(req, &identity, NULL, &change))
        gates_unfreeze(api->db, id, identity.namespaces, &change, pending_reply, pending_new(req));
}

/* --- /gate/ and /rollback/ */

static struct metrics_family checks = {.name = "flagger_gate_checks_total",
                                       .help = "Gate checks by what was answered",
                                       .type = METRICS_COUNTER,
                                       .labels = {"gate", "answer"}};

/* Parses gate and revision; answers 400 if the body does not name them. */
static bool read_message(struct http_conn_request *req, struct pending *pending, const char *kind,
                         struct gate_question *question)
{
    struct gate_change *change = &pending->change;
    struct errinfo info = {0};
    size_t len;
    const char *body = http_req_body(req, &len);
    if (request_webhook(pending->arena, body, len, http_req_param(req, "hook"), &change->gate,
                        question, &info) != ERR_OK) {
        api_reply_error(req, ERR_INVALID, &info);
        return false;
    }
    change->gate.kind = kind;
    change->revision = question->revision;
    change->gate.hook = arena_strdup(pending->arena, change->gate.hook);
    return true;
}

static void on_checked(void *arg, enum err err, const struct errinfo *info, const char *approval)
{
    struct pending *pending = arg;
    bool open = approval != NULL;
    metrics_add(&checks, 1, pending->change.gate.kind,
                err != ERR_OK ? "unknown"
                : open        ? "open"
                              : "closed");
    if (pending->req && err != ERR_OK)
        api_reply_error(pending->req, ERR_RETRY, info);
    else if (pending->req)
        http_reply_text(pending->req, open ? 200 : 403, open ? approval : pending->forbidden);
    pending_free(pending);
}

/* The link shown with the reason of a wait. It is not a signed link: with one, every reader of
 * the events could open the gate. */
static const char *forbidden(const struct gate_api *api, struct arena *arena, const char *kind)
{
    return *api->public_url && strcmp(kind, "gate") == 0
               ? arena_printf(arena, "Forbidden until somebody approves at %s/", api->public_url)
               : "Forbidden";
}

/* Anonymous callers (--anonymous-check) are not shown names. */
static bool may_read(const struct identity *identity)
{
    return identity->verified || identity->role > ROLE_CHECK;
}

static void check(struct gate_api *api, struct http_conn_request *req, const char *kind)
{
    struct identity identity;
    struct gate_question question;
    if (!identity_admit_check(api->identities, req, &identity))
        return;
    struct pending *pending = pending_new(req);
    pending->forbidden = forbidden(api, pending->arena, kind);
    if (!read_message(req, pending, kind, &question) ||
        !identity_admit_to(req, &identity, pending->change.gate.namespace_)) {
        pending_free(pending);
        return;
    }
    gates_check(api->db, &pending->change.gate, &question, identity.verified ? identity.name : "",
                may_read(&identity), on_checked, pending);
}

static void on_set(void *arg, enum err err, const struct errinfo *info, const char *json)
{
    struct pending *pending = arg;
    if (pending_note_change(pending, err, info, json) && pending->req)
        http_reply(pending->req, 202, NULL, "", 0);
    pending_free(pending);
}

/* Applies to every revision, as in Flagger; the revision in the message only identifies the
 * caller. */
static void set(struct gate_api *api, struct http_conn_request *req, const char *kind, bool closes)
{
    struct identity identity;
    struct gate_question question;
    if (!identity_admit(api->identities, req, ROLE_OPERATE, &identity))
        return;
    struct pending *pending = pending_new(req);
    struct gate_change *change = &pending->change;
    if (!read_message(req, pending, kind, &question) ||
        !identity_admit_to(req, &identity, change->gate.namespace_) ||
        !api_sign(req, &identity, NULL, change)) {
        pending_free(pending);
        return;
    }
    pending->closes = closes;
    change->revision = "";
    change->via = "webhook";
    change->reason = "";
    change->who = arena_strdup(pending->arena, change->who);
    (closes ? gates_close : gates_open)(api->db, change, on_set, pending);
}

void api_gate_check(void *arg, struct http_conn_request *req)
{
    check(arg, req, "gate");
}

void api_gate_open(void *arg, struct http_conn_request *req)
{
    set(arg, req, "gate", false);
}

void api_gate_close(void *arg, struct http_conn_request *req)
{
    set(arg, req, "gate", true);
}

void api_rollback_check(void *arg, struct http_conn_request *req)
{
    check(arg, req, "rollback");
}

void api_rollback_open(void *arg, struct http_conn_request *req)
{
    set(arg, req, "rollback", false);
}

void api_rollback_close(void *arg, struct http_conn_request *req)
{
    set(arg, req, "rollback", true);
}

/* For specs with a gate that is always open or always closed. */
void api_gate_approve(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_reply_text(req, 200, "OK");
}

void api_gate_halt(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_reply_text(req, 403, "Forbidden");
}
