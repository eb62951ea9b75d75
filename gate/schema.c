#include "gate/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

extern const char gate_schema_sql[];

/* The lock makes replicas that start together take turns. */
static const char begin[] =
    "SELECT pg_advisory_xact_lock(7207105);"
    "SET LOCAL client_min_messages = warning;"
    "SET flagger_gate.version = '%d';"
    "CREATE TABLE IF NOT EXISTS flagger_gate_schema ("
    "  version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());"
    "DO $$ BEGIN"
    "  IF (SELECT max(version) FROM flagger_gate_schema) > %d THEN"
    "    RAISE EXCEPTION 'the gate tables have version %%, this program knows version %d: use a "
    "newer flagger-gate',"
    "      (SELECT max(version) FROM flagger_gate_schema);"
    "  END IF;"
    "END $$;";

static void add_version(struct buf *out, int version, const char *text, size_t len)
{
    buf_printf(out,
               "DO $upgrade$ BEGIN IF NOT EXISTS (SELECT FROM flagger_gate_schema WHERE version = "
               "%d) THEN EXECUTE $version$",
               version);
    buf_add(out, text, len);
    buf_printf(out,
               "$version$; INSERT INTO flagger_gate_schema (version) VALUES (%d); END IF; END "
               "$upgrade$;",
               version);
}

const char *schema_script(struct arena *arena)
{
    static const char mark[] = "\n-- version ";
    struct buf out;

    buf_init(&out, 1024 * 1024);
    buf_printf(&out, begin, SCHEMA_VERSION, SCHEMA_VERSION, SCHEMA_VERSION);
    for (const char *at = strstr(gate_schema_sql, mark), *next; at; at = next) {
        next = strstr(at + 1, mark);
        const char *text = strchr(at + 1, '\n');
        size_t len = next ? (size_t)(next - text) : strlen(text);
        add_version(&out, (int)strtol(at + sizeof(mark) - 1, NULL, 10), text, len);
    }
    const char *script = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    return script;
}
