/* The evidence of numbers: its law by counting all outcomes, odd values, JSON and sentences. */
#include "judge/numbers.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "test/rows.h"
#include "test/unit.h"

static const struct judge_policy tenth = {
    .false_alarm_rate = 0.01, .tolerate = {.ratio = 0.1}, .share = 1};

/* The primary is known to be constant: comparisons have six looks. */
static struct judge_numbers known(double level)
{
    struct judge_numbers numbers;
    double values[NUMBERS_LEARNED];

    for (int i = 0; i < NUMBERS_LEARNED; i++)
        values[i] = level;
    judge_numbers_begin(&numbers, false);
    judge_numbers_learn(&numbers, values, NUMBERS_LEARNED);
    return numbers;
}

/* So many comparisons of these values. */
static void add(struct judge_numbers *numbers, int comparisons, double canary, double primary)
{
    for (int64_t until = numbers->comparisons + comparisons; numbers->comparisons < until;)
        assert_true(judge_numbers_add(numbers, &tenth, canary, primary));
}

/* --- the law */

/* The mean of what has been won when one stops, over all that can happen: a fair coin at each. */
static double mean_won(const struct judge_numbers *before, int left, double stop)
{
    double log_won = judge_numbers_log_worse(before), sum = 0;

    if (left == 0 || log_won >= stop)
        return exp(log_won);
    for (int beyond = 0; beyond <= 1; beyond++) {
        struct judge_numbers next = *before;
        add(&next, 1, beyond ? 200 : 100, 100);
        sum += mean_won(&next, left - 1, stop) / 2;
    }
    return sum;
}

CASE(no_time_to_stop_wins_on_average)
{
    static const double stops[] = {0.1, 1, 2, INFINITY};
    const struct judge_numbers begin = known(100);

    EACH_ROW (stop, stops) {
        if (fabs(mean_won(&begin, 12, *stop) - 1) > 1e-9)
            fail_msg("stopping at %g wins %g", *stop, mean_won(&begin, 12, *stop));
    }
}

/* --- verdicts */

CASE(what_is_worse_is_found_after_nine_comparisons)
{
    struct judge_numbers numbers = known(100);

    add(&numbers, 8, 111, 100);
    assert_int_equal(judge_numbers_verdict(&numbers, &tenth), JUDGE_UNDECIDED);
    add(&numbers, 1, 111, 100);
    assert_int_equal(judge_numbers_verdict(&numbers, &tenth), JUDGE_WORSE);
}

CASE(what_is_tolerated_is_not_worse)
{
    static const struct {
        double canary, primary;
    } rows[] = {{110, 100}, {100, 100}, {0, 100}, {0, 0}, {-110, -100}, {-90, -100}, {-1e300, 5}};

    EACH_ROW (row, rows) {
        struct judge_numbers numbers = known(row->primary);
        add(&numbers, 200, row->canary, row->primary);
        assert_int_equal(judge_numbers_verdict(&numbers, &tenth), JUDGE_UNDECIDED);
        assert_int_equal(numbers.beyond, 0);
    }
}

/* Negative numbers and a level of zero have no special meaning. */
CASE(what_is_beyond_is_worse_for_any_numbers)
{
    static const struct {
        double canary, primary;
        bool lower;
    } rows[] = {{1, 0, false}, {-89, -100, false}, {1e300, 5, false},  {1e-9, 0, false},
                {-1, 0, true}, {89, 100, true},    {-111, -100, true}, {0, 7, true}};

    EACH_ROW (row, rows) {
        struct judge_numbers numbers = known(row->primary);
        numbers.lower = row->lower;
        add(&numbers, 12, row->canary, row->primary);
        assert_int_equal(judge_numbers_verdict(&numbers, &tenth), JUDGE_WORSE);
    }
}

CASE(an_amount_is_tolerated_as_well)
{
    static const struct judge_policy amount = {
        .false_alarm_rate = 0.01, .tolerate = {.points = 30}, .share = 1};
    struct judge_numbers numbers = known(100);

    for (int i = 0; i < 200; i++)
        judge_numbers_add(&numbers, &amount, 130, 100);
    assert_int_equal(numbers.beyond, 0);
    for (int i = 0; i < 200; i++)
        judge_numbers_add(&numbers, &amount, 131, 100);
    assert_int_equal(judge_numbers_verdict(&numbers, &amount), JUDGE_WORSE);
}

CASE(what_becomes_worse_late_is_found)
{
    struct judge_numbers numbers = known(100);

    add(&numbers, 100, 100, 100);
    add(&numbers, 25, 120, 100);
    assert_int_equal(judge_numbers_verdict(&numbers, &tenth), JUDGE_WORSE);
}

CASE(what_shrinks_is_not_worse_yet)
{
    struct judge_numbers numbers = known(100);
    double more = 300;

    for (int i = 0; i < 40; i++, more *= 0.93) {
        add(&numbers, 1, 100 + more, 100);
        assert_int_equal(judge_numbers_verdict(&numbers, &tenth), JUDGE_UNDECIDED);
    }
    assert_true(judge_numbers_log_worse(&numbers) > log(100));
    assert_non_null(strstr(judge_numbers_sentence(arena, &numbers, &tenth),
                           "; but the difference shrinks, as after a start"));
    add(&numbers, 8, 130, 100);
    assert_int_equal(judge_numbers_verdict(&numbers, &tenth), JUDGE_WORSE);
}

CASE(many_metrics_share_one_rate)
{
    struct judge_policy one_of_ten = tenth;
    struct judge_numbers numbers = known(100);

    one_of_ten.share = 0.1;
    add(&numbers, 9, 120, 100);
    assert_int_equal(judge_numbers_verdict(&numbers, &one_of_ten), JUDGE_UNDECIDED);
    add(&numbers, 4, 120, 100);
    assert_int_equal(judge_numbers_verdict(&numbers, &one_of_ten), JUDGE_WORSE);
}

CASE(a_rate_that_cannot_be_shows_nothing)
{
    static const double rates[] = {0, -1, 1, 2, NAN, INFINITY};
    struct judge_numbers numbers = known(100);

    add(&numbers, 100, 500, 100);
    EACH_ROW (rate, rates) {
        struct judge_policy policy = {.false_alarm_rate = *rate, .share = 1};
        assert_int_equal(judge_numbers_verdict(&numbers, &policy), JUDGE_UNDECIDED);
    }
}

/* --- what is learned */

CASE(a_comparison_is_as_long_as_values_depend_on_each_other)
{
    double alternating[NUMBERS_PAST], steps[NUMBERS_PAST], line[NUMBERS_PAST];
    struct judge_numbers numbers;

    for (int i = 0; i < NUMBERS_PAST; i++) {
        alternating[i] = 100 + (i * 7 % 11);
        steps[i] = 100 + (i / 6 * 7 % 11);
        line[i] = i;
    }
    judge_numbers_begin(&numbers, false);
    judge_numbers_learn(&numbers, alternating, NUMBERS_PAST);
    assert_int_equal(numbers.block, 2);
    assert_true(numbers.noise > 2 && numbers.noise < 6);
    judge_numbers_begin(&numbers, false);
    judge_numbers_learn(&numbers, steps, NUMBERS_PAST);
    assert_true(numbers.block >= 4 && numbers.block <= NUMBERS_LOOKS);
    judge_numbers_begin(&numbers, false);
    judge_numbers_learn(&numbers, line, NUMBERS_PAST);
    assert_true(numbers.noise < 1e-9);
    assert_int_equal(numbers.block, 6);
}

CASE(what_varies_by_itself_is_tolerated)
{
    double values[NUMBERS_PAST];
    struct judge_numbers numbers;

    for (int i = 0; i < NUMBERS_PAST; i++)
        values[i] = i % 2 ? 50 : 150;
    judge_numbers_begin(&numbers, false);
    judge_numbers_learn(&numbers, values, NUMBERS_PAST);
    add(&numbers, 50, 200, 100);
    assert_int_equal(numbers.beyond, 0);
    assert_true(numbers.tolerated > 100);
}

CASE(without_a_past_the_first_looks_teach_it)
{
    struct judge_numbers numbers;
    static const double few[] = {1, 2, NAN, 3};

    judge_numbers_begin(&numbers, false);
    judge_numbers_learn(&numbers, few, 4);
    assert_int_equal(numbers.block, 0);
    for (int i = 0; i < NUMBERS_LEARNED; i++) {
        assert_int_equal(numbers.block, 0);
        judge_numbers_add(&numbers, &tenth, 500, 100 + i % 2);
    }
    assert_int_equal(numbers.block, 6);
    assert_int_equal(numbers.comparisons, 0);
}

/* --- odd values */

CASE(what_is_no_number_is_no_look)
{
    static const struct {
        double canary, primary;
    } rows[] = {{NAN, 1}, {1, NAN}, {INFINITY, 1}, {1, -INFINITY}};
    struct judge_numbers numbers = known(100), before = numbers;

    EACH_ROW (row, rows) {
        assert_false(judge_numbers_add(&numbers, &tenth, row->canary, row->primary));
        assert_memory_equal(&numbers, &before, sizeof(numbers));
    }
}

CASE(every_look_leaves_finite_numbers)
{
    static const double values[] = {0, 1, -1, 1e-300, 1e300, -1e300, 0.3, 1e15};
    enum { N = sizeof(values) / sizeof(values[0]) };

    for (int i = 0; i < N * N; i++) {
        struct judge_numbers numbers = known(values[i % N]), back;
        for (int j = 0; j < 300; j++)
            judge_numbers_add(&numbers, &tenth, values[(i / N + j / 40) % N],
                              values[(i + j / 30) % N]);
        assert_true(isfinite(judge_numbers_log_worse(&numbers)));
        assert_non_null(judge_numbers_sentence(arena, &numbers, &tenth));
        assert_true(judge_numbers_read(judge_numbers_write(arena, &numbers), &back));
    }
}

/* --- JSON */

CASE(numbers_survive_json)
{
    struct judge_numbers numbers, back;

    judge_numbers_begin(&numbers, true);
    for (int i = 0; i < 100; i++) {
        struct json_object *json = judge_numbers_write(arena, &numbers);
        const char *text = json_text(arena, json);
        assert_true(judge_numbers_read(json, &back));
        assert_string_equal(json_text(arena, judge_numbers_write(arena, &back)), text);
        assert_true(back.lower && back.n == numbers.n && back.comparisons == numbers.comparisons);
        assert_true(strlen(text) < 1536);
        judge_numbers_add(&numbers, &tenth, 100.25 + i % 7, 99.5 - i % 3);
    }
}

CASE(what_cannot_be_numbers_is_refused)
{
    static const char *const patches[] = {
        "{'looks': -1}",
        "{'looks': 1.5}",
        "{'comparisons': 999}",
        "{'beyond': 999}",
        "{'block': 13}",
        "{'block': -1}",
        "{'noise': [-1]}",
        "{'noise': []}",
        "{'last': [1]}",
        "{'compared': [1, 2]}",
        "{'won': [1, 2, 3]}",
        "{'won': [1, 2, 3, 1e300]}",
        "{'learned': 3}",
        "{'canary': [1]}",
        "{'primary': ['1', '2', '3']}",
        "{'canary': null}",
        "{'recent': [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}",
        "{'canary': [1,2,3,4,5,6], 'primary': [1,2,3,4,5,6]}",
    };
    struct judge_numbers numbers = known(100), back;

    for (int i = 0; i < 15; i++)
        judge_numbers_add(&numbers, &tenth, 120, 100);
    EACH_ROW (patch, patches) {
        struct json_object *json =
            json_merge(arena, judge_numbers_write(arena, &numbers), rows_json(arena, *patch));
        back = numbers;
        assert_false(judge_numbers_read(json, &back));
        assert_int_equal(back.looks, 0);
    }
    assert_false(judge_numbers_read(NULL, &back));
}

/* --- sentences */

CASE(it_explains_itself)
{
    struct judge_numbers numbers = known(180);

    assert_string_equal(judge_numbers_sentence(arena, &numbers, &tenth),
                        "nothing was compared yet");
    judge_numbers_add(&numbers, &tenth, 212, 180);
    assert_string_equal(
        judge_numbers_sentence(arena, &numbers, &tenth),
        "212 against 180 of the primary; 1 of the 6 values of the first comparison");
    add(&numbers, 2, 212, 180);
    assert_string_equal(
        judge_numbers_sentence(arena, &numbers, &tenth),
        "212 against 180 of the primary, at most 198 is tolerated; above that in 2 of 2 "
        "comparisons; that is too little to tell whether the canary is worse");
    add(&numbers, 7, 212, 180);
    assert_string_equal(
        judge_numbers_sentence(arena, &numbers, &tenth),
        "212 against 180 of the primary, at most 198 is tolerated; above that in 9 of 9 "
        "comparisons; odds that chance alone does this: below 1 in 100");
}

CASE(the_other_sentences_as_well)
{
    struct judge_numbers numbers = known(180);

    add(&numbers, 3, 170.5, 180);
    assert_string_equal(judge_numbers_sentence(arena, &numbers, &tenth),
                        "170.5 against 180 of the primary, at most 198 is tolerated; above that in "
                        "0 of 3 comparisons");
    numbers = known(2000000);
    numbers.lower = true;
    add(&numbers, 1, 1234567, 2000000);
    assert_string_equal(
        judge_numbers_sentence(arena, &numbers, &tenth),
        "1,234,567 against 2,000,000 of the primary, at least 1,800,000 is tolerated; below that "
        "in "
        "1 of 1 comparisons; that is too little to tell whether the canary is worse");
    judge_numbers_begin(&numbers, false);
    judge_numbers_add(&numbers, &tenth, -1234, 0.001);
    assert_string_equal(
        judge_numbers_sentence(arena, &numbers, &tenth),
        "-1,234 against 0.001 of the primary; 1 of the 20 values that show how much "
        "the primary varies by itself");
}
