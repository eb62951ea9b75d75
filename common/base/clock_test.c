#include "base/clock.h"
#include "test/unit.h"

#include <string.h>

CASE(times_are_read)
{
    static const struct {
        const char *text;
        int64_t ms;
        const char *back;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000000Z"},
        {"2026-11-20T19:15:10Z", 1795202110000, "2026-11-20T19:15:10.000000Z"},
        {"2026-11-20T19:15:10.5Z", 1795202110500, "2026-11-20T19:15:10.500000Z"},
        {"2026-11-20T19:15:10.123999999Z", 1795202110123, "2026-11-20T19:15:10.123000Z"},
        {"2026-11-20T20:15:10+01:00", 1795202110000, "2026-11-20T19:15:10.000000Z"},
        {"2026-11-20T13:45:10-05:30", 1795202110000, "2026-11-20T19:15:10.000000Z"},
        {"2024-02-29t23:59:60z", 1709251200000, "2024-03-01T00:00:00.000000Z"},
        {"2000-02-29T12:00:00Z", 951825600000, "2000-02-29T12:00:00.000000Z"},
        {"1969-12-31T23:59:59.999Z", -1, "1969-12-31T23:59:59.999000Z"},
        {"0000-01-01T00:00:00Z", -62167219200000, "0000-01-01T00:00:00.000000Z"},
        {"9999-12-31T23:59:59Z", 253402300799000, "9999-12-31T23:59:59.000000Z"},
    };
    EACH_ROW (row, cases) {
        int64_t ms = 0;
        char text[CLOCK_TEXT];
        assert_int_equal(clock_parse(row->text, &ms, NULL), ERR_OK);
        assert_int_equal(ms, row->ms);
        assert_string_equal(clock_rfc3339_micro(ms, text), row->back);
    }
}

CASE(every_day_counts)
{
    char text[CLOCK_TEXT];
    for (int64_t day = -719528; day < 2932896; day += 13) {
        int64_t back;
        assert_int_equal(clock_parse(clock_rfc3339(day * 86400000, text), &back, NULL), ERR_OK);
        assert_int_equal(back, day * 86400000);
    }
}

CASE(other_texts_are_refused)
{
    static const char *const cases[] = {
        "",
        "now",
        "2026-11-20",
        "2026-11-20T19:15:10",
        "2026-11-20 19:15:10Z",
        "2026-13-20T19:15:10Z",
        "2026-00-20T19:15:10Z",
        "2026-02-29T19:15:10Z",
        "1900-02-29T00:00:00Z",
        "2026-11-31T19:15:10Z",
        "2026-11-00T19:15:10Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T19:60:10Z",
        "2026-11-20T19:15:61Z",
        "2026-11-20T19:15:10.Z",
        "2026-11-20T19:15:10+0100",
        "2026-11-20T19:15:10+24:00",
        "2026-11-20T19:15:10+01:60",
        "2026-11-20T19:15:10Zx",
        "26-11-20T19:15:10Z",
        "2026-11-20T19:15Z",
        "-2026-11-20T19:15:10Z",
        "2026-1-20T19:15:10Z",
    };
    EACH_ROW (row, cases) {
        int64_t ms;
        struct errinfo ei;
        assert_int_equal(clock_parse(*row, &ms, &ei), ERR_INVALID);
        assert_non_null(
            strstr(ei.text, "expected a time such as \"2026-11-20T19:15:10Z\", found \""));
    }
}

CASE(text_stays_within_four_digit_years)
{
    char text[CLOCK_TEXT];
    assert_string_equal(clock_rfc3339(INT64_MIN, text), "0000-01-01T00:00:00Z");
    assert_string_equal(clock_rfc3339(INT64_MAX, text), "9999-12-31T23:59:59Z");
    assert_string_equal(clock_rfc3339_micro(INT64_MAX, text), "9999-12-31T23:59:59.999000Z");
}

CASE(clocks_run)
{
    assert_true(clock_wall_ms() > INT64_C(1700000000000));
    int64_t before = clock_monotonic_ms();
    assert_true(clock_monotonic_ms() >= before);
}

CASE(test_steps)
{
    static const struct {
        int64_t wall, monotonic; /* the clocks at each check */
        int64_t at;              /* the expected result */
    } cases[] = {
        {1000000, 500, 0},
        {1060000, 60500, 0},
        {1179999, 120500, 0}, /* less than a minute */
        {4779999, 180500, 4779999},
        {4839999, 240500, 4779999},
        {1239999, 300500, 1239999}, /* back again */
        {1359999, 360500, 1359999}, /* exactly a minute */
        {91359999, 90360500, 1359999},
    };
    struct clock_steps steps = {0};

    EACH_ROW (row, cases) {
        clock_steps_see(&steps, row->wall, row->monotonic);
        assert_int_equal(steps.at_ms, row->at);
    }
}
