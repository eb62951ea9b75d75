/* Histograms: what is found without a threshold, odd histograms, JSON and sentences. */
#include "judge/latency.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "test/rows.h"
#include "test/unit.h"

static const struct judge_policy plain = {.false_alarm_rate = 0.01, .share = 1};
static const struct judge_policy lenient = {
    .false_alarm_rate = 0.01, .tolerate = {.ratio = 0.2}, .share = 1};

enum { BOUNDS = 5 };
static const double bounds[BOUNDS] = {0.1, 0.12, 0.25, 0.5, INFINITY};

static struct judge_histogram of(const double counts[])
{
    return (struct judge_histogram){.n = BOUNDS, .bounds = bounds, .counts = counts};
}

static const double usual[BOUNDS] = {500, 600, 900, 980, 1000};
static const double much[BOUNDS] = {5000, 6000, 9000, 9800, 10000};

/* The primary is known; then so many looks at both. */
static struct judge_latency after(const struct judge_policy *policy, int looks,
                                  const double canary[], const double primary[])
{
    const struct judge_histogram none = {0}, one = of(canary), other = of(primary);
    struct judge_latency latency;

    judge_latency_begin(&latency);
    for (int i = 0; i < 30; i++)
        assert_true(judge_latency_add(&latency, policy, &none, &other));
    for (int i = 0; i < looks; i++)
        assert_true(judge_latency_add(&latency, policy, &one, &other));
    return latency;
}

CASE(bounds_are_those_that_part_the_primary)
{
    struct judge_latency latency = after(&plain, 0, usual, much);

    assert_int_equal(latency.n, 4);
    for (int i = 0; i < latency.n; i++)
        assert_true(latency.bounds[i] == bounds[i]);
    assert_true(judge_latency_requests(&latency) == 0);
}

CASE(the_same_is_not_worse)
{
    struct judge_latency latency = after(&plain, 60, usual, much);

    assert_int_equal(judge_latency_verdict(&latency, &plain), JUDGE_UNDECIDED);
    assert_true(judge_latency_log_worse(&latency, &plain) < 0);
    assert_true(judge_latency_requests(&latency) == 60000);
}

CASE(what_is_slower_anywhere_is_found)
{
    static const double rows[][BOUNDS] = {
        {350, 450, 800, 950, 1000}, /* all of it */
        {500, 600, 900, 930, 1000}, /* the tail alone */
        {300, 600, 900, 980, 1000}, /* the fast half alone */
    };

    EACH_ROW (row, rows) {
        struct judge_latency latency = after(&plain, 12, *row, much);
        assert_int_equal(judge_latency_verdict(&latency, &plain), JUDGE_WORSE);
    }
}

/* A fifth is tolerated: beyond 0.12 s the canary may have as many as the primary beyond 0.1 s. */
CASE(a_shift_is_tolerated)
{
    static const double shifted[BOUNDS] = {400, 500, 880, 970, 1000};
    struct judge_latency latency = after(&lenient, 60, shifted, much);

    assert_int_equal(judge_latency_verdict(&latency, &lenient), JUDGE_UNDECIDED);
    assert_true(latency.beyond[0] == 0.12 && latency.bounds[0] == 0.1);
    assert_true(latency.beyond[1] == 0.25 && latency.beyond[3] == 0);
    latency = after(&plain, 60, shifted, much);
    assert_int_equal(judge_latency_verdict(&latency, &plain), JUDGE_WORSE);
}

CASE(what_is_no_histogram_is_no_look)
{
    static const double falls[BOUNDS] = {500, 400, 900, 980, 1000};
    static const double negative[BOUNDS] = {-1, 600, 900, 980, 1000};
    static const double endless[BOUNDS] = {1, 600, 900, 980, INFINITY};
    static const double nan_[BOUNDS] = {NAN, 600, 900, 980, 1000};
    static const double twice[BOUNDS] = {0.1, 0.1, 0.25, 0.5, INFINITY};
    static const double finite[BOUNDS] = {0.1, 0.12, 0.25, 0.5, 1};
    const struct judge_histogram rows[] = {
        of(falls), of(negative),           of(endless),
        of(nan_),  {BOUNDS, twice, usual}, {BOUNDS, finite, usual}};
    const struct judge_histogram good = of(usual);
    struct judge_latency latency = after(&plain, 1, usual, much), before = latency;

    EACH_ROW (row, rows) {
        assert_false(judge_latency_add(&latency, &plain, row, &good));
        assert_false(judge_latency_add(&latency, &plain, &good, row));
        assert_memory_equal(&latency, &before, sizeof(latency));
    }
}

/* Another version may have other bounds: the next larger one is taken, or none. */
CASE(bounds_of_the_canary_may_be_others)
{
    static const double few[] = {0.2, INFINITY}, counts[] = {100, 1000};
    struct judge_latency latency = after(&plain, 0, usual, much);
    const struct judge_histogram other = {2, few, counts}, primary = of(much);

    for (int i = 0; i < 12; i++)
        assert_true(judge_latency_add(&latency, &plain, &other, &primary));
    assert_true(latency.beyond[0] == 0.2 && latency.beyond[1] == 0.2);
    assert_true(latency.evidence[2].looks == 0);
    assert_int_equal(judge_latency_verdict(&latency, &plain), JUDGE_WORSE);
}

/* Bounds as of native histograms: the canary's next larger one, the primary's next smaller one, or
 * any value where no request is near. */
CASE(counts_are_known_where_no_request_is_near)
{
    static const double few[] = {0.1, 0.2, 0.4, 0.8, INFINITY}, counts[] = {0, 10, 10, 30, 30};
    static const struct {
        double value;
        bool up;
        double count, at;
    } rows[] = {
        {0.05, true, 0, 0.05}, {0.05, false, 0, 0.05}, {0.1, true, 0, 0.1},   {0.15, true, 10, 0.2},
        {0.15, false, 0, 0.1}, {0.2, false, 10, 0.2},  {0.3, true, 10, 0.3},  {0.3, false, 10, 0.3},
        {0.4, true, 10, 0.4},  {0.5, true, 30, 0.8},   {0.5, false, 10, 0.4}, {9, true, 30, 9},
        {9, false, 30, 9},
    };
    static const double first[] = {0.1, 1, INFINITY}, above[] = {5, 5, 6};
    const struct judge_histogram histogram = {5, few, counts}, other = {3, first, above};
    double at;

    EACH_ROW (row, rows) {
        assert_true(judge_histogram_count(&histogram, row->value, row->up, &at) == row->count);
        assert_true(at == row->at);
    }
    assert_true(judge_histogram_count(&other, 0.05, false, &at) == 0 && at == -INFINITY);
    assert_true(judge_histogram_count(&other, 2, true, &at) == 6 && at == INFINITY);
    assert_true(judge_histogram_count(&other, 2, false, &at) == 5 && at == 1);
}

/* Looks in which the canary has no request near a bound, or the primary none beyond it, count. */
CASE(no_look_is_left_out_for_what_was_in_it)
{
    static const double others[] = {0.09, 0.11, INFINITY}, fast[] = {0, 1000, 1000};
    static const double coarse[] = {0.09, 0.125, 0.2, 0.3, INFINITY};
    static const double quick[] = {0, 6000, 6000, 10000, 10000};
    struct judge_latency latency = after(&plain, 0, usual, much);
    const struct judge_histogram canary = {3, others, fast}, primary = of(much);
    const struct judge_histogram halved = {5, coarse, quick};

    assert_true(judge_latency_add(&latency, &plain, &canary, &primary));
    assert_true(judge_latency_add(&latency, &plain, &canary, &halved));
    for (int i = 0; i < latency.n; i++) {
        assert_int_equal(latency.evidence[i].looks, 2);
        assert_true(latency.evidence[i].canary.total == 2000);
    }
    assert_true(latency.evidence[1].canary.bad == 0 && latency.beyond[1] == 0.12);
    /* of the coarser one 0.25 lies in a bucket, all of which counts as slower; 0.5 does not */
    assert_true(latency.evidence[2].primary.bad == 1000 + 4000);
    assert_true(latency.evidence[3].primary.bad == 200);
}

CASE(without_requests_nothing_is_known)
{
    static const double zero[BOUNDS] = {0};
    const struct judge_histogram none = {0}, empty = of(zero), primary = of(much);
    struct judge_latency latency;

    judge_latency_begin(&latency);
    assert_true(judge_latency_add(&latency, &plain, &none, &none));
    assert_true(judge_latency_add(&latency, &plain, &empty, &empty));
    assert_int_equal(latency.n, 0);
    assert_string_equal(judge_latency_sentence(arena, &latency, &plain, 1000),
                        "the primary had no requests to choose bounds by");
    assert_true(judge_latency_add(&latency, &plain, &none, &primary));
    assert_true(judge_latency_add(&latency, &plain, &none, &primary));
    assert_string_equal(judge_latency_sentence(arena, &latency, &plain, 1000),
                        "the canary had no requests");
}

/* Looks that were kept lead to the same evidence as the histograms. */
CASE(looks_that_were_kept_are_taken_again)
{
    static const double slower[BOUNDS] = {400, 500, 880, 970, 1000};
    static const struct judge_policy *const policies[] = {&plain, &lenient};
    const struct judge_histogram primary = of(much), canary = of(slower);
    struct judge_latency known = after(&plain, 0, usual, much);

    EACH_ROW (policy, policies) {
        struct judge_latency seen, again;
        double values[2 * (LATENCY_PAIRS + 1)], unit, least[LATENCY_PAIRS] = {0};
        assert_true(judge_latency_known_read(judge_latency_known_write(arena, &known, 1000), &again,
                                             &unit));
        assert_true(unit == 1000);
        seen = again;
        for (int i = 0; i < 10; i++) {
            assert_true(judge_latency_add(&seen, *policy, &canary, &primary));
            int n = judge_latency_look(&seen, *policy, &canary, &primary, values, least);
            assert_int_equal(n, 2 * (seen.n + 1));
            assert_true(judge_latency_take(&again, *policy, least, values, n));
            assert_float_equal(judge_latency_log_worse(&again, *policy),
                               judge_latency_log_worse(&seen, *policy), 1e-6);
            assert_false(judge_latency_take(&again, *policy, least, values, n - 2));
        }
        assert_int_equal(judge_latency_verdict(&again, *policy),
                         *policy == &plain ? JUDGE_WORSE : JUDGE_UNDECIDED);
    }
}

/* A shift that was not compared: the next larger bound that was, or none. */
CASE(looks_are_taken_again_under_another_shift)
{
    static const double slower[BOUNDS] = {100, 200, 880, 970, 1000};
    const struct judge_histogram primary = of(much), canary = of(slower);
    struct judge_latency again = after(&plain, 0, usual, much);
    double values[2 * (LATENCY_PAIRS + 1)], least[LATENCY_PAIRS] = {0};
    int n = judge_latency_look(&again, &plain, &canary, &primary, values, least);

    assert_true(judge_latency_take(&again, &lenient, least, values, n));
    assert_true(again.beyond[0] == 0.12 && again.evidence[0].canary.bad == 800);
    assert_true(again.beyond[1] == 0.25 && again.evidence[1].canary.bad == 120);
    assert_true(again.beyond[2] == 0.5 && again.evidence[2].canary.bad == 30);
    assert_int_equal(again.evidence[3].looks, 0);
}

/* Bounds that come and go, as those of native histograms: of a look without one, the next. */
CASE(a_look_without_a_bound_has_the_next)
{
    static const double coarse[] = {0.2, 0.5, INFINITY}, counts[] = {700, 960, 1000};
    static const double high[] = {0.3, INFINITY}, slow[] = {9500, 10000};
    const struct judge_histogram canary = {3, coarse, counts}, primary = {2, high, slow};
    const struct judge_histogram fine = of(usual), fine_primary = of(much);
    struct judge_latency latency = after(&plain, 0, usual, much);
    double values[2 * (LATENCY_PAIRS + 1)], least[LATENCY_PAIRS] = {0};

    assert_int_equal(judge_latency_look(&latency, &plain, &canary, &primary, values, least), 10);
    assert_true(values[1] == 300 && values[2] == 300 && values[3] == 40 && values[4] == 40);
    assert_true(values[5] == 10000 && values[6] == 10000 && values[8] == 10000);
    assert_true(values[9] == 500);
    assert_true(least[0] == 0.2 && least[2] == 0.5);
    (void)judge_latency_look(&latency, &plain, &fine, &fine_primary, values, least);
    assert_true(least[0] == 0.1 && least[2] == 0.25 && least[3] == 0.5);
}

CASE(what_was_known_before_is_short)
{
    struct judge_latency known = after(&plain, 0, usual, much), back;
    struct json_object *json = judge_latency_known_write(arena, &known, 1000);
    double unit;

    assert_true(strlen(json_text(arena, json)) < 100 + LATENCY_PAIRS * 110);
    assert_true(judge_latency_known_read(json, &back, &unit));
    assert_int_equal(back.n, known.n);
    for (int i = 0; i < back.n; i++)
        assert_float_equal(back.evidence[i].before.bad, known.evidence[i].before.bad, 1e-3);
    assert_false(judge_latency_known_read(
        rows_json(arena, "{'unit':1,'bounds':[1],'primary':[[0,0,0,0,0,0,1e31,0,0]]}"), &back,
        &unit));
    json_object_object_add(json, "unit", json_object_new_double(0));
    assert_false(judge_latency_known_read(json, &back, &unit));
    assert_int_equal(back.n, 0);
    assert_false(judge_latency_known_read(NULL, &back, &unit));
    assert_false(judge_latency_known_read(judge_latency_write(arena, &known), &back, &unit));
}

CASE(latency_survives_json)
{
    struct judge_latency latency = after(&lenient, 7, usual, much), back;
    struct json_object *json = judge_latency_write(arena, &latency);

    assert_true(judge_latency_read(json, &back));
    assert_string_equal(json_text(arena, judge_latency_write(arena, &back)),
                        json_text(arena, json));
    assert_float_equal(judge_latency_log_worse(&back, &lenient),
                       judge_latency_log_worse(&latency, &lenient), 1e-6);
    assert_true(strlen(json_text(arena, json)) < LATENCY_PAIRS * 600);
}

CASE(what_cannot_be_latency_is_refused)
{
    static const char *const patches[] = {
        "{'bounds': null}",         "{'bounds': [1, 2]}",
        "{'bounds': [1, 3, 2, 4]}", "{'bounds': [1,2,3,'4']}",
        "{'beyond': [1]}",          "{'beyond': [1, 2, 3, -4]}",
        "{'evidence': []}",         "{'evidence': [1,2,3,4]}",
        "{'evidence': null}",       "{'bounds': [1,2,3,4,5,6,7,8,9]}",
    };
    struct judge_latency latency = after(&plain, 3, usual, much), back;

    EACH_ROW (patch, patches) {
        back = latency;
        assert_false(judge_latency_read(
            json_merge(arena, judge_latency_write(arena, &latency), rows_json(arena, *patch)),
            &back));
        assert_int_equal(back.n, 0);
    }
    assert_false(judge_latency_read(NULL, &back));
}

CASE(it_explains_itself)
{
    static const double slow[BOUNDS] = {500, 600, 900, 930, 1000};
    struct judge_latency latency = after(&plain, 1, slow, much);

    assert_string_equal(judge_latency_sentence(arena, &latency, &plain, 1000),
                        "canary 70 of 1,000 requests took longer than 500 ms (7.0 %), primary 200 "
                        "of 10,000 (2.0 %); odds that chance alone does this, at 4 bounds: below 1 "
                        "in 1,000,000");
    latency = after(&lenient, 2, usual, much);
    assert_non_null(
        strstr(judge_latency_sentence(arena, &latency, &lenient, 1000),
               "; that is too little to tell whether the canary is worse, at 4 bounds"));
    assert_non_null(
        strstr(judge_latency_sentence(arena, &latency, &lenient, 1000), ", beside the primary's "));
}
