#include "net/fixture_test.h"

static void serve_none(void *arg, struct http_conn_request *req)
{
    http_reply(req, 204, NULL, NULL, 0);
}

static void serve_unchanged(void *arg, struct http_conn_request *req)
{
    http_reply(req, 304, NULL, "ignored", 7);
}

static void serve_empty(void *arg, struct http_conn_request *req)
{
    http_reply(req, 202, NULL, NULL, 0);
}

static void serve_quoted(void *arg, struct http_conn_request *req)
{
    http_reply_error(req, 422, "a \"quoted\" \\ word\nand a line");
}

static void serve_split(void *arg, struct http_conn_request *req)
{
    http_reply_header(req, "X-Split", "one\r\nX-Evil: two");
    http_reply_header(req, "Content-Language", "en");
    http_reply_json(req, 200, "{}");
}

static const struct http_route routes[] = {
    {"GET", "/none", serve_none},
    {"GET", "/unchanged", serve_unchanged},
    {"GET", "/empty", serve_empty},
    {"GET", "/quoted", serve_quoted},
    {"GET", "/split", serve_split},
    {NULL, "/echo", serve_echo},
    {NULL, NULL, NULL},
};

CASE(test_on_the_wire)
{
    static const struct {
        const char *request, *has, *has_not;
    } cases[] = {
        {"GET /none HTTP/1.1\r\n\r\n", "HTTP/1.1 204 No Content\r\n", "ength"},
        {"GET /unchanged HTTP/1.1\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n", "ignored"},
        {"GET /empty HTTP/1.1\r\n\r\n", "Content-Length: 0\r\n", "ontent-type"},
        {"GET /quoted HTTP/1.1\r\n\r\n",
         "\r\n\r\n{\"error\":\"a \\\"quoted\\\" \\\\ word\\nand a line\"}", NULL},
        {"HEAD /quoted HTTP/1.1\r\n\r\n", "Content-Length: 44\r\n", "{"},
        {"GET /split HTTP/1.1\r\n\r\n", "X-Split: one  X-Evil: two\r\n", "\nX-Evil"},
        {"GET /split HTTP/1.1\r\n\r\n", "Content-Language: en\r\n", NULL},
        {"GET /split HTTP/1.1\r\n\r\n", "content-type: application/json\r\n", NULL},
        {"GET /split HTTP/1.1\r\n\r\n", "Server: flagger-c\r\n", "h2o"},
        {"GET /split HTTP/1.0\r\n\r\n", "Connection: close\r\n", NULL},
    };

    struct fixture *f = SERVER(routes);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[2048] = "";
        int fd = raw_connect(f);
        raw_send(fd, cases[i].request);
        raw_send(fd, "GET /echo HTTP/1.0\r\n\r\n"); /* shows where the first reply ends, and ends */
        raw_read(f, fd, text, sizeof(text), NULL);
        char *next = strstr(text, "HTTP/1.1 200 OK\r\nDate: ");
        if (next && next != text)
            *next = '\0';
        if (!strstr(text, cases[i].has) || (cases[i].has_not && strstr(text, cases[i].has_not)))
            fail_msg("case %zu: %s", i, text);
        close(fd);
    }
    fixture_end(f);
}

CASE(test_too_large)
{
    static const char *const requests[] = {
        "POST /echo HTTP/1.1\r\nContent-Length: 101\r\n\r\n",
        "POST /echo HTTP/1.1\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n",
        "POST /echo HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n",
        "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nc8\r\n"
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
        "8901234567890123456789",
    };
    struct answer fits = {0};
    char body[100];

    memset(body, 'x', sizeof(body));
    struct fixture *f = SERVER(routes, .max_body = 100);
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        char text[2048] = "";
        int fd = raw_connect(f);
        raw_send(fd, requests[i]);
        raw_read(f, fd, text, sizeof(text), NULL);
        if (i != 2) {
            assert_int_equal(strncmp(text, "HTTP/1.1 413 ", 13), 0);
            assert_non_null(
                strstr(text, "\r\n\r\n{\"error\":\"the body is longer than 100 bytes\"}"));
        } else {
            assert_int_equal(strncmp(text, "HTTP/1.1 4", 10), 0);
        }
        close(fd);
    }
    exchange(
        f,
        (struct http_request){
            .method = "POST", .url = url_of(f, "/echo"), .body = body, .body_len = sizeof(body)},
        &fits);
    assert_int_equal(fits.status, 200);
    assert_int_equal(fits.body_len, sizeof(body));
    fixture_end(f);
}

static const struct http_file files[] = {
    {"/", HTTP_FILE_HTML, "<p>page</p>"},
    {"/page.css", HTTP_FILE_CSS, "p {}"},
    {NULL, NULL, NULL},
};

static void serve(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_files_serve(req, files);
}

static const struct http_route routes_files[] = {{"GET", "/*", serve}, {NULL, NULL, NULL}};

CASE(test_a_file_has_its_type_and_nothing_else_is_there)
{
    static const struct {
        const char *path;
        int status;
        const char *type, *body;
    } cases[] = {
        {"/", 200, HTTP_FILE_HTML, "<p>page</p>"},
        {"/page.css", 200, HTTP_FILE_CSS, "p {}"},
        {"/page.css/", 404, "application/json", "{\"error\":\"there is nothing at this path\"}"},
        {"/page.js", 404, "application/json", "{\"error\":\"there is nothing at this path\"}"},
    };

    struct fixture *f = SERVER(routes_files);
    EACH_ROW (row, cases) {
        struct answer a = {.want_header = "Content-Type"};
        exchange(f, (struct http_request){.url = url_of(f, row->path)}, &a);
        assert_int_equal(a.status, row->status);
        assert_string_equal(a.header, row->type);
        assert_string_equal(a.body, row->body);
    }
    fixture_end(f);
}
