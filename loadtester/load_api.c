/*
 * The webhook of a step starts its load test, or asks for its progress: 202 while it is created and
 * runs, 200 at its end, each with the JSON of load_run_json(); 500 with a sentence if it was
 * refused, or is outside the bounds of the metadata. In a phase that ends a release (Succeeded,
 * Failed), the webhook deletes the load tests of its Canary: 200 when they are deleted, 500 with a
 * sentence if one could not be deleted.
 */
#include "loadtester/tester_api.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* A request that waits until its load test has been created. */
struct waiting {
    struct tester_api *api;
    struct http_conn_request *req; /* NULL if the client has disconnected */
    struct task_bounds bounds;
    char *text; /* of the plan */
};

static void on_gone(void *arg)
{
    struct waiting *waiting = arg;
    waiting->req = NULL;
}

static struct summary summary_of(const struct load_run *run)
{
    return (struct summary){.tool = "the load test",
                            .requests = run->counts.requests,
                            .errors = run->counts.failures,
                            .rps = -1,
                            .p50_ms = load_run_ms(run, 50),
                            .p90_ms = load_run_ms(run, 90),
                            .p99_ms = load_run_ms(run, 99)};
}

static const char *verdict_of(struct arena *arena, const struct task_bounds *bounds,
                              const char *text, const struct load_run *run)
{
    const struct task_plan plan = {.text = text, .bounds = *bounds};
    const struct summary summary = summary_of(run);
    bool good = run->state == LOAD_SUCCEEDED;

    return load_run_ended(run)
               ? verdict_sentence(arena, &plan, good ? NULL : run->message, good ? &summary : NULL)
               : NULL;
}

static void reply_run(struct tester_api *api, struct http_conn_request *req,
                      const struct task_bounds *bounds, const char *text,
                      const struct load_run *run)
{
    struct arena *arena = http_req_arena(req);
    const char *failed = NULL;

    if (run)
        failed = run->state == LOAD_REFUSED ? run->message : verdict_of(arena, bounds, text, run);
    if (!run)
        http_reply_text(req, 503, "the load tester is shutting down");
    else if (failed)
        http_reply_text(req, 500, failed);
    else
        http_reply_json(req, load_run_ended(run) ? 200 : 202,
                        json_text(arena, json_own(arena, load_run_json(run))));
    if (run)
        loads_answered(api->loads, run);
}

static void on_created(void *arg, const struct load_run *run)
{
    struct waiting *waiting = arg;

    if (waiting->req)
        reply_run(waiting->api, waiting->req, &waiting->bounds, waiting->text, run);
    free(waiting->text);
    free(waiting);
}

static void reply_full(struct http_conn_request *req, const char *full)
{
    http_reply_header(req, "Retry-After", "10");
    http_reply_text(req, 429, arena_printf(http_req_arena(req), "%s, try again later", full));
}

static void wait_for(struct tester_api *api, struct http_conn_request *req,
                     const struct task_bounds *bounds, const char *text, const struct load_run *run)
{
    struct waiting *waiting = heap_alloc(sizeof(*waiting));

    *waiting =
        (struct waiting){.api = api, .req = req, .bounds = *bounds, .text = heap_strdup(text)};
    if (loads_wait(api->loads, run, on_created, waiting)) {
        http_req_on_gone(req, on_gone, waiting);
        return;
    }
    free(waiting->text);
    free(waiting);
    reply_full(req, "too many wait for this load test already");
}

/* A request that waits until load tests are deleted. */
struct ending {
    struct http_conn_request *req; /* NULL if the client has disconnected */
};

static void on_ending_gone(void *arg)
{
    struct ending *ending = arg;
    ending->req = NULL;
}

static void on_swept(void *arg, const char *why)
{
    struct ending *ending = arg;

    if (ending->req && why)
        http_reply_text(ending->req, 500,
                        arena_printf(http_req_arena(ending->req),
                                     "the load tests could not be deleted: %s", why));
    else if (ending->req)
        http_reply(ending->req, 200, NULL, "", 0);
    free(ending);
}

static void end_all(struct tester_api *api, struct http_conn_request *req,
                    const struct load_order *order)
{
    struct ending *ending = heap_alloc(sizeof(*ending));

    ending->req = req;
    http_req_on_gone(req, on_ending_gone, ending);
    loads_end(api->loads, order, on_swept, ending);
}

static bool ends_release(const struct webhook_message *message)
{
    return strcmp(message->phase, "Succeeded") == 0 || strcmp(message->phase, "Failed") == 0;
}

void load_api_post(struct tester_api *api, struct http_conn_request *req,
                   struct runner_order *order)
{
    const struct task_bounds bounds = order->plan.bounds;
    const char *text = arena_strdup(http_req_arena(req), order->plan.text), *full;

    if (ends_release(order->message)) {
        end_all(api, req, order->plan.load);
        arena_free(order->arena);
        return;
    }
    const struct load_run *run = loads_ask(api->loads, order->arena, order->plan.load, &full);
    if (!run)
        reply_full(req, full);
    else if (run->state == LOAD_CREATING)
        wait_for(api, req, &bounds, text, run);
    else
        reply_run(api, req, &bounds, text, run);
}

void load_api_get(void *arg, struct http_conn_request *req)
{
    static const char all[] = "/load-tests";
    struct tester_api *api = arg;
    struct arena *arena = http_req_arena(req);
    const char *path = http_req_path(req) + strlen(all);

    if (!tester_admit(api, req))
        return;
    if (!api->loads) {
        http_reply_error(req, 404, "load from many pods is not switched on: see --job-templates");
        return;
    }
    if (!*path) {
        http_reply_json(req, 200, loads_list(api->loads, arena, NULL, NULL));
        return;
    }
    const char *slash = strchr(path + 1, '/');
    if (!slash || slash == path + 1 || !slash[1] || strchr(slash + 1, '/')) {
        http_reply_error(req, 404, "expected /load-tests or /load-tests/NAMESPACE/NAME");
        return;
    }
    const char *namespace_ = arena_strndup(arena, path + 1, (size_t)(slash - path - 1));
    http_reply_json(req, 200, loads_list(api->loads, arena, namespace_, slash + 1));
}
