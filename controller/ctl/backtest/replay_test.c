/* Past releases under other policies, and what is read from them. */
#include "ctl/backtest/replay.h"

#include <math.h>
#include <string.h>

#include "test/rows.h"
#include "test/unit.h"

#define JUDGE "judge: {type: sequential, every: 10s, minRequests: 100, maxWait: 1h}\n"
#define RATE  "metrics: [{name: request-success-rate, thresholdRange: {min: 0}}]\n"

static struct policy policy_of(struct arena *arena, const char *text)
{
    struct policy policy;
    struct errinfo ei = {0};

    if (policy_parse(arena, "p.yaml", text, strlen(text), &policy, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return policy;
}

static struct past *past_of(struct arena *arena, struct json_object *entry)
{
    struct pasts pasts;
    struct errinfo ei = {0};

    pasts_init(&pasts);
    if (pasts_add(arena, &pasts, "test/podinfo", entry, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return pasts.first;
}

/* A look every ten seconds, at weights of 20, 40 and so on, six of each: 100 requests of the
 * canary, of which `bad` are bad, and 1000 of the primary, of which ten are bad. */
static struct json_object *release_of(struct arena *arena, const char *outcome, int looks, int bad)
{
    struct json_object *entry = rows_json(
        arena, "{'revision':'r1','began':'2026-01-01T00:00:00Z','looks':[{'name':'request-success-"
               "rate','bad':'failed','since':'2026-01-01T00:00:30Z','counts':[]}]}");
    struct json_object *counts =
        json_at(json_elem(json_at(entry, "looks", NULL), 0), "counts", NULL);

    json_set_str(entry, "outcome", outcome);
    for (int i = 1; i <= looks; i++)
        json_object_array_add(
            counts,
            json_object_get(rows_json(arena, arena_printf(arena, "[%d,%d,100,%d,1000,10]", 10 * i,
                                                          20 * ((i - 1) / 6 + 1), bad))));
    return entry;
}

static struct replay replay_of(struct arena *arena, struct json_object *entry, const char *policy)
{
    const struct policy read = policy_of(arena, policy);

    return replay_run(arena, past_of(arena, entry), &read);
}

CASE(a_bad_release_that_was_promoted_would_have_been_rolled_back)
{
    const struct replay replay = replay_of(arena, release_of(arena, "promoted", 18, 8), JUDGE RATE);

    assert_int_equal(replay.end, REPLAY_ROLLED_BACK);
    assert_true(replay.at_s > 30 && replay.at_s < 130);
    /* each look of ten seconds had a hundred requests */
    assert_true(fabs(replay.requests - (double)(replay.at_s - 30) * 10) < 1e-9);
    assert_non_null(strstr(replay.why, "request-success-rate: canary "));
    assert_non_null(strstr(replay.why, "requests failed"));
}

/* The same looks one by one, as the controller takes them. */
CASE(the_verdict_is_that_of_the_judge)
{
    static const struct judge_policy plain = {.false_alarm_rate = 0.01, .share = 1};
    const struct replay replay = replay_of(arena, release_of(arena, "promoted", 18, 5), JUDGE RATE);
    struct judge_evidence evidence;
    int looks = 0;

    judge_begin(&evidence);
    while (judge_verdict(&evidence, &plain) != JUDGE_WORSE && looks++ < 18)
        judge_add_sample(&evidence, &plain, (struct judge_counts){.total = 100, .bad = 5},
                         (struct judge_counts){.total = 1000, .bad = 10});
    assert_int_equal(replay.end, REPLAY_ROLLED_BACK);
    assert_int_equal(replay.at_s, 30 + 10 * looks);
}

CASE(each_end_of_a_replay)
{
    static const struct {
        const char *outcome;
        int looks, bad;
        const char *policy;
        enum replay_end end;
        const char *why;
    } rows[] = {
        {"promoted", 18, 1, JUDGE RATE, REPLAY_PROMOTED, ""},
        /* nothing is known of what would have come */
        {"failed", 3, 1, JUDGE RATE, REPLAY_UNDER_WAY, ""},
        {"cancelled", 3, 1, JUDGE RATE, REPLAY_UNDER_WAY, ""},
        {"promoted", 18, 1, "judge: {type: sequential, minRequests: 700}\n" RATE, REPLAY_UNDER_WAY,
         "has seen 400 of the 700 requests that a step needs"},
        {"promoted", 18, 1,
         "judge: {type: sequential, minRequests: 700, maxWait: 10s, onInconclusive: "
         "promote}\n" RATE,
         REPLAY_UNDER_WAY, "has seen 500 of the 700"},
        {"promoted", 18, 1,
         "judge: {type: sequential, minRequests: 700, maxWait: 5s, onInconclusive: "
         "rollback}\n" RATE,
         REPLAY_ROLLED_BACK, "too little traffic"},
        /* the tolerance is larger than the difference */
        {"promoted", 18, 5,
         "judge: {type: sequential, minRequests: 100, tolerate: {errorRate: 10 %-points}}\n" RATE,
         REPLAY_PROMOTED, ""},
        /* thresholds, checked by the counts */
        {"promoted", 18, 5,
         "interval: 10s\nthreshold: 3\nmetrics: [{name: request-success-rate, interval: 10s, "
         "thresholdRange: {min: 99}}]\n",
         REPLAY_ROLLED_BACK, "3 failed checks, of request-success-rate the last"},
        {"promoted", 18, 5,
         "interval: 10s\nthreshold: 3\nmetrics: [{name: request-success-rate, thresholdRange: "
         "{min: "
         "90}}]\n",
         REPLAY_PROMOTED, ""},
        {"promoted", 18, 1, "metrics: [{name: request-duration, thresholdRange: {max: 500}}]\n",
         REPLAY_UNKNOWN, "no values of request-duration were kept"},
        {"promoted", 18, 1,
         "judge: {type: sequential}\nmetrics: [{name: request-duration, thresholdRange: {max: "
         "500}}]\n",
         REPLAY_UNKNOWN, "no counts of request-duration were kept"},
        /* the known part is enough */
        {"promoted", 18, 9,
         JUDGE "metrics: [{name: request-success-rate, thresholdRange: {min: 0}}, {name: "
               "request-duration, thresholdRange: {max: 500}}]\n",
         REPLAY_ROLLED_BACK, "request-success-rate"},
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        const struct replay replay = replay_of(
            arena, release_of(arena, rows[i].outcome, rows[i].looks, rows[i].bad), rows[i].policy);
        if (replay.end != rows[i].end || !strstr(replay.why, rows[i].why))
            fail_msg("row %zu: %s: %s", i, replay_end_name(replay.end), replay.why);
    }
}

/* Histories of older versions have the canary's values at each step, but no looks at both sides. */
CASE(numbers_and_histograms_are_not_compared_again)
{
    static const char memory[] = "{name: memory, templateRef: {name: memory}, compare: primary}";
    struct replay replay =
        replay_of(arena, release_of(arena, "promoted", 18, 9),
                  arena_printf(arena,
                               "%smetrics: [{name: request-success-rate, thresholdRange: {min: "
                               "0}}, %s]\n",
                               JUDGE, memory));

    assert_int_equal(replay.end, REPLAY_ROLLED_BACK);
    assert_string_equal(replay.note,
                        "memory: the history has no looks of both sides, so that it is "
                        "not compared with the primary's");
    replay = replay_of(arena, release_of(arena, "promoted", 18, 1),
                       arena_printf(arena, "%smetrics: [%s]\n", JUDGE, memory));
    assert_int_equal(replay.end, REPLAY_UNKNOWN);
    assert_non_null(strstr(replay.why, "memory: the history has no looks of both sides"));
    replay = replay_of(arena, release_of(arena, "promoted", 18, 1),
                       JUDGE "metrics: [{name: request-duration, compare: primary}]\n");
    assert_int_equal(replay.end, REPLAY_UNKNOWN);
}

/* --- numbers and latency that were compared */

static struct json_object *compared_of(struct arena *arena, const char *name,
                                       struct json_object *before, const char *beyond)
{
    struct json_object *entry = rows_json(
        arena, arena_printf(
                   arena, "{'outcome':'promoted','looks':[{'name':'%s','beyond':%s,'values':[]}]}",
                   name, beyond));

    json_set(json_elem(json_at(entry, "looks", NULL), 0), "before", before);
    return entry;
}

static void add_values(struct arena *arena, struct json_object *entry, const char *row)
{
    json_object_array_add(json_at(json_elem(json_at(entry, "looks", NULL), 0), "values", NULL),
                          json_object_get(rows_json(arena, row)));
}

/* A primary of 100 with a spread of one; a canary of so much, in rows of so many looks. */
static struct json_object *numbers_of(struct arena *arena, double canary, int rows, int looks)
{
    struct judge_numbers numbers;
    double past[60];

    for (int i = 0; i < 60; i++)
        past[i] = 100 + (i * 7 % 5 - 2) * 0.5;
    judge_numbers_begin(&numbers, false);
    judge_numbers_learn(&numbers, past, 60);
    struct json_object *entry =
        compared_of(arena, "memory", judge_numbers_write(arena, &numbers), "[]");
    for (int i = 1; i <= rows; i++)
        add_values(arena, entry,
                   arena_printf(arena, "[%d,%d,%d,%g,100]", 10 * i * looks, 20 * ((i - 1) / 6 + 1),
                                looks, canary));
    return entry;
}

#define MEMORY "metrics: [{name: memory, templateRef: {name: memory}, compare: primary"

CASE(a_number_is_compared_again)
{
    static const struct {
        double canary;
        int rows, looks;
        const char *metric;
        enum replay_end end;
        const char *why;
    } rows[] = {
        {120, 60, 1, MEMORY "}]\n", REPLAY_ROLLED_BACK,
         "memory: 120 against 100 of the primary, at most 110 is tolerated"},
        /* joined looks count as often */
        {120, 15, 4, MEMORY "}]\n", REPLAY_ROLLED_BACK, "memory: 120 against 100"},
        {120, 60, 1, MEMORY ", judge: {tolerate: 30 %}}]\n", REPLAY_PROMOTED, ""},
        {120, 60, 1, MEMORY ", judge: {tolerate: '10'}}]\n", REPLAY_ROLLED_BACK, "at most 110"},
        {120, 60, 1, MEMORY ", judge: {worse: lower}}]\n", REPLAY_PROMOTED, ""},
        {80, 60, 1, MEMORY ", judge: {worse: lower}}]\n", REPLAY_ROLLED_BACK,
         "at least 90 is tolerated"},
        {105, 60, 1, MEMORY "}]\n", REPLAY_PROMOTED, ""},
        /* looks of both sides say nothing of the last days */
        {120, 60, 1, "metrics: [{name: memory, templateRef: {name: memory}, compare: past}]\n",
         REPLAY_UNKNOWN, "memory: the history has no looks"},
        /* too short for a verdict, and no step would have been made */
        {120, 12, 1, MEMORY "}]\n", REPLAY_UNDER_WAY, "memory is beyond what is tolerated"},
        {120, 60, 1, "metrics: [{name: request-duration, compare: primary}]\n", REPLAY_UNKNOWN,
         "request-duration: the history has no looks of both sides"},
        {120, 60, 1, RATE, REPLAY_UNKNOWN, "no counts of request-success-rate were kept"},
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        const struct replay replay =
            replay_of(arena, numbers_of(arena, rows[i].canary, rows[i].rows, rows[i].looks),
                      arena_printf(arena, "%s%s", JUDGE, rows[i].metric));
        if (replay.end != rows[i].end || !strstr(replay.why, rows[i].why))
            fail_msg("row %zu: %s: %s", i, replay_end_name(replay.end), replay.why);
    }
}

/* The same looks one by one, as the controller takes them. */
CASE(the_verdict_on_a_number_is_that_of_the_judge)
{
    static const struct judge_policy plain = {
        .false_alarm_rate = 0.01, .tolerate = {.ratio = 0.1}, .share = 1};
    struct json_object *entry = numbers_of(arena, 115, 60, 1);
    const struct replay replay = replay_of(arena, entry, JUDGE MEMORY "}]\n");
    struct judge_numbers numbers;
    int looks = 0;

    assert_true(judge_numbers_read(
        json_at(json_elem(json_at(entry, "looks", NULL), 0), "before", NULL), &numbers));
    while (judge_numbers_verdict(&numbers, &plain) != JUDGE_WORSE && looks++ < 60)
        (void)judge_numbers_add(&numbers, &plain, 115, 100);
    assert_int_equal(replay.end, REPLAY_ROLLED_BACK);
    assert_int_equal(replay.at_s, 10 * looks);
}

/* A bound at 100 ms and one at 250; beyond them half and a tenth of the primary's requests. */
static struct json_object *latency_of(struct arena *arena, int beyond, int much_beyond, int rows)
{
    static const double bounds[] = {0.1, 0.25, INFINITY}, counts[] = {5000, 9000, 10000};
    const struct judge_histogram none = {0}, primary = {3, bounds, counts};
    const struct judge_policy plain = {.false_alarm_rate = 0.01, .share = 1};
    struct judge_latency latency;

    judge_latency_begin(&latency);
    for (int i = 0; i < 60; i++)
        assert_true(judge_latency_add(&latency, &plain, &none, &primary));
    struct json_object *entry = compared_of(
        arena, "request-duration", judge_latency_known_write(arena, &latency, 1000), "[0.1,0.25]");
    for (int i = 1; i <= rows; i++)
        add_values(arena, entry,
                   arena_printf(arena, "[%d,%d,1,1000,%d,%d,10000,5000,1000]", 10 * i,
                                20 * ((i - 1) / 6 + 1), beyond, much_beyond));
    return entry;
}

#define LATENCY "metrics: [{name: request-duration, compare: primary"

CASE(latency_is_compared_again)
{
    static const struct {
        int beyond, much_beyond;
        const char *metric;
        enum replay_end end;
        const char *why;
    } rows[] = {
        {700, 200, LATENCY "}]\n", REPLAY_ROLLED_BACK, "request-duration: canary "},
        {500, 200, LATENCY "}]\n", REPLAY_ROLLED_BACK, "requests took longer than 250 ms"},
        {500, 100, LATENCY "}]\n", REPLAY_PROMOTED, ""},
        /* the canary's 250 ms beside the primary's 100 */
        {700, 200, LATENCY ", judge: {tolerate: 50 %}}]\n", REPLAY_PROMOTED, ""},
        {900, 700, LATENCY ", judge: {tolerate: 50 %}}]\n", REPLAY_ROLLED_BACK,
         "took longer than 250 ms, beside the primary's 100 ms"},
        /* the counts have no such threshold */
        {700, 200, "metrics: [{name: request-duration, thresholdRange: {max: 250}}]\n",
         REPLAY_UNKNOWN, "no counts of request-duration were kept"},
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        const struct replay replay =
            replay_of(arena, latency_of(arena, rows[i].beyond, rows[i].much_beyond, 12),
                      arena_printf(arena, "%s%s", JUDGE, rows[i].metric));
        if (replay.end != rows[i].end || !strstr(replay.why, rows[i].why))
            fail_msg("row %zu: %s: %s", i, replay_end_name(replay.end), replay.why);
        if (replay.end == REPLAY_ROLLED_BACK)
            assert_true(replay.requests == (double)replay.at_s * 100);
    }
}

/* For a release that was judged only by thresholds, values are known but no counts. */
CASE(thresholds_are_asked_of_the_values_that_were_kept)
{
    static const char text[] =
        "{'revision':'r','began':'2026-01-01T00:00:00Z','ended':'2026-01-01T00:05:00Z','outcome':"
        "'promoted','steps':[{'at':'2026-01-01T00:01:00Z','weight':20,'checks':[{'name':'request-"
        "duration','value':0.3}]},{'at':'2026-01-01T00:02:00Z','weight':40,'checks':[{'name':"
        "'request-duration','value':0.6}]},{'at':'2026-01-01T00:03:00Z','weight':60,'checks':[{"
        "'name':'request-duration','value':0.7}]}]}";
    struct replay replay = replay_of(
        arena, rows_json(arena, text),
        "threshold: 2\nmetrics: [{name: request-duration, thresholdRange: {max: 500}}]\n");

    assert_int_equal(replay.end, REPLAY_ROLLED_BACK);
    assert_int_equal(replay.at_s, 240); /* one interval after the second failed check */
    replay = replay_of(arena, rows_json(arena, text),
                       "threshold: 2\nmetrics: [{name: request-duration, thresholdRange: {max: "
                       "650}}]\n");
    assert_int_equal(replay.end, REPLAY_PROMOTED);
    replay = replay_of(arena, rows_json(arena, text), JUDGE RATE);
    assert_int_equal(replay.end, REPLAY_UNKNOWN);
}

/* Values are those of the last checks only; counts are those of the whole release, and of each
 * window. */
CASE(counts_go_before_values)
{
    static const char policy[] =
        "interval: 10s\nthreshold: 3\nmetrics: [{name: "
        "request-success-rate, interval: 20s, thresholdRange: {min: 96}}]\n";
    struct json_object *entry = release_of(arena, "promoted", 18, 5);
    struct replay replay;

    json_set(entry, "steps",
             rows_json(arena,
                       "[{'at':'2026-01-01T00:03:00Z','weight':60,'checks':[{'name':'request-"
                       "success-rate','value':100}]}]"));
    replay = replay_of(arena, entry, policy);
    assert_int_equal(replay.end, REPLAY_ROLLED_BACK);
    /* checks at 40, 50 and 60 s, since looks begin at 30 s; takes effect one interval later */
    assert_int_equal(replay.at_s, 70);
}

/* One look of a minute is six checks of ten seconds. */
CASE(requests_are_spread_over_a_long_look)
{
    struct replay replay =
        replay_of(arena,
                  rows_json(arena, "{'outcome':'promoted','looks':[{'name':'request-success-rate',"
                                   "'counts':[[60,20,600,60,600,0]]}]}"),
                  "interval: 10s\nthreshold: 4\nmetrics: [{name: request-success-rate, interval: "
                  "10s, thresholdRange: {min: 99}}]\n");

    assert_int_equal(replay.end, REPLAY_ROLLED_BACK);
    assert_int_equal(replay.at_s, 50);
}

/* Before looks were kept, steps had cumulative counts. */
CASE(sums_at_the_steps_are_looks_of_an_older_history)
{
    static const char text[] =
        "{'revision':'r','began':'2026-01-01T00:00:00Z','outcome':'failed','steps':["
        "{'at':'2026-01-01T00:00:10Z','weight':20},"
        "{'at':'2026-01-01T00:01:00Z','weight':40,'checks':[{'name':'request-success-rate',"
        "'counts':[100,2,1000,10]}]},"
        "{'at':'2026-01-01T00:02:00Z','weight':0,'failed':true,'checks':[{'name':"
        "'request-success-rate','counts':[300,12,1900,20]}]}]}";
    const struct past *past = past_of(arena, rows_json(arena, text));
    const struct past_series *series =
        past_series_of(past, "request-success-rate", JUDGED_REQUESTS);

    assert_int_equal(series->n, 2);
    assert_int_equal(series->samples[0].at_s, 60);
    assert_int_equal(series->samples[0].step, 2000);
    assert_int_equal(series->samples[1].step, 4000);
    assert_true(series->samples[1].canary.total == 200 && series->samples[1].canary.bad == 10);
    assert_true(series->samples[1].primary.total == 900 && past->requests == 300);
}

CASE(another_bound_of_slow_requests_is_told)
{
    struct json_object *entry = release_of(arena, "promoted", 18, 1);
    struct json_object *looks = json_elem(json_at(entry, "looks", NULL), 0);

    json_set_str(looks, "name", "request-duration");
    json_set_str(looks, "bad", "took longer than 500 ms");
    struct replay replay = replay_of(
        arena, entry, JUDGE "metrics: [{name: request-duration, thresholdRange: {max: 250}}]\n");
    assert_string_equal(replay.note, "request-duration: what was counted are requests that took "
                                     "longer than 500 ms");
    assert_int_equal(replay.end, REPLAY_PROMOTED);
}

CASE(what_is_no_release_is_told_with_its_place)
{
    static const struct {
        const char *entry, *says;
    } rows[] = {
        {"1", "expected a release"},
        {"{'outcome':'failed','looks':[{'counts':[]}]}", "looks[0].name: expected"},
        {"{'outcome':'failed','looks':[{'name':'a','counts':[[1,2,3]]}]}",
         "looks[0].counts: expected at most 10000 lists of seconds"},
        {"{'outcome':'failed','looks':[{'name':'a','values':[[1,2,1,1,2]]}]}",
         "looks[0].before: expected what was known of the primary before the looks"},
        {"{'outcome':'failed','looks':[{'name':'a','before':{'unit':1,'bounds':[1],'primary':"
         "[[0,0,0,0,0,0,0,0,0]]},'values':[[1,2,1,1,2]]}]}",
         "looks[0].values: expected at most 10000 lists of seconds, rising, step, looks, and 4 "
         "numbers"},
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        struct pasts pasts;
        struct errinfo ei = {0};
        pasts_init(&pasts);
        assert_int_equal(pasts_add(arena, &pasts, "", rows_json(arena, rows[i].entry), &ei),
                         ERR_INVALID);
        assert_non_null(strstr(ei.text, rows[i].says));
    }
}
