/* The client outside, against a server that answers as three versions would. */

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "net/server/server.h"
#include "screen/traffic.h"
#include "test/unit.h"

enum { RATE = 200, RUN_MS = 500, LOOK_MS = 10 };

struct fixture {
    struct loop *loop;
    struct http_client *http;
    struct http_server *server;
    struct traffic *traffic;
    int answered;
    char host[64];
};

/* In turn: version 1 good, version 2 good, version 2 failing, an error of no version. */
static void on_get(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    int turn = f->answered++ % 4;
    snprintf(f->host, sizeof(f->host), "%s", http_req_header(req, "host"));
    if (turn < 3)
        http_reply_header(req, "x-demo-version", turn == 0 ? "1" : "2");
    http_reply_text(req, turn == 2 ? 500 : turn == 3 ? 503 : 200, "text");
}

/* The server answers until the last request has ended, however slow the machine is. */
static void on_time(void *arg)
{
    struct fixture *f = arg;
    size_t ended;
    traffic_stop(f->traffic);
    traffic_samples(f->traffic, &ended);
    if (ended < traffic_sent(f->traffic))
        timer_start(f->loop, LOOK_MS, 0, on_time, f);
    else
        loop_drain(f->loop);
}

static void run(struct fixture *f, const char *url)
{
    f->traffic = traffic_new(f->loop, f->http, url, "app.example.com", RATE);
    traffic_start(f->traffic);
    timer_start(f->loop, RUN_MS, 0, on_time, f);
    assert_int_equal(loop_run(f->loop), 0);
}

static const struct http_route routes[] = {{"GET", "/*", on_get}, {NULL, NULL, NULL}};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.loop = loop_new(5000)};
    struct http_server_options options = {
        .address = "127.0.0.1", .routes = routes, .arg = &fixture};
    struct errinfo info;
    assert_int_equal(http_server_new(fixture.loop, &options, &fixture.server, &info), ERR_OK);
    fixture.http = http_client_new(fixture.loop, NULL);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    http_client_free(f->http);
    http_server_free(f->server);
    loop_free(f->loop);
    traffic_free(f->traffic);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

FIXTURE_CASE(it_tells_versions_failures_and_errors_apart)
{
    char url[64];
    int64_t began = clock_monotonic_ms();
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", http_server_port(f->server));
    run(f, url);
    size_t count;
    traffic_samples(f->traffic, &count);
    int64_t took = clock_monotonic_ms() - began;
    assert_in_range(count, 20, (took > RUN_MS ? took : RUN_MS) * RATE / 1000 + 5);
    assert_string_equal(f->host, "app.example.com");
    struct traffic_view all = traffic_look(f->traffic, 0, INT64_MAX, "2");
    assert_int_equal(all.requests, count);
    assert_in_range(all.failed, count / 4 - 1, count / 4 + 1);
    assert_in_range(all.errors, count / 4 - 1, count / 4 + 1);
    assert_in_range(all.of_version, count / 2 - 2, count / 2 + 2);
    assert_true(all.success_rate > 40 && all.success_rate < 60);
    assert_true(all.p99_ms >= 0);
    assert_non_null(strstr(traffic_last_failure(f->traffic), "503"));
    struct traffic_view before = traffic_look(f->traffic, 0, began, "2");
    assert_int_equal(before.requests, 0);
    assert_int_equal(before.p99_ms, -1);
    assert_int_equal(traffic_look(f->traffic, 0, INT64_MAX, "3").of_version, 0);
}

FIXTURE_CASE(nobody_there_is_a_failure_with_its_reason)
{
    run(f, "http://127.0.0.1:1/");
    struct traffic_view all = traffic_look(f->traffic, 0, INT64_MAX, NULL);
    assert_true(all.requests > 0);
    assert_int_equal(all.failed, all.requests);
    assert_int_equal(all.errors, 0);
    assert_non_null(strstr(traffic_last_failure(f->traffic), "no answer"));
}
