/*
 * The insides of a connection, shared by
 *
 *   db_connection.c  connecting, and the owner's side; uses the others
 *   db_prepare.c     what makes a new connection ready: session, tables, statements; uses the wire
 *   db_wire.c        the socket, the pipeline, and losing them
 */
#ifndef GATE_DB_CONNECTION_INTERNAL_H
#define GATE_DB_CONNECTION_INTERNAL_H

#include "gate/db/db_connection.h"
#include "gate/db/db_queue.h"

enum { CONNECTION_FIRST_WAIT_MS = 100, CONNECTION_UPGRADE_MS = 65000 };

/* The parts of PREPARING. The first four are scripts outside the pipeline. */
enum step { STEP_SESSION, STEP_VERSIONS, STEP_LOCK, STEP_UPGRADE, STEP_STATEMENTS };

struct db_connection {
    struct loop *loop;
    struct db_connection_options options;
    enum db_state state;
    enum step step;
    uv_poll_cb on_poll;         /* something came on the socket; data is NULL once it is given up */
    void (*connect)(void *arg); /* begins to connect; arg is the connection */
    char *dsn;                  /* while CONNECTING */
    struct resolve *resolve;    /* the first part of CONNECTING */
    PGconn *conn;
    PGresult *last;  /* of the script that runs */
    uv_poll_t *poll; /* on the heap: it outlives the connection until its close callback */
    int poll_fd, poll_events;
    uv_prepare_t *turn; /* on the heap as well; runs while something was sent in this turn */
    bool unsynced;      /* queries were sent since the last sync */
    struct timer *retry;
    struct timer *failing; /* the next turn of the loop gives the connection up, because of: */
    struct errinfo why;
    /* Takes no more queries, and reconnects when those in flight are done, because of this. */
    const char *leaving;
    int64_t wait_ms, since_ms, answered_ms; /* back-off; since when this state, the last answer */
    struct db_queue queue;
    int silent; /* attempts that another host may do better */
    unsigned generation;
};

void connection_set_state(struct db_connection *c, enum db_state state);
/* Forgets all but the queries that wait: DOWN, and nothing of it is on the loop any more. */
void connection_drop(struct db_connection *c);
/* Closes it, tells the owner and all that wait, and begins the back-off. */
void connection_lose(struct db_connection *c, const char *why);
/* The same in the next turn of the loop: for those that are called from outside, who must not see
 * their callbacks called meanwhile. */
void connection_lose_soon(struct db_connection *c, const char *why);
/* Waits for the socket. libpq may change it at every step of connecting: it is looked at anew. */
void connection_poll(struct db_connection *c, int events);
/* Sends what it can, and waits for the socket. */
void connection_flush(struct db_connection *c);
/* Reads what has come; false: the connection is broken. */
bool connection_consume(struct db_connection *c);
/* Answers those whose results have come. A callback may close the connection: conn is NULL then. */
void connection_read_answers(struct db_connection *c);

/* Keeps who waits for what was sent (ok: it could be), which leaves at the end of this turn of the
 * loop. False, and lost soon: it could not. */
bool connection_sent(struct db_connection *c, int ok, const char *name, db_done_fn done, void *arg);
/* In the pipeline; done gets the connection as its argument. */
bool connection_send_text(struct db_connection *c, const char *sql, db_done_fn done);
bool connection_send_listen(struct db_connection *c, const char *channel, db_done_fn done);

/* Connected: goes on to PREPARING, and in the end to READY. */
void db_prepare_start(struct db_connection *c);
/* Something has come for a step before STEP_STATEMENTS. */
void db_prepare_step(struct db_connection *c);

#endif
