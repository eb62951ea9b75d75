#include "base/zone.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "test/unit.h"

enum { MINUTE_MS = 60000 };

static struct zone zone_of(const char *name)
{
    struct zone zone;

    if (!zone_find(name, &zone))
        fail_msg("%s is not found", name);
    return zone;
}

static int64_t minute_of(const char *text)
{
    int64_t ms;

    assert_int_equal(clock_parse(text, &ms, NULL), ERR_OK);
    return ms / MINUTE_MS;
}

CASE(the_clocks_change)
{
    static const struct {
        const char *zone, *utc;
        int offset;
    } rows[] = {
        {"Europe/Berlin", "2026-03-29T00:59:00Z", 60},
        {"Europe/Berlin", "2026-03-29T01:00:00Z", 120},
        {"Europe/Berlin", "2026-10-25T00:59:00Z", 120},
        {"Europe/Berlin", "2026-10-25T01:00:00Z", 60},
        {"America/New_York", "2026-11-27T12:00:00Z", -300},
        {"America/New_York", "2026-07-04T12:00:00Z", -240},
        {"Australia/Sydney", "2026-12-31T23:59:00Z", 660},
        {"Australia/Sydney", "2026-07-01T00:00:00Z", 600},
        {"Europe/Dublin", "2026-12-01T00:00:00Z", 0},
        {"Europe/Dublin", "2026-07-01T00:00:00Z", 60},
        {"Asia/Kathmandu", "2026-07-01T00:00:00Z", 345},
        {"Asia/Calcutta", "2026-07-01T00:00:00Z", 330},
    };

    EACH_ROW (row, rows) {
        struct zone zone = zone_of(row->zone);
        if (zone_offset(&zone, minute_of(row->utc)) != row->offset)
            fail_msg("%s at %s: %d", row->zone, row->utc, zone_offset(&zone, minute_of(row->utc)));
    }
}

CASE(what_local_time_is_in_utc)
{
    static const struct {
        const char *zone, *local, *utc;
    } rows[] = {
        {"Europe/Berlin", "2026-01-15T09:00:00Z", "2026-01-15T08:00:00Z"},
        {"Europe/Berlin", "2026-07-15T09:00:00Z", "2026-07-15T07:00:00Z"},
        /* skipped by the change: 02:30 is read as 03:30 */
        {"Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:30:00Z"},
        {"Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z"},
        /* occurs twice: the first counts */
        {"Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z"},
        {"Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"},
        {"America/New_York", "2026-03-08T02:30:00Z", "2026-03-08T07:30:00Z"},
        {"America/New_York", "2026-11-01T01:30:00Z", "2026-11-01T05:30:00Z"},
        {"Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:45:00Z"},
    };

    EACH_ROW (row, rows) {
        struct zone zone = zone_of(row->zone);
        char text[CLOCK_TEXT];
        clock_rfc3339(zone_to_utc(&zone, minute_of(row->local)) * MINUTE_MS, text);
        if (zone_to_utc(&zone, minute_of(row->local)) != minute_of(row->utc))
            fail_msg("%s: %s is %s", row->zone, row->local, text);
    }
}

CASE(a_name_without_rules_is_not_found)
{
    static const char *const names[] = {"",
                                        "UTC+1",
                                        "Europe/Bielefeld",
                                        "europe/berlin",
                                        "Europe",
                                        "Africa/Casablanca",
                                        "../etc/passwd",
                                        "Europe/Berlin "};
    struct zone zone;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_false(zone_find(names[i], &zone));
}

CASE(what_is_no_rule)
{
    static const char *const rules[] = {"",
                                        "CET",
                                        "CET-",
                                        "-1",
                                        "<+01-1",
                                        "CET-1CEST",
                                        "CET-1CEST,M3.5.0",
                                        "CET-1CEST,M3.5.0,M10.5.0/",
                                        "CET-1CEST,M13.5.0,M10.5.0",
                                        "CET-1CEST,M0.5.0,M10.5.0",
                                        "CET-1CEST,M3.6.0,M10.5.0",
                                        "CET-1CEST,M3.0.0,M10.5.0",
                                        "CET-1CEST,M3.5.7,M10.5.0",
                                        "CET-1CEST,J60,J300",
                                        "CET-1 ",
                                        "CET-168",
                                        "CET-1:60",
                                        "CET-1CEST,M3.5.0,M10.5.0/3x",
                                        "CET-99999999999999999999"};
    struct zone zone;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (zone_parse(rules[i], &zone))
            fail_msg("\"%s\" is taken", rules[i]);
}

struct named_rule {
    const char *name, *rule;
};

static bool has_earlier(const struct named_rule *rows, const struct named_rule *row)
{
    for (const struct named_rule *earlier = rows; earlier < row; earlier++)
        if (strcmp(earlier->rule, row->rule) == 0)
            return true;
    return false;
}

CASE(the_c_library_agrees)
{
    static const struct named_rule rows[] = {
#define ZONE(name, rule) {name, rule},
#include "base/zones.def"
#undef ZONE
    };

    EACH_ROW (row, rows) {
        struct zone zone = zone_of(row->name);
        if (has_earlier(rows, row))
            continue;
        assert_int_equal(setenv("TZ", row->rule, 1), 0);
        tzset();
        for (int64_t minute = minute_of("2026-01-01T00:00:00Z");
             minute < minute_of("2029-01-01T00:00:00Z"); minute += 30) {
            time_t second = minute * 60;
            struct tm tm;
            assert_non_null(localtime_r(&second, &tm));
            if (tm.tm_gmtoff != zone_offset(&zone, minute) * 60)
                fail_msg("%s at minute %lld: %d, the C library says %ld", row->name,
                         (long long)minute, zone_offset(&zone, minute), tm.tm_gmtoff / 60);
            int64_t back = zone_to_utc(&zone, minute + zone_offset(&zone, minute));
            assert_true(back == minute || back == minute - 60 || back == minute - 30 ||
                        back == minute - 120);
        }
    }
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}
