/*
 * GET /v1/events: what happens to the gates, as server-sent events (WHATWG HTML).
 *
 *   event: change    {"seq", "action", ...}, the entry of the history; id: SEQ
 *   event: wait      {"namespace", "name"}, a Canary whose waits have changed
 *   event: database  {"ready": bool}, first of all, and whenever that changes
 *
 * A client gets every change after the one it begins with, once, in the order of the history:
 * `after` says which, or the latest one. It comes from the database, whichever replica made it. A
 * client that takes its bytes slowly reads on from the database, at its own pace; one that does not
 * take within half a minute what waits for it is cut off. A comment every fifteen seconds shows
 * both sides that the other is there, and after an hour a stream ends: whoever resumes it has to be
 * admitted again. Before anything is sent, credentials that are worth nothing any more end it, and
 * what is of a namespace that they do not reach is left out.
 */
#ifndef GATE_FEED_H
#define GATE_FEED_H

#include "gate/access/identity.h"
#include "gate/db/db.h"
#include "net/server/server.h"

enum { FEED_MAX_CLIENTS = 256 };

extern const struct db_statement *const feed_statements[]; /* for db_options */

struct feed;

/* Listens to the database at once; db must live as long, or answer its last queries before. */
struct feed *feed_new(struct loop *loop, struct db *db, const struct identities *identities);
/* For a shutdown: ends all streams, takes no more. */
void feed_stop(struct feed *feed);
void feed_free(struct feed *feed); /* after db_free(); NULL is allowed */

/* Answers a request that was admitted as `identity`: a stream, or 429 when there are
 * FEED_MAX_CLIENTS already. after: the entry that the client has seen last, -1: it begins with the
 * next one. */
void feed_serve(struct feed *feed, struct http_conn_request *req, const struct identity *identity,
                int64_t after);

/* How the feed stands, for those who look into the process. */
struct feed_look {
    int clients, behind, waiting; /* all; that read from the database; whose bytes wait */
    int64_t seq;                  /* the last entry that was told, -1: none was read yet */
};
void feed_look(const struct feed *feed, struct feed_look *out);

#endif
