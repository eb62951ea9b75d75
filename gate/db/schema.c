#include "gate/db/db_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { MAX_VERSIONS = 100, MAX_SCRIPT = 1024 * 1024 };

struct version {
    const char *sql;
    size_t len;
};

struct schema {
    int n;
    struct version versions[MAX_VERSIONS + 1]; /* by number */
};

const char schema_probe_sql[] = "SELECT to_regclass('flagger_gate_schema') IS NOT NULL";

/* Version 1 had no column `oldest`; read through JSON, a missing column is null. */
#define ROWS "SELECT version, to_jsonb(s)->>'oldest' AS oldest FROM flagger_gate_schema s"

const char schema_rows_sql[] = ROWS;

/* The number of the lock is that of version 1, so that old and new programs exclude each other.
 * An upgrade may take longer than an ordinary statement, but waits no longer than one for its
 * locks. */
const char schema_lock_sql[] = "BEGIN;"
                               "SET LOCAL statement_timeout = '60s';"
                               "SELECT pg_advisory_xact_lock(7207105);"
                               "CREATE TABLE IF NOT EXISTS flagger_gate_schema ("
                               "  version integer PRIMARY KEY,"
                               "  applied timestamptz NOT NULL DEFAULT now());" ROWS;

/* The number on a line that begins a version, 0 for other lines. */
static int version_of(const char *line)
{
    static const char begin[] = "-- version ";
    if (strncmp(line, begin, sizeof(begin) - 1) != 0)
        return 0;
    long number = strtol(line + sizeof(begin) - 1, NULL, 10);
    return number > 0 && number <= MAX_VERSIONS ? (int)number : 0;
}

struct schema *schema_new(struct arena *arena, const char *sql)
{
    struct schema *schema = ARENA_NEW(arena, struct schema);
    for (const char *line = sql; *line;) {
        const char *end = strchr(line, '\n');
        const char *next = end ? end + 1 : line + strlen(line);
        int number = version_of(line);
        if (number) {
            assert(number == schema->n + 1);
            schema->n = number;
            schema->versions[number].sql = next;
        } else if (schema->n) {
            struct version *version = &schema->versions[schema->n];
            version->len = (size_t)(next - version->sql);
        }
        line = next;
    }
    assert(schema->n > 0);
    return schema;
}

int schema_version(const struct schema *schema)
{
    return schema->n;
}

static int number_at(const PGresult *rows, int row, int column)
{
    return (int)strtol(PQgetvalue(rows, row, column), NULL, 10);
}

enum err schema_judge(const struct schema *schema, const PGresult *rows, bool *missing,
                      struct errinfo *ei)
{
    bool have[MAX_VERSIONS + 1] = {false};
    int newest = 0;
    bool serves = true;
    for (int row = 0; row < PQntuples(rows); row++) {
        int number = number_at(rows, row, 0);
        if (number > 0 && number <= schema->n)
            have[number] = true;
        if (number > schema->n &&
            (PQgetisnull(rows, row, 1) || number_at(rows, row, 1) > schema->n))
            serves = false;
        newest = number > newest ? number : newest;
    }
    if (!serves)
        return err_set(ei, ERR_INVALID,
                       "the gate tables have version %d, this program knows version %d: use a "
                       "newer flagger-gate",
                       newest, schema->n);
    *missing = false;
    for (int number = 1; number <= schema->n; number++)
        *missing = *missing || !have[number];
    return ERR_OK;
}

static bool has(const PGresult *rows, int number)
{
    for (int row = 0; row < PQntuples(rows); row++)
        if (number_at(rows, row, 0) == number)
            return true;
    return false;
}

char *schema_upgrade_sql(const struct schema *schema, const PGresult *rows)
{
    struct buf out;
    buf_init(&out, MAX_SCRIPT);
    for (int number = 1; number <= schema->n; number++) {
        if (has(rows, number))
            continue;
        const struct version *version = &schema->versions[number];
        buf_add(&out, version->sql, version->len);
        /* A version with a value for `oldest` has written its row itself. */
        buf_printf(&out,
                   "\n;INSERT INTO flagger_gate_schema (version) VALUES (%d)"
                   " ON CONFLICT DO NOTHING;\n",
                   number);
    }
    buf_puts(&out, "COMMIT");
    assert(!out.truncated);
    return buf_give(&out);
}
