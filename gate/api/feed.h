/*
 * GET /v1/events: changes of the gates as server-sent events (WHATWG HTML).
 *
 *   event: change    {"seq", "action", ...}, the entry of the history; id: SEQ
 *   event: wait      {"namespace", "name"}, a Canary whose waits have changed
 *   event: database  {"ready": bool}, first of all, and on every change
 *
 * A client gets every change after `after`, or after the latest one, once, in the order of the
 * history, including those of other replicas. A slow client reads from the database at its own
 * pace; it is disconnected if nothing of its queue is sent within half a minute. A comment every
 * fifteen seconds keeps the connection alive. A stream ends after an hour, so that clients are
 * admitted again, and as soon as its credentials are revoked. Entries of namespaces outside the
 * client's role are omitted.
 */
#ifndef GATE_FEED_H
#define GATE_FEED_H

#include "gate/access/identity.h"
#include "gate/db/db.h"
#include "net/server/server.h"

enum { FEED_MAX_CLIENTS = 256 };

struct feed;

/* Begins to listen; db must live as long, or answer its last queries before. */
struct feed *feed_new(struct loop *loop, struct db *db, const struct identities *identities);
/* For a shutdown: ends all streams and refuses new ones. */
void feed_stop(struct feed *feed);
void feed_free(struct feed *feed); /* after db_free(); NULL is allowed */

/* Answers a request that was admitted as `identity`: a stream, or 429 if there are
 * FEED_MAX_CLIENTS, or if its name has three times the number of free places. after: the last entry
 * that the client has, -1 to begin with the next one. */
void feed_serve(struct feed *feed, struct http_conn_request *req, const struct identity *identity,
                int64_t after);

/* Snapshot for /debug. */
struct feed_snapshot {
    int clients, behind, waiting; /* all; reading from the database; with a queue */
    int64_t seq;                  /* last entry sent, -1 if none was read yet */
};
void feed_snapshot(const struct feed *feed, struct feed_snapshot *out);

#endif
