#include "base/buf.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { FIRST_CAP = 256 };

/* Value of data in an empty buffer, so that it is always a string. Never written. */
static char nothing[1];

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.data = nothing, .max = max < SIZE_MAX / 4 ? max : SIZE_MAX / 4};
}

void buf_fini(struct buf *buf)
{
    if (buf->cap > 0)
        free(buf->data);
    buf_init(buf, buf->max);
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->truncated = false;
    if (buf->cap > 0)
        buf->data[0] = '\0';
}

/* Makes room for len more bytes and the NUL; len is within the maximum. */
static void reserve(struct buf *buf, size_t len)
{
    size_t need = buf->len + len + 1;
    if (need <= buf->cap)
        return;
    size_t cap = buf->cap ? buf->cap * 2 : FIRST_CAP;
    if (cap > buf->max + 1)
        cap = buf->max + 1;
    if (cap < need)
        cap = need;
    buf->data = heap_grow(buf->cap ? buf->data : NULL, cap);
    buf->cap = cap;
}

bool buf_add(struct buf *buf, const void *data, size_t len)
{
    size_t room = buf->max - buf->len;
    bool fits = len <= room;
    if (!fits) {
        buf->truncated = true;
        len = room;
    }
    if (len == 0)
        return fits;
    reserve(buf, len);
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
    return fits;
}

bool buf_puts(struct buf *buf, const char *text)
{
    return buf_add(buf, text, strlen(text));
}

bool buf_printf(struct buf *buf, const char *fmt, ...)
{
    char small[512];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(small, sizeof(small), fmt, args);
    va_end(args);
    if (len < 0)
        return false;
    if ((size_t)len < sizeof(small))
        return buf_add(buf, small, (size_t)len);

    char *large = heap_alloc((size_t)len + 1);
    va_start(args, fmt);
    vsnprintf(large, (size_t)len + 1, fmt, args);
    va_end(args);
    bool fits = buf_add(buf, large, (size_t)len);
    free(large);
    return fits;
}

bool buf_real(struct buf *buf, double real)
{
    if (real == trunc(real) && fabs(real) < 0x1p53)
        return buf_printf(buf, "%lld", (long long)real);
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, real);
        if (strtod(text, NULL) == real)
            break;
    }
    return buf_puts(buf, text);
}

void buf_consume(struct buf *buf, size_t len)
{
    if (len >= buf->len) {
        buf->len = 0;
    } else {
        memmove(buf->data, buf->data + len, buf->len - len);
        buf->len -= len;
    }
    if (buf->cap > 0)
        buf->data[buf->len] = '\0';
}

char *buf_give(struct buf *buf)
{
    char *data = buf->cap > 0 ? buf->data : heap_strdup("");
    buf_init(buf, buf->max);
    return data;
}
