#include "base/clock.h"
#include "test/unit.h"

#include <string.h>

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

CASE(texts_become_nanoseconds)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+0", 0},
        {"0s", 0},
        {"5s", 5 * SECOND},
        {"+5s", 5 * SECOND},
        {"-5s", -5 * SECOND},
        {"300ms", 300 * MS},
        {"1m30s", 90 * SECOND},
        {"30s1m", 90 * SECOND},
        {"1s1s", 2 * SECOND},
        {"1.5h", 5400 * SECOND},
        {".5s", 500 * MS},
        {"5.s", 5 * SECOND},
        {"10ns", 10},
        {"11us", 11000},
        {"12\xc2\xb5s", 12000},
        {"12\xce\xbcs", 12000},
        {"1h2m3s4ms5us6ns", 3723 * SECOND + 4 * MS + 5006},
        {"0.1ns", 0},
        {"0.100000000000000000000h", 360 * SECOND},
        {"0.9223372036854775807h", 3320413933267},
        {"9223372036854775807ns", INT64_MAX},
        {"9223372036s", 9223372036 * SECOND},
        {"-9223372036854775808ns", INT64_MIN},
        {"0.3333333333333333333h", 20 * 60 * SECOND},
    };
    EACH_ROW (row, cases) {
        int64_t ns = -1;
        assert_int_equal(duration_parse(row->text, &ns, NULL), ERR_OK);
        assert_int_equal(ns, row->ns);
    }
}

CASE(other_texts_are_refused)
{
    static const char *const cases[] = {
        "",
        "3",
        "-",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1d",
        "1 s",
        " 1s",
        "1s ",
        "1h-2s",
        "1e3s",
        "0x5s",
        "1ss",
        "00",
        "1S",
        "1m30",
        "++1s",
        "9223372036854775808ns",
        "9223372036854775.808us",
        "-9223372036854775809ns",
        "2562048h",
        "99999999999999999999s",
        "9223372036854s9223372036854s",
    };
    EACH_ROW (row, cases) {
        int64_t ns;
        struct errinfo ei = {0};
        assert_int_equal(duration_parse(*row, &ns, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, "expected a duration such as \"1m30s\""));
    }
}

CASE(errors_say_what_is_wrong)
{
    int64_t ms;
    struct errinfo ei;
    assert_int_equal(duration_parse_ms("30", &ms, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "expected a duration such as \"1m30s\", found \"30\": a unit (ns, "
                                 "us, ms, s, m, h) is missing");
    assert_int_equal(duration_parse_ms("1d", &ms, &ei), ERR_INVALID);
    assert_string_equal(ei.text, "expected a duration such as \"1m30s\", found \"1d\": the unit is "
                                 "none of ns, us, ms, s, m, h");
    assert_int_equal(duration_parse_ms("-1s", &ms, &ei), ERR_INVALID);
    assert_string_equal(
        ei.text, "expected a duration such as \"1m30s\", found \"-1s\": it must not be negative");
    char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(duration_parse_ms(text, &ms, &ei), ERR_INVALID);
    assert_in_range(strlen(ei.text), 80, 200);
}

CASE(milliseconds_are_rounded_down)
{
    int64_t ms;
    assert_int_equal(duration_parse_ms("1m30s", &ms, NULL), ERR_OK);
    assert_int_equal(ms, 90000);
    assert_int_equal(duration_parse_ms("1999us", &ms, NULL), ERR_OK);
    assert_int_equal(ms, 1);
}

CASE(text_is_gos)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {1100, "1.1\xc2\xb5s"},
        {2200000, "2.2ms"},
        {3300000000, "3.3s"},
        {90 * SECOND, "1m30s"},
        {3600 * SECOND, "1h0m0s"},
        {4 * 60 * SECOND + 5001 * MS, "4m5.001s"},
        {5 * 3600 * SECOND + 6 * 60 * SECOND + 7001 * MS, "5h6m7.001s"},
        {8 * 60 * SECOND + 1, "8m0.000000001s"},
        {-1200 * MS, "-1.2s"},
        {INT64_MAX, "2562047h47m16.854775807s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };
    EACH_ROW (row, cases) {
        char text[DURATION_TEXT];
        int64_t back;
        assert_string_equal(duration_format(row->ns, text), row->text);
        assert_int_equal(duration_parse(text, &back, NULL), ERR_OK);
        assert_int_equal(back, row->ns);
    }
}
