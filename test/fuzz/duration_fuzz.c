/* Durations and times: what is read is written in a form that reads as the same. */
#include <assert.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/clock.h"
#include "fuzz.h"

static void check_duration(const char *text)
{
    char back[DURATION_TEXT];
    int64_t ns, again, ms;
    if (duration_parse(text, &ns, NULL) != ERR_OK)
        return;
    enum err err = duration_parse(duration_format(ns, back), &again, NULL);
    assert(err == ERR_OK && again == ns);
    bool fits = duration_parse_ms(text, &ms, NULL) == ERR_OK;
    assert(fits == (ns >= 0) && (!fits || ms == ns / 1000000));
    (void)err;
}

static void check_time(const char *text)
{
    char back[CLOCK_TEXT];
    int64_t ms, again;
    if (clock_parse(text, &ms, NULL) != ERR_OK)
        return;
    enum err err = clock_parse(clock_rfc3339_micro(ms, back), &again, NULL);
    /* An offset may lead out of the years that can be written. */
    assert(err == ERR_OK && (again == ms || ms < -62167219200000 || ms > 253402300799999));
    (void)err;
}

FUZZ_TARGET(arena, data, size)
{
    const char *text = arena_strndup(arena, (const char *)data, size);
    check_duration(text);
    check_time(text);
}
