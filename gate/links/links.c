#include "gate/links/links.h"

#include <stdio.h>

#include "base/clock.h"

static const struct db_statement made = {
    .name = "link_made",
    .sql = "SELECT json_build_object('seq', flagger_gate_link_made($1, $2, $3, $4, $5, $6, $7, $8, "
           "$9, $10, $11, $12, $13))",
    .n_params = 13,
    .lane = DB_CHANGE};
static const struct db_statement look = {.name = "link_look",
                                         .sql = "SELECT flagger_gate_link_look($1, $2)",
                                         .n_params = 2,
                                         .lane = DB_ASK};
static const struct db_statement use = {
    .name = "link_use",
    .sql = "SELECT row_to_json(c) FROM (SELECT r.*, flagger_gate_hash(r.seq) AS hash FROM "
           "flagger_gate_link($1, $2, $3, $4, $5, $6, $7, $8, now() + $9::bigint * "
           "interval '1 millisecond', $10, $11, $12, $13) r) c",
    .n_params = 13,
    .lane = DB_CHANGE};

const struct db_statement *const links_statements[] = {&made, &look, &use, NULL};

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

void links_made(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    struct texts t;
    const char *const params[] = {link_id_text(link, t.id),
                                  clock_rfc3339(link->expires_s * 1000, t.expires),
                                  link_action_name(link->action),
                                  link_kind_name(link->kind),
                                  link->namespace_,
                                  link->name,
                                  link->hook,
                                  link->revision,
                                  for_text(link, &t),
                                  link->who,
                                  link->issuer,
                                  db_bool(link->verified),
                                  link->reason};
    gates_run(db, &made, params, done, arg);
}

void links_look(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    struct texts t;
    const char *const params[] = {link_id_text(link, t.id),
                                  clock_rfc3339(link->expires_s * 1000, t.expires)};
    gates_run(db, &look, params, done, arg);
}

void links_use(struct db *db, const struct link *link, gates_json_fn done, void *arg)
{
    struct texts t;
    const char *const params[] = {link_id_text(link, t.id),
                                  clock_rfc3339(link->expires_s * 1000, t.expires),
                                  link_action_name(link->action),
                                  link_kind_name(link->kind),
                                  link->namespace_,
                                  link->name,
                                  link->hook,
                                  link->revision,
                                  for_text(link, &t),
                                  link->who,
                                  db_bool(link->verified),
                                  "link",
                                  link->reason};
    gates_run(db, &use, params, done, arg);
}
