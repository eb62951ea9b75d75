/* GET /v1/whoami and /v1/events: what somebody who looks on asks first, and what he is told then.
 */
#include <stdlib.h>

#include "gate/api/api.h"
#include "gate/api/request.h"

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
