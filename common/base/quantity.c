#include "base/quantity.h"

#include <string.h>

#include "base/encoding.h"

typedef __int128 wide_int; /* a scalar, for readable declarations */

enum {
    NANO = -9,         /* the finest scale that apimachinery keeps */
    INT64_DIGITS = 18, /* with more digits it leaves its fast path */
    MAX_DIGITS = 38,   /* always fit 127 bits */
    MAX_FRACTION = 20, /* digits of a binary fraction: 10^20 * 2^60 still fits 127 bits */
    MAX_EXPONENT = 1000000,
    SHOWN = 60,
};

#define WIDE_MAX ((wide_int)(((unsigned __int128)1 << 127) - 1))

static const struct suffix {
    const char *text;
    int base, exponent;
} suffixes[] = {
    {"n", 10, -9}, {"u", 10, -6}, {"m", 10, -3}, {"", 10, 0},   {"k", 10, 3},  {"M", 10, 6},
    {"G", 10, 9},  {"T", 10, 12}, {"P", 10, 15}, {"E", 10, 18}, {"Ki", 2, 10}, {"Mi", 2, 20},
    {"Gi", 2, 30}, {"Ti", 2, 40}, {"Pi", 2, 50}, {"Ei", 2, 60},
};

/* The parts of a text; `digits` are those of the whole number without leading zeros, then the
 * fraction's. */
struct parts {
    bool negative;
    const char *whole, *fraction;
    size_t whole_len, fraction_len;
    int base, exponent;
    enum quantity_format format;
};

static enum err fail(struct errinfo *ei, const char *text, const char *why)
{
    size_t len = strlen(text);
    return err_set(
        ei, ERR_INVALID, "expected a quantity such as \"500m\" or \"1.5Gi\", found \"%.*s%s\"%s",
        (int)(len > SHOWN ? utf8_cut(text, SHOWN) : len), text, len > SHOWN ? "..." : "", why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t span_digits(const char *text)
{
    size_t len = 0;
    while (is_digit(text[len]))
        len++;
    return len;
}

/* "e3", "E-3" */
static bool read_exponent(const char *text, struct parts *parts)
{
    if (text[0] != 'e' && text[0] != 'E')
        return false;
    const char *at = text + 1;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    size_t len = span_digits(at);
    if (len == 0 || at[len])
        return false;
    int value = 0;
    for (size_t i = 0; i < len; i++) {
        value = value * 10 + (at[i] - '0');
        if (value > MAX_EXPONENT)
            return false;
    }
    parts->base = 10;
    parts->exponent = negative ? -value : value;
    parts->format = QUANTITY_DECIMAL_EXPONENT;
    return true;
}

static bool read_suffix(const char *text, struct parts *parts)
{
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strcmp(text, suffixes[i].text) == 0) {
            parts->base = suffixes[i].base;
            parts->exponent = suffixes[i].exponent;
            parts->format = parts->base == 2 ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI;
            return true;
        }
    }
    return read_exponent(text, parts);
}

static bool split(const char *text, struct parts *parts)
{
    const char *at = text + (*text == '-' || *text == '+');
    parts->negative = *text == '-';
    size_t digits = span_digits(at);
    size_t zeros = strspn(at, "0");
    parts->whole = at + zeros;
    parts->whole_len = digits - zeros;
    at += digits;
    parts->fraction = at;
    if (*at == '.') {
        parts->fraction = at + 1;
        parts->fraction_len = span_digits(parts->fraction);
        digits += parts->fraction_len;
        at += 1 + parts->fraction_len;
    }
    return digits > 0 && read_suffix(at, parts);
}

/* The digits as a number; returns false if they do not fit. */
static bool read_digits(const char *digits, size_t len, wide_int *value)
{
    for (size_t i = 0; i < len; i++) {
        if (*value > (WIDE_MAX - 9) / 10)
            return false;
        *value = *value * 10 + (digits[i] - '0');
    }
    return true;
}

/* The number of digits as apimachinery counts them: an empty or zero whole number is written
 * "0". */
static int counted(const struct parts *parts)
{
    size_t whole = parts->whole_len ? parts->whole_len : 1;
    return whole + parts->fraction_len > INT64_DIGITS ? INT64_DIGITS + 1
                                                      : (int)(whole + parts->fraction_len);
}

/* Returns true if apimachinery takes its int64 path, which determines the precision and the printed
 * text. */
static bool is_fast(const struct parts *parts)
{
    if (parts->format == QUANTITY_BINARY_SI)
        return parts->fraction_len == 0 && counted(parts) <= 14 - parts->exponent * 3 / 10;
    return counted(parts) <= INT64_DIGITS && parts->exponent - (int)parts->fraction_len >= NANO;
}

/* Returns true if the source text is canonical on that path, and so is printed unchanged. */
static bool keeps_source(const struct parts *parts, wide_int digits, int32_t scale)
{
    if (parts->format == QUANTITY_BINARY_SI)
        return (digits & 7) != 0;
    return scale % 3 == 0 && digits % 1000 != 0 && parts->whole_len > 0;
}

/* Rounds a magnitude away from zero until its scale is at least NANO, then makes the scale NANO if
 * it still fits. */
static void to_nano(wide_int *value, int32_t *scale)
{
    bool rest = false;
    for (; *scale<NANO && * value> 0; (*scale)++) {
        rest = rest || *value % 10 != 0;
        *value /= 10;
    }
    if (rest)
        (*value)++;
    if (*scale < NANO)
        *scale = NANO;
    for (; *scale > NANO && *value <= WIDE_MAX / 10; (*scale)--)
        *value *= 10;
}

/* A magnitude with a binary suffix, in nano; returns false if its fraction has too many digits.
 * Capped as in apimachinery. */
static bool read_binary(const struct parts *parts, wide_int *value, int32_t *scale)
{
    wide_int whole = 0, fraction = 0;
    size_t len = parts->fraction_len;
    while (len > 0 && parts->fraction[len - 1] == '0')
        len--;
    if (len > MAX_FRACTION)
        return false;
    bool fits = read_digits(parts->whole, parts->whole_len, &whole) &&
                whole <= INT64_MAX >> parts->exponent;
    read_digits(parts->fraction, len, &fraction);
    fraction <<= parts->exponent;
    int32_t fraction_scale = -(int32_t)len;
    if (fraction > 0)
        to_nano(&fraction, &fraction_scale);
    wide_int nanos = fits ? (whole << parts->exponent) * 1000000000 + fraction : 0;
    if (!fits || nanos > (wide_int)INT64_MAX * 1000000000) {
        *value = INT64_MAX;
        *scale = 0;
        return true;
    }
    *value = nanos;
    *scale = nanos ? NANO : -(int32_t)parts->fraction_len;
    return true;
}

/* apimachinery's arbitrary-precision path; returns false if it needs more digits than are kept
 * here. */
static bool read_decimal(const struct parts *parts, struct quantity *q)
{
    wide_int value = 0;
    int32_t scale = 0;
    if (parts->format == QUANTITY_BINARY_SI) {
        if (!read_binary(parts, &value, &scale))
            return false;
        if (value > 0 && scale == NANO && value < 1000000000)
            q->format = QUANTITY_DECIMAL_SI;
    } else {
        size_t len = parts->fraction_len;
        while (len > 0 && parts->fraction[len - 1] == '0')
            len--;
        size_t whole = parts->whole_len, zeros = 0;
        for (; len == 0 && whole > MAX_DIGITS && parts->whole[whole - 1] == '0'; whole--)
            zeros++;
        if (whole + len > MAX_DIGITS || zeros > MAX_EXPONENT)
            return false;
        read_digits(parts->whole, whole, &value);
        read_digits(parts->fraction, len, &value);
        scale = parts->exponent - (int32_t)len + (int32_t)zeros;
        if (value > 0)
            to_nano(&value, &scale);
    }
    q->decimal = true;
    q->wide = parts->negative ? -value : value;
    q->scale = scale;
    return true;
}

static void read_fast(const struct parts *parts, const char *text, struct quantity *q)
{
    wide_int digits = 0;
    read_digits(parts->whole, parts->whole_len, &digits);
    read_digits(parts->fraction, parts->fraction_len, &digits);
    q->wide = digits;
    if (parts->format == QUANTITY_BINARY_SI)
        q->wide <<= parts->exponent;
    else
        q->scale = parts->exponent - (int32_t)parts->fraction_len;
    if (parts->negative)
        q->wide = -q->wide;
    if (keeps_source(parts, digits, q->scale) && strlen(text) < sizeof(q->source))
        memcpy(q->source, text, strlen(text) + 1);
}

enum err quantity_parse(const char *text, struct quantity *out, struct errinfo *ei)
{
    *out = (struct quantity){0};
    struct parts parts = {0};
    if (!split(text, &parts))
        return fail(ei, text, "");
    struct quantity q = {.format = parts.format};
    if (is_fast(&parts))
        read_fast(&parts, text, &q);
    else if (!read_decimal(&parts, &q))
        return fail(ei, text, ": it has too many digits");
    if (strcmp(text, "0") == 0)
        memcpy(q.source, "0", 2);
    q.big = q.wide > INT64_MAX || q.wide < INT64_MIN;
    q.value = !q.big ? (int64_t)q.wide : q.wide > 0 ? INT64_MAX : INT64_MIN;
    *out = q;
    return ERR_OK;
}

enum err quantity_whole(const char *text, int64_t *out, struct errinfo *ei)
{
    struct quantity q;
    enum err err = quantity_parse(text, &q, ei);

    if (err != ERR_OK)
        return err;
    __int128 value = q.wide;
    for (int32_t scale = q.scale; scale > 0; scale--) {
        if (value > INT64_MAX || value < INT64_MIN)
            break;
        value *= 10;
    }
    for (int32_t scale = q.scale; scale < 0; scale++)
        value = value / 10 + (value % 10 > 0);
    if (value > INT64_MAX || value < INT64_MIN)
        return err_set(ei, ERR_INVALID, "\"%.80s\" is too large", text);
    *out = (int64_t)value;
    return ERR_OK;
}
