/*
 * Commands that tasks may run: for each, its flags with their values, and its arguments. Read once
 * at the start from YAML files:
 *
 *     commands:
 *       hey:
 *         flags:
 *           -z: '[0-9]+(s|m)'        # a flag with a value, which must match
 *           -disable-keepalive:      # a flag without a value
 *         arguments:
 *           - ['https?://[a-z][a-z0-9.-]*(:[0-9]+)?(/.*)?']
 *
 * Values and arguments are regular expressions in Perl's syntax (pcre2pattern(3)) that must match
 * from the first byte to the last; `{pattern: '[a-z]*', max: 4096}` limits the number of bytes, by
 * default to POLICY_MAX_WORD. A bound in a pattern ({0,4096}) costs memory, and a large pattern is
 * rejected. Each row of `arguments` is one way to call the command, with a pattern for each
 * argument; a final "..." allows the last one to be repeated. Unlisted flags and arguments are
 * rejected.
 *
 * A flag is written as listed, with its value in the next word or, for flags with two dashes, after
 * "=". Everything else that begins with a dash is rejected, since tools parse it in different ways:
 * abbreviations, combined flags, "--", "-". For tools that support them, `attached: true` allows a
 * value directly after a flag of one letter (-t2), and `interspersed: true` allows flags after
 * arguments; otherwise both are rejected.
 */
#ifndef LOADTESTER_POLICY_H
#define LOADTESTER_POLICY_H

#include "base/arena.h"
#include "base/err.h"

enum { POLICY_MAX_BYTES = 256 * 1024, POLICY_MAX_WORD = 8192 };

struct policy;

/* Everything is owned by the arena. ERR_INVALID with file and field. */
enum err policy_read(struct arena *arena, const char *const *files, const struct policy **out,
                     struct errinfo *ei) MUST_USE;
/* A policy of these commands, each with any arguments (--allow-command). */
const struct policy *policy_of_names(struct arena *arena, const char *const *names);
/* ERR_DENIED with a message that names the word, never its value. A command must be allowed
 * exactly as it is called: "hey" does not allow "/tmp/hey". */
enum err policy_check(const struct policy *policy, const char *const *argv,
                      struct errinfo *ei) MUST_USE;

#endif
