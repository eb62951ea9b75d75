/*
 * The gates: which are open, in PostgreSQL. A gate that nobody has opened is closed.
 *
 * A Canary has two: `gate` (confirm-rollout, confirm-traffic-increase, confirm-promotion) and
 * `rollback`. They are named by the Canary's name and namespace, as in Flagger's load tester
 * (contract/metrics.md §7).
 */
#ifndef GATE_GATES_H
#define GATE_GATES_H

#include "gate/db.h"

/* The idempotent script that makes or upgrades the tables. */
extern const char gates_schema[];

enum gate_kind { GATE_CONFIRM, GATE_ROLLBACK };

/* open is meaningless unless err is ERR_OK. Exactly once, never before the starter has returned. */
typedef void (*gates_done_fn)(void *arg, enum err err, const struct errinfo *info, bool open);

void gates_check(struct db *db, enum gate_kind kind, const char *namespace_, const char *name,
                 gates_done_fn done, void *arg);
void gates_set(struct db *db, enum gate_kind kind, const char *namespace_, const char *name,
               bool open, gates_done_fn done, void *arg);

/* Every gate that was ever set, as a JSON array by namespace and name:
 * [{"kind","namespace","name","open","changed"}], at most 1,000. json is borrowed, NULL on failure.
 */
typedef void (*gates_list_fn)(void *arg, enum err err, const struct errinfo *info,
                              const char *json);
void gates_list(struct db *db, gates_list_fn done, void *arg);

#endif
