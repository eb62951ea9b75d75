/*
 * Checks of the history as `flagger-gate verify` reads it. Pure: rows go in, sentences come out.
 *
 *   findings_*  collects sentences about mistakes: the first few are printed, the others counted
 *   chain_*     the hashes: the hash of an entry is the SHA-256 of the hash before it, a line feed,
 *               and its text (gate/rules/schema.sql); computed here, not by the database's
 *               functions
 *   replay_*    the state of the gates that follows from the entries, compared with the tables.
 *               Detects a pass without an entry as well as an entry without its pass; expired
 *               objects are ignored on both sides
 */
#ifndef GATE_HISTORY_H
#define GATE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"

enum { FINDINGS_SHOWN = 20, FINDINGS_WHERE = 512 };

struct findings {
    FILE *out;
    int64_t count;
};

/* One sentence, without a full stop. Control characters in it are shown as `?`. */
void findings_add(struct findings *findings, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Prints the number of sentences that were not printed, if any. */
void findings_end(const struct findings *findings);

/* --- the chain of hashes. Rows are given in the order of their numbers. */

enum { CHAIN_HASH = 64, CHAIN_HASH_TEXT = CHAIN_HASH + 1 };

extern const char chain_start[CHAIN_HASH_TEXT]; /* hash before the first entry */

/* previous: CHAIN_HASH characters, or the wrong content of a row. */
void chain_hash(const char *previous, const char *entry, size_t len, char hash[CHAIN_HASH_TEXT]);

/* State of the check. */
struct chain {
    int64_t seq;                   /* number of the last row; 0 if none */
    char hash[CHAIN_HASH_TEXT];    /* its hash as stored */
    char follows[CHAIN_HASH_TEXT]; /* its expected hash, if `in_doubt` */
    bool in_doubt;                 /* the entry or its hash is wrong; the next row decides which */
    char where[FINDINGS_WHERE];    /* description of the last row */
};

void chain_init(struct chain *chain);
/* Checks one row. where: its description for a sentence. */
void chain_row(struct chain *chain, struct findings *findings, int64_t seq, const char *entry,
               size_t len, const char *hash, const char *where);
/* Called after the last row, with the content of flagger_gate_head; head_hash is NULL if it is
 * empty. */
void chain_end(struct chain *chain, struct findings *findings, int64_t head_seq,
               const char *head_hash);

/*
 * --- replay. An object in a table has the keys of the entry that created it; a value that is null
 * or empty on one side may be missing on the other.
 */

struct replay;

/* Objects created by entries: rows of flagger_gate_passes, _votes, _policies, _freezes and
 * _links. A link may be used without an entry, if the gate was already in that state. */
enum replay_thing {
    REPLAY_PASS,
    REPLAY_VOTE,
    REPLAY_POLICY,
    REPLAY_FREEZE,
    REPLAY_LINK,
    REPLAY_THINGS
};

struct replay *replay_new(void);
void replay_free(struct replay *replay); /* NULL is allowed */

/* Applies the next entry; its text is copied if it is needed later. False if its action is
 * unknown. */
bool replay_entry(struct replay *replay, int64_t seq, struct json_object *entry, const char *text);

/* Checks a row of a table that has not expired. */
void replay_row(struct replay *replay, struct findings *findings, enum replay_thing thing,
                struct json_object *row);
/* Called after all rows: reports objects that are missing. now: in the format of the history;
 * day_ago: older votes do not count. */
void replay_end(struct replay *replay, struct findings *findings, const char *now,
                const char *day_ago);

/* "entry 12 (2026-11-21T22:40:01.123456Z, gate podinfo.test)": for sentences. Owned by the arena.
 */
const char *replay_where(struct arena *arena, int64_t seq, struct json_object *entry);

/*
 * `flagger-gate verify`: checks that the history in the database was not changed, and that the
 * gates follow from it.
 *
 * Everything is read in one transaction that changes nothing, row by row, while gates keep serving.
 * Every hash is computed here. Two things are not detected: a new entry by a writer with direct
 * access to the database, and a rewrite of the whole end of the history; the `head` of an earlier
 * run, kept elsewhere, rules out the latter (--expect).
 */

enum verify_status { VERIFY_WHOLE, VERIFY_TAMPERED, VERIFY_UNREAD };

/* argv[0] is "verify". Prints, and returns the exit status: an enum verify_status. */
int verify_main(int argc, char **argv);

#endif
