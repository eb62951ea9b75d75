/* Files that a person names: also pipes, and "-" for the standard input. */
#ifndef CTL_INPUT_H
#define CTL_INPUT_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* What messages call it: "-" is "<stdin>". */
const char *input_name(const char *file);
/* The whole of it, NUL-terminated and owned by the arena; waits for its end. More than max bytes are
 * ERR_INVALID. */
enum err input_read(struct arena *arena, const char *file, size_t max, char **out, size_t *len,
                    struct errinfo *ei) MUST_USE;

#endif
