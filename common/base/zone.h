/*
 * Local time by the present rules of a time zone, without its history. The rules are compiled in
 * (zones.def): an image has no tz database, and each program of a release knows the same ones.
 * Times are minutes since 1970-01-01.
 */
#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include <stdbool.h>
#include <stdint.h>

/* A yearly change of clocks: on `day` (0: Sunday) of `week` (5: the last) of the month, `at`
 * minutes of local time after midnight; `at` may be negative, or beyond the end of the day. */
struct zone_change {
    int month, week, day, at;
};

struct zone {
    int offset; /* minutes by which local time is ahead of UTC */
    int summer; /* the same in summer; equal to `offset` if clocks do not change */
    struct zone_change begins, ends;
};

/* Finds the zone with a name such as Europe/Berlin; false if there is none. */
bool zone_find(const char *name, struct zone *out);
/* Reads a rule in POSIX syntax (TZ, with M3.5.0 for a change): "CET-1CEST,M3.5.0,M10.5.0/3".
 * False if it is invalid. */
bool zone_parse(const char *rule, struct zone *out);
/* Minutes by which local time is ahead of UTC at this time. */
int zone_offset(const struct zone *zone, int64_t utc);
/* The UTC time of a local time: the earlier one if a change repeats it. A local time that a
 * change skips is taken as later by the length of the gap. */
int64_t zone_to_utc(const struct zone *zone, int64_t local);

#endif
