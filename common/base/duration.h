/* Durations as Go writes them (time.ParseDuration, Duration.String), in nanoseconds. */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdint.h>

#include "base/err.h"

/* "300ms", "1m30s", "1.5h", "-2s", "0". The whole text must parse; overflow is ERR_INVALID. */
enum err duration_parse(const char *text, int64_t *ns, struct errinfo *ei) MUST_USE;
/* Like duration_parse(), in milliseconds, rounded down; negative is ERR_INVALID. */
enum err duration_parse_ms(const char *text, int64_t *ms, struct errinfo *ei) MUST_USE;

enum { DURATION_TEXT = 32 };
/* Go's text, e.g. "1m30s", "1.2s", "500ms", "0s". Returns text. */
char *duration_format(int64_t ns, char text[DURATION_TEXT]);

#endif
