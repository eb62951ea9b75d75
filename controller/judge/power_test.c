/* The promises of a policy, compared with releases simulated with other random numbers. */
#include "judge/power.h"

#include <math.h>

#include "judge/dice.h"
#include "test/unit.h"

static const struct judge_policy strict = {.false_alarm_rate = 0.01, .share = 1};
static const struct power_stretch minutes[] = {
    {60, 0.1, 0.9}, {60, 0.2, 0.8}, {60, 0.3, 0.7}, {60, 0.4, 0.6}, {60, 0.5, 0.5}};

static struct power_course course_of(double per_second, double primary)
{
    return (struct power_course){.stretches = minutes,
                                 .n = 5,
                                 .per_second = per_second,
                                 .primary = primary,
                                 .every_s = 10,
                                 .before = 60,
                                 .min_requests = 100,
                                 .max_wait_s = 600};
}

/* More traffic finds smaller regressions; a tolerated one is not called worse. */
CASE(test_more_traffic_finds_less)
{
    double before = 1;

    for (double per_second = 1; per_second < 2000; per_second *= 5) {
        struct power_course course = course_of(per_second, 0.005);
        double least = power_least(&strict, &course, 0.9);
        assert_true(least > 0.005 && least <= before);
        before = least;
        struct power_found found = power_of(&strict, &course, least, 500);
        assert_true(found.share > 0.85 && found.share < 0.97);
        assert_true(found.half_seconds <= found.most_seconds);
        assert_true(found.half_requests <= found.most_requests);
        assert_true(power_of(&strict, &course, 0.005, 500).share <= 0.025);
    }
    assert_true(before < 0.01);
}

/* A canary that always fails is found at once, if it has requests at all. */
CASE(test_without_traffic_there_is_no_promise)
{
    struct power_course course = course_of(0.001, 0.005);

    course.max_wait_s = 0;
    assert_true(isnan(power_least(&strict, &course, 0.9)));
    course = course_of(0, 0.005);
    assert_true(isnan(power_least(&strict, &course, 0.9)));
    course = course_of(100, 0.005);
    struct power_found found = power_of(&strict, &course, 1, POWER_MOST);
    assert_true(found.share == 1);
    assert_true(found.most_seconds == 10);
    course.n = 0;
    assert_true(isnan(power_least(&strict, &course, 0.9)));
}

/* A tolerated canary is never called worse, and clumps make a regression harder to find. */
CASE(test_tolerance_and_clumps)
{
    const struct judge_policy lenient = {
        .false_alarm_rate = 0.01, .share = 1, .tolerate = {.points = 0.02}};
    struct power_course course = course_of(100, 0.005);
    double single = power_least(&strict, &course, 0.9);

    assert_true(power_least(&lenient, &course, 0.9) > 0.025);
    course.clump = 10;
    assert_true(power_least(&strict, &course, 0.9) > single);
}

/* A week is sampled less often, and the answer comes soon. */
CASE(test_a_long_course)
{
    const struct power_stretch week[] = {{7 * 86400.0, 0.01, 0.99}};
    struct power_course course = course_of(10, 0.01);

    course.stretches = week;
    course.n = 1;
    double least = power_least(&strict, &course, 0.9);
    assert_true(least > 0.01 && least < 0.02);
}

/* In pieces of any size the answer is the same, and no piece is larger than what was asked for. */
CASE(test_in_pieces)
{
    struct power_course course = course_of(20, 0.005);
    double least = power_least(&strict, &course, 0.9);
    struct power_found found = power_of(&strict, &course, least, 500);

    for (int looks = 1; looks < 100000; looks = looks * 37 + 1) {
        struct power_search *search = power_search_new(&strict, &course, 0.9, 500);
        int turns = 1;
        while (!power_search_continue(search, looks))
            turns++;
        assert_true(power_search_least(search) == least);
        struct power_found same = power_search_found(search);
        assert_memory_equal(&same, &found, sizeof(found));
        assert_true(power_search_continue(search, 1));
        assert_true(turns > 20000 / looks);
        power_search_free(search);
    }
    power_search_free(NULL);
}

CASE(test_pieces_without_a_promise)
{
    struct power_course course = course_of(0, 0.005);
    struct power_search *search = power_search_new(&strict, &course, 0.9, 10);

    while (!power_search_continue(search, 100))
        ;
    assert_true(isnan(power_search_least(search)) && power_search_found(search).share == 0);
    power_search_free(search);
}
