
#include <stdio.h>
#include <string.h>

#include "app/demo.h"
#include "base/expo.h"
#include "net/client.h"
#include "test/unit.h"

struct world {
    struct loop *loop;
    struct demo *demo;
    struct http_client *client;
    int status;
    int64_t elapsed_ms;
    char body[65536];
};

static void on_done(void *arg, const struct http_result *result)
{
    struct world *w = arg;
    w->status = result->err == ERR_OK ? result->status : -1;
    w->elapsed_ms = result->elapsed_ms;
    snprintf(w->body, sizeof(w->body), "%s", result->err == ERR_OK ? result->body : "");
    uv_stop(loop_uv(w->loop));
}

static int ask(struct world *w, const char *method, const char *path)
{
    char url[256];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", demo_port(w->demo), path);
    http_send(w->client,
              &(struct http_request){.method = method,
                                     .url = url,
                                     .proxy = "",
                                     .body = "hello",
                                     .body_len = strcmp(method, "POST") == 0 ? 5 : 0},
              on_done, w);
    uv_run(loop_uv(w->loop), UV_RUN_DEFAULT);
    return w->status;
}

static void begin(struct world *w, const struct demo_options *given)
{
    struct demo_options options = *given;
    struct errinfo ei = {0};
    *w = (struct world){.loop = loop_new(2000)};
    options.address = "127.0.0.1";
    options.pod = "web-1";
    options.behaviour.version = "7.1";
    w->client = http_client_new(w->loop, NULL);
    assert_int_equal(demo_new(w->loop, &options, &w->demo, &ei), ERR_OK);
}

static void end(struct world *w)
{
    http_client_free(w->client);
    loop_drain(w->loop);
    assert_int_equal(loop_run(w->loop), 0);
    demo_free(w->demo);
    loop_free(w->loop);
    expo_reset();
}

CASE(pages)
{
    static struct world w;
    static const struct {
        const char *method, *path;
        int status;
        const char *has;
    } cases[] = {
        {"GET", "/", 200, "\"version\":\"7.1\""}, {"GET", "/version", 200, "\"pod\":\"web-1\""},
        {"GET", "/healthz", 200, "OK"},           {"GET", "/readyz", 200, "OK"},
        {"GET", "/status/418", 418, ""},          {"GET", "/status/x", 400, "expected"},
        {"GET", "/delay/0", 200, "done"},         {"GET", "/delay/nan", 400, "expected"},
        {"GET", "/delay/-1", 400, "expected"},    {"GET", "/delay/1e9", 400, "expected"},
        {"POST", "/echo", 200, "hello"},          {"GET", "/headers?name=host", 200, "127.0.0.1"},
        {"GET", "/nothing", 404, "no such page"},
    };
    begin(&w, &(struct demo_options){0});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ask(&w, cases[i].method, cases[i].path), cases[i].status);
        assert_non_null(strstr(w.body, cases[i].has));
    }
    assert_int_equal(ask(&w, "GET", "/metrics"), 200);
    assert_non_null(strstr(
        w.body,
        "http_request_duration_seconds_count{method=\"GET\",path=\"/status\",status=\"418\"} 1"));
    assert_non_null(strstr(w.body, "path=\"other\",status=\"404\""));
    assert_null(strstr(w.body, "healthz")); /* probes are no traffic */
    end(&w);
}

CASE(errors_and_latency)
{
    static struct world w;
    int failed = 0;
    begin(&w, &(struct demo_options){.behaviour = {.error_percent = 25, .latency_ms = 20}});
    for (int i = 0; i < 20; i++) {
        failed += ask(&w, "GET", "/") == 500;
        assert_true(w.elapsed_ms >= 19);
    }
    assert_int_equal(failed, 5);
    assert_int_equal(ask(&w, "GET", "/healthz"), 200);
    end(&w);
}

CASE(readiness)
{
    static struct world w;
    begin(&w, &(struct demo_options){.ready_delay_ms = 100});
    assert_int_equal(ask(&w, "GET", "/readyz"), 503);
    assert_int_equal(ask(&w, "GET", "/"), 200);
    assert_int_equal(ask(&w, "GET", "/delay/0.11"), 200);
    assert_int_equal(ask(&w, "GET", "/readyz"), 200);
    end(&w);
}
