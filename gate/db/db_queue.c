#include "gate/db/db_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/expo.h"
#include "gate/db/db_error.h"

static const double buckets[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                 0.1,    0.25,  0.5,    1,     2.5,  5,     0};
static struct expo_metric durations = {
    .name = "flagger_gate_database_query_duration_seconds",
    .help = "How long queries took from being sent to being committed, by statement",
    .type = EXPO_HISTOGRAM,
    .buckets = buckets,
    .labels = {"statement"}};
static struct expo_metric failures = {
    .name = "flagger_gate_database_query_failures_total",
    .help = "Queries without a result: error (of the database), rule (of the gate, a refusal), "
            "lost (connection, also without an answer in time)",
    .type = EXPO_COUNTER,
    .labels = {"statement", "reason"}};

void db_queue_init(struct db_queue *queue)
{
    *queue = (struct db_queue){0};
    queue->last = &queue->first;
}

void db_queue_push(struct db_queue *queue, const char *name, db_done_fn done, void *arg)
{
    struct db_query *query = heap_alloc(sizeof(*query));
    *query = (struct db_query){.name = name,
                               .done = done,
                               .arg = arg,
                               .sent_at = clock_monotonic_ms(),
                               .sent_ns = uv_hrtime()};
    *queue->last = query;
    queue->last = &query->next;
    queue->count++;
}

static bool failed(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
}

void db_queue_take_result(struct db_queue *queue, PGresult *result)
{
    struct db_query *query = queue->first;
    if (!query || (query->result && (!failed(result) || failed(query->result)))) {
        PQclear(result);
        return;
    }
    PQclear(query->result); /* it has failed after all, at its commit */
    query->result = result;
}

static void free_query(struct db_query *query)
{
    PQclear(query->result);
    free(query);
}

static void count_failure(const struct db_query *query, const char *reason)
{
    if (query->name)
        expo_add(&failures, 1, query->name, reason);
}

const char *db_queue_finish_first(struct db_queue *queue, char sqlstate[6])
{
    struct db_query *query = queue->first;
    struct errinfo info = {0};
    sqlstate[0] = '\0';
    assert(query);
    queue->first = query->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->count--;
    enum err err = db_error(query->result, &info);
    if (err != ERR_OK) {
        const char *state = PQresultErrorField(query->result, PG_DIAG_SQLSTATE);
        snprintf(sqlstate, 6, "%s", state ? state : "XX000");
        count_failure(query, strncmp(sqlstate, "FG", 2) == 0 ? "rule" : "error");
    }
    if (query->name)
        expo_observe(&durations, (double)(uv_hrtime() - query->sent_ns) / 1e9, query->name);
    query->done(query->arg, err, &info, err == ERR_OK ? query->result : NULL);
    free_query(query);
    return sqlstate[0] ? sqlstate : NULL;
}

void db_queue_fail_all(struct db_queue *queue, enum err err, const struct errinfo *info)
{
    struct db_query *query = queue->first;
    db_queue_init(queue);
    while (query) {
        struct db_query *next = query->next;
        count_failure(query, "lost");
        query->done(query->arg, err, info, NULL);
        free_query(query);
        query = next;
    }
}
