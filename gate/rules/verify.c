
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/option.h"
#include "gate/db/db.h"
#include "gate/rules/history.h"

/* --- options */

static struct {
    const char *database, *database_file, *expect;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "database", &opt.database, .env = "DATABASE_URL", .arg = "DSN", .secret = true,
           .help = "PostgreSQL connection string or URL; libpq's PG* variables fill in what it "
                   "leaves out"),
    OPTION(STRING, "database-file", &opt.database_file, .env = "DATABASE_FILE", .arg = "FILE",
           .help = "file that holds the connection string instead"),
    OPTION(STRING, "expect", &opt.expect, .arg = "SEQ:HASH",
           .help =
               "what an earlier run printed as its head: that far, the history must be the same"),
    {0}};

static const struct option_program program = {
    .name = "flagger-gate verify",
    .summary = "Checks that nobody has tampered with the history of the gates, nor with the gates.",
    .synopsis = "[OPTION...]",
    .details = "Every entry of the history is checked against the hashes that lead to it, and the "
               "gates, their\n"
               "policies and freezes against what the history says of them. It can run at any "
               "time, beside gates\n"
               "that serve. Keep the line that begins with `head` somewhere else, or the log of "
               "the gates, whose\n"
               "lines gate_changed have `seq` and `hash`, and give it to --expect the next time: "
               "who rewrites the\n"
               "whole history is found by that alone.\n"
               "\n"
               "Exit status: 0 if all is whole, 1 if something was tampered with, 2 if it cannot "
               "be read.",
    .rows = rows,
};

/* --- a run */

struct head {
    int64_t seq;
    char hash[CHAIN_HASH_TEXT];
};

struct verify {
    struct db_reader *reader;
    struct arena *arena; /* for one row */
    struct arena *kept;  /* for the run */
    struct findings findings;
    struct chain chain;
    struct replay *replay;
    enum replay_thing thing; /* kind of the rows being read */
    int64_t n_things[REPLAY_THINGS];
    struct head expected; /* seq is -1 if none was given */
    /* from the database, in this transaction */
    bool has_head;
    struct head head;
    const char *now, *day_ago;
    /* figures of the entries */
    int64_t entries;
    char last_at[CLOCK_TEXT];
    const char *back_at; /* first entry with a time before the previous entry's, NULL if none */
    int64_t unknown;     /* entries with an unknown action */
    bool shows_progress;
    int64_t shown_ms; /* time of the last progress line */
};

/* Reads row by row, so that memory does not grow with the history. Row functions get `v`. */
static enum err each_row(struct verify *v, const char *sql,
                         void (*fn)(void *arg, const struct db_rows *row), struct errinfo *ei)
{
    enum err err = db_reader_each(v->reader, sql, fn, v, ei);

    return err == ERR_OK ? ERR_OK : err_wrap(ei, err, "the history cannot be read");
}

/* --- the history */

static void on_head(void *arg, const struct db_rows *row)
{
    struct verify *v = arg;

    v->now = arena_strdup(v->kept, db_value(row, 0, 0));
    v->day_ago = arena_strdup(v->kept, db_value(row, 0, 1));
    v->has_head = !db_is_null(row, 0, 2);
    v->head.seq = db_int(row, 0, 2);
    snprintf(v->head.hash, sizeof(v->head.hash), "%s", db_value(row, 0, 3));
}

static void show_progress(struct verify *v)
{
    int64_t now = clock_monotonic_ms();

    if (!v->shows_progress || now - v->shown_ms < 200)
        return;
    v->shown_ms = now;
    fprintf(stderr, "\r%" PRId64 " of %" PRId64 " entries", v->entries, v->head.seq);
}

/* Exactly 27 characters, so that times can be compared as strings:
 * "2026-11-21T22:40:01.123456Z". */
static bool is_time(const char *text)
{
    int64_t ms;

    return strlen(text) == strlen("2026-11-21T22:40:01.123456Z") && text[10] == 'T' &&
           text[26] == 'Z' && clock_parse(text, &ms, NULL) == ERR_OK;
}

static void check_time(struct verify *v, struct json_object *entry, const char *where)
{
    const char *at = json_str_at(entry, "at", NULL);

    if (!at || !is_time(at)) {
        findings_add(&v->findings, "%s: its `at` is no time of the form that the history has",
                     where);
        return;
    }
    /* Reported only as a note: a server's clock may be set back. */
    if (strcmp(at, v->last_at) < 0 && !v->back_at)
        v->back_at = arena_strdup(v->kept, where);
    snprintf(v->last_at, sizeof(v->last_at), "%s", at);
}

/* Compares the columns by which entries are found. */
static void check_column(struct verify *v, struct json_object *entry, const char *key,
                         const struct db_rows *row, int column, const char *where)
{
    const char *says = json_str_at(entry, key, NULL);
    const char *stands = db_is_null(row, 0, column) ? NULL : db_value(row, 0, column);

    if ((says != NULL) != (stands != NULL) || (says && strcmp(says, stands) != 0))
        findings_add(&v->findings, "%s: its column %s says %s, the entry %s", where, key,
                     stands ? stands : "nothing", says ? says : "nothing");
}

static void check_entry(struct verify *v, int64_t seq, struct json_object *entry,
                        const struct db_rows *row, const char *where)
{
    if (json_int_at(entry, -1, "seq", NULL) != seq)
        findings_add(&v->findings, "%s: its `seq` says %s", where,
                     json_text(v->arena, json_at(entry, "seq", NULL)));
    check_time(v, entry, where);
    check_column(v, entry, "namespace", row, 3, where);
    check_column(v, entry, "name", row, 4, where);
    if (!replay_entry(v->replay, seq, entry, db_value(row, 0, 1)))
        v->unknown++;
}

static void on_entry(void *arg, const struct db_rows *row)
{
    struct verify *v = arg;
    int64_t seq = db_int(row, 0, 0);
    const char *text = db_value(row, 0, 1), *hash = db_value(row, 0, 2);
    size_t len = db_value_len(row, 0, 1);
    struct json_object *entry = NULL;
    struct errinfo info;

    arena_reset(v->arena);
    v->entries++;
    show_progress(v);
    enum err err = json_parse(v->arena, text, len, JSON_MAX_BYTES, &entry, &info);
    const char *where = replay_where(v->arena, seq, entry);
    chain_row(&v->chain, &v->findings, seq, text, len, hash, where);
    if (err != ERR_OK)
        findings_add(&v->findings, "%s: %s", where, info.text);
    else if (!json_object_is_type(entry, json_type_object))
        findings_add(&v->findings, "%s: expected a JSON object", where);
    else
        check_entry(v, seq, entry, row, where);
    if (seq == v->expected.seq && strcmp(hash, v->expected.hash) != 0)
        findings_add(&v->findings,
                     "%s: its hash is %s, --expect says %s: the history up to here was rewritten",
                     where, hash, v->expected.hash);
}

static enum err read_history(struct verify *v, struct errinfo *ei)
{
    enum err err = each_row(v, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", NULL, ei);

    if (err == ERR_OK)
        err = each_row(v, "SET LOCAL statement_timeout = 0", NULL, ei);
    if (err == ERR_OK)
        err =
            each_row(v,
                     "SELECT to_char(n AT TIME ZONE 'UTC', f),"
                     " to_char((n - interval '1 day' + interval '1 minute') AT TIME ZONE 'UTC', f),"
                     " h.seq, h.hash"
                     " FROM (SELECT now(), 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') t (n, f)"
                     " LEFT JOIN flagger_gate_head h ON true",
                     on_head, ei);
    if (err == ERR_OK)
        err = each_row(v,
                       "SELECT seq, entry, hash, namespace, name FROM flagger_gate_history"
                       " ORDER BY seq",
                       on_entry, ei);
    if (v->shows_progress && v->shown_ms > 0)
        fprintf(stderr, "\r%40s\r", "");
    if (err != ERR_OK)
        return err;
    chain_end(&v->chain, &v->findings, v->head.seq, v->has_head ? v->head.hash : NULL);
    if (v->expected.seq > v->chain.seq)
        findings_add(&v->findings,
                     "entry %" PRId64 ": --expect knows it, the history ends with entry %" PRId64,
                     v->expected.seq, v->chain.seq);
    return ERR_OK;
}

/* --- the gates */

#define TIME(column) "to_char(" column " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"

/* Objects that have not expired, with the keys of the history. */
static const char *const things[REPLAY_THINGS] = {
    [REPLAY_PASS] =
        "SELECT json_build_object('kind', kind, 'namespace', namespace, 'name', name, 'hook', hook,"
        " 'revision', revision, 'expires', " TIME(
            "expires") ", 'who', by_whom, 'reason', reason)"
                       " FROM flagger_gate_passes WHERE expires IS NULL OR expires > now()"
                       " ORDER BY namespace, name, kind, hook, revision",
    [REPLAY_VOTE] =
        "SELECT json_build_object('kind', kind, 'namespace', namespace, 'name', name, 'hook', hook,"
        " 'revision', revision, 'expires', " TIME(
            "expires") ", 'who', voter, 'reason', reason,"
                       " 'at', " TIME(
                           "at") ") FROM flagger_gate_votes WHERE at > now() - interval '1 day'"
                                 " ORDER BY namespace, name, kind, hook, revision, voter",
    [REPLAY_POLICY] =
        "SELECT json_build_object('kind', kind, 'namespace', namespace, 'name', name,"
        " 'quorum', quorum, 'approvers', approvers, 'deadlineMs', deadline_ms,"
        " 'onDeadline', on_deadline) FROM flagger_gate_policies ORDER BY namespace, name, kind",
    [REPLAY_FREEZE] =
        "SELECT json_build_object('freeze', id, 'namespace', namespace, 'name', name,"
        " 'from', " TIME("starts") ", 'until', " TIME(
            "ends") ", 'weeklyFrom', weekly_from,"
                    " 'weeklyUntil', weekly_until, 'zone', zone, 'who', by_whom, 'reason', reason)"
                    " FROM flagger_gate_freezes WHERE ends IS NULL OR ends > now() ORDER BY id",
    [REPLAY_LINK] = "SELECT json_build_object('link', id) FROM flagger_gate_links",
};

static void on_thing(void *arg, const struct db_rows *row)
{
    struct verify *v = arg;
    struct json_object *thing = NULL;
    struct errinfo info;

    arena_reset(v->arena);
    v->n_things[v->thing]++;
    if (json_parse(v->arena, db_value(row, 0, 0), db_value_len(row, 0, 0), JSON_MAX_BYTES, &thing,
                   &info) != ERR_OK)
        findings_add(&v->findings, "a row of the gates cannot be understood: %s", info.text);
    else
        replay_row(v->replay, &v->findings, v->thing, thing);
}

/* Gates that are open to programs of version 1. */
static const char mirror_sql[] =
    "SELECT kind, namespace, name, open FROM flagger_gates g"
    " WHERE open <> (EXISTS (SELECT FROM flagger_gate_passes p WHERE p.kind = g.kind"
    "   AND p.namespace = g.namespace AND p.name = g.name AND p.hook = '' AND p.revision = ''"
    "   AND p.expires IS NULL)"
    "  AND (kind = 'rollback' OR NOT EXISTS (SELECT FROM flagger_gate_freezes f"
    "   WHERE f.namespace IN ('', g.namespace) AND f.name IN ('', g.name))))"
    " ORDER BY namespace, name, kind";

static void on_mirror(void *arg, const struct db_rows *row)
{
    struct verify *v = arg;
    bool open = db_true(row, 0, 3);

    findings_add(&v->findings, "%s %s.%s: flagger_gates calls it %s, which it is not",
                 db_value(row, 0, 0), db_value(row, 0, 2), db_value(row, 0, 1),
                 open ? "open" : "closed");
}

static enum err read_gates(struct verify *v, struct errinfo *ei)
{
    enum err err = ERR_OK;

    for (int thing = 0; thing < REPLAY_THINGS && err == ERR_OK; thing++) {
        v->thing = (enum replay_thing)thing;
        err = each_row(v, things[thing], on_thing, ei);
    }
    if (err == ERR_OK)
        replay_end(v->replay, &v->findings, v->now, v->day_ago);
    return err == ERR_OK ? each_row(v, mirror_sql, on_mirror, ei) : err;
}

/* --- result */

static void print_result(const struct verify *v)
{
    if (v->back_at)
        printf("note: %s is earlier than the one before it: the clock of the database was set\n",
               v->back_at);
    if (v->unknown > 0)
        printf("note: what %" PRId64 " entries do is not known here; use a newer flagger-gate\n",
               v->unknown);
    if (v->findings.count > 0) {
        findings_end(&v->findings);
        printf("tampered: %" PRId64 " findings in %" PRId64 " entries and what they say\n",
               v->findings.count, v->entries);
        return;
    }
    printf("whole: %" PRId64 " entries; the gates have the %" PRId64 " passes, %" PRId64
           " approvals, %" PRId64 " policies and %" PRId64 " freezes that these say\n",
           v->entries, v->n_things[REPLAY_PASS], v->n_things[REPLAY_VOTE],
           v->n_things[REPLAY_POLICY], v->n_things[REPLAY_FREEZE]);
    printf("head %" PRId64 ":%s\n", v->chain.seq, v->chain.hash);
}

static enum err open_database(struct verify *v, struct errinfo *ei)
{
    struct db_source *source = NULL;
    enum err err = db_source_new(opt.database, opt.database_file, &source, ei);

    if (err != ERR_OK)
        return err;
    err = db_reader_open(source, program.name, &v->reader, ei);
    db_source_free(source);
    return err == ERR_OK ? ERR_OK : err_wrap(ei, err, "the history cannot be read");
}

/* "SEQ:HASH" */
static enum err read_expected(const char *text, struct head *out, struct errinfo *ei)
{
    char *end;

    *out = (struct head){.seq = -1};
    if (!text)
        return ERR_OK;
    out->seq = strtoll(text, &end, 10);
    if (end == text || *end != ':' || out->seq < 0 ||
        strspn(end + 1, "0123456789abcdef") != CHAIN_HASH || end[1 + CHAIN_HASH] != '\0')
        return err_set(ei, ERR_INVALID,
                       "--expect: expected the head of an earlier run, a number, a colon and %d "
                       "hexadecimal digits, found \"%s\"",
                       (int)CHAIN_HASH, text);
    memcpy(out->hash, end + 1, CHAIN_HASH_TEXT);
    return ERR_OK;
}

static enum err run(struct verify *v, struct errinfo *ei)
{
    enum err err = read_expected(opt.expect, &v->expected, ei);

    if (err == ERR_OK)
        err = open_database(v, ei);
    if (err == ERR_OK)
        err = read_history(v, ei);
    if (err == ERR_OK)
        err = read_gates(v, ei);
    db_reader_close(v->reader);
    return err;
}

int verify_main(int argc, char **argv)
{
    struct errinfo info = {0};
    struct verify v = {.arena = arena_new(),
                       .kept = arena_new(),
                       .findings = {.out = stdout},
                       .replay = replay_new(),
                       .shows_progress = isatty(STDERR_FILENO)};

    option_parse(&program, v.kept, argc, argv);
    if (db_source_shows_password(opt.database, argc, argv))
        fprintf(stderr, "warning: every user of this machine can read the password in --database: "
                        "give it in the environment, DATABASE_URL, or as --database-file\n");
    chain_init(&v.chain);
    enum err err = run(&v, &info);
    if (err == ERR_OK)
        print_result(&v);
    else
        fprintf(stderr, "flagger-gate verify: %s\n", info.text);
    bool tampered = v.findings.count > 0;
    replay_free(v.replay);
    arena_free(v.kept);
    arena_free(v.arena);
    if (err != ERR_OK)
        return VERIFY_UNREAD;
    return tampered ? VERIFY_TAMPERED : VERIFY_WHOLE;
}
