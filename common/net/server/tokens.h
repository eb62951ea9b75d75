/*
 * Who may ask: a file of bearer tokens (RFC 6750), one a line:
 *
 *     TOKEN [ROLE NAME]
 *     cert:CN [ROLE NAME]
 *
 * A row that begins with `cert:` is no token: it stands for the client certificate with that common
 * name (http_req_client_name()). Empty lines and lines that begin with '#' are skipped. The file is
 * read again when it changes, as a mounted Secret does; one that has become empty, wrong or
 * unreadable lets nobody in until it is right, and says so. Tokens are kept as digests, and appear
 * in no log.
 */
#ifndef NET_TOKENS_H
#define NET_TOKENS_H

#include <stdbool.h>

#include "base/err.h"
#include "net/loop.h"

enum { TOKENS_MIN_LENGTH = 16, TOKENS_MAX = 256 };

struct tokens;

/* What stands behind the token, NULL where the line ends before it. */
struct token_row {
    const char *role;
    const char *name; /* to the end of the line: may hold blanks */
};

/* Refuses a row with a sentence (ERR_INVALID), to which the file and the line are added. */
typedef enum err (*token_check_fn)(const struct token_row *row, struct errinfo *ei);

/*
 * ERR_INVALID when there is no row in it, or a token shorter than 16 characters. With a check every
 * row must pass it, no two rows may have the same token, and a line must not begin with a blank;
 * without one such a line is skipped, the first of two rows counts, and what stands behind a token
 * may be anything.
 */
enum err tokens_new(struct loop *loop, const char *path, token_check_fn check, struct tokens **out,
                    struct errinfo *ei) MUST_USE;
/* Calls fn from the loop when other rows count: for replies that take long and end with their
 * token.
 */
void tokens_on_changed(struct tokens *tokens, void (*fn)(void *arg), void *arg);
/* Stops watching the file; before the loop can end. Tokens stay known. */
void tokens_stop(struct tokens *tokens);
void tokens_free(struct tokens *tokens); /* NULL is allowed */

/* The row whose token the value of an Authorization header (NULL: none) brings, or NULL. Takes the
 * same time whichever byte is wrong and whichever row it is. Borrowed until the loop turns. */
const struct token_row *tokens_find(const struct tokens *tokens, const char *authorization);
/* The row of a client's certificate, or NULL; cn may be NULL. Borrowed as well. */
const struct token_row *tokens_find_certificate(const struct tokens *tokens, const char *cn);

/* The rows in the order of the file, from 0; NULL past the last. Borrowed as well. */
const struct token_row *tokens_row(const struct tokens *tokens, int index);

/* Looks at the file now; for tests. */
void tokens_look(struct tokens *tokens);

#endif
