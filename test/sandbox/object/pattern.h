/*
 * Regular expressions that RE2, which Go and the Gateway API's implementations have, and PCRE2,
 * which we and HAProxy have, read alike. What only one of them knows (look-around, back references,
 * possessive quantifiers, flags in the middle, \p, \v) is an error, never a wrong match. Only \s
 * differs: to PCRE2 a vertical tab is a space; and RE2 takes no repeats of repeats that make more
 * than PATTERN_MAX_REPEAT.
 *
 * Matching backtracks; a text that takes too many steps matches nothing.
 */
#ifndef OBJECT_PATTERN_H
#define OBJECT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { PATTERN_MAX_BYTES = 4096, PATTERN_MAX_REPEAT = 1000 };

/* What a "." is: a character of valid UTF-8, or one byte of anything, as HAProxy has it. */
enum pattern_unit { PATTERN_CHARACTERS, PATTERN_BYTES };

struct pattern;

enum err pattern_compile(const char *text, enum pattern_unit unit, struct pattern **out,
                         struct errinfo *ei) MUST_USE;
void pattern_free(struct pattern *pattern); /* NULL is allowed */
/* True when the pattern is found anywhere in text. */
bool pattern_match(const struct pattern *pattern, const char *text, size_t len);

#endif
