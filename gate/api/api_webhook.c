/* Webhooks of a Canary, and the interface of Flagger's gate for people: proto/openapi/gate.yaml. */
#include <string.h>

#include "base/metrics.h"
#include "gate/api/api.h"
#include "gate/api/request.h"

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

/* Link for a person reading the reason of a wait. It is not a signed link: with one, every reader
 * of the events could open the gate. */
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

/* For every revision, as in Flagger; the revision of the message only identifies the caller. */
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
