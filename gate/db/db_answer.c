/* Answers of PostgreSQL: their rows, their errors, and a reader of them without a loop. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "gate/db/db_internal.h"
#include "gate/db/db_source.h"

/* --- rows: a struct db_rows is a PGresult */

static const PGresult *result_of(const struct db_rows *rows)
{
    return (const PGresult *)rows;
}

const struct db_rows *db_rows_of(const PGresult *result)
{
    return (const struct db_rows *)result;
}

int db_count(const struct db_rows *rows)
{
    return PQntuples(result_of(rows));
}

bool db_is_null(const struct db_rows *rows, int row, int column)
{
    return PQgetisnull(result_of(rows), row, column);
}

const char *db_value(const struct db_rows *rows, int row, int column)
{
    return PQgetvalue(result_of(rows), row, column);
}

size_t db_value_len(const struct db_rows *rows, int row, int column)
{
    return (size_t)PQgetlength(result_of(rows), row, column);
}

int64_t db_int(const struct db_rows *rows, int row, int column)
{
    return strtoll(PQgetvalue(result_of(rows), row, column), NULL, 10);
}

bool db_true(const struct db_rows *rows, int row, int column)
{
    return strcmp(PQgetvalue(result_of(rows), row, column), "t") == 0;
}

/* --- errors */

void db_error_one_line(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

/* Status of FGnnn, 0 for any other SQLSTATE. */
static int status_of(const char *sqlstate)
{
    if (!sqlstate || strlen(sqlstate) != 5 || strncmp(sqlstate, "FG", 2) != 0)
        return 0;
    int status = 0;
    for (const char *digit = sqlstate + 2; *digit; digit++) {
        if (*digit < '0' || *digit > '9')
            return 0;
        status = status * 10 + (*digit - '0');
    }
    return status >= 400 && status < 600 ? status : 0;
}

static enum err err_of(int status)
{
    switch (status) {
    case 401:
    case 403:
        return ERR_DENIED;
    case 404:
    case 410:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    case 408:
    case 429:
        return ERR_RETRY;
    default:
        return status < 500 ? ERR_INVALID : ERR_RETRY;
    }
}

enum err db_error_from(const char *sqlstate, const char *message, struct errinfo *info)
{
    int status = status_of(sqlstate);
    enum err err = ERR_RETRY;
    if (status)
        err = err_set(info, err_of(status), "%s", message ? message : "");
    else
        err_set(info, err, "database: %s", message && *message ? message : "no answer");
    db_error_one_line(info->text);
    info->status = status ? status : 503;
    return err;
}

enum err db_error(const PGresult *result, struct errinfo *info)
{
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return ERR_OK;
    if (status == PGRES_PIPELINE_ABORTED)
        return db_error_from(NULL, "another question of this moment has failed, ask again", info);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return db_error_from(PQresultErrorField(result, PG_DIAG_SQLSTATE),
                         message ? message : PQresultErrorMessage(result), info);
}

bool db_error_wants_reconnect(const char *sqlstate)
{
    static const char *const states[] = {
        "42P01", /* undefined table */
        "42883", /* undefined function */
        "42703", /* undefined column */
        "3F000", /* undefined schema */
        "26000", /* the prepared statement does not exist */
        "0A000", /* a cached plan must not change its result type */
        "25006", /* read-only transaction */
    };
    for (size_t i = 0; sqlstate && i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(states[i], sqlstate) == 0)
            return true;
    return false;
}

/* --- reading without a loop */

struct db_reader {
    PGconn *conn;
};

static enum err reader_error(const struct db_reader *reader, struct errinfo *ei)
{
    err_set(ei, ERR_RETRY, "%s", PQerrorMessage(reader->conn));
    db_error_one_line(ei->text);
    return ERR_RETRY;
}

enum err db_reader_open(const struct db_source *source, const char *program, struct db_reader **out,
                        struct errinfo *ei)
{
    /* dbname is the whole connection string and overrides the preceding keys. */
    static const char *const keys[] = {"connect_timeout", "application_name", "dbname", NULL};
    const char *const values[] = {"10", program, db_source_dsn(source), NULL};
    struct db_reader *reader = heap_alloc(sizeof(*reader));

    reader->conn = PQconnectdbParams(keys, values, 1);
    *out = reader;
    return PQstatus(reader->conn) == CONNECTION_OK ? ERR_OK : reader_error(reader, ei);
}

enum err db_reader_each(struct db_reader *reader, const char *sql,
                        void (*fn)(void *arg, const struct db_rows *row), void *arg,
                        struct errinfo *ei)
{
    enum err err = ERR_OK;

    if (!PQsendQueryParams(reader->conn, sql, 0, NULL, NULL, NULL, NULL, 0) ||
        !PQsetSingleRowMode(reader->conn))
        return reader_error(reader, ei);
    for (PGresult *result; (result = PQgetResult(reader->conn));) {
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_SINGLE_TUPLE && fn)
            fn(arg, db_rows_of(result));
        else if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && err == ERR_OK)
            err = reader_error(reader, ei);
        PQclear(result);
    }
    return err;
}

void db_reader_close(struct db_reader *reader)
{
    if (!reader)
        return;
    PQfinish(reader->conn);
    free(reader);
}
