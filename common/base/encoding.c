#include "base/encoding.h"

#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
static const char alphabet[] = LETTERS_AND_DIGITS "+/";
static const char url_alphabet[] = LETTERS_AND_DIGITS "-_";

/* Encodes without padding; returns the number of characters. */
static size_t encode(char *out, const char *letters, const unsigned char *in, size_t len)
{
    char *at = out;

    for (size_t i = 0; i < len; i += 3) {
        uint32_t group = (uint32_t)in[i] << 16;
        if (i + 1 < len)
            group |= (uint32_t)in[i + 1] << 8;
        if (i + 2 < len)
            group |= in[i + 2];
        *at++ = letters[group >> 18 & 63];
        *at++ = letters[group >> 12 & 63];
        if (i + 1 < len)
            *at++ = letters[group >> 6 & 63];
        if (i + 2 < len)
            *at++ = letters[group & 63];
    }
    return (size_t)(at - out);
}

const char *base64_encode(struct arena *arena, const void *data, size_t len)
{
    char *out = arena_alloc(arena, (len + 2) / 3 * 4 + 1);
    size_t written = encode(out, alphabet, data, len);
    while (written % 4 != 0)
        out[written++] = '=';
    return out;
}

const char *base64url_encode(struct arena *arena, const void *data, size_t len)
{
    char *out = arena_alloc(arena, (len + 2) / 3 * 4 + 1);
    encode(out, url_alphabet, data, len);
    return out;
}

/* 0..63; -1 if the character is not in the alphabet. */
static int value_of(const char *letters, char c)
{
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? (int)(found - letters) : -1;
}

enum err base64_decode(struct arena *arena, const char *text, char **out, size_t *len,
                       struct errinfo *ei)
{
    unsigned char *data = arena_alloc(arena, strlen(text) / 4 * 3 + 4);
    size_t count = 0;
    size_t pads = 0;
    size_t used = 0;
    uint32_t group = 0;

    for (const char *at = text; *at; at++) {
        if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
            continue;
        int value = value_of(alphabet, *at);
        if (*at == '=')
            pads++;
        else if (value < 0 || pads > 0)
            return err_set(ei, ERR_INVALID, "not base64: unexpected byte at offset %zu",
                           (size_t)(at - text));
        group = group << 6 | (uint32_t)(value > 0 ? value : 0);
        if (++used % 4 == 0) {
            data[count++] = (unsigned char)(group >> 16);
            data[count++] = (unsigned char)(group >> 8);
            data[count++] = (unsigned char)group;
        }
    }
    if (used % 4 != 0 || pads > 2)
        return err_set(ei, ERR_INVALID, "not base64: the text is cut off or wrongly padded");
    count -= pads;
    data[count] = '\0';
    *out = (char *)data;
    if (len)
        *len = count;
    return ERR_OK;
}

enum err base64url_decode(struct arena *arena, const char *text, size_t text_len, char **out,
                          size_t *len, struct errinfo *ei)
{
    unsigned char *data = arena_alloc(arena, text_len / 4 * 3 + 4);
    size_t count = 0;
    uint32_t bits = 0; /* n_bits that were read and not yet written */
    unsigned n_bits = 0;

    for (size_t i = 0; i < text_len; i++) {
        int value = value_of(url_alphabet, text[i]);
        if (value < 0)
            return err_set(ei, ERR_INVALID, "not base64url: unexpected byte at offset %zu", i);
        bits = bits << 6 | (uint32_t)value;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            data[count++] = (unsigned char)(bits >> n_bits);
            bits &= (1u << n_bits) - 1;
        }
    }
    if (n_bits == 6 || bits != 0)
        return err_set(ei, ERR_INVALID, "not base64url: the text is cut off");
    data[count] = '\0';
    *out = (char *)data;
    *len = count;
    return ERR_OK;
}

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

size_t utf8_sequence(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    if (len == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    /* The lead byte restricts the range of the second, which excludes overlong forms and
     * surrogates. */
    size_t need = 0;
    unsigned char low = 0x80, high = 0xbf;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        need = 2;
    } else if ((s[0] & 0xf0) == 0xe0) {
        need = 3;
        if (s[0] == 0xe0)
            low = 0xa0;
        if (s[0] == 0xed)
            high = 0x9f;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        need = 4;
        if (s[0] == 0xf0)
            low = 0x90;
        if (s[0] == 0xf4)
            high = 0x8f;
    }
    if (need == 0 || need > len || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    return need;
}

bool utf8_valid(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        size_t n = utf8_sequence(text + at, len - at);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

size_t utf8_cut(const char *text, size_t len)
{
    /* Only the last three bytes can begin an incomplete character. */
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)text[len - back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return want > back ? len - back : len;
    }
    return len;
}

size_t utf8_count(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t at = 0; at < len; count++) {
        size_t n = utf8_sequence(text + at, len - at);
        at += n ? n : 1;
    }
    return count;
}

size_t utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | (code >> 6));
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | (code >> 12));
        out[1] = (char)(0x80 | ((code >> 6) & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (code >> 18));
    out[1] = (char)(0x80 | ((code >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((code >> 6) & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
