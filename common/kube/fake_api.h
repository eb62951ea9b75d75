/*
 * For the tests of this folder: an API server that records requests and replies as the test
 * demands, plus the loop and the clients. fake_stop() frees everything.
 */
#ifndef KUBE_FAKE_API_H
#define KUBE_FAKE_API_H

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "kube/kube_client.h"
#include "net/loop_test.h"
#include "net/server/server.h"
#include "test/unit.h"

enum { FAKE_MAX_SEEN = 4096 };

struct fake_seen {
    const char *method, *path, *query, *authorization, *content_type, *accept, *agent, *body;
};

struct fake_api {
    struct arena *arena;
    struct loop *loop;
    struct timer *tick; /* wakes the loop, for conditions that no event of the loop changes */
    struct http_server *server;
    struct http_client *http;
    struct kube_config config;
    struct kube_client *client;
    void (*answer)(struct fake_api *api, struct http_conn_request *req,
                   const struct fake_seen *seen);
    void *arg; /* the test's own */
    struct fake_seen seen[FAKE_MAX_SEEN];
    int count;
};

static inline void fake_handle(void *arg, struct http_conn_request *req)
{
    struct fake_api *api = arg;
    size_t len = 0;

    assert_true(api->count < FAKE_MAX_SEEN);
    struct fake_seen *seen = &api->seen[api->count++];
    *seen = (struct fake_seen){
        .method = arena_strdup(api->arena, http_req_method(req)),
        .path = arena_strdup(api->arena, http_req_path(req)),
        .query = arena_strdup(api->arena, http_req_query(req)),
        .authorization = arena_strdup(api->arena, http_req_header(req, "authorization")),
        .content_type = arena_strdup(api->arena, http_req_header(req, "content-type")),
        .accept = arena_strdup(api->arena, http_req_header(req, "accept")),
        .agent = arena_strdup(api->arena, http_req_header(req, "user-agent")),
        .body = arena_strdup(api->arena, http_req_body(req, &len)),
    };
    api->answer(api, req, seen);
}

static inline void fake_tick(void *arg)
{
}

static inline struct fake_api *fake_start(void (*answer)(struct fake_api *api,
                                                         struct http_conn_request *req,
                                                         const struct fake_seen *seen),
                                          void *arg)
{
    static const struct http_route routes[] = {{.path = "/"
                                                        "*",
                                                .fn = fake_handle},
                                               {0}};
    struct fake_api *api = heap_alloc(sizeof(*api));
    struct errinfo ei = {0};

    log_set_level(getenv("FAKE_API_LOG") ? getenv("FAKE_API_LOG") : "fatal");
    api->arena = arena_new();
    api->loop = loop_new(5000);
    api->answer = answer;
    api->arg = arg;
    api->tick = timer_start(api->loop, 1, 1, fake_tick, NULL);
    if (http_server_new(api->loop,
                        &(struct http_server_options){.address = "127.0.0.1",
                                                      .routes = routes,
                                                      .arg = api,
                                                      .max_body = JSON_MAX_BYTES,
                                                      .no_builtin = true},
                        &api->server, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    api->http = http_client_new(api->loop, NULL);
    api->config = (struct kube_config){
        .server = arena_printf(api->arena, "http://127.0.0.1:%d", http_server_port(api->server)),
        .namespace_ = "default",
        .context = "",
        .proxy = "",
    };
    return api;
}

/* Must be called after api->config has changed. */
static inline void fake_connect(struct fake_api *api, const struct kube_client_options *options)
{
    api->client = kube_client_new(api->loop, api->http, &api->config, options);
}

static inline void fake_stop(struct fake_api *api)
{
    kube_client_free(api->client);
    http_client_free(api->http);
    http_server_stop(api->server);
    timer_stop(api->tick);
    uv_run(loop_uv(api->loop), UV_RUN_NOWAIT);
    loop_drain(api->loop);
    loop_run(api->loop);
    http_server_free(api->server);
    loop_free(api->loop);
    arena_free(api->arena);
    free(api);
}

#define FAKE_WAIT(api, condition) LOOP_UNTIL((api)->loop, condition)

static inline void fake_status(struct http_conn_request *req, int status, const char *message)
{
    char text[512];

    snprintf(text, sizeof(text),
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"%s\","
             "\"code\":%d}",
             message, status);
    http_reply_json(req, status, text);
}

/* Ends a streamed answer in the middle of its chunks, like a broken connection. */
static inline void fake_cut(struct http_conn_request *req, size_t max_queue)
{
    char *junk = heap_alloc(max_queue + 1);

    assert_false(http_stream_send(req, junk, max_queue + 1));
    free(junk);
}

/* The result of a call; the texts are copied. */
struct fake_result {
    int calls;
    enum err err;
    int status;
    int64_t retry_after_ms;
    char text[512];
    char body[4096];
};

static inline void fake_done(void *arg, const struct kube_result *result)
{
    struct fake_result *out = arg;

    out->calls++;
    out->err = result->err;
    out->status = result->status;
    out->retry_after_ms = result->info->retry_after_ms;
    snprintf(out->text, sizeof(out->text), "%s", result->info->text);
    snprintf(out->body, sizeof(out->body), "%s",
             result->body ? json_text(result->arena, result->body) : "");
}

#endif
