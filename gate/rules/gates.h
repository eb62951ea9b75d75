/*
 * The gates as the database keeps them (schema.sql and schema_N.sql): asking, changing, reading.
 *
 * A gate is a kind (`gate` for hooks of the confirm types, `rollback`), and the namespace and name
 * of a Canary. It lets a check through when it has a pass for that hook and revision. Every
 * function here is one statement, and so one transaction; the rules are there.
 *
 * Errors: info->status is the HTTP status to answer with; 503 with ERR_RETRY when the database did
 * not answer, 4xx when a rule was broken.
 */
#ifndef GATE_GATES_H
#define GATE_GATES_H

#include "gate/db/db.h"

/* Texts are borrowed until the starter returns. */
struct gate_name {
    const char *kind; /* "gate" or "rollback" */
    const char *namespace_, *name;
    const char *hook; /* "": every hook, or a check that names none */
};

/* What a check says beside the gate: "" where it does not. release: which release of the Canary it is of;
 * an approval ends with the release that it was given for. */
struct gate_question {
    const char *revision, *phase, *release;
};

/* A change, who wants it and why. */
struct gate_change {
    struct gate_name gate;
    const char *revision;  /* "": every revision */
    const char *expires;   /* RFC 3339, or NULL */
    const char *for_ms;    /* from now on, or NULL; both NULL: until it is closed */
    const char *who, *via; /* via: "api", "webhook", "link" */
    bool verified;         /* the name was proven */
    const char *reason;    /* "" if none was given */
};

/* What is said of an open gate of which no more is known, or may be told. */
#define GATES_OPEN "Approved"

/* Every callback comes exactly once, never before the starter has returned. approval is for people:
 * who has let it through, and why ("Approved by alice: looks good"); NULL: it is closed. It is
 * borrowed, and meaningless unless err is ERR_OK. */
typedef void (*gates_check_fn)(void *arg, enum err err, const struct errinfo *info,
                               const char *approval);
/* json: what the API answers; borrowed, NULL on failure. */
typedef void (*gates_json_fn)(void *arg, enum err err, const struct errinfo *info,
                              const char *json);

/* A check that is told to wait is written down, behind the answer; one whose deadline has passed
 * has what the policy says happen first, and one of a release that is new to the gate ends the approvals
 * of the one before it. asker is the proven name of who asks, "" if none: what is written down for one asker no other can push
 * out. tells_who: the asker may know who has let it through; otherwise it is told GATES_OPEN. */
void gates_check(struct db *db, const struct gate_name *gate, const struct gate_question *question,
                 const char *asker, bool tells_who, gates_check_fn done, void *arg);
/* {"changed","open","votes","quorum","seq"} */
void gates_open(struct db *db, const struct gate_change *change, gates_json_fn done, void *arg);
void gates_close(struct db *db, const struct gate_change *change, gates_json_fn done, void *arg);

/* quorum is a number, approvers a PostgreSQL array, deadline_ms a number or NULL, on_deadline
 * "open", "rollback" or NULL. approvers NULL takes the policy away. {"seq"} */
struct gate_policy {
    const char *quorum, *approvers, *deadline_ms, *on_deadline;
};
void gates_set_policy(struct db *db, const struct gate_change *change,
                      const struct gate_policy *policy, gates_json_fn done, void *arg);

/* Gates after `after` in the order of namespace, name and kind, `limit` at most (text of a number):
 * {"gates":[...],"continue":"namespace/name/kind"}; continue only where there are more. namespace_
 * "": all, or all `within`, which is a list such as "test,prod"; NULL: no bound. */
void gates_list(struct db *db, const char *namespace_, const char *within,
                const struct gate_name *after, const char *limit, gates_json_fn done, void *arg);
/* Both gates of a Canary and its last 50 history entries, newest first. */
void gates_show(struct db *db, const char *namespace_, const char *name, gates_json_fn done,
                void *arg);
/* {"history":[...]}, oldest first, after the entry number `after`; namespace_ and name "": all.
 * within: also what concerns all namespaces. */
void gates_history(struct db *db, const char *namespace_, const char *within, const char *name,
                   const char *after, const char *limit, gates_json_fn done, void *arg);

/* What checks must not get through, and when. NULL: unbounded; the three of the week together, in
 * minutes since Monday 0:00. */
struct gate_freeze {
    const char *from, *until;
    const char *weekly_from, *weekly_until, *zone;
};
/* change->gate: namespace and name, "" for all. {"id","seq"} */
void gates_freeze(struct db *db, const struct gate_change *change, const struct gate_freeze *freeze,
                  gates_json_fn done, void *arg);
/* Only a freeze of one of the namespaces `within`. */
void gates_unfreeze(struct db *db, const char *id, const char *within,
                    const struct gate_change *change, gates_json_fn done, void *arg);
/* {"freezes":[...]}; within: also those of all namespaces. */
void gates_freezes(struct db *db, const char *within, gates_json_fn done, void *arg);

/* A statement whose answer is one row with the JSON in its first column. */
void gates_run(struct db *db, const struct db_statement *statement, const char *const *params,
               gates_json_fn done, void *arg);

/* Every statement of this file, NULL-ended: what a connection prepares. */
extern const struct db_statement *const gates_statements[];

#endif
