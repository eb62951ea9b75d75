/* For tests only: the load tester's routes on a real server, over a runner of few tasks. */
#ifndef LOADTESTER_FIXTURE_TEST_H
#define LOADTESTER_FIXTURE_TEST_H

#include "base/log.h"
#include "base/metrics.h"
#include "loadtester/tester_api.h"
#include "net/client.h"
#include "net/loop_test.h"
#include "test/unit.h"

struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_client *client;
    struct tester_api api;
    struct arena *arena;
    /* the last answer; for the file of cases */
    int answers;
    int status; /* 0 if there was no answer */
    char body[256], retry_after[16];
};

UNIT_HELPER void fixture_on_drain(void *arg)
{
    struct fixture *f = arg;
    runner_stop(f->api.runner);
    http_client_free(f->client);
}

/* Limits running tasks, both in total and per Canary; further tasks are rejected. */
UNIT_HELPER int fixture_set_up(void **state, int max_running)
{
    static struct fixture fixture;
    fixture = (struct fixture){.loop = loop_new(20000), .arena = unit_arena};
    struct fixture *f = &fixture;
    struct errinfo info = {0};
    log_set_level("error");
    f->client = http_client_new(f->loop, NULL);
    f->api.runner = runner_new(f->loop, &(struct runner_options){.timeout_ms = 30000,
                                                                 .max_running = max_running,
                                                                 .max_per_canary = max_running});
    f->api.loop = f->loop;
    f->api.policy.shell = true;
    f->api.gates = gates_new(f->client, NULL);
    struct http_server_options options = {
        .address = "127.0.0.1", .routes = tester_routes, .arg = &f->api};
    assert_int_equal(http_server_new(f->loop, &options, &f->server, &info), ERR_OK);
    loop_on_drain(f->loop, fixture_on_drain, f);
    *state = f;
    return 0;
}

UNIT_HELPER int fixture_tear_down(void **state)
{
    struct fixture *f = *state;
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    http_server_free(f->server);
    assert_int_equal(f->api.streams, 0);
    gates_free(f->api.gates);
    loop_free(f->loop);
    runner_free(f->api.runner);
    metrics_reset();
    return 0;
}

#endif
