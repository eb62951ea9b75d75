/*
 * A signed link: one change of one gate, which whoever holds the link may make once, until it
 * expires. Pure: the time, the random id and the keys are inputs.
 *
 *   token   = base64url(payload) "." base64url(HMAC-SHA256(key, payload))
 *   payload = version 1 | action | kind | verified | 16 bytes id | expires | for (8 bytes each,
 *             big-endian) | namespace | name | hook | revision | who | issuer | reason (2 bytes
 * length + UTF-8)
 *
 * A payload has one spelling, and so has its token: a change of any bit is noticed. That a link is
 * used only once is the database's rule (flagger_gate_link of schema.sql), not known here.
 */
#ifndef GATE_LINK_H
#define GATE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum {
    LINK_ID_BYTES = 16,
    LINK_ID_TEXT = 2 * LINK_ID_BYTES + 1,
    LINK_MAX_TOKEN = 4096,
    LINK_MAX_NAME = 253,    /* namespace, name, hook, revision, who, issuer, in bytes */
    LINK_MAX_REASON = 1000, /* bytes */
    LINK_MIN_KEY = 32,      /* bytes; the caller sees to it */
};

enum link_action {
#define LINK_ACTION(name, text) LINK_##name,
#include "gate/links/link_action.def"
#undef LINK_ACTION
    LINK_ACTIONS
};

enum link_kind { LINK_OF_GATE, LINK_OF_ROLLBACK, LINK_KINDS };

/* Texts are never NULL in what link_verify() gives; "" is none. */
struct link {
    unsigned char id[LINK_ID_BYTES];
    enum link_action action;
    enum link_kind kind;
    int64_t expires_s;      /* Unix time; from then on the link is worth nothing */
    int64_t for_ms;         /* how long what it lets through stays open, from its use; 0: no end */
    const char *namespace_; /* required, as name */
    const char *name;
    const char *hook;     /* "": every hook */
    const char *revision; /* "": every revision; required to approve */
    const char *who;      /* the name it acts as; "": nobody was named */
    const char *issuer;   /* who made it */
    bool verified;        /* whoever made it had proven to be allowed to act as `who` */
    const char *reason;
};

struct link_key {
    const char *text; /* borrowed */
    size_t len;
};

enum link_verdict {
#define LINK_VERDICT(name, word, text) LINK_##name,
#include "gate/links/link_verdict.def"
#undef LINK_VERDICT
    LINK_VERDICTS
};

/* "open", "approve", "close". */
const char *link_action_name(enum link_action action);
/* False when there is no such action, or kind. */
bool link_action_parse(const char *text, enum link_action *out);
bool link_kind_parse(const char *text, enum link_kind *out);
/* "gate", "rollback": as in the tables and the API. */
const char *link_kind_name(enum link_kind kind);
/* 32 hexadecimal digits. Returns text. */
char *link_id_text(const struct link *link, char text[LINK_ID_TEXT]);

/* The token, owned by the arena; NULL texts count as "". ERR_INVALID, with the field, when a field
 * is missing, too long or no UTF-8: no token is ever made that link_verify() would not read. */
enum err link_sign(struct arena *arena, const struct link_key *key, const struct link *link,
                   const char **token, struct errinfo *ei) MUST_USE;

/* payload and its signature as a token, whatever the payload says; for tests and fuzz targets. */
const char *link_seal(struct arena *arena, const struct link_key *key, const void *payload,
                      size_t len);

/*
 * Whether the token was signed with one of the keys and is alive at now_s. The signature is checked
 * before anything inside is looked at, in the same time whichever byte is wrong. *out is filled for
 * LINK_GOOD and LINK_EXPIRED, its texts owned by the arena.
 */
enum link_verdict link_verify(struct arena *arena, const struct link_key *keys, int n_keys,
                              const char *token, int64_t now_s, struct link *out) MUST_USE;
/* A word for metrics, and a sentence for the person who followed the link. */
const char *link_verdict_word(enum link_verdict verdict);
const char *link_verdict_text(enum link_verdict verdict);

#endif
