/* UTF-8: validation, truncation and encoding. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length (1..4) of the valid sequence at text, 0 if none. Overlong forms and surrogates are
 * invalid. */
size_t utf8_sequence(const char *text, size_t len);
bool utf8_valid(const char *text, size_t len);
/* The largest n <= len such that the first n bytes do not end inside a character. */
size_t utf8_cut(const char *text, size_t len);
/* Number of characters; an invalid byte counts as one. */
size_t utf8_count(const char *text, size_t len);
/* Writes the character (a scalar value) and returns its length, 1..4. */
size_t utf8_encode(uint32_t code, char out[4]);

#endif
