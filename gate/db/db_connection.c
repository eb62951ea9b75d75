#include "gate/db/db_connection_internal.h"

#include <assert.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "gate/db/db_error.h"
#include "gate/db/db_source.h"
#include "gate/db/resolve.h"

enum { MAX_WAIT_MS = 2000, IDLE_MS = 10000 };

const char *const db_state_names[DB_STATES] = {"down", "connecting", "preparing", "ready"};

static void on_poll(uv_poll_t *poll, int status, int events);
static void connect_now(void *arg);

void connection_set_state(struct db_connection *c, enum db_state state)
{
    static const unsigned allowed[] = {
        [DB_DOWN] = 1u << DB_CONNECTING | 1u << DB_DOWN,
        [DB_CONNECTING] = 1u << DB_PREPARING | 1u << DB_DOWN,
        [DB_PREPARING] = 1u << DB_READY | 1u << DB_DOWN,
        [DB_READY] = 1u << DB_DOWN,
    };
    assert(allowed[c->state] & 1u << state);
    if (c->state != state)
        log_debug("database_state", NULL, "a connection goes on",
                  LOG_STR("from", db_state_names[c->state]), LOG_STR("to", db_state_names[state]));
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

/* libpq may change its socket at every step of connecting: look again each time. */
static void poll_for(struct db_connection *c, int events)
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
        uv_poll_start(c->poll, events, on_poll);
    c->poll_events = events;
}

void connection_flush(struct db_connection *c)
{
    int more = PQflush(c->conn);
    if (more < 0)
        connection_lose(c, PQerrorMessage(c->conn));
    else
        poll_for(c, UV_READABLE | (more > 0 ? UV_WRITABLE : 0));
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

static void turn_stop(struct db_connection *c)
{
    if (!c->turn)
        return;
    uv_close((uv_handle_t *)c->turn, on_handle_closed);
    c->turn = NULL;
    c->unsynced = false;
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

bool db_connection_run(struct db_connection *c, const struct db_statement *statement,
                       const char *const *params, db_done_fn done, void *arg)
{
    assert(db_connection_takes(c));
    int ok =
        PQsendQueryPrepared(c->conn, statement->name, statement->n_params, params, NULL, NULL, 0);
    return connection_sent(c, ok, statement->name, done, arg);
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

/* A callback may close the connection: then conn is NULL. */
static void read_answers(struct db_connection *c)
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

static void on_ignored(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    (void)arg;
    (void)err;
    (void)info;
    (void)result;
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

/* --- connecting */

static void forget(struct db_connection *c)
{
    poll_stop(c);
    turn_stop(c);
    resolve_cancel(c->resolve);
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
    forget(c);
    c->options.events->lost(c->options.arg, &info, c->wait_ms);
    c->retry = timer_start(c->loop, c->wait_ms, 0, connect_now, c);
    c->wait_ms = c->wait_ms * 2 < MAX_WAIT_MS ? c->wait_ms * 2 : MAX_WAIT_MS;
    db_queue_fail_all(&c->queue, ERR_RETRY, &info);
}

/* What the server says beside its answers, as that it is shut down. */
static void on_notice(void *arg, const char *text)
{
    struct errinfo info = {0};
    (void)arg;
    err_set(&info, ERR_OK, "%s", text);
    db_error_one_line(info.text);
    log_debug("database_notice", NULL, info.text);
}

static void on_resolved(void *arg, enum err err, const struct errinfo *info,
                        const struct resolved *resolved)
{
    struct db_connection *c = arg;
    c->resolve = NULL;
    if (err != ERR_OK) {
        connection_lose(c, info->text);
        return;
    }
    /* What follows dbname, which is the whole connection string, overrides it. */
    const char *const keys[] = {"fallback_application_name",
                                "client_encoding",
                                "dbname",
                                resolved->host ? "host" : NULL,
                                "hostaddr",
                                "port",
                                NULL};
    const char *const values[] = {"flagger-gate",     "UTF8",         c->dsn, resolved->host,
                                  resolved->hostaddr, resolved->port, NULL};
    c->conn = PQconnectStartParams(keys, values, 1);
    if (!c->conn || PQstatus(c->conn) == CONNECTION_BAD) {
        connection_lose(c, c->conn ? PQerrorMessage(c->conn) : "out of memory");
        return;
    }
    PQsetNoticeProcessor(c->conn, on_notice, NULL);
    poll_for(c, UV_WRITABLE);
}

static void connect_now(void *arg)
{
    struct db_connection *c = arg;
    c->retry = NULL;
    c->generation = db_source_look(c->options.db->source);
    c->dsn = heap_strdup(db_source_dsn(c->options.db->source));
    connection_set_state(c, DB_CONNECTING);
    c->resolve = resolve_start(c->loop, c->dsn, c->silent, on_resolved, c);
}

static void connect_step(struct db_connection *c)
{
    switch (PQconnectPoll(c->conn)) {
    case PGRES_POLLING_READING:
        poll_for(c, UV_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        poll_for(c, UV_WRITABLE);
        break;
    case PGRES_POLLING_OK:
        db_prepare_start(c);
        break;
    default:
        connection_lose(c, PQerrorMessage(c->conn));
        break;
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct db_connection *c = poll->data;
    if (!c)
        return;
    (void)status; /* of a broken socket libpq says better what is wrong */
    if (c->state == DB_CONNECTING)
        connect_step(c);
    else if (c->state == DB_PREPARING && c->step != STEP_STATEMENTS)
        db_prepare_step(c);
    else
        read_answers(c);
}

/* --- the owner's side */

struct db_connection *db_connection_new(struct loop *loop,
                                        const struct db_connection_options *options)
{
    struct db_connection *c = heap_alloc(sizeof(*c));
    *c = (struct db_connection){
        .loop = loop, .options = *options, .wait_ms = CONNECTION_FIRST_WAIT_MS};
    db_queue_init(&c->queue);
    c->retry = timer_start(loop, 0, 0, connect_now, c);
    return c;
}

void db_connection_close(struct db_connection *c, enum err err, const struct errinfo *info)
{
    forget(c);
    db_queue_fail_all(&c->queue, err, info);
}

void db_connection_free(struct db_connection *c)
{
    struct errinfo info = {0};
    if (!c)
        return;
    err_set(&info, ERR_CANCELLED, "the gate is shutting down");
    db_connection_close(c, ERR_CANCELLED, &info);
    free(c);
}

enum db_state db_connection_state(const struct db_connection *c)
{
    return c->state;
}

bool db_connection_takes(const struct db_connection *c)
{
    return c->state == DB_READY && !c->leaving && !c->failing;
}

int db_connection_in_flight(const struct db_connection *c)
{
    return c->queue.count;
}

void db_connection_look(const struct db_connection *c, struct db_connection_look *out)
{
    *out = (struct db_connection_look){
        .state = db_state_names[c->state],
        .since_ms = c->since_ms,
        .in_flight = c->queue.count,
        .oldest_ms = c->queue.first ? c->queue.first->sent_at : 0,
        .leaving = c->leaving,
    };
}

unsigned db_connection_generation(const struct db_connection *c)
{
    return c->state == DB_READY ? c->generation : 0;
}

static void on_listening(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    struct db_connection *c = arg;
    (void)result;
    if (err == ERR_OK)
        c->options.events->notified(c->options.arg, NULL, NULL);
    else if (c->conn)
        connection_lose_soon(c, info->text);
}

void db_connection_listen(struct db_connection *c, const char *channel)
{
    if (db_connection_takes(c))
        (void)connection_send_listen(c, channel, on_listening);
}

/* What waits longest is the first. The connection goes with it: a change that was given up must not
 * stay in the pipeline and happen much later. */
static void check_ready(struct db_connection *c, int64_t now)
{
    if (c->queue.first && now - c->queue.first->sent_at > DB_QUERY_TIMEOUT_MS)
        connection_lose(c, "no answer to a query in time");
    else if (!c->queue.first && now - c->answered_ms > IDLE_MS && db_connection_takes(c))
        (void)connection_send_text(c, "SELECT 1", on_ignored); /* is it still there? */
}

void db_connection_check(struct db_connection *c)
{
    int64_t now = clock_monotonic_ms();
    int64_t limit = c->state == DB_PREPARING && c->step == STEP_UPGRADE ? CONNECTION_UPGRADE_MS
                                                                        : DB_CONNECT_TIMEOUT_MS;
    if (c->state == DB_READY) {
        check_ready(c, now);
    } else if (c->state != DB_DOWN && now - c->since_ms > limit) {
        c->silent = (c->silent + 1) % 1000;
        connection_lose(c, "no answer while connecting");
    }
}
