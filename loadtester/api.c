#include "loadtester/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* A request that waits for the end of its task. */
struct waiting {
    struct http_conn_request *req; /* NULL: the client has gone */
    bool return_output;
};

static void on_gone(void *arg)
{
    struct waiting *waiting = arg;
    waiting->req = NULL;
}

static void on_ended(void *arg, const struct task_result *result)
{
    struct waiting *waiting = arg;
    struct http_conn_request *req = waiting->req;
    if (req && result->error)
        http_reply_text(req, 500,
                        arena_printf(http_req_arena(req), "command %s failed: %s: %s", result->text,
                                     result->output, result->error));
    else if (req)
        http_reply_text(req, 200, waiting->return_output ? result->output : "");
    free(waiting);
}

static void reply_start(struct http_conn_request *req, enum runner_start start)
{
    switch (start) {
    case RUNNER_STARTED:
    case RUNNER_RUNS_ALREADY:
        http_reply(req, 202, NULL, "", 0);
        break;
    case RUNNER_FULL:
        http_reply_header(req, "Retry-After", "10");
        http_reply_text(req, 429, "too many tasks run already, try again later");
        break;
    case RUNNER_STOPPED:
        http_reply_text(req, 503, "the load tester is shutting down");
        break;
    }
}

static void start_blocking(struct tester_api *api, struct http_conn_request *req,
                           const struct task_type *type, const char *canary,
                           const struct task_command *command)
{
    struct waiting *waiting = heap_alloc(sizeof(*waiting));
    *waiting = (struct waiting){.req = req, .return_output = command->return_output};
    enum runner_start start =
        runner_start(api->runner, type, canary, command, true, on_ended, waiting);
    if (start == RUNNER_STARTED || start == RUNNER_RUNS_ALREADY) {
        http_req_on_gone(req, on_gone, waiting);
        return;
    }
    free(waiting);
    reply_start(req, start);
}

/* The task of a webhook: what Flagger's load tester does for every path but its own. */
static void post_task(void *arg, struct http_conn_request *req)
{
    struct tester_api *api = arg;
    struct arena *arena = http_req_arena(req);
    struct errinfo info = {0};
    struct webhook_message message;
    size_t len;
    const char *body = http_req_body(req, &len);
    if (webhook_parse(arena, body, len, &message, &info) != ERR_OK) {
        http_reply_text(req, 400, info.text);
        return;
    }
    if (api->namespaces && regexec(api->namespaces, message.namespace_, 0, NULL, 0) != 0) {
        http_reply_text(req, 403, "Forbidden");
        return;
    }
    if (!message.metadata) {
        http_reply_text(req, 400, "metadata not found in payload");
        return;
    }
    const char *name = webhook_metadata(&message, "type");
    const struct task_type *type = task_type_find(name);
    struct task_command command = {0};
    if (!type) {
        http_reply_text(req, 400, arena_printf(arena, "unknown task type %s", name));
        return;
    }
    if (type->make(arena, &message, &command, &info) != ERR_OK) {
        http_reply_text(req, 400, info.text);
        return;
    }
    const char *canary = arena_printf(arena, "%s.%s", message.name, message.namespace_);
    if (type->blocking)
        start_blocking(api, req, type, canary, &command);
    else
        reply_start(req, runner_start(api->runner, type, canary, &command, false, NULL, NULL));
}

static void get_tasks(void *arg, struct http_conn_request *req)
{
    struct tester_api *api = arg;
    http_reply_json(req, 200, runner_list(api->runner, http_req_arena(req)));
}

/* A gate's answer must never be the answer of something that knows no gates. */
static void no_gates(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_reply_text(req, 404,
                    "gates are served by flagger-gate: use its address in the webhook's url");
}

const struct http_route tester_routes[] = {
    {"GET", "/tasks", get_tasks}, {NULL, "/gate/*", no_gates}, {NULL, "/rollback/*", no_gates},
    {"POST", "/*", post_task},    {NULL, NULL, NULL},
};
