#include <errno.h>
#include <netinet/tcp.h>

#include "net/fixture_test.h"

static const struct http_route routes[] = {
    {NULL, "/echo", serve_echo},
    {NULL, "/hold", serve_hold},
    {NULL, NULL, NULL},
};

CASE(test_parameters)
{
    static const struct {
        const char *query, *value;
    } cases[] = {
        {"q=a%20b%2Fc+d&q=2", "a b/c d"},
        {"other=1", "(none)"},
        {"other=1&q=2", "2"},
        {"q", ""},
        {"q=", ""},
        {"q=a=b", "a=b"},
        {"%71=x", "x"},
        {"qq=1&q=%e2%82%ac", "\xe2\x82\xac"},
        {"&&q=1&", "1"},
        {"q=%26%3d%2B%25", "&=+%"},
        {"q=x%0d%0aEvil:1", "x  Evil:1"}, /* the header has them as spaces */
    };

    struct fixture *f = SERVER(routes);
    EACH_ROW (row, cases) {
        struct answer a = {.want_header = "X-Q"};
        char path[256];
        snprintf(path, sizeof(path), "/echo?%s", row->query);
        exchange(f, (struct http_request){.url = url_of(f, path)}, &a);
        if (strcmp(a.header, row->value) != 0)
            fail_msg("%s: \"%s\"", row->query, a.header);
    }
    fixture_end(f);
}

CASE(test_body_and_headers)
{
    static const char body[] = "nul \0 inside";
    struct answer a = {.want_header = "X-Auth"};
    char text[2048] = "";

    struct fixture *f = SERVER(routes);
    const struct http_header headers[] = {{"Authorization", "Bearer x"}, {NULL, NULL}};
    exchange(f,
             (struct http_request){.method = "PUT",
                                   .url = url_of(f, "/echo"),
                                   .headers = headers,
                                   .body = body,
                                   .body_len = sizeof(body) - 1},
             &a);
    assert_string_equal(a.header, "Bearer x");
    assert_int_equal(a.body_len, sizeof(body) - 1);
    assert_memory_equal(a.body, body, sizeof(body) - 1);

    /* chunked, in pieces, with a header in odd case */
    int fd = raw_connect(f);
    raw_send(fd, "POST /echo HTTP/1.1\r\nhost: here\r\naUTHORIZATION: me\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    for (int i = 0; i < 5; i++)
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    raw_send(fd, "4\r\ndefg\r\n0\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), "abcdefg");
    assert_non_null(strstr(text, "X-Auth: me\r\n"));
    assert_non_null(strstr(text, "X-Host: here\r\n"));
    assert_non_null(strstr(text, "X-Peer: 127.0.0.1:"));
    close(fd);
    fixture_end(f);
}

/* A kernel buffer that is too small for the segments of a body drops them: it then takes seconds. */
CASE(test_no_part_of_a_body_is_sent_twice)
{
    enum { BODY = 1000 * 1000 };
    static char body[BODY];
    char text[128] = "";
    struct tcp_info info;
    socklen_t len = sizeof(info);

    struct fixture *f = SERVER(routes, .max_body = BODY);
    int fd = raw_connect(f);
    raw_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    memset(body, 'a', BODY);
    for (size_t sent = 0; sent < BODY;) {
        ssize_t n = send(fd, body + sent, BODY - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        assert_true(n > 0 || errno == EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    raw_read(f, fd, text, 100, "200");
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
    assert_true(info.tcpi_total_retrans < 6); /* a probe or two if the machine is busy */
    close(fd);
    fixture_end(f);
}

CASE(test_malformed)
{
    static const struct {
        const char *request, *reply;
    } cases[] = {
        {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /echo HTTP/1.1\r\nbad header\r\n\r\n", "HTTP/1.1 400 "},
        {"GET http://elsewhere/echo HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
        {"GET echo HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
        {"POST /echo HTTP/1.1\r\nContent-Length: x\r\n\r\n",
         "{\"error\":\"the request is malformed\"}"},
        {"POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 400 "},
        {"POST /echo HTTP/1.1\r\nTransfer-Encoding: odd\r\n\r\n",
         "{\"error\":\"the request is malformed\"}"},
        {"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400 "},
        {"POST /echo HTTP/1.1\r\nContent-Length: 1\r\nExpect: magic\r\n\r\n", "HTTP/1.1 417 "},
    };

    struct fixture *f = SERVER(routes);
    EACH_ROW (row, cases) {
        char text[2048] = "";
        int fd = raw_connect(f);
        raw_send(fd, row->request);
        raw_read(f, fd, text, sizeof(text), row->reply);
        close(fd);
    }
    fixture_end(f);
}

CASE(test_gone_while_pending)
{
    struct answer a = {0};

    struct fixture *f = SERVER(routes);
    static const char *const requests[] = {
        "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "GET /hold HTTP/1.0\r\n\r\n",
    };
    for (int i = 0; i < 3; i++) {
        int fd = raw_connect(f);
        raw_send(fd, requests[i]);
        RUN_UNTIL(f, f->holds == i + 1);
        assert_int_equal(f->gone, i);
        close(fd);
        RUN_UNTIL(f, f->gone == i + 1);
    }
    /* A client that cancels its call is noticed in the same way. */
    struct http_call *call =
        http_send(f->client, &(struct http_request){.url = url_of(f, "/hold")}, on_answer, &a);
    RUN_UNTIL(f, f->holds == 4);
    http_cancel(call);
    RUN_UNTIL(f, f->gone == 4);
    assert_int_equal(a.err, ERR_CANCELLED);
    fixture_end(f);
    assert_int_equal(f->gone, 4);
}

CASE(test_pipelined_while_pending)
{
    char text[4096] = "", big[32 * 1024];

    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /hold?first HTTP/1.1\r\nHost: x\r\nX-Mine: kept\r\n\r\n");
    RUN_UNTIL(f, f->holds == 1);
    /* More than fits into a small input buffer, in which h2o keeps its request. */
    snprintf(big, sizeof(big), "GET /hold?second HTTP/1.1\r\nHost: x\r\nX-Mine: %012000d\r\n\r\n",
             7);
    raw_send(fd, big);
    for (int i = 0; i < 10; i++)
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    assert_int_equal(f->holds, 1); /* one after another */
    assert_string_equal(http_req_query(f->held), "first");
    assert_string_equal(http_req_header(f->held, "x-mine"), "kept");
    assert_string_equal(http_req_method(f->held), "GET");
    http_reply_text(f->held, 200, "one.");
    RUN_UNTIL(f, f->holds == 2);
    assert_string_equal(http_req_query(f->held), "second");
    assert_int_equal(strlen(http_req_header(f->held, "x-mine")), 12000);
    http_reply_text(f->held, 200, "two.");
    raw_read(f, fd, text, sizeof(text), "two.");
    assert_non_null(strstr(text, "one."));
    assert_int_equal(f->gone, 0);
    close(fd);
    fixture_end(f);
}

/* Reading ahead is bounded while a request is being answered. */
CASE(test_flood_while_pending)
{
    static char junk[64 * 1024];
    size_t sent = 0;
    char text[1024] = "";

    memset(junk, 'x', sizeof(junk));
    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    RUN_UNTIL(f, f->holds == 1);
    for (int quiet = 0; quiet < 50; quiet++) {
        ssize_t n = send(fd, junk, sizeof(junk), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            sent += (size_t)n;
            quiet = 0;
        }
        assert_true(sent < 64 * 1024 * 1024);
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    assert_int_equal(f->gone, 0);
    http_reply_text(f->held, 200, "fine");
    raw_read(f, fd, text, sizeof(text), "fine");
    close(fd);
    fixture_end(f);
}

static int calls;

static void serve_count(void *arg, struct http_conn_request *req)
{
    calls++;
    serve_echo(arg, req);
}

static const struct http_route routes_ambiguous[] = {{NULL, "/echo", serve_count},
                                                     {NULL, NULL, NULL}};

/* Ambiguous requests are rejected, and the bytes after them are not parsed. */
CASE(test_what_is_refused)
{
    static const struct {
        const char *head, *body;
        bool fine;
    } cases[] = {
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n", "abc", true},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n",
         "3\r\nabc\r\n0\r\n\r\n", true},
        {"POST /echo HTTP/1.1\r\nX-Host: y\r\nHost: x\r\nX-Content-Length: 7\r\n"
         "Content-Length: 3\r\n",
         "abc", true},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n", "abcde",
         false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\ncontent-length: 3\r\n", "abc",
         false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n", "abc", false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n", "abc", false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n", "abc", false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n", "abc", false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n",
         "3\r\nabc\r\n0\r\n\r\n", false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n",
         "3\r\nabc\r\n0\r\n\r\n", false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
         "Transfer-Encoding: identity\r\n",
         "3\r\nabc\r\n0\r\n\r\n", false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n",
         "3\r\nabc\r\n0\r\n\r\n", false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\nContent-Length: 3\r\n",
         "abc", false},
        {"POST /echo HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n",
         "3\r\nabc\r\n0\r\n\r\n", false},
        {"GET /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\n", "", false},
        {"GET /echo HTTP/1.1\r\nHost: x\r\nX: a\r\n Content-Length: 3\r\n", "", false},
        {"GET /echo HTTP/1.1\r\nHost: x\r\nX: a\r\n\tb\r\n", "", false},
        {"GET /echo HTTP/1.1\r\nHost: x\r\nno colon\r\n", "", false},
    };
    static const char next[] = "GET /echo HTTP/1.1\r\nHost: smuggled\r\n\r\n";

    struct fixture *f = SERVER(routes_ambiguous);
    EACH_ROW (row, cases) {
        char text[4096] = "", request[1024];
        int fd = raw_connect(f);
        calls = 0;
        snprintf(request, sizeof(request), "%s\r\n%s%s", row->head, row->body, next);
        raw_send(fd, request);
        raw_read(f, fd, text, sizeof(text), row->fine ? "smuggled" : NULL);
        if (row->fine != (strncmp(text, "HTTP/1.1 200 ", 13) == 0) ||
            (!row->fine && strncmp(text, "HTTP/1.1 400 ", 13) != 0))
            fail_msg("%s: %s", row->head, text);
        assert_int_equal(calls, row->fine ? 2 : 0);
        close(fd);
    }
    fixture_end(f);
}

/* The second request of a connection is checked like the first. */
CASE(test_behind_another)
{
    char text[4096] = "";

    struct fixture *f = SERVER(routes_ambiguous);
    int fd = raw_connect(f);
    raw_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"
                 "\r\nGET /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), NULL);
    assert_int_equal(strncmp(text, "HTTP/1.1 200 ", 13), 0);
    assert_non_null(strstr(text, "HTTP/1.1 400 "));
    close(fd);
    fixture_end(f);
}
