/*
 * A growing byte buffer with a maximum. Heap memory, always NUL-terminated one past len (data is ""
 * if empty). Bytes beyond the maximum are dropped and `truncated` stays set: check it if the
 * content must be complete.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max;
    bool truncated;
};

void buf_init(struct buf *buf, size_t max);
void buf_fini(struct buf *buf);
void buf_clear(struct buf *buf); /* len 0, truncated false; memory kept */
/* Appends as much as fits; returns false and sets truncated if some bytes did not fit. */
bool buf_add(struct buf *buf, const void *data, size_t len);
bool buf_puts(struct buf *buf, const char *text);
bool buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The shortest decimal that reads back as the same double; whole numbers without a point. real
 * must be finite. */
bool buf_real(struct buf *buf, double real);
/* Removes the first len bytes. */
void buf_consume(struct buf *buf, size_t len);
/* Returns the NUL-terminated heap string, which the caller frees, and empties the buffer. */
char *buf_give(struct buf *buf);

#endif
