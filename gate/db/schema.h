/*
 * Versions of the gate's tables: those in the database, and the upgrade to ours.
 *
 * schema.sql, and the files schema_N.sql behind it, are a list of numbered versions; each begins
 * with a line `-- version N`. Missing versions are applied together, in one transaction under an
 * advisory lock, so replicas that start at once take turns, and a failed upgrade leaves nothing
 * behind. When no version is missing nothing is locked or written, so a role that may not create
 * tables is enough.
 *
 * A database may be ahead of the program: the row of a version names in `oldest` the oldest
 * program that it still serves (such a version writes its row itself). Nothing here accesses the
 * database; db_connection does.
 */
#ifndef GATE_SCHEMA_H
#define GATE_SCHEMA_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

struct schema;

extern const char gate_schema_sql[]; /* schema.sql and schema_N.sql, joined by the build */

/* Owned by the arena; sql is borrowed and must live as long. Aborts if the versions do not count up
 * from 1. */
struct schema *schema_new(struct arena *arena, const char *sql);
int schema_version(const struct schema *schema); /* the newest */

/* Selects whether the table of versions exists: one row, one boolean column. */
extern const char schema_probe_sql[];
/* Selects the versions in the database, for schema_judge(), if the table exists. */
extern const char schema_rows_sql[];
/* Begins the transaction, waits for the lock, creates the table of versions and reads it like
 * schema_rows_sql. */
extern const char schema_lock_sql[];

/* *missing: versions have to be applied. ERR_INVALID if the database is too new for this
 * program. */
enum err schema_judge(const struct schema *schema, const PGresult *rows, bool *missing,
                      struct errinfo *ei) MUST_USE;
/* Inside the transaction of schema_lock_sql: applies the versions that rows lacks and commits.
 * Heap; the caller frees. */
char *schema_upgrade_sql(const struct schema *schema, const PGresult *rows);

#endif
