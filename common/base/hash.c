#include "base/hash.h"

#include <openssl/evp.h>
#include <stdlib.h>

uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(1099511628211);
}

uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = hash_byte(hash, (unsigned char)*text);
    return hash;
}

char *hex_text(const unsigned char *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
    return out;
}

char *sha256_hex(const void *data, size_t len, char hex[SHA256_TEXT])
{
    unsigned char digest[EVP_MAX_MD_SIZE];

    if (EVP_Digest(data, len, digest, NULL, EVP_sha256(), NULL) != 1)
        abort(); /* out of memory, or a libcrypto without SHA-256 */
    return hex_text(digest, SHA256_TEXT / 2, hex);
}
