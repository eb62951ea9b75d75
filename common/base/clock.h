/* Time: the two clocks, RFC 3339 text, and durations. Pure functions take the time as an input
 * instead. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#include "base/err.h"

int64_t clock_wall_ms(void);      /* Unix time, milliseconds; may step */
int64_t clock_monotonic_ms(void); /* never steps back; for time-outs */

/*
 * Detects when the wall clock was last set by a minute or more, by comparing it with the monotonic
 * clock: older time stamps may be wrong. A suspend looks the same.
 */
struct clock_steps {
    int64_t wall_ms, monotonic_ms; /* both clocks at the last check; 0 before the first */
    int64_t at_ms;                 /* wall clock; 0 if not set since the first check */
};
void clock_steps_see(struct clock_steps *steps, int64_t wall_ms, int64_t monotonic_ms);

/* Days from 1970-01-01 to a calendar date; month and day count from 1. */
int64_t clock_days(int year, int month, int day);

enum { CLOCK_TEXT = 32 };
/* "2026-11-20T19:15:10Z" (metav1.Time). Returns text. */
char *clock_rfc3339(int64_t wall_ms, char text[CLOCK_TEXT]);
/* "2026-11-20T19:15:10.123000Z" (metav1.MicroTime, log lines). */
char *clock_rfc3339_micro(int64_t wall_ms, char text[CLOCK_TEXT]);
/* Any RFC 3339 time with fraction and offset. */
enum err clock_parse(const char *text, int64_t *wall_ms, struct errinfo *ei) MUST_USE;

/* --- durations in Go's syntax (time.ParseDuration, Duration.String), in nanoseconds */

/* "300ms", "1m30s", "1.5h", "-2s", "0". The whole text must parse; overflow is ERR_INVALID. */
enum err duration_parse(const char *text, int64_t *ns, struct errinfo *ei) MUST_USE;
/* Like duration_parse(), in milliseconds, rounded down; negative is ERR_INVALID. */
enum err duration_parse_ms(const char *text, int64_t *ms, struct errinfo *ei) MUST_USE;

enum { DURATION_TEXT = 32 };
/* Go's text, e.g. "1m30s", "1.2s", "500ms", "0s". Returns text. */
char *duration_format(int64_t ns, char text[DURATION_TEXT]);

#endif
