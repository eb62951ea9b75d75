#include "gate/gates.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/*
 * Runs on every new connection, as one transaction. The lock makes two replicas that start together
 * take turns. A version the database has and we do not know means that a newer program was here:
 * better no gate than a wrong one.
 */
const char gates_schema[] =
    "SELECT pg_advisory_xact_lock(7207105);"
    "SET LOCAL client_min_messages = warning;"
    "CREATE TABLE IF NOT EXISTS flagger_gate_schema ("
    "  version integer PRIMARY KEY,"
    "  applied timestamptz NOT NULL DEFAULT now());"
    "DO $$ BEGIN"
    "  IF (SELECT max(version) FROM flagger_gate_schema) > 1 THEN"
    "    RAISE EXCEPTION 'the gate tables have version %, this program knows version 1: use a "
    "newer flagger-gate',"
    "      (SELECT max(version) FROM flagger_gate_schema);"
    "  END IF;"
    "  IF NOT EXISTS (SELECT FROM flagger_gate_schema WHERE version = 1) THEN"
    "    CREATE TABLE flagger_gates ("
    "      kind text NOT NULL CHECK (kind IN ('gate', 'rollback')),"
    "      namespace text NOT NULL,"
    "      name text NOT NULL,"
    "      open boolean NOT NULL,"
    "      changed timestamptz NOT NULL DEFAULT now(),"
    "      PRIMARY KEY (kind, namespace, name));"
    "    INSERT INTO flagger_gate_schema (version) VALUES (1);"
    "  END IF;"
    "END $$;";

static const char *const kinds[] = {[GATE_CONFIRM] = "gate", [GATE_ROLLBACK] = "rollback"};

struct asked {
    gates_done_fn done;
    void *arg;
};

static struct asked *asked_new(gates_done_fn done, void *arg)
{
    struct asked *asked = heap_alloc(sizeof(*asked));
    *asked = (struct asked){.done = done, .arg = arg};
    return asked;
}

/* Both statements give the row's `open`, or no row. */
static void on_open(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    struct asked *asked = arg;
    bool open =
        err == ERR_OK && PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), "t") == 0;
    asked->done(asked->arg, err, info, open);
    free(asked);
}

void gates_check(struct db *db, enum gate_kind kind, const char *namespace_, const char *name,
                 gates_done_fn done, void *arg)
{
    const char *const params[] = {kinds[kind], namespace_, name};
    db_query(db, "SELECT open FROM flagger_gates WHERE kind = $1 AND namespace = $2 AND name = $3",
             3, params, on_open, asked_new(done, arg));
}

void gates_set(struct db *db, enum gate_kind kind, const char *namespace_, const char *name,
               bool open, gates_done_fn done, void *arg)
{
    const char *const params[] = {kinds[kind], namespace_, name, open ? "t" : "f"};
    db_query(
        db,
        "INSERT INTO flagger_gates (kind, namespace, name, open) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (kind, namespace, name) DO UPDATE SET open = excluded.open, changed = now()"
        " RETURNING open",
        4, params, on_open, asked_new(done, arg));
}

struct listed {
    gates_list_fn done;
    void *arg;
};

static void on_list(void *arg, enum err err, const struct errinfo *info, PGresult *result)
{
    struct listed *listed = arg;
    listed->done(listed->arg, err, info, err == ERR_OK ? PQgetvalue(result, 0, 0) : NULL);
    free(listed);
}

void gates_list(struct db *db, gates_list_fn done, void *arg)
{
    struct listed *listed = heap_alloc(sizeof(*listed));
    *listed = (struct listed){.done = done, .arg = arg};
    db_query(db,
             "SELECT coalesce(json_agg(g), '[]') FROM (SELECT kind, namespace, name, open, changed"
             " FROM flagger_gates ORDER BY namespace, name, kind LIMIT 1000) g",
             0, NULL, on_list, listed);
}
