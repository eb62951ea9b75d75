#include "net/fixture_test.h"

#include <fcntl.h>

/* Connections are reused and limited; streams have their own. */

static const struct http_route routes[] = {{NULL, "/echo", serve_echo},
                                           {"GET", "/hold", serve_hold},
                                           {"GET", "/stream", serve_stream},
                                           {NULL, NULL, NULL}};

CASE(test_connections_are_reused)
{
    char first[256] = "";

    struct fixture *f = SERVER(routes);
    for (int i = 0; i < 10; i++) {
        struct answer a = {.want_header = "X-Peer"};
        exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &a);
        if (i == 0)
            memcpy(first, a.header, sizeof(first));
        assert_string_equal(a.header, first);
    }
    fixture_end(f);
}

CASE(test_connections_are_capped)
{
    enum { COUNT = 100, CAP = 4 };
    static struct answer answers[COUNT];
    char peers[CAP][256];
    int peer_count = 0;

    struct fixture *f = SERVER(routes);
    http_client_free(f->client);
    f->client = http_client_new(f->loop, &(struct http_client_options){.max_per_host = CAP});
    struct http_request request = {.url = url_of(f, "/echo")};
    for (int i = 0; i < COUNT; i++) {
        answers[i].want_header = "X-Peer";
        http_send(f->client, &request, on_answer, &answers[i]);
    }
    assert_int_equal(http_client_active(f->client), COUNT);
    RUN_UNTIL(f, http_client_active(f->client) == 0);
    for (int i = 0; i < COUNT; i++) {
        int known = 0;
        assert_int_equal(answers[i].err, ERR_OK);
        while (known < peer_count && strcmp(peers[known], answers[i].header) != 0)
            known++;
        if (known == peer_count) {
            assert_true(peer_count < CAP);
            memcpy(peers[peer_count++], answers[i].header, sizeof(peers[0]));
        }
    }
    assert_true(peer_count > 1);
    fixture_end(f);
}

CASE(test_streams_starve_no_call)
{
    enum { STREAMS = 30 };
    static struct answer streams[STREAMS];
    struct answer a = {0};

    struct fixture *f = SERVER(routes);
    http_client_free(f->client);
    f->client =
        http_client_new(f->loop, &(struct http_client_options){.max_per_host = 1, .max_total = 1});
    struct http_request request = {.url = url_of(f, "/stream"), .timeout_ms = -1};
    for (int i = 0; i < STREAMS; i++)
        http_send(f->client, &request, on_answer, &streams[i]);
    RUN_UNTIL(f, f->holds == STREAMS);
    exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &a);
    assert_int_equal(a.status, 200);
    fixture_end(f);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(streams[i].err, ERR_CANCELLED);
}

/* One connection per call: a hanging hook does not delay others. */
CASE(test_without_a_cap_nobody_waits)
{
    enum { COUNT = 64 };
    static struct answer held[COUNT];
    struct answer a = {0};

    struct fixture *f = SERVER(routes);
    http_client_free(f->client);
    f->client = http_client_new(f->loop,
                                &(struct http_client_options){.max_per_host = -1, .max_total = -1});
    for (int i = 0; i < COUNT; i++)
        http_send(f->client, &(struct http_request){.url = url_of(f, "/hold")}, on_answer,
                  &held[i]);
    exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &a);
    assert_int_equal(a.status, 200);
    RUN_UNTIL(f, f->holds == COUNT);
    fixture_end(f);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(held[i].err, ERR_CANCELLED);
}

static void release_held(void *arg)
{
    struct fixture *f = arg;

    http_reply_text(f->held, 200, "x");
}

/* The time in the queue does not count towards the time-out. */
CASE(test_waiting_for_a_turn_costs_no_time)
{
    struct answer held = {0}, late = {0}, cancelled = {0}, after = {0};

    struct fixture *f = SERVER(routes);
    http_client_free(f->client);
    f->client = http_client_new(f->loop, &(struct http_client_options){.max_calls = 1});
    http_send(f->client, &(struct http_request){.url = url_of(f, "/hold")}, on_answer, &held);
    RUN_UNTIL(f, f->held);
    struct http_request request = {.url = url_of(f, "/echo"), .timeout_ms = 1000};
    http_send(f->client, &request, on_answer, &late);
    struct http_call *call = http_send(f->client, &request, on_answer, &cancelled);
    http_send(f->client, &request, on_answer, &after);
    http_cancel(call);
    RUN_UNTIL(f, cancelled.count);
    assert_int_equal(cancelled.err, ERR_CANCELLED);
    timer_start(f->loop, 1300, 0, release_held, f);
    RUN_UNTIL(f, late.count && after.count);
    assert_int_equal(held.err, ERR_OK);
    assert_int_equal(late.err, ERR_OK);
    assert_int_equal(after.err, ERR_OK);
    fixture_end(f);
}

/* Calls that wait for a connection time out, and can be cancelled. */
CASE(test_waiting_calls_end)
{
    struct answer held = {0}, late = {0}, cancelled = {0};

    struct fixture *f = SERVER(routes);
    http_client_free(f->client);
    f->client = http_client_new(f->loop, &(struct http_client_options){.max_per_host = 1});
    http_send(f->client, &(struct http_request){.url = url_of(f, "/hold")}, on_answer, &held);
    RUN_UNTIL(f, f->held);
    struct http_request request = {.url = url_of(f, "/echo"), .timeout_ms = 50};
    http_send(f->client, &request, on_answer, &late);
    request.timeout_ms = 0;
    struct http_call *call = http_send(f->client, &request, on_answer, &cancelled);
    RUN_UNTIL(f, late.count);
    assert_int_equal(late.err, ERR_RETRY);
    assert_false(late.sent);
    http_cancel(call);
    RUN_UNTIL(f, cancelled.count);
    assert_false(cancelled.sent);
    assert_int_equal(held.count, 0);
    http_reply_text(f->held, 200, "x");
    RUN_UNTIL(f, held.count);
    fixture_end(f);
}

enum { BURST = 40, WORK_MS = 3 };

/* Calls whose answers arrive in one iteration of the loop, each slow to process. */
struct burst {
    struct http_conn_request *held[BURST];
    int holds, done;
    int turns; /* turns of the loop from the first answer to the last */
    bool is_running;
};

static struct burst burst;

static void serve_burst(void *arg, struct http_conn_request *req)
{
    burst.held[burst.holds++] = req;
}

static void on_burst_done(void *arg, const struct http_result *result)
{
    struct answer *a = arg;
    int64_t until = clock_monotonic_ms() + WORK_MS;

    a->count++;
    a->err = result->err;
    burst.is_running = ++burst.done < BURST;
    while (clock_monotonic_ms() < until)
        continue;
}

static void on_burst_turn(uv_check_t *check)
{
    burst.turns += burst.is_running;
}

/* The loop runs other handlers between them, so a probe is answered. */
CASE(test_long_answers_leave_time_to_others)
{
    static const struct http_route burst_routes[] = {{"GET", "/burst", serve_burst},
                                                     {NULL, NULL, NULL}};
    static struct answer answers[BURST];
    uv_check_t check;

    struct fixture *f = SERVER(burst_routes);
    http_client_free(f->client);
    f->client = http_client_new(f->loop, &(struct http_client_options){.max_per_host = -1});
    for (int i = 0; i < BURST; i++)
        http_send(f->client, &(struct http_request){.url = url_of(f, "/burst")}, on_burst_done,
                  &answers[i]);
    RUN_UNTIL(f, burst.holds == BURST);
    uv_check_init(loop_uv(f->loop), &check);
    uv_check_start(&check, on_burst_turn);
    for (int i = 0; i < BURST; i++)
        http_reply_text(burst.held[i], 200, "x");
    RUN_UNTIL(f, burst.done == BURST);
    for (int i = 0; i < BURST; i++)
        assert_int_equal(answers[i].count == 1 ? answers[i].err : ERR_INVALID, ERR_OK);
    assert_true(burst.turns >= BURST / 3);
    uv_check_stop(&check);
    uv_close((uv_handle_t *)&check, NULL);
    fixture_end(f);
}

/* A kept connection that the server has closed is replaced. */
CASE(test_closed_while_idle)
{
    struct answer first = {.want_header = "X-Peer"}, second = {.want_header = "X-Peer"};

    struct fixture *f = SERVER(routes, .request_timeout_ms = 50);
    exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &first);
    LOOP_FOR(f->loop, 150);
    exchange(f, (struct http_request){.method = "POST", .url = url_of(f, "/echo")}, &second);
    assert_int_equal(second.err, ERR_OK);
    assert_string_not_equal(first.header, second.header);
    fixture_end(f);
}

CASE(test_sockets_are_not_inherited)
{
    struct answer a = {0};

    struct fixture *f = SERVER(routes);
    exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &a);
    int sockets = 0;
    for (int fd = 3; fd < 64; fd++) {
        int domain;
        socklen_t len = sizeof(domain);
        /* curl's own wake-up pair is not close-on-exec; child.c closes it. */
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 || domain != AF_INET)
            continue;
        sockets++;
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
    assert_true(sockets >= 3);
    fixture_end(f);
}

/* An idle pool does not keep the loop alive. */
CASE(test_idle_pool_lets_the_loop_end)
{
    struct answer a = {0};

    struct fixture *f = SERVER(routes);
    exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &a);
    http_server_stop(f->server);
    int64_t start = clock_monotonic_ms();
    assert_int_equal(loop_run(f->loop), 0);
    assert_true(clock_monotonic_ms() - start < 5000);
    fixture_end(f);
}
