/*
 * A signed link: one change of one gate, which the holder of the link may make once, until the link
 * expires. Pure: the time, the random id and the keys are inputs.
 *
 *   token   = base64url(payload) "." base64url(HMAC-SHA256(key, payload))
 *   payload = version 1 | action | kind | verified | 16 bytes id | expires | for (8 bytes each,
 *             big-endian) | namespace | name | hook | revision | who | issuer | reason (2 bytes
 *             length + UTF-8)
 *
 * A payload has exactly one encoding, and so has its token: a change of any bit is detected. The
 * database ensures that a link is used only once (flagger_gate_link of schema.sql).
 */
#ifndef GATE_LINK_H
#define GATE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/loop.h"

enum {
    LINK_ID_BYTES = 16,
    LINK_ID_TEXT = 2 * LINK_ID_BYTES + 1,
    LINK_MAX_TOKEN = 4096,
    LINK_MAX_NAME = 253,    /* limit of all names, in bytes */
    LINK_MAX_REASON = 1000, /* bytes */
    LINK_MIN_KEY = 32,      /* bytes; checked by the caller */
};

enum link_action {
#define LINK_ACTION(name, text) LINK_##name,
#include "gate/links/link_action.def"
#undef LINK_ACTION
    LINK_ACTIONS
};

enum link_kind { LINK_OF_GATE, LINK_OF_ROLLBACK, LINK_KINDS };

/* Strings from link_verify() are never NULL; "" if not set. */
struct link {
    unsigned char id[LINK_ID_BYTES];
    enum link_action action;
    enum link_kind kind;
    int64_t expires_s;      /* Unix time at which the link becomes invalid */
    int64_t for_ms;         /* how long the pass is valid, counted from the use of the link; 0:
                             * no end */
    const char *namespace_; /* required, as name */
    const char *name;
    const char *hook;     /* "" means every hook */
    const char *revision; /* "" means every revision; required to approve */
    const char *who;      /* the name it acts as; "" if none */
    const char *issuer;   /* name of its creator */
    bool verified;        /* the creator had proven its right to use that name */
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
/* False if there is no such action, or kind. */
bool link_action_parse(const char *text, enum link_action *out);
bool link_kind_parse(const char *text, enum link_kind *out);
/* "gate", "rollback": as in the tables and the API. */
const char *link_kind_name(enum link_kind kind);
/* 32 hexadecimal digits. Returns text. */
char *link_id_text(const struct link *link, char text[LINK_ID_TEXT]);

/* The token, owned by the arena; NULL strings count as "". ERR_INVALID, with the field, if one is
 * missing, too long or not UTF-8: only tokens that link_verify() accepts are created. */
enum err link_sign(struct arena *arena, const struct link_key *key, const struct link *link,
                   const char **token, struct errinfo *ei) MUST_USE;

/* A token of any payload; for tests and fuzz targets. */
const char *link_seal(struct arena *arena, const struct link_key *key, const void *payload,
                      size_t len);

/*
 * Checks that the token was signed with one of the keys and has not expired at now_s. The signature
 * is checked first, in constant time. *out is filled for LINK_GOOD and LINK_EXPIRED, its strings
 * owned by the arena.
 */
enum link_verdict link_verify(struct arena *arena, const struct link_key *keys, int n_keys,
                              const char *token, int64_t now_s, struct link *out) MUST_USE;
/* A word for metrics, and a sentence for the user of the link. */
const char *link_verdict_word(enum link_verdict verdict);
const char *link_verdict_text(enum link_verdict verdict);

/*
 * --- The keys of signed links: a file, mounted from a Secret, with one key per line. The first key
 * signs, all verify: to rotate, put the new key first, and remove the old one when its links have
 * expired. A key has 32 to 1,024 characters; surrounding blanks are ignored, empty lines and lines
 * that begin with '#' are skipped. The file is read again when it changes; if it has become
 * unreadable or invalid, this is logged and the old keys are kept.
 */
enum { LINK_KEYS_MAX = 16, LINK_KEY_MAX_LENGTH = 1024 };

struct link_keys;

/* ERR_INVALID with file and line if there is no key, or one that is too short. */
enum err link_keys_new(struct loop *loop, const char *path, struct link_keys **out,
                       struct errinfo *ei) MUST_USE;
/* Stops watching the file; required before the loop can end. The keys are kept. */
void link_keys_stop(struct link_keys *keys);
void link_keys_free(struct link_keys *keys); /* NULL is allowed */

/* At least one. Borrowed until the next loop iteration. */
const struct link_key *link_keys_list(const struct link_keys *keys, int *count);

/* Reads the file now; for tests. */
void link_keys_poll(struct link_keys *keys);

/*
 * --- Pages for a signed link, as HTML: its change with one button, the result, or the reason for a
 * refusal. Pure. No script and no external resources; strings from a link or a database are escaped
 * and isolated, so that they cannot change the writing direction of other text.
 */

/* The answer of the database (flagger_gate_link of schema.sql) for link_page_done(). */
struct link_result {
    bool changed, open;
    int64_t votes, quorum;
};

/* All owned by the arena. The form posts to the address of the page. */
const char *link_page_confirm(struct arena *arena, const struct link *link);
const char *link_page_done(struct arena *arena, const struct link *link,
                           const struct link_result *result);
/* sentence: the reason for the refusal. */
const char *link_page_refused(struct arena *arena, const char *sentence);

/* Security headers of the pages; the last row has no name. */
struct link_page_header {
    const char *name, *value;
};
extern const struct link_page_header link_page_headers[];

#endif
