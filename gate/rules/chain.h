/*
 * The chain of hashes through the history (gate/rules/schema.sql): the hash of an entry is the
 * SHA-256 of the hash before it, a line feed, and its text. Rows are given in the order of their
 * numbers; what does not fit is found. Pure, and made without the database's functions.
 */
#ifndef GATE_CHAIN_H
#define GATE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate/rules/findings.h"

enum { CHAIN_HASH = 64, CHAIN_HASH_TEXT = CHAIN_HASH + 1 };

extern const char chain_start[CHAIN_HASH_TEXT]; /* what stands before the first entry */

/* previous: of CHAIN_HASH characters, or whatever a row says instead. */
void chain_hash(const char *previous, const char *entry, size_t len, char hash[CHAIN_HASH_TEXT]);

/* How far it has come. */
struct chain {
    int64_t seq;                   /* of the last row; 0: none yet */
    char hash[CHAIN_HASH_TEXT];    /* its hash, as it stands there */
    char follows[CHAIN_HASH_TEXT]; /* what its hash should be, when `in_doubt` */
    bool in_doubt;                 /* its entry or its hash is wrong: the next row tells which */
    char where[FINDINGS_WHERE];    /* what the last row is */
};

void chain_init(struct chain *chain);
/* One row. where: what it is, for a sentence. */
void chain_row(struct chain *chain, struct findings *findings, int64_t seq, const char *entry,
               size_t len, const char *hash, const char *where);
/* After the last row: what flagger_gate_head says; head_hash NULL: it is empty. */
void chain_end(struct chain *chain, struct findings *findings, int64_t head_seq,
               const char *head_hash);

#endif
