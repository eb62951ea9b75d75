#include "gate/db.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "gate/resolve.h"

enum { FIRST_WAIT_MS = 100, MAX_WAIT_MS = 2000, CHECK_MS = 500 };

enum db_state { DB_DOWN, DB_CONNECTING, DB_PREPARING, DB_READY };

/* A query in flight, in the order it was sent. */
struct query {
    struct query *next;
    db_done_fn done;
    void *arg;
    int64_t sent_at;
    bool answered; /* its result has come; the pipeline's sync has not yet */
    PGresult *result;
};

struct db {
    struct loop *loop;
    const char *dsn, *schema_sql;
    enum db_state state;
    struct resolve *resolve; /* the first part of CONNECTING */
    PGconn *conn;
    uv_poll_t *poll; /* on the heap: it outlives the connection until its close callback */
    int poll_fd;
    struct timer *retry, *check;
    int64_t wait_ms, since_ms; /* back-off; when this state began */
    struct query *first, **last;
    int in_flight;
    int silent; /* connections that were never answered */
    /* Answered without a database: their callbacks wait for the loop. */
    struct query *refused;
    struct timer *refuse_timer;
    struct errinfo trouble;
};

static void on_poll(uv_poll_t *poll, int status, int events);
static void connect_now(void *arg);
static void lose(struct db *db, const char *why);

static void db_set_state(struct db *db, enum db_state state)
{
    static const char *const names[] = {"down", "connecting", "preparing", "ready"};
    static const unsigned allowed[] = {
        [DB_DOWN] = 1u << DB_CONNECTING | 1u << DB_DOWN,
        [DB_CONNECTING] = 1u << DB_PREPARING | 1u << DB_DOWN,
        [DB_PREPARING] = 1u << DB_READY | 1u << DB_DOWN,
        [DB_READY] = 1u << DB_DOWN,
    };
    assert(allowed[db->state] & 1u << state);
    if (db->state != state)
        log_debug("database_state", NULL, "the connection goes on",
                  LOG_STR("from", names[db->state]), LOG_STR("to", names[state]));
    db->state = state;
    db->since_ms = clock_monotonic_ms();
}

/* --- waiting for the socket
 * --------------------------------------------------------------------------------- */

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

static void poll_stop(struct db *db)
{
    if (!db->poll)
        return;
    uv_poll_stop(db->poll);
    db->poll->data = NULL;
    uv_close((uv_handle_t *)db->poll, on_poll_closed);
    db->poll = NULL;
}

/* libpq may change its socket at every step of connecting: look again each time. */
static void poll_for(struct db *db, int events)
{
    int fd = PQsocket(db->conn);
    if (db->poll && db->poll_fd != fd)
        poll_stop(db);
    if (!db->poll) {
        db->poll = heap_alloc(sizeof(*db->poll));
        db->poll_fd = fd;
        int failed = uv_poll_init(loop_uv(db->loop), db->poll, fd);
        if (failed) {
            free(db->poll);
            db->poll = NULL;
            lose(db, uv_strerror(failed));
            return;
        }
        db->poll->data = db;
    }
    uv_poll_start(db->poll, events, on_poll);
}

/* --- queries
 * ------------------------------------------------------------------------------------------------
 */

static struct query *pop(struct db *db)
{
    struct query *query = db->first;
    db->first = query->next;
    if (!db->first)
        db->last = &db->first;
    db->in_flight--;
    return query;
}

static void answer(struct query *query, enum err err, const struct errinfo *info)
{
    query->done(query->arg, err, info, err == ERR_OK ? query->result : NULL);
    PQclear(query->result);
    free(query);
}

static void fail_all(struct db *db, enum err err, const struct errinfo *info)
{
    /* Taken off first: a callback may ask again, and is refused then. */
    struct query *list = db->first;
    db->first = NULL;
    db->last = &db->first;
    db->in_flight = 0;
    while (list) {
        struct query *next = list->next;
        answer(list, err, info);
        list = next;
    }
}

static void on_refuse(void *arg)
{
    struct db *db = arg;
    struct errinfo info = db->trouble;
    struct query *list = db->refused;
    if (!info.text[0]) /* it has come back meanwhile */
        err_set(&info, ERR_RETRY, "the database was not connected, ask again");
    db->refuse_timer = NULL;
    db->refused = NULL;
    while (list) {
        struct query *next = list->next;
        answer(list, ERR_RETRY, &info);
        list = next;
    }
}

static void refuse(struct db *db, struct query *query)
{
    query->next = db->refused;
    db->refused = query;
    if (!db->refuse_timer)
        db->refuse_timer = timer_start(db->loop, 0, 0, on_refuse, db);
}

static void flush(struct db *db)
{
    int more = PQflush(db->conn);
    if (more < 0)
        lose(db, PQerrorMessage(db->conn));
    else
        poll_for(db, UV_READABLE | (more > 0 ? UV_WRITABLE : 0));
}

void db_query(struct db *db, const char *sql, int n_params, const char *const *params,
              db_done_fn done, void *arg)
{
    struct query *query = heap_alloc(sizeof(*query));
    *query = (struct query){.done = done, .arg = arg, .sent_at = clock_monotonic_ms()};
    if (db->state != DB_READY || db->in_flight >= DB_MAX_IN_FLIGHT) {
        if (db->state == DB_READY)
            err_set(&db->trouble, ERR_RETRY, "the database is slow: %d queries wait already",
                    db->in_flight);
        refuse(db, query);
        return;
    }
    if (!PQsendQueryParams(db->conn, sql, n_params, NULL, params, NULL, NULL, 0) ||
        !PQpipelineSync(db->conn)) {
        lose(db, PQerrorMessage(db->conn));
        refuse(db, query);
        return;
    }
    *db->last = query;
    db->last = &query->next;
    db->in_flight++;
    /* Sent from the loop: queries of one turn leave together, and a broken connection is not
     * noticed in here. */
    poll_for(db, UV_READABLE | UV_WRITABLE);
}

void db_run(struct db *db, const struct db_statement *statement, const char *const *params,
            db_done_fn done, void *arg)
{
    db_query(db, statement->sql, statement->n_params, params, done, arg);
}

static void one_line(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

static void finish_first(struct db *db)
{
    struct query *query = pop(db);
    struct errinfo info = {0};
    enum err err = ERR_OK;
    ExecStatusType status = PQresultStatus(query->result);
    const char *state = PQresultErrorField(query->result, PG_DIAG_SQLSTATE);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        const char *text = PQresultErrorField(query->result, PG_DIAG_MESSAGE_PRIMARY);
        if (state && strncmp(state, "FG", 2) == 0) {
            err = err_set(&info, ERR_INVALID, "%s", text);
            info.status = (int)strtol(state + 2, NULL, 10);
        } else {
            err = err_set(&info, ERR_RETRY, "database: %s", text ? text : "no result");
            info.status = 503;
        }
        one_line(info.text);
    }
    answer(query, err, &info);
}

/* One result of the pipeline. */
static void take_result(struct db *db, PGresult *result)
{
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        if (db->first && db->first->answered)
            finish_first(db);
        return;
    }
    if (!db->first || db->first->answered) {
        PQclear(result);
        return;
    }
    db->first->result = result;
    db->first->answered = true;
}

static void read_answers(struct db *db)
{
    if (!PQconsumeInput(db->conn)) {
        lose(db, PQerrorMessage(db->conn));
        return;
    }
    int nulls = 0; /* two in a row: nothing more has come */
    while (db->state == DB_READY && db->first && nulls < 2 && !PQisBusy(db->conn)) {
        PGresult *result = PQgetResult(db->conn);
        nulls = result ? 0 : nulls + 1;
        if (result)
            take_result(db, result);
    }
    if (db->state == DB_READY)
        flush(db);
}

/* --- connecting
 * --------------------------------------------------------------------------------------------- */

static void lose(struct db *db, const char *why)
{
    struct errinfo info = {0};
    err_set(&info, ERR_RETRY, "the database cannot be used: %s", why && *why ? why : "no answer");
    one_line(info.text);
    if (strcmp(info.text, db->trouble.text) != 0)
        log_warn("database_lost", NULL, info.text, LOG_INT("retry_ms", db->wait_ms));
    db->trouble = info;
    poll_stop(db);
    resolve_cancel(db->resolve);
    db->resolve = NULL;
    PQfinish(db->conn);
    db->conn = NULL;
    db_set_state(db, DB_DOWN);
    timer_stop(db->retry);
    db->retry = timer_start(db->loop, db->wait_ms, 0, connect_now, db);
    db->wait_ms = db->wait_ms * 2 < MAX_WAIT_MS ? db->wait_ms * 2 : MAX_WAIT_MS;
    fail_all(db, ERR_RETRY, &info);
}

static void start_schema(struct db *db)
{
    db_set_state(db, DB_PREPARING);
    PQsetnonblocking(db->conn, 1);
    if (!PQsendQuery(db->conn, db->schema_sql))
        lose(db, PQerrorMessage(db->conn));
    else
        flush(db);
}

static void connect_step(struct db *db)
{
    switch (PQconnectPoll(db->conn)) {
    case PGRES_POLLING_READING:
        poll_for(db, UV_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        poll_for(db, UV_WRITABLE);
        break;
    case PGRES_POLLING_OK:
        start_schema(db);
        break;
    default:
        lose(db, PQerrorMessage(db->conn));
        break;
    }
}

static void become_ready(struct db *db)
{
    if (!PQenterPipelineMode(db->conn)) {
        lose(db, PQerrorMessage(db->conn));
        return;
    }
    db_set_state(db, DB_READY);
    db->wait_ms = FIRST_WAIT_MS;
    db->trouble = (struct errinfo){0};
    log_info("database_ready", NULL, "connected to the database",
             LOG_INT("server_version", PQserverVersion(db->conn)));
    flush(db);
}

static void schema_step(struct db *db)
{
    if (!PQconsumeInput(db->conn)) {
        lose(db, PQerrorMessage(db->conn));
        return;
    }
    while (!PQisBusy(db->conn)) {
        PGresult *result = PQgetResult(db->conn);
        if (!result) {
            become_ready(db);
            return;
        }
        ExecStatusType status = PQresultStatus(result);
        char why[400];
        snprintf(why, sizeof(why), "%s", PQresultErrorMessage(result));
        PQclear(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            lose(db, why);
            return;
        }
    }
    flush(db);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct db *db = poll->data;
    if (!db)
        return;
    if (status < 0) {
        lose(db, uv_strerror(status));
        return;
    }
    switch (db->state) {
    case DB_CONNECTING:
        connect_step(db);
        break;
    case DB_PREPARING:
        schema_step(db);
        break;
    case DB_READY:
        read_answers(db);
        break;
    case DB_DOWN:
        break;
    }
}

static void on_resolved(void *arg, enum err err, const struct errinfo *info,
                        const struct resolved *resolved)
{
    struct db *db = arg;
    db->resolve = NULL;
    if (err != ERR_OK) {
        lose(db, info->text);
        return;
    }
    /* What follows dbname, which is the whole connection string, overrides it. */
    const char *const keys[] = {"dbname", resolved->host ? "host" : NULL, "hostaddr", "port", NULL};
    const char *const values[] = {db->dsn, resolved->host, resolved->hostaddr, resolved->port,
                                  NULL};
    db->conn = PQconnectStartParams(keys, values, 1);
    if (!db->conn || PQstatus(db->conn) == CONNECTION_BAD) {
        lose(db, db->conn ? PQerrorMessage(db->conn) : "out of memory");
        return;
    }
    poll_for(db, UV_WRITABLE);
}

static void connect_now(void *arg)
{
    struct db *db = arg;
    db->retry = NULL;
    db_set_state(db, DB_CONNECTING);
    db->resolve = resolve_start(db->loop, db->dsn, db->silent, on_resolved, db);
}

/* Gives up on a connection that does not answer. */
static void on_check(void *arg)
{
    struct db *db = arg;
    int64_t now = clock_monotonic_ms();
    bool connecting = db->state == DB_CONNECTING || db->state == DB_PREPARING;
    if (connecting && now - db->since_ms > DB_CONNECT_TIMEOUT_MS) {
        db->silent = (db->silent + 1) % 1000; /* the next of several hosts has its turn */
        lose(db, "no answer while connecting");
    } else if (db->first && now - db->first->sent_at > DB_QUERY_TIMEOUT_MS)
        lose(db, "no answer to a query");
}

struct db *db_new(struct loop *loop, const char *dsn, const char *schema_sql)
{
    struct db *db = heap_alloc(sizeof(*db));
    *db = (struct db){.loop = loop, .dsn = dsn, .schema_sql = schema_sql, .wait_ms = FIRST_WAIT_MS};
    db->last = &db->first;
    err_set(&db->trouble, ERR_RETRY, "the database is not connected yet");
    db->check = timer_start(loop, CHECK_MS, CHECK_MS, on_check, db);
    db->retry = timer_start(loop, 0, 0, connect_now, db);
    return db;
}

void db_close(struct db *db)
{
    timer_stop(db->retry);
    timer_stop(db->check);
    db->retry = NULL;
    db->check = NULL;
    poll_stop(db);
    resolve_cancel(db->resolve);
    db->resolve = NULL;
    PQfinish(db->conn);
    db->conn = NULL;
    db_set_state(db, DB_DOWN);
    err_set(&db->trouble, ERR_CANCELLED, "the gate is shutting down");
    struct errinfo info = db->trouble;
    fail_all(db, ERR_CANCELLED, &info);
}

void db_free(struct db *db)
{
    if (!db)
        return;
    db_close(db);
    timer_stop(db->refuse_timer);
    db->refuse_timer = NULL;
    on_refuse(db);
    free(db);
}

bool db_ready(const struct db *db)
{
    return db->state == DB_READY;
}

const char *db_trouble(const struct db *db)
{
    return db->state == DB_READY ? "" : db->trouble.text;
}
