#include "net/fixture_test.h"

#include <fcntl.h>
#include <time.h>

/* The life of a call: every kind of end, exactly once. */

static void serve_retry(void *arg, struct http_conn_request *req)
{
    http_reply_header(req, "Retry-After", http_req_param(req, "after"));
    http_reply_text(req, 429, "slow down");
}

static void serve_fail(void *arg, struct http_conn_request *req)
{
    http_reply_text(req, 500, "broken");
}

static const struct http_route routes[] = {
    {NULL, "/echo", serve_echo},    {"GET", "/hold", serve_hold}, {"GET", "/stream", serve_stream},
    {"GET", "/retry", serve_retry}, {"GET", "/fail", serve_fail}, {NULL, NULL, NULL},
};

CASE(test_no_server)
{
    char url[128];

    struct fixture *f = SERVER(routes);
    struct answer refused = {0}, unknown = {0};
    /* a port that was free a moment ago */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, len), 0);
    getsockname(fd, (struct sockaddr *)&addr, &len);
    snprintf(url, sizeof(url), "http://me:secret@127.0.0.1:%d/p?q=secret", ntohs(addr.sin_port));
    exchange(f, (struct http_request){.url = url}, &refused);
    close(fd);
    assert_int_equal(refused.err, ERR_RETRY);
    assert_false(refused.sent);
    snprintf(url, sizeof(url), "GET http://127.0.0.1:%d/p: connection refused",
             ntohs(addr.sin_port));
    assert_string_equal(refused.info, url);
    assert_string_equal(refused.body, "");
    exchange(f, (struct http_request){.url = "http://no-such-host.invalid/"}, &unknown);
    assert_int_equal(unknown.err, ERR_RETRY);
    assert_non_null(strstr(unknown.info, "no-such-host.invalid"));
    fixture_end(f);
}

CASE(test_statuses_are_no_errors)
{
    struct answer a = {0};

    struct fixture *f = SERVER(routes);
    exchange(f, (struct http_request){.url = url_of(f, "/fail"), .on_data = on_answer_data}, &a);
    assert_int_equal(a.err, ERR_OK);
    assert_int_equal(a.status, 500);
    assert_string_equal(a.body, "broken"); /* kept even for a stream, as the text of the error */
    assert_int_equal(a.data_len, 0);
    fixture_end(f);
}

CASE(test_retry_after)
{
    char date[64], path[256];
    time_t then = time(NULL) + 100;
    struct tm tm;

    struct fixture *f = SERVER(routes);
    strftime(date, sizeof(date), "%a,%%20%d%%20%b%%20%Y%%20%H:%M:%S%%20GMT", gmtime_r(&then, &tm));
    const struct {
        const char *value;
        int64_t least, most;
    } cases[] = {
        {"0", 0, 0},
        {"7", 7000, 7000},
        {date, 90000, 100000},
        {"Fri,%2031%20Dec%201999%2023:59:59%20GMT", 0, 0},
        {"soon", 0, 0},
        {"-5", 0, 0},
        {"99999999999999999999", 0, 86400000},
    };
    EACH_ROW (row, cases) {
        struct answer a = {0};
        snprintf(path, sizeof(path), "/retry?after=%s", row->value);
        exchange(f, (struct http_request){.url = url_of(f, path)}, &a);
        assert_int_equal(a.status, 429);
        if (a.retry_after_ms < row->least || a.retry_after_ms > row->most)
            fail_msg("%s: %lld", row->value, (long long)a.retry_after_ms);
    }
    fixture_end(f);
}

CASE(test_timeouts)
{
    struct answer whole = {0}, idle = {0}, kept = {0};

    struct fixture *f = SERVER(routes);
    int64_t start = clock_monotonic_ms();
    exchange(f, (struct http_request){.url = url_of(f, "/hold"), .timeout_ms = 60}, &whole);
    assert_true(clock_monotonic_ms() - start >= 59);
    assert_int_equal(whole.err, ERR_RETRY);
    assert_non_null(strstr(whole.info, "/hold: no complete answer within 60 ms"));
    assert_true(whole.sent);

    struct http_request request = {.url = url_of(f, "/stream"),
                                   .timeout_ms = -1,
                                   .idle_timeout_ms = 600,
                                   .on_data = on_answer_data};
    http_send(f->client, &request, on_answer, &kept);
    RUN_UNTIL(f, f->holds == 2);
    struct http_conn_request *req = f->held;
    for (size_t i = 1; i <= 5; i++) { /* a byte now and then keeps it alive */
        assert_true(http_stream_send(req, "x", 1));
        RUN_UNTIL(f, kept.data_len == i);
        LOOP_FOR(f->loop, 150);
    }
    assert_int_equal(kept.count, 0);
    RUN_UNTIL(f, kept.count == 1);
    assert_int_equal(kept.err, ERR_RETRY);
    assert_non_null(strstr(kept.info, "/stream: nothing came for 600 ms"));
    exchange(f, request, &idle);
    assert_int_equal(idle.err, ERR_RETRY);
    fixture_end(f);
}

CASE(test_too_long)
{
    char body[1000];

    memset(body, 'x', sizeof(body));
    struct fixture *f = SERVER(routes);
    for (size_t max = 999; max <= 1000; max++) {
        struct answer a = {0};
        exchange(f,
                 (struct http_request){.method = "POST",
                                       .url = url_of(f, "/echo"),
                                       .body = body,
                                       .body_len = sizeof(body),
                                       .max_body = max},
                 &a);
        assert_int_equal(a.err, max == 1000 ? ERR_OK : ERR_INVALID);
        if (max == 999)
            assert_non_null(strstr(a.info, "/echo: the answer is longer than 999 bytes"));
    }
    fixture_end(f);
}

/* A server that replies with given bytes and closes. */
struct odd_server {
    uv_tcp_t listener;
    uv_tcp_t conn;
    uv_write_t write;
    uv_buf_t reply;
    char input[4096];
};

static void odd_close(uv_write_t *write, int status)
{
    struct odd_server *s = write->data;
    uv_close((uv_handle_t *)&s->conn, NULL);
}

static void odd_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct odd_server *s = handle->data;
    *buf = uv_buf_init(s->input, sizeof(s->input));
}

static void odd_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct odd_server *s = stream->data;
    uv_read_stop(stream);
    s->write.data = s;
    uv_write(&s->write, stream, &s->reply, 1, odd_close);
}

static void odd_accept(uv_stream_t *listener, int status)
{
    struct odd_server *s = listener->data;
    uv_tcp_init(listener->loop, &s->conn);
    s->conn.data = s;
    uv_accept(listener, (uv_stream_t *)&s->conn);
    uv_read_start((uv_stream_t *)&s->conn, odd_alloc, odd_read);
}

CASE(test_odd_answers)
{
    static char long_headers[400 * 1024];
    const struct {
        const char *reply;
        enum err err;
        const char *info, *body;
    } cases[] = {
        {"", ERR_RETRY, "closed the connection without an answer", ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", ERR_RETRY,
         "ended before the whole answer had come", "short"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", ERR_RETRY,
         "GET http://127.0.0.1", "short"},
        {"HTTP/1.1 200 OK\r\n\r\nto the end", ERR_OK, "", "to the end"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ERR_OK, "", ""},
        {"nonsense\r\n\r\n", ERR_INVALID, "GET http://127.0.0.1", ""},
        /* an absurd length counts as unknown */
        {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", ERR_OK, "", ""},
        {long_headers, ERR_INVALID, "the headers of the answer are longer than 256 KiB", ""},
    };

    size_t len = (size_t)snprintf(long_headers, sizeof(long_headers), "HTTP/1.1 200 OK\r\n");
    while (len + 1100 < sizeof(long_headers))
        len += (size_t)snprintf(long_headers + len, sizeof(long_headers) - len,
                                "X-%zu: %01000d\r\n", len, 1);
    struct fixture *f = SERVER(routes);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct odd_server s = {.reply = uv_buf_init((char *)(uintptr_t)cases[i].reply,
                                                    (unsigned)strlen(cases[i].reply))};
        struct sockaddr_in addr = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct answer a = {0};
        int addr_len = sizeof(addr);
        char url[64];
        uv_tcp_init(loop_uv(f->loop), &s.listener);
        s.listener.data = &s;
        uv_tcp_bind(&s.listener, (struct sockaddr *)&addr, 0);
        assert_int_equal(uv_listen((uv_stream_t *)&s.listener, 10, odd_accept), 0);
        uv_tcp_getsockname(&s.listener, (struct sockaddr *)&addr, &addr_len);
        snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(addr.sin_port));
        exchange(f, (struct http_request){.url = url}, &a);
        if (a.err != cases[i].err || !strstr(a.info, cases[i].info) ||
            strcmp(a.body, cases[i].body) != 0)
            fail_msg("case %zu: %d \"%s\" \"%s\"", i, a.err, a.info, a.body);
        uv_close((uv_handle_t *)&s.listener, NULL);
        for (int turn = 0; turn < 5; turn++)
            uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    fixture_end(f);
}

/* A server that resets the first connection at its second request. */
struct reset_server {
    uv_tcp_t listener, conns[2];
    uv_write_t write;
    char input[4096];
    int n_conns, requests;
};

static void reset_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct reset_server *s = handle->data;
    *buf = uv_buf_init(s->input, sizeof(s->input));
}

static void reset_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    static char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    struct reset_server *s = stream->data;
    uv_buf_t reply = uv_buf_init(ok, sizeof(ok) - 1);
    if (n < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        return;
    }
    if (++s->requests == 2)
        uv_tcp_close_reset(&s->conns[0], NULL);
    else
        uv_write(&s->write, stream, &reply, 1, NULL);
}

static void reset_accept(uv_stream_t *listener, int status)
{
    struct reset_server *s = listener->data;
    uv_tcp_t *conn = &s->conns[s->n_conns++];
    uv_tcp_init(listener->loop, conn);
    conn->data = s;
    uv_accept(listener, (uv_stream_t *)conn);
    uv_read_start((uv_stream_t *)conn, reset_alloc, reset_read);
}

/* A server may close a kept connection just when the next request arrives, as on a restart of a
 * proxy. */
CASE(test_a_kept_connection_is_reset)
{
    struct reset_server s = {0};
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int addr_len = sizeof(addr);
    char url[64];

    struct fixture *f = SERVER(routes);
    uv_tcp_init(loop_uv(f->loop), &s.listener);
    s.listener.data = &s;
    uv_tcp_bind(&s.listener, (struct sockaddr *)&addr, 0);
    assert_int_equal(uv_listen((uv_stream_t *)&s.listener, 10, reset_accept), 0);
    uv_tcp_getsockname(&s.listener, (struct sockaddr *)&addr, &addr_len);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(addr.sin_port));
    for (int i = 0; i < 2; i++) {
        struct answer a = {0};
        exchange(f, (struct http_request){.url = url}, &a);
        if (a.err != ERR_OK)
            fail_msg("request %d: %s", i, a.info);
        assert_string_equal(a.body, "ok");
    }
    assert_int_equal(s.n_conns, 2);
    uv_close((uv_handle_t *)&s.listener, NULL);
    uv_close((uv_handle_t *)&s.conns[1], NULL);
    fixture_end(f);
}

CASE(test_cancel_at_each_stage)
{
    struct fixture *f = SERVER(routes);
    for (int stage = 0; stage < 8; stage++) {
        struct answer a = {0};
        int holds = f->holds;
        const char *url = stage == 7 ? "nonsense" : url_of(f, "/hold");
        struct http_call *call =
            http_send(f->client, &(struct http_request){.url = url}, on_answer, &a);
        if (stage == 5)
            RUN_UNTIL(f, f->holds > holds);
        if (stage == 6) {
            RUN_UNTIL(f, f->holds > holds);
            http_reply_text(f->held, 200, "too late");
        }
        for (int turn = 0; turn < stage && turn < 4; turn++)
            uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
        if (a.count > 0) { /* the iterations were enough for the answer */
            assert_true(stage >= 6);
            continue;
        }
        http_cancel(call);
        http_cancel(call);
        assert_int_equal(a.count, 0);
        RUN_UNTIL(f, a.count == 1);
        assert_int_equal(a.err, stage == 7 ? ERR_INVALID : ERR_CANCELLED);
        if (stage == 5)
            assert_true(a.sent);
        if (stage == 0)
            assert_false(a.sent);
    }
    assert_int_equal(http_client_active(f->client), 0);
    fixture_end(f);
}

CASE(test_ends_from_on_data)
{
    struct fixture *f = SERVER(routes);
    for (int way = 0; way < 2; way++) {
        struct answer a = {.refuse_data = way == 0};
        struct http_request request = {
            .url = url_of(f, "/stream"), .timeout_ms = -1, .on_data = on_answer_data};
        struct http_call *call = http_send(f->client, &request, on_answer, &a);
        if (way == 1)
            a.cancel_on_data = call;
        RUN_UNTIL(f, f->holds == way + 1);
        http_stream_send(f->held, "one", 3);
        RUN_UNTIL(f, a.count == 1);
        assert_int_equal(a.err, ERR_CANCELLED);
        assert_string_equal(a.data, "one");
        RUN_UNTIL(f, f->gone == way + 1);
    }
    fixture_end(f);
}

/* A chain of calls, each sent from the callback of the previous one. */
struct chain {
    struct fixture *f;
    struct http_request request;
    int done;
    bool sent;
};

static void chain_done(void *arg, const struct http_result *result)
{
    struct chain *c = arg;
    assert_int_equal(result->err, ERR_OK);
    if (++c->done < 20)
        http_send(c->f->client, &c->request, chain_done, c);
}

static bool chain_data(void *arg, const char *data, size_t len)
{
    struct chain *c = arg;
    if (!c->sent) {
        c->sent = true;
        http_send(c->f->client, &c->request, chain_done, c);
    }
    return true;
}

CASE(test_sends_from_callbacks)
{
    struct fixture *f = SERVER(routes);
    struct chain c = {.f = f};
    c.request = (struct http_request){
        .method = "POST", .url = url_of(f, "/echo"), .body = "x", .body_len = 1};
    http_send(f->client, &c.request, chain_done, &c);
    RUN_UNTIL(f, c.done == 20);
    c.done = 0;
    c.request.on_data = chain_data; /* all in the pool of streams */
    http_send(f->client, &c.request, chain_done, &c);
    RUN_UNTIL(f, c.done >= 20 && http_client_active(f->client) == 0);
    assert_true(c.sent);
    fixture_end(f);
}

CASE(test_free_cancels)
{
    enum { FROM_OUTSIDE, FROM_DONE, FROM_DATA, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct answer held = {0}, queued = {0}, other = {0};
        struct fixture *f = SERVER(routes);
        http_send(f->client, &(struct http_request){.url = url_of(f, "/hold")}, on_answer, &held);
        RUN_UNTIL(f, f->holds == 1);
        struct http_request request = {.url = url_of(f, way == FROM_DATA ? "/stream" : "/echo"),
                                       .on_data = on_answer_data};
        if (way == FROM_DONE)
            other.free_on_done = f->client;
        if (way == FROM_DATA)
            other.free_on_data = f->client;
        http_send(f->client, &request, on_answer, &other);
        if (way == FROM_DATA) {
            RUN_UNTIL(f, f->holds == 2);
            http_stream_send(f->held, "go", 2);
        }
        if (way == FROM_OUTSIDE) {
            http_send(f->client, &request, on_answer, &queued);
            http_client_free(f->client);
            assert_int_equal(queued.count, 1);
            assert_int_equal(queued.err, ERR_CANCELLED);
        }
        RUN_UNTIL(f, other.count == 1 && held.count == 1);
        assert_int_equal(held.err, ERR_CANCELLED);
        assert_int_equal(other.err, way == FROM_DONE ? ERR_OK : ERR_CANCELLED);
        f->client = NULL;
        fixture_end(f);
    }
    http_client_free(NULL);
}
