/*
 * Local time by the rules of a time zone, as they are from now on. The rules are compiled in (zones.def): an
 * image has no tz database, and each program of a release knows the same ones. Times are minutes since 1970-01-01.
 */
#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include <stdbool.h>
#include <stdint.h>

/* When clocks change in a year: on this day (0: Sunday) of the week of the month, the last one for 5, so many minutes of
 * local time after midnight, which may be below 0 or above a day. */
struct zone_change {
    int month, week, day, at;
};

struct zone {
    int offset; /* minutes that local time is ahead of UTC */
    int summer; /* the same in summer; `offset` if clocks do not change */
    struct zone_change begins, ends;
};

/* The zone of a name such as Europe/Berlin; false if there is none. */
bool zone_find(const char *name, struct zone *out);
/* Reads a rule as POSIX writes it (TZ, with M3.5.0 for a change): "CET-1CEST,M3.5.0,M10.5.0/3". False if it is none. */
bool zone_parse(const char *rule, struct zone *out);
/* Minutes that local time is ahead of UTC at this time. */
int zone_offset(const struct zone *zone, int64_t utc);
/* The time at which local time is this, the first of two. A time that is left out by a change is as much later. */
int64_t zone_to_utc(const struct zone *zone, int64_t local);

#endif
