#include "gate/db/db_error.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

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
