/*
 * For tests only: a real server and a real client on one loop, and raw sockets for requests that a
 * proper client would not send. Each test runs the loop until its condition holds (loop_test.h).
 */
#ifndef NET_FIXTURE_TEST_H
#define NET_FIXTURE_TEST_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/client.h"
#include "net/loop_test.h"
#include "net/server/server_internal.h"
#include "test/unit.h"

struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_client *client;
    struct http_conn_request *held; /* the last request of a route that does not answer */
    int holds;                      /* number of such requests */
    int gone;
    const char *scheme;
};

UNIT_HELPER void fixture_on_gone(void *arg)
{
    struct fixture *f = arg;
    f->gone++;
    f->held = NULL;
}

/* Does not reply: the test replies to f->held. */
UNIT_HELPER void serve_hold(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    f->held = req;
    f->holds++;
    http_req_on_gone(req, fixture_on_gone, f);
}

/* Starts a stream, whose pieces the test sends. */
UNIT_HELPER void serve_stream(void *arg, struct http_conn_request *req)
{
    serve_hold(arg, req);
    http_stream_start(req, 200, "application/json", 0);
}

/* "127.0.0.1:1234" */
UNIT_HELPER const char *peer_of(struct http_conn_request *req)
{
    struct sockaddr_storage addr;
    char host[INET6_ADDRSTRLEN];

    if (!req->req->conn->callbacks->get_peername(req->req->conn, (struct sockaddr *)&addr))
        return "unknown";
    if (addr.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&addr;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        return arena_printf(req->arena, "%s:%d", host, ntohs(in->sin_port));
    }
    if (addr.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&addr;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
        return arena_printf(req->arena, "[%s]:%d", host, ntohs(in6->sin6_port));
    }
    return "unix";
}

/* Sends the body back, and properties of the request in headers. */
UNIT_HELPER void serve_echo(void *arg, struct http_conn_request *req)
{
    size_t len;
    const char *body = http_req_body(req, &len);
    const char *q = http_req_param(req, "q");
    const char *auth = http_req_header(req, "AUTHORIZATION");
    const char *type = http_req_header(req, "content-type");

    http_reply_header(req, "X-Method", http_req_method(req));
    http_reply_header(req, "X-Peer", peer_of(req));
    http_reply_header(req, "X-Q", q ? q : "(none)");
    http_reply_header(req, "X-Auth", auth ? auth : "(none)");
    http_reply_header(req, "X-Type", type ? type : "(none)");
    http_reply_header(req, "X-Host", http_req_header(req, "Host"));
    http_reply(req, 200, "application/octet-stream", body, len);
}

UNIT_HELPER void fixture_start(struct fixture *f, const struct http_route *routes,
                               struct http_server_options options)
{
    struct errinfo ei = {0};

    *f = (struct fixture){.loop = loop_new(2000),
                          .scheme = options.tls_cert_file ? "https" : "http"};
    if (!options.address)
        options.address = "127.0.0.1";
    options.routes = routes;
    options.arg = f;
    if (http_server_new(f->loop, &options, &f->server, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    f->client = http_client_new(f->loop, NULL);
}

UNIT_HELPER void fixture_end(struct fixture *f)
{
    http_client_free(f->client);
    http_server_free(f->server);
    loop_free(f->loop);
}

/* The fixture for a case that needs one: struct fixture *f = SERVER(routes, .max_body = 100); */
#define SERVER(routes, ...) SERVER_WITH(routes, ((struct http_server_options){__VA_ARGS__}))
#define SERVER_WITH(routes, options)                                                               \
    ({                                                                                             \
        static struct fixture fixture_;                                                            \
        fixture_start(&fixture_, routes, options);                                                 \
        &fixture_;                                                                                 \
    })

struct answer {
    int count;
    enum err err;
    int status;
    char body[4096];
    size_t body_len;
    char info[512];
    char header[256];
    const char *want_header;
    int64_t retry_after_ms;
    bool sent, no_room;
    /* streams */
    char data[4096];
    size_t data_len;
    bool refuse_data;
    struct http_call *cancel_on_data;
    struct http_client *free_on_data;
    struct http_client *free_on_done;
};

UNIT_HELPER void on_answer(void *arg, const struct http_result *result)
{
    struct answer *a = arg;
    a->count++;
    a->err = result->err;
    a->status = result->status;
    a->body_len = result->body_len;
    size_t kept = result->body_len < sizeof(a->body) ? result->body_len : sizeof(a->body) - 1;
    memcpy(a->body, result->body, kept); /* whole, with NUL bytes */
    snprintf(a->info, sizeof(a->info), "%s", result->info->text);
    const char *h = a->want_header ? http_result_header(result, a->want_header) : NULL;
    snprintf(a->header, sizeof(a->header), "%s", h ? h : "");
    a->retry_after_ms = result->retry_after_ms;
    a->sent = result->sent;
    a->no_room = result->no_room;
    if (a->free_on_done)
        http_client_free(a->free_on_done);
}

UNIT_HELPER bool on_answer_data(void *arg, const char *data, size_t len)
{
    struct answer *a = arg;
    size_t room = sizeof(a->data) - 1 - a->data_len;
    memcpy(a->data + a->data_len, data, len < room ? len : room);
    a->data_len += len < room ? len : room;
    if (a->cancel_on_data)
        http_cancel(a->cancel_on_data);
    if (a->free_on_data)
        http_client_free(a->free_on_data);
    return !a->refuse_data;
}

/* Returns one of eight buffers in turn. */
UNIT_HELPER const char *url_of(struct fixture *f, const char *path)
{
    static char urls[8][512];
    static int turn;
    char *url = urls[turn++ % 8];
    snprintf(url, sizeof(urls[0]), "%s://127.0.0.1:%d%s", f->scheme, http_server_port(f->server),
             path);
    return url;
}

/* Sends and waits for the answer. */
UNIT_HELPER void exchange(struct fixture *f, struct http_request request, struct answer *a)
{
    assert_non_null(http_send(f->client, &request, on_answer, a));
    assert_int_equal(a->count, 0);
    RUN_UNTIL(f, a->count > 0);
    assert_int_equal(a->count, 1);
}

/* Connects from the address 127.0.0.<host>. */
UNIT_HELPER int raw_connect_from(struct fixture *f, uint8_t host)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000u | host)};
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)http_server_port(f->server)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

UNIT_HELPER int raw_connect(struct fixture *f)
{
    return raw_connect_from(f, 1);
}

UNIT_HELPER void raw_send(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Runs the loop and reads until text contains `until`, or to the end if NULL. */
UNIT_HELPER void raw_read(struct fixture *f, int fd, char *text, size_t size, const char *until)
{
    size_t len = strlen(text);
    int64_t end = clock_monotonic_ms() + 10000;

    while (!until || !strstr(text, until)) {
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
        ssize_t n = recv(fd, text + len, size - 1 - len, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            if (until)
                fail_msg("the connection ended before \"%s\": %s", until, text);
            return;
        }
        len += n > 0 ? (size_t)n : 0;
        text[len] = '\0';
        if (clock_monotonic_ms() > end)
            fail_msg("no \"%s\" in: %s", until ? until : "(end)", text);
    }
}

#endif
