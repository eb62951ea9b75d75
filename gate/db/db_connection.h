/*
 * One PostgreSQL connection on the loop: pipelined, prepared statements, reconnecting for ever.
 *
 *   DOWN -> CONNECTING (names, TLS, password) -> PREPARING (session, tables, statements) -> READY
 *     ^                                                                                     |
 *     +----------------------- back-off 0.1 s to 2 s ---------------------------------------+
 *
 * A server in recovery, or one that is read-only, is refused: what it says may be old. The
 * connection string is read again for each attempt.
 */
#ifndef GATE_DB_CONNECTION_H
#define GATE_DB_CONNECTION_H

#include <stdint.h>

#include "base/machine.h"
#include "gate/db/db.h"

struct db_connection;

enum db_state { DB_DOWN, DB_CONNECTING, DB_PREPARING, DB_READY, DB_STATES };
extern const struct machine db_machine;

/* What happens to it, told to its owner from the loop or from inside a call; the owner must not
 * free the connection there. */
struct db_connection_events {
    void (*changed)(void *arg); /* its state, or whether it takes queries */
    void (*lost)(void *arg, const struct errinfo *why, int64_t retry_ms);
    void (*notified)(void *arg, const char *channel, const char *payload);
};

/* Borrowed, as is all in it. */
struct db_connection_options {
    const struct db_options *db;
    const struct db_connection_events *events;
    void *arg;
    /* One of both: statements of this lane are prepared, or the channels (NULL-ended; the owner may
     * add to them, see db_connection_listen()) are listened to. */
    enum db_lane lane;
    const char *const *channels;
};

/* Begins to connect. */
struct db_connection *db_connection_new(struct loop *loop,
                                        const struct db_connection_options *options);
/* Everything in flight is answered with err; then nothing of it is on the loop any more. */
void db_connection_close(struct db_connection *connection, enum err err,
                         const struct errinfo *info);
/* Closes it first, when that was not done; ERR_CANCELLED then. NULL is allowed. */
void db_connection_free(struct db_connection *connection);

enum db_state db_connection_state(const struct db_connection *connection);
/* Ready, and not about to reconnect. */
bool db_connection_takes(const struct db_connection *connection);
int db_connection_in_flight(const struct db_connection *connection);
/* How it stands, for those who look into the process. Times are monotonic; texts are borrowed. */
struct db_connection_look {
    const char *state;   /* "ready", ... */
    int64_t since_ms;    /* when it came into that state */
    int in_flight;       /* queries */
    int64_t oldest_ms;   /* when the query that has waited longest was sent; 0: none waits */
    const char *leaving; /* why it takes no more and reconnects; NULL: it does not */
};
void db_connection_look(const struct db_connection *connection, struct db_connection_look *out);
/* Which content of the source it has connected with; 0: none yet. */
unsigned db_connection_generation(const struct db_connection *connection);

/* Only when it takes queries. False: it could not be sent, and done is not called. */
bool db_connection_run(struct db_connection *connection, const struct db_statement *statement,
                       const char *const *params, db_done_fn done, void *arg) MUST_USE;
/* Listens to one channel more; of no effect unless it is ready, when it becomes so it listens to
 * all. notified(channel, NULL) says that it has begun. */
void db_connection_listen(struct db_connection *connection, const char *channel);
/* From a timer of the owner: gives up on what does not answer. */
void db_connection_check(struct db_connection *connection);

#endif
