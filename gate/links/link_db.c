#include "gate/links/link_db.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const struct db_statement created = {
    .name = "link_made",
    .sql = "SELECT json_build_object('seq', flagger_gate_link_made($1, $2, $3, $4, $5, $6, $7, $8, "
           "$9, $10, $11, $12, $13))",
    .n_params = 13,
    .lane = DB_CHANGE};
static const struct db_statement probe = {.name = "link_look",
                                          .sql = "SELECT flagger_gate_link_look($1, $2)",
                                          .n_params = 2,
                                          .lane = DB_ASK};
static const struct db_statement redeem = {
    .name = "link_use",
    .sql = "SELECT row_to_json(c) FROM (SELECT r.*, flagger_gate_hash(r.seq) AS hash FROM "
           "flagger_gate_link($1, $2, $3, $4, $5, $6, $7, $8, now() + $9::bigint * "
           "interval '1 millisecond', $10, $11, $12, $13) r) c",
    .n_params = 13,
    .lane = DB_CHANGE};

const struct db_statement *const link_db_statements[] = {&created, &probe, &redeem, NULL};

/* A link's fields as parameters. */
struct texts {
    char id[LINK_ID_TEXT];
    char expires[CLOCK_TEXT];
    char for_ms[24];
};

static const char *for_text(const struct link *link, struct texts *texts)
{
    snprintf(texts->for_ms, sizeof(texts->for_ms), "%lld", (long long)link->for_ms);
    return link->for_ms ? texts->for_ms : NULL;
}

/* The fields of a link, the first parameters of both statements that take it. */
enum { LINK_FIELDS = 10, LINK_PARAMS = 13 };

static void put_fields(const struct link *link, struct texts *texts,
                       const char *params[LINK_PARAMS])
{
    const char *const fields[LINK_FIELDS] = {link_id_text(link, texts->id),
                                             clock_rfc3339(link->expires_s * 1000, texts->expires),
                                             link_action_name(link->action),
                                             link_kind_name(link->kind),
                                             link->namespace_,
                                             link->name,
                                             link->hook,
                                             link->revision,
                                             for_text(link, texts),
                                             link->who};

    memcpy(params, fields, sizeof(fields));
}

void link_db_record(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    const char *params[LINK_PARAMS] = {
        [10] = link->issuer, [11] = db_bool(link->verified), [12] = link->reason};
    struct texts t;

    put_fields(link, &t, params);
    gates_run(db, &created, params, done, arg);
}

void link_db_probe(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    struct texts t;
    const char *const params[] = {link_id_text(link, t.id),
                                  clock_rfc3339(link->expires_s * 1000, t.expires)};
    gates_run(db, &probe, params, done, arg);
}

void link_db_redeem(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    const char *params[LINK_PARAMS] = {
        [10] = db_bool(link->verified), [11] = "link", [12] = link->reason};
    struct texts t;

    put_fields(link, &t, params);
    gates_run(db, &redeem, params, done, arg);
}
