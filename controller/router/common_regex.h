/*
 * Regular expressions that a spec gives, before they go into routes. A gateway that cannot read one
 * turns the whole route down, and with it every request: so what no gateway can read is refused
 * while the old route still serves.
 *
 * Each gateway has a dialect of its own (RE2, PCRE, ECMAScript). Checked is what they have in
 * common, by the widest of them, PCRE2: what it cannot read, nobody can. That a gateway knows less
 * than the expression asks for is not found here.
 */
#ifndef ROUTER_COMMON_REGEX_H
#define ROUTER_COMMON_REGEX_H

#include "base/arena.h"

/* NULL: it can be read. Otherwise why not and where, "missing closing parenthesis at character 2";
 * owned by the arena. */
const char *regex_mistake(struct arena *arena, const char *pattern);

#endif
