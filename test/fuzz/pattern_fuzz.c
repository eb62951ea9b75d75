/* Patterns: one is compiled or refused with a reason, and no text hangs a match. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "object/pattern.h"

/* The first line is the pattern, the rest the text. Large repeats are legal, and slow under a
 * sanitizer. */
FUZZ_TARGET(arena, data, size)
{
    struct pattern *pattern = NULL;
    struct errinfo ei = {0};
    const char *text = arena_strndup(arena, (const char *)data, size < 256 ? size : 256);
    const char *line = strchr(text, '\n');
    const char *source = line ? arena_strndup(arena, text, (size_t)(line - text)) : text;
    if (pattern_compile(source, size % 2 ? PATTERN_BYTES : PATTERN_CHARACTERS, &pattern, &ei) ==
        ERR_OK)
        (void)pattern_match(pattern, line ? line + 1 : "", line ? strlen(line + 1) : 0);
    else
        assert(ei.text[0]);
    pattern_free(pattern);
}
