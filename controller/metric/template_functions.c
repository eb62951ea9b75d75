/* Values of templates: constants, their text, and the functions of the language. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/encoding.h"
#include "metric/template_parts.h"

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

/* --- values */

const char *template_type_name(enum template_type type)
{
    static const char *const names[] = {
        [TYPE_NIL] = "nil",     [TYPE_BOOL] = "bool",   [TYPE_INT] = "int",
        [TYPE_FLOAT] = "float", [TYPE_TEXT] = "string", [TYPE_MAP] = "map",
    };

    return names[type];
}

struct template_value template_text(const char *text, size_t len)
{
    return (struct template_value){.type = TYPE_TEXT, .text = text, .len = len};
}

bool template_truth(const struct template_value *value)
{
    switch (value->type) {
    case TYPE_NIL:
        return false;
    case TYPE_BOOL:
        return value->yes;
    case TYPE_INT:
        return value->whole != 0;
    case TYPE_FLOAT:
        return value->real < 0 || value->real > 0;
    case TYPE_TEXT:
        return value->len > 0;
    case TYPE_MAP:
        return value->map && json_object_object_length(value->map) > 0;
    }
    return false;
}

/* --- maps */

const char *template_entry(struct json_object *map, const char *key, size_t len)
{
    struct json_object *entry = strlen(key) == len ? json_at(map, key, NULL) : NULL;

    return entry ? json_object_get_string(entry) : NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **template_keys(struct arena *arena, struct json_object *map, size_t *n)
{
    const char **keys = NULL;

    *n = 0;
    if (!map)
        return keys;
    keys = arena_array(arena, (size_t)json_object_object_length(map), sizeof(*keys));
    json_object_object_foreach(map, key, entry)
    {
        (void)entry;
        keys[(*n)++] = key;
    }
    qsort(keys, *n, sizeof(*keys), by_text);
    return keys;
}

/* --- conversion to text */

/* The fewest digits that read back as the same number; with an exponent if that is below -4 or at
 * least 6. */
static const char *show_real(struct arena *arena, double value)
{
    enum { MOST_DIGITS = 17, LEAST_EXPONENT = -4, MOST_EXPONENT = 6 };
    int digits = 0;
    const char *text;

    do
        text = arena_printf(arena, "%.*e", digits, value);
    while (strtod(text, NULL) != value && ++digits < MOST_DIGITS);
    int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < LEAST_EXPONENT || exponent >= MOST_EXPONENT) /* as %v in Go */
        return text;
    return arena_printf(arena, "%.*f", digits > exponent ? digits - exponent : 0, value);
}

/* map[a:1 b:2] */
static const char *show_map(struct arena *arena, struct json_object *map)
{
    size_t n;
    const char **keys = template_keys(arena, map, &n);
    struct buf buf;

    buf_init(&buf, TEMPLATE_TEXT_MAX + 1); /* one more than the limit, which the caller reports */
    buf_puts(&buf, "map[");
    for (size_t i = 0; i < n; i++)
        buf_printf(&buf, "%s%s:%s", i ? " " : "", keys[i],
                   template_entry(map, keys[i], strlen(keys[i])));
    buf_puts(&buf, "]");
    const char *all = arena_strndup(arena, buf.data, buf.len);
    buf_fini(&buf);
    return all;
}

const char *template_show(struct arena *arena, const struct template_value *value, size_t *len)
{
    const char *text = "<nil>";

    switch (value->type) {
    case TYPE_NIL:
        break;
    case TYPE_BOOL:
        text = value->yes ? "true" : "false";
        break;
    case TYPE_INT:
        text = arena_printf(arena, "%lld", (long long)value->whole);
        break;
    case TYPE_FLOAT:
        text = show_real(arena, value->real);
        break;
    case TYPE_TEXT:
        *len = value->len;
        return value->text;
    case TYPE_MAP:
        text = show_map(arena, value->map);
        break;
    }
    *len = strlen(text);
    return text;
}

/* --- constants: numbers, quoted strings and characters, as in Go */

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

/* Reads `count` digits at *at, and moves *at past them; -1 if there are fewer. */
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

/* Reads the escape sequence after the '\' at *at. *byte: it is one byte with any value. -1 if there
 * is no such escape sequence. */
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

/* The text between the quotes. */
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

/* The raw text, without carriage returns. */
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

/* 'a' is the number of the character a. */
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

/* --- functions */

static bool fail(const struct template_call *call, const char *text)
{
    return template_fail(call->source, call->at, "%s", text);
}

static struct template_value truth_of(bool yes)
{
    return (struct template_value){.type = TYPE_BOOL, .yes = yes};
}

static bool run_not(const struct template_call *call, struct template_value *out)
{
    *out = truth_of(!template_truth(&call->args[0]));
    return true;
}

/* --- comparisons */

/* Negative, 0 or positive, from comparing a and b; for ordered types. */
static int order(const struct template_value *a, const struct template_value *b)
{
    size_t least = a->len < b->len ? a->len : b->len;
    int byte;

    if (a->type == TYPE_INT)
        return (a->whole > b->whole) - (a->whole < b->whole);
    if (a->type == TYPE_FLOAT)
        return (a->real > b->real) - (a->real < b->real);
    byte = memcmp(a->text, b->text, least);
    return byte ? byte : (a->len > b->len) - (a->len < b->len);
}

/* True for nil and for a missing map, which are equal to each other and to nothing else. */
static bool is_nil(const struct template_value *value)
{
    return value->type == TYPE_NIL || (value->type == TYPE_MAP && !value->map);
}

static bool equal(const struct template_call *call, const struct template_value *a,
                  const struct template_value *b, bool *out)
{
    bool a_is_plain = a->type != TYPE_NIL && a->type != TYPE_MAP;
    bool b_is_plain = b->type != TYPE_NIL && b->type != TYPE_MAP;

    if (a->type == b->type && a_is_plain) {
        *out = a->type == TYPE_BOOL ? a->yes == b->yes : order(a, b) == 0;
        return true;
    }
    if (a->type == TYPE_NIL || b->type == TYPE_NIL || (!a_is_plain && !b_is_plain)) {
        *out = is_nil(a) && is_nil(b);
        if (!is_nil(a) && !is_nil(b))
            return fail(call, "maps cannot be compared");
        return true;
    }
    return template_fail(call->source, call->at, "a %s cannot be compared with a %s",
                         template_type_name(a->type), template_type_name(b->type));
}

/* True if the first equals any of the others. */
static bool run_eq(const struct template_call *call, struct template_value *out)
{
    bool same = false;

    if (call->n < 2)
        return fail(call, "nothing to compare with");
    for (int i = 1; i < call->n && !same; i++) {
        if (!equal(call, &call->args[0], &call->args[i], &same))
            return false;
    }
    *out = truth_of(same);
    return true;
}

static bool run_ne(const struct template_call *call, struct template_value *out)
{
    if (!run_eq(call, out))
        return false;
    out->yes = !out->yes;
    return true;
}

static bool compare(const struct template_call *call, int *out)
{
    const struct template_value *a = &call->args[0], *b = &call->args[1];

    if (a->type != b->type ||
        (a->type != TYPE_INT && a->type != TYPE_FLOAT && a->type != TYPE_TEXT))
        return template_fail(call->source, call->at, "a %s and a %s have no order",
                             template_type_name(a->type), template_type_name(b->type));
    *out = order(a, b);
    return true;
}

static bool run_lt(const struct template_call *call, struct template_value *out)
{
    int order_of = 0;

    if (!compare(call, &order_of))
        return false;
    *out = truth_of(order_of < 0);
    return true;
}

static bool run_le(const struct template_call *call, struct template_value *out)
{
    int order_of = 0;

    if (!compare(call, &order_of))
        return false;
    *out = truth_of(order_of <= 0);
    return true;
}

static bool run_gt(const struct template_call *call, struct template_value *out)
{
    if (!run_le(call, out))
        return false;
    out->yes = !out->yes;
    return true;
}

static bool run_ge(const struct template_call *call, struct template_value *out)
{
    if (!run_lt(call, out))
        return false;
    out->yes = !out->yes;
    return true;
}

/* --- parts */

static bool run_len(const struct template_call *call, struct template_value *out)
{
    const struct template_value *of = &call->args[0];

    *out = (struct template_value){.type = TYPE_INT, .whole = (int64_t)of->len};
    if (of->type == TYPE_MAP)
        out->whole = of->map ? json_object_object_length(of->map) : 0;
    if (of->type == TYPE_TEXT || of->type == TYPE_MAP)
        return true;
    return template_fail(call->source, call->at, "a %s has no length",
                         template_type_name(of->type));
}

/* An index into a string, not above `most`. */
static bool place(const struct template_call *call, const struct template_value *value, size_t most,
                  size_t *out)
{
    if (value->type != TYPE_INT)
        return template_fail(call->source, call->at, "a text has no place %s",
                             template_type_name(value->type));
    if (value->whole < 0 || (uint64_t)value->whole > most)
        return template_fail(call->source, call->at, "place %lld is out of range",
                             (long long)value->whole);
    *out = (size_t)value->whole;
    return true;
}

static bool index_one(const struct template_call *call, struct template_value *item,
                      const struct template_value *key)
{
    size_t at = 0;

    if (item->type == TYPE_MAP) {
        if (key->type != TYPE_TEXT)
            return template_fail(call->source, call->at, "the key of a map is a string, found %s",
                                 template_type_name(key->type));
        const char *entry = template_entry(item->map, key->text, key->len);
        *item = template_text(entry ? entry : "", entry ? strlen(entry) : 0);
        return true;
    }
    if (item->type != TYPE_TEXT)
        return template_fail(call->source, call->at, "a %s has no parts",
                             template_type_name(item->type));
    if (!place(call, key, item->len, &at))
        return false;
    if (at == item->len)
        return fail(call, "a place behind the end of a text");
    *item = (struct template_value){.type = TYPE_INT, .whole = (unsigned char)item->text[at]};
    return true;
}

/* A missing entry is "": `variables.key` is for the required entries. */
static bool run_index(const struct template_call *call, struct template_value *out)
{
    *out = call->args[0];
    if (out->type == TYPE_NIL)
        return fail(call, "nil has no parts");
    for (int i = 1; i < call->n; i++) {
        if (!index_one(call, out, &call->args[i]))
            return false;
    }
    return true;
}

static bool run_slice(const struct template_call *call, struct template_value *out)
{
    const struct template_value *of = &call->args[0];
    size_t from = 0, to = of->len;

    if (of->type != TYPE_TEXT)
        return template_fail(call->source, call->at, "a %s cannot be sliced",
                             template_type_name(of->type));
    if ((call->n > 1 && !place(call, &call->args[1], of->len, &from)) ||
        (call->n > 2 && !place(call, &call->args[2], of->len, &to)))
        return false;
    if (from > to)
        return fail(call, "a slice that ends before it begins");
    *out = template_text(of->text + from, to - from);
    return true;
}

/* --- texts */

/* Inserts a space between all arguments or, unless `always`, only where neither neighbour is a
 * string. */
static bool join(const struct template_call *call, bool always, const char *end,
                 struct template_value *out)
{
    struct buf buf;

    buf_init(&buf, TEMPLATE_TEXT_MAX + 1); /* one more than the limit, which the caller reports */
    for (int i = 0; i < call->n; i++) {
        bool texts =
            i == 0 || call->args[i - 1].type == TYPE_TEXT || call->args[i].type == TYPE_TEXT;
        size_t len;
        const char *text = template_show(call->source->arena, &call->args[i], &len);
        if (i > 0 && (always || !texts))
            buf_puts(&buf, " ");
        buf_add(&buf, text, len);
    }
    buf_puts(&buf, end);
    *out = template_text(arena_strndup(call->source->arena, buf.data, buf.len), buf.len);
    buf_fini(&buf);
    return true;
}

static bool run_print(const struct template_call *call, struct template_value *out)
{
    return join(call, false, "", out);
}

static bool run_println(const struct template_call *call, struct template_value *out)
{
    return join(call, true, "\n", out);
}

static bool template_printf(const struct template_call *call, struct template_value *out);

const struct template_builtin *template_builtin_find(const char *name, size_t len)
{
    static const struct template_builtin builtins[] = {
        {.name = "and", .least = 1, .most = -1, .stops_at = false},
        {.name = "or", .least = 1, .most = -1, .stops_at = true},
        {.name = "not", .least = 1, .most = 1, .run = run_not},
        {.name = "eq", .least = 1, .most = -1, .run = run_eq},
        {.name = "ne", .least = 2, .most = 2, .run = run_ne},
        {.name = "lt", .least = 2, .most = 2, .run = run_lt},
        {.name = "le", .least = 2, .most = 2, .run = run_le},
        {.name = "gt", .least = 2, .most = 2, .run = run_gt},
        {.name = "ge", .least = 2, .most = 2, .run = run_ge},
        {.name = "len", .least = 1, .most = 1, .run = run_len},
        {.name = "index", .least = 1, .most = -1, .run = run_index},
        {.name = "slice", .least = 1, .most = 3, .run = run_slice},
        {.name = "print", .most = -1, .run = run_print},
        {.name = "println", .most = -1, .run = run_println},
        {.name = "printf", .least = 1, .most = -1, .run = template_printf},
    };

    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        if (strlen(builtins[i].name) == len && strncmp(builtins[i].name, name, len) == 0)
            return &builtins[i];
    }
    return NULL;
}

/*
 * --- printf: the verbs v s q d b o x X c t e E f F g G and %, with width, precision and the flags
 * - + 0 and space of numbers. Complaints that Go writes into the output are errors here.
 */

enum { MOST_WIDTH = 1000 };

struct directive {
    bool minus, plus, space, zero;
    int width, precision; /* -1 if none */
    char verb;
};

struct printer {
    const struct template_call *call;
    struct buf buf;
    int used; /* number of arguments used */
};

static bool fail_printf(const struct printer *p, const char *text)
{
    return template_fail(p->call->source, p->call->at, "printf: %s", text);
}

/* --- the format */

/* Reads digits at *at; false if the number is above the limit. */
static bool read_count(const char **at, int *out)
{
    *out = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        *out = *out * 10 + (**at - '0');
        if (*out > MOST_WIDTH)
            return false;
    }
    return true;
}

/* Moves *at from after the '%' to after the verb. */
static bool read_directive(const struct printer *p, const char **at, const char *end,
                           struct directive *out)
{
    *out = (struct directive){.width = -1, .precision = -1};
    for (;; (*at)++) {
        out->minus |= **at == '-';
        out->plus |= **at == '+';
        out->space |= **at == ' ';
        out->zero |= **at == '0';
        if (!**at || !strchr("-+ 0", **at))
            break;
    }
    if (**at >= '1' && **at <= '9' && !read_count(at, &out->width))
        return fail_printf(p, "a width above 1000");
    if (**at == '.') {
        (*at)++;
        if (!read_count(at, &out->precision))
            return fail_printf(p, "a precision above 1000");
    }
    if (*at >= end)
        return fail_printf(p, "a '%' without a verb");
    out->verb = *(*at)++;
    return true;
}

/* --- one value */

/* Pads the text to its width, in characters. */
static bool pad(struct printer *p, const struct directive *d, const char *text, size_t len)
{
    int missing = d->width - (int)utf8_count(text, len);

    for (int i = 0; i < missing && !d->minus; i++)
        buf_puts(&p->buf, " ");
    buf_add(&p->buf, text, len);
    for (int i = 0; i < missing && d->minus; i++)
        buf_puts(&p->buf, " ");
    return true;
}

/* Number of bytes of the first `count` characters. */
static size_t head_of(const char *text, size_t len, int count)
{
    size_t at = 0;

    for (int i = 0; i < count && at < len; i++) {
        size_t one = utf8_sequence(text + at, len - at);
        at += one ? one : 1;
    }
    return at;
}

/* Like strconv.Quote; non-ASCII characters all count as printable. */
static bool put_quoted(struct printer *p, const struct directive *d, const char *text, size_t len)
{
    static const char plain[] = "\a\b\f\n\r\t\v\\\"";
    static const char names[] = "abfnrtv\\\"";
    struct buf quoted;

    buf_init(&quoted, TEMPLATE_TEXT_MAX * 4);
    buf_puts(&quoted, "\"");
    for (size_t i = 0; i < len; i++) {
        const char *special = text[i] ? strchr(plain, text[i]) : NULL;
        if (special)
            buf_printf(&quoted, "\\%c", names[special - plain]);
        else if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            buf_printf(&quoted, "\\x%02x", (unsigned char)text[i]);
        else
            buf_add(&quoted, &text[i], 1);
    }
    buf_puts(&quoted, "\"");
    bool ok = pad(p, d, quoted.data, quoted.len);
    buf_fini(&quoted);
    return ok;
}

static bool put_hex(struct printer *p, const struct directive *d, const char *text, size_t len)
{
    struct buf hex;

    buf_init(&hex, TEMPLATE_TEXT_MAX * 2);
    for (size_t i = 0; i < len; i++)
        buf_printf(&hex, d->verb == 'x' ? "%02x" : "%02X", (unsigned char)text[i]);
    bool ok = pad(p, d, hex.len ? hex.data : "", hex.len);
    buf_fini(&hex);
    return ok;
}

static bool put_text(struct printer *p, const struct directive *d, const char *text, size_t len)
{
    bool cuts = d->precision >= 0;

    if (d->plus || d->space || d->zero || (cuts && strchr("xX", d->verb)))
        return fail_printf(p, "a flag or precision that is for numbers");
    if (cuts)
        len = head_of(text, len, d->precision);
    if (d->verb == 'q')
        return utf8_valid(text, len) ? put_quoted(p, d, text, len)
                                     : fail_printf(p, "a text that is no UTF-8 cannot be quoted");
    if (strchr("xX", d->verb))
        return put_hex(p, d, text, len);
    return pad(p, d, text, len);
}

static int base_of(char verb)
{
    return verb == 'b' ? 2 : verb == 'o' ? 8 : verb == 'x' || verb == 'X' ? 16 : 10;
}

static bool put_whole(struct printer *p, const struct directive *d, int64_t value)
{
    const char *set = d->verb == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const char *sign = value < 0 ? "-" : d->plus ? "+" : d->space ? " " : "";
    int least = d->precision; /* digits */
    char digits[MOST_WIDTH + 80];
    size_t at = sizeof(digits);

    if (d->precision < 0 && d->zero && !d->minus && d->width > 0)
        least = d->width - (int)strlen(sign);
    for (; left > 0; left /= (uint64_t)base_of(d->verb))
        digits[--at] = set[left % (uint64_t)base_of(d->verb)];
    while ((int)(sizeof(digits) - at) < least || (at == sizeof(digits) && d->precision != 0))
        digits[--at] = '0';
    if (at < sizeof(digits) && *sign)
        digits[--at] = *sign; /* nothing for 0 with precision 0 */
    return pad(p, d, digits + at, sizeof(digits) - at);
}

static bool put_real(struct printer *p, const struct directive *d, double value)
{
    char format[16], text[MOST_WIDTH + 400];
    int len;

    snprintf(format, sizeof(format), "%%%s%s%s%s*.*%c", d->minus ? "-" : "", d->plus ? "+" : "",
             d->space ? " " : "", d->zero ? "0" : "", d->verb);
    if (d->precision < 0 && strchr("gG", d->verb))
        return fail_printf(p, "%g without a precision; take %v");
    len = snprintf(text, sizeof(text), format, d->width > 0 ? d->width : 0,
                   d->precision >= 0 ? d->precision : 6, value);
    buf_add(&p->buf, text, (size_t)len);
    return true;
}

static bool put_char(struct printer *p, const struct directive *d, int64_t code)
{
    char text[4];

    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) || d->zero)
        return fail_printf(p, "%c of what is no character");
    return pad(p, d, text, utf8_encode((uint32_t)code, text));
}

static bool put_value(struct printer *p, const struct directive *d,
                      const struct template_value *value)
{
    static const char *const verbs[] = {
        [TYPE_NIL] = "v",         [TYPE_BOOL] = "vt",    [TYPE_INT] = "vdboxXc",
        [TYPE_FLOAT] = "veEfFgG", [TYPE_TEXT] = "vsqxX", [TYPE_MAP] = "vs",
    };

    if (!strchr(verbs[value->type], d->verb))
        return template_fail(p->call->source, p->call->at,
                             "printf: \"%%%c\" does not take a %s, or is not served", d->verb,
                             template_type_name(value->type));
    if (d->plus && d->verb == 'v')
        return fail_printf(p, "%+v is not served");
    if (value->type == TYPE_INT)
        return d->verb == 'c' ? put_char(p, d, value->whole) : put_whole(p, d, value->whole);
    if (value->type == TYPE_FLOAT && d->verb != 'v')
        return put_real(p, d, value->real);
    if (value->type == TYPE_TEXT)
        return put_text(p, d, value->text, value->len);
    size_t len;
    const char *text = template_show(p->call->source->arena, value, &len);
    /* Go applies the width to each entry of a map. */
    if (d->plus || d->space || d->zero || d->precision >= 0 ||
        (value->type == TYPE_MAP && d->width > 0))
        return fail_printf(p, "a flag, width or precision that is not served here");
    return pad(p, d, text, len);
}

/* --- directives */

static bool put_directive(struct printer *p, const char **at, const char *end)
{
    struct directive d;

    if (!read_directive(p, at, end, &d))
        return false;
    if (d.verb == '%') {
        buf_puts(&p->buf, "%");
        return true;
    }
    if (!strchr("vsqdboxXcteEfFgG", d.verb))
        return template_fail(p->call->source, p->call->at, "printf: \"%%%c\" is not served",
                             d.verb >= ' ' && d.verb < 0x7f ? d.verb : '?');
    if (++p->used >= p->call->n)
        return fail_printf(p, "more verbs than arguments");
    return put_value(p, &d, &p->call->args[p->used]);
}

static bool print_all(struct printer *p)
{
    const struct template_value *format = &p->call->args[0];
    const char *at = format->text;
    const char *end = at + format->len;

    while (at < end) {
        const char *next = memchr(at, '%', (size_t)(end - at));
        buf_add(&p->buf, at, (size_t)((next ? next : end) - at));
        at = next ? next + 1 : end;
        if (next && !put_directive(p, &at, end))
            return false;
        if (p->buf.truncated)
            return fail_printf(p, "a text that is too long");
    }
    return p->used + 1 == p->call->n || fail_printf(p, "more arguments than verbs");
}

/* template_functions.c */
static bool template_printf(const struct template_call *call, struct template_value *out)
{
    struct printer p = {.call = call};

    if (call->args[0].type != TYPE_TEXT)
        return fail_printf(&p, "the format is a string");
    buf_init(&p.buf, TEMPLATE_TEXT_MAX);
    bool ok = print_all(&p);
    if (ok)
        *out = template_text(arena_strndup(call->source->arena, p.buf.data, p.buf.len), p.buf.len);
    buf_fini(&p.buf);
    return ok;
}
