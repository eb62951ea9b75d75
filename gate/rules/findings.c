#include "gate/rules/findings.h"

#include <inttypes.h>

#include "base/utf8.h"

/* What somebody wrote into the database must not drive the terminal. */
static void make_plain(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

void findings_add(struct findings *findings, const char *fmt, ...)
{
    char text[4 * FINDINGS_WHERE];
    va_list args;

    if (findings->count++ >= FINDINGS_SHOWN)
        return;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (len >= (int)sizeof(text))
        text[utf8_cut(text, sizeof(text) - 1)] = '\0';
    make_plain(text);
    fprintf(findings->out, "%s\n", text);
}

void findings_end(const struct findings *findings)
{
    if (findings->count > FINDINGS_SHOWN)
        fprintf(findings->out, "and %" PRId64 " more\n", findings->count - FINDINGS_SHOWN);
}
