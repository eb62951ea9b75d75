#include "net/test_fixture.h"

static int calls;

static void serve_count(void *arg, struct http_conn_request *req)
{
    calls++;
    serve_echo(arg, req);
}

static const struct http_route routes[] = {{NULL, "/echo", serve_count}, {NULL, NULL, NULL}};

/* What two parsers could read differently is refused, and what comes behind it is not looked at. */
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

    struct fixture *f = SERVER(routes);
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

/* The second request of a connection is looked at like the first. */
CASE(test_behind_another)
{
    char text[4096] = "";

    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"
                 "\r\nGET /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), NULL);
    assert_int_equal(strncmp(text, "HTTP/1.1 200 ", 13), 0);
    assert_non_null(strstr(text, "HTTP/1.1 400 "));
    close(fd);
    fixture_end(f);
}
