/*
 * Who may ask: the bearer tokens of a file, one a line (RFC 6750). Empty lines and lines that begin
 * with '#' are skipped. The file is read again when it changes, as a mounted Secret does; one that
 * has become unreadable keeps the tokens that were known and is logged.
 */
#ifndef LOADTESTER_TOKENS_H
#define LOADTESTER_TOKENS_H

#include <stdbool.h>

#include "base/err.h"
#include "net/loop.h"

struct tokens;

/* ERR_INVALID when there is no token in it, or one shorter than 16 characters. */
enum err tokens_new(struct loop *loop, const char *path, struct tokens **out,
                    struct errinfo *ei) MUST_USE;
/* Stops watching the file; before the loop can end. Tokens stay known. */
void tokens_stop(struct tokens *tokens);
void tokens_free(struct tokens *tokens); /* NULL is allowed */
/* The value of an Authorization header (NULL: none) brings one of the tokens. Takes the same time
 * whichever byte is wrong. */
bool tokens_know(const struct tokens *tokens, const char *authorization);

#endif
