#include <stdio.h>
#include <string.h>

#include "cluster/forward.h"
#include "net/client.h"
#include "net/loop_test.h"
#include "net/server/server.h"

enum { REQUESTS = 40 };

/* Two servers that answer with their number, and a client that goes through the forward. */
struct fixture {
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

static void on_done(void *arg, const struct http_result *result)
{
    struct fixture *f = arg;
    if (result->err == ERR_OK)
        f->answers[result->body[0] - '0']++;
    else
        f->failed++;
    f->left--;
}

/* Sends requests, each on a connection of its own, and waits for all of them. */
static void ask(struct fixture *f, int port, int count)
{
    static const struct http_header headers[] = {{"connection", "close"}, {0}};
    char url[64];
    f->answers[0] = f->answers[1] = f->failed = 0;
    f->left = count;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", port);
    for (int i = 0; i < count; i++)
        http_send(f->client, &(struct http_request){.url = url, .headers = headers, .proxy = ""},
                  on_done, f);
    RUN_UNTIL(f, f->left == 0);
}

static int set_up(void **state)
{
    static struct fixture f;
    static char names[2][2] = {"0", "1"};
    struct errinfo ei;
    f = (struct fixture){.loop = loop_new(2000)};
    for (int i = 0; i < 2; i++) {
        const struct http_server_options options = {
            .address = "127.0.0.1", .routes = routes, .arg = names[i], .no_builtin = true};
        assert_int_equal(http_server_new(f.loop, &options, &f.servers[i], &ei), ERR_OK);
    }
    f.client = http_client_new(f.loop, &(struct http_client_options){.max_per_host = 4});
    f.forward = forward_new(f.loop, "127.0.0.1", 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    forward_free(f->forward);
    http_client_free(f->client);
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    for (int i = 0; i < 2; i++)
        http_server_free(f->servers[i]);
    loop_free(f->loop);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void point(struct fixture *f, const int *ports, size_t count)
{
    struct forward_target targets[4];
    struct errinfo ei = {0};
    for (size_t i = 0; i < count; i++)
        targets[i] = (struct forward_target){.address = "127.0.0.1", .port = ports[i]};
    assert_int_equal(forward_set(f->forward, targets, count, &ei), ERR_OK);
}

FIXTURE_CASE(shares_evenly)
{
    const int both[] = {http_server_port(f->servers[0]), http_server_port(f->servers[1])};
    point(f, both, 2);
    ask(f, forward_port(f->forward), REQUESTS);
    assert_int_equal(f->failed, 0);
    assert_int_equal(f->answers[0], REQUESTS / 2);
    assert_int_equal(f->answers[1], REQUESTS / 2);
    point(f, both, 1);
    ask(f, forward_port(f->forward), 10);
    assert_int_equal(f->answers[0], 10);
}

FIXTURE_CASE(passes_over_dead_targets)
{
    const int ports[] = {1, http_server_port(f->servers[1]), 1};
    point(f, ports, 3);
    ask(f, forward_port(f->forward), REQUESTS);
    assert_int_equal(f->failed, 0);
    assert_int_equal(f->answers[1], REQUESTS);
    const int dead[] = {1, 1};
    point(f, dead, 2);
    ask(f, forward_port(f->forward), 5);
    assert_int_equal(f->failed, 5);
}

FIXTURE_CASE(refuses_without_targets)
{
    const int one[] = {http_server_port(f->servers[0])};
    assert_int_equal(forward_port(f->forward), 0);
    point(f, one, 1);
    int port = forward_port(f->forward);
    ask(f, port, 1);
    assert_int_equal(f->answers[0], 1);
    point(f, NULL, 0);
    assert_int_equal(forward_port(f->forward), 0);
    ask(f, port, 3);
    assert_int_equal(f->failed, 3);
}

FIXTURE_CASE(port_in_use)
{
    struct errinfo ei = {0};
    struct forward *second = forward_new(f->loop, "127.0.0.1", http_server_port(f->servers[0]));
    const struct forward_target target = {.address = "127.0.0.1", .port = 1};
    assert_int_equal(forward_set(second, &target, 1, &ei), ERR_CONFLICT);
    assert_non_null(strstr(ei.text, "cannot listen on 127.0.0.1:"));
    forward_free(second);
}
