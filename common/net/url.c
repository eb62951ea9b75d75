#include <stdbool.h>
#include <string.h>

#include "net/client.h"

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c));
}

static const char *encode(struct arena *arena, const char *text, const char *space)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t len = strlen(text);
    char *out = arena_array(arena, len + 1, 3);
    char *p = out;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (is_unreserved(c)) {
            *p++ = (char)c;
        } else if (c == ' ' && space) {
            *p++ = *space;
        } else {
            *p++ = '%';
            *p++ = hex[c >> 4];
            *p++ = hex[c & 15];
        }
    }
    *p = '\0';
    return out;
}

const char *url_encode(struct arena *arena, const char *text)
{
    return encode(arena, text, NULL);
}

const char *url_encode_form(struct arena *arena, const char *text)
{
    return encode(arena, text, "+");
}
