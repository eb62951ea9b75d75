/*
 * The wire of a connection: its state, its socket, the pipeline on it, and the loss of it.
 */
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "gate/db/db_connection_internal.h"
#include "gate/db/db_error.h"
#include "gate/db/resolve.h"

enum { MAX_WAIT_MS = 2000 };

static const struct machine_state states[DB_STATES] = {
    [DB_DOWN] = {.name = "down", .next = 1u << DB_CONNECTING},
    [DB_CONNECTING] = {.name = "connecting", .next = 1u << DB_PREPARING | 1u << DB_DOWN},
    [DB_PREPARING] = {.name = "preparing", .next = 1u << DB_READY | 1u << DB_DOWN},
    [DB_READY] = {.name = "ready", .next = 1u << DB_DOWN},
};
const struct machine db_machine = {MACHINE_STATES(states), .event = "database_state"};

void connection_set_state(struct db_connection *c, enum db_state state)
{
    if (c->state != DB_DOWN || state != DB_DOWN) /* what is down may be dropped once more */
        machine_step(&db_machine, c->state, state, NULL, "a connection goes on");
    c->state = state;
    c->since_ms = clock_monotonic_ms();
    c->options.events->changed(c->options.arg);
}

/* --- waiting for the socket */

static void on_handle_closed(uv_handle_t *handle)
{
    free(handle);
}

static void poll_stop(struct db_connection *c)
{
    if (!c->poll)
        return;
    uv_poll_stop(c->poll);
    c->poll->data = NULL;
    uv_close((uv_handle_t *)c->poll, on_handle_closed);
    c->poll = NULL;
}

static void on_failing(void *arg)
{
    struct db_connection *c = arg;
    c->failing = NULL;
    connection_lose(c, c->why.text);
}

void connection_lose_soon(struct db_connection *c, const char *why)
{
    if (c->failing)
        return;
    err_set(&c->why, ERR_RETRY, "%s", why);
    c->failing = timer_start(c->loop, 0, 0, on_failing, c);
    c->options.events->changed(c->options.arg);
}

void connection_poll(struct db_connection *c, int events)
{
    int fd = PQsocket(c->conn);
    if (c->poll && c->poll_fd != fd)
        poll_stop(c);
    if (fd < 0) {
        connection_lose_soon(c, PQerrorMessage(c->conn));
        return;
    }
    if (!c->poll) {
        c->poll = heap_alloc(sizeof(*c->poll));
        c->poll_fd = fd;
        int failed = uv_poll_init(loop_uv(c->loop), c->poll, fd);
        if (failed) {
            free(c->poll);
            c->poll = NULL;
            connection_lose_soon(c, uv_strerror(failed));
            return;
        }
        c->poll->data = c;
        c->poll_events = 0;
    }
    /* each start costs a system call */
    if (c->poll_events != events)
        uv_poll_start(c->poll, events, c->on_poll);
    c->poll_events = events;
}

void connection_flush(struct db_connection *c)
{
    int more = PQflush(c->conn);
    if (more < 0)
        connection_lose(c, PQerrorMessage(c->conn));
    else
        connection_poll(c, UV_READABLE | (more > 0 ? UV_WRITABLE : 0));
}

/* What TLS has decrypted and libpq had no room for is not on the socket any more: take all. */
bool connection_consume(struct db_connection *c)
{
    SSL *ssl = PQsslStruct(c->conn, "OpenSSL");
    do {
        if (!PQconsumeInput(c->conn))
            return false;
    } while (ssl && SSL_pending(ssl) > 0);
    return true;
}

/* --- the end of it */

static void turn_stop(struct db_connection *c)
{
    if (!c->turn)
        return;
    uv_close((uv_handle_t *)c->turn, on_handle_closed);
    c->turn = NULL;
    c->unsynced = false;
}

void connection_drop(struct db_connection *c)
{
    poll_stop(c);
    turn_stop(c);
    resolve_free(c->resolve);
    c->resolve = NULL;
    timer_stop(c->failing);
    c->failing = NULL;
    timer_stop(c->retry);
    c->retry = NULL;
    PQclear(c->last);
    c->last = NULL;
    PQfinish(c->conn);
    c->conn = NULL;
    c->leaving = NULL;
    free(c->dsn);
    c->dsn = NULL;
    connection_set_state(c, DB_DOWN);
}

void connection_lose(struct db_connection *c, const char *why)
{
    struct errinfo info = {0};
    err_set(&info, ERR_RETRY, "the database cannot be used: %s", why && *why ? why : "no answer");
    info.status = 503;
    db_error_one_line(info.text);
    connection_drop(c);
    c->options.events->lost(c->options.arg, &info, c->wait_ms);
    c->retry = timer_start(c->loop, c->wait_ms, 0, c->connect, c);
    c->wait_ms = c->wait_ms * 2 < MAX_WAIT_MS ? c->wait_ms * 2 : MAX_WAIT_MS;
    db_queue_fail_all(&c->queue, ERR_RETRY, &info);
}

/* --- the pipeline
 *
 * What is sent in one turn of the loop leaves together at its end. A change is a transaction of its
 * own, committed by a sync behind it. Questions change nothing: one sync behind all of a turn saves
 * the server and us half of the work, and each is answered when its result is there. The price is
 * that one which fails takes those behind it in its turn along: they have not been asked, and say
 * so.
 */

static bool is_batched(const struct db_connection *c)
{
    return c->state == DB_READY && c->options.lane == DB_ASK && !c->options.channels;
}

static void on_turn(uv_prepare_t *turn)
{
    struct db_connection *c = turn->data;
    uv_prepare_stop(turn);
    if (c->unsynced && !PQpipelineSync(c->conn)) {
        connection_lose(c, PQerrorMessage(c->conn));
        return;
    }
    c->unsynced = false;
    connection_flush(c);
}

static void turn_start(struct db_connection *c)
{
    if (!c->turn) {
        c->turn = heap_alloc(sizeof(*c->turn));
        uv_prepare_init(loop_uv(c->loop), c->turn);
        uv_unref((uv_handle_t *)c->turn); /* the poll is what keeps the loop alive */
        c->turn->data = c;
    }
    uv_prepare_start(c->turn, on_turn);
}

bool connection_sent(struct db_connection *c, int ok, const char *name, db_done_fn done, void *arg)
{
    bool batched = is_batched(c);
    if (!ok || (!batched && !PQpipelineSync(c->conn))) {
        connection_lose_soon(c, PQerrorMessage(c->conn));
        return false;
    }
    c->unsynced = c->unsynced || batched;
    db_queue_push(&c->queue, name, done, arg);
    turn_start(c); /* not here: a callback must not be called before we have returned */
    return true;
}

static void finish_first(struct db_connection *c)
{
    char sqlstate[6];
    c->answered_ms = clock_monotonic_ms();
    const char *failed = db_queue_finish_first(&c->queue, sqlstate);
    if (db_error_wants_reconnect(failed) && c->state == DB_READY && !c->leaving) {
        c->leaving = "what was prepared does not fit the tables any more";
        c->options.events->changed(c->options.arg);
    }
}

/* The next of the pipeline; NULL ends the results of a query. */
static void take_result(struct db_connection *c, PGresult *result)
{
    bool synced = result && PQresultStatus(result) == PGRES_PIPELINE_SYNC;
    if (result && !synced) {
        db_queue_take_result(&c->queue, result);
        return;
    }
    PQclear(result);
    if (is_batched(c) ? !synced && c->queue.first->result : synced)
        finish_first(c);
}

static void read_notices(struct db_connection *c)
{
    PGnotify *notify;
    while (c->conn && (notify = PQnotifies(c->conn))) {
        c->options.events->notified(c->options.arg, notify->relname, notify->extra);
        PQfreemem(notify);
    }
}

static bool is_read_only(struct db_connection *c)
{
    const char *value = PQparameterStatus(c->conn, "default_transaction_read_only");
    return value && strcmp(value, "on") == 0;
}

void connection_read_answers(struct db_connection *c)
{
    if (!connection_consume(c)) {
        connection_lose(c, PQerrorMessage(c->conn));
        return;
    }
    int nulls = 0; /* two in a row: nothing more has come */
    while (c->conn && c->queue.first && nulls < 2 && !PQisBusy(c->conn)) {
        PGresult *result = PQgetResult(c->conn);
        nulls = result ? 0 : nulls + 1;
        take_result(c, result);
    }
    read_notices(c);
    if (!c->conn)
        return;
    if (c->state == DB_READY && !c->leaving && is_read_only(c)) {
        c->leaving = "it has become read-only";
        c->options.events->changed(c->options.arg);
    }
    if (c->leaving && !c->queue.first)
        connection_lose(c, c->leaving);
    else
        connection_flush(c);
}

bool connection_send_text(struct db_connection *c, const char *sql, db_done_fn done)
{
    return connection_sent(c, PQsendQueryParams(c->conn, sql, 0, NULL, NULL, NULL, NULL, 0), NULL,
                           done, c);
}

bool connection_send_listen(struct db_connection *c, const char *channel, db_done_fn done)
{
    char sql[100];
    snprintf(sql, sizeof(sql), "LISTEN \"%.63s\"", channel);
    return connection_send_text(c, sql, done);
}
