#define _GNU_SOURCE /* memrchr */
#include "loadtester/command_line.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

/* A word being read; `begun` distinguishes an empty word from none. */
struct reader {
    struct arena *arena;
    const char *text, *at;
    struct buf word;
    bool begun;
    const char **words;
    int n_words;
};

static int column(const struct reader *reader, const char *at)
{
    return (int)(at - reader->text) + 1;
}

static void add(struct reader *reader, char c)
{
    buf_add(&reader->word, &c, 1);
    reader->begun = true;
}

static enum err end_word(struct reader *reader, struct errinfo *ei)
{
    if (!reader->begun)
        return ERR_OK;
    if (reader->n_words == WORDS_MAX)
        return err_set(ei, ERR_INVALID, "more than %d words", WORDS_MAX);
    reader->words[reader->n_words++] =
        arena_strndup(reader->arena, reader->word.data ? reader->word.data : "", reader->word.len);
    buf_clear(&reader->word);
    reader->begun = false;
    return ERR_OK;
}

static enum err single_quoted(struct reader *reader, struct errinfo *ei)
{
    const char *open = reader->at++;

    reader->begun = true;
    for (; *reader->at && *reader->at != '\''; reader->at++)
        add(reader, *reader->at);
    if (!*reader->at)
        return err_set(ei, ERR_INVALID, "the quote at character %d is not closed",
                       column(reader, open));
    reader->at++;
    return ERR_OK;
}

static enum err needs_shell(const struct reader *reader, const char *at, struct errinfo *ei)
{
    if (*at == '\n')
        return err_set(ei, ERR_INVALID, "the line break at character %d needs a shell",
                       column(reader, at));
    return err_set(ei, ERR_INVALID, "'%c' at character %d needs a shell; quote it if it is text",
                   *at, column(reader, at));
}

/* Inside double quotes a backslash escapes only the characters that are special there. */
static enum err double_quoted(struct reader *reader, struct errinfo *ei)
{
    const char *open = reader->at++;

    reader->begun = true;
    for (; *reader->at && *reader->at != '"'; reader->at++) {
        if (*reader->at == '$' || *reader->at == '`')
            return needs_shell(reader, reader->at, ei);
        if (*reader->at == '\\' && reader->at[1] && strchr("$`\"\\\n", reader->at[1])) {
            reader->at++;
            if (*reader->at == '\n')
                continue;
        }
        add(reader, *reader->at);
    }
    if (!*reader->at)
        return err_set(ei, ERR_INVALID, "the quote at character %d is not closed",
                       column(reader, open));
    reader->at++;
    return ERR_OK;
}

static enum err escaped(struct reader *reader, struct errinfo *ei)
{
    if (!reader->at[1])
        return err_set(ei, ERR_INVALID, "the backslash at character %d escapes nothing",
                       column(reader, reader->at));
    if (reader->at[1] != '\n') /* else a continued line */
        add(reader, reader->at[1]);
    reader->at += 2;
    return ERR_OK;
}

/* YAML's block texts end with one. */
static enum err line_break(struct reader *reader, struct errinfo *ei)
{
    const char *rest = reader->at + strspn(reader->at, " \t\r\n");

    if (*rest)
        return needs_shell(reader, reader->at, ei);
    reader->at = rest;
    return end_word(reader, ei);
}

static enum err next(struct reader *reader, struct errinfo *ei)
{
    switch (*reader->at) {
    case ' ':
    case '\t':
    case '\r':
        reader->at += strspn(reader->at, " \t\r");
        return end_word(reader, ei);
    case '\n':
        return line_break(reader, ei);
    case '\'':
        return single_quoted(reader, ei);
    case '"':
        return double_quoted(reader, ei);
    case '\\':
        return escaped(reader, ei);
    case '#':
        if (!reader->begun)
            return needs_shell(reader, reader->at, ei);
        break;
    case '|':
    case '&':
    case ';':
    case '<':
    case '>':
    case '(':
    case ')':
    case '$':
    case '`':
        return needs_shell(reader, reader->at, ei);
    default:
        break;
    }
    add(reader, *reader->at++);
    return ERR_OK;
}

enum err words_split(struct arena *arena, const char *text, const char *const **out,
                     struct errinfo *ei)
{
    struct reader reader = {.arena = arena,
                            .text = text,
                            .at = text + strspn(text, " \t\r\n"),
                            .words = arena_array(arena, WORDS_MAX + 1, sizeof(const char *))};
    enum err err = ERR_OK;

    buf_init(&reader.word, strlen(text) + 1);
    while (err == ERR_OK && *reader.at)
        err = next(&reader, ei);
    if (err == ERR_OK)
        err = end_word(&reader, ei);
    if (err == ERR_OK && reader.n_words == 0)
        err = err_set(ei, ERR_INVALID, "there is no command");
    buf_fini(&reader.word);
    reader.words[reader.n_words] = NULL;
    *out = reader.words;
    return err;
}

/* --- masking */

/* Ends of names: "--kube-token", "X-Api-Key", "PGPASSWORD". */
static const char *const secret_names[] = {"authorization", "cookie",     "token",   "password",
                                           "passwd",        "secret",     "api-key", "apikey",
                                           "api_key",       "credential", NULL};
/* Flags of curl and hey with user and password as value. */
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

/* The secret word must end the name: "token-file" names a file. */
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

/* Length of a value: a quoted text, or up to a blank or quote; for a header, up to a quote or
 * the end of the line. */
static size_t value_length(const char *at, bool header)
{
    if (*at == '"' || *at == '\'') {
        const char *end = strchr(at + 1, *at);
        return end ? (size_t)(end - at) + 1 : strlen(at);
    }
    return strcspn(at, header ? "'\"\r\n" : " \t\r\n'\",;}&");
}

/* Start of the value of a name that ends at `at`: after "=", ":" or blanks. NULL if none. */
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
    const char *at; /* text before it is in out */
};

static void put(struct masker *m, const char *until)
{
    buf_add(&m->out, m->at, (size_t)(until - m->at));
    m->at = until;
}

/* Masks the text from `value` on; returns its end. */
static const char *hide(struct masker *m, const char *value, size_t len)
{
    if (len == 0)
        return value;
    put(m, value);
    buf_puts(&m->out, MASK);
    m->at = value + len;
    return m->at;
}

/* Hides the value of the name from `name` to `end` if it is secret. Returns where to continue. */
static const char *mask_name(struct masker *m, const char *name, const char *end)
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

/* "://user:password@host": hides the part before the "@". */
static const char *mask_url(struct masker *m, const char *host)
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
            at = mask_url(&m, at + 3);
            continue;
        }
        while (is_name_byte(*at))
            at++;
        at = at == name ? at + 1 : mask_name(&m, name, at);
    }
    if (m.at != text) {
        put(&m, at);
        text = arena_strndup(arena, m.out.data, m.out.len);
    }
    buf_fini(&m.out);
    return text;
}
