/* The evidence of the past: Student's table, odd values, JSON and sentences. Its error rate is
 * tested in test/statistics. */
#include "judge/past.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "test/rows.h"
#include "test/unit.h"

static const struct judge_policy tenth = {
    .false_alarm_rate = 0.01, .tolerate = {.ratio = 0.1}, .share = 1};

/* Days of 100 + i * step, and today. */
static struct judge_past_look look_of(double today, double step)
{
    struct judge_past_look look = {.today = today};

    for (int i = 0; i < PAST_DAYS; i++)
        look.days[i] = 100 + i * step;
    return look;
}

static void add(struct judge_past *past, int looks, struct judge_past_look look)
{
    for (int i = 0; i < looks; i++)
        assert_true(judge_past_add(past, &tenth, 1, &look));
}

static struct judge_past after(int looks, double today, double step)
{
    struct judge_past past;

    judge_past_begin(&past, false);
    add(&past, looks, look_of(today, step));
    return past;
}

/* --- Student's distribution */

/* Values of tables of Student's distribution. */
CASE(the_chances_are_those_of_the_tables)
{
    static const struct {
        double t, chance;
        int degrees;
    } rows[] = {
        {6.3138, 0.05, 1}, {9.9248, 0.005, 2}, {4.5407, 0.01, 3},     {3.7469, 0.01, 4},
        {3.3649, 0.01, 5}, {3.7074, 0.005, 6}, {5.2076, 0.001, 6},    {4.7853, 0.001, 7},
        {0, 0.5, 5},       {-3.3649, 0.99, 5}, {1.2816, 0.1, 100000},
    };

    EACH_ROW (row, rows) {
        double chance = judge_student_above(row->t, row->degrees);
        if (fabs(chance / row->chance - 1) > 1e-3)
            fail_msg("t %g of %d: %g, not %g", row->t, row->degrees, chance, row->chance);
    }
}

/* --- verdicts */

CASE(what_no_day_has_is_worse)
{
    struct judge_past past = after(PAST_FIRST - 1, 200, 1);

    assert_int_equal(judge_past_verdict(&past, &tenth), JUDGE_UNDECIDED);
    add(&past, 1, look_of(200, 1));
    assert_int_equal(judge_past_verdict(&past, &tenth), JUDGE_WORSE);
    assert_true(judge_past_beyond(&past, &tenth));
}

CASE(what_days_have_by_themselves_is_not_worse)
{
    static const struct {
        double today, step;
        bool lower;
    } rows[] = {{150, 20, false}, {112, 1, false}, {20, 1, false}, {100, 0, false}, {200, 1, true}};

    EACH_ROW (row, rows) {
        struct judge_past past;
        judge_past_begin(&past, row->lower);
        add(&past, 2000, look_of(row->today, row->step));
        assert_int_equal(judge_past_verdict(&past, &tenth), JUDGE_UNDECIDED);
        assert_true(past.comparisons == 7);
    }
}

CASE(lower_may_be_worse)
{
    struct judge_past past;

    judge_past_begin(&past, true);
    add(&past, PAST_FIRST, look_of(50, 1));
    assert_int_equal(judge_past_verdict(&past, &tenth), JUDGE_WORSE);
}

/* A day that was high before the release as well is no fault of the release. */
CASE(the_hour_before_explains_a_day)
{
    for (int known = 0; known <= 1; known++) {
        struct judge_past past;
        struct judge_past_look before = look_of(known ? 150 : 125, 10);
        judge_past_begin(&past, false);
        for (int i = 0; i < PAST_BEFORE; i++)
            judge_past_before(&past, &before);
        add(&past, PAST_FIRST, look_of(155, 10));
        assert_int_equal(judge_past_verdict(&past, &tenth), known ? JUDGE_UNDECIDED : JUDGE_WORSE);
    }
}

CASE(what_becomes_worse_late_is_found)
{
    struct judge_past past = after(100, 100, 1);

    add(&past, 412, look_of(160, 1));
    assert_int_equal(judge_past_verdict(&past, &tenth), JUDGE_WORSE);
}

CASE(what_shrinks_is_not_worse_yet)
{
    struct judge_past past;

    judge_past_begin(&past, false);
    for (int i = 0; i < PAST_FIRST; i++)
        add(&past, 1, look_of(100 + 100 * exp(-i / 16.0), 1));
    assert_true(judge_past_beyond(&past, &tenth));
    assert_int_equal(judge_past_verdict(&past, &tenth), JUDGE_UNDECIDED);
    assert_non_null(strstr(judge_past_sentence(arena, &past, &tenth),
                           "; but the difference shrinks, as after a start"));
}

/* Days with fewer than half of the looks do not count, and four are too few. */
CASE(missing_days_give_no_verdict)
{
    for (int missing = 2; missing <= 3; missing++) {
        struct judge_past past;
        judge_past_begin(&past, false);
        for (int i = 0; i < PAST_FIRST; i++) {
            struct judge_past_look look = look_of(300, 1);
            for (int day = 0; day < missing; day++)
                look.days[day] = i % 3 == 0 ? look.days[day] : NAN;
            assert_true(judge_past_add(&past, &tenth, 1, &look));
        }
        assert_int_equal(judge_past_days(&past), PAST_DAYS - missing);
        assert_int_equal(judge_past_verdict(&past, &tenth),
                         missing == 2 ? JUDGE_WORSE : JUDGE_UNDECIDED);
    }
}

/* One value of a window of many looks is one value. */
CASE(looks_of_one_window_are_one)
{
    for (int overlap = 1; overlap <= 6; overlap += 5) {
        struct judge_past past;
        judge_past_begin(&past, false);
        for (int i = 0; i < PAST_FIRST; i++) {
            struct judge_past_look look = {.today = i % 6 == 1 ? 0 : 2};
            for (int day = 0; day < PAST_DAYS; day++)
                look.days[day] = (i + day) % 6 == 0 ? 0.3 : 0;
            assert_true(judge_past_add(&past, &tenth, overlap, &look));
        }
        assert_int_equal(judge_past_verdict(&past, &tenth),
                         overlap == 1 ? JUDGE_WORSE : JUDGE_UNDECIDED);
    }
}

CASE(a_rate_that_cannot_be_shows_nothing)
{
    static const double rates[] = {0, -1, 1, NAN, INFINITY};
    struct judge_past past = after(PAST_FIRST, 1e6, 1);

    EACH_ROW (rate, rates) {
        struct judge_policy policy = {.false_alarm_rate = *rate, .share = 1};
        assert_int_equal(judge_past_verdict(&past, &policy), JUDGE_UNDECIDED);
        assert_non_null(judge_past_sentence(arena, &past, &policy));
    }
}

/* --- odd values */

CASE(what_is_no_number_is_no_look)
{
    static const struct {
        double today;
    } rows[] = {{NAN}, {INFINITY}, {-INFINITY}};
    struct judge_past past = after(20, 100, 1), before = past;

    EACH_ROW (row, rows) {
        struct judge_past_look look = look_of(row->today, 1);
        assert_false(judge_past_add(&past, &tenth, 1, &look));
        assert_memory_equal(&past, &before, sizeof(past));
    }
}

CASE(every_look_leaves_finite_numbers)
{
    static const double values[] = {0, 1, -1, 1e-300, 1e300, -1e300, 0.3, 1e15, NAN};
    enum { N = sizeof(values) / sizeof(values[0]) };

    for (int i = 0; i < N * N * 2; i++) {
        struct judge_past past, back;
        judge_past_begin(&past, i >= N * N);
        for (int j = 0; j < 300; j++) {
            struct judge_past_look look = {.today = values[(i / N + j / 40) % N]};
            for (int day = 0; day < PAST_DAYS; day++)
                look.days[day] = values[(i + day / 3 + j / 30) % N];
            if (j < 8)
                judge_past_before(&past, &look);
            (void)judge_past_add(&past, &tenth, 1, &look);
        }
        assert_true(isfinite(judge_past_log_worse(&past)));
        assert_non_null(judge_past_sentence(arena, &past, &tenth));
        assert_true(judge_past_read(judge_past_write(arena, &past), &back));
    }
}

/* --- JSON */

CASE(the_past_survives_json)
{
    struct judge_past past, back;

    judge_past_begin(&past, true);
    for (int i = 0; i < 100; i++) {
        struct json_object *json = judge_past_write(arena, &past);
        const char *text = json_text(arena, json);
        struct judge_past_look look = look_of(100.25 + i % 7, 1.1 + i % 3);
        assert_true(judge_past_read(json, &back));
        assert_string_equal(json_text(arena, judge_past_write(arena, &back)), text);
        assert_true(back.lower && back.comparisons == past.comparisons);
        assert_true(strlen(text) < 1024);
        if (i < 3)
            judge_past_before(&past, &look);
        add(&past, 1, look);
    }
}

CASE(what_cannot_be_the_past_is_refused)
{
    static const char *const patches[] = {
        "{'today': null}",
        "{'today': [-1, 1, 1, 0, 0]}",
        "{'today': [20.5, 1, 1, 0, 0]}",
        "{'today': [20, 1, 1, 0]}",
        "{'today': [20, 1, -1, 0, 0]}",
        "{'today': [20, 1e101, 1, 0, 0]}",
        "{'today': [20, 1, 1, 7, 0]}",
        "{'today': [20, 1, 1, 0, '0']}",
        "{'today': [40, 1, 1, 0, 0]}",
        "{'today': [3, 1, 1, 0, 0]}",
        "{'days': []}",
        "{'days': 7}",
        "{'comparisons': -1}",
        "{'comparisons': 41}",
        "{'comparisons': 0}",
        "{'comparisons': 2}",
        "{'earlier': 'x'}",
        "{'counted': 8}",
        "{'counted': 4}",
        "{'compared': [1, 2]}",
        "{'compared': [1, 3, 2, 1, 1, 1, 1]}",
        "{'compared': [1, 2, 3, 1, -1, 1, 1]}",
        "{'compared': [-1, 2, 3, 1, 1, 1, 1]}",
    };
    struct judge_past past = after(20, 120, 1), back;

    EACH_ROW (patch, patches) {
        struct json_object *json =
            json_merge(arena, judge_past_write(arena, &past), rows_json(arena, *patch));
        back = past;
        if (judge_past_read(json, &back) || back.today.looks != 0)
            fail_msg("%s is read", *patch);
    }
    assert_false(judge_past_read(NULL, &back));
}

/* --- sentences */

CASE(it_explains_itself)
{
    struct judge_past past = after(0, 0, 0);

    assert_string_equal(judge_past_sentence(arena, &past, &tenth), "nothing was compared yet");
    add(&past, 1, look_of(212, 5));
    assert_string_equal(judge_past_sentence(arena, &past, &tenth),
                        "212 against 100 to 130 at the same time of the last 7 days; 1 of the 16 "
                        "looks of the first comparison");
    add(&past, 15, look_of(212, 5));
    assert_string_equal(judge_past_sentence(arena, &past, &tenth),
                        "212 against 100 to 130 at the same time of the last 7 days, at most 200.6 "
                        "is tolerated; odds that chance alone does this: below 1 in 100");
    past = after(16, 120, 5);
    assert_string_equal(judge_past_sentence(arena, &past, &tenth),
                        "120 against 100 to 130 at the same time of the last 7 days, at most 200.6 "
                        "is tolerated");
}

CASE(the_other_sentences_as_well)
{
    struct judge_past_look look = {.today = 3};
    struct judge_past past = after(0, 0, 0);

    add(&past, 16, look);
    assert_string_equal(judge_past_sentence(arena, &past, &tenth),
                        "3 against 0 at the same time of the last 7 days; values that never differ "
                        "do not show how much more is worse, which judge.tolerate with an amount "
                        "would");
    look = look_of(1234567, 0);
    look.days[0] = look.days[1] = NAN;
    judge_past_begin(&past, true);
    add(&past, 16, look);
    assert_string_equal(judge_past_sentence(arena, &past, &tenth),
                        "1,234,567 against 100 at the same time of 5 of the last 7 days, at least "
                        "79.13 is tolerated");
    look.days[2] = NAN;
    judge_past_begin(&past, true);
    add(&past, 16, look);
    assert_string_equal(judge_past_sentence(arena, &past, &tenth),
                        "only 4 of the last 7 days have values at this time, 5 are needed");
}
