/*
 * Authentication by a file of bearer tokens (RFC 6750), one per line:
 *
 *     TOKEN [ROLE NAME]
 *     cert:CN [ROLE NAME]
 *
 * A row that begins with `cert:` stands for the client certificate with that common name
 * (http_req_client_name()). Empty lines and lines that begin with '#' are skipped. The file is read
 * again when it changes, as a mounted Secret does; while it is empty, invalid or unreadable, no
 * client is admitted, and an error is logged. Tokens are kept as digests and never logged.
 */
#ifndef NET_TOKENS_H
#define NET_TOKENS_H

#include <stdbool.h>

#include "base/err.h"
#include "net/loop.h"

enum { TOKENS_MIN_LENGTH = 16, TOKENS_MAX = 256 };

struct tokens;

/* The fields after the token, NULL if missing. */
struct token_row {
    const char *role;
    const char *name; /* the rest of the line: may hold blanks */
};

/* Checks a row; ERR_INVALID with one sentence, to which the file and the line are added. */
typedef enum err (*token_check_fn)(const struct token_row *row, struct errinfo *ei);

/*
 * ERR_INVALID if the file has no row, or a token shorter than 16 characters. With a check, every
 * row must pass it, no two rows may have the same token, and a line must not begin with a blank.
 * Without a check, such a line is skipped, the first of two equal rows counts, and the fields after
 * a token may be anything.
 */
enum err tokens_new(struct loop *loop, const char *path, token_check_fn check, struct tokens **out,
                    struct errinfo *ei) MUST_USE;
/* Calls fn from the loop when the rows have changed: for long replies that must end when their
 * token is revoked. */
void tokens_on_changed(struct tokens *tokens, void (*fn)(void *arg), void *arg);
/* Stops watching the file, which is needed for the loop to end. Tokens stay valid. */
void tokens_stop(struct tokens *tokens);
void tokens_free(struct tokens *tokens); /* NULL is allowed */

/* The row of the token in the value of an Authorization header, NULL if none or if the value is
 * NULL. The time does not depend on the position of a wrong byte or of the row. Borrowed until
 * the next loop iteration. */
const struct token_row *tokens_find(const struct tokens *tokens, const char *authorization);
/* The row of a client certificate, NULL if none or if cn is NULL. Borrowed likewise. */
const struct token_row *tokens_find_certificate(const struct tokens *tokens, const char *cn);

/* The rows in the order of the file, from 0; NULL past the last. Borrowed likewise. */
const struct token_row *tokens_row(const struct tokens *tokens, int index);

/* Checks the file now; for tests. */
void tokens_reload(struct tokens *tokens);

#endif
