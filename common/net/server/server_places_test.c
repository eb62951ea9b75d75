#include "net/server/server_internal.h"
#include "net/test_fixture.h"

enum { MANY = 100, BODY = 256 * 1024 };

static void serve_big(void *arg, struct http_conn_request *req)
{
    enum { SIZE = 16 * 1024 * 1024 };
    char *body = calloc(1, SIZE);
    http_reply(req, 200, "text/plain", body, SIZE);
    free(body);
}

static const struct http_route routes[] = {
    {NULL, "/echo", serve_echo},
    {NULL, "/hold", serve_hold},
    {NULL, "/big", serve_big},
    {NULL, NULL, NULL},
};

static void turn(struct fixture *f)
{
    for (int i = 0; i < 20; i++)
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
}

static int status_of(struct fixture *f, const char *path)
{
    struct answer a = {0};
    exchange(f, (struct http_request){.url = url_of(f, path)}, &a);
    return a.err == ERR_OK ? a.status : -1;
}

static bool is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void close_all(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        close(fds[i]);
}

/* With all places taken by who says nothing, the oldest of them gives way. */
CASE(test_silent_connections_give_way)
{
    int fds[MANY];

    struct fixture *f = SERVER(routes, .max_connections = 8);
    for (int i = 0; i < MANY; i++) {
        fds[i] = raw_connect(f);
        if (i % 3 == 1)
            raw_send(fds[i], "GET /echo HTTP/1.1\r\nHo");
        if (i % 3 == 2)
            raw_send(fds[i], "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nabc");
        turn(f);
    }
    assert_int_equal(status_of(f, "/echo"), 200);
    assert_true(f->server->open_count <= 8);
    assert_true(is_closed(fds[0]));
    assert_true(is_closed(fds[MANY - 9]));
    assert_false(is_closed(fds[MANY - 1]));
    close_all(fds, MANY);
    fixture_end(f);
}

/* A crowd that comes at once does not displace itself unread. */
CASE(test_a_crowd_is_served)
{
    int fds[MANY];

    struct fixture *f = SERVER(routes, .max_connections = 80);
    for (int i = 0; i < MANY; i++) {
        fds[i] = raw_connect(f);
        raw_send(fds[i], "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for (int i = 0; i < MANY; i++) {
        char text[1024] = "";
        raw_read(f, fds[i], text, sizeof(text), "\r\n\r\n");
    }
    close_all(fds, MANY);
    fixture_end(f);
}

/* Nor who needs a moment for what it came to say, as a client on a busy machine does. */
CASE(test_who_has_just_come_is_heard)
{
    char text[1024] = "";
    int fds[MANY];

    struct fixture *f = SERVER(routes, .max_connections = 8);
    int fd = raw_connect(f);
    for (int i = 0; i < MANY; i++)
        fds[i] = raw_connect(f);
    turn(f);
    raw_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), "\r\n\r\n");
    assert_memory_equal(text, "HTTP/1.1 200", 12);
    assert_int_equal(status_of(f, "/echo"), 200); /* the others have given way by then */
    close(fd);
    close_all(fds, MANY);
    fixture_end(f);
}

/* Requests that are being answered do not give way; probes have places of their own. */
CASE(test_probes_have_places)
{
    int fds[6];
    char text[1024] = "";

    struct fixture *f = SERVER(routes, .max_connections = 8);
    for (int i = 0; i < 6; i++) {
        fds[i] = raw_connect(f);
        raw_send(fds[i], "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    RUN_UNTIL(f, f->holds == 6);
    assert_int_equal(status_of(f, "/echo"), 503);
    assert_int_equal(status_of(f, "/healthz"), 200);
    assert_int_equal(status_of(f, "/readyz"), 200);
    assert_int_equal(status_of(f, "/metrics"), 200);
    assert_int_equal(f->gone, 0);
    http_reply_text(f->held, 200, "fine");
    raw_read(f, fds[5], text, sizeof(text), "fine");
    assert_int_equal(status_of(f, "/echo"), 200);
    close_all(fds, 6);
    fixture_end(f);
}

/* Halves of bodies share one budget, with "100 Continue" as without. */
CASE(test_half_requests_share_memory)
{
    static const char *const begins[] = {
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\nExpect: 100-continue\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4e200\r\n",
        "POST /echo HTTP/1.1\r\nContent-Length: 270000\r\nHost: x\r\n\r\n",
    };
    enum { MOST = 4 * 1024 * 1024 };
    int fds[MANY];
    char *body = malloc(BODY + 1);

    memset(body, 'a', BODY);
    body[BODY] = '\0';
    struct fixture *f = SERVER(routes, .max_held = MOST);
    for (int i = 0; i < MANY; i++) {
        fds[i] = raw_connect(f);
        raw_send(fds[i], begins[i % 4]);
        turn(f);
        for (size_t sent = 0; sent < BODY;) {
            ssize_t n = send(fds[i], body + sent, BODY - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            assert_true(n > 0 || errno == EAGAIN);
            sent += n > 0 ? (size_t)n : 0;
            uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
            assert_true(f->server->held <= MOST);
        }
        turn(f);
    }
    assert_true(f->server->held > MOST / 2); /* they are counted */
    assert_true(is_closed(fds[0]));
    assert_true(f->server->open_count < 20);
    assert_int_equal(status_of(f, "/echo"), 200);
    close_all(fds, MANY);
    turn(f);
    assert_int_equal(f->server->held, 0);
    free(body);
    fixture_end(f);
}

/* Headers that do not end are not waited for; what comes behind whole headers may be long. */
CASE(test_endless_headers)
{
    char *text = malloc(BODY + 1), line[2048] = "";

    memset(text, 'a', BODY);
    text[BODY] = '\0';
    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\nX: ");
    while (!is_closed(fd)) {
        assert_true(f->server->held < BODY);
        (void)!send(fd, text, 4096, MSG_NOSIGNAL | MSG_DONTWAIT);
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    close(fd);
    fd = raw_connect(f);
    raw_send(fd, "POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n\r\n");
    for (size_t sent = 0; sent < BODY;) {
        ssize_t n = send(fd, text + sent, BODY - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    raw_read(f, fd, line, sizeof(line), "200 OK");
    close(fd);
    free(text);
    fixture_end(f);
}

/* An answer that nobody takes gives way as well. */
CASE(test_stuck_answers_give_way)
{
    int fds[8];

    struct fixture *f = SERVER(routes, .max_held = 40 * 1024 * 1024);
    for (int i = 0; i < 8; i++) {
        fds[i] = raw_connect(f);
        raw_send(fds[i], "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(f);
    }
    assert_true(f->server->held <= 40 * 1024 * 1024);
    assert_true(f->server->open_count <= 3);
    assert_int_equal(status_of(f, "/echo"), 200);
    close_all(fds, 8);
    fixture_end(f);
}

/* What an answer was made of does not wait for the client. */
static void count_freed(void *arg)
{
    ++*(int *)arg;
}

static int freed;

static void serve_heavy(void *arg, struct http_conn_request *req)
{
    arena_defer(http_req_arena(req), count_freed, &freed);
    serve_big(arg, req);
    assert_int_equal(freed, 0); /* its maker may still look at it */
}

CASE(test_answers_let_go_of_what_they_were_made_of)
{
    static const struct http_route heavy[] = {{NULL, "/heavy", serve_heavy}, {NULL, NULL, NULL}};

    struct fixture *f = SERVER(heavy);
    int fd = raw_connect(f);
    raw_send(fd, "POST /heavy HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    turn(f);
    assert_int_equal(freed, 1);
    assert_int_equal(TAILQ_FIRST(&f->server->conns)->state, CONN_SENDING);
    close(fd);
    turn(f);
    fixture_end(f);
    assert_int_equal(freed, 1);
}

/* Requests that wait for their answer with much in hand leave no room for others of that kind. */
CASE(test_held_bodies_are_counted)
{
    struct answer first = {0}, second = {0};
    char *body = calloc(1, BODY);

    struct fixture *f = SERVER(routes, .max_held = 4 * BODY);
    struct http_request request = {
        .method = "POST", .url = url_of(f, "/hold"), .body = body, .body_len = BODY};
    http_send(f->client, &request, on_answer, &first);
    RUN_UNTIL(f, f->holds == 1);
    exchange(f, request, &second);
    assert_int_equal(second.status, 503);
    assert_int_equal(status_of(f, "/healthz"), 200);
    http_reply_text(f->held, 200, "fine");
    RUN_UNTIL(f, first.count == 1);
    assert_int_equal(first.status, 200);
    free(body);
    fixture_end(f);
}
