/*
 * What an error of PostgreSQL means for the one who asked.
 *
 * A rule of schema.sql that was broken raises SQLSTATE FGnnn: nnn is the HTTP status, the message a
 * sentence for the user. Everything else (time-outs, deadlocks, a full disk) is a failure of the
 * moment: ERR_RETRY with status 503.
 */
#ifndef GATE_DB_ERROR_H
#define GATE_DB_ERROR_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/err.h"

/* sqlstate and message may be NULL, as libpq gives them. Never ERR_OK. */
enum err db_error_from(const char *sqlstate, const char *message, struct errinfo *info);
/* The same for a result; ERR_OK for one that is no error. */
enum err db_error(const PGresult *result, struct errinfo *info);
/* Only a new connection can help: the tables are not those that were prepared for, a prepared
 * statement is gone, or the database has become read-only. */
bool db_error_wants_reconnect(const char *sqlstate);

/* Takes the line ends out of what libpq says. */
void db_error_one_line(char *text);

#endif
