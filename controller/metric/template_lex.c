/* The tokens of a template. Inside an action white space is a token too: it separates arguments. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "metric/template_parts.h"

static const char spaces[] = " \t\r\n";

struct lexer {
    const struct template_source *source;
    const char *at;
    struct template_token *tokens;
    size_t count;
    int depth; /* of parentheses */
};

bool template_fail(const struct template_source *source, const char *at, const char *fmt, ...)
{
    char what[400];
    const char *line = source->text;
    int number = 1;
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    what[utf8_cut(what, strlen(what))] = '\0';
    for (const char *c = source->text; c < at; c++) {
        if (*c == '\n') {
            number++;
            line = c + 1;
        }
    }
    (void)err_set(source->ei, ERR_INVALID, "template:%d:%d: %s", number, (int)(at - line) + 1,
                  what);
    return false;
}

static bool is_space(char c)
{
    return c != '\0' && strchr(spaces, c) != NULL;
}

/* What is no ASCII counts as a letter: names and keys may have any. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80);
}

static void add(struct lexer *lexer, enum template_token_kind kind, const char *at, size_t len)
{
    lexer->tokens[lexer->count++] = (struct template_token){.kind = kind, .at = at, .len = len};
}

/* --- text and its borders */

/* "}}" or " -}}" stands there; *trims says which. */
static bool closes(const char *at, bool *trims)
{
    *trims = is_space(at[0]) && at[1] == '-' && strncmp(at + 2, "}}", 2) == 0;
    return *trims || strncmp(at, "}}", 2) == 0;
}

static void leave_action(struct lexer *lexer, bool trims)
{
    lexer->at += trims ? 4 : 2;
    if (trims)
        lexer->at += strspn(lexer->at, spaces);
}

static bool skip_comment(struct lexer *lexer)
{
    const char *end = strstr(lexer->at + 2, "*/");
    bool trims;

    if (!end)
        return template_fail(lexer->source, lexer->at, "\"/*\" without \"*/\"");
    if (!closes(end + 2, &trims))
        return template_fail(lexer->source, end, "expected \"}}\" behind a comment");
    lexer->at = end + 2;
    leave_action(lexer, trims);
    return true;
}

static bool lex_action(struct lexer *lexer);

/* Text up to the next action, and that action. */
static bool lex_text(struct lexer *lexer)
{
    const char *open = strstr(lexer->at, "{{");
    const char *end = open ? open : lexer->at + strlen(lexer->at);
    const char *start = lexer->at;
    bool trims = open && open[2] == '-' && is_space(open[3]);

    while (trims && end > start && is_space(end[-1]))
        end--;
    if (end > start)
        add(lexer, TOKEN_TEXT, start, (size_t)(end - start));
    if (!open) {
        lexer->at = end;
        return true;
    }
    lexer->at = open + (trims ? 4 : 2);
    if (strncmp(lexer->at, "/*", 2) == 0)
        return skip_comment(lexer);
    add(lexer, TOKEN_OPEN, open, 2);
    return lex_action(lexer);
}

/* --- inside an action */

static bool lex_quoted(struct lexer *lexer, char quote, enum template_token_kind kind)
{
    const char *start = lexer->at;
    const char *c = start + 1;

    for (; *c != quote; c++) {
        if (*c == '\\' && quote != '`')
            c++;
        if (*c == '\0' || (*c == '\n' && quote != '`'))
            return template_fail(lexer->source, start, "a quote that is not closed");
    }
    lexer->at = c + 1;
    add(lexer, kind, start, (size_t)(lexer->at - start));
    return true;
}

/* What may stand behind a name without a space. */
static bool ends_word(const char *at)
{
    return *at == '\0' || is_space(*at) || strchr(".,|:)(", *at) || strncmp(at, "}}", 2) == 0;
}

static enum template_token_kind word_kind(const char *at, size_t len)
{
    static const struct {
        const char *word;
        enum template_token_kind kind;
    } words[] = {
        {"true", TOKEN_TRUE},         {"false", TOKEN_FALSE},
        {"nil", TOKEN_NIL},           {"if", TOKEN_IF},
        {"with", TOKEN_WITH},         {"range", TOKEN_RANGE},
        {"else", TOKEN_ELSE},         {"end", TOKEN_CLOSING},
        {"break", TOKEN_BREAK},       {"continue", TOKEN_CONTINUE},
        {"define", TOKEN_UNSERVED},   {"block", TOKEN_UNSERVED},
        {"template", TOKEN_UNSERVED},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].word) == len && strncmp(words[i].word, at, len) == 0)
            return words[i].kind;
    }
    return TOKEN_NAME;
}

/* A word of letters and digits, `skip` characters behind the start of its token. */
static bool lex_word(struct lexer *lexer, enum template_token_kind kind, size_t skip)
{
    const char *start = lexer->at;
    const char *end = start + skip;

    while (is_word(*end))
        end++;
    if (!ends_word(end))
        return template_fail(lexer->source, end, "unexpected character behind \"%.*s\"",
                             (int)(end - start), start);
    size_t len = (size_t)(end - start);
    lexer->at = end;
    add(lexer, skip == 0 ? word_kind(start, len) : kind, start, len);
    return true;
}

static bool is_digit_of(char c, const char *more)
{
    return (c >= '0' && c <= '9') || (c != '\0' && strchr(more, c) != NULL);
}

static bool lex_number(struct lexer *lexer)
{
    const char *start = lexer->at;
    const char *c = start;
    const char *more = "";

    if (*c == '+' || *c == '-')
        c++;
    if (*c == '0' && c[1] != '\0' && strchr("xXoObB", c[1])) {
        more = strchr("xX", c[1]) ? "abcdefABCDEF" : "";
        c += 2;
    }
    while (is_digit_of(*c, more))
        c++;
    if (*c == '.')
        c++;
    while (is_digit_of(*c, more))
        c++;
    if (!*more && (*c == 'e' || *c == 'E')) {
        c += c[1] == '+' || c[1] == '-' ? 2 : 1;
        while (is_digit_of(*c, ""))
            c++;
    }
    if (is_word(*c) || *c == '+' || *c == '-')
        return template_fail(lexer->source, start, "a number that is not one, or not served");
    lexer->at = c;
    add(lexer, TOKEN_NUMBER, start, (size_t)(c - start));
    return true;
}

static bool lex_sign(struct lexer *lexer)
{
    static const struct {
        const char *sign;
        enum template_token_kind kind;
    } signs[] = {
        {":=", TOKEN_DECLARE}, {"=", TOKEN_ASSIGN}, {"|", TOKEN_PIPE},
        {"(", TOKEN_LEFT},     {")", TOKEN_RIGHT},
    };
    const char *at = lexer->at;

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t len = strlen(signs[i].sign);
        if (strncmp(at, signs[i].sign, len) != 0)
            continue;
        lexer->depth += signs[i].kind == TOKEN_LEFT ? 1 : signs[i].kind == TOKEN_RIGHT ? -1 : 0;
        if (lexer->depth < 0)
            return template_fail(lexer->source, at, "\")\" without \"(\"");
        lexer->at += len;
        add(lexer, signs[i].kind, at, len);
        return true;
    }
    if (*at <= ' ' || *at == ':' || *at == 0x7f)
        return template_fail(lexer->source, at, "unexpected character in an action");
    lexer->at++;
    add(lexer, TOKEN_SIGN, at, 1);
    return true;
}

static bool lex_token(struct lexer *lexer)
{
    const char *at = lexer->at;

    switch (*at) {
    case '"':
        return lex_quoted(lexer, '"', TOKEN_STRING);
    case '`':
        return lex_quoted(lexer, '`', TOKEN_RAW);
    case '\'':
        return lex_quoted(lexer, '\'', TOKEN_CHAR);
    case '$':
        return lex_word(lexer, TOKEN_VARIABLE, 1);
    case '.':
        if (is_digit_of(at[1], ""))
            return lex_number(lexer);
        return lex_word(lexer, ends_word(at + 1) ? TOKEN_DOT : TOKEN_FIELD, 1);
    default:
        break;
    }
    if (is_digit_of(*at, "+-"))
        return lex_number(lexer);
    if (is_word(*at))
        return lex_word(lexer, TOKEN_NAME, 0);
    return lex_sign(lexer);
}

/* Up to and with its "}}". */
static bool lex_action(struct lexer *lexer)
{
    const char *open = lexer->at;
    bool trims;

    lexer->depth = 0;
    while (!closes(lexer->at, &trims)) {
        const char *at = lexer->at;
        bool ok = true;
        if (*at == '\0')
            return template_fail(lexer->source, open, "\"{{\" without \"}}\"");
        if (!is_space(*at)) {
            ok = lex_token(lexer);
        } else {
            /* the last space may belong to "-}}" */
            while (is_space(*lexer->at) && (lexer->at == at || !closes(lexer->at, &trims)))
                lexer->at++;
            add(lexer, TOKEN_SPACE, at, (size_t)(lexer->at - at));
        }
        if (!ok)
            return false;
    }
    if (lexer->depth > 0)
        return template_fail(lexer->source, lexer->at, "\"(\" without \")\"");
    add(lexer, TOKEN_CLOSE, lexer->at, 2);
    leave_action(lexer, trims);
    return true;
}

struct template_token *template_lex(const struct template_source *source)
{
    /* no token is shorter than a character, but for the last */
    struct lexer lexer = {
        .source = source,
        .at = source->text,
        .tokens = arena_array(source->arena, strlen(source->text) + 1, sizeof(*lexer.tokens)),
    };

    while (*lexer.at) {
        if (!lex_text(&lexer))
            return NULL;
    }
    add(&lexer, TOKEN_END, lexer.at, 0);
    return lexer.tokens;
}
