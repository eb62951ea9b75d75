/* The queries of one connection that wait for their answers, in the order they were sent. */
#ifndef GATE_DB_QUEUE_H
#define GATE_DB_QUEUE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "gate/db/db.h"

struct db_query {
    struct db_query *next;
    const char *name; /* of the statement, for the metrics; NULL: none kept */
    db_done_fn done;
    void *arg;
    int64_t sent_at;
    uint64_t sent_ns;
    PGresult *result; /* has come; the pipeline's sync, which is the commit, has not yet */
};

struct db_queue {
    struct db_query *first, **last;
    int count;
};

void db_queue_init(struct db_queue *queue);
void db_queue_push(struct db_queue *queue, const char *name, db_done_fn done, void *arg);
/* Keeps the result for the first query: its first one, unless an error follows. Takes it. */
void db_queue_take_result(struct db_queue *queue, PGresult *result);
/* The sync of the first query (there must be one) has come: takes it out and answers it. Returns
 * its SQLSTATE, NULL when it has succeeded; into `sqlstate`, of 6 bytes. */
const char *db_queue_finish_first(struct db_queue *queue, char sqlstate[6]);
/* Answers all and empties it. A callback may push again, to the queue that is empty then. */
void db_queue_fail_all(struct db_queue *queue, enum err err, const struct errinfo *info);

#endif
