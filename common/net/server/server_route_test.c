#include "net/fixture_test.h"

static const struct http_route routes[] = {
    {"GET", "/echo", serve_echo},   {"POST", "/echo", serve_echo},    {NULL, "/any/*", serve_echo},
    {"GET", "/api/v1", serve_echo}, {"DELETE", "/api/*", serve_echo}, {NULL, NULL, NULL},
};

CASE(test_routes)
{
    static const struct {
        const char *method, *path;
        int status;
        const char *header, *value, *reply;
    } cases[] = {
        {"GET", "/echo", 200, "x-method", "GET", ""},
        {"GET", "/echo?", 200, NULL, "", ""},
        {"HEAD", "/echo", 200, "X-METHOD", "HEAD", ""},
        {"POST", "/echo", 200, "X-Method", "POST", ""},
        {"PATCH", "/any/thing", 200, "X-Method", "PATCH", ""},
        {"GET", "/any/", 200, NULL, "", ""},
        {"GET", "/any", 404, NULL, "", NULL},
        {"GET", "/echo/", 404, NULL, "", NULL},
        {"DELETE", "/api/v1", 200, NULL, "", ""}, /* the first route has another method */
        {"PUT", "/api/v1", 405, "Allow", "GET, DELETE", NULL},
        {"PUT", "/echo", 405, "Allow", "GET, POST", "{\"error\":\"this path takes GET, POST\"}"},
        {"GET", "/nothing", 404, "Content-Type", "application/json",
         "{\"error\":\"there is nothing at this path\"}"},
        {"GET", "/echo?q=%00", 400, NULL, "", NULL},
        {"GET", "/echo?q=%zz", 400, NULL, "", NULL},
        {"GET", "/echo?q=%4", 400, NULL, "", NULL},
        {"GET", "/any/%00", 400, NULL, "", NULL},
        {"GET", "/any/%2e%2e/echo", 200, NULL, "", ""}, /* as sent, never resolved */
        {"GET", "/healthz", 200, "Server", "flagger-c", "OK"},
        {"HEAD", "/healthz", 200, "Content-Length", "2", ""},
        {"GET", "/readyz", 200, NULL, "", "OK"},
        {"GET", "/metrics", 200, "Content-Type", "text/plain; version=0.0.4; charset=utf-8", NULL},
        {"POST", "/healthz", 405, "Allow", "GET, HEAD", NULL},
    };

    struct fixture *f = SERVER(routes);
    EACH_ROW (row, cases) {
        struct answer a = {.want_header = row->header};
        exchange(f, (struct http_request){.method = row->method, .url = url_of(f, row->path)}, &a);
        assert_string_equal(a.info, "");
        if (a.status != row->status || strcmp(a.header, row->value) != 0)
            fail_msg("%s %s: %d, \"%s\"", row->method, row->path, a.status, a.header);
        if (row->reply)
            assert_string_equal(a.body, row->reply);
    }
    fixture_end(f);
}

static bool never_ready(void *arg)
{
    return false;
}

CASE(test_readiness)
{
    struct answer a = {0}, draining = {0};
    char text[1024] = "";

    struct fixture *f = SERVER(routes, .ready = never_ready);
    exchange(f, (struct http_request){.url = url_of(f, "/readyz")}, &a);
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "{\"error\":\"not ready\"}");
    fixture_end(f);

    (void)draining;
    fixture_start(f, routes, (struct http_server_options){0});
    int fd = raw_connect(f);
    raw_send(fd, "GET /echo HTTP/1.1\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), "\r\n\r\n");
    loop_drain(f->loop); /* known at once, completed in the next turn */
    raw_send(fd, "GET /readyz HTTP/1.1\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), "not ready");
    close(fd);
    fixture_end(f);
}

CASE(test_without_builtins)
{
    struct answer a = {0};

    struct fixture *f = SERVER(routes, .no_builtin = true);
    exchange(f, (struct http_request){.url = url_of(f, "/healthz")}, &a);
    assert_int_equal(a.status, 404);
    fixture_end(f);
}

static const struct http_route routes_metrics[] = {{NULL, "/echo", serve_echo},
                                                   {"GET", "/hold", serve_hold},
                                                   {NULL, "/any/*", serve_echo},
                                                   {NULL, NULL, NULL}};

CASE(test_what_is_counted)
{
    static const struct {
        const char *method, *path;
    } requests[] = {
        {"GET", "/echo"},     {"GET", "/echo?x"}, {"POST", "/echo"},
        {"BREW", "/any/pot"}, {"GET", "/any/a"},  {"GET", "/any/b"},
        {"GET", "/secret"},   {"PUT", "/hold"},   {"GET", "/healthz"},
    };
    static const char *const lines[] = {
        "test_counts_http_requests_total{path=\"/echo\",method=\"GET\",code=\"200\"} 2\n",
        "test_counts_http_requests_total{path=\"/echo\",method=\"POST\",code=\"200\"} 1\n",
        "test_counts_http_requests_total{path=\"/any/*\",method=\"other\",code=\"200\"} 1\n",
        "test_counts_http_requests_total{path=\"/any/*\",method=\"GET\",code=\"200\"} 2\n",
        "test_counts_http_requests_total{path=\"unmatched\",method=\"GET\",code=\"404\"} 1\n",
        "test_counts_http_requests_total{path=\"/hold\",method=\"PUT\",code=\"405\"} 1\n",
        "test_counts_http_requests_total{path=\"/hold\",method=\"GET\",code=\"499\"} 1\n",
        "test_counts_http_requests_total{path=\"/healthz\",method=\"GET\",code=\"200\"} 1\n",
        "test_counts_http_request_duration_seconds_count{path=\"/echo\"} 3\n",
        "# TYPE test_counts_http_request_duration_seconds histogram\n",
    };
    static char text[64 * 1024];

    struct fixture *f = SERVER(routes_metrics, .name = "test_counts");
    EACH_ROW (row, requests) {
        struct answer a = {0};
        exchange(f, (struct http_request){.method = row->method, .url = url_of(f, row->path)}, &a);
        assert_int_equal(a.err, ERR_OK);
    }
    int fd = raw_connect(f);
    raw_send(fd, "GET /hold HTTP/1.1\r\n\r\n");
    RUN_UNTIL(f, f->held);
    close(fd);
    RUN_UNTIL(f, f->gone == 1);

    fd = raw_connect(f);
    raw_send(fd, "GET /metrics HTTP/1.0\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), NULL);
    EACH_ROW (row, lines) {
        if (!strstr(text, *row))
            fail_msg("no %s in %s", *row, text);
    }
    assert_null(strstr(text, "secret"));
    close(fd);
    fixture_end(f);
}
