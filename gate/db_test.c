/* db: against a server of this test that speaks just enough of the protocol, and breaks off where a
 * real one could. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gate/db.h"

enum { WATCHDOG_MS = 20000, MAX_CLIENTS = 16 };

/* What the server does when a query has been read whole. */
enum mood { MOOD_ANSWER, MOOD_FAIL, MOOD_BREAK_OFF, MOOD_COMMIT_AND_BREAK_OFF, MOOD_SILENT };

struct fixture {
    struct loop *loop;
    struct db *db;
    struct timer *watchdog;
    uv_tcp_t listener;
    uv_tcp_t *clients[MAX_CLIENTS];
    int n_clients;
    char dsn[128];
    enum mood mood;
    bool timed_out;
    int commits;
    /* the last answer */
    int answers;
    enum err err;
    bool open;
    char text[512];
};

struct client {
    uv_tcp_t tcp; /* first: the handle's address is the client's */
    struct fixture *f;
    char in[65536];
    size_t len;
    bool greeted;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void break_off(struct client *client)
{
    struct fixture *f = client->f;
    for (int i = 0; i < f->n_clients; i++)
        if (f->clients[i] == &client->tcp)
            f->clients[i] = f->clients[--f->n_clients];
    uv_close((uv_handle_t *)&client->tcp, on_closed);
}

static void say(struct client *client, const void *bytes, size_t len)
{
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)len);
    uv_try_write((uv_stream_t *)&client->tcp, &buf, 1);
}

#define SAY(client, text) say((client), (text), sizeof(text) - 1)

static void answer_query(struct client *client)
{
    struct fixture *f = client->f;
    switch (f->mood) {
    case MOOD_COMMIT_AND_BREAK_OFF:
        f->commits++;
        break_off(client);
        return;
    case MOOD_BREAK_OFF:
        break_off(client);
        return;
    case MOOD_SILENT:
        return;
    case MOOD_FAIL:
        SAY(client, "E\0\0\0\x1cSERROR\0C57014\0Mno luck\0\0"
                    "Z\0\0\0\5I");
        return;
    case MOOD_ANSWER:
        f->commits++;
        SAY(client, "1\0\0\0\4"
                    "2\0\0\0\4"
                    "T\0\0\0\x1d\0\1open\0\0\0\0\0\0\0\0\0\0\x10\0\1\xff\xff\xff\xff\0\0"
                    "D\0\0\0\x0b\0\1\0\0\0\1t"
                    "C\0\0\0\x0dSELECT 1\0"
                    "Z\0\0\0\5I");
        return;
    }
}

/* One message; false when it has broken off. */
static bool take(struct client *client, char type)
{
    if (type == 'Q') /* the schema */
        SAY(client, "C\0\0\0\7OK\0"
                    "Z\0\0\0\5I");
    else if (type == 'S') {
        enum mood mood = client->f->mood;
        answer_query(client);
        return mood != MOOD_BREAK_OFF && mood != MOOD_COMMIT_AND_BREAK_OFF;
    }
    return true;
}

static uint32_t size_at(const char *at)
{
    uint32_t size;
    memcpy(&size, at, sizeof(size));
    return ntohl(size);
}

static void take_all(struct client *client)
{
    for (;;) {
        size_t head = client->greeted ? 1 : 0;
        if (client->len < head + 4)
            return;
        size_t whole = head + size_at(client->in + head);
        if (client->len < whole)
            return;
        char type = client->in[0];
        memmove(client->in, client->in + whole, client->len - whole);
        client->len -= whole;
        if (!client->greeted) {
            client->greeted = true;
            SAY(client, "R\0\0\0\x08\0\0\0\0"
                        "Z\0\0\0\5I");
        } else if (!take(client, type)) {
            return;
        }
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct client *client = (struct client *)handle;
    (void)suggested;
    *buf = uv_buf_init(client->in + client->len, (unsigned)(sizeof(client->in) - client->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct client *client = (struct client *)stream;
    (void)buf;
    if (n < 0) {
        break_off(client);
        return;
    }
    client->len += (size_t)n;
    take_all(client);
}

static void on_client(uv_stream_t *listener, int status)
{
    struct fixture *f = listener->data;
    struct client *client = calloc(1, sizeof(*client));
    assert_non_null(client);
    client->f = f;
    assert_int_equal(status, 0);
    assert_int_equal(uv_tcp_init(loop_uv(f->loop), &client->tcp), 0);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&client->tcp), 0);
    assert_true(f->n_clients < MAX_CLIENTS);
    f->clients[f->n_clients++] = &client->tcp;
    uv_read_start((uv_stream_t *)&client->tcp, on_alloc, on_read);
}

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->watchdog = NULL;
    f->timed_out = true;
    loop_drain(f->loop);
}

static void on_drain(void *arg)
{
    struct fixture *f = arg;
    timer_stop(f->watchdog);
    db_close(f->db);
    uv_close((uv_handle_t *)&f->listener, NULL);
    while (f->n_clients)
        break_off((struct client *)f->clients[0]);
}

#define RUN_UNTIL(f, condition)                                                                    \
    do {                                                                                           \
        while (!(condition) && !(f)->timed_out)                                                    \
            uv_run(loop_uv((f)->loop), UV_RUN_ONCE);                                               \
        assert_false((f)->timed_out);                                                              \
    } while (0)

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.loop = loop_new(10000)};
    struct fixture *f = &fixture;
    struct sockaddr_in address;
    int len = sizeof(address);
    log_set_level("error");
    uv_ip4_addr("127.0.0.1", 0, &address);
    assert_int_equal(uv_tcp_init(loop_uv(f->loop), &f->listener), 0);
    f->listener.data = f;
    assert_int_equal(uv_tcp_bind(&f->listener, (struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&f->listener, 16, on_client), 0);
    uv_tcp_getsockname(&f->listener, (struct sockaddr *)&address, &len);
    snprintf(f->dsn, sizeof(f->dsn),
             "host=127.0.0.1 port=%d user=u dbname=d sslmode=disable gssencmode=disable",
             ntohs(address.sin_port));
    f->db = db_new(f->loop, f->dsn, "SELECT 1");
    f->watchdog = timer_start(f->loop, WATCHDOG_MS, 0, on_watchdog, f);
    loop_on_drain(f->loop, on_drain, f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    db_free(f->db);
    loop_free(f->loop);
    return 0;
}

static void on_gate(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    struct fixture *f = arg;
    f->answers++;
    f->err = err;
    f->open = result && strcmp(PQgetvalue(result, 0, 0), "t") == 0;
    snprintf(f->text, sizeof(f->text), "%s", info->text);
}

static void open_gate(struct fixture *f)
{
    int before = f->answers;
    db_query(f->db, "SELECT true", 0, NULL, on_gate, f);
    assert_int_equal(f->answers, before); /* never before it has returned */
}

static void a_gate_is_asked_for_and_answered(void **state)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    open_gate(f);
    db_query(f->db, "SELECT true", 0, NULL, on_gate, f);
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->err, ERR_OK);
    assert_true(f->open);
}

static void before_it_is_connected_it_refuses(void **state)
{
    struct fixture *f = *state;
    open_gate(f);
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->err, ERR_RETRY);
    assert_false(f->open);
    assert_true(strlen(f->text) > 0);
}

static void a_connection_lost_before_the_reply_is_no_yes(void **state)
{
    static const enum mood moods[] = {MOOD_BREAK_OFF, MOOD_COMMIT_AND_BREAK_OFF};
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        RUN_UNTIL(f, db_ready(f->db));
        f->mood = moods[i];
        f->answers = 0;
        for (int n = 0; n < 5; n++)
            open_gate(f);
        RUN_UNTIL(f, f->answers == 5);
        assert_int_equal(f->err, ERR_RETRY);
        assert_false(f->open);
        assert_false(db_ready(f->db));
        assert_non_null(strstr(db_trouble(f->db), "database"));
        f->mood = MOOD_ANSWER;
        RUN_UNTIL(f, db_ready(f->db));
        open_gate(f);
        RUN_UNTIL(f, f->answers == 6);
        assert_int_equal(f->err, ERR_OK);
    }
    assert_int_equal(f->commits, 3);
}

static void a_failed_statement_fails_alone(void **state)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->mood = MOOD_FAIL;
    open_gate(f);
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->err, ERR_RETRY);
    assert_non_null(strstr(f->text, "no luck"));
    assert_true(db_ready(f->db));
    f->mood = MOOD_ANSWER;
    open_gate(f);
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->err, ERR_OK);
}

static void too_many_at_once_are_refused(void **state)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->mood = MOOD_SILENT;
    for (int i = 0; i < DB_MAX_IN_FLIGHT; i++)
        open_gate(f);
    open_gate(f);
    RUN_UNTIL(f, f->answers == 1);
    assert_non_null(strstr(f->text, "slow"));
    /* The end answers all the others. */
    loop_drain(f->loop);
    RUN_UNTIL(f, f->answers == DB_MAX_IN_FLIGHT + 1);
    assert_int_equal(f->err, ERR_CANCELLED);
}

static void a_server_that_does_not_answer_is_left(void **state)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->mood = MOOD_SILENT;
    open_gate(f);
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->err, ERR_RETRY);
    assert_non_null(strstr(f->text, "no answer"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_gate_is_asked_for_and_answered),
        CASE(before_it_is_connected_it_refuses),
        CASE(a_connection_lost_before_the_reply_is_no_yes),
        CASE(a_failed_statement_fails_alone),
        CASE(too_many_at_once_are_refused),
        CASE(a_server_that_does_not_answer_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
