#include <sys/stat.h>
#include <sys/un.h>

#include "net/fixture_test.h"

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

/* A client that sends a request and reads nothing does not keep its connection. */
CASE(test_stalled_reader_is_given_up)
{
    static const struct http_route big_routes[] = {{"GET", "/big", serve_big}, {NULL, NULL, NULL}};
    struct answer a = {0};

    struct fixture *f = SERVER(big_routes, .max_connections = 1, .request_timeout_ms = 300);
    int fd = raw_connect(f);
    raw_send(fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    /* The only connection becomes free. */
    exchange(f, (struct http_request){.url = url_of(f, "/healthz")}, &a);
    assert_int_equal(a.status, 200);
    close(fd);
    fixture_end(f);
}

static const struct http_route routes_listen[] = {
    {"GET", "/echo", serve_echo}, {"POST", "/echo", serve_echo},
    {"GET", "/hold", serve_hold}, {"GET", "/stream", serve_stream},
    {NULL, NULL, NULL},
};

CASE(test_addresses_that_cannot_be)
{
    struct errinfo ei;
    struct http_server *server;
    char dir[] = "/tmp/server_test.XXXXXX", path[64];

    struct fixture *f = SERVER(routes_listen);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "unix:%s/no/such/dir", dir);
    const struct {
        struct http_server_options options;
        enum err err;
        const char *text;
    } cases[] = {
        {{.address = "127.0.0.1", .port = http_server_port(f->server)},
         ERR_CONFLICT,
         "address already in use"},
        {{.address = "example.com"}, ERR_INVALID, "expected an IP address or unix:/path"},
        {{.address = "127.0.0.1", .port = 70000}, ERR_INVALID, "port 70000 is not between"},
        {{.address = "unix:relative"}, ERR_INVALID, "expected an absolute path"},
        {{.address = path}, ERR_INVALID, "there is no such directory"},
        {{.address = "203.0.113.1"}, ERR_INVALID, "address not available"},
        {{.tls_cert_file = "/no/such/file", .tls_key_file = "/no/such/file"},
         ERR_INVALID,
         "cannot use the TLS certificate /no/such/file"},
        {{.tls_cert_file = "/no/such/file"}, ERR_INVALID, "both a certificate file and a key file"},
        {{.tls_client_ca_file = "/no/such/file"}, ERR_INVALID, "needs a TLS certificate"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ei = (struct errinfo){0};
        enum err err = http_server_new(f->loop, &cases[i].options, &server, &ei);
        if (!strstr(ei.text, cases[i].text))
            fail_msg("case %zu: \"%s\" instead of \"%s\"", i, ei.text, cases[i].text);
        assert_int_equal(err, cases[i].err);
    }
    rmdir(dir);
    fixture_end(f);
}

static int unix_connect(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

CASE(test_unix_socket)
{
    char dir[] = "/tmp/server_test.XXXXXX", address[64], text[1024] = "";

    assert_non_null(mkdtemp(dir));
    snprintf(address, sizeof(address), "unix:%s/s", dir);
    /* A stale socket file of a killed server is replaced. */
    int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", address + 5);
    assert_int_equal(bind(stale, (struct sockaddr *)&addr, sizeof(addr)), 0);
    close(stale);

    struct fixture *f = SERVER(routes_listen, .address = address);
    struct errinfo ei;
    struct http_server *second;
    assert_int_equal(
        http_server_new(f->loop, &(struct http_server_options){.address = address}, &second, &ei),
        ERR_CONFLICT);
    int fd = unix_connect(address + 5);
    raw_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), "\r\n\r\n");
    assert_non_null(strstr(text, "X-Peer: unix\r\n"));
    close(fd);
    fixture_end(f);
    struct stat st;
    assert_int_equal(stat(address + 5, &st), -1);
    rmdir(dir);
}
