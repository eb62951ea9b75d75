/*
 * PostgreSQL for the gate: a small pool of connections on the loop (gate/db/db_connection.h) that
 * never blocks. Three lanes keep checks from waiting behind changes that wait for a row, and both
 * from waiting behind long lists. The lane for lists has few places, so that readers cannot
 * overload the database.
 *
 * A query goes to the ready connection of its lane with the fewest in flight; it fails at once if
 * none is ready. Queries of one lane are not ordered. A query fails with ERR_RETRY if its
 * connection is lost or it has no answer after DB_QUERY_TIMEOUT_MS: it may have been executed.
 */
#ifndef GATE_DB_H
#define GATE_DB_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/err.h"
#include "net/loop.h"

enum {
    /* Above the server's own limits (gate/db/db_connection.c), which have clearer errors. */
    DB_QUERY_TIMEOUT_MS = 6000,
    DB_CONNECT_TIMEOUT_MS = 5000,
    DB_MAX_IN_FLIGHT = 1024, /* per lane of checks and changes */
    DB_MAX_READS = 8,
    DB_MAX_CONNECTIONS = 64
};

struct db;
struct db_source;
struct schema;

enum db_lane { DB_ASK, DB_CHANGE, DB_READ };

/* Prepared on every connection of its lane. */
struct db_statement {
    const char *name; /* also its label in metrics */
    const char *sql;
    int n_params;
    enum db_lane lane;
};

/*
 * result: PGRES_TUPLES_OK or PGRES_COMMAND_OK if err is ERR_OK, else NULL; borrowed. Called exactly
 * once, never before db_run() has returned. info->status is the HTTP status of a failure: that of
 * the violated rule (gate/db/db_error.h), or 503.
 */
typedef void (*db_done_fn)(void *arg, enum err err, const struct errinfo *info, PGresult *result);
/* payload is NULL when listening has begun, also after a reconnect: notifications may have been
 * missed. */
typedef void (*db_notify_fn)(void *arg, const char *payload);
typedef void (*db_watch_fn)(void *arg, bool ready);

struct db_options {
    struct db_source *source;
    const struct schema *schema;
    /* All statements: a NULL-ended list of NULL-ended lists. */
    const struct db_statement *const *const *statements;
    /* Half for DB_ASK and half for DB_CHANGE, from 2 to DB_MAX_CONNECTIONS; 0 means 4. One more is
     * for DB_READ, and one listens. */
    int connections;
};

/* options and all in it are borrowed. Begins to connect. */
struct db *db_new(struct loop *loop, const struct db_options *options);
/* For a shutdown: waits for queries in flight, then closes. */
void db_drain(struct db *db);
/* Fails queries in flight and later ones; nothing keeps the loop alive afterwards. */
void db_close(struct db *db);
void db_free(struct db *db); /* after the loop has ended, or after db_close() */

/* True if every lane has a ready connection. */
bool db_ready(const struct db *db);
/* Reason for not being ready, a sentence without the password; "" if ready. */
const char *db_trouble(const struct db *db);

/* A boolean as a parameter. */
static inline const char *db_bool(bool value)
{
    return value ? "t" : "f";
}

/* params are strings, copied, one for each parameter of the statement. */
void db_run(struct db *db, const struct db_statement *statement, const char *const *params,
            db_done_fn done, void *arg);
/* Listens on a connection of its own until db_close(). channel is borrowed, a plain identifier. At
 * most 8 listeners. */
void db_listen(struct db *db, const char *channel, db_notify_fn fn, void *arg);
/* Calls fn when db_ready() has changed. At most 8 watchers. */
void db_watch(struct db *db, db_watch_fn fn, void *arg);

/* State of a connection; lane: "ask", "change", "read" or "listen", or "leaving" for a replaced
 * one. */
struct db_connection_snapshot;
/* Calls fn for every connection, for /debug. */
void db_each(const struct db *db,
             void (*fn)(void *arg, const char *lane, const struct db_connection_snapshot *snapshot),
             void *arg);

#endif
