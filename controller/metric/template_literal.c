/* Constants of a template: numbers, quoted strings and characters, as Go reads them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "metric/template_parts.h"

/* --- numbers */

static bool read_whole(const char *digits, bool negative, int64_t *out)
{
    static const char marks[] = "xXoObB";
    static const int bases[] = {16, 16, 8, 8, 2, 2};
    const char *mark = digits[0] == '0' && digits[1] ? strchr(marks, digits[1]) : NULL;
    int base = mark ? bases[mark - marks] : digits[0] == '0' && digits[1] ? 8 : 10;
    char *end;

    digits += mark ? 2 : 0;
    errno = 0;
    unsigned long long value = strtoull(digits, &end, base);
    uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (end == digits || *end || errno || value > most)
        return false;
    *out = negative ? (int64_t)(0 - (uint64_t)value) : (int64_t)value;
    return true;
}

static bool read_number(const struct template_source *source, const struct template_token *token,
                        struct template_value *out)
{
    const char *text = arena_strndup(source->arena, token->at, token->len);
    const char *digits = text + (*text == '+' || *text == '-');
    bool hex = digits[0] == '0' && digits[1] && strchr("xX", digits[1]);
    char *end;

    if (!strchr(text, '.') && (hex || !strpbrk(text, "eE"))) {
        out->type = TYPE_INT;
        if (read_whole(digits, *text == '-', &out->whole))
            return true;
    } else if (!hex && strpbrk(digits, "0123456789")) {
        out->type = TYPE_FLOAT;
        out->real = strtod(text, &end);
        if (!*end && isfinite(out->real))
            return true;
    }
    return template_fail(source, token->at, "\"%.40s\" is not a number, or too large", text);
}

/* --- quoted */

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

    return found ? (int)(found - digits) : -1;
}

/* `count` digits at *at, moved behind them; -1: they are not there. */
static int64_t read_digits(const char **at, const char *end, int count, int base)
{
    int64_t value = 0;

    for (int i = 0; i < count; i++, (*at)++) {
        int digit = *at < end ? hex_digit(**at) : -1;
        if (digit < 0 || digit >= base)
            return -1;
        value = value * base + digit;
    }
    return value;
}

/* The escape behind '\' at *at. *byte: it is one byte, whatever its value. -1: there is none such.
 */
static int64_t read_escape(const char **at, const char *end, char quote, bool *byte)
{
    static const char names[] = "abfnrtv\\";
    static const char values[] = "\a\b\f\n\r\t\v\\";
    char c = *(*at)++;
    const char *name = c ? strchr(names, c) : NULL;

    *byte = false;
    if (c == quote)
        return c;
    if (name)
        return values[name - names];
    if (c >= '0' && c <= '7') {
        (*at)--;
        int64_t value = read_digits(at, end, 3, 8);
        *byte = true;
        return value > 255 ? -1 : value;
    }
    *byte = c == 'x';
    if (c != 'x' && c != 'u' && c != 'U')
        return -1;
    int64_t value = read_digits(at, end, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
    bool scalar = value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
    return *byte || scalar ? value : -1;
}

/* What stands between the quotes. */
static bool unquote(const struct template_source *source, const struct template_token *token,
                    struct template_value *out)
{
    const char *at = token->at + 1, *end = token->at + token->len - 1;
    char *to = arena_alloc(source->arena, token->len);

    *out = (struct template_value){.type = TYPE_TEXT, .text = to};
    while (at < end) {
        if (*at != '\\') {
            to[out->len++] = *at++;
            continue;
        }
        bool byte;
        const char *escape = at++;
        int64_t code = read_escape(&at, end, *token->at, &byte);
        if (code < 0)
            return template_fail(source, escape, "an escape that Go does not know");
        if (byte)
            to[out->len++] = (char)code;
        else
            out->len += utf8_encode((uint32_t)code, to + out->len);
    }
    return true;
}

/* As it stands, without carriage returns. */
static void unquote_raw(struct arena *arena, const struct template_token *token,
                        struct template_value *out)
{
    char *to = arena_alloc(arena, token->len);

    *out = (struct template_value){.type = TYPE_TEXT, .text = to};
    for (size_t i = 1; i + 1 < token->len; i++) {
        if (token->at[i] != '\r')
            to[out->len++] = token->at[i];
    }
}

static int64_t code_of(const unsigned char *text, size_t len)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    int64_t code = text[0] & masks[len];

    for (size_t i = 1; i < len; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

/* 'a' is the number of the character. */
static bool read_char(const struct template_source *source, const struct template_token *token,
                      struct template_value *out)
{
    const char *at = token->at + 1, *end = token->at + token->len - 1;
    size_t len = at < end ? utf8_sequence(at, (size_t)(end - at)) : 0;
    bool byte;

    out->type = TYPE_INT;
    out->whole = -1;
    if (at < end && *at == '\\') {
        at++;
        out->whole = read_escape(&at, end, '\'', &byte);
    } else if (len > 0) {
        out->whole = code_of((const unsigned char *)at, len);
        at += len;
    }
    if (out->whole >= 0 && at == end)
        return true;
    return template_fail(source, token->at, "expected one character between the quotes");
}

bool template_literal(const struct template_source *source, const struct template_token *token,
                      struct template_value *out)
{
    *out = (struct template_value){.type = TYPE_NIL};
    switch (token->kind) {
    case TOKEN_TRUE:
    case TOKEN_FALSE:
        out->type = TYPE_BOOL;
        out->yes = token->kind == TOKEN_TRUE;
        return true;
    case TOKEN_CHAR:
        return read_char(source, token, out);
    case TOKEN_STRING:
        return unquote(source, token, out);
    case TOKEN_RAW:
        unquote_raw(source->arena, token, out);
        return true;
    default:
        return read_number(source, token, out);
    }
}
