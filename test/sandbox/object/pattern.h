/*
 * Regular expressions by PCRE2, which HAProxy has too, for what is RE2's with Go and the implementations of the Gateway API.
 * What PCRE2 alone knows of groups and references (look-around, back references) is an error; for the rest they read alike.
 *
 * Matching backtracks; a text that takes too many steps matches nothing.
 */
#ifndef OBJECT_PATTERN_H
#define OBJECT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { PATTERN_MAX_BYTES = 4096 };

/* What a "." is: a character of valid UTF-8, or one byte of anything, as HAProxy has it. */
enum pattern_unit { PATTERN_CHARACTERS, PATTERN_BYTES };

struct pattern;

enum err pattern_compile(const char *text, enum pattern_unit unit, struct pattern **out,
                         struct errinfo *ei) MUST_USE;
void pattern_free(struct pattern *pattern); /* NULL is allowed */
/* Whether the whole text is as a pattern of the program's own says, which is compiled once. */
bool pattern_fits(const char *pattern, const char *text);
/* True when the pattern is found anywhere in text. */
bool pattern_match(const struct pattern *pattern, const char *text, size_t len);

#endif
