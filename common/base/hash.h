/* Hashes of texts. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, continued from `hash`; the first one is HASH_START. Not for texts that an attacker
 * chooses to make them equal. */
#define HASH_START UINT64_C(14695981039346656037)
uint64_t hash_text(uint64_t hash, const char *text);
uint64_t hash_byte(uint64_t hash, unsigned char byte);

/* SHA-256 in hexadecimal. Returns hex. */
enum { SHA256_TEXT = 65 };
char *sha256_hex(const void *data, size_t len, char hex[SHA256_TEXT]);
/* Any bytes in hexadecimal; out has room for 2 * len + 1. Returns out. */
char *hex_text(const unsigned char *bytes, size_t len, char *out);

#endif
