
#include <stdio.h>
#include <string.h>

#include "cluster/forward.h"
#include "net/client.h"
#include "net/server/server.h"
#include "test/unit.h"

enum { REQUESTS = 40, LIMIT_MS = 10 * 1000 };

/* Two servers that answer with their number, and a client that goes through the forward. */
struct world {
    struct loop *loop;
    struct forward *forward;
    struct http_server *servers[2];
    struct http_client *client;
    int answers[2];
    int failed, left;
};

static void answer(void *arg, struct http_conn_request *req)
{
    http_reply_text(req, 200, arg);
}

static const struct http_route routes[] = {{NULL, "/", answer}, {0}};

static void stop_turning(void *arg)
{
    uv_stop(loop_uv(arg));
}

static void on_done(void *arg, const struct http_result *result)
{
    struct world *w = arg;
    if (result->err == ERR_OK)
        w->answers[result->body[0] - '0']++;
    else
        w->failed++;
    if (--w->left == 0)
        stop_turning(w->loop);
}

/* Sends requests, each on a connection of its own, and waits for all of them. */
static void ask(struct world *w, int port, int count)
{
    static const struct http_header headers[] = {{"connection", "close"}, {0}};
    char url[64];
    memset(w->answers, 0, sizeof(w->answers));
    w->failed = 0;
    w->left = count;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", port);
    for (int i = 0; i < count; i++)
        http_send(w->client, &(struct http_request){.url = url, .headers = headers, .proxy = ""},
                  on_done, w);
    struct timer *limit = timer_start(w->loop, LIMIT_MS, 0, stop_turning, w->loop);
    uv_run(loop_uv(w->loop), UV_RUN_DEFAULT);
    assert_int_equal(w->left, 0);
    timer_stop(limit);
}

static int set_up(void **state)
{
    static struct world world;
    static char names[2][2] = {"0", "1"};
    struct errinfo ei;
    world = (struct world){.loop = loop_new(2000)};
    for (int i = 0; i < 2; i++) {
        const struct http_server_options options = {
            .address = "127.0.0.1", .routes = routes, .arg = names[i], .no_builtin = true};
        assert_int_equal(http_server_new(world.loop, &options, &world.servers[i], &ei), ERR_OK);
    }
    world.client = http_client_new(world.loop, &(struct http_client_options){.max_per_host = 4});
    world.forward = forward_new(world.loop, "127.0.0.1", 0);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    forward_free(w->forward);
    http_client_free(w->client);
    loop_drain(w->loop);
    assert_int_equal(loop_run(w->loop), 0);
    for (int i = 0; i < 2; i++)
        http_server_free(w->servers[i]);
    loop_free(w->loop);
    return 0;
}

static void point(struct world *w, const int *ports, size_t count)
{
    struct forward_target targets[4];
    struct errinfo ei = {0};
    for (size_t i = 0; i < count; i++)
        targets[i] = (struct forward_target){.address = "127.0.0.1", .port = ports[i]};
    assert_int_equal(forward_set(w->forward, targets, count, &ei), ERR_OK);
}

CASE_WITH(shares_evenly, set_up, tear_down)
{
    struct world *w = *state;
    const int both[] = {http_server_port(w->servers[0]), http_server_port(w->servers[1])};
    point(w, both, 2);
    ask(w, forward_port(w->forward), REQUESTS);
    assert_int_equal(w->failed, 0);
    assert_int_equal(w->answers[0], REQUESTS / 2);
    assert_int_equal(w->answers[1], REQUESTS / 2);
    point(w, both, 1);
    ask(w, forward_port(w->forward), 10);
    assert_int_equal(w->answers[0], 10);
}

CASE_WITH(passes_over_dead_targets, set_up, tear_down)
{
    struct world *w = *state;
    const int ports[] = {1, http_server_port(w->servers[1]), 1};
    point(w, ports, 3);
    ask(w, forward_port(w->forward), REQUESTS);
    assert_int_equal(w->failed, 0);
    assert_int_equal(w->answers[1], REQUESTS);
    const int dead[] = {1, 1};
    point(w, dead, 2);
    ask(w, forward_port(w->forward), 5);
    assert_int_equal(w->failed, 5);
}

CASE_WITH(refuses_without_targets, set_up, tear_down)
{
    struct world *w = *state;
    const int one[] = {http_server_port(w->servers[0])};
    assert_int_equal(forward_port(w->forward), 0);
    point(w, one, 1);
    int port = forward_port(w->forward);
    ask(w, port, 1);
    assert_int_equal(w->answers[0], 1);
    point(w, NULL, 0);
    assert_int_equal(forward_port(w->forward), 0);
    ask(w, port, 3);
    assert_int_equal(w->failed, 3);
}

CASE_WITH(port_in_use, set_up, tear_down)
{
    struct world *w = *state;
    struct errinfo ei = {0};
    struct forward *second = forward_new(w->loop, "127.0.0.1", http_server_port(w->servers[0]));
    const struct forward_target target = {.address = "127.0.0.1", .port = 1};
    assert_int_equal(forward_set(second, &target, 1, &ei), ERR_CONFLICT);
    assert_non_null(strstr(ei.text, "cannot listen on 127.0.0.1:"));
    forward_free(second);
}
