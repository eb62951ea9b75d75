#include "proto/canary.h"

#include <stdio.h>

#include "base/clock.h"
#include "proto/canary_testing.h"
#include "test/rows.h"
#include "test/unit.h"

enum { MINUTE_MS = 60000, DAY = 24 * 60, WEEK = 7 };

static int64_t time_at(struct json_object *row, const char *key)
{
    int64_t ms = -1;

    assert_int_equal(clock_parse(json_str_at(row, key, NULL), &ms, NULL), ERR_OK);
    return ms;
}

static struct canary_pushes pushes_of(struct arena *arena, struct json_object *pushes)
{
    const char *text = json_text(arena, pushes);

    return canary_testing_view(arena, arena_printf(arena, "{\"spec\":{\"pushes\":%s}}", text))
        .pushes;
}

CASE(test_when_the_next_window_opens)
{
    struct json_object *rows = json_elem(rows_read(arena, "proto/canary_pushes.yaml"), 0);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_elem(rows, i);
        struct canary_pushes pushes = pushes_of(arena, json_at(row, "pushes", NULL));
        char text[CLOCK_TEXT];
        clock_rfc3339(canary_pushes_open_ms(&pushes, time_at(row, "at")), text);
        if (time_at(row, "begins") != canary_pushes_open_ms(&pushes, time_at(row, "at")))
            fail_msg("%s: it is %s", json_text(arena, row), text);
    }
}

/* Minute by minute, without a calendar: the windows of a day, and those of the day before. */
static bool is_open(const struct canary_window *window, int64_t minute)
{
    int64_t local = minute + window->offset + (int64_t)WEEK * DAY; /* not negative */
    int64_t day = local / DAY + 3, of_day = local % DAY;
    bool today = (window->days >> day % WEEK & 1) != 0;
    bool yesterday = (window->days >> (day + WEEK - 1) % WEEK & 1) != 0;

    if (window->to > window->from)
        return today && of_day >= window->from && of_day < window->to;
    return (today && of_day >= window->from) || (yesterday && of_day < window->to);
}

CASE(test_each_minute_of_two_weeks)
{
    static const struct canary_window windows[] = {
        {.days = 1, .from = 540, .to = 960},
        {.days = 0x7f, .from = 0, .to = DAY},
        {.days = 0x41, .from = 1320, .to = 360, .offset = 120},
        {.days = 0x14, .from = 1439, .to = 1, .offset = -840},
        {.days = 0x20, .from = 0, .to = 1, .offset = 840},
    };

    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        struct canary_window window = windows[i];
        struct canary_pushes pushes = {.windows = &window, .n_windows = 1};
        int64_t next = -1;
        for (int64_t minute = 2 * WEEK * DAY; minute >= 0; minute--) {
            if (is_open(&window, minute))
                next = minute;
            if (next >= 0)
                assert_int_equal(canary_pushes_open_ms(&pushes, minute * MINUTE_MS),
                                 next * MINUTE_MS);
        }
        assert_true(next >= 0);
    }
}

CASE(test_a_day_is_one_of_local_time)
{
    struct canary_pushes pushes = {.per_day = 1, .offset = 120};
    int64_t noon = INT64_C(1795780800000); /* 2026-11-27T12:00:00Z */
    char text[CLOCK_TEXT];

    assert_string_equal(clock_rfc3339(canary_pushes_day_ms(&pushes, noon), text),
                        "2026-11-26T22:00:00Z");
    assert_string_equal(clock_rfc3339(canary_pushes_next_day_ms(&pushes, noon), text),
                        "2026-11-27T22:00:00Z");
}
