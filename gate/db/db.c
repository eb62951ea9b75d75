#include "gate/db/db.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "gate/db/db_internal.h"

enum {
    CHECK_MS = 500,
    SOURCE_MS = 10000,
    DRAIN_MS = 20,
    MAX_CALLBACKS = 8,
    DEFAULT_CONNECTIONS = 4,
    MAX_LEAVING = 2 * DB_MAX_CONNECTIONS
};

static struct metrics_family connections = {
    .name = "flagger_gate_database_connections",
    .help = "Connections to the database by what they are for (ask, change, read, listen) and "
            "state",
    .type = METRICS_GAUGE,
    .labels = {"lane", "state"}};
static struct metrics_family refusals = {
    .name = "flagger_gate_database_refused_total",
    .help =
        "Queries that were not sent: no connection was ready (unconnected), or too many were in "
        "flight (slow; of lists: busy)",
    .type = METRICS_COUNTER,
    .labels = {"statement", "reason"}};

/* A query rejected without asking the database: its callback waits for the loop. */
struct refused {
    struct refused *next;
    db_done_fn done;
    void *arg;
    enum err err;
    struct errinfo info;
};

struct listener {
    const char *channel;
    db_notify_fn fn;
    void *arg;
};

struct watcher {
    db_watch_fn fn;
    void *arg;
};

struct db {
    struct loop *loop;
    struct db_options options;
    /* Connections of DB_ASK, then of DB_CHANGE, then the one of DB_READ; the last connection
     * listens. */
    struct db_connection *slots[DB_MAX_CONNECTIONS + 2];
    int n_ask, n_slots;
    /* Connects with the new connection string, and replaces slots[fresh_slot] when ready. */
    struct db_connection *fresh;
    int fresh_slot;
    struct db_connection *leaving[MAX_LEAVING]; /* replaced, with queries in flight */
    int n_leaving;
    struct listener listeners[MAX_CALLBACKS];
    const char *channels[MAX_CALLBACKS + 1];
    int n_listeners;
    struct watcher watchers[MAX_CALLBACKS];
    int n_watchers;
    struct timer *refresh, *check, *source, *drain;
    int64_t drain_ms; /* start of the drain */
    struct refused *refused, **last_refused;
    struct timer *refuse;
    bool was_ready, closed;
    struct errinfo trouble;
    char last_logged[sizeof(
        ((struct errinfo *)0)->text)]; /* last failure that was logged; "" after recovery */
};

static bool listens(const struct db *db, int slot)
{
    return slot == db->n_slots - 1;
}

static enum db_lane lane_of(const struct db *db, int slot)
{
    return slot < db->n_ask ? DB_ASK : slot < db->n_slots - 2 ? DB_CHANGE : DB_READ;
}

/* The ready connection with the fewest queries in flight, NULL if none; *in_flight: number in
 * the whole lane. */
static struct db_connection *choose(const struct db *db, enum db_lane lane, int *in_flight)
{
    struct db_connection *best = NULL;
    *in_flight = 0;
    for (int slot = 0; slot < db->n_slots; slot++) {
        struct db_connection *c = db->slots[slot];
        if (lane_of(db, slot) != lane || listens(db, slot))
            continue;
        int count = db_connection_in_flight(c);
        *in_flight += count;
        if (db_connection_takes(c) && (!best || count < db_connection_in_flight(best)))
            best = c;
    }
    return best;
}

/* --- queries */

static void on_refuse(void *arg)
{
    struct db *db = arg;
    struct refused *list = db->refused;
    db->refuse = NULL;
    db->refused = NULL;
    db->last_refused = &db->refused;
    while (list) {
        struct refused *next = list->next;
        list->done(list->arg, list->err, &list->info, NULL);
        free(list);
        list = next;
    }
}

static void refuse(struct db *db, const struct db_statement *statement, const char *reason,
                   const char *text, db_done_fn done, void *arg)
{
    struct refused *refused = heap_alloc(sizeof(*refused));
    *refused =
        (struct refused){.done = done, .arg = arg, .err = db->closed ? ERR_CANCELLED : ERR_RETRY};
    err_set(&refused->info, refused->err, "%s", text);
    refused->info.status = 503;
    *db->last_refused = refused;
    db->last_refused = &refused->next;
    if (!db->refuse)
        db->refuse = timer_start(db->loop, 0, 0, on_refuse, db);
    metrics_add(&refusals, 1, statement->name, reason);
}

void db_run(struct db *db, const struct db_statement *statement, const char *const *params,
            db_done_fn done, void *arg)
{
    char text[100];
    int in_flight = 0;
    struct db_connection *c = db->closed ? NULL : choose(db, statement->lane, &in_flight);
    if (c && statement->lane == DB_READ && in_flight >= DB_MAX_READS) {
        refuse(db, statement, "busy", "too many lists are being read at once, ask again", done,
               arg);
    } else if (c && in_flight >= DB_MAX_IN_FLIGHT) {
        snprintf(text, sizeof(text), "the database is slow: %d queries wait already", in_flight);
        refuse(db, statement, "slow", text, done, arg);
    } else if (!c || !db_connection_run(c, statement, params, done, arg)) {
        const char *trouble = db->trouble.text;
        refuse(db, statement, "unconnected",
               *trouble ? trouble : "the database is not connected, ask again", done, arg);
    }
}

/* --- connections */

static void on_refresh(void *arg);

static void refresh_soon(struct db *db)
{
    if (!db->refresh && !db->closed)
        db->refresh = timer_start(db->loop, 0, 0, on_refresh, db);
}

static void on_changed(void *arg)
{
    refresh_soon(arg);
}

/* Many connections to one server fail together: logged once. */
static void on_lost(void *arg, const struct errinfo *why, int64_t retry_ms)
{
    struct db *db = arg;
    if (strcmp(why->text, db->last_logged) != 0)
        log_warn("database_lost", NULL, why->text, LOG_INT("retry_ms", retry_ms));
    memcpy(db->last_logged, why->text, sizeof(db->last_logged));
    db->trouble = *why;
}

static void on_notified(void *arg, const char *channel, const char *payload)
{
    struct db *db = arg;
    for (int i = 0; i < db->n_listeners && !db->closed; i++)
        if (!channel || strcmp(db->listeners[i].channel, channel) == 0)
            db->listeners[i].fn(db->listeners[i].arg, payload);
}

static struct db_connection *connection_for(struct db *db, int slot)
{
    static const struct db_connection_events events = {on_changed, on_lost, on_notified};
    struct db_connection_options options = {.db = &db->options,
                                            .events = &events,
                                            .arg = db,
                                            .lane = lane_of(db, slot),
                                            .channels = listens(db, slot) ? db->channels : NULL};
    return db_connection_new(db->loop, &options);
}

static void free_left(struct db *db)
{
    int kept = 0;
    for (int i = 0; i < db->n_leaving; i++)
        if (db_connection_in_flight(db->leaving[i]))
            db->leaving[kept++] = db->leaving[i];
        else
            db_connection_free(db->leaving[i]);
    db->n_leaving = kept;
}

/* Replaces connections one by one after a change of the connection string, each once its
 * successor is ready; a lost connection reconnects with the new string anyway. */
static void rotate(struct db *db)
{
    unsigned wanted = db_source_generation(db->options.source);
    if (db->fresh && db_connection_generation(db->slots[db->fresh_slot]) == wanted) {
        db_connection_free(db->fresh);
        db->fresh = NULL;
    } else if (db->fresh && db_connection_takes(db->fresh)) {
        db->leaving[db->n_leaving++] = db->slots[db->fresh_slot];
        db->slots[db->fresh_slot] = db->fresh;
        db->fresh = NULL;
    }
    for (int slot = 0; slot < db->n_slots && !db->fresh && db->n_leaving < MAX_LEAVING; slot++) {
        unsigned generation = db_connection_generation(db->slots[slot]);
        if (generation && generation != wanted) {
            db->fresh_slot = slot;
            db->fresh = connection_for(db, slot);
        }
    }
}

static const char *const lanes[] = {
    [DB_ASK] = "ask", [DB_CHANGE] = "change", [DB_READ] = "read", [DB_READ + 1] = "listen"};

static int lane_index(const struct db *db, int slot)
{
    return listens(db, slot) ? DB_READ + 1 : (int)lane_of(db, slot);
}

static void count(struct db *db)
{
    int n[sizeof(lanes) / sizeof(lanes[0])][DB_STATES] = {0};
    bool all = !db->fresh;
    for (int slot = 0; slot < db->n_slots; slot++)
        n[lane_index(db, slot)][db_connection_state(db->slots[slot])]++;
    for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
        for (int state = 0; state < DB_STATES; state++)
            metrics_set(&connections, n[i][state], lanes[i], machine_name(&db_machine, state));
    for (int slot = 0; slot < db->n_slots; slot++)
        all = all && db_connection_takes(db->slots[slot]);
    if (all)
        db->last_logged[0] = '\0';
}

static void notify_readiness(struct db *db)
{
    bool ready = db_ready(db);
    if (ready == db->was_ready)
        return;
    db->was_ready = ready;
    if (ready) {
        db->trouble = (struct errinfo){0};
        log_info("database_ready", NULL, "connected to the database",
                 LOG_INT("connections", db->n_slots));
    }
    for (int i = 0; i < db->n_watchers && !db->closed; i++)
        db->watchers[i].fn(db->watchers[i].arg, ready);
}

/* Runs after a connection has changed, never inside one. */
static void on_refresh(void *arg)
{
    struct db *db = arg;
    db->refresh = NULL;
    rotate(db);
    free_left(db);
    count(db);
    notify_readiness(db);
}

static void on_check(void *arg)
{
    struct db *db = arg;
    for (int slot = 0; slot < db->n_slots && !db->closed; slot++)
        db_connection_check(db->slots[slot]);
    for (int i = 0; i < db->n_leaving && !db->closed; i++)
        db_connection_check(db->leaving[i]);
    if (db->fresh && !db->closed)
        db_connection_check(db->fresh);
    refresh_soon(db);
}

static void on_source(void *arg)
{
    struct db *db = arg;
    db_source_poll(db->options.source);
    refresh_soon(db);
}

struct db *db_new(struct loop *loop, const struct db_options *options)
{
    struct db *db = heap_alloc(sizeof(*db));
    *db = (struct db){.loop = loop, .options = *options};
    int n = options->connections ? options->connections : DEFAULT_CONNECTIONS;
    assert(n >= 2 && n <= DB_MAX_CONNECTIONS);
    db->last_refused = &db->refused;
    db->n_ask = (n + 1) / 2;
    db->n_slots = n + 2;
    err_set(&db->trouble, ERR_RETRY, "the database is not connected yet");
    for (int slot = 0; slot < db->n_slots; slot++)
        db->slots[slot] = connection_for(db, slot);
    db->check = timer_start(loop, CHECK_MS, CHECK_MS, on_check, db);
    db->source = timer_start(loop, SOURCE_MS, SOURCE_MS, on_source, db);
    loop_on_hangup(loop, on_source, db);
    count(db);
    return db;
}

static void stop_timer(struct timer **timer)
{
    timer_stop(*timer);
    *timer = NULL;
}

void db_close(struct db *db)
{
    struct errinfo info = {0};
    err_set(&info, ERR_CANCELLED, "the gate is shutting down");
    info.status = 503;
    db->trouble = info;
    db->closed = true;
    stop_timer(&db->refresh);
    stop_timer(&db->check);
    if (db->source)
        loop_off_hangup(db->loop, on_source, db);
    stop_timer(&db->source);
    stop_timer(&db->drain);
    for (int slot = 0; slot < db->n_slots; slot++)
        db_connection_close(db->slots[slot], ERR_CANCELLED, &info);
    for (int i = 0; i < db->n_leaving; i++)
        db_connection_close(db->leaving[i], ERR_CANCELLED, &info);
    if (db->fresh)
        db_connection_close(db->fresh, ERR_CANCELLED, &info);
}

/* True if a query in flight can still be answered. */
static bool is_awaited(const struct db *db)
{
    for (int slot = 0; slot < db->n_slots; slot++)
        if (db_connection_state(db->slots[slot]) == DB_READY &&
            db_connection_in_flight(db->slots[slot]))
            return true;
    return db->n_leaving > 0 || db->refused;
}

static void on_drain(void *arg)
{
    struct db *db = arg;
    if (!is_awaited(db) || clock_monotonic_ms() - db->drain_ms > DB_QUERY_TIMEOUT_MS)
        db_close(db);
}

void db_drain(struct db *db)
{
    if (db->closed || db->drain)
        return;
    db->drain_ms = clock_monotonic_ms();
    db->drain = timer_start(db->loop, DRAIN_MS, DRAIN_MS, on_drain, db);
}

void db_free(struct db *db)
{
    if (!db)
        return;
    db_close(db);
    stop_timer(&db->refuse);
    on_refuse(db);
    for (int slot = 0; slot < db->n_slots; slot++)
        db_connection_free(db->slots[slot]);
    for (int i = 0; i < db->n_leaving; i++)
        db_connection_free(db->leaving[i]);
    db_connection_free(db->fresh);
    free(db);
}

bool db_ready(const struct db *db)
{
    int in_flight;
    return !db->closed && choose(db, DB_ASK, &in_flight) && choose(db, DB_CHANGE, &in_flight) &&
           choose(db, DB_READ, &in_flight);
}

const char *db_trouble(const struct db *db)
{
    return db_ready(db) ? "" : db->trouble.text;
}

void db_listen(struct db *db, const char *channel, db_notify_fn fn, void *arg)
{
    assert(db->n_listeners < MAX_CALLBACKS);
    db->listeners[db->n_listeners] = (struct listener){channel, fn, arg};
    db->channels[db->n_listeners++] = channel;
    db_connection_listen(db->slots[db->n_slots - 1], channel);
}

void db_watch(struct db *db, db_watch_fn fn, void *arg)
{
    assert(db->n_watchers < MAX_CALLBACKS);
    db->watchers[db->n_watchers++] = (struct watcher){fn, arg};
}

void db_each(const struct db *db,
             void (*fn)(void *arg, const char *lane, const struct db_connection_snapshot *snapshot),
             void *arg)
{
    struct db_connection_snapshot snapshot;

    for (int slot = 0; slot < db->n_slots; slot++) {
        db_connection_snapshot(db->slots[slot], &snapshot);
        fn(arg, lanes[lane_index(db, slot)], &snapshot);
    }
    for (int i = 0; i < db->n_leaving; i++) {
        db_connection_snapshot(db->leaving[i], &snapshot);
        fn(arg, "leaving", &snapshot);
    }
}

/* --- rows: a struct db_rows is a PGresult */

static const PGresult *result_of(const struct db_rows *rows)
{
    return (const PGresult *)rows;
}

/* --- answers: their rows and errors, and a reader of them without a loop */

const struct db_rows *db_rows_of(const PGresult *result)
{
    return (const struct db_rows *)result;
}

int db_count(const struct db_rows *rows)
{
    return PQntuples(result_of(rows));
}

bool db_is_null(const struct db_rows *rows, int row, int column)
{
    return PQgetisnull(result_of(rows), row, column);
}

const char *db_value(const struct db_rows *rows, int row, int column)
{
    return PQgetvalue(result_of(rows), row, column);
}

size_t db_value_len(const struct db_rows *rows, int row, int column)
{
    return (size_t)PQgetlength(result_of(rows), row, column);
}

int64_t db_int(const struct db_rows *rows, int row, int column)
{
    return strtoll(PQgetvalue(result_of(rows), row, column), NULL, 10);
}

bool db_true(const struct db_rows *rows, int row, int column)
{
    return strcmp(PQgetvalue(result_of(rows), row, column), "t") == 0;
}

/* --- errors */

void db_error_one_line(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

/* Status of FGnnn, 0 for any other SQLSTATE. */
static int status_of(const char *sqlstate)
{
    if (!sqlstate || strlen(sqlstate) != 5 || strncmp(sqlstate, "FG", 2) != 0)
        return 0;
    int status = 0;
    for (const char *digit = sqlstate + 2; *digit; digit++) {
        if (*digit < '0' || *digit > '9')
            return 0;
        status = status * 10 + (*digit - '0');
    }
    return status >= 400 && status < 600 ? status : 0;
}

static enum err err_of(int status)
{
    switch (status) {
    case 401:
    case 403:
        return ERR_DENIED;
    case 404:
    case 410:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    case 408:
    case 429:
        return ERR_RETRY;
    default:
        return status < 500 ? ERR_INVALID : ERR_RETRY;
    }
}

enum err db_error_from(const char *sqlstate, const char *message, struct errinfo *info)
{
    int status = status_of(sqlstate);
    enum err err = ERR_RETRY;
    if (status)
        err = err_set(info, err_of(status), "%s", message ? message : "");
    else
        err_set(info, err, "database: %s", message && *message ? message : "no answer");
    db_error_one_line(info->text);
    info->status = status ? status : 503;
    return err;
}

enum err db_error(const PGresult *result, struct errinfo *info)
{
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return ERR_OK;
    if (status == PGRES_PIPELINE_ABORTED)
        return db_error_from(NULL, "another question of this moment has failed, ask again", info);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return db_error_from(PQresultErrorField(result, PG_DIAG_SQLSTATE),
                         message ? message : PQresultErrorMessage(result), info);
}

bool db_error_wants_reconnect(const char *sqlstate)
{
    static const char *const states[] = {
        "42P01", /* undefined table */
        "42883", /* undefined function */
        "42703", /* undefined column */
        "3F000", /* undefined schema */
        "26000", /* the prepared statement does not exist */
        "0A000", /* a cached plan must not change its result type */
        "25006", /* read-only transaction */
    };
    for (size_t i = 0; sqlstate && i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(states[i], sqlstate) == 0)
            return true;
    return false;
}

/* --- reading without a loop */

struct db_reader {
    PGconn *conn;
};

static enum err reader_error(const struct db_reader *reader, struct errinfo *ei)
{
    err_set(ei, ERR_RETRY, "%s", PQerrorMessage(reader->conn));
    db_error_one_line(ei->text);
    return ERR_RETRY;
}

enum err db_reader_open(const struct db_source *source, const char *program, struct db_reader **out,
                        struct errinfo *ei)
{
    /* dbname is the whole connection string and overrides the preceding keys. */
    static const char *const keys[] = {"connect_timeout", "application_name", "dbname", NULL};
    const char *const values[] = {"10", program, db_source_dsn(source), NULL};
    struct db_reader *reader = heap_alloc(sizeof(*reader));

    reader->conn = PQconnectdbParams(keys, values, 1);
    *out = reader;
    return PQstatus(reader->conn) == CONNECTION_OK ? ERR_OK : reader_error(reader, ei);
}

enum err db_reader_each(struct db_reader *reader, const char *sql,
                        void (*fn)(void *arg, const struct db_rows *row), void *arg,
                        struct errinfo *ei)
{
    enum err err = ERR_OK;

    if (!PQsendQueryParams(reader->conn, sql, 0, NULL, NULL, NULL, NULL, 0) ||
        !PQsetSingleRowMode(reader->conn))
        return reader_error(reader, ei);
    for (PGresult *result; (result = PQgetResult(reader->conn));) {
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_SINGLE_TUPLE && fn)
            fn(arg, db_rows_of(result));
        else if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && err == ERR_OK)
            err = reader_error(reader, ei);
        PQclear(result);
    }
    return err;
}

void db_reader_close(struct db_reader *reader)
{
    if (!reader)
        return;
    PQfinish(reader->conn);
    free(reader);
}
