/* Subresources of pods: log and eviction. */
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"
#include "api/rest.h"

enum { LOG_MAX = 16 * 1024 * 1024, POLL_MS = 250, FOLLOW_QUEUE = 32 * 1024 * 1024 };

struct follow {
    struct restreq *req;
    const char *container;
    bool previous;
    size_t offset;
    struct timer *timer;
};

static bool is_true(const char *text)
{
    return text && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

/* The last lines of text; lines < 0: all of it. */
static const char *tail(const char *text, size_t len, int64_t lines)
{
    const char *at = text + len;
    if (lines < 0)
        return text;
    if (at > text && at[-1] == '\n' && lines > 0)
        at--;
    while (at > text && (lines > 1 || at[-1] != '\n')) {
        lines -= at[-1] == '\n' ? 1 : 0;
        at--;
    }
    return lines == 0 ? text + len : at;
}

static bool read_log(struct restreq *req, const char *container, bool previous, size_t offset,
                     struct buf *out)
{
    return req->api->pod_log && req->api->pod_log(req->api->pod_log_arg, req->path.ns,
                                                  req->path.name, container, previous, offset, out);
}

static void on_gone(void *arg)
{
    struct follow *follow = arg;
    timer_stop(follow->timer);
}

static void on_poll(void *arg)
{
    struct follow *follow = arg;
    struct buf more;
    buf_init(&more, LOG_MAX);
    bool goes_on =
        read_log(follow->req, follow->container, follow->previous, follow->offset, &more);
    follow->offset += more.len;
    bool alive = more.len == 0 || http_stream_send(follow->req->http, more.data, more.len);
    buf_fini(&more);
    if (alive && !goes_on) {
        timer_stop(follow->timer);
        http_stream_end(follow->req->http);
    }
}

static void start_following(const struct follow *start, const char *text, size_t len)
{
    struct restreq *req = start->req;
    struct follow *follow = ARENA_NEW(req->arena, struct follow);
    *follow = *start;
    http_req_on_gone(req->http, on_gone, follow);
    follow->timer = timer_start(req->api->loop, POLL_MS, POLL_MS, on_poll, follow);
    restreply_done(req, 200);
    http_stream_start(req->http, 200, "text/plain", FOLLOW_QUEUE);
    if (len > 0)
        (void)!http_stream_send(req->http, text, len);
}

static bool check_container(struct restreq *req, struct json_object *pod, const char *container)
{
    struct json_object *list = json_at(pod, "spec", "containers", NULL);
    for (size_t i = 0; container && i < json_len(list); i++) {
        const char *name = json_str_at(json_elem(list, i), "name", NULL);
        if (name && strcmp(name, container) == 0)
            return true;
    }
    if (!container && json_len(list) == 1)
        return true;
    if (container) {
        restreply_error(req, 400, "BadRequest", "container %s is not valid for pod %s", container,
                        req->path.name);
    } else {
        restreply_error(req, 400, "BadRequest", "a container name must be specified for pod %s",
                        req->path.name);
    }
    return false;
}

void restpod_log(struct restreq *req)
{
    struct json_object *pod = objstore_get(req->store, req->kind, req->path.ns, req->path.name);
    const char *container = http_req_param(req->http, "container");
    const char *lines = http_req_param(req->http, "tailLines");
    if (req->verb != REST_GET) {
        restreply_error(req, 405, "MethodNotAllowed", "the log of a pod can only be read");
        return;
    }
    if (!pod) {
        objmeta_describe(&req->call.fail, req->kind, req->path.name);
        restreply_error(req, 404, "NotFound", "pods \"%s\" not found", req->path.name);
        return;
    }
    if (!check_container(req, pod, container))
        return;
    struct buf log;
    buf_init(&log, LOG_MAX);
    struct follow follow = {.req = req, .container = container};
    follow.previous = is_true(http_req_param(req->http, "previous"));
    bool goes_on = read_log(req, container, follow.previous, 0, &log);
    follow.offset = log.len;
    const char *text = tail(log.data, log.len, lines ? strtoll(lines, NULL, 10) : -1);
    size_t len = log.len - (size_t)(text - log.data);
    if (goes_on && is_true(http_req_param(req->http, "follow"))) {
        start_following(&follow, text, len);
    } else {
        restreply_done(req, 200);
        http_reply(req->http, 200, "text/plain", text, len);
    }
    buf_fini(&log);
}

void restpod_evict(struct restreq *req)
{
    struct objdelete options = {.grace_seconds = -1};
    if (req->verb != REST_CREATE) {
        restreply_error(req, 405, "MethodNotAllowed", "an eviction can only be created");
        return;
    }
    if (!restbody_options(req))
        return;
    if (objstore_delete(req->store, &req->call, req->kind, req->path.ns, req->path.name, &options,
                        NULL, NULL) != ERR_OK) {
        restreply_fail(req);
        return;
    }
    struct json_object *status = json_own(req->arena, json_object_new_object());
    json_set_str(status, "kind", "Status");
    json_set_str(status, "apiVersion", "v1");
    json_sub(status, "metadata");
    json_set_str(status, "status", "Success");
    json_set_int(status, "code", 201);
    restreply_tree(req, 201, status);
}
