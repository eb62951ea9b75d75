/*
 * printf of templates: the verbs v s q d b o x X c t e E f F g G and %, with width, precision and
 * the flags - + 0 and space of numbers. Where Go writes its complaint into the text, this one is an
 * error.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "metric/template_parts.h"

enum { MOST_WIDTH = 1000 };

struct directive {
    bool minus, plus, space, zero;
    int width, precision; /* -1: none */
    char verb;
};

struct printer {
    const struct template_call *call;
    struct buf buf;
    int used; /* arguments */
};

static bool fail(const struct printer *p, const char *text)
{
    return template_fail(p->call->source, p->call->at, "printf: %s", text);
}

/* --- the format */

/* Digits at *at; false: more than is served. */
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

/* Moves *at from behind '%' to behind the verb. */
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
        return fail(p, "a width above 1000");
    if (**at == '.') {
        (*at)++;
        if (!read_count(at, &out->precision))
            return fail(p, "a precision above 1000");
    }
    if (*at >= end)
        return fail(p, "a '%' without a verb");
    out->verb = *(*at)++;
    return true;
}

/* --- one value */

/* The text in its width, which counts characters. */
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

/* The bytes of the first `count` characters. */
static size_t head_of(const char *text, size_t len, int count)
{
    size_t at = 0;

    for (int i = 0; i < count && at < len; i++) {
        size_t one = utf8_sequence(text + at, len - at);
        at += one ? one : 1;
    }
    return at;
}

/* As strconv.Quote; of what is not ASCII it takes all as printable. */
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
        return fail(p, "a flag or precision that is for numbers");
    if (cuts)
        len = head_of(text, len, d->precision);
    if (d->verb == 'q')
        return utf8_valid(text, len) ? put_quoted(p, d, text, len)
                                     : fail(p, "a text that is no UTF-8 cannot be quoted");
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
        digits[--at] = *sign; /* nothing at all of 0 with precision 0 */
    return pad(p, d, digits + at, sizeof(digits) - at);
}

static bool put_real(struct printer *p, const struct directive *d, double value)
{
    char format[16], text[MOST_WIDTH + 400];
    int len;

    snprintf(format, sizeof(format), "%%%s%s%s%s*.*%c", d->minus ? "-" : "", d->plus ? "+" : "",
             d->space ? " " : "", d->zero ? "0" : "", d->verb);
    if (d->precision < 0 && strchr("gG", d->verb))
        return fail(p, "%g without a precision; take %v");
    len = snprintf(text, sizeof(text), format, d->width > 0 ? d->width : 0,
                   d->precision >= 0 ? d->precision : 6, value);
    buf_add(&p->buf, text, (size_t)len);
    return true;
}

static bool put_char(struct printer *p, const struct directive *d, int64_t code)
{
    char text[4];

    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) || d->zero)
        return fail(p, "%c of what is no character");
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
        return fail(p, "%+v is not served");
    if (value->type == TYPE_INT)
        return d->verb == 'c' ? put_char(p, d, value->whole) : put_whole(p, d, value->whole);
    if (value->type == TYPE_FLOAT && d->verb != 'v')
        return put_real(p, d, value->real);
    if (value->type == TYPE_TEXT)
        return put_text(p, d, value->text, value->len);
    size_t len;
    const char *text = template_show(p->call->source->arena, value, &len);
    /* Go gives its width to each entry of a map. */
    if (d->plus || d->space || d->zero || d->precision >= 0 ||
        (value->type == TYPE_MAP && d->width > 0))
        return fail(p, "a flag, width or precision that is not served here");
    return pad(p, d, text, len);
}

/* --- all of it */

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
        return fail(p, "more verbs than arguments");
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
            return fail(p, "a text that is too long");
    }
    return p->used + 1 == p->call->n || fail(p, "more arguments than verbs");
}

bool template_printf(const struct template_call *call, struct template_value *out)
{
    struct printer p = {.call = call};

    if (call->args[0].type != TYPE_TEXT)
        return fail(&p, "the format is a string");
    buf_init(&p.buf, TEMPLATE_TEXT_MAX);
    bool ok = print_all(&p);
    if (ok)
        *out = template_text(arena_strndup(call->source->arena, p.buf.data, p.buf.len), p.buf.len);
    buf_fini(&p.buf);
    return ok;
}
