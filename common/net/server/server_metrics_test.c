#include "net/test_fixture.h"

static const struct http_route routes[] = {{NULL, "/echo", serve_echo},
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

    struct fixture *f = SERVER(routes, .name = "test_counts");
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
