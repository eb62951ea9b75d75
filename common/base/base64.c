#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const char *base64_encode(struct arena *arena, const void *data, size_t len)
{
    const unsigned char *in = data;
    char *out = arena_alloc(arena, (len + 2) / 3 * 4 + 1);
    char *at = out;

    for (size_t i = 0; i < len; i += 3) {
        uint32_t group = (uint32_t)in[i] << 16;
        if (i + 1 < len)
            group |= (uint32_t)in[i + 1] << 8;
        if (i + 2 < len)
            group |= in[i + 2];
        *at++ = alphabet[group >> 18 & 63];
        *at++ = alphabet[group >> 12 & 63];
        *at++ = i + 1 < len ? alphabet[group >> 6 & 63] : '=';
        *at++ = i + 2 < len ? alphabet[group & 63] : '=';
    }
    *at = '\0';
    return out;
}

/* 0..63; -1 for a character that is not of the alphabet. */
static int value_of(char c)
{
    const char *found = c ? strchr(alphabet, c) : NULL;
    return found ? (int)(found - alphabet) : -1;
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
        int value = value_of(*at);
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
