#include "scaler/common_query.h"

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

/* The length of `suffix` when it stands at `at` and ends the name there, or 0. */
static size_t ends_with(const char *at, const char *suffix)
{
    size_t len = strlen(suffix);

    return strncmp(at, suffix, len) == 0 && !goes_on(at + len) ? len : 0;
}

/* What stands around a name that is a part of an identifier of a query language: a metric, a table,
 * a recording rule. */
static bool in_identifier(char before, char after)
{
    return before == '_' || (after != '\0' && strchr("_:{[(", after) != NULL);
}

/* The length of the name at `at`, with its "-canary"; 0 when what stands there is something else.
 */
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
