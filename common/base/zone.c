/* Rules of POSIX TZ (IEEE 1003.1, Environment Variables), and an extension of the tz database:
 * hours from -167 to 167. */
#include "base/zone.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"

enum { HOUR = 60, DAY = 24 * HOUR, WEEK = 7, MOST_HOURS = 167, THURSDAY = 4, LAST_WEEK = 5 };

static const struct {
    const char *name, *rule;
} zones[] = {
#define ZONE(name, rule) {name, rule},
#include "base/zones.def"
#undef ZONE
};

bool zone_find(const char *name, struct zone *out)
{
    for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++)
        if (strcmp(zones[i].name, name) == 0)
            return zone_parse(zones[i].rule, out);
    return false;
}

/* --- reading a rule: each function moves *at past what it has read */

static bool read_char(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* Reads a whole number up to `most`. */
static bool read_number(const char **at, int most, int *out)
{
    int value = 0;

    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at) && value <= most; (*at)++)
        value = value * 10 + **at - '0';
    *out = value;
    return value <= most;
}

/* "CET" or "<+01>" */
static bool read_name(const char **at)
{
    const char *begins = *at;
    bool quoted = read_char(at, '<');

    while (isalpha((unsigned char)**at) ||
           (quoted && (isdigit((unsigned char)**at) || **at == '+' || **at == '-')))
        (*at)++;
    return *at > begins && (!quoted || read_char(at, '>'));
}

/* "-5:45", in minutes */
static bool read_time(const char **at, int *out)
{
    bool negative = read_char(at, '-');
    int hours, minutes = 0;

    if (!negative)
        (void)read_char(at, '+');
    if (!read_number(at, MOST_HOURS, &hours) ||
        (read_char(at, ':') && !read_number(at, HOUR - 1, &minutes)))
        return false;
    *out = (hours * HOUR + minutes) * (negative ? -1 : 1);
    return true;
}

/* ",M3.5.0/3" */
static bool read_change(const char **at, struct zone_change *out)
{
    out->at = 2 * HOUR;
    return read_char(at, ',') && read_char(at, 'M') && read_number(at, 12, &out->month) &&
           out->month > 0 && read_char(at, '.') && read_number(at, LAST_WEEK, &out->week) &&
           out->week > 0 && read_char(at, '.') && read_number(at, WEEK - 1, &out->day) &&
           (!read_char(at, '/') || read_time(at, &out->at));
}

bool zone_parse(const char *rule, struct zone *out)
{
    const char *at = rule;
    int behind;

    *out = (struct zone){.offset = 0};
    if (!read_name(&at) || !read_time(&at, &behind))
        return false;
    out->offset = out->summer = -behind;
    if (*at == '\0')
        return true;
    if (!read_name(&at))
        return false;
    out->summer = out->offset + HOUR;
    if (*at != ',') {
        if (!read_time(&at, &behind))
            return false;
        out->summer = -behind;
    }
    return read_change(&at, &out->begins) && read_change(&at, &out->ends) && *at == '\0';
}

/* --- conversion */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int year_of(int64_t minutes)
{
    int64_t days = floor_div(minutes, DAY);
    int year = 1970 + (int)floor_div(days, 365);

    while (clock_days(year, 1, 1) > days)
        year--;
    return year;
}

/* The time of the change in this year, in local time. */
static int64_t change_in(const struct zone_change *change, int year)
{
    int64_t first = clock_days(year, change->month, 1);
    int64_t next =
        change->month == 12 ? clock_days(year + 1, 1, 1) : clock_days(year, change->month + 1, 1);
    int of_week = (int)((first % WEEK + THURSDAY + WEEK) % WEEK);
    int64_t day = first + (change->day - of_week + WEEK) % WEEK + (change->week - 1) * WEEK;

    while (day >= next)
        day -= WEEK;
    return day * DAY + change->at;
}

int zone_offset(const struct zone *zone, int64_t utc)
{
    if (zone->summer == zone->offset)
        return zone->offset;
    int year = year_of(utc + zone->offset);
    int64_t begins = change_in(&zone->begins, year) - zone->offset;
    int64_t ends = change_in(&zone->ends, year) - zone->summer;
    bool is_summer = begins < ends ? utc >= begins && utc < ends : utc >= begins || utc < ends;
    return is_summer ? zone->summer : zone->offset;
}

int64_t zone_to_utc(const struct zone *zone, int64_t local)
{
    int most = zone->summer > zone->offset ? zone->summer : zone->offset;
    int least = zone->summer < zone->offset ? zone->summer : zone->offset;

    return zone_offset(zone, local - most) == most ? local - most : local - least;
}
