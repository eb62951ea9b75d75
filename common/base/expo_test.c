#include "base/expo.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "test/unit.h"

static struct expo_metric requests = {.name = "x_requests_total",
                                      .help = "Requests.",
                                      .type = EXPO_COUNTER,
                                      .labels = {"path", "code"}};
static struct expo_metric weight = {
    .name = "x_weight", .help = "Weight\nin \\ %.", .type = EXPO_GAUGE};
static const double bounds[] = {0.1, 1, 10, 0};
static struct expo_metric seconds = {.name = "a_seconds",
                                     .help = "Time.",
                                     .type = EXPO_HISTOGRAM,
                                     .labels = {"kind"},
                                     .buckets = bounds};
static struct expo_metric plain_seconds = {
    .name = "b_seconds", .help = "Time.", .type = EXPO_HISTOGRAM};
static struct expo_metric few = {
    .name = "x_few", .help = "Few.", .type = EXPO_GAUGE, .labels = {"name"}, .max_samples = 2};

static int forget_all(void **state)
{
    expo_reset();
    return 0;
}

UNIT_FIXTURE(.tear_down = forget_all);

/* What is written of our own metrics; those of the process follow. */
static const char *written(struct arena *arena)
{
    struct buf out;
    buf_init(&out, SIZE_MAX);
    expo_write(&out);
    char *text = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    char *process = strstr(text, "# HELP process_");
    assert_non_null(process);
    *process = '\0';
    return text;
}

#define DROPPED(n)                                                                                 \
    "# HELP expo_dropped_samples_total Updates of label sets beyond a metric's maximum, which "    \
    "were dropped.\n"                                                                              \
    "# TYPE expo_dropped_samples_total counter\n"                                                  \
    "expo_dropped_samples_total " n "\n"

CASE(counters_and_gauges)
{
    expo_register(&weight);
    expo_register(&requests); /* has labels: nothing to show yet */
    expo_add(&requests, 1, "/b", "200");
    expo_add(&requests, 1, "/a", "200");
    expo_add(&requests, 0.5, "/b", "200");
    assert_string_equal(written(arena),
                        DROPPED("0") "# HELP x_requests_total Requests.\n"
                                     "# TYPE x_requests_total counter\n"
                                     "x_requests_total{path=\"/b\",code=\"200\"} 1.5\n"
                                     "x_requests_total{path=\"/a\",code=\"200\"} 1\n"
                                     "# HELP x_weight Weight\\nin \\\\ %.\n"
                                     "# TYPE x_weight gauge\n"
                                     "x_weight 0\n");
    expo_set(&weight, -2.25);
    expo_add(&weight, 1);
    assert_true(expo_value(&weight) == -1.25);
    assert_true(expo_value(&requests, "/b", "200") == 1.5);
    assert_true(expo_value(&requests, "/b", "500") == 0);
}

CASE(histograms_are_cumulative)
{
    static const double observed[] = {0.05, 0.1, 0.5, 5, 50, 1};
    for (size_t i = 0; i < 6; i++)
        expo_observe(&seconds, observed[i], "x");
    assert_true(expo_value(&seconds, "x") == 6);
    assert_string_equal(written(arena), "# HELP a_seconds Time.\n"
                                        "# TYPE a_seconds histogram\n"
                                        "a_seconds_bucket{kind=\"x\",le=\"0.1\"} 2\n"
                                        "a_seconds_bucket{kind=\"x\",le=\"1\"} 4\n"
                                        "a_seconds_bucket{kind=\"x\",le=\"10\"} 5\n"
                                        "a_seconds_bucket{kind=\"x\",le=\"+Inf\"} 6\n"
                                        "a_seconds_sum{kind=\"x\"} 56.65\n"
                                        "a_seconds_count{kind=\"x\"} 6\n" DROPPED("0"));
    expo_observe(&plain_seconds, 0.005);
    const char *text = written(arena);
    assert_non_null(strstr(text, "b_seconds_bucket{le=\"0.005\"} 1\n"));
    assert_non_null(strstr(text, "b_seconds_bucket{le=\"2.5\"} 1\n"));
    assert_non_null(strstr(text, "b_seconds_sum 0.005\nb_seconds_count 1\n"));
}

CASE(odd_values_are_escaped)
{
    expo_set(&few, NAN, "a\"b\\c\nd\xff\xc3\xa9");
    expo_set(&few, -INFINITY, "");
    const char *text = written(arena);
    assert_non_null(strstr(text, "x_few{name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\"} NaN\n"));
    assert_non_null(strstr(text, "x_few{name=\"\"} -Inf\n"));
}

CASE(samples_have_a_maximum)
{
    expo_set(&few, 1, "a");
    expo_set(&few, 2, "b");
    expo_set(&few, 3, "c");
    expo_set(&few, 4, "c");
    expo_set(&few, 5, "a");
    assert_true(expo_value(&few, "a") == 5);
    assert_true(expo_value(&few, "c") == 0);
    assert_non_null(strstr(written(arena), DROPPED("2")));
    expo_forget(&few, "a");
    expo_forget(&few, "a");
    expo_set(&few, 6, "c");
    assert_non_null(strstr(written(arena), "x_few{name=\"b\"} 2\nx_few{name=\"c\"} 6\n"));
}

CASE(values_are_told_apart_by_their_bounds)
{
    expo_add(&requests, 1, "ab", "c");
    expo_add(&requests, 2, "a", "bc");
    expo_add(&requests, 4, "", "abc");
    assert_true(expo_value(&requests, "ab", "c") == 1);
    assert_true(expo_value(&requests, "a", "bc") == 2);
    assert_true(expo_value(&requests, "", "abc") == 4);
}

CASE(many_samples_come_and_go)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5000; i++)
            expo_add(&requests, i, arena_printf(arena, "/%d", i), "200");
        for (int i = 0; i < 5000; i += 2)
            expo_forget(&requests, arena_printf(arena, "/%d", i), "200");
        for (int i = 0; i < 5000; i++) {
            double expected = i % 2 ? (double)i * (round + 1) : 0;
            assert_true(expo_value(&requests, arena_printf(arena, "/%d", i), "200") == expected);
        }
        assert_int_equal(requests.count, 2500);
    }
    for (int i = 1; i < 5000; i += 2)
        expo_forget(&requests, arena_printf(arena, "/%d", i), "200");
    assert_int_equal(requests.count, 0);
    assert_null(strstr(written(arena), "x_requests_total"));
}

CASE(samples_go_by_their_first_labels)
{
    static struct expo_metric checks = {
        .name = "test_checks", .help = "h", .type = EXPO_GAUGE, .labels = {"name", "check"}};
    expo_forget_all(&checks, "a");
    expo_set(&checks, 1, "a", "x");
    expo_set(&checks, 2, "b", "x");
    expo_set(&checks, 3, "a", "y");
    expo_forget_all(&checks, "a");
    assert_int_equal(checks.count, 1);
    assert_true(expo_value(&checks, "b", "x") == 2);
    expo_forget_all(&checks, "b", "x");
    assert_int_equal(checks.count, 0);
    assert_null(checks.samples);
}

/* A sample is found by a text of all its values: no two lists of values make the same one. */
CASE(values_are_told_apart_by_where_they_end)
{
    static const char *const pairs[][2] = {
        {"a", "bc"},  {"ab", "c"},    {"a\1", "b"}, {"a", "\1b"},
        {"a\2", "b"}, {"a\2\1", "b"}, {"", "a\1b"},
    };
    enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]), LONG = 300 };
    char text[LONG + 1];

    memset(text, 'x', LONG);
    text[LONG] = '\0';
    for (int i = 0; i < PAIRS; i++)
        expo_add(&requests, i + 1, pairs[i][0], pairs[i][1]);
    expo_add(&requests, 100, text, "1");
    expo_add(&requests, 200, text, "2");
    for (int i = 0; i < PAIRS; i++)
        assert_float_equal(expo_value(&requests, pairs[i][0], pairs[i][1]), i + 1, 0);
    assert_float_equal(expo_value(&requests, text, "1"), 100, 0);
    expo_forget(&requests, text, "1");
    assert_float_equal(expo_value(&requests, text, "1"), 0, 0);
    assert_float_equal(expo_value(&requests, text, "2"), 200, 0);
}

CASE(reset_forgets_all)
{
    expo_add(&requests, 1, "/", "200");
    expo_observe(&seconds, 1, "x");
    expo_reset();
    assert_true(expo_value(&requests, "/", "200") == 0);
    assert_string_equal(written(arena), DROPPED("0"));
    expo_add(&requests, 2, "/", "200");
    assert_true(expo_value(&requests, "/", "200") == 2);
    expo_reset();
    expo_reset();
}
