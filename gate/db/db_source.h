/*
 * Source of the connection string: the command line, the environment, or a file such as a mounted
 * Secret, which may change at any time. If the file becomes unreadable or invalid, the last good
 * string is kept and a warning is logged once.
 */
#ifndef GATE_DB_SOURCE_H
#define GATE_DB_SOURCE_H

#include <stdbool.h>

#include "base/err.h"

struct db_source;

/* file takes precedence over dsn; both are borrowed and may be NULL. ERR_INVALID if libpq cannot
 * parse the connection string, which the message does not show. ERR_NOT_FOUND, ERR_DENIED: of the
 * file. */
enum err db_source_new(const char *dsn, const char *file, struct db_source **out,
                       struct errinfo *ei) MUST_USE;
void db_source_free(struct db_source *source); /* NULL is allowed */

/* True if the connection string is in the arguments of the process, which every user of the machine
 * can read, and contains a password. dsn may be NULL. */
bool db_source_shows_password(const char *dsn, int argc, char *const *argv);

/* Reads the file again. Returns a number that grows with each change of the connection string, from
 * 1. */
unsigned db_source_poll(struct db_source *source);
/* As of the last poll; valid until the next. */
const char *db_source_dsn(const struct db_source *source);
unsigned db_source_generation(const struct db_source *source);

#endif
