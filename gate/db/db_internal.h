/*
 * Private to gate/db: connections, errors and host names.
 *
 * One PostgreSQL connection on the loop: pipelined, prepared statements, reconnects forever.
 *
 *   DOWN -> CONNECTING (names, TLS, password) -> PREPARING (session, tables, statements) -> READY
 *     ^                                                                                     |
 *     +----------------------- back-off 0.1 s to 2 s ---------------------------------------+
 *
 * A server in recovery or read-only mode is refused: its data may be stale. The connection string
 * is read again for each attempt.
 */
#ifndef GATE_DB_INTERNAL_H
#define GATE_DB_INTERNAL_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/machine.h"
#include "gate/db/db.h"
#include "net/loop.h"

struct db_connection;

enum db_state { DB_DOWN, DB_CONNECTING, DB_PREPARING, DB_READY, DB_STATES };
extern const struct machine db_machine;

/* Events for the owner, from the loop or from inside a call. The owner must not free the
 * connection in these callbacks. */
struct db_connection_events {
    void (*changed)(void *arg); /* state, or readiness for queries */
    void (*lost)(void *arg, const struct errinfo *why, int64_t retry_ms);
    void (*notified)(void *arg, const char *channel, const char *payload);
};

/* Borrowed, with everything in it. */
struct db_connection_options {
    const struct db_options *db;
    const struct db_connection_events *events;
    void *arg;
    /* One of: the lane with the statements to prepare, or the channels to listen to (NULL-ended;
     * the owner may add to them, see db_connection_listen()). */
    enum db_lane lane;
    const char *const *channels;
};

/* Begins to connect. */
struct db_connection *db_connection_new(struct loop *loop,
                                        const struct db_connection_options *options);
/* Answers everything in flight with err; afterwards the connection has nothing on the loop. */
void db_connection_close(struct db_connection *connection, enum err err,
                         const struct errinfo *info);
/* Closes it first if necessary, with ERR_CANCELLED. NULL is allowed. */
void db_connection_free(struct db_connection *connection);

enum db_state db_connection_state(const struct db_connection *connection);
/* Ready, and not about to reconnect. */
bool db_connection_takes(const struct db_connection *connection);
int db_connection_in_flight(const struct db_connection *connection);
void db_connection_snapshot(const struct db_connection *connection,
                            struct db_connection_snapshot *out);
/* Generation of the connection string that was used to connect; 0 if not connected yet. */
unsigned db_connection_generation(const struct db_connection *connection);

/* Requires db_connection_takes(). False if the query could not be sent; done is not called. */
bool db_connection_run(struct db_connection *connection, const struct db_statement *statement,
                       const char *const *params, db_done_fn done, void *arg) MUST_USE;
/* Listens on one more channel. Has no effect unless ready: on connecting, the connection listens
 * on all channels. notified(channel, NULL) reports that listening has begun. */
void db_connection_listen(struct db_connection *connection, const char *channel);
/* Called by a timer of the owner: drops a connection that does not answer. */
void db_connection_check(struct db_connection *connection);

/*
 * --- errors of PostgreSQL as errors of the API.
 *
 * A violated rule of schema.sql raises SQLSTATE FGnnn: nnn is the HTTP status, the message a
 * sentence for the user. Everything else (time-outs, deadlocks, a full disk) is temporary:
 * ERR_RETRY with status 503.
 */
/* sqlstate and message may be NULL, as from libpq. Never ERR_OK. */
enum err db_error_from(const char *sqlstate, const char *message, struct errinfo *info);
/* The result as rows. */
const struct db_rows *db_rows_of(const PGresult *result);
/* The error of a result; ERR_OK if it is not an error. */
enum err db_error(const PGresult *result, struct errinfo *info);
/* True if only a new connection helps: tables or a prepared statement have changed, or the database
 * has become read-only. */
bool db_error_wants_reconnect(const char *sqlstate);

/* Replaces the line ends in a message of libpq. */
void db_error_one_line(char *text);

/*
 * --- the host names in a libpq connection string, resolved on the loop: libpq itself would block
 * on the name service. libpq still gets every name, for the verification of certificates, and tries
 * the addresses in order.
 */
struct resolve;

/* Replacements for the values in the connection string; comma-separated lists of the same
 * length. All NULL if nothing needs to be replaced (one socket or address, a service file). */
struct resolved {
    const char *host, *hostaddr, *port;
};

/* Called exactly once, never before resolve_start() has returned, and not after resolve_free().
 * `resolved` is valid during the call. ERR_RETRY if no name could be resolved. */
typedef void (*resolve_fn)(void *arg, enum err err, const struct errinfo *info,
                           const struct resolved *resolved);

/*
 * The dsn must have passed resolve_check(). first: index of the first address to try, counted over
 * all hosts, modulo their number; libpq keeps waiting for an address that does not answer.
 */
struct resolve *resolve_start(struct loop *loop, const char *dsn, int first, resolve_fn fn,
                              void *arg);
void resolve_free(struct resolve *resolve); /* NULL is allowed */

/* ERR_INVALID if libpq cannot parse the connection string; the message does not show the string. */
enum err resolve_check(const char *dsn, struct errinfo *ei) MUST_USE;

/* --- db_source.c: the connection string */

/* Reads the file again. Returns a number that grows with each change of the connection string, from
 * 1. */
unsigned db_source_poll(struct db_source *source);
/* As of the last poll; valid until the next. */
const char *db_source_dsn(const struct db_source *source);
unsigned db_source_generation(const struct db_source *source);

/* --- schema.c: versions of the tables; db.h describes them */

/* Selects whether the table of versions exists: one row, one boolean column. */
extern const char schema_probe_sql[];
/* Selects the versions in the database, for schema_judge(), if the table exists. */
extern const char schema_rows_sql[];
/* Begins the transaction, waits for the lock, creates the table of versions and reads it like
 * schema_rows_sql. */
extern const char schema_lock_sql[];

/* *missing: true if versions have to be applied. ERR_INVALID if the database is too new for this
 * program. */
enum err schema_judge(const struct schema *schema, const PGresult *rows, bool *missing,
                      struct errinfo *ei) MUST_USE;
/* Inside the transaction of schema_lock_sql: applies the versions that rows lacks and commits.
 * On the heap; the caller frees it. */
char *schema_upgrade_sql(const struct schema *schema, const PGresult *rows);

#endif
