/* Whatever a file holds, its mistakes are found within bounds, and each has a place in it. */
#include <assert.h>
#include <string.h>

#include "ctl/lint/lint.h"
#include "fuzz.h"

static size_t lines_of(const char *text, size_t len)
{
    size_t lines = 1;

    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n' || text[i] == '\r' || (unsigned char)text[i] >= 0x80;
    return lines;
}

FUZZ_TARGET(arena, data, size)
{
    char *text = arena_strndup(arena, (const char *)data, size);
    struct lint *lint = lint_new(arena, &settings_default);
    int n = 0;

    lint_add(lint, "fuzz", text, size, false);
    for (const struct lint_mistake *m = lint_run(lint); m; m = m->next, n++) {
        assert(m->line >= 1 && m->line <= lines_of(text, size) + 1 && m->column >= 1);
        assert(*m->text && m->path && m->object);
    }
    assert(n <= LINT_MAX_MISTAKES + 2);
}
