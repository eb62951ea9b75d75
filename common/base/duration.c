#include "base/duration.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/encoding.h"

enum { SHOWN = 60 }; /* bytes of a wrong text quoted in an error */

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {
    /* A name that is a prefix of another one comes after it. */
    {"ns", 1},           {"us", 1000},      {"\xc2\xb5s", 1000}, /* U+00B5, the micro sign */
    {"\xce\xbcs", 1000},                                         /* U+03BC, the Greek letter */
    {"ms", 1000000},     {"s", 1000000000}, {"m", 60000000000},  {"h", 3600000000000},
};

static const struct unit *find_unit(const char *text)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
            return &units[i];
    }
    return NULL;
}

static enum err not_a_duration(struct errinfo *ei, const char *text, const char *why)
{
    size_t len = strlen(text);
    bool cut = len > SHOWN;
    return err_set(ei, ERR_INVALID, "expected a duration such as \"1m30s\", found \"%.*s%s\"%s",
                   (int)(cut ? utf8_cut(text, SHOWN) : len), text, cut ? "..." : "", why);
}

static const uint64_t LIMIT = (uint64_t)1 << 63; /* the limit of a negative duration */

/* Appends a digit unless the value would exceed the limit. */
static bool append_digit(uint64_t *value, char digit)
{
    if (*value > LIMIT / 10 || *value * 10 + (uint64_t)(digit - '0') > LIMIT)
        return false;
    *value = *value * 10 + (uint64_t)(digit - '0');
    return true;
}

/* Skips digits; clears *fits if they exceed the limit. */
static size_t read_whole(const char **at, uint64_t *value, bool *fits)
{
    const char *start = *at;
    for (*value = 0; **at >= '0' && **at <= '9'; (*at)++)
        *fits = *fits && append_digit(value, **at);
    return (size_t)(*at - start);
}

/* Digits after the point; those below a nanosecond are dropped, as in Go. */
static size_t read_fraction(const char **at, uint64_t *value, double *scale)
{
    const char *start = *at;
    bool full = false;
    *value = 0;
    *scale = 1;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        full = full || !append_digit(value, **at);
        if (!full)
            *scale *= 10;
    }
    return (size_t)(*at - start);
}

/* Parses one "12.5h". Returns NULL on success, else the error. */
static const char *read_part(const char **at, uint64_t *total)
{
    uint64_t whole, fraction = 0;
    double scale = 1;
    bool fits = true;
    size_t digits = read_whole(at, &whole, &fits);
    if (**at == '.') {
        (*at)++;
        digits += read_fraction(at, &fraction, &scale);
    }
    if (digits == 0)
        return "";
    const struct unit *unit = find_unit(*at);
    if (!unit)
        return **at ? ": the unit is none of ns, us, ms, s, m, h"
                    : ": a unit (ns, us, ms, s, m, h) is missing";
    *at += strlen(unit->name);
    if (!fits || __builtin_mul_overflow(whole, unit->ns, &whole) || whole > LIMIT)
        return ": it is too long";
    whole += (uint64_t)((double)fraction * ((double)unit->ns / scale));
    if (whole > LIMIT || (*total += whole) > LIMIT)
        return ": it is too long";
    return NULL;
}

enum err duration_parse(const char *text, int64_t *ns, struct errinfo *ei)
{
    const char *at = text;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    *ns = 0;
    if (strcmp(at, "0") == 0)
        return ERR_OK;
    uint64_t total = 0;
    do {
        const char *why = read_part(&at, &total);
        if (why)
            return not_a_duration(ei, text, why);
    } while (*at);
    if (negative) {
        *ns = (int64_t)(0 - total);
        return ERR_OK;
    }
    if (total > INT64_MAX)
        return not_a_duration(ei, text, ": it is too long");
    *ns = (int64_t)total;
    return ERR_OK;
}

enum err duration_parse_ms(const char *text, int64_t *ms, struct errinfo *ei)
{
    int64_t ns;
    *ms = 0;
    enum err err = duration_parse(text, &ns, ei);
    if (err != ERR_OK)
        return err;
    if (ns < 0)
        return not_a_duration(ei, text, ": it must not be negative");
    *ms = ns / 1000000;
    return ERR_OK;
}

/* Writes value/scale exactly, with as few decimals as possible. */
static char *put_decimal(char *at, const char *end, uint64_t value, uint64_t scale)
{
    at += snprintf(at, (size_t)(end - at), "%llu", (unsigned long long)(value / scale));
    uint64_t rest = value % scale;
    if (rest == 0)
        return at;
    *at++ = '.';
    while (rest > 0) {
        scale /= 10;
        *at++ = (char)('0' + rest / scale);
        rest %= scale;
    }
    *at = '\0';
    return at;
}

char *duration_format(int64_t ns, char text[DURATION_TEXT])
{
    const char *end = text + DURATION_TEXT;
    char *at = text;
    uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        *at++ = '-';
    if (left < 1000000000) {
        const char *unit = left == 0        ? "s"
                           : left < 1000    ? "ns"
                           : left < 1000000 ? "\xc2\xb5s"
                                            : "ms";
        uint64_t scale = left < 1000 ? 1 : left < 1000000 ? 1000 : 1000000;
        at = put_decimal(at, end, left, scale);
        snprintf(at, (size_t)(end - at), "%s", unit);
        return text;
    }
    uint64_t minutes = left / 60000000000;
    if (minutes >= 60)
        at += snprintf(at, (size_t)(end - at), "%lluh", (unsigned long long)(minutes / 60));
    if (minutes > 0)
        at += snprintf(at, (size_t)(end - at), "%llum", (unsigned long long)(minutes % 60));
    at = put_decimal(at, end, left % 60000000000, 1000000000);
    snprintf(at, (size_t)(end - at), "s");
    return text;
}
