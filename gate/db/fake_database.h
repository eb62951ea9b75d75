/*
 * For db_test.c: a server that speaks just enough of the protocol, and breaks the connection where
 * a real one could, with the loop and the pool around it. begin() and end() frame a test.
 */
#ifndef GATE_FAKE_DATABASE_H
#define GATE_FAKE_DATABASE_H

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/metrics.h"
#include "gate/db/db.h"
#include "gate/db/db_internal.h"
#include "net/loop_test.h"
#include "test/unit.h"

enum { MAX_CLIENTS = 32 };

/* Reaction of the server to a prepared statement. */
enum mood {
    MOOD_ANSWER,
    MOOD_FAIL,
    MOOD_RULE,
    MOOD_STALE,
    MOOD_FAIL_AT_COMMIT,
    MOOD_BREAK_OFF,
    MOOD_COMMIT_AND_BREAK_OFF,
    MOOD_SILENT,
    MOOD_SILENT_CHANGES,
    MOOD_SILENT_READS,
    MOOD_SLOW_CHANGES, /* a change is answered when a check arrives */
};

struct fixture {
    struct loop *loop;
    struct arena *arena;
    struct db_options options;
    struct db *db;
    uv_tcp_t listener;
    struct client *clients[MAX_CLIENTS];
    int n_clients;
    char dsn[128];
    enum mood mood;
    bool standby, read_only, tables; /* state of the server */
    int upgrades;
    int messages, break_at; /* the connection ends at this message, counted over all connections;
                             * 0 if never */
    int commits;
    /* the last answer */
    int answers, cancelled, failures;
    enum err err;
    bool yes;
    struct errinfo info;
    /* notifications */
    int begun, notes;
    char note[32];
    int ready_calls;
    bool was_ready;
};

struct client {
    uv_tcp_t tcp; /* first: the handle's address is the client's */
    struct fixture *f;
    char in[65536];
    size_t len;
    bool greeted, parsed, bound, listens, change, read;
    int asked; /* prepared statements that came this way */
    int bound_since_sync;
};

static const struct db_statement ask_ = {
    .name = "ask", .sql = "SELECT open FROM gates WHERE name = $1", .n_params = 1, .lane = DB_ASK};
static const struct db_statement change_ = {.name = "change",
                                            .sql = "UPDATE gates SET open = true WHERE name = $1",
                                            .n_params = 1,
                                            .lane = DB_CHANGE};
static const struct db_statement read_ = {
    .name = "read", .sql = "SELECT $1", .n_params = 1, .lane = DB_READ};
static const struct db_statement *const all_[] = {&ask_, &change_, &read_, NULL};
static const struct db_statement *const *const statements[] = {all_, NULL};

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void break_off(struct client *client)
{
    struct fixture *f = client->f;
    for (int i = 0; i < f->n_clients; i++)
        if (f->clients[i] == client)
            f->clients[i] = f->clients[--f->n_clients];
    uv_close((uv_handle_t *)&client->tcp, on_closed);
}

static void say(struct client *client, const void *bytes, size_t len)
{
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)len);
    uv_try_write((uv_stream_t *)&client->tcp, &buf, 1);
}

#define SAY(client, text) say((client), (text), sizeof(text) - 1)

#define DONE   "C\0\0\0\7OK\0"
#define IDLE   "Z\0\0\0\5I"
#define PARSED "1\0\0\0\4"
#define BOUND  "2\0\0\0\4"
#define NODATA "n\0\0\0\4"
#define YES                                                                                        \
    BOUND "T\0\0\0\x1d\0\1open\0\0\0\0\0\0\0\0\0\0\x10\0\1\xff\xff\xff\xff\0\0"                    \
          "D\0\0\0\x0b\0\1\0\0\0\1t"                                                               \
          "C\0\0\0\x0dSELECT 1\0"

/* One row of up to four texts of one letter; NULL is null. */
static void say_row(struct client *client, int n, const char *const *values)
{
    char row[128] = "T", data[64] = "D";
    size_t row_len = 7, data_len = 7;
    row[6] = data[6] = (char)n;
    for (int i = 0; i < n; i++) {
        static const char column[] = "c\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0";
        memcpy(row + row_len, column, sizeof(column));
        row_len += sizeof(column) + 1;
        memcpy(data + data_len, values[i] ? "\0\0\0\1" : "\xff\xff\xff\xff", 4);
        data_len += 4;
        if (values[i])
            data[data_len++] = *values[i];
    }
    row[4] = (char)(row_len - 1);
    data[4] = (char)(data_len - 1);
    say(client, row, row_len);
    say(client, data, data_len);
    SAY(client, DONE);
}

static void answer_script(struct client *client, const char *sql)
{
    struct fixture *f = client->f;
    if (strstr(sql, "pg_is_in_recovery")) {
        const char *const facts[] = {f->standby ? "t" : "f", f->read_only ? "t" : "f",
                                     f->tables ? "t" : "f"};
        say_row(client, 3, facts);
    } else if (strstr(sql, "FROM flagger_gate_schema")) {
        const char *const version[] = {f->tables ? "1" : "0", NULL};
        say_row(client, 2, version);
    } else {
        f->upgrades += strstr(sql, "the tables") != NULL;
        f->tables = true;
        SAY(client, DONE);
    }
    SAY(client, IDLE);
}

/* False if the connection was ended. */
static bool answer_prepared(struct client *client)
{
    struct fixture *f = client->f;
    switch (f->mood) {
    case MOOD_COMMIT_AND_BREAK_OFF:
        f->commits++;
        break_off(client);
        return false;
    case MOOD_BREAK_OFF:
        break_off(client);
        return false;
    case MOOD_SILENT:
        return true;
    case MOOD_SILENT_CHANGES:
        if (client->change)
            return true;
        break;
    case MOOD_SILENT_READS:
        if (client->read)
            return true;
        break;
    case MOOD_SLOW_CHANGES:
        if (client->change)
            return true;
        for (int i = 0; i < f->n_clients; i++)
            if (f->clients[i]->change)
                SAY(f->clients[i], YES IDLE);
        break;
    case MOOD_FAIL:
        SAY(client, "E\0\0\0\x1cSERROR\0C57014\0Mno luck\0\0" IDLE);
        return true;
    case MOOD_RULE:
        SAY(client, "E\0\0\0\x1dSERROR\0CFG409\0Mtoo late\0\0" IDLE);
        return true;
    case MOOD_STALE:
        SAY(client, "E\0\0\0\x1dSERROR\0C42P01\0Mno table\0\0" IDLE);
        f->mood = MOOD_ANSWER;
        return true;
    case MOOD_FAIL_AT_COMMIT:
        SAY(client, YES "E\0\0\0\x1cSERROR\0C40001\0Mno luck\0\0" IDLE);
        return true;
    case MOOD_ANSWER:
        break;
    }
    f->commits++;
    while (client->bound_since_sync-- > 0)
        SAY(client, YES);
    SAY(client, IDLE);
    return true;
}

/* One message; false if the connection was ended. */
static bool take(struct client *client, char type, const char *body)
{
    struct fixture *f = client->f;
    if (++f->messages == f->break_at) {
        break_off(client);
        return false;
    }
    switch (type) {
    case 'Q':
        answer_script(client, body);
        return true;
    case 'P': /* name, text */
        client->parsed = true;
        client->bound = false;
        client->listens = client->listens || strstr(body + strlen(body) + 1, "LISTEN");
        return true;
    case 'B': /* portal, statement */
        client->bound = true;
        client->bound_since_sync++;
        if (!client->parsed) {
            client->change = strcmp(body + strlen(body) + 1, "change") == 0;
            client->read = strcmp(body + strlen(body) + 1, "read") == 0;
        }
        return true;
    case 'S':
        if (!client->parsed) {
            client->asked++;
            bool goes_on = answer_prepared(client);
            if (goes_on)
                client->bound_since_sync = 0;
            return goes_on;
        }
        client->parsed = false;
        client->bound_since_sync = 0;
        if (client->bound)
            SAY(client, PARSED BOUND NODATA DONE IDLE);
        else
            SAY(client, PARSED IDLE);
        return true;
    default:
        return true;
    }
}

static uint32_t size_at(const char *at)
{
    uint32_t size;
    memcpy(&size, at, sizeof(size));
    return ntohl(size);
}

static bool greet(struct client *client)
{
    struct fixture *f = client->f;
    client->greeted = true;
    if (++f->messages == f->break_at) {
        break_off(client);
        return false;
    }
    SAY(client, "R\0\0\0\x08\0\0\0\0" IDLE);
    return true;
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
        char message[4096];
        assert_true(whole < sizeof(message));
        memcpy(message, client->in, whole);
        message[whole] = '\0';
        memmove(client->in, client->in + whole, client->len - whole);
        client->len -= whole;
        if (client->greeted ? !take(client, message[0], message + 5) : !greet(client))
            return;
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct client *client = (struct client *)handle;
    *buf = uv_buf_init(client->in + client->len, (unsigned)(sizeof(client->in) - client->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct client *client = (struct client *)stream;
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
    f->clients[f->n_clients++] = client;
    uv_read_start((uv_stream_t *)&client->tcp, on_alloc, on_read);
}

static void on_drain(void *arg)
{
    struct fixture *f = arg;
    db_close(f->db);
    uv_close((uv_handle_t *)&f->listener, NULL);
    while (f->n_clients)
        break_off(f->clients[0]);
}

static void on_note(void *arg, const char *payload)
{
    struct fixture *f = arg;
    if (payload) {
        f->notes++;
        snprintf(f->note, sizeof(f->note), "%s", payload);
    } else {
        f->begun++;
    }
}

static void on_ready(void *arg, bool ready)
{
    struct fixture *f = arg;
    f->ready_calls++;
    f->was_ready = ready;
}

static void begin(struct fixture *f)
{
    struct sockaddr_in address;
    int len = sizeof(address);
    struct errinfo info = {0};
    *f = (struct fixture){.loop = loop_new(10000), .arena = unit_arena};
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
    f->options = (struct db_options){.schema = schema_new(f->arena, "-- version 1\nthe tables"),
                                     .statements = statements,
                                     .connections = 2};
    assert_int_equal(db_source_new(f->dsn, NULL, &f->options.source, &info), ERR_OK);
    f->db = db_new(f->loop, &f->options);
    db_listen(f->db, "gate", on_note, f);
    db_watch(f->db, on_ready, f);
    loop_on_drain(f->loop, on_drain, f);
}

static void end(struct fixture *f)
{
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    db_free(f->db);
    db_source_free(f->options.source);
    loop_free(f->loop);
    metrics_reset();
}

static int set_up(void **state)
{
    static struct fixture fixture;
    begin(&fixture);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    end(*state);
    return 0;
}

#endif
