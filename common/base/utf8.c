#include "base/utf8.h"

#include <string.h>

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
