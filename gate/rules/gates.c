#include "gate/rules/gates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Limits on `waiting` rows being written after the answer, in total and per caller. */
enum { MAX_WAITS_IN_FLIGHT = 32, MAX_WAITS_OF_ONE = 8 };

static const struct db_statement check = {
    .name = "check",
    .sql = "SELECT * FROM flagger_gate_ask_of($1, $2, $3, $4, $5, $6, $7, $8)",
    .n_params = 8,
    .lane = DB_ASK};
/* Reads the approver of an open gate, in a statement of its own: most checks find a closed gate
 * and do not need it. Of several passes the best match counts. Approver names are unverified
 * unless listed in the pass. */
static const struct db_statement approval = {
    .name = "approval",
    .sql = "SELECT (SELECT 'Approved' || "
           "CASE WHEN p.approvers IS NULL THEN ' by the deadline' "
           "WHEN cardinality(p.approvers) > 0 "
           "THEN ' by ' || left(array_to_string(p.approvers, ', '), 500) "
           "WHEN p.by_whom NOT IN ('', 'anonymous') "
           "THEN ' by ' || p.by_whom || ' (name not proven)' ELSE '' END || "
           "CASE WHEN p.reason <> '' THEN ': ' || p.reason ELSE '' END "
           "FROM flagger_gate_passes p WHERE p.kind = $1 AND p.namespace = $2 AND p.name = $3 "
           "AND p.hook IN ('', $4) AND p.revision IN ('', $5) "
           "AND (p.expires IS NULL OR p.expires > now()) "
           "ORDER BY p.revision = '', p.hook = '' LIMIT 1)",
    .n_params = 5,
    .lane = DB_ASK};
static const struct db_statement wait_ = {
    .name = "wait",
    .sql = "SELECT flagger_gate_waits_on($1, $2, $3, $4, $5, $6)",
    .n_params = 6,
    .lane = DB_CHANGE};
static const struct db_statement through = {.name = "through",
                                            .sql =
                                                "SELECT flagger_gate_through($1, $2, $3, $4, $5)",
                                            .n_params = 5,
                                            .lane = DB_CHANGE};
static const struct db_statement deadline = {.name = "deadline",
                                             .sql = "SELECT flagger_gate_deadline($1, $2, $3, $4)",
                                             .n_params = 4,
                                             .lane = DB_CHANGE};
static const struct db_statement release = {
    .name = "release",
    .sql = "SELECT flagger_gate_of_release($1, $2, $3, $4, $5)",
    .n_params = 5,
    .lane = DB_CHANGE};
static const struct db_statement open_ = {
    .name = "open",
    .sql = "SELECT row_to_json(c) FROM (SELECT r.*, flagger_gate_hash(r.seq) AS hash FROM "
           "flagger_gate_open($1, $2, $3, $4, $5, coalesce($6, now() + $7::bigint * "
           "interval '1 millisecond'), $8, $9, $10, $11) r) c",
    .n_params = 11,
    .lane = DB_CHANGE};
static const struct db_statement close_ = {
    .name = "close",
    .sql = "SELECT row_to_json(c) FROM (SELECT r.*, flagger_gate_hash(r.seq) AS hash FROM "
           "flagger_gate_close($1, $2, $3, $4, $5, $6, $7, $8) r) c",
    .n_params = 8,
    .lane = DB_CHANGE};
static const struct db_statement policy_ = {
    .name = "policy",
    .sql = "SELECT json_build_object('seq', flagger_gate_policy($1, $2, $3, $4, $5, $6, $7, $8, "
           "$9, $10, $11))",
    .n_params = 11,
    .lane = DB_CHANGE};
/* Uses a connection of its own, since it can be slow. */
static const struct db_statement list = {
    .name = "list",
    .sql = "SELECT json_build_object('gates', coalesce(json_agg(gate), '[]'), 'continue', "
           "CASE WHEN count(*) = $5::integer THEN (array_agg(namespace || '/' || name || '/' || "
           "kind))[$5::integer] ELSE '' END) "
           "FROM flagger_gate_list_of(CASE WHEN $1 <> '' THEN ARRAY[$1::text] "
           "ELSE string_to_array($6, ',') END, $2, $3, $4, $5::integer)",
    .n_params = 6,
    .lane = DB_READ};
static const struct db_statement show = {
    .name = "show",
    .sql = "SELECT json_build_object("
           "'gates', json_build_array(flagger_gate_json('gate', $1, $2), "
           "flagger_gate_json('rollback', $1, $2)), "
           "'history', (SELECT coalesce(json_agg(entry ORDER BY seq DESC), '[]') FROM "
           "(SELECT seq, entry FROM flagger_gate_history WHERE namespace = $1 AND name = $2 "
           "ORDER BY seq DESC LIMIT 50) h))",
    .n_params = 2,
    .lane = DB_READ};
static const struct db_statement history = {
    .name = "history",
    .sql = "SELECT json_build_object('history', coalesce(json_agg(entry ORDER BY seq), '[]')) FROM "
           "(SELECT seq, entry FROM flagger_gate_history WHERE ($1 = '' OR namespace = $1) AND "
           "($2 = '' OR name = $2) AND seq > $3::bigint AND ($5::text IS NULL OR namespace = '' "
           "OR namespace = ANY (string_to_array($5, ','))) ORDER BY seq LIMIT $4::integer) h",
    .n_params = 5,
    .lane = DB_READ};
static const struct db_statement freeze = {
    .name = "freeze",
    .sql = "SELECT row_to_json(r) FROM flagger_gate_freeze($1, $2, $3, $4, $5, $6, $7, $8, $9, "
           "$10, $11) r",
    .n_params = 11,
    .lane = DB_CHANGE};
static const struct db_statement unfreeze = {
    .name = "unfreeze",
    .sql = "SELECT json_build_object('seq', flagger_gate_unfreeze_of("
           "string_to_array($6, ','), $1, $2, $3, $4, $5))",
    .n_params = 6,
    .lane = DB_CHANGE};
static const struct db_statement freezes = {
    .name = "freezes",
    .sql = "SELECT json_build_object('freezes', coalesce(json_agg(flagger_gate_freeze_json(f) "
           "ORDER BY f.id), '[]')) FROM flagger_gate_freezes f WHERE $1::text IS NULL OR "
           "f.namespace = '' OR f.namespace = ANY (string_to_array($1, ','))",
    .n_params = 1,
    .lane = DB_READ};

#define CHANGES_SQL                                                                                \
    "SELECT seq, NULL::text AS entry, NULL::text AS namespace FROM flagger_gate_head UNION ALL "   \
    "(SELECT seq, entry::text, namespace FROM flagger_gate_history WHERE seq > $1::bigint "        \
    "ORDER BY seq LIMIT $2::integer)"
static const struct db_statement changes = {
    .name = "events", .sql = CHANGES_SQL, .n_params = 2, .lane = DB_ASK};
static const struct db_statement older_changes = {
    .name = "events_resume", .sql = CHANGES_SQL, .n_params = 2, .lane = DB_READ};

const struct db_statement *const gates_statements[] = {
    &check, &approval, &wait_,   &through, &deadline, &release, &open_,   &close_,        &policy_,
    &list,  &show,     &history, &freeze,  &unfreeze, &freezes, &changes, &older_changes, NULL};

/* --- checks */

struct check_request {
    struct db *db;
    struct arena *arena;
    struct gate_name gate;
    struct gate_question question;
    const char *asker;
    bool shows_approver;
    gates_check_fn done;
    void *arg;
    bool after_release;  /* repeated after the approvals of the previous release were ended */
    bool after_deadline; /* repeated after the action of the deadline */
};

/* Callers with `waiting` rows being written, NULL for free slots. */
static char *waits_in_flight[MAX_WAITS_IN_FLIGHT];

static void ask(struct check_request *checking);

static void on_wait_kept(void *arg, enum err err, const struct errinfo *info,
                         const struct db_rows *rows)
{
    /* On failure the next check writes it again. */
    char **slot = arg;
    (void)err, (void)info, (void)rows;
    free(*slot);
    *slot = NULL;
}

/* NULL if this caller or all callers have reached the limit. */
static char **slot_for(const char *asker)
{
    char **slot = NULL;
    int same = 0;
    for (int i = 0; i < MAX_WAITS_IN_FLIGHT; i++)
        if (!waits_in_flight[i])
            slot = &waits_in_flight[i];
        else
            same += strcmp(waits_in_flight[i], asker) == 0;
    if (!slot || same >= MAX_WAITS_OF_ONE)
        return NULL;
    *slot = heap_strdup(asker);
    return slot;
}

static void keep_wait(const struct check_request *c, bool open)
{
    const char *const waits[] = {c->gate.namespace_, c->gate.name,         c->gate.hook,
                                 c->question.phase,  c->question.revision, c->asker};
    const char *const goes[] = {c->gate.namespace_, c->gate.name, c->gate.hook,
                                c->question.revision, c->asker};
    char **slot = slot_for(c->asker);
    if (slot)
        db_run(c->db, open ? &through : &wait_, open ? goes : waits, on_wait_kept, slot);
}

static void answer(struct check_request *c, enum err err, const struct errinfo *info,
                   const char *text)
{
    c->done(c->arg, err, info, text);
    arena_free(c->arena);
}

/* Repeats the check after the action that had to precede it. */
static void on_done_before(void *arg, enum err err, const struct errinfo *info,
                           const struct db_rows *rows)
{
    struct check_request *c = arg;
    (void)rows;
    if (err != ERR_OK)
        answer(c, err, info, NULL);
    else
        ask(c);
}

/* An approval is for one release; checks again if the release is new to the gate. */
static void start_release(struct check_request *c)
{
    const char *const params[] = {c->gate.namespace_, c->gate.name, c->question.revision,
                                  c->question.release, c->asker};
    c->after_release = true;
    db_run(c->db, &release, params, on_done_before, c);
}

static void pass_deadline(struct check_request *c)
{
    const char *const params[] = {c->gate.namespace_, c->gate.name, c->gate.hook,
                                  c->question.revision};
    c->after_deadline = true;
    db_run(c->db, &deadline, params, on_done_before, c);
}

/* The gate was open, even if its approver is unknown or it has been closed since. */
static void on_approval(void *arg, enum err err, const struct errinfo *info,
                        const struct db_rows *rows)
{
    (void)info;
    answer(arg, ERR_OK, NULL,
           err == ERR_OK && !db_is_null(rows, 0, 0) ? db_value(rows, 0, 0) : GATES_OPEN);
}

static void read_approver(struct check_request *c)
{
    const char *const params[] = {c->gate.kind, c->gate.namespace_, c->gate.name, c->gate.hook,
                                  c->question.revision};
    db_run(c->db, &approval, params, on_approval, c);
}

static void on_check(void *arg, enum err err, const struct errinfo *info,
                     const struct db_rows *rows)
{
    struct check_request *c = arg;
    if (err != ERR_OK) {
        answer(c, err, info, NULL);
        return;
    }
    bool open = db_true(rows, 0, 0), waits = db_true(rows, 0, 1), stale = db_true(rows, 0, 2);
    if (db_true(rows, 0, 4) && !c->after_release) {
        start_release(c);
        return;
    }
    if (!open && db_true(rows, 0, 3) && !c->after_deadline) {
        pass_deadline(c);
        return;
    }
    if (strcmp(c->gate.kind, "gate") == 0 && (open ? waits : stale))
        keep_wait(c, open);
    if (open && c->shows_approver)
        read_approver(c);
    else
        answer(c, ERR_OK, info, open ? GATES_OPEN : NULL);
}

static void ask(struct check_request *c)
{
    const char *const params[] = {c->gate.kind, c->gate.namespace_,   c->gate.name,
                                  c->gate.hook, c->question.revision, c->question.phase,
                                  c->asker,     c->question.release};
    db_run(c->db, &check, params, on_check, c);
}

void gates_check(struct db *db, const struct gate_name *gate, const struct gate_question *question,
                 const char *asker, bool shows_approver, gates_check_fn done, void *arg)
{
    struct arena *arena = arena_new();
    struct check_request *c = ARENA_NEW(arena, struct check_request);
    *c = (struct check_request){.db = db,
                                .arena = arena,
                                .gate = {.kind = arena_strdup(arena, gate->kind),
                                         .namespace_ = arena_strdup(arena, gate->namespace_),
                                         .name = arena_strdup(arena, gate->name),
                                         .hook = arena_strdup(arena, gate->hook)},
                                .question = {.revision = arena_strdup(arena, question->revision),
                                             .phase = arena_strdup(arena, question->phase),
                                             .release = arena_strdup(arena, question->release)},
                                .asker = arena_strdup(arena, asker),
                                .shows_approver = shows_approver,
                                .done = done,
                                .arg = arg};
    ask(c);
}

/* --- statements that answer with JSON */

struct json_request {
    gates_json_fn done;
    void *arg;
};

static void on_json(void *arg, enum err err, const struct errinfo *info, const struct db_rows *rows)
{
    struct json_request *asked = arg;
    asked->done(asked->arg, err, info, err == ERR_OK ? db_value(rows, 0, 0) : NULL);
    free(asked);
}

void gates_run(struct db *db, const struct db_statement *statement, const char *const *params,
               gates_json_fn done, void *arg)
{
    struct json_request *asked = heap_alloc(sizeof(*asked));
    *asked = (struct json_request){.done = done, .arg = arg};
    db_run(db, statement, params, on_json, asked);
}

void gates_open(struct db *db, const struct gate_change *c, gates_json_fn done, void *arg)
{
    const char *const params[] = {
        c->gate.kind, c->gate.namespace_, c->gate.name, c->gate.hook,         c->revision,
        c->expires,   c->for_ms,          c->who,       db_bool(c->verified), c->via,
        c->reason};
    gates_run(db, &open_, params, done, arg);
}

void gates_close(struct db *db, const struct gate_change *c, gates_json_fn done, void *arg)
{
    const char *const params[] = {c->gate.kind, c->gate.namespace_,   c->gate.name, c->gate.hook,
                                  c->who,       db_bool(c->verified), c->via,       c->reason};
    gates_run(db, &close_, params, done, arg);
}

void gates_set_policy(struct db *db, const struct gate_change *c, const struct gate_policy *policy,
                      gates_json_fn done, void *arg)
{
    const char *const params[] = {c->gate.kind,
                                  c->gate.namespace_,
                                  c->gate.name,
                                  policy->quorum,
                                  policy->approvers,
                                  policy->deadline_ms,
                                  policy->on_deadline,
                                  c->who,
                                  db_bool(c->verified),
                                  c->via,
                                  c->reason};
    gates_run(db, &policy_, params, done, arg);
}

void gates_list(struct db *db, const char *namespace_, const char *within,
                const struct gate_name *after, const char *limit, gates_json_fn done, void *arg)
{
    const char *const params[] = {namespace_, after->namespace_, after->name, after->kind, limit,
                                  within};
    gates_run(db, &list, params, done, arg);
}

void gates_show(struct db *db, const char *namespace_, const char *name, gates_json_fn done,
                void *arg)
{
    const char *const params[] = {namespace_, name};
    gates_run(db, &show, params, done, arg);
}

void gates_history(struct db *db, const char *namespace_, const char *within, const char *name,
                   const char *after, const char *limit, gates_json_fn done, void *arg)
{
    const char *const params[] = {namespace_, name, after, limit, within};
    gates_run(db, &history, params, done, arg);
}

void gates_freeze(struct db *db, const struct gate_change *c, const struct gate_freeze *f,
                  gates_json_fn done, void *arg)
{
    const char *const params[] = {c->gate.namespace_,   c->gate.name,    f->from,  f->until,
                                  f->weekly_from,       f->weekly_until, f->zone,  c->who,
                                  db_bool(c->verified), c->via,          c->reason};
    gates_run(db, &freeze, params, done, arg);
}

void gates_unfreeze(struct db *db, const char *id, const char *within, const struct gate_change *c,
                    gates_json_fn done, void *arg)
{
    const char *const params[] = {id, c->who, db_bool(c->verified), c->via, c->reason, within};
    gates_run(db, &unfreeze, params, done, arg);
}

void gates_freezes(struct db *db, const char *within, gates_json_fn done, void *arg)
{
    const char *const params[] = {within};
    gates_run(db, &freezes, params, done, arg);
}

void gates_changes(struct db *db, int64_t after, int limit, enum db_lane lane, db_done_fn done,
                   void *arg)
{
    char number[24], count[12];
    snprintf(number, sizeof(number), "%lld", (long long)after);
    snprintf(count, sizeof(count), "%d", limit);
    const char *const params[] = {number, count};
    db_run(db, lane == DB_READ ? &older_changes : &changes, params, done, arg);
}
