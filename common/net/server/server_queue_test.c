#include "net/fixture_test.h"
#include "net/server/server_internal.h"

enum { MANY = 8, LONG_NS = 20 * 1000 * 1000 };

static int slow, quick, made;

/* Takes longer than the time for requests in an iteration. */
static void serve_slow(void *arg, struct http_conn_request *req)
{
    uint64_t end = uv_hrtime() + LONG_NS;

    slow++;
    while (uv_hrtime() < end)
        continue;
    http_reply_text(req, 200, http_req_query(req));
}

static void serve_quick(void *arg, struct http_conn_request *req)
{
    quick++;
    http_reply_text(req, 200, "quick");
}

/* Replies with the number of requests answered before. */
static void serve_list(void *arg, struct http_conn_request *req)
{
    struct buf text;

    if (http_reply_shared(req, "list"))
        return;
    made++;
    buf_init(&text, 32);
    buf_printf(&text, "slow %d quick %d", slow, quick);
    http_reply_share(req, "list", "text/plain", &text);
    assert_int_equal(text.len, 0);
    buf_fini(&text);
}

static const struct http_route routes[] = {
    {NULL, "/slow", serve_slow},
    {NULL, "/quick", serve_quick},
    {NULL, "/list", serve_list},
    {NULL, NULL, NULL},
};

static void start(struct fixture *f, int *fds, int n)
{
    slow = quick = made = 0;
    fixture_start(f, routes, (struct http_server_options){.port = 0});
    for (int i = 0; i < n; i++)
        fds[i] = raw_connect(f);
    RUN_UNTIL(f, (int)f->server->conn_shares.taken == n);
}

static void end(struct fixture *f, const int *fds, int n)
{
    for (int i = 0; i < n; i++)
        close(fds[i]);
    fixture_end(f);
}

static void ask(int fd, const char *path)
{
    char text[256];

    snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    raw_send(fd, text);
}

static void hear(struct fixture *f, int fd, const char *until)
{
    char text[4096] = "";

    raw_read(f, fd, text, sizeof(text), until);
}

/* Slow requests that arrive together are spread over iterations; a probe overtakes them. */
CASE(test_a_probe_does_not_wait)
{
    struct fixture f;
    int fds[MANY + 1];

    start(&f, fds, MANY + 1);
    for (int i = 0; i < MANY; i++)
        ask(fds[i], "/slow");
    ask(fds[MANY], "/healthz");
    hear(&f, fds[MANY], "OK");
    assert_true(slow < MANY / 2);
    for (int i = 0; i < MANY; i++) {
        hear(&f, fds[i], "\r\n\r\n");
        assert_true(slow >= i + 1 && slow <= i + 3); /* in the order of arrival */
    }
    end(&f, fds, MANY + 1);
}

/* A client that connects meanwhile is accepted and read between two of them. */
CASE(test_who_comes_meanwhile_does_not_wait)
{
    struct fixture f;
    int fds[MANY];

    start(&f, fds, MANY);
    for (int i = 0; i < MANY; i++)
        ask(fds[i], "/slow");
    RUN_UNTIL(&f, slow == 2);
    int fd = raw_connect(&f);
    ask(fd, "/healthz");
    hear(&f, fd, "OK");
    assert_true(slow <= 3);
    RUN_UNTIL(&f, slow == MANY);
    close(fd);
    end(&f, fds, MANY);
}

/* Sends MANY quick requests at once; returns true if none of them was queued. */
static bool answered_at_once(void)
{
    struct fixture f;
    int fds[MANY];

    start(&f, fds, MANY);
    for (int i = 0; i < MANY; i++)
        ask(fds[i], "/quick");
    RUN_UNTIL(&f, quick > 0);
    bool none = TAILQ_EMPTY(&f.server->queue);
    RUN_UNTIL(&f, quick == MANY);
    end(&f, fds, MANY);
    return none;
}

/* Quick requests are answered in the iteration in which they arrive. Several attempts are made:
 * on a busy machine an iteration may be over because another process had the processor. */
CASE(test_quick_ones_are_not_queued)
{
    bool at_once = false;

    for (int i = 0; i < 20 && !at_once; i++)
        at_once = answered_at_once();
    assert_true(at_once);
}

/* A request whose client has disconnected while it was queued is not run. */
CASE(test_who_goes_leaves_the_queue)
{
    struct fixture f;
    int fds[4];

    start(&f, fds, 4);
    for (int i = 0; i < 3; i++)
        ask(fds[i], "/slow");
    ask(fds[3], "/quick");
    shutdown(fds[3], SHUT_WR);
    RUN_UNTIL(&f, slow == 3 && TAILQ_EMPTY(&f.server->queue));
    hear(&f, fds[2], "\r\n\r\n");
    assert_int_equal(quick, 0);
    end(&f, fds, 4);
}

/* The server can be freed with requests in the queue. */
CASE(test_the_end_answers_the_queued)
{
    struct fixture f;
    int fds[MANY];

    start(&f, fds, MANY);
    for (int i = 0; i < MANY; i++)
        ask(fds[i], "/slow");
    RUN_UNTIL(&f, !TAILQ_EMPTY(&f.server->queue));
    fixture_end(&f);
    assert_true(slow < MANY);
    for (int i = 0; i < MANY; i++) {
        char text[1024] = "";
        assert_true(recv(fds[i], text, sizeof(text) - 1, 0) > 0);
        assert_memory_equal(text, i < slow ? "HTTP/1.1 200" : "HTTP/1.1 500", 12);
        close(fds[i]);
    }
}

/* Requests queued together share one text, which is no older than the requests. */
CASE(test_who_waits_shares_an_answer)
{
    struct fixture f;
    int fds[MANY + 1];

    start(&f, fds, MANY + 1);
    ask(fds[0], "/slow");
    for (int i = 1; i < MANY; i++)
        ask(fds[i], "/list");
    ask(fds[MANY], "/quick");
    for (int i = 1; i < MANY; i++)
        hear(&f, fds[i], "slow 1 quick 0");
    hear(&f, fds[MANY], "quick");
    assert_int_equal(made, 1);
    ask(fds[1], "/list");
    hear(&f, fds[1], "slow 1 quick 1");
    assert_int_equal(made, 2);
    end(&f, fds, MANY + 1);
}

/* No request gets a text made before its arrival, even within one iteration. */
CASE(test_no_answer_is_older_than_its_question)
{
    struct fixture f;
    int fds[5];

    start(&f, fds, 5);
    ask(fds[0], "/list");
    ask(fds[1], "/quick");
    ask(fds[2], "/list");
    ask(fds[3], "/slow");
    ask(fds[4], "/list");
    hear(&f, fds[0], "slow 0 quick 0");
    hear(&f, fds[2], "slow 0 quick 1");
    hear(&f, fds[4], "slow 1 quick 1");
    assert_int_equal(made, 3);
    end(&f, fds, 5);
}

/* A slow client keeps its shared text. */
CASE(test_a_shared_text_outlives_its_maker)
{
    struct fixture f;
    int fds[4];

    start(&f, fds, 4);
    ask(fds[0], "/slow");
    ask(fds[1], "/list");
    ask(fds[2], "/list");
    ask(fds[3], "/metrics");
    RUN_UNTIL(&f, made == 1 && TAILQ_EMPTY(&f.server->queue));
    close(fds[1]);
    fds[1] = raw_connect(&f);
    ask(fds[1], "/list");
    hear(&f, fds[1], "slow 1 quick 0");
    hear(&f, fds[2], "slow 1 quick 0");
    hear(&f, fds[3], "process_open_fds");
    end(&f, fds, 4);
}
