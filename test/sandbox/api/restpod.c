/* The log of a pod, as a whole. */
#include "api/objinternal.h"
#include "api/rest.h"

enum { LOG_MAX = 1024 * 1024 };

void restpod_log(struct restreq *req)
{
    struct json_object *pod = objstore_get(req->store, req->kind, req->path.ns, req->path.name);
    if (req->verb != REST_GET) {
        restreply_error(req, 405, "MethodNotAllowed", "the log of a pod can only be read");
        return;
    }
    if (!pod) {
        restreply_not_found(req);
        return;
    }
    struct buf log;
    buf_init(&log, LOG_MAX);
    if (req->api->pod_log)
        req->api->pod_log(req->api->pod_log_arg, req->path.ns, req->path.name, &log);
    restreply_done(req, 200);
    http_reply(req->http, 200, "text/plain", log.data, log.len);
    buf_fini(&log);
}
