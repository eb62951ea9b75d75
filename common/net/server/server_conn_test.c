#include <dirent.h>

#include "net/fixture_test.h"
#include "net/server/server_internal.h"

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

/* Reads what has arrived; returns true if it contains the final answer 503. */
static bool is_refused(int fd)
{
    char text[1024] = "";

    return recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0 && strstr(text, "HTTP/1.1 503") &&
           strstr(text, "Retry-After: 1");
}

static void close_all(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        close(fds[i]);
}

/* If silent clients occupy all connections, the oldest is evicted. */
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
    assert_true((int)f->server->conn_shares.taken <= 8);
    assert_true(is_closed(fds[0]));
    assert_true(is_closed(fds[MANY - 9]));
    assert_false(is_closed(fds[MANY - 1]));
    close_all(fds, MANY);
    fixture_end(f);
}

/* Clients in one burst do not evict each other before their requests are read. */
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

/* Clients that need a moment to send, as on a busy machine, are not evicted either. */
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
    assert_int_equal(status_of(f, "/echo"), 200); /* the others have been evicted */
    close(fd);
    close_all(fds, MANY);
    fixture_end(f);
}

/* Requests being answered are not evicted; connections are reserved for probes. */
CASE(test_probes_have_places)
{
    int fds[6];
    char text[1024] = "";

    struct fixture *f = SERVER(routes, .max_connections = 8);
    for (int i = 0; i < 6; i++) {
        fds[i] = raw_connect_from(f, (uint8_t)(2 + i % 3));
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

/* A client's share limits only that client. */
CASE(test_one_client_does_not_displace_another)
{
    int fds[MANY], other, idle;
    char text[1024] = "";

    struct fixture *f = SERVER(routes, .max_connections = 20);
    other = raw_connect_from(f, 3);
    raw_send(other, "GET /echo HTTP/1.1\r\nHo");
    turn(f);
    for (int i = 0; i < MANY; i++) {
        fds[i] = raw_connect_from(f, 2);
        turn(f);
        LOOP_FOR(f->loop, 30); /* the grace period */
    }
    idle = raw_connect_from(f, 4);
    LOOP_FOR(f->loop, 50);
    assert_true(is_closed(fds[0]));
    assert_false(is_closed(idle));
    raw_send(other, "st: x\r\n\r\n");
    raw_read(f, other, text, sizeof(text), "200 OK");
    close_all(fds, MANY);
    close(other);
    close(idle);
    fixture_end(f);
}

CASE(test_one_client_is_not_answered_alone)
{
    enum { PLACES = 40, BUSY = PLACES - PLACES / 4 };
    int fds[BUSY], turned_away = 0, other;
    char text[1024] = "";

    struct fixture *f = SERVER(routes, .max_connections = PLACES);
    for (int i = 0; i < BUSY; i++) {
        fds[i] = raw_connect_from(f, 2);
        raw_send(fds[i], "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        LOOP_FOR(f->loop, 5);
    }
    for (int i = 0; i < BUSY; i++)
        turned_away += recv(fds[i], text, sizeof(text), MSG_DONTWAIT | MSG_PEEK) > 0;
    assert_in_range(turned_away, BUSY / 4 - 1, BUSY / 4 + 1);
    other = raw_connect_from(f, 3);
    raw_send(other, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read(f, other, text, sizeof(text), "200 OK");
    close_all(fds, BUSY);
    close(other);
    fixture_end(f);
}

/* Partial bodies share one budget, both with and without "100 Continue". */
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
            assert_true(f->server->byte_shares.taken <= MOST);
        }
        turn(f);
    }
    assert_true(f->server->byte_shares.taken > MOST / 2); /* they are counted */
    for (int i = 0; i < 4; i++)
        assert_true(is_refused(fds[i]));
    assert_true((int)f->server->conn_shares.taken < 20);
    assert_int_equal(status_of(f, "/echo"), 200);
    close_all(fds, MANY);
    turn(f);
    assert_int_equal(f->server->byte_shares.taken, 0);
    free(body);
    fixture_end(f);
}

/* Clients that disconnect in the middle of a body, even by a reset, leave nothing behind. */
CASE(test_half_bodies_that_disconnect)
{
    const struct linger reset = {.l_onoff = 1};
    int fds[MANY];

    struct fixture *f = SERVER(routes);
    for (int i = 0; i < MANY; i++) {
        fds[i] = raw_connect(f);
        raw_send(fds[i], "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\nabc");
        turn(f);
    }
    assert_int_equal(f->server->conn_shares.taken, MANY);
    assert_true(f->server->byte_shares.taken >= MANY * 64);
    for (int i = 0; i < MANY; i++) {
        if (i % 2)
            setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(fds[i]);
    }
    RUN_UNTIL(f, f->server->conn_shares.taken == 0);
    assert_int_equal(f->server->byte_shares.taken, 0);
    fixture_end(f);
}

/* Endless headers are cut off; long bodies after complete headers are not. */
CASE(test_endless_headers)
{
    char *text = malloc(BODY + 1), line[2048] = "";

    memset(text, 'a', BODY);
    text[BODY] = '\0';
    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\nX: ");
    while (!is_closed(fd)) {
        assert_true(f->server->byte_shares.taken < BODY);
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

/* A client that does not read its answer is evicted too. */
CASE(test_stuck_answers_give_way)
{
    int fds[8];

    struct fixture *f = SERVER(routes, .max_held = 40 * 1024 * 1024);
    for (int i = 0; i < 8; i++) {
        fds[i] = raw_connect(f);
        raw_send(fds[i], "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(f);
    }
    assert_true(f->server->byte_shares.taken <= 40 * 1024 * 1024);
    assert_true((int)f->server->conn_shares.taken <= 3);
    assert_int_equal(status_of(f, "/echo"), 200);
    close_all(fds, 8);
    fixture_end(f);
}

/* The memory of a request is freed before a slow client has read the answer. */
static void count_freed(void *arg)
{
    ++*(int *)arg;
}

static int freed;

static void serve_heavy(void *arg, struct http_conn_request *req)
{
    arena_defer(http_req_arena(req), count_freed, &freed);
    serve_big(arg, req);
    assert_int_equal(freed, 0); /* the handler may still read it */
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

/* Large requests in progress are counted: further ones are refused. */
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

static const struct http_route routes_linger[] = {{NULL, "/echo", serve_echo}, {NULL, NULL, NULL}};

/* The answer to a body that is refused while it is being sent still arrives. */
CASE(test_refused_upload)
{
    enum { SIZE = 8 * 1024 * 1024 };
    char *body = calloc(1, SIZE);

    struct fixture *f = SERVER(routes_linger, .max_body = 1000);
    for (int i = 0; i < 10; i++) {
        struct answer a = {0};
        exchange(f,
                 (struct http_request){
                     .method = "POST", .url = url_of(f, "/echo"), .body = body, .body_len = SIZE},
                 &a);
        assert_string_equal(a.info, "");
        assert_int_equal(a.status, 413);
        assert_string_equal(a.body, "{\"error\":\"the body is longer than 1000 bytes\"}");
    }
    free(body);
    fixture_end(f);
}

/* A client that neither sends the rest nor closes does not keep the server. */
CASE(test_end_while_lingering)
{
    char text[2048] = "";

    struct fixture *f = SERVER(routes_linger, .max_body = 1000);
    int fd = raw_connect(f);
    raw_send(fd, "POST /echo HTTP/1.1\r\nContent-Length: 5000\r\n\r\nabc");
    raw_read(f, fd, text, sizeof(text), NULL);
    assert_non_null(strstr(text, " 413 "));
    fixture_end(f);
    close(fd);
}

static int count_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* The number of lingering sockets is bounded: the oldest ends. */
CASE(test_lingering_is_bounded)
{
    enum { CLIENTS = 200 };
    int fds[CLIENTS];
    char text[2048];

    struct fixture *f = SERVER(routes_linger, .max_body = 1000);
    int before = count_files();
    for (int i = 0; i < CLIENTS; i++) {
        *text = '\0';
        fds[i] = raw_connect(f);
        raw_send(fds[i], "POST /echo HTTP/1.1\r\nContent-Length: 5000\r\n\r\nabc");
        raw_read(f, fds[i], text, sizeof(text), NULL);
        assert_non_null(strstr(text, " 413 "));
        assert_true(f->server->linger_count <= 64);
    }
    assert_true(count_files() - before - CLIENTS <= 66);
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    fixture_end(f);
}
