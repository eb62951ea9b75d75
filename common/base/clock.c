#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/encoding.h"

enum { DAY = 86400, SHOWN = 60 }; /* SHOWN: bytes of a wrong text quoted in an error */
static const int64_t FIRST_SECOND = -62167219200; /* 0000-01-01T00:00:00Z */
static const int64_t LAST_SECOND = 253402300799;  /* 9999-12-31T23:59:59Z */

struct civil {
    int year, month, day, hour, minute, second, micro;
};

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_wall_ms(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_monotonic_ms(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Years are counted from March, so that the leap day comes last. */
int64_t clock_days(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t shifted = (month + 9) % 12;
    int64_t day_of_year = (153 * shifted + 2) / 5 + day - 1;
    int64_t leaps =
        (y >= 0 ? y : y - 3) / 4 - (y >= 0 ? y : y - 99) / 100 + (y >= 0 ? y : y - 399) / 400;
    return y * 365 + leaps + day_of_year - 719468;
}

/* Clamps to the years 0 to 9999, the range of RFC 3339. */
static struct civil to_civil(int64_t wall_ms)
{
    int64_t second = wall_ms / 1000 - (wall_ms % 1000 < 0);
    int milli = (int)(wall_ms % 1000 + (wall_ms % 1000 < 0 ? 1000 : 0));
    if (second < FIRST_SECOND || second > LAST_SECOND) {
        milli = second < FIRST_SECOND ? 0 : 999;
        second = second < FIRST_SECOND ? FIRST_SECOND : LAST_SECOND;
    }
    time_t at = (time_t)second;
    struct tm tm;
    gmtime_r(&at, &tm);
    return (struct civil){.year = tm.tm_year + 1900,
                          .month = tm.tm_mon + 1,
                          .day = tm.tm_mday,
                          .hour = tm.tm_hour,
                          .minute = tm.tm_min,
                          .second = tm.tm_sec,
                          .micro = milli * 1000};
}

char *clock_rfc3339(int64_t wall_ms, char text[CLOCK_TEXT])
{
    struct civil c = to_civil(wall_ms);
    snprintf(text, CLOCK_TEXT, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)c.year % 10000u,
             (unsigned)c.month % 100u, (unsigned)c.day % 100u, (unsigned)c.hour % 100u,
             (unsigned)c.minute % 100u, (unsigned)c.second % 100u);
    return text;
}

char *clock_rfc3339_micro(int64_t wall_ms, char text[CLOCK_TEXT])
{
    struct civil c = to_civil(wall_ms);
    clock_rfc3339(wall_ms, text);
    size_t len = strlen(text) - 1; /* over the Z */
    snprintf(text + len, CLOCK_TEXT - len, ".%06uZ", (unsigned)c.micro % 1000000u);
    return text;
}

static bool digits(const char **at, int count, int *out)
{
    *out = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool literal(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* ".123456": milliseconds, rounded down. */
static bool fraction(const char **at, int *milli)
{
    *milli = 0;
    if (!literal(at, '.'))
        return true;
    int weight = 100, count = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++, count++) {
        *milli += (**at - '0') * weight;
        weight /= 10;
    }
    return count > 0;
}

static bool offset(const char **at, int *minutes)
{
    *minutes = 0;
    if (literal(at, 'Z') || literal(at, 'z'))
        return true;
    int sign = **at == '-' ? -1 : 1, hour, minute;
    if (!literal(at, '+') && !literal(at, '-'))
        return false;
    if (!digits(at, 2, &hour) || !literal(at, ':') || !digits(at, 2, &minute) || hour > 23 ||
        minute > 59)
        return false;
    *minutes = sign * (hour * 60 + minute);
    return true;
}

static bool read_time(const char *at, int64_t *wall_ms)
{
    struct civil c;
    int milli, minutes;
    bool shaped = digits(&at, 4, &c.year) && literal(&at, '-') && digits(&at, 2, &c.month) &&
                  literal(&at, '-') && digits(&at, 2, &c.day) &&
                  (literal(&at, 'T') || literal(&at, 't')) && digits(&at, 2, &c.hour) &&
                  literal(&at, ':') && digits(&at, 2, &c.minute) && literal(&at, ':') &&
                  digits(&at, 2, &c.second) && fraction(&at, &milli) && offset(&at, &minutes) &&
                  *at == '\0';
    if (!shaped || c.month < 1 || c.month > 12 || c.day < 1 ||
        c.day > days_in_month(c.year, c.month))
        return false;
    /* 60 is a leap second, which Unix time does not have: it counts as the next second. */
    if (c.hour > 23 || c.minute > 59 || c.second > 60)
        return false;
    int64_t second =
        clock_days(c.year, c.month, c.day) * DAY + c.hour * 3600 + c.minute * 60 + c.second;
    *wall_ms = (second - minutes * 60) * 1000 + milli;
    return true;
}

enum err clock_parse(const char *text, int64_t *wall_ms, struct errinfo *ei)
{
    *wall_ms = 0;
    if (read_time(text, wall_ms))
        return ERR_OK;
    size_t len = strlen(text);
    return err_set(
        ei, ERR_INVALID, "expected a time such as \"2026-11-20T19:15:10Z\", found \"%.*s%s\"",
        (int)(len > SHOWN ? utf8_cut(text, SHOWN) : len), text, len > SHOWN ? "..." : "");
}

enum { LEAST_STEP_MS = 60 * 1000 };

void clock_steps_see(struct clock_steps *steps, int64_t wall_ms, int64_t monotonic_ms)
{
    bool looked = steps->wall_ms != 0 || steps->monotonic_ms != 0;
    int64_t jump = wall_ms - steps->wall_ms - (monotonic_ms - steps->monotonic_ms);

    steps->wall_ms = wall_ms;
    steps->monotonic_ms = monotonic_ms;
    if (looked && (jump >= LEAST_STEP_MS || jump <= -LEAST_STEP_MS))
        steps->at_ms = wall_ms;
}

/* --- durations */

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {
    /* A name that is a prefix of another name comes after it. */
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
