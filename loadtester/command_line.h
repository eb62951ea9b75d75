/*
 * Command lines of tasks: splitting them into words, and masking their credentials.
 *
 * words_split() works without a shell: quoting as in POSIX.1-2017 XCU 2.2 (backslash, single and
 * double quotes), no expansion of any kind. Unquoted text with a meaning to a shell (an operator,
 * `$`, a back quote, a comment) is rejected: the command was written for a shell and would do
 * something else without one.
 */
#ifndef LOADTESTER_COMMAND_LINE_H
#define LOADTESTER_COMMAND_LINE_H

#include "base/arena.h"
#include "base/err.h"

enum { WORDS_MAX = 1024 };

/*
 * At least one word and at most WORDS_MAX, NULL-ended, in the arena. ERR_INVALID with the mistake
 * and the position of its character (from 1), without quoting the text.
 */
enum err words_split(struct arena *arena, const char *text, const char *const **out,
                     struct errinfo *ei) MUST_USE;

#define MASK "***"

/*
 * Masks text that looks like a credential, for logs and lists: text after Authorization, Cookie and
 * the like, Bearer and Basic, values of flags and settings named like a token, password, secret or
 * key, and the user in a URL. Returns the text itself if nothing is masked, else a copy in the
 * arena.
 */
const char *mask_credentials(struct arena *arena, const char *text);

#endif
