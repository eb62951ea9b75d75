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
    int64_t local = minute + window->zone.offset + (int64_t)WEEK * DAY; /* not negative */
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
        {.days = 0x41, .from = 1320, .to = 360, .zone = {120, 120, {0}, {0}}},
        {.days = 0x14, .from = 1439, .to = 1, .zone = {-840, -840, {0}, {0}}},
        {.days = 0x20, .from = 0, .to = 1, .zone = {840, 840, {0}, {0}}},
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
    struct canary_pushes pushes = {.per_day = 1, .zone = {120, 120, {0}, {0}}};
    int64_t noon = INT64_C(1795780800000); /* 2026-11-27T12:00:00Z */
    char text[CLOCK_TEXT];

    assert_string_equal(clock_rfc3339(canary_pushes_day_ms(&pushes, noon), text),
                        "2026-11-26T22:00:00Z");
    assert_string_equal(clock_rfc3339(canary_pushes_next_day_ms(&pushes, noon), text),
                        "2026-11-27T22:00:00Z");
}

/* The day on which the clocks change has 23 or 25 hours. */
CASE(test_days_on_which_the_clocks_change)
{
    static const struct {
        const char *at, *begins, *ends;
    } rows[] = {
        {"2026-03-28T12:00:00Z", "2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z"},
        {"2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
        {"2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
    };
    struct canary_pushes pushes = {.per_day = 1};

    assert_true(zone_find("Europe/Berlin", &pushes.zone));
    EACH_ROW (row, rows) {
        int64_t at = 0;
        char text[CLOCK_TEXT];
        assert_int_equal(clock_parse(row->at, &at, NULL), ERR_OK);
        assert_string_equal(clock_rfc3339(canary_pushes_day_ms(&pushes, at), text), row->begins);
        assert_string_equal(clock_rfc3339(canary_pushes_next_day_ms(&pushes, at), text), row->ends);
    }
}

/* Minute by minute, by the clock on the wall. */
CASE(test_a_window_on_days_on_which_the_clocks_change)
{
    struct canary_window window = {.days = 0x7f, .from = 540, .to = 960};
    struct canary_pushes pushes = {.windows = &window, .n_windows = 1};
    int64_t from = 0, to = 0;

    assert_true(zone_find("Europe/Berlin", &window.zone));
    assert_int_equal(clock_parse("2026-03-20T00:00:00Z", &from, NULL), ERR_OK);
    assert_int_equal(clock_parse("2026-11-20T00:00:00Z", &to, NULL), ERR_OK);
    for (int64_t at = from; at < to; at += MINUTE_MS) {
        int64_t minute = at / MINUTE_MS;
        int64_t of_day = (minute + zone_offset(&window.zone, minute)) % DAY;
        bool open = canary_pushes_open_ms(&pushes, at) == at;
        assert_int_equal(open, of_day >= window.from && of_day < window.to);
    }
}
