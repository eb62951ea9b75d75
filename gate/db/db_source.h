/*
 * Where the connection string comes from: the command line or the environment, or a file, as of a
 * mounted Secret, that may change at any time. The content of a file that cannot be read or
 * understood any more is not taken: the last good one stays, and a warning is logged once.
 */
#ifndef GATE_DB_SOURCE_H
#define GATE_DB_SOURCE_H

#include <stdbool.h>

#include "base/err.h"

struct db_source;

/* file, when it is given, beats dsn; both are borrowed and may be NULL. ERR_INVALID: no connection
 * string of libpq; the sentence shows nothing of it. ERR_NOT_FOUND, ERR_DENIED: of the file. */
enum err db_source_new(const char *dsn, const char *file, struct db_source **out,
                       struct errinfo *ei) MUST_USE;
void db_source_free(struct db_source *source); /* NULL is allowed */

/* Whether the connection string stands in the arguments of the process, where every user of the
 * machine can read it, and has a password in it. dsn may be NULL. */
bool db_source_shows_password(const char *dsn, int argc, char *const *argv);

/* Looks at the file. Grows with every change of the connection string; begins with 1. */
unsigned db_source_look(struct db_source *source);
/* As it was at the last look; valid until the next. */
const char *db_source_dsn(const struct db_source *source);
unsigned db_source_generation(const struct db_source *source);

#endif
