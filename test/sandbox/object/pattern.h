/*
 * The `pattern` of a schema: RE2 syntax, as Go reads it, matched by the C library.
 *
 * The pattern is translated to a POSIX extended regular expression over bytes: classes, escapes (\d
 * \w \s \D \W \S \x41 \x{41} \t \n ...), (?:...) and (?i) at the start, lazy quantifiers (which
 * match the same texts). UTF-8 outside of ASCII works, in classes too. What POSIX has no words for
 * (\b, \p{...}, flags in the middle, ranges beyond ASCII) is an error, never a wrong match.
 * Matching is done by glibc's DFA; its time is polynomial in the text.
 */
#ifndef OBJECT_PATTERN_H
#define OBJECT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum { PATTERN_MAX_BYTES = 4096, PATTERN_MAX_REPEAT = 1000 };

struct pattern;

enum err pattern_compile(const char *text, struct pattern **out, struct errinfo *ei) MUST_USE;
void pattern_free(struct pattern *pattern); /* NULL is allowed */
/* True when the pattern is found anywhere in text. */
bool pattern_match(const struct pattern *pattern, const char *text, size_t len);
/* The POSIX expression, owned by the arena; for tests and errors. */
enum err pattern_translate(struct arena *arena, const char *text, const char **out, bool *icase,
                           struct errinfo *ei) MUST_USE;

#endif
