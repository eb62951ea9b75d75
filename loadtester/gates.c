#include "loadtester/tester_api.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

enum { FORWARD_MS = 10000, MAX_ANSWER = 64 * 1024 };

/* An open gate; closed gates are not stored. */
struct gate {
    struct gate *next;
    char *key; /* "podinfo.test", "rollback.podinfo.test" */
};

struct gates {
    struct http_client *client;
    char *url;
    struct gate *open;
    int n_open;
};

struct gates *gates_new(struct http_client *client, const char *url)
{
    struct gates *gates = heap_alloc(sizeof(*gates));
    size_t len = url ? strlen(url) : 0;

    *gates = (struct gates){.client = client, .url = heap_strdup(url)};
    while (len > 0 && gates->url[len - 1] == '/')
        gates->url[--len] = '\0';
    return gates;
}

void gates_free(struct gates *gates)
{
    if (!gates)
        return;
    while (gates->open) {
        struct gate *gate = gates->open;
        gates->open = gate->next;
        free(gate->key);
        free(gate);
    }
    free(gates->url);
    free(gates);
}

/* --- in memory */

static struct gate **find(struct gates *gates, const char *key)
{
    struct gate **link = &gates->open;

    while (*link && strcmp((*link)->key, key) != 0)
        link = &(*link)->next;
    return link;
}

static bool set_open(struct gates *gates, const char *key, bool open)
{
    struct gate **link = find(gates, key);
    struct gate *gate = *link;

    if (gate && !open) {
        *link = gate->next;
        gates->n_open--;
        free(gate->key);
        free(gate);
    } else if (!gate && open) {
        if (gates->n_open == GATES_MAX_OPEN)
            return false;
        gate = heap_alloc(sizeof(*gate));
        *gate = (struct gate){.next = gates->open, .key = heap_strdup(key)};
        gates->open = gate;
        gates->n_open++;
    }
    return true;
}

static void reply_check(struct http_conn_request *req, bool open)
{
    http_reply_text(req, open ? 200 : 403, open ? "Approved" : "Forbidden");
}

static void reply_set(struct gates *gates, struct http_conn_request *req, const char *key,
                      bool open)
{
    /* Prefetching a link must not open a gate. */
    if (strcmp(http_req_method(req), "POST") != 0) {
        http_reply_text(req, 405, "gates are changed by POST");
        return;
    }
    if (!set_open(gates, key, open)) {
        http_reply_text(req, 429, "too many gates are open in memory; see --gate-url");
        return;
    }
    log_info("gate_changed", key, open ? "the gate is open" : "the gate is closed");
    http_reply(req, 202, NULL, "", 0);
}

static bool has_canary(struct http_conn_request *req, const struct webhook_message *message)
{
    if (*message->name && *message->namespace_ && strlen(message->name) <= 253 &&
        strlen(message->namespace_) <= 253)
        return true;
    http_reply_text(req, 400,
                    "expected a body that names the Canary: {\"name\": \"...\", \"namespace\": "
                    "\"...\"}");
    return false;
}

static void answer_from_memory(struct gates *gates, struct tester_api *api,
                               struct http_conn_request *req)
{
    const char *path = http_req_path(req);
    struct arena *arena = http_req_arena(req);
    bool rollback = strncmp(path, "/rollback/", 10) == 0;
    const char *verb = strrchr(path, '/') + 1;
    struct webhook_message message;

    if (!rollback && strcmp(path, "/gate/approve") == 0)
        reply_check(req, true);
    else if (!rollback && strcmp(path, "/gate/halt") == 0)
        reply_check(req, false);
    else if (strcmp(path, arena_printf(arena, "%s%s", rollback ? "/rollback/" : "/gate/", verb)) !=
                 0 ||
             (strcmp(verb, "check") != 0 && strcmp(verb, "open") != 0 &&
              strcmp(verb, "close") != 0))
        http_reply_text(req, 404, "there is no such gate path");
    else if (tester_message(api, req, arena, &message) && has_canary(req, &message)) {
        const char *key = arena_printf(arena, "%s%s.%s", rollback ? "rollback." : "", message.name,
                                       message.namespace_);
        if (strcmp(verb, "check") == 0)
            reply_check(req, *find(gates, key) != NULL);
        else
            reply_set(gates, req, key, strcmp(verb, "open") == 0);
    }
}

/* --- forwarded */

/* A request that waits for the gate service. */
struct forwarded {
    struct http_conn_request *req; /* NULL if the client has disconnected */
};

static void on_gone(void *arg)
{
    struct forwarded *passed = arg;
    passed->req = NULL;
}

/* Without an answer the gate counts as closed: the release waits. */
static void on_answer(void *arg, const struct http_result *result)
{
    struct forwarded *passed = arg;
    struct http_conn_request *req = passed->req;

    free(passed);
    if (!req)
        return;
    if (result->err != ERR_OK) {
        http_reply_text(
            req, 503,
            arena_printf(http_req_arena(req), "the gate service: %s", result->info->text));
    } else if (result->status < 200 || result->status > 599) {
        http_reply_text(req, 503,
                        arena_printf(http_req_arena(req),
                                     "the gate service answered with status %d", result->status));
    } else {
        const char *scheme = http_result_header(result, "WWW-Authenticate");
        if (scheme)
            http_reply_header(req, "WWW-Authenticate", scheme);
        http_reply(req, result->status, *result->content_type ? result->content_type : NULL,
                   result->body, result->body_len);
    }
}

/* The path must mean the same to us and to the gate service, so that neither our routes nor
 * --namespace-regexp can be bypassed. Clients drop the part after a '#'. */
static bool may_forward(struct tester_api *api, struct http_conn_request *req)
{
    const char *path = http_req_path(req);
    struct webhook_message message;

    if (strstr(path, "..") || strpbrk(path, "%\\#") || strchr(http_req_query(req), '#')) {
        http_reply_text(req, 404, "there is no such gate path");
        return false;
    }
    return !api->namespaces || strcmp(path, "/gate/approve") == 0 ||
           strcmp(path, "/gate/halt") == 0 ||
           tester_message(api, req, http_req_arena(req), &message);
}

/* Headers needed by the gate service: credentials, and the origin of a browser's request. */
static const char *const forwarded_headers[] = {"Authorization", "Origin", "Sec-Fetch-Site"};
enum { N_PASSED_HEADERS = sizeof(forwarded_headers) / sizeof(forwarded_headers[0]) };

static void pass_on(struct gates *gates, struct tester_api *api, struct http_conn_request *req)
{
    struct http_header headers[N_PASSED_HEADERS + 2] = {{"Content-Type", "application/json"}};
    const char *query = http_req_query(req);
    int n = 1;

    if (!may_forward(api, req))
        return;
    for (int i = 0; i < N_PASSED_HEADERS; i++) {
        const char *value = http_req_header(req, forwarded_headers[i]);
        if (value)
            headers[n++] = (struct http_header){forwarded_headers[i], value};
    }
    struct forwarded *passed = heap_alloc(sizeof(*passed));
    struct http_request request = {.method = http_req_method(req),
                                   .url =
                                       arena_printf(http_req_arena(req), "%s%s%s%s", gates->url,
                                                    http_req_path(req), *query ? "?" : "", query),
                                   .headers = headers,
                                   .timeout_ms = FORWARD_MS,
                                   .max_body = MAX_ANSWER};

    request.body = http_req_body(req, &request.body_len);
    *passed = (struct forwarded){.req = req};
    http_req_on_gone(req, on_gone, passed);
    (void)http_send(gates->client, &request, on_answer, passed);
}

void gates_answer(struct gates *gates, struct tester_api *api, struct http_conn_request *req)
{
    if (gates->url)
        pass_on(gates, api, req);
    else
        answer_from_memory(gates, api, req);
}
