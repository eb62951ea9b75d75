#include "random_edits/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Without the lines [from, to). */
static size_t without(const struct line *lines, size_t count, size_t from, size_t to,
                      struct line *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i < from || i >= to)
            out[kept++] = lines[i];
    return kept;
}

size_t shrink(struct line *lines, size_t count, int tries,
              bool (*breaks)(void *arg, const struct line *lines, size_t count), void *arg)
{
    struct line *fewer = heap_array(count ? count : 1, sizeof(*fewer));
    for (size_t piece = (count + 1) / 2; piece > 0 && count > 1; piece = piece / 2) {
        size_t at = 0;
        while (at < count && count > 1 && tries > 0) {
            size_t end = at + piece < count ? at + piece : count;
            size_t kept = without(lines, count, at, end, fewer);
            if (kept > 0 && tries-- > 0 && breaks(arg, fewer, kept)) {
                memcpy(lines, fewer, kept * sizeof(*lines));
                count = kept;
            } else {
                at = end;
            }
        }
    }
    free(fewer);
    return count;
}
