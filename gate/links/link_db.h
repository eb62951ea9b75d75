/*
 * Signed links (gate/links/link.h) in the database: creation and use. A link is marked as used in
 * the same transaction as its change, by the database's clock; if the change is refused or lost,
 * the link stays valid.
 *
 * Errors as in gate/rules/gates.h.
 */
#ifndef GATE_LINK_DB_H
#define GATE_LINK_DB_H

#include "gate/links/link.h"
#include "gate/rules/gates.h"

/* Records in the history that the link was created; {"seq"}. */
void link_db_record(struct db *db, const struct link *link, gates_json_fn done, void *arg);
/* ERR_OK if the link can still be used, else the reason (status 403). json is "{}". */
void link_db_probe(struct db *db, const struct link *link, gates_json_fn done, void *arg);
/* Makes the change of the link; the answer is that of gates_open() or gates_close(). Status 403 if
 * it is used or expired. */
void link_db_redeem(struct db *db, const struct link *link, gates_json_fn done, void *arg);

/* Statements of this file, prepared on every connection. */
extern const struct db_statement *const link_db_statements[];

#endif
