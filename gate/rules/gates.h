/*
 * Gates in the database (schema.sql and schema_N.sql): checks, changes, lists.
 *
 * A gate is a kind (`gate` for hooks of the confirm types, `rollback`), and the namespace and name
 * of a Canary. A check passes if there is a pass for its hook and revision. Every function here is
 * one statement, and so one transaction; the rules are in the database.
 *
 * Errors: info->status is the HTTP status of the answer: 503 with ERR_RETRY if the database did not
 * answer, 4xx if a rule was violated.
 */
#ifndef GATE_GATES_H
#define GATE_GATES_H

#include "gate/db/db.h"

/* Strings are borrowed until the call returns. */
struct gate_name {
    const char *kind; /* "gate" or "rollback" */
    const char *namespace_, *name;
    const char *hook; /* "" means every hook, or a check that names no hook */
};

/* Further fields of a check, "" if missing. release: the Canary's release; an approval ends with
 * the release that it was given for. */
struct gate_question {
    const char *revision, *phase, *release;
};

/* A change, its author and its reason. */
struct gate_change {
    struct gate_name gate;
    const char *revision;  /* "" means every revision */
    const char *expires;   /* RFC 3339, or NULL */
    const char *for_ms;    /* duration from now, or NULL; both NULL: until closed */
    const char *who, *via; /* via: "api", "webhook", "link" */
    bool verified;         /* the name was proven */
    const char *reason;    /* "" if none was given */
};

/* Answer for an open gate if its approver is unknown or must not be shown. */
#define GATES_OPEN "Approved"

/* Every callback is called exactly once, never before the call has returned. approval is text
 * for people: the approver and the reason ("Approved by alice: looks good"), NULL if the gate is
 * closed. It is borrowed, and undefined unless err is ERR_OK. */
typedef void (*gates_check_fn)(void *arg, enum err err, const struct errinfo *info,
                               const char *approval);
/* json: body of the answer; borrowed, NULL on failure. */
typedef void (*gates_json_fn)(void *arg, enum err err, const struct errinfo *info,
                              const char *json);

/* A check that has to wait is recorded, after the answer. If its deadline has passed, the
 * policy's action comes first; a release that is new to the gate ends the approvals of the
 * previous one. asker: proven name of the caller, "" if none; records are limited per caller.
 * shows_approver: the caller may read the approver's name; otherwise it gets GATES_OPEN. */
void gates_check(struct db *db, const struct gate_name *gate, const struct gate_question *question,
                 const char *asker, bool shows_approver, gates_check_fn done, void *arg);
/* {"changed","open","votes","quorum","seq"} */
void gates_open(struct db *db, const struct gate_change *change, gates_json_fn done, void *arg);
void gates_close(struct db *db, const struct gate_change *change, gates_json_fn done, void *arg);

/* quorum is a number, approvers a PostgreSQL array, deadline_ms a number or NULL, on_deadline
 * "open", "rollback" or NULL. approvers NULL removes the policy. {"seq"} */
struct gate_policy {
    const char *quorum, *approvers, *deadline_ms, *on_deadline;
};
void gates_set_policy(struct db *db, const struct gate_change *change,
                      const struct gate_policy *policy, gates_json_fn done, void *arg);

/* Gates after `after`, ordered by namespace, name and kind, at most `limit` of them (the text of
 * a number): {"gates":[...],"continue":"namespace/name/kind"}; continue only if there are more.
 * namespace_ "" means all in the list `within`, such as "test,prod", and all namespaces if that
 * is NULL. */
void gates_list(struct db *db, const char *namespace_, const char *within,
                const struct gate_name *after, const char *limit, gates_json_fn done, void *arg);
/* Both gates of a Canary and its last 50 history entries, newest first. */
void gates_show(struct db *db, const char *namespace_, const char *name, gates_json_fn done,
                void *arg);
/* {"history":[...]}, oldest first, after the entry number `after`; namespace_ and name "" mean
 * all. within: also adds entries that apply to all namespaces. */
void gates_history(struct db *db, const char *namespace_, const char *within, const char *name,
                   const char *after, const char *limit, gates_json_fn done, void *arg);

/*
 * A page of changes, for a feed: rows with number, entry and namespace, up to `limit` entries after
 * the number `after`, in order; the row whose entry is null is the head of the history. It is one
 * snapshot: an entry up to the head is included, or never existed. lane: DB_ASK for the newest,
 * mostly one entry; DB_READ for long pages.
 */
void gates_changes(struct db *db, int64_t after, int limit, enum db_lane lane, db_done_fn done,
                   void *arg);

/* The period in which checks must not pass. NULL if unbounded; the three weekly fields go
 * together, in minutes since Monday 0:00. */
struct gate_freeze {
    const char *from, *until;
    const char *weekly_from, *weekly_until, *zone;
};
/* change->gate: namespace and name, "" means all. {"id","seq"} */
void gates_freeze(struct db *db, const struct gate_change *change, const struct gate_freeze *freeze,
                  gates_json_fn done, void *arg);
/* Ends the freeze only if its namespace is in `within`. */
void gates_unfreeze(struct db *db, const char *id, const char *within,
                    const struct gate_change *change, gates_json_fn done, void *arg);
/* {"freezes":[...]}; within: also adds those for all namespaces. */
void gates_freezes(struct db *db, const char *within, gates_json_fn done, void *arg);

/* Runs a statement whose answer is one row: the JSON in its first column. */
void gates_run(struct db *db, const struct db_statement *statement, const char *const *params,
               gates_json_fn done, void *arg);

/* Statements of this file, NULL-ended, prepared on every connection. */
extern const struct db_statement *const gates_statements[];

#endif
