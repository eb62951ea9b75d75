#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/db/db_connection_internal.h"
#include "gate/db/db_error.h"
#include "gate/db/schema.h"

/*
 * The limits keep a pipeline from standing still behind one statement; a connection that was given
 * up is noticed (from PostgreSQL 14 on, on Linux), so that what waits in it does not happen much
 * later. flagger_gate.version tells the triggers of schema.sql that a program of ours writes. An
 * answered close must survive a crash of the server, whatever its default is.
 */
static const char session_sql[] =
    "SELECT set_config('statement_timeout', '5s', false), set_config('lock_timeout', '3s', false),"
    " set_config('idle_in_transaction_session_timeout', '10s', false),"
    " CASE WHEN current_setting('client_connection_check_interval', true) IS NOT NULL"
    "  AND version() LIKE '%%linux%%'"
    "  THEN set_config('client_connection_check_interval', '1s', false) END,"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('client_min_messages', 'warning', false), set_config('TimeZone', 'UTC', false),"
    " set_config('DateStyle', 'ISO', false), set_config('jit', 'off', false),"
    " set_config('flagger_gate.version', '%d', false),"
    " set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit')"
    "  IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false);"
    "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean, (%s)";

static void run_script(struct db_connection *c, enum step step, const char *sql)
{
    c->step = step;
    c->since_ms = clock_monotonic_ms();
    if (!PQsendQuery(c->conn, sql))
        connection_lose(c, PQerrorMessage(c->conn));
    else
        connection_flush(c);
}

void db_prepare_start(struct db_connection *c)
{
    char sql[sizeof(session_sql) + 200];
    connection_set_state(c, DB_PREPARING);
    PQsetnonblocking(c->conn, 1);
    snprintf(sql, sizeof(sql), session_sql, schema_version(c->options.db->schema),
             schema_probe_sql);
    run_script(c, STEP_SESSION, sql);
}

static void on_prepared(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    struct db_connection *c = arg;
    (void)result;
    if (c->state == DB_PREPARING && err != ERR_OK)
        connection_lose(c, info->text);
}

static void on_all_prepared(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    struct db_connection *c = arg;
    on_prepared(arg, err, info, result);
    if (c->state != DB_PREPARING)
        return;
    connection_set_state(c, DB_READY);
    c->wait_ms = CONNECTION_FIRST_WAIT_MS;
    if (c->options.channels)
        c->options.events->notified(c->options.arg, NULL, NULL);
}

/* In the pipeline, all at once. */
static void prepare_statements(struct db_connection *c)
{
    const struct db_options *db = c->options.db;
    c->step = STEP_STATEMENTS;
    c->since_ms = clock_monotonic_ms();
    bool ok = PQenterPipelineMode(c->conn);
    if (!ok)
        connection_lose_soon(c, PQerrorMessage(c->conn));
    for (const char *const *channel = c->options.channels; ok && channel && *channel; channel++)
        ok = connection_send_listen(c, *channel, on_prepared);
    for (size_t i = 0; !c->options.channels && db->statements[i]; i++)
        for (const struct db_statement *const *s = db->statements[i]; ok && *s; s++)
            if ((*s)->lane == c->options.lane)
                ok = connection_sent(c, PQsendPrepare(c->conn, (*s)->name, (*s)->sql, 0, NULL),
                                     NULL, on_prepared, c);
    if (ok)
        (void)connection_send_text(c, "SELECT 1", on_all_prepared);
}

static bool is_true(const PGresult *result, int column)
{
    return PQntuples(result) == 1 && PQnfields(result) > column &&
           strcmp(PQgetvalue(result, 0, column), "t") == 0;
}

static void on_session(struct db_connection *c)
{
    bool standby = is_true(c->last, 0), read_only = is_true(c->last, 1);
    const char *encoding = PQparameterStatus(c->conn, "server_encoding");
    if (standby || read_only) {
        c->silent = (c->silent + 1) % 1000; /* another of several hosts may be the one */
        connection_lose(
            c, standby ? "the server is a standby, whose answers may be old: expected the primary"
                       : "it is read-only: expected a server that can be written to");
    } else if (encoding && strcmp(encoding, "UTF8") != 0) {
        char why[120];
        snprintf(why, sizeof(why),
                 "its encoding is %.40s, which cannot hold every name: expected UTF8", encoding);
        connection_lose(c, why);
    } else if (is_true(c->last, 2)) {
        run_script(c, STEP_VERSIONS, schema_rows_sql);
    } else {
        run_script(c, STEP_LOCK, schema_lock_sql);
    }
}

static void on_versions(struct db_connection *c)
{
    struct errinfo info = {0};
    bool missing = false;
    if (schema_judge(c->options.db->schema, c->last, &missing, &info) != ERR_OK) {
        connection_lose(c, info.text);
    } else if (c->step == STEP_LOCK) {
        char *sql = schema_upgrade_sql(c->options.db->schema, c->last);
        if (missing)
            log_info("schema_upgrade", NULL, "the gate tables are brought up to this program",
                     LOG_INT("version", schema_version(c->options.db->schema)));
        run_script(c, STEP_UPGRADE, sql);
        free(sql);
    } else if (missing) {
        run_script(c, STEP_LOCK, schema_lock_sql);
    } else {
        prepare_statements(c);
    }
}

static void on_script(struct db_connection *c)
{
    switch (c->step) {
    case STEP_SESSION:
        on_session(c);
        break;
    case STEP_VERSIONS:
    case STEP_LOCK:
        on_versions(c);
        break;
    case STEP_UPGRADE:
        prepare_statements(c);
        break;
    case STEP_STATEMENTS:
        break;
    }
}

/* Keeps the last result of a script; it is whole when NULL comes. */
void db_prepare_step(struct db_connection *c)
{
    if (!connection_consume(c)) {
        connection_lose(c, PQerrorMessage(c->conn));
        return;
    }
    while (!PQisBusy(c->conn)) {
        PGresult *result = PQgetResult(c->conn);
        if (!result) {
            on_script(c);
            return;
        }
        struct errinfo info = {0};
        PQclear(c->last);
        c->last = result;
        if (db_error(result, &info) != ERR_OK) {
            connection_lose(c, info.text);
            return;
        }
    }
    connection_flush(c);
}
