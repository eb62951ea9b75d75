/* What the tests of the REST layer share: an API on a free port and requests that wait for their
 * answer. */
#ifndef SANDBOX_TRYAPI_H
#define SANDBOX_TRYAPI_H

#include <stdlib.h>
#include <unistd.h>

#include "api/api.h"
#include "api/trystore.h"
#include "base/buf.h"
#include "net/client.h"

struct tryapi {
    struct trystore t;
    struct api *api;
    struct http_client *client;
    char directory[64];
    /* for the next requests; NULL: as usual */
    const char *token, *accept, *type, *agent;
};

struct answer {
    bool done;
    enum err err;
    int status;
    const char *text;         /* the body */
    struct json_object *body; /* NULL when it is no JSON */
    const char *warning, *retry_after, *content_type;
};

static inline struct tryapi tryapi_open(void)
{
    struct tryapi a = {.t = try_open(), .directory = "/tmp/api-test-XXXXXX"};
    struct errinfo ei = {0};
    assert_non_null(mkdtemp(a.directory));
    struct api_options options = {.https_port = -1, .token = "secret", .directory = a.directory};
    if (api_new(a.t.loop, a.t.store, &options, &a.api, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    a.client = http_client_new(a.t.loop, &(struct http_client_options){.user_agent = "try/1"});
    return a;
}

static inline void tryapi_close(struct tryapi *a)
{
    const char *files[] = {"kubeconfig", "token", "ca.crt", "tls.crt", "tls.key"};
    for (size_t i = 0; i < TRY_COUNT(files); i++)
        unlink(arena_printf(a->t.arena, "%s/%s", a->directory, files[i]));
    rmdir(a->directory);
    http_client_free(a->client);
    loop_drain(a->t.loop);
    (void)!loop_run(a->t.loop);
    api_free(a->api);
    try_close(&a->t);
}

/* struct tryapi a TRYAPI_CLOSED = tryapi_open(): until the end of the block */
#define TRYAPI_CLOSED __attribute__((cleanup(tryapi_close)))

struct tryapi_wait {
    struct answer answer;
    struct arena *arena;
};

static inline void tryapi_done(void *arg, const struct http_result *result)
{
    struct tryapi_wait *wait = arg;
    struct answer *answer = &wait->answer;
    answer->done = true;
    answer->err = result->err;
    answer->status = result->status;
    if (result->err != ERR_OK)
        return;
    answer->text = arena_strndup(wait->arena, result->body, result->body_len);
    answer->warning = arena_strdup(wait->arena, http_result_header(result, "warning"));
    answer->retry_after = arena_strdup(wait->arena, http_result_header(result, "retry-after"));
    answer->content_type = arena_strdup(wait->arena, result->content_type);
    (void)!json_parse(wait->arena, result->body, result->body_len, JSON_MAX_BYTES, &answer->body,
                      NULL);
}

/* Turns the loop until *done, at most ten seconds. */
static inline void tryapi_turn(struct tryapi *a, const bool *done)
{
    int64_t end = clock_monotonic_ms() + 10000;
    while (!*done && clock_monotonic_ms() < end)
        uv_run(loop_uv(a->t.loop), UV_RUN_NOWAIT);
    assert_true(*done);
}

static inline struct answer ask(struct tryapi *a, const char *method, const char *path,
                                const char *body)
{
    struct tryapi_wait wait = {.arena = a->t.arena};
    body = try_quoted(a->t.arena, body);
    const char *token = a->token ? a->token : "secret";
    struct http_header headers[] = {
        {"authorization", arena_printf(a->t.arena, "Bearer %s", token)},
        {"content-type", a->type ? a->type : "application/json"},
        {a->accept ? "accept" : "x-none", a->accept ? a->accept : "1"},
        {a->agent ? "user-agent" : "x-none", a->agent ? a->agent : "1"},
        {NULL, NULL},
    };
    struct http_request request = {
        .method = method,
        .url = arena_printf(a->t.arena, "http://127.0.0.1:%d%s", api_http_port(a->api), path),
        .headers = headers,
        .body = body,
        .body_len = body ? strlen(body) : 0,
        .proxy = "",
    };
    http_send(a->client, &request, tryapi_done, &wait);
    tryapi_turn(a, &wait.answer.done);
    return wait.answer;
}

/* ask() that must answer with this status. */
static inline struct json_object *ask_for(struct tryapi *a, int status, const char *method,
                                          const char *path, const char *body)
{
    struct answer answer = ask(a, method, path, body);
    if (answer.status != status) {
        fail_msg("%s %s: status %d, not %d: %s", method, path, answer.status, status,
                 answer.text ? answer.text : "no answer");
    }
    return answer.body;
}

#endif
