/*
 * The versions of the gate's tables: which are in the database, and what brings it up to ours.
 *
 * schema.sql, and the files schema_N.sql behind it, are a list of numbered versions; a line
 * `-- version N` begins one. Versions that are
 * missing are applied together, in one transaction under an advisory lock, so replicas that start
 * at once take turns, and one that fails leaves nothing behind. When nothing is missing nothing is
 * locked or written: a role that may not create tables will do.
 *
 * A database may be ahead of the program: the row of a version says in `oldest` the oldest program
 * that it still serves (a version that serves any writes its row itself). Nothing here talks to the
 * database; db_connection does.
 */
#ifndef GATE_SCHEMA_H
#define GATE_SCHEMA_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

struct schema;

extern const char gate_schema_sql[]; /* schema.sql and schema_N.sql, made by the build */

/* Owned by the arena; sql is borrowed and must live as long. The versions count up from 1: a script
 * that is none is a bug, and ends the process. */
struct schema *schema_new(struct arena *arena, const char *sql);
int schema_version(const struct schema *schema); /* the newest */

/* Whether the table of versions is there: one row, one boolean column. */
extern const char schema_probe_sql[];
/* Which versions are there, once it is: what schema_judge() reads. */
extern const char schema_rows_sql[];
/* Begins the transaction, waits for the lock, makes the table of versions and reads it as
 * schema_rows_sql does. */
extern const char schema_lock_sql[];

/* *missing: versions have to be applied. ERR_INVALID: the database is too new for this program. */
enum err schema_judge(const struct schema *schema, const PGresult *rows, bool *missing,
                      struct errinfo *ei) MUST_USE;
/* Inside the transaction of schema_lock_sql: applies what is missing in rows, if anything, and
 * commits. On the heap, the caller frees. */
char *schema_upgrade_sql(const struct schema *schema, const PGresult *rows);

#endif
