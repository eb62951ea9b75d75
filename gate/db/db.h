/*
 * PostgreSQL for the gate: a small pool of connections on the loop that never blocks. There are
 * three lanes, so that checks do not wait behind changes that wait for a row, and neither waits
 * behind long lists. The lane for lists has few places, so that readers cannot overload the
 * database.
 *
 * A query goes to the ready connection of its lane with the fewest queries in flight; it fails at
 * once if none is ready. Queries in one lane are not ordered. A query fails with ERR_RETRY if its
 * connection is lost or it has no answer after DB_QUERY_TIMEOUT_MS: it may have been executed.
 */
#ifndef GATE_DB_H
#define GATE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct arena;
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
 * The rows of an answer. Values are PostgreSQL's text format, borrowed like the rows; row and
 * column count from 0.
 */
struct db_rows;
int db_count(const struct db_rows *rows);
bool db_is_null(const struct db_rows *rows, int row, int column);
/* "" if the value is null. */
const char *db_value(const struct db_rows *rows, int row, int column);
size_t db_value_len(const struct db_rows *rows, int row, int column);
/* 0 if the value is null or not a number. */
int64_t db_int(const struct db_rows *rows, int row, int column);
/* The value of a boolean; false if it is null. */
bool db_true(const struct db_rows *rows, int row, int column);

/*
 * rows: the answer if err is ERR_OK, else NULL; borrowed. Called exactly
 * once, never before db_run() has returned. info->status is the HTTP status of a failure: that of
 * the violated rule (SQLSTATE FGnnn), or 503.
 */
typedef void (*db_done_fn)(void *arg, enum err err, const struct errinfo *info,
                           const struct db_rows *rows);
/* payload is NULL when listening has begun, also after a reconnect: notifications may have been
 * missed. */
typedef void (*db_notify_fn)(void *arg, const char *payload);
typedef void (*db_watch_fn)(void *arg, bool ready);

struct db_options {
    struct db_source *source;
    const struct schema *schema;
    /* All statements: a NULL-ended list of NULL-ended lists. */
    const struct db_statement *const *const *statements;
    /* Half of them for DB_ASK and half for DB_CHANGE, from 2 to DB_MAX_CONNECTIONS; 0 means 4.
     * One more is for DB_READ, and another one listens. */
    int connections;
};

/* options and everything in it are borrowed. Begins to connect. */
struct db *db_new(struct loop *loop, const struct db_options *options);
/* For a shutdown: waits for queries in flight, then closes. */
void db_drain(struct db *db);
/* Fails queries in flight and all later ones; nothing keeps the loop alive afterwards. */
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
 * one. Times are monotonic; strings are borrowed. */
struct db_connection_snapshot {
    const char *state;   /* "ready", ... */
    int64_t since_ms;    /* since when in this state */
    int in_flight;       /* queries */
    int64_t oldest_ms;   /* when the oldest query in flight was sent; 0 if none */
    const char *leaving; /* reason to reconnect after the queries in flight; NULL if none */
};
/* Calls fn for every connection, for /debug. */
void db_each(const struct db *db,
             void (*fn)(void *arg, const char *lane, const struct db_connection_snapshot *snapshot),
             void *arg);

/*
 * --- Source of the connection string: the command line, the environment, or a file such as a
 * mounted Secret, which may change at any time. If the file becomes unreadable or invalid, the last
 * good string is kept and a warning is logged once.
 */

/* file takes precedence over dsn; both are borrowed and may be NULL. ERR_INVALID if libpq cannot
 * parse the connection string, which the message does not show. ERR_NOT_FOUND, ERR_DENIED: of the
 * file. */
enum err db_source_new(const char *dsn, const char *file, struct db_source **out,
                       struct errinfo *ei) MUST_USE;
void db_source_free(struct db_source *source); /* NULL is allowed */

/* True if the connection string is in the arguments of the process, which every user of the machine
 * can read, and contains a password. dsn may be NULL. */
bool db_source_shows_password(const char *dsn, int argc, char *const *argv);

/*
 * --- Versions of the gate's tables: those in the database, and the upgrade to ours.
 *
 * schema.sql, and the files schema_N.sql after it, are a list of numbered versions; each begins
 * with a line `-- version N`. Missing versions are applied together, in one transaction under an
 * advisory lock, so replicas that start at the same time take turns, and a failed upgrade leaves
 * nothing behind. If no version is missing, nothing is locked or written, so a role that may not
 * create tables is enough.
 *
 * A database may be ahead of the program: the column `oldest` in the row of a version names the
 * oldest program that it still serves (such a version writes its row itself). Nothing here accesses
 * the database; db_connection does.
 */
extern const char gate_schema_sql[]; /* schema.sql and schema_N.sql, joined by the build */

/* Owned by the arena; sql is borrowed and must live as long as the result. Aborts if the
 * versions do not count up from 1. */
struct schema *schema_new(struct arena *arena, const char *sql);
int schema_version(const struct schema *schema); /* the newest */

/* --- a connection without a loop, for commands that read a lot and may wait */

struct db_reader;
/* program: the name shown by the server. ERR_RETRY with libpq's error if it cannot connect; *out
 * is set in any case. */
enum err db_reader_open(const struct db_source *source, const char *program, struct db_reader **out,
                        struct errinfo *ei) MUST_USE;
/* Calls fn with one row at a time, so that memory does not grow with the answer. fn NULL: a
 * statement without rows. ERR_RETRY with the database's error; fn has received the rows before
 * it. */
enum err db_reader_each(struct db_reader *reader, const char *sql,
                        void (*fn)(void *arg, const struct db_rows *row), void *arg,
                        struct errinfo *ei) MUST_USE;
void db_reader_close(struct db_reader *reader); /* NULL is allowed */

#endif
