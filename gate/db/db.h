/*
 * PostgreSQL for the gate: a small pool of connections on the loop (gate/db/db_connection.h) that
 * never blocks, with three lanes, so that a check never waits behind a change that waits for a row,
 * and neither of them behind long lists. The lane of the lists is short: whoever may only read must
 * not be able to keep the database busy for everybody.
 *
 * A query goes to the connection of its lane with the fewest in flight, and only to one that is
 * ready: without its database the caller is told at once. Queries of one lane keep no order among
 * each other. One that was in flight when its connection was lost, or has no answer after
 * DB_QUERY_TIMEOUT_MS, fails with ERR_RETRY: it may have happened.
 */
#ifndef GATE_DB_H
#define GATE_DB_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/err.h"
#include "net/loop.h"

enum {
    /* Above the server's own limits (gate/db/db_connection.c), which say better what is wrong. */
    DB_QUERY_TIMEOUT_MS = 6000,
    DB_CONNECT_TIMEOUT_MS = 5000,
    DB_MAX_IN_FLIGHT = 1024, /* in the lanes of checks and of changes */
    DB_MAX_READS = 8,
    DB_MAX_CONNECTIONS = 64
};

struct db;
struct db_source;
struct schema;

enum db_lane { DB_ASK, DB_CHANGE, DB_READ };

/* Prepared on every connection of its lane. */
struct db_statement {
    const char *name; /* also its label in the metrics */
    const char *sql;
    int n_params;
    enum db_lane lane;
};

/*
 * result: PGRES_TUPLES_OK or PGRES_COMMAND_OK when err is ERR_OK, else NULL; borrowed. Exactly
 * once, never before db_run() has returned. info->status is the HTTP status of a failure: that of
 * the broken rule (gate/db/db_error.h), or 503.
 */
typedef void (*db_done_fn)(void *arg, enum err err, const struct errinfo *info, PGresult *result);
/* payload NULL: listening has begun, also again after a lost connection. What was sent meanwhile
 * has to be looked up. */
typedef void (*db_notify_fn)(void *arg, const char *payload);
typedef void (*db_watch_fn)(void *arg, bool ready);

struct db_options {
    struct db_source *source;
    const struct schema *schema;
    /* Every statement there is: a NULL-ended list of NULL-ended lists. */
    const struct db_statement *const *const *statements;
    /* Half for DB_ASK and half for DB_CHANGE, at least 2, at most DB_MAX_CONNECTIONS; 0: 4. One
     * more is for DB_READ, and one more listens. */
    int connections;
};

/* All of options is borrowed. Begins to connect. */
struct db *db_new(struct loop *loop, const struct db_options *options);
/* For a shutdown: lets what is in flight come to its end, then closes. */
void db_drain(struct db *db);
/* Queries in flight and later ones fail, nothing keeps the loop alive any more. */
void db_close(struct db *db);
void db_free(struct db *db); /* after the loop has ended, or after db_close() */

/* Every lane has a connection. */
bool db_ready(const struct db *db);
/* Why it is not ready, one sentence without the password; "" when it is. */
const char *db_trouble(const struct db *db);

/* A boolean as a parameter. */
static inline const char *db_bool(bool value)
{
    return value ? "t" : "f";
}

/* params are text, copied, as many as the statement has. */
void db_run(struct db *db, const struct db_statement *statement, const char *const *params,
            db_done_fn done, void *arg);
/* Listens for ever, on a connection of its own. channel is borrowed, a plain identifier. At most 8
 * listeners. */
void db_listen(struct db *db, const char *channel, db_notify_fn fn, void *arg);
/* Calls fn when db_ready() has changed. At most 8 watchers. */
void db_watch(struct db *db, db_watch_fn fn, void *arg);

/* How a connection stands; lane: "ask", "change", "read" or "listen", or "leaving" for one that was
 * replaced. */
struct db_connection_look;
/* Calls fn for every connection, for those who look into the process. */
void db_each(const struct db *db,
             void (*fn)(void *arg, const char *lane, const struct db_connection_look *look),
             void *arg);

#endif
