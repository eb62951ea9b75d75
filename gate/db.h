/*
 * A PostgreSQL connection on the loop: pipelined queries, reconnecting for ever, never blocking.
 *
 *   DOWN -> CONNECTING -> PREPARING (schema) -> READY -> DOWN (back-off 0.1 s to 2 s) -> ...
 *
 * Queries are taken only while READY: without its database the caller is told at once. One in
 * flight when the connection is lost, or without an answer for DB_QUERY_TIMEOUT_MS, fails with
 * ERR_RETRY: it may have happened.
 */
#ifndef GATE_DB_H
#define GATE_DB_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/err.h"
#include "net/loop.h"

enum {
    DB_QUERY_TIMEOUT_MS = 5000,
    DB_CONNECT_TIMEOUT_MS = 5000,
    DB_MAX_PARAMS = 16,
    DB_MAX_IN_FLIGHT = 1024
};

struct db;

/* result: PGRES_TUPLES_OK or PGRES_COMMAND_OK when err is ERR_OK, else NULL; borrowed. Exactly
 * once, never before db_query() has returned. */
typedef void (*db_done_fn)(void *arg, enum err err, const struct errinfo *info, PGresult *result);

/* dsn: libpq connection string or URL that resolve_check() has passed. schema_sql: run in one
 * transaction on every new connection, so it must be idempotent; both are borrowed. Begins to
 * connect. */
struct db *db_new(struct loop *loop, const char *dsn, const char *schema_sql);
/* For a shutdown: queries in flight and later ones fail, nothing keeps the loop alive any more. */
void db_close(struct db *db);
void db_free(struct db *db); /* after the loop has ended, or after db_close() */
bool db_ready(const struct db *db);
/* Why it is not ready, one sentence without the password; "" when it is. */
const char *db_trouble(const struct db *db);
/* params are text, copied. */
void db_query(struct db *db, const char *sql, int n_params, const char *const *params,
              db_done_fn done, void *arg);

/* Which connections run a statement: checks never wait behind a change. */
enum db_lane { DB_ASK, DB_CHANGE };

struct db_statement {
    const char *name, *sql;
    int n_params;
    enum db_lane lane;
};

/* A rule that was broken (SQLSTATE FGnnn) gives the HTTP status nnn in info->status and its
 * sentence; every other failure 503. */
void db_run(struct db *db, const struct db_statement *statement, const char *const *params,
            db_done_fn done, void *arg);

#endif
