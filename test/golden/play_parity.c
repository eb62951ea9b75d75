#include <string.h>

#include "base/file.h"
#include "play.h"

enum { TABLE_MAX = 1024 * 1024 };

static bool begins(const char *line, char mark)
{
    return line[0] == mark && line[1] == ' ';
}

/* What we say by the case: both's lines and our own. */
static const char *ours(struct play *play, const char *text, bool *deviates)
{
    const char *out = "";

    *deviates = false;
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        const char *line = begins(at, '+') ? at + 2 : at;
        *deviates = *deviates || line != at || begins(at, '-');
        if (!begins(at, '-'))
            out = arena_printf(play->arena, "%s%.*s\n", out, (int)strcspn(line, "\n"), line);
    }
    return out;
}

void play_parity(struct play *play, const char *text, const char *row)
{
    bool deviates;
    const char *wanted = ours(play, text, &deviates);
    struct errinfo ei;
    char *table;

    if (strcmp(play->said, wanted) != 0)
        play_fail(play, "what is said is\n%s\nand not\n%s", play->said, wanted);
    if (deviates != (row != NULL))
        play_fail(play, "a deviation quotes its row, and nothing else does");
    if (!row)
        return;
    if (file_read(play->arena, "proto/COMPATIBILITY.md", TABLE_MAX, &table, NULL, &ei) != ERR_OK)
        play_fail(play, "%s", ei.text);
    if (!strstr(table, row))
        play_fail(play, "proto/COMPATIBILITY.md has no row that says \"%s\"", row);
}
