/*
 * A command line as words, without a shell: quoting as in POSIX.1-2017 XCU 2.2 (backslash, single
 * and double quotes), no expansion of any kind. What would mean something to a shell and is not
 * quoted (an operator, `$`, a back quote, a comment) is refused rather than passed on: the command
 * was written for a shell and would do something else without one.
 */
#ifndef LOADTESTER_WORDS_H
#define LOADTESTER_WORDS_H

#include "base/arena.h"
#include "base/err.h"

enum { WORDS_MAX = 1024 };

/*
 * At least one word and at most WORDS_MAX of them, NULL-ended, in the arena. ERR_INVALID with what
 * is wrong and at which character (from 1), without naming the text itself.
 */
enum err words_split(struct arena *arena, const char *text, const char *const **out,
                     struct errinfo *ei) MUST_USE;

#endif
