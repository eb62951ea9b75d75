#define _GNU_SOURCE /* memrchr */
#include "loadtester/mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

/* Of a name: "--kube-token", "X-Api-Key", "PGPASSWORD". */
static const char *const secret_names[] = {"authorization", "cookie",     "token",   "password",
                                           "passwd",        "secret",     "api-key", "apikey",
                                           "api_key",       "credential", NULL};
/* Flags of one letter whose value is user and password: of curl, of hey. */
static const char *const login_flags[] = {"-u", "-a", "--user", "--proxy-user", "-U", NULL};
static const char *const schemes[] = {"Bearer", "Basic", NULL};

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

static bool ends_in(const char *name, size_t len, const char *word)
{
    size_t n = strlen(word);
    return len >= n && strncasecmp(name + len - n, word, n) == 0;
}

/* What is secret stands at the end of a name: "token-file" names a file. */
static bool is_secret(const char *name, size_t len)
{
    for (int i = 0; secret_names[i]; i++)
        if (ends_in(name, len, secret_names[i]))
            return true;
    return false;
}

static bool is_one_of(const char *const *list, const char *name, size_t len, bool any_case)
{
    for (int i = 0; list[i]; i++)
        if (strlen(list[i]) == len &&
            (any_case ? strncasecmp(list[i], name, len) : strncmp(list[i], name, len)) == 0)
            return true;
    return false;
}

/* The length of a value: a quoted text, else up to a blank or quote; a header's up to a quote or
 * the end of the line. */
static size_t value_length(const char *at, bool header)
{
    if (*at == '"' || *at == '\'') {
        const char *end = strchr(at + 1, *at);
        return end ? (size_t)(end - at) + 1 : strlen(at);
    }
    return strcspn(at, header ? "'\"\r\n" : " \t\r\n'\",;}&");
}

/* Where the value of a name begins that ends at `at`: behind "=", ":" or blanks. NULL: it has none.
 */
static const char *value_of(const char *at, bool flag, bool *header)
{
    const char *next = at + ((*at == '"' || *at == '\'') ? 1 : 0); /* "token": in JSON */

    *header = *next == ':';
    if (*next == '=' || *next == ':') {
        next++;
        next += strspn(next, " \t");
        *header = *header && *next != '"' && *next != '\'';
        return next;
    }
    return flag && (*at == ' ' || *at == '\t') ? at + strspn(at, " \t") : NULL;
}

struct masker {
    struct buf out;
    const char *at; /* what is before stands in out */
};

static void put(struct masker *m, const char *until)
{
    buf_add(&m->out, m->at, (size_t)(until - m->at));
    m->at = until;
}

/* Masks the value from `value` on; returns its end. */
static const char *hide(struct masker *m, const char *value, size_t len)
{
    if (len == 0)
        return value;
    put(m, value);
    buf_puts(&m->out, MASK);
    m->at = value + len;
    return m->at;
}

/* A name from `name` to `end`: hides its value if it is secret. Returns where to go on. */
static const char *judge(struct masker *m, const char *name, const char *end)
{
    size_t len = (size_t)(end - name);
    bool flag = name[0] == '-', header = false;
    bool login = is_one_of(login_flags, name, len, false);

    if (is_one_of(schemes, name, len, true) && *end == ' ')
        return hide(m, end + 1, value_length(end + 1, false));
    if (!login && !is_secret(name, len))
        return end;
    const char *value = value_of(end, flag, &header);
    return value ? hide(m, value, value_length(value, header)) : end;
}

/* "://user:password@host": hides what stands before the "@". */
static const char *judge_url(struct masker *m, const char *host)
{
    size_t len = strcspn(host, "/ \t\r\n'\"?#");
    const char *at = memrchr(host, '@', len);

    return at ? hide(m, host, (size_t)(at - host)) : host;
}

const char *mask_credentials(struct arena *arena, const char *text)
{
    struct masker m = {.at = text};
    const char *at = text;

    buf_init(&m.out, 2 * strlen(text) + sizeof(MASK));
    while (*at) {
        const char *name = at;
        if (strncmp(at, "://", 3) == 0) {
            at = judge_url(&m, at + 3);
            continue;
        }
        while (is_name_byte(*at))
            at++;
        at = at == name ? at + 1 : judge(&m, name, at);
    }
    if (m.at != text) {
        put(&m, at);
        text = arena_strndup(arena, m.out.data, m.out.len);
    }
    buf_fini(&m.out);
    return text;
}
