/*
 * What tasks may run: for each command, which flags with which values, and which arguments. Read
 * once at the start from YAML files:
 *
 *     commands:
 *       hey:
 *         flags:
 *           -z: '[0-9]+(s|m)'        # a flag with a value: what all of the value must match
 *           -disable-keepalive:      # a flag without one
 *         arguments:
 *           - ['https?://[a-z][a-z0-9.-]*(:[0-9]+)?(/.*)?']
 *
 * Values and arguments are regular expressions of Perl's syntax (pcre2pattern(3)) that must match
 * from the first byte to the last; `{pattern: '[a-z]*', max: 4096}` bounds the bytes, which are
 * POLICY_MAX_WORD otherwise. A bound in a pattern ({0,4096}) costs memory for each, and a pattern that
 * is large is refused. Each row of `arguments` is one way to call the command, with a
 * pattern for each argument; "..." at its end lets the last one come again. What is not listed is
 * refused: no flags lets none, no arguments lets none.
 *
 * A flag is written as it is listed, its value in the next word or, for flags with two dashes,
 * behind
 * "=". Everything else that begins with a dash is refused, since tools read it in different ways:
 * abbreviations, flags written together, "--", "-". For tools that take them, `attached: true` lets
 * the value of a flag with one letter follow at once (-t2), and `interspersed: true` lets flags
 * come behind arguments; other tools would take such flags for arguments, and they are refused.
 */
#ifndef LOADTESTER_POLICY_H
#define LOADTESTER_POLICY_H

#include "base/arena.h"
#include "base/err.h"

enum { POLICY_MAX_BYTES = 256 * 1024, POLICY_MAX_WORD = 8192 };

struct policy;

/* All in the arena. ERR_INVALID with file and field. */
enum err policy_read(struct arena *arena, const char *const *files, const struct policy **out,
                     struct errinfo *ei) MUST_USE;
/* These commands with any arguments (--allow-command). */
const struct policy *policy_of_names(struct arena *arena, const char *const *names);
/* ERR_DENIED with a sentence that names the word, never its value. A command is allowed by the very
 * text it is run by: "hey" does not allow "/tmp/hey". */
enum err policy_check(const struct policy *policy, const char *const *argv,
                      struct errinfo *ei) MUST_USE;

#endif
