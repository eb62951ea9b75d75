#include "net/test_fixture.h"

static const struct http_route routes[] = {
    {"GET", "/echo", serve_echo}, {"POST", "/echo", serve_echo},
    {"GET", "/hold", serve_hold}, {"GET", "/stream", serve_stream},
    {NULL, NULL, NULL},
};

CASE(test_graceful_drain)
{
    struct answer slow = {.want_header = "Connection"}, idle = {0};

    struct fixture *f = SERVER(routes);
    exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &idle);
    http_send(f->client, &(struct http_request){.url = url_of(f, "/hold")}, on_answer, &slow);
    int fresh = raw_connect(f); /* has sent nothing */
    RUN_UNTIL(f, f->held);
    loop_drain(f->loop);
    assert_true(loop_draining(f->loop));
    char text[64] = "";
    raw_read(f, fresh, text, sizeof(text), NULL); /* is closed at once */
    assert_string_equal(text, "");
    close(fresh);
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)http_server_port(f->server)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(late, (struct sockaddr *)&addr, sizeof(addr)), -1);
    close(late);
    assert_int_equal(slow.count, 0);
    http_reply_text(f->held, 200, "at last");
    assert_int_equal(loop_run(f->loop), 0);
    assert_int_equal(slow.count, 1);
    assert_string_equal(slow.body, "at last");
    assert_string_equal(slow.header, "close");
    assert_int_equal(f->gone, 0);
    fixture_end(f);
}

CASE(test_drain_deadline)
{
    char text[1024] = "", stream_text[1024] = "";

    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f), stream = raw_connect(f);
    raw_send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    RUN_UNTIL(f, f->holds == 1);
    raw_send(stream, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    RUN_UNTIL(f, f->holds == 2);
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 1);
    assert_int_equal(f->gone, 0);
    http_client_free(f->client);
    http_server_free(f->server);
    assert_int_equal(f->gone, 2);
    loop_free(f->loop);
    assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
    assert_int_equal(strncmp(text, "HTTP/1.1 500 ", 13), 0);
    assert_non_null(strstr(text, "{\"error\":\"the server stopped before there was an answer\"}"));
    assert_true(recv(stream, stream_text, sizeof(stream_text) - 1, MSG_DONTWAIT) > 0);
    assert_null(strstr(stream_text, "\r\n0\r\n")); /* cut, not ended */
    close(fd);
    close(stream);
}

CASE(test_idle_connections_time_out)
{
    char text[1024] = "";

    struct fixture *f = SERVER(routes, .request_timeout_ms = 100);
    int fd = raw_connect(f);
    raw_send(fd, "GET /echo HTTP/1.1\r\nHo");
    raw_read(f, fd, text, sizeof(text), NULL);
    assert_string_equal(text, "");
    close(fd);
    /* A request that is being answered is not idle. */
    fd = raw_connect(f);
    raw_send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    RUN_UNTIL(f, f->held);
    LOOP_FOR(f->loop, 300);
    assert_int_equal(f->gone, 0);
    http_reply_text(f->held, 200, "fine");
    raw_read(f, fd, text, sizeof(text), "fine");
    close(fd);
    fixture_end(f);
}

static void serve_big(void *arg, struct http_conn_request *req)
{
    enum { SIZE = 16 * 1024 * 1024 };
    char *body = calloc(1, SIZE);
    http_reply(req, 200, "text/plain", body, SIZE);
    free(body);
}

/* A client that asks and then takes nothing does not keep its connection. */
CASE(test_stalled_reader_is_given_up)
{
    static const struct http_route big_routes[] = {{"GET", "/big", serve_big}, {NULL, NULL, NULL}};
    struct answer a = {0};

    struct fixture *f = SERVER(big_routes, .max_connections = 1, .request_timeout_ms = 300);
    int fd = raw_connect(f);
    raw_send(fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    /* The only place there is becomes free. */
    exchange(f, (struct http_request){.url = url_of(f, "/healthz")}, &a);
    assert_int_equal(a.status, 200);
    close(fd);
    fixture_end(f);
}
