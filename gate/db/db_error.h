/*
 * Errors of PostgreSQL as errors of the API.
 *
 * A violated rule of schema.sql raises SQLSTATE FGnnn: nnn is the HTTP status, the message a
 * sentence for the user. Everything else (time-outs, deadlocks, a full disk) is temporary:
 * ERR_RETRY with status 503.
 */
#ifndef GATE_DB_ERROR_H
#define GATE_DB_ERROR_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/err.h"

/* sqlstate and message may be NULL, as from libpq. Never ERR_OK. */
enum err db_error_from(const char *sqlstate, const char *message, struct errinfo *info);
/* The same for a result; ERR_OK if it is not an error. */
enum err db_error(const PGresult *result, struct errinfo *info);
/* True if only a new connection helps: tables or a prepared statement have changed, or the database
 * has become read-only. */
bool db_error_wants_reconnect(const char *sqlstate);

/* Replaces the line ends in a message of libpq. */
void db_error_one_line(char *text);

#endif
