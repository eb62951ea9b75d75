/*
 * Encodings of bytes: base64, hexadecimal and hashes, UTF-8.
 *
 * Base64 (RFC 4648): with the standard alphabet and padding, for Secrets and kubeconfig files, and
 * with the URL alphabet without padding, for signed links.
 */
#ifndef BASE_ENCODING_H
#define BASE_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* Owned by the arena. */
const char *base64_encode(struct arena *arena, const void *data, size_t len);
/* White space between the characters is allowed. *out is NUL-terminated; len may be NULL. */
enum err base64_decode(struct arena *arena, const char *text, char **out, size_t *len,
                       struct errinfo *ei) MUST_USE;

/* Only [A-Za-z0-9_-]. Owned by the arena. */
const char *base64url_encode(struct arena *arena, const void *data, size_t len);
/* Accepts only what base64url_encode() writes: no white space, no padding, and no other spelling of
 * the same bytes. */
enum err base64url_decode(struct arena *arena, const char *text, size_t text_len, char **out,
                          size_t *len, struct errinfo *ei) MUST_USE;

/* --- hashes of texts */

/* FNV-1a, continued from `hash`; the first one is HASH_START. Not for texts from an attacker,
 * since equal hashes are easy to construct. */
#define HASH_START UINT64_C(14695981039346656037)
uint64_t hash_text(uint64_t hash, const char *text);
uint64_t hash_byte(uint64_t hash, unsigned char byte);

/* SHA-256 in hexadecimal. Returns hex. */
enum { SHA256_TEXT = 65 };
char *sha256_hex(const void *data, size_t len, char hex[SHA256_TEXT]);
/* Any bytes in hexadecimal; out has room for 2 * len + 1. Returns out. */
char *hex_text(const unsigned char *bytes, size_t len, char *out);

/* --- UTF-8: validation, truncation and encoding */

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
