#include "net/fixture_test.h"
#include "net/server/server_internal.h"

#include <sys/resource.h>

static void serve_small(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    f->held = req;
    f->holds++;
    http_req_on_gone(req, fixture_on_gone, f);
    http_stream_start(req, 200, "text/plain", 100000);
}

static void serve_at_once(void *arg, struct http_conn_request *req)
{
    http_stream_start(req, 200, "text/plain", 0);
    http_stream_send(req, "all ", 4);
    http_stream_send(req, "at once", 7);
    http_stream_end(req);
}

static void serve_created(void *arg, struct http_conn_request *req)
{
    http_stream_start(req, 201, "text/plain", 0);
    http_stream_send(req, "made", 4);
    http_stream_end(req);
}

static const struct http_route routes[] = {
    {"GET", "/stream", serve_stream},
    {"GET", "/small", serve_small},
    {"GET", "/once", serve_at_once},
    {"GET", "/created", serve_created},
    {NULL, NULL, NULL},
};

CASE(test_each_piece_at_once)
{
    struct answer a = {0};

    struct fixture *f = SERVER(routes);
    struct http_request request = {
        .url = url_of(f, "/stream"), .timeout_ms = -1, .on_data = on_answer_data};
    http_send(f->client, &request, on_answer, &a);
    RUN_UNTIL(f, f->held);
    for (int i = 1; i <= 5; i++) {
        assert_true(http_stream_send(f->held, "piece;", 6));
        RUN_UNTIL(f, a.data_len == 6 * (size_t)i);
    }
    assert_int_equal(a.count, 0);
    http_stream_end(f->held);
    RUN_UNTIL(f, a.count == 1);
    assert_int_equal(a.err, ERR_OK);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body_len, 0);
    assert_string_equal(a.data, "piece;piece;piece;piece;piece;");
    assert_int_equal(f->gone, 0);
    fixture_end(f);
}

/* Clients that do not read their streams share one budget, and give it back when they read. */
CASE(test_slow_clients_share_memory)
{
    enum { STREAMS = 40, MOST = 4 * 1024 * 1024, PIECE = 4096, SMALL = 128 * 1024 };
    int fds[STREAMS];
    static char piece[PIECE], text[64 * 1024];

    memset(piece, 'a', sizeof(piece));
    struct fixture *f = SERVER(routes, .max_held = MOST);
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = raw_connect(f);
        raw_send(fds[i], "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        RUN_UNTIL(f, f->holds == i + 1);
        while (f->held && http_stream_queued(f->held) < 700 * 1024) {
            (void)http_stream_send(f->held, piece, sizeof(piece));
            uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
            assert_true(f->server->byte_shares.taken <= MOST + 2 * STREAMS * SMALL);
        }
    }
    assert_true(f->server->byte_shares.taken > MOST / 2); /* they are counted */
    assert_true(f->gone > 0);
    int64_t end = clock_monotonic_ms() + 10000;
    while (f->server->byte_shares.taken > STREAMS * 2 * SMALL + 100000 &&
           clock_monotonic_ms() < end) {
        for (int i = 0; i < STREAMS; i++)
            (void)recv(fds[i], text, sizeof(text), MSG_DONTWAIT);
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    assert_true(clock_monotonic_ms() < end);
    for (int i = 0; i < STREAMS; i++)
        close(fds[i]);
    fixture_end(f);
}

CASE(test_headers_come_first)
{
    char text[1024] = "";

    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), "\r\n\r\n");
    assert_non_null(strstr(text, "Transfer-Encoding: chunked")
                        ?: strstr(text, "transfer-encoding: chunked"));
    close(fd);
    RUN_UNTIL(f, f->gone == 1);
    fixture_end(f);
}

CASE(test_forms)
{
    static const struct {
        const char *request, *end;
        bool closes;
    } cases[] = {
        {"GET /once HTTP/1.1\r\nHost: x\r\n\r\n", "b\r\nall at once\r\n0\r\n\r\n", false},
        {"GET /once HTTP/1.0\r\n\r\n", "\r\n\r\nall at once", true},
        {"GET /once HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "\r\n\r\nall at once", true},
        {"HEAD /once HTTP/1.1\r\nHost: x\r\n\r\n", "\r\n\r\n", false},
        {"GET /created HTTP/1.1\r\nHost: x\r\n\r\n", "\r\n\r\nmade", true},
    };

    struct fixture *f = SERVER(routes);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[2048] = "";
        int fd = raw_connect(f);
        raw_send(fd, cases[i].request);
        raw_read(f, fd, text, sizeof(text), cases[i].closes ? NULL : cases[i].end);
        size_t len = strlen(text), end = strlen(cases[i].end);
        if (len < end || strcmp(text + len - end, cases[i].end) != 0)
            fail_msg("case %zu: %s", i, text);
        if (!cases[i].closes) {
            raw_send(fd, cases[i].request); /* the connection stays open */
            text[0] = '\0';
            raw_read(f, fd, text, sizeof(text), cases[i].end);
        }
        close(fd);
    }
    fixture_end(f);
}

static void on_sent(void *arg)
{
    int *sent = arg;
    ++*sent;
}

CASE(test_what_waits_is_told)
{
    static char piece[90000];
    char text[16384];
    int sent = 0;
    size_t queued = 0;

    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
    RUN_UNTIL(f, f->held);
    assert_int_equal(http_stream_queued(f->held), 0);
    /* Beyond the kernel's buffers, bytes are queued. */
    while ((queued = http_stream_queued(f->held)) == 0) {
        assert_true(http_stream_send(f->held, piece, sizeof(piece)));
        for (int turn = 0; turn < 5; turn++)
            uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    assert_int_equal(queued, sizeof(piece));
    http_stream_on_sent(f->held, on_sent, &sent);
    for (int turn = 0; turn < 5; turn++)
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    assert_int_equal(sent, 0);
    while (!sent) {
        assert_true(recv(fd, text, sizeof(text), MSG_DONTWAIT) != 0);
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    assert_int_equal(http_stream_queued(f->held), 0);
    assert_true(http_stream_send(f->held, "x", 1));
    for (int turn = 0; turn < 5; turn++)
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    assert_int_equal(sent, 1); /* once */
    close(fd);
    RUN_UNTIL(f, f->gone == 1);
    fixture_end(f);
}

/* A client that reads nothing is cut off when its queue is full, and its owner is notified once,
 * later. */
CASE(test_slow_client)
{
    static char piece[10000];
    size_t sent = 0;

    memset(piece, 'x', sizeof(piece));
    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
    RUN_UNTIL(f, f->held);
    struct http_conn_request *req = f->held;
    while (http_stream_send(req, piece, sizeof(piece))) {
        sent += sizeof(piece);
        assert_true(sent < 256 * 1024 * 1024);
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    assert_true(sent >= 100000);
    assert_int_equal(f->gone, 0);
    assert_false(http_stream_send(req, piece, 1));
    RUN_UNTIL(f, f->gone == 1);
    for (int i = 0; i < 10; i++)
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    assert_int_equal(f->gone, 1);
    close(fd);
    fixture_end(f);
}

CASE(test_end_after_cut)
{
    static char piece[100001];

    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
    RUN_UNTIL(f, f->held);
    assert_false(http_stream_send(f->held, piece, sizeof(piece)));
    http_stream_end(f->held);
    char text[1024] = "";
    raw_read(f, fd, text, sizeof(text), NULL);
    assert_null(strstr(text, "\r\n0\r\n\r\n")); /* it does not look whole */
    assert_int_equal(f->gone, 0);
    close(fd);
    fixture_end(f);
}

/* Everything queued at the end of a stream still arrives, in pieces of any size. */
CASE(test_queue_is_sent_to_the_end)
{
    enum { SIZE = 900000 };
    char *piece = malloc(SIZE);
    static char buf[65536];
    size_t got = 0;

    memset(piece, 'x', SIZE);
    struct fixture *f = SERVER(routes);
    int fd = raw_connect(f);
    raw_send(fd, "GET /stream HTTP/1.0\r\n\r\n");
    RUN_UNTIL(f, f->held);
    assert_true(http_stream_send(f->held, piece, SIZE / 2));
    assert_true(http_stream_send(f->held, piece, SIZE / 2));
    http_stream_end(f->held);
    free(piece);
    for (int64_t end = clock_monotonic_ms() + 10000;;) {
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
        ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
        if (n == 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            got += buf[i] == 'x';
        assert_true(clock_monotonic_ms() < end);
    }
    assert_true(got >= SIZE && got < SIZE + 20); /* a few more in the headers */
    close(fd);
    fixture_end(f);
}

enum { MANY = 1000 };
static struct http_conn_request *many[MANY];
static int many_count;

static void serve_many(void *arg, struct http_conn_request *req)
{
    many[many_count++] = req;
    http_stream_start(req, 200, "application/json", 0);
}

CASE(test_a_thousand_streams)
{
    static const struct http_route many_routes[] = {
        {"GET", "/many", serve_many}, {"GET", "/stream", serve_stream}, {NULL, NULL, NULL}};
    static struct answer answers[MANY];
    struct answer quick = {0};
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * MANY + 100)
        skip();
    struct fixture *f = SERVER(many_routes, .max_connections = 2 * MANY);
    struct http_request request = {
        .url = url_of(f, "/many"), .timeout_ms = -1, .on_data = on_answer_data};
    for (int i = 0; i < MANY; i++)
        http_send(f->client, &request, on_answer, &answers[i]);
    RUN_UNTIL(f, many_count == MANY);
    assert_int_equal(http_client_active(f->client), MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(http_stream_send(many[i], "event\n", 6));
    /* Calls have connections of their own, separate from the streams. */
    exchange(f, (struct http_request){.url = url_of(f, "/healthz")}, &quick);
    assert_int_equal(quick.status, 200);
    int whole = 0;
    for (int i = 0; i < MANY; i++) {
        RUN_UNTIL(f, answers[i].data_len == 6);
        whole++;
    }
    assert_int_equal(whole, MANY);
    for (int i = 0; i < MANY; i++)
        http_stream_end(many[i]);
    RUN_UNTIL(f, http_client_active(f->client) == 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(answers[i].err, ERR_OK);
    fixture_end(f);
}
