#include "cluster/routeregex.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* MAX_PRODUCT: of all counts, since counts within counts multiply the compiled size. */
enum { MAX_DEPTH = 50, MAX_REPEAT = 1000, MAX_PRODUCT = 10000 };

/* Past an escape, NULL when it is none of those known; back references are not in RE2. */
static const char *skip_escape(const char *p, const char *known)
{
    if (!p[1] || (isalnum((unsigned char)p[1]) && !strchr(known, p[1])))
        return NULL;
    return p + 2;
}

/* Past "[...]", NULL when it is not closed or a range runs backwards. */
static const char *skip_class(const char *p)
{
    const char *open = ++p;
    if (*p == '^')
        p++;
    bool first = true;
    while (*p && (*p != ']' || first)) {
        first = false;
        if (p[0] == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '='))
            return NULL; /* named classes: not worth their exceptions */
        if (*p == '\\') {
            p = skip_escape(p, "dDwWsSnrtf");
            if (!p)
                return NULL;
            if (*p == '-' && p[1] != ']')
                return NULL; /* a range that begins with a class */
        } else if (p[1] == '-' && p[2] && p[2] != ']') {
            if (p[2] == '\\' || (unsigned char)p[0] > (unsigned char)p[2])
                return NULL;
            p += 3;
        } else {
            p++;
        }
    }
    if (!*p || (strchr(".:=", *open) && p[-1] == *open && p - 1 > open))
        return NULL; /* "[:x:]" alone is a mistake to PCRE */
    return p + 1;
}

/* Past "{n}", "{n,}" or "{n,m}"; p itself when it is none of these, NULL when its numbers are no
 * good. */
static const char *skip_braces(const char *p, long *product)
{
    char *end;
    if (!isdigit((unsigned char)p[1]))
        return p;
    long least = strtol(p + 1, &end, 10), most = least;
    if (*end == ',') {
        const char *from = ++end;
        most = isdigit((unsigned char)*from) ? strtol(from, &end, 10) : least;
    }
    if (*end != '}')
        return p;
    if (least > most || most > MAX_REPEAT)
        return NULL;
    *product *= most > 0 ? most : 1;
    return *product <= MAX_PRODUCT ? end + 1 : NULL;
}

static bool begins_quantifier(const char *p)
{
    return *p == '*' || *p == '+' || *p == '?' || (*p == '{' && isdigit((unsigned char)p[1]));
}

/* Past a quantifier and its "?", p itself when there is none, NULL when it is no good. */
static const char *skip_quantifier(const char *p, long *product)
{
    const char *after = p;
    if (*p == '*' || *p == '+' || *p == '?')
        after = p + 1;
    else if (*p == '{')
        after = skip_braces(p, product);
    if (!after || after == p)
        return after;
    if (*after == '?')
        after++;
    return begins_quantifier(after) ? NULL : after;
}

bool routeregex_ok(const char *text)
{
    const char *p = strncmp(text, "(?i)", 4) == 0 ? text + 4 : text;
    long product = 1;
    int depth = 0;

    while (p && *p) {
        const char *next = p + 1;
        bool repeats = true; /* whether a quantifier may follow */
        if (*p == '(') {
            next = strncmp(p, "(?:", 3) == 0 ? p + 3 : p + 1;
            repeats = false;
            if (++depth > MAX_DEPTH)
                return false;
        } else if (*p == ')') {
            if (--depth < 0)
                return false;
        } else if (*p == '[') {
            next = skip_class(p);
        } else if (*p == '\\') {
            next = skip_escape(p, "dDwWsSbBnrtf");
            repeats = p[1] != 'b' && p[1] != 'B';
        } else if (*p == '|' || *p == '^' || *p == '$') {
            repeats = false;
        } else if (begins_quantifier(p)) {
            return false; /* there is nothing to repeat */
        }
        p = next && repeats ? skip_quantifier(next, &product) : next;
    }
    return p && depth == 0;
}
