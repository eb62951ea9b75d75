/*
 * What the database knows of signed links (gate/links/link.h): which were made, and which were
 * used. A link is used up in the same transaction as the change it makes, by the database's clock;
 * when that change is refused, or never gets there, the link is still good.
 *
 * Errors as in gate/rules/gates.h.
 */
#ifndef GATE_LINKS_H
#define GATE_LINKS_H

#include "gate/links/link.h"
#include "gate/rules/gates.h"

/* Writes into the history that it was made; {"seq"}. */
void links_made(struct db *db, const struct link *link, gates_json_fn done, void *arg);
/* Whether it could still be used: ERR_OK, or why not (status 403). json is "{}". */
void links_look(struct db *db, const struct link *link, gates_json_fn done, void *arg);
/* Does what it is for; the answer is that of gates_open() or gates_close(). A second time, and once
 * it has expired: status 403. */
void links_use(struct db *db, const struct link *link, gates_json_fn done, void *arg);

/* Every statement of this file: what a connection prepares. */
extern const struct db_statement *const links_statements[];

#endif
