/* Looks that are kept: few, without losing any of their requests. */
#include "judge/judge.h"

#include "base/json.h"
#include "test/rows.h"
#include "test/unit.h"

enum { EVERY_S = 10, MANY = 2000 };

static struct judge_sample sample_at(int64_t at_s, int64_t step, double canary, double bad)
{
    return (struct judge_sample){.at_s = at_s,
                                 .step = step,
                                 .canary = {.total = canary, .bad = bad},
                                 .primary = {.total = 4 * canary, .bad = 1}};
}

static struct judge_series series_of(int looks, int most)
{
    struct judge_series series = {.n = 0};

    for (int i = 1; i <= looks; i++) {
        const struct judge_sample sample = sample_at((int64_t)i * EVERY_S, 20, 50, i % 2);
        judge_series_add(&series, most, &sample);
    }
    return series;
}

CASE(what_has_room_is_kept_as_it_is)
{
    const struct judge_series series = series_of(JUDGE_SERIES, JUDGE_SERIES);

    assert_int_equal(series.n, JUDGE_SERIES);
    for (int i = 0; i < series.n; i++) {
        assert_int_equal(series.samples[i].at_s, (i + 1) * EVERY_S);
        assert_true(series.samples[i].canary.total == 50);
    }
}

CASE(no_request_is_lost_and_no_window_is_a_large_part_of_all)
{
    static const int mosts[] = {2, 6, 12, JUDGE_SERIES};

    for (size_t m = 0; m < sizeof(mosts) / sizeof(mosts[0]); m++) {
        const struct judge_series series = series_of(MANY, mosts[m]);
        double canary = 0, bad = 0, primary = 0, widest = 0;
        for (int i = 0; i < series.n; i++) {
            canary += series.samples[i].canary.total;
            bad += series.samples[i].canary.bad;
            primary += series.samples[i].primary.total;
            if (series.samples[i].canary.total > widest)
                widest = series.samples[i].canary.total;
            assert_true(i == 0 || series.samples[i].at_s > series.samples[i - 1].at_s);
        }
        assert_true(series.n <= mosts[m] && series.n > 0);
        assert_true(canary == 50.0 * MANY && bad == MANY / 2.0 && primary == 200.0 * MANY);
        assert_int_equal(series.samples[series.n - 1].at_s, MANY * EVERY_S);
        if (mosts[m] == JUDGE_SERIES) {
            assert_true(widest <= canary / 8);
            assert_true(series.samples[0].canary.total <= canary / 30);
        }
    }
}

/* This keeps the evidence of each step separate. */
CASE(looks_of_two_steps_are_joined_last)
{
    struct judge_series series = {.n = 0};

    for (int i = 1; i <= 200; i++) {
        const struct judge_sample sample = sample_at(i, i <= 100 ? 20 : 40, 50, 0);
        judge_series_add(&series, JUDGE_SERIES, &sample);
    }
    for (int i = 0; i < series.n; i++)
        if (series.samples[i].step == 20 && series.samples[i + 1].step == 40)
            assert_int_equal(series.samples[i].at_s, 100);
}

CASE(what_is_not_later_or_no_count_does_no_harm)
{
    struct judge_series series = {.n = 0};
    const struct judge_sample samples[] = {
        sample_at(10, 20, 50, 1),
        sample_at(10, 20, 5, 1),
        sample_at(3, 20, 5, 0),
        {.at_s = 20, .step = 20, .canary = {.total = -1}, .primary = {.total = 10, .bad = 20}}};

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        judge_series_add(&series, JUDGE_SERIES, &samples[i]);
    assert_int_equal(series.n, 2);
    assert_true(series.samples[0].canary.total == 60 && series.samples[0].canary.bad == 2);
    assert_int_equal(series.samples[0].at_s, 10);
    assert_true(series.samples[1].canary.total == 0 && series.samples[1].primary.bad == 10);
}

CASE(samples_are_read_as_they_were_written)
{
    const struct judge_series series = series_of(100, JUDGE_SERIES);
    struct json_object *json = judge_samples_write(arena, series.samples, series.n);
    struct judge_sample *read;
    int n;

    assert_true(judge_samples_read(arena, json, JUDGE_SERIES, &read, &n));
    assert_int_equal(n, series.n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(read[i].at_s, series.samples[i].at_s);
        assert_int_equal(read[i].step, series.samples[i].step);
        assert_true(read[i].canary.bad == series.samples[i].canary.bad);
        assert_true(read[i].primary.total == series.samples[i].primary.total);
    }
    assert_false(judge_samples_read(arena, json, n - 1, &read, &n));
    assert_int_equal(n, 0);
}

CASE(what_cannot_be_looks_is_not_read)
{
    static const char *const wrong[] = {"[[1,2,3,4,5]]",
                                        "[[1,2,3,4,5,6,7]]",
                                        "[[1,2,3,4,5,4]]",
                                        "[[1,2,4,3,5,'4']]",
                                        "[[-1,2,4,3,5,4]]",
                                        "[[1,-2,4,3,5,4]]",
                                        "[[1,2,4,-3,5,4]]",
                                        "[[1.5,2,4,3,5,4]]",
                                        "[[1,2,1e99,3,5,4]]",
                                        "[[1,2,1e13,3,5,4]]",
                                        "[[1000000001,2,4,3,5,4]]",
                                        "{}",
                                        "[1]",
                                        "[[2,2,4,3,5,4],[2,2,4,3,5,4]]"};
    struct judge_sample *read;
    int n;

    assert_true(judge_samples_read(arena, rows_json(arena, "[[1,2,4,3,5,4],[2,2,4.5,3,5,4]]"), 2,
                                   &read, &n));
    assert_int_equal(n, 2);
    assert_true(judge_samples_read(arena, rows_json(arena, "[]"), 2, &read, &n));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (judge_samples_read(arena, rows_json(arena, wrong[i]), 2, &read, &n))
            fail_msg("%s was read", wrong[i]);
}
