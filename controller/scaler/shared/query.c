#include "scaler/shared/query.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

enum { QUERY_MAX = 1024 * 1024 };

static bool is_alnum(char c)
{
    return isalnum((unsigned char)c) != 0;
}

static bool goes_on(const char *at)
{
    return is_alnum(*at) || (*at == '-' && is_alnum(at[1]));
}

/* The length of `suffix` if it is at `at` and ends the name there, else 0. */
static size_t ends_with(const char *at, const char *suffix)
{
    size_t len = strlen(suffix);

    return strncmp(at, suffix, len) == 0 && !goes_on(at + len) ? len : 0;
}

/* Characters around a name that is part of an identifier of a query language: a metric, a table, a
 * recording rule. */
static bool in_identifier(char before, char after)
{
    return before == '_' || (after != '\0' && strchr("_:{[(", after) != NULL);
}

/* The length of the name at `at`, with its "-canary"; 0 if there is something else. */
static size_t name_at(const char *query, const char *at, const char *name, bool quoted)
{
    size_t len = strlen(name);
    char before = at > query ? at[-1] : ' ';

    if (strncmp(at, name, len) != 0 || is_alnum(before) || before == '-')
        return 0;
    if (ends_with(at + len, "-canary"))
        len += ends_with(at + len, "-canary");
    else if (goes_on(at + len))
        return 0;
    return !quoted && in_identifier(before, at[len]) ? 0 : len;
}

const char *query_for_primary(struct arena *arena, const char *query, const char *name)
{
    struct buf buf;
    char quote = '\0';

    buf_init(&buf, QUERY_MAX);
    for (const char *at = query; *at != '\0';) {
        size_t len = *name != '\0' ? name_at(query, at, name, quote != '\0') : 0;
        if (len > 0) {
            buf_printf(&buf, "%s-primary", name);
            at += len;
            continue;
        }
        if (quote != '\0' && *at == '\\' && at[1] != '\0')
            buf_add(&buf, at++, 1);
        else if (quote == '\0' && (*at == '"' || *at == '\'' || *at == '`'))
            quote = *at;
        else if (*at == quote)
            quote = '\0';
        buf_add(&buf, at++, 1);
    }
    const char *text = arena_strdup(arena, buf.data);
    buf_fini(&buf);
    return text;
}

/* Characters of a label's key or value. */
static size_t word_length(const char *at)
{
    size_t len = 0;

    while (is_alnum(at[len]) || (at[len] != '\0' && strchr("-_./", at[len]) != NULL))
        len++;
    return len;
}

static bool word_is(const char *at, size_t len, const char *word)
{
    return len > 0 && strlen(word) == len && strncmp(at, word, len) == 0;
}

const char *selector_for_primary(struct arena *arena, const char *selector, const char *key,
                                 const char *from, const char *to)
{
    bool is_key = true, is_of_key = false;
    int depth = 0;
    struct buf buf;

    buf_init(&buf, QUERY_MAX);
    for (const char *at = selector; *at != '\0';) {
        size_t len = word_length(at);
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (*at == ',' && depth == 0)
            is_key = true;
        if (len > 0 && is_key)
            is_of_key = word_is(at, len, key);
        if (len > 0 && !is_key && is_of_key && word_is(at, len, from))
            buf_printf(&buf, "%s", to);
        else
            buf_add(&buf, at, len > 0 ? len : 1);
        is_key = is_key && len == 0;
        at += len > 0 ? len : 1;
    }
    const char *text = arena_strdup(arena, buf.data);
    buf_fini(&buf);
    return text;
}
