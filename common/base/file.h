/*
 * Whole small files, for start-up and for rotated credentials; never on the path of a request. A
 * path that is not a regular file (a pipe, a device) is ERR_INVALID: reading it could block.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* The content, NUL-terminated, owned by the arena; len may be NULL. Longer than max is ERR_INVALID.
 */
enum err file_read(struct arena *arena, const char *path, size_t max, char **out, size_t *len,
                   struct errinfo *ei) MUST_USE;
/* Checks that file_read() could open it: for files that a library opens itself. */
enum err file_check(const char *path, struct errinfo *ei) MUST_USE;
/* Writes to a temporary file beside it and renames: readers see the old or the new content, never a
 * part. */
enum err file_write(const char *path, const void *data, size_t len, unsigned mode,
                    struct errinfo *ei) MUST_USE;

#endif
