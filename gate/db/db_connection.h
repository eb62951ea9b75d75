/*
 * One PostgreSQL connection on the loop: pipelined, prepared statements, reconnects forever.
 *
 *   DOWN -> CONNECTING (names, TLS, password) -> PREPARING (session, tables, statements) -> READY
 *     ^                                                                                     |
 *     +----------------------- back-off 0.1 s to 2 s ---------------------------------------+
 *
 * A server in recovery or read-only mode is refused: its data may be stale. The connection string
 * is read again for each attempt.
 */
#ifndef GATE_DB_CONNECTION_H
#define GATE_DB_CONNECTION_H

#include <stdint.h>

#include "base/machine.h"
#include "gate/db/db.h"

struct db_connection;

enum db_state { DB_DOWN, DB_CONNECTING, DB_PREPARING, DB_READY, DB_STATES };
extern const struct machine db_machine;

/* Events for the owner, from the loop or from inside a call. The owner must not free the connection
 * in them. */
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
/* Answers everything in flight with err; nothing of the connection is on the loop afterwards. */
void db_connection_close(struct db_connection *connection, enum err err,
                         const struct errinfo *info);
/* Closes it first if necessary, with ERR_CANCELLED. NULL is allowed. */
void db_connection_free(struct db_connection *connection);

enum db_state db_connection_state(const struct db_connection *connection);
/* Ready, and not about to reconnect. */
bool db_connection_takes(const struct db_connection *connection);
int db_connection_in_flight(const struct db_connection *connection);
/* Snapshot for /debug. Times are monotonic; strings are borrowed. */
struct db_connection_snapshot {
    const char *state;   /* "ready", ... */
    int64_t since_ms;    /* since when in this state */
    int in_flight;       /* queries */
    int64_t oldest_ms;   /* when the oldest query in flight was sent; 0 if none */
    const char *leaving; /* reason to reconnect after the queries in flight; NULL if none */
};
void db_connection_snapshot(const struct db_connection *connection,
                            struct db_connection_snapshot *out);
/* Generation of the connection string that it has connected with; 0 if not connected yet. */
unsigned db_connection_generation(const struct db_connection *connection);

/* Requires db_connection_takes(). False if the query could not be sent; done is not called. */
bool db_connection_run(struct db_connection *connection, const struct db_statement *statement,
                       const char *const *params, db_done_fn done, void *arg) MUST_USE;
/* Listens to one more channel. Without effect unless ready: on connecting it listens to all.
 * notified(channel, NULL) reports that listening has begun. */
void db_connection_listen(struct db_connection *connection, const char *channel);
/* Called by a timer of the owner: drops a connection that does not answer. */
void db_connection_check(struct db_connection *connection);

#endif
