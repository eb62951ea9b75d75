/* /v1/freezes: when nothing may be released. */
#include "gate/api/api.h"
#include "gate/api/request.h"

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
