#include "base/base64.h"

#include <stdint.h>
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
