#include "gate/db/db_internal.h"

#include <assert.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"

enum { IDLE_MS = 10000, CONNECTION_FIRST_WAIT_MS = 100, CONNECTION_UPGRADE_MS = 65000 };

struct db_query {
    struct db_query *next;
    const char *name; /* name of the statement, for metrics; NULL: not counted */
    db_done_fn done;
    void *arg;
    int64_t sent_at;
    uint64_t sent_ns;
    PGresult *result; /* received; the pipeline's sync, which is the commit, is still to come */
};

struct db_queue {
    struct db_query *first, **last;
    int count;
};

/* Steps of PREPARING. The first four are scripts outside the pipeline. */
enum step { STEP_SESSION, STEP_VERSIONS, STEP_LOCK, STEP_UPGRADE, STEP_STATEMENTS };

struct db_connection {
    struct loop *loop;
    struct db_connection_options options;
    enum db_state state;
    enum step step;
    char *dsn;               /* set while CONNECTING */
    struct resolve *resolve; /* first part of CONNECTING */
    PGconn *conn;
    PGresult *last;  /* last result of the running script */
    uv_poll_t *poll; /* on the heap: it outlives the connection until its close callback */
    int poll_fd, poll_events;
    /* On the heap too; active while queries of this loop iteration are unsent. */
    uv_prepare_t *batch;
    bool unsynced; /* queries were sent since the last sync */
    struct timer *retry;
    /* Drops the connection in the next loop iteration, for the reason `why`. */
    struct timer *failing;
    struct errinfo why;
    /* Reason to reconnect after the queries in flight; NULL if none. No more queries are
     * accepted. */
    const char *leaving;
    int64_t wait_ms, since_ms,
        answered_ms; /* back-off; time of this state; time of the last answer */
    struct db_queue queue;
    int silent; /* failed attempts after which to try another host */
    unsigned generation;
};

static void on_poll(uv_poll_t *poll, int status, int events);
static void connect_now(void *arg);
static void connection_lose(struct db_connection *c, const char *why);

/* --- queries in flight */

static const double buckets[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                 0.1,    0.25,  0.5,    1,     2.5,  5,     0};
static struct metrics_family durations = {
    .name = "flagger_gate_database_query_duration_seconds",
    .help = "How long queries took from being sent to being committed, by statement",
    .type = METRICS_HISTOGRAM,
    .buckets = buckets,
    .labels = {"statement"}};
static struct metrics_family failures = {
    .name = "flagger_gate_database_query_failures_total",
    .help = "Queries without a result: error (of the database), rule (of the gate, a refusal), "
            "lost (connection, also without an answer in time)",
    .type = METRICS_COUNTER,
    .labels = {"statement", "reason"}};

static void db_queue_init(struct db_queue *queue)
{
    *queue = (struct db_queue){0};
    queue->last = &queue->first;
}

static void db_queue_push(struct db_queue *queue, const char *name, db_done_fn done, void *arg)
{
    struct db_query *query = heap_alloc(sizeof(*query));
    *query = (struct db_query){.name = name,
                               .done = done,
                               .arg = arg,
                               .sent_at = clock_monotonic_ms(),
                               .sent_ns = uv_hrtime()};
    *queue->last = query;
    queue->last = &query->next;
    queue->count++;
}

static bool failed(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
}

static void db_queue_take_result(struct db_queue *queue, PGresult *result)
{
    struct db_query *query = queue->first;
    if (!query || (query->result && (!failed(result) || failed(query->result)))) {
        PQclear(result);
        return;
    }
    PQclear(query->result); /* it failed after all, at its commit */
    query->result = result;
}

static void free_query(struct db_query *query)
{
    PQclear(query->result);
    free(query);
}

static void count_failure(const struct db_query *query, const char *reason)
{
    if (query->name)
        metrics_add(&failures, 1, query->name, reason);
}

static const char *db_queue_finish_first(struct db_queue *queue, char sqlstate[6])
{
    struct db_query *query = queue->first;
    struct errinfo info = {0};
    sqlstate[0] = '\0';
    assert(query);
    queue->first = query->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->count--;
    enum err err = db_error(query->result, &info);
    if (err != ERR_OK) {
        const char *state = PQresultErrorField(query->result, PG_DIAG_SQLSTATE);
        snprintf(sqlstate, 6, "%s", state ? state : "XX000");
        count_failure(query, strncmp(sqlstate, "FG", 2) == 0 ? "rule" : "error");
    }
    if (query->name)
        metrics_observe(&durations, (double)(uv_hrtime() - query->sent_ns) / 1e9, query->name);
    query->done(query->arg, err, &info, err == ERR_OK ? db_rows_of(query->result) : NULL);
    free_query(query);
    return sqlstate[0] ? sqlstate : NULL;
}

static void db_queue_fail_all(struct db_queue *queue, enum err err, const struct errinfo *info)
{
    struct db_query *query = queue->first;
    db_queue_init(queue);
    while (query) {
        struct db_query *next = query->next;
        count_failure(query, "lost");
        query->done(query->arg, err, info, NULL);
        free_query(query);
        query = next;
    }
}

/* --- state */

enum { MAX_WAIT_MS = 2000 };

static const struct machine_state states[DB_STATES] = {
    [DB_DOWN] = {.name = "down", .next = 1u << DB_CONNECTING},
    [DB_CONNECTING] = {.name = "connecting", .next = 1u << DB_PREPARING | 1u << DB_DOWN},
    [DB_PREPARING] = {.name = "preparing", .next = 1u << DB_READY | 1u << DB_DOWN},
    [DB_READY] = {.name = "ready", .next = 1u << DB_DOWN},
};
const struct machine db_machine = {MACHINE_STATES(states), .event = "database_state"};

static void connection_set_state(struct db_connection *c, enum db_state state)
{
    if (c->state != DB_DOWN || state != DB_DOWN) /* a connection may be dropped while down */
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

static void connection_lose_soon(struct db_connection *c, const char *why)
{
    if (c->failing)
        return;
    err_set(&c->why, ERR_RETRY, "%s", why);
    c->failing = timer_start(c->loop, 0, 0, on_failing, c);
    c->options.events->changed(c->options.arg);
}

static void connection_poll(struct db_connection *c, int events)
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
    /* each start is a system call */
    if (c->poll_events != events)
        uv_poll_start(c->poll, events, on_poll);
    c->poll_events = events;
}

static void connection_flush(struct db_connection *c)
{
    int more = PQflush(c->conn);
    if (more < 0)
        connection_lose(c, PQerrorMessage(c->conn));
    else
        connection_poll(c, UV_READABLE | (more > 0 ? UV_WRITABLE : 0));
}

/* Data that TLS has decrypted, but for which libpq had no room, is no longer on the socket: read
 * all of it. */
static bool connection_consume(struct db_connection *c)
{
    SSL *ssl = PQsslStruct(c->conn, "OpenSSL");
    do {
        if (!PQconsumeInput(c->conn))
            return false;
    } while (ssl && SSL_pending(ssl) > 0);
    return true;
}

/* --- loss of the connection */

static void batch_stop(struct db_connection *c)
{
    if (!c->batch)
        return;
    uv_close((uv_handle_t *)c->batch, on_handle_closed);
    c->batch = NULL;
    c->unsynced = false;
}

static void connection_drop(struct db_connection *c)
{
    poll_stop(c);
    batch_stop(c);
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

static void connection_lose(struct db_connection *c, const char *why)
{
    struct errinfo info = {0};
    err_set(&info, ERR_RETRY, "the database cannot be used: %s", why && *why ? why : "no answer");
    info.status = 503;
    db_error_one_line(info.text);
    connection_drop(c);
    c->options.events->lost(c->options.arg, &info, c->wait_ms);
    c->retry = timer_start(c->loop, c->wait_ms, 0, connect_now, c);
    c->wait_ms = c->wait_ms * 2 < MAX_WAIT_MS ? c->wait_ms * 2 : MAX_WAIT_MS;
    db_queue_fail_all(&c->queue, ERR_RETRY, &info);
}

/*
 * --- the pipeline
 *
 * Queries of one loop iteration are sent together at its end. A change is a transaction of its own,
 * committed by a sync after it. Checks change nothing: a single sync after all checks of an
 * iteration halves the work for both sides, and each is answered when its result arrives. The
 * price: if one fails, the later ones in the iteration are not executed, and fail with a message
 * that says so.
 */

static bool is_batched(const struct db_connection *c)
{
    return c->state == DB_READY && c->options.lane == DB_ASK && !c->options.channels;
}

static void on_batch(uv_prepare_t *batch)
{
    struct db_connection *c = batch->data;
    uv_prepare_stop(batch);
    if (c->unsynced && !PQpipelineSync(c->conn)) {
        connection_lose(c, PQerrorMessage(c->conn));
        return;
    }
    c->unsynced = false;
    connection_flush(c);
}

static void batch_start(struct db_connection *c)
{
    if (!c->batch) {
        c->batch = heap_alloc(sizeof(*c->batch));
        uv_prepare_init(loop_uv(c->loop), c->batch);
        uv_unref((uv_handle_t *)c->batch); /* the poll keeps the loop alive */
        c->batch->data = c;
    }
    uv_prepare_start(c->batch, on_batch);
}

static bool connection_sent(struct db_connection *c, int ok, const char *name, db_done_fn done,
                            void *arg)
{
    bool batched = is_batched(c);
    if (!ok || (!batched && !PQpipelineSync(c->conn))) {
        connection_lose_soon(c, PQerrorMessage(c->conn));
        return false;
    }
    c->unsynced = c->unsynced || batched;
    db_queue_push(&c->queue, name, done, arg);
    batch_start(c); /* not sent here: callbacks must not be called before the caller has returned */
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

/* Handles the next result of the pipeline; NULL ends the results of a query. */
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

static void connection_read_answers(struct db_connection *c)
{
    if (!connection_consume(c)) {
        connection_lose(c, PQerrorMessage(c->conn));
        return;
    }
    int nulls = 0; /* two in a row: nothing more has arrived */
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

static bool connection_send_text(struct db_connection *c, const char *sql, db_done_fn done)
{
    return connection_sent(c, PQsendQueryParams(c->conn, sql, 0, NULL, NULL, NULL, NULL, 0), NULL,
                           done, c);
}

static bool connection_send_listen(struct db_connection *c, const char *channel, db_done_fn done)
{
    char sql[100];
    snprintf(sql, sizeof(sql), "LISTEN \"%.63s\"", channel);
    return connection_send_text(c, sql, done);
}

/* --- preparing */

/*
 * The time-outs keep one statement from blocking the pipeline. A closed connection is noticed
 * (PostgreSQL 14 or newer, on Linux), so that its queries are not executed much later. Statements
 * look rows up by keys, so a generic plan is good enough; without this setting PostgreSQL plans
 * each check without a revision anew. flagger_gate.version identifies our programs to the triggers
 * of schema.sql. A change that was answered must survive a crash of the server, even if the default
 * of synchronous_commit differs.
 */
static const char session_sql[] =
    "SELECT set_config('statement_timeout', '5s', false), set_config('lock_timeout', '3s', false),"
    " set_config('idle_in_transaction_session_timeout', '10s', false),"
    " CASE WHEN current_setting('client_connection_check_interval', true) IS NOT NULL"
    "  AND version() LIKE '%%linux%%'"
    "  THEN set_config('client_connection_check_interval', '1s', false) END,"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('client_min_messages', 'warning', false), set_config('TimeZone', 'UTC', false),"
    " set_config('DateStyle', 'ISO', false), set_config('jit', 'off', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false),"
    " set_config('flagger_gate.version', '%d', false),"
    " set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit')"
    "  IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false);"
    "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean, (%s)";

static void run_script(struct db_connection *c, enum step step, const char *sql)
{
    c->step = step;
    c->since_ms = clock_monotonic_ms();
    if (!PQsendQuery(c->conn, sql))
        connection_lose(c, PQerrorMessage(c->conn));
    else
        connection_flush(c);
}

static void db_prepare_start(struct db_connection *c)
{
    char sql[sizeof(session_sql) + 200];
    connection_set_state(c, DB_PREPARING);
    PQsetnonblocking(c->conn, 1);
    snprintf(sql, sizeof(sql), session_sql, schema_version(c->options.db->schema),
             schema_probe_sql);
    run_script(c, STEP_SESSION, sql);
}

static void on_prepared(void *arg, enum err err, const struct errinfo *info,
                        const struct db_rows *rows)
{
    struct db_connection *c = arg;
    (void)rows;
    if (c->state == DB_PREPARING && err != ERR_OK)
        connection_lose(c, info->text);
}

static void on_all_prepared(void *arg, enum err err, const struct errinfo *info,
                            const struct db_rows *rows)
{
    struct db_connection *c = arg;
    on_prepared(arg, err, info, rows);
    if (c->state != DB_PREPARING)
        return;
    connection_set_state(c, DB_READY);
    c->wait_ms = CONNECTION_FIRST_WAIT_MS;
    if (c->options.channels)
        c->options.events->notified(c->options.arg, NULL, NULL);
}

/* Sends everything in the pipeline at once. */
static void prepare_statements(struct db_connection *c)
{
    const struct db_options *db = c->options.db;
    c->step = STEP_STATEMENTS;
    c->since_ms = clock_monotonic_ms();
    bool ok = PQenterPipelineMode(c->conn);
    if (!ok)
        connection_lose_soon(c, PQerrorMessage(c->conn));
    for (const char *const *channel = c->options.channels; ok && channel && *channel; channel++)
        ok = connection_send_listen(c, *channel, on_prepared);
    for (size_t i = 0; !c->options.channels && db->statements[i]; i++)
        for (const struct db_statement *const *s = db->statements[i]; ok && *s; s++)
            if ((*s)->lane == c->options.lane)
                ok = connection_sent(c, PQsendPrepare(c->conn, (*s)->name, (*s)->sql, 0, NULL),
                                     NULL, on_prepared, c);
    if (ok)
        (void)connection_send_text(c, "SELECT 1", on_all_prepared);
}

static bool is_true(const PGresult *result, int column)
{
    return PQntuples(result) == 1 && PQnfields(result) > column &&
           strcmp(PQgetvalue(result, 0, column), "t") == 0;
}

static void on_session(struct db_connection *c)
{
    bool standby = is_true(c->last, 0), read_only = is_true(c->last, 1);
    const char *encoding = PQparameterStatus(c->conn, "server_encoding");
    if (standby || read_only) {
        c->silent = (c->silent + 1) % 1000; /* another of several hosts may accept writes */
        connection_lose(
            c, standby ? "the server is a standby, whose answers may be old: expected the primary"
                       : "it is read-only: expected a server that can be written to");
    } else if (encoding && strcmp(encoding, "UTF8") != 0) {
        char why[120];
        snprintf(why, sizeof(why),
                 "its encoding is %.40s, which cannot hold every name: expected UTF8", encoding);
        connection_lose(c, why);
    } else if (is_true(c->last, 2)) {
        run_script(c, STEP_VERSIONS, schema_rows_sql);
    } else {
        run_script(c, STEP_LOCK, schema_lock_sql);
    }
}

static void on_versions(struct db_connection *c)
{
    struct errinfo info = {0};
    bool missing = false;
    if (schema_judge(c->options.db->schema, c->last, &missing, &info) != ERR_OK) {
        connection_lose(c, info.text);
    } else if (c->step == STEP_LOCK) {
        char *sql = schema_upgrade_sql(c->options.db->schema, c->last);
        if (missing)
            log_info("schema_upgrade", NULL, "the gate tables are brought up to this program",
                     LOG_INT("version", schema_version(c->options.db->schema)));
        run_script(c, STEP_UPGRADE, sql);
        free(sql);
    } else if (missing) {
        run_script(c, STEP_LOCK, schema_lock_sql);
    } else {
        prepare_statements(c);
    }
}

static void on_script(struct db_connection *c)
{
    switch (c->step) {
    case STEP_SESSION:
        on_session(c);
        break;
    case STEP_VERSIONS:
    case STEP_LOCK:
        on_versions(c);
        break;
    case STEP_UPGRADE:
        prepare_statements(c);
        break;
    case STEP_STATEMENTS:
        break;
    }
}

/* Keeps the last result of a script; NULL ends it. */
static void db_prepare_step(struct db_connection *c)
{
    if (!connection_consume(c)) {
        connection_lose(c, PQerrorMessage(c->conn));
        return;
    }
    while (!PQisBusy(c->conn)) {
        PGresult *result = PQgetResult(c->conn);
        if (!result) {
            on_script(c);
            return;
        }
        struct errinfo info = {0};
        PQclear(c->last);
        c->last = result;
        if (db_error(result, &info) != ERR_OK) {
            connection_lose(c, info.text);
            return;
        }
    }
    connection_flush(c);
}

/* --- connecting */

/* Messages of the server that belong to no answer, such as its shutdown. */
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
    /* Keys after dbname, which is the whole connection string, override it. */
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
    connection_poll(c, UV_WRITABLE);
}

static void connect_now(void *arg)
{
    struct db_connection *c = arg;
    c->retry = NULL;
    c->generation = db_source_poll(c->options.db->source);
    c->dsn = heap_strdup(db_source_dsn(c->options.db->source));
    connection_set_state(c, DB_CONNECTING);
    c->resolve = resolve_start(c->loop, c->dsn, c->silent, on_resolved, c);
}

static void connect_step(struct db_connection *c)
{
    switch (PQconnectPoll(c->conn)) {
    case PGRES_POLLING_READING:
        connection_poll(c, UV_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        connection_poll(c, UV_WRITABLE);
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
    (void)status; /* libpq has the better error message for a broken socket */
    if (c->state == DB_CONNECTING)
        connect_step(c);
    else if (c->state == DB_PREPARING && c->step != STEP_STATEMENTS)
        db_prepare_step(c);
    else
        connection_read_answers(c);
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
    connection_drop(c);
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

void db_connection_snapshot(const struct db_connection *c, struct db_connection_snapshot *out)
{
    *out = (struct db_connection_snapshot){
        .state = machine_name(&db_machine, (int)c->state),
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

bool db_connection_run(struct db_connection *c, const struct db_statement *statement,
                       const char *const *params, db_done_fn done, void *arg)
{
    assert(db_connection_takes(c));
    int ok =
        PQsendQueryPrepared(c->conn, statement->name, statement->n_params, params, NULL, NULL, 0);
    return connection_sent(c, ok, statement->name, done, arg);
}

static void on_listening(void *arg, enum err err, const struct errinfo *info,
                         const struct db_rows *rows)
{
    struct db_connection *c = arg;
    (void)rows;
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

static void on_ignored(void *arg, enum err err, const struct errinfo *info,
                       const struct db_rows *rows)
{
    (void)arg;
    (void)err;
    (void)info;
    (void)rows;
}

/* The first query is the oldest. The connection is dropped with it: a query that was abandoned
 * must not be executed much later. */
static void check_ready(struct db_connection *c, int64_t now)
{
    if (c->queue.first && now - c->queue.first->sent_at > DB_QUERY_TIMEOUT_MS)
        connection_lose(c, "no answer to a query in time");
    else if (!c->queue.first && now - c->answered_ms > IDLE_MS && db_connection_takes(c))
        (void)connection_send_text(c, "SELECT 1",
                                   on_ignored); /* checks that the server still answers */
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
