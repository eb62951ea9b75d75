/* The evidence of many looks: its guarantee, by counting all outcomes; odd counts, JSON and
 * sentences. */
#include "judge/judge.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "judge/bets.h"
#include "test/rows.h"
#include "test/unit.h"

static const struct judge_policy plain = {.false_alarm_rate = 0.01, .share = 1};
static const struct judge_policy lenient = {
    .false_alarm_rate = 0.01, .tolerate = {.points = 0.05}, .share = 1};

static struct judge_counts of(double bad, double total)
{
    return (struct judge_counts){.total = total, .bad = bad};
}

static struct judge_evidence after(const struct judge_policy *policy, int looks,
                                   struct judge_counts canary, struct judge_counts primary)
{
    struct judge_evidence evidence;

    judge_begin(&evidence);
    for (int i = 0; i < looks; i++)
        judge_add_sample(&evidence, policy, canary, primary);
    return evidence;
}

/* --- the guarantee */

enum { LOOKS = 4, SIZE = 2 };

/* The shares of a look, and the rule for stopping: as soon as this much was won, or at the end. */
struct walk {
    const struct judge_policy *policy;
    struct judge_shares_of {
        double canary, primary;
    } truth[LOOKS];
    double stop; /* log */
    bool not_worse;
};

static double chance_of(int bad, double share)
{
    return bad == 0   ? (1 - share) * (1 - share)
           : bad == 1 ? 2 * share * (1 - share)
                      : share * share;
}

/* The mean of the winnings at the time of stopping, over all outcomes from this look on. */
static double mean_won(const struct walk *walk, int look, const struct judge_evidence *before)
{
    double log_won = walk->not_worse ? judge_log_not_worse(before, walk->policy)
                                     : judge_log_worse(before, walk->policy),
           sum = 0;

    if (look == LOOKS || log_won >= walk->stop)
        return exp(log_won);
    for (int canary = 0; canary <= SIZE; canary++) {
        for (int primary = 0; primary <= SIZE; primary++) {
            struct judge_evidence next = *before;
            judge_add_sample(&next, walk->policy, of(canary, SIZE), of(primary, SIZE));
            sum += chance_of(canary, walk->truth[look].canary) *
                   chance_of(primary, walk->truth[look].primary) * mean_won(walk, look + 1, &next);
        }
    }
    return sum;
}

static double mean_of(struct walk walk)
{
    struct judge_evidence evidence;

    judge_begin(&evidence);
    return mean_won(&walk, 0, &evidence);
}

CASE(no_time_to_stop_wins_on_average)
{
    static const double stops[] = {0.1, 1, INFINITY};
    static const struct walk walks[] = {
        {.policy = &plain, .truth = {{0.3, 0.3}, {0.3, 0.3}, {0.3, 0.3}, {0.3, 0.3}}},
        {.policy = &plain, .truth = {{0.01, 0.01}, {0.01, 0.01}, {0.01, 0.01}, {0.01, 0.01}}},
        {.policy = &plain, .truth = {{0.01, 0.01}, {0.9, 0.9}, {0.2, 0.4}, {0.5, 0.5}}},
        {.policy = &lenient, .truth = {{0.15, 0.1}, {0.15, 0.1}, {0.05, 0}, {0.85, 0.8}}},
    };

    EACH_ROW (walk, walks) {
        EACH_ROW (stop, stops) {
            struct walk one = *walk;
            one.stop = *stop;
            if (mean_of(one) > 1 + 1e-9)
                fail_msg("stopping at %g wins %g", *stop, mean_of(one));
        }
    }
}

CASE(nor_by_calling_a_worse_one_not_worse)
{
    static const struct walk walks[] = {
        {.policy = &plain, .truth = {{0.3, 0.3}, {0.3, 0.3}, {0.9, 0.1}, {0.3, 0.3}}},
        {.policy = &lenient, .truth = {{0.15, 0.1}, {0.25, 0.2}, {0.05, 0}, {0.85, 0.8}}},
    };

    EACH_ROW (walk, walks) {
        struct walk one = *walk;
        one.not_worse = true;
        one.stop = 0.2;
        assert_true(mean_of(one) <= 1 + 1e-9);
    }
}

/* --- verdicts */

CASE(a_worse_canary_is_found)
{
    struct judge_evidence evidence = after(&plain, 4, of(7, 354), of(15, 3185));

    assert_int_equal(judge_verdict(&evidence, &plain), JUDGE_WORSE);
}

/* One look may be one clump, so it takes two; or looks at the primary before. */
CASE(a_broken_one_at_once)
{
    struct judge_evidence evidence = after(&plain, 1, of(50, 500), of(22, 4500));

    assert_int_equal(judge_verdict(&evidence, &plain), JUDGE_UNDECIDED);
    evidence = after(&plain, 2, of(50, 500), of(22, 4500));
    assert_int_equal(judge_verdict(&evidence, &plain), JUDGE_WORSE);
    evidence = after(&plain, 6, of(0, 0), of(22, 4500));
    judge_add_sample(&evidence, &plain, of(50, 500), of(22, 4500));
    assert_int_equal(judge_verdict(&evidence, &plain), JUDGE_WORSE);
}

CASE(one_like_the_primary_is_not)
{
    struct judge_evidence evidence = after(&plain, 30, of(5, 1000), of(45, 9000));

    assert_int_equal(judge_verdict(&evidence, &plain), JUDGE_UNDECIDED);
    assert_true(judge_log_worse(&evidence, &plain) < 0);
}

CASE(within_the_tolerance_it_is_shown_not_to_be_worse)
{
    struct judge_evidence evidence = after(&lenient, 10, of(2, 200), of(10, 1000));

    assert_int_equal(judge_verdict(&evidence, &lenient), JUDGE_NOT_WORSE);
    /* The tolerance may be relative to the primary's share, too. */
    struct judge_policy by_ratio = {.false_alarm_rate = 0.01, .tolerate.ratio = 2, .share = 1};
    evidence = after(&by_ratio, 20, of(4, 200), of(20, 1000));
    assert_int_equal(judge_verdict(&evidence, &by_ratio), JUDGE_NOT_WORSE);
}

CASE(beyond_it_it_is_worse)
{
    struct judge_evidence evidence = after(&lenient, 10, of(24, 200), of(10, 1000));

    assert_int_equal(judge_verdict(&evidence, &lenient), JUDGE_WORSE);
    evidence = after(&lenient, 10, of(9, 200), of(10, 1000));
    assert_int_not_equal(judge_verdict(&evidence, &lenient), JUDGE_WORSE);
}

CASE(many_metrics_share_one_rate)
{
    struct judge_policy tenth = plain;
    struct judge_evidence evidence;
    int looks = 0;

    judge_begin(&evidence);
    while (judge_verdict(&evidence, &plain) != JUDGE_WORSE && looks++ < 100)
        judge_add_sample(&evidence, &plain, of(2, 100), of(5, 900));
    tenth.share = 1e-4;
    assert_int_equal(judge_verdict(&evidence, &plain), JUDGE_WORSE);
    assert_int_equal(judge_verdict(&evidence, &tenth), JUDGE_UNDECIDED);
}

CASE(a_rate_that_cannot_be_shows_nothing)
{
    static const double rates[] = {0, -1, 1, 2, NAN, INFINITY};
    struct judge_evidence evidence = after(&plain, 5, of(50, 100), of(0, 900));

    EACH_ROW (rate, rates) {
        struct judge_policy policy = {.false_alarm_rate = *rate, .share = 1};
        assert_int_equal(judge_verdict(&evidence, &policy), JUDGE_UNDECIDED);
    }
}

/* A clump counts as a single request. */
CASE(clumps_count_once)
{
    struct judge_evidence smooth = after(&plain, 10, of(6, 100), of(9, 900)), clumped;

    judge_begin(&clumped);
    for (int i = 0; i < 10; i++)
        judge_add_sample(&clumped, &plain, of(i % 5 == 4 ? 30 : 0, 100),
                         of(i % 5 == 2 ? 45 : 0, 900));
    assert_true(judge_clumps(&smooth, 0.5) < 1.1);
    assert_true(judge_clumps(&clumped, 0.5) > 10);
    assert_true(judge_log_worse(&clumped, &plain) < judge_log_worse(&smooth, &plain) / 5);
}

/* --- odd counts */

CASE(counts_that_cannot_be_true_say_nothing)
{
    static const struct {
        struct judge_counts given, clean;
    } cases[] = {
        {{10, 3}, {10, 3}},       {{10, 12}, {10, 10}},
        {{0, 4}, {0, 0}},         {{NAN, 1}, {0, 0}},
        {{10, NAN}, {0, 0}},      {{-5, 0}, {0, 0}},
        {{10, -1}, {0, 0}},       {{INFINITY, 1}, {0, 0}},
        {{10, INFINITY}, {0, 0}}, {{1e300, 1e200}, {1e12, 1e12}},
    };

    EACH_ROW (row, cases) {
        struct judge_counts clean = judge_clean(row->given);
        assert_true(clean.total == row->clean.total && clean.bad == row->clean.bad);
    }
}

static bool is_finite(const struct judge_evidence *evidence)
{
    for (int i = 0; i < JUDGE_WORSE_BETS; i++) {
        if (!isfinite(evidence->worse[i]))
            return false;
    }
    return isfinite(judge_log_worse(evidence, &plain)) &&
           isfinite(judge_log_not_worse(evidence, &plain)) && judge_clumps(evidence, 0.1) < 1e30;
}

CASE(every_look_leaves_finite_numbers)
{
    static const double values[] = {0, 1, 2, 1000, 1e9, 1e300, -1, NAN, INFINITY, 0.3};
    enum { N = sizeof(values) / sizeof(values[0]) };

    for (int i = 0; i < N * N * N; i++) {
        struct judge_evidence evidence;
        judge_begin(&evidence);
        for (int j = 0; j < N; j++) {
            judge_add_sample(&evidence, j % 2 ? &plain : &lenient,
                             of(values[i % N], values[i / N % N]),
                             of(values[j], values[i / N / N]));
            assert_true(is_finite(&evidence));
        }
    }
}

CASE(looks_without_requests_move_nothing)
{
    struct judge_evidence evidence = after(&plain, 5, of(0, 0), of(9, 900));

    assert_true(fabs(judge_log_worse(&evidence, &plain)) < 1e-12);
    assert_int_equal(evidence.looks, 0);
    evidence = after(&plain, 5, of(9, 900), of(0, 0));
    assert_true(fabs(judge_log_worse(&evidence, &plain)) < 1e-12);
}

/* Earlier samples of the primary help the first sample of the canary. */
CASE(the_primary_may_be_looked_at_before)
{
    struct judge_evidence learned = after(&plain, 6, of(0, 0), of(0, 10000)), fresh;

    judge_begin(&fresh);
    judge_add_sample(&learned, &plain, of(5, 1000), of(0, 9000));
    judge_add_sample(&fresh, &plain, of(5, 1000), of(0, 9000));
    assert_true(judge_log_worse(&learned, &plain) > judge_log_worse(&fresh, &plain));
}

/* Earlier requests are not part of the comparison, nor of the sentence for users. */
CASE(what_was_before_is_not_counted_with_the_release)
{
    struct judge_evidence evidence = after(&plain, 180, of(0, 0), of(50, 10000));
    double before = evidence.before.total;

    assert_string_equal(judge_sentence(arena, &evidence, &plain, "failed"),
                        "the canary had no requests");
    assert_true(before > 0 && before < 180 * 10000);
    judge_add_sample(&evidence, &plain, of(1, 10), of(0, 0));
    assert_string_equal(judge_sentence(arena, &evidence, &plain, "failed"),
                        "the primary had no requests to compare the canary's with");
    judge_add_sample(&evidence, &plain, of(0, 0), of(7, 90));
    assert_true(evidence.primary.total == 90 && evidence.primary.bad == 7);
    assert_true(evidence.before.total == before);
}

/* Evidence written by a version without `before` can be continued. */
CASE(evidence_without_before_is_read)
{
    struct judge_evidence evidence = after(&plain, 3, of(3, 400), of(11, 3600)), back;
    struct json_object *json = judge_write(arena, &evidence);

    json_object_object_del(json, "before");
    assert_true(judge_read(json, &back));
    assert_float_equal(judge_log_worse(&back, &plain), judge_log_worse(&evidence, &plain), 1e-6);
}

/* --- JSON */

CASE(evidence_survives_json)
{
    struct judge_evidence evidence = after(&lenient, 7, of(3, 401), of(11, 3600)), back;
    struct json_object *json = judge_write(arena, &evidence);
    const char *text = json_text(arena, json);

    assert_true(judge_read(json, &back));
    assert_string_equal(json_text(arena, judge_write(arena, &back)), text);
    assert_float_equal(judge_log_worse(&back, &lenient), judge_log_worse(&evidence, &lenient),
                       1e-6);
    assert_int_equal(back.looks, 7);
    assert_true(strlen(text) < 1024);
}

CASE(what_cannot_be_evidence_is_refused)
{
    struct judge_evidence evidence = after(&plain, 3, of(3, 400), of(11, 3600));
    static const char *const patches[] = {
        "{'looks': -1}",         "{'looks': 1.5}",       "{'looks': null}",
        "{'canary': [1, 2]}",    "{'canary': [3]}",      "{'canary': [3, 2, 1]}",
        "{'primary': ['1', 0]}", "{'worse': null}",      "{'notWorse': []}",
        "{'scatter': [-1, 2]}",  "{'lastCanary': null}", "{'recentPrimary': [1e300, 0]}",
        "{'worse': 3}",          "{'before': [1, 2]}",   "{'before': [1]}",
    };

    EACH_ROW (patch, patches) {
        struct json_object *json =
            json_merge(arena, judge_write(arena, &evidence), rows_json(arena, *patch));
        struct judge_evidence back = evidence;
        assert_false(judge_read(json, &back));
        assert_int_equal(back.looks, 0);
    }
    assert_false(judge_read(NULL, &evidence));
}

/* --- sentences */

/* The winnings of all bets, for requests that come alone. */
static void have_won(double log_won[], int count, struct judge_evidence *evidence, double won)
{
    for (int i = 0; i < count; i++)
        log_won[i] = won;
    evidence->scatter = 0;
    evidence->chance = 1e9;
    evidence->squares = 1;
}

CASE(it_explains_itself)
{
    struct judge_evidence evidence = after(&plain, 2, of(7, 354), of(15.5, 3185));

    have_won(evidence.worse, JUDGE_WORSE_BETS, &evidence, log(150));
    assert_string_equal(judge_sentence(arena, &evidence, &plain, "failed"),
                        "canary 14 of 708 requests failed (2.0 %), primary 31 of 6,370 (0.5 %); "
                        "odds that chance alone does this: below 1 in 100");
    have_won(evidence.worse, JUDGE_WORSE_BETS, &evidence, log(100) + 1e-12);
    assert_non_null(strstr(judge_sentence(arena, &evidence, &plain, "failed"), "1 in 100"));
    have_won(evidence.worse, JUDGE_WORSE_BETS, &evidence, 1e6);
    assert_non_null(strstr(judge_sentence(arena, &evidence, &plain, "failed"), "1 in 1,000,000"));
}

CASE(the_other_verdicts_as_well)
{
    struct judge_evidence evidence = after(&lenient, 10, of(2, 200), of(10, 1000));

    have_won(evidence.not_worse, JUDGE_NOT_WORSE_BETS, &evidence, log(345));
    assert_string_equal(
        judge_sentence(arena, &evidence, &lenient, "took longer than 500 ms"),
        "canary 20 of 2,000 requests took longer than 500 ms (1.0 %), primary 100 of 10,000 (1.0 "
        "%, "
        "up to 6.0 % is tolerated); odds that chance alone hides that it is worse: below 1 in 300");
    evidence = after(&plain, 1, of(0, 1), of(3, 100000));
    assert_string_equal(
        judge_sentence(arena, &evidence, &plain, "failed"),
        "canary 0 of 1 request failed (0 %), primary 3 of 100,000 (0.003 %); that is "
        "too little to tell whether the canary is worse");
    evidence = after(&plain, 1, of(0, 0), of(3, 100000));
    assert_string_equal(judge_sentence(arena, &evidence, &plain, "failed"),
                        "the canary had no requests");
    evidence = after(&plain, 1, of(0, 4), of(0, 0));
    assert_string_equal(judge_sentence(arena, &evidence, &plain, "failed"),
                        "the primary had no requests to compare the canary's with");
    judge_begin(&evidence);
    assert_string_equal(judge_sentence(arena, &evidence, &plain, "failed"),
                        "neither canary nor primary had requests");
}
