#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "test/unit.h"

static struct metrics_family requests = {.name = "x_requests_total",
                                         .help = "Requests.",
                                         .type = METRICS_COUNTER,
                                         .labels = {"path", "code"}};
static struct metrics_family weight = {
    .name = "x_weight", .help = "Weight\nin \\ %.", .type = METRICS_GAUGE};
static const double bounds[] = {0.1, 1, 10, 0};
static struct metrics_family seconds = {.name = "a_seconds",
                                        .help = "Time.",
                                        .type = METRICS_HISTOGRAM,
                                        .labels = {"kind"},
                                        .buckets = bounds};
static struct metrics_family plain_seconds = {
    .name = "b_seconds", .help = "Time.", .type = METRICS_HISTOGRAM};
static struct metrics_family few = {
    .name = "x_few", .help = "Few.", .type = METRICS_GAUGE, .labels = {"name"}, .max_samples = 2};

static int forget_all(void **state)
{
    metrics_reset();
    return 0;
}

UNIT_FIXTURE(.tear_down = forget_all);

/* The text of our own metrics, without those of the process. */
static const char *written(struct arena *arena)
{
    struct buf out;
    buf_init(&out, SIZE_MAX);
    metrics_write(&out);
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
    metrics_register(&weight);
    metrics_register(&requests); /* has labels: no sample yet */
    metrics_add(&requests, 1, "/b", "200");
    metrics_add(&requests, 1, "/a", "200");
    metrics_add(&requests, 0.5, "/b", "200");
    assert_string_equal(written(arena),
                        DROPPED("0") "# HELP x_requests_total Requests.\n"
                                     "# TYPE x_requests_total counter\n"
                                     "x_requests_total{path=\"/b\",code=\"200\"} 1.5\n"
                                     "x_requests_total{path=\"/a\",code=\"200\"} 1\n"
                                     "# HELP x_weight Weight\\nin \\\\ %.\n"
                                     "# TYPE x_weight gauge\n"
                                     "x_weight 0\n");
    metrics_set(&weight, -2.25);
    metrics_add(&weight, 1);
    assert_true(metrics_value(&weight) == -1.25);
    assert_true(metrics_value(&requests, "/b", "200") == 1.5);
    assert_true(metrics_value(&requests, "/b", "500") == 0);
}

CASE(histograms_are_cumulative)
{
    static const double observed[] = {0.05, 0.1, 0.5, 5, 50, 1};
    for (size_t i = 0; i < 6; i++)
        metrics_observe(&seconds, observed[i], "x");
    assert_true(metrics_value(&seconds, "x") == 6);
    assert_string_equal(written(arena), "# HELP a_seconds Time.\n"
                                        "# TYPE a_seconds histogram\n"
                                        "a_seconds_bucket{kind=\"x\",le=\"0.1\"} 2\n"
                                        "a_seconds_bucket{kind=\"x\",le=\"1\"} 4\n"
                                        "a_seconds_bucket{kind=\"x\",le=\"10\"} 5\n"
                                        "a_seconds_bucket{kind=\"x\",le=\"+Inf\"} 6\n"
                                        "a_seconds_sum{kind=\"x\"} 56.65\n"
                                        "a_seconds_count{kind=\"x\"} 6\n" DROPPED("0"));
    metrics_observe(&plain_seconds, 0.005);
    const char *text = written(arena);
    assert_non_null(strstr(text, "b_seconds_bucket{le=\"0.005\"} 1\n"));
    assert_non_null(strstr(text, "b_seconds_bucket{le=\"2.5\"} 1\n"));
    assert_non_null(strstr(text, "b_seconds_sum 0.005\nb_seconds_count 1\n"));
}

CASE(odd_values_are_escaped)
{
    metrics_set(&few, NAN, "a\"b\\c\nd\xff\xc3\xa9");
    metrics_set(&few, -INFINITY, "");
    const char *text = written(arena);
    assert_non_null(strstr(text, "x_few{name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\"} NaN\n"));
    assert_non_null(strstr(text, "x_few{name=\"\"} -Inf\n"));
}

CASE(samples_have_a_maximum)
{
    metrics_set(&few, 1, "a");
    metrics_set(&few, 2, "b");
    metrics_set(&few, 3, "c");
    metrics_set(&few, 4, "c");
    metrics_set(&few, 5, "a");
    assert_true(metrics_value(&few, "a") == 5);
    assert_true(metrics_value(&few, "c") == 0);
    assert_non_null(strstr(written(arena), DROPPED("2")));
    metrics_forget(&few, "a");
    metrics_forget(&few, "a");
    metrics_set(&few, 6, "c");
    assert_non_null(strstr(written(arena), "x_few{name=\"b\"} 2\nx_few{name=\"c\"} 6\n"));
}

CASE(values_are_told_apart_by_their_bounds)
{
    metrics_add(&requests, 1, "ab", "c");
    metrics_add(&requests, 2, "a", "bc");
    metrics_add(&requests, 4, "", "abc");
    assert_true(metrics_value(&requests, "ab", "c") == 1);
    assert_true(metrics_value(&requests, "a", "bc") == 2);
    assert_true(metrics_value(&requests, "", "abc") == 4);
}

CASE(many_samples_come_and_go)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5000; i++)
            metrics_add(&requests, i, arena_printf(arena, "/%d", i), "200");
        for (int i = 0; i < 5000; i += 2)
            metrics_forget(&requests, arena_printf(arena, "/%d", i), "200");
        for (int i = 0; i < 5000; i++) {
            double expected = i % 2 ? (double)i * (round + 1) : 0;
            assert_true(metrics_value(&requests, arena_printf(arena, "/%d", i), "200") == expected);
        }
        assert_int_equal(requests.count, 2500);
    }
    for (int i = 1; i < 5000; i += 2)
        metrics_forget(&requests, arena_printf(arena, "/%d", i), "200");
    assert_int_equal(requests.count, 0);
    assert_null(strstr(written(arena), "x_requests_total"));
}

CASE(samples_go_by_their_first_labels)
{
    static struct metrics_family checks = {
        .name = "test_checks", .help = "h", .type = METRICS_GAUGE, .labels = {"name", "check"}};
    metrics_forget_all(&checks, "a");
    metrics_set(&checks, 1, "a", "x");
    metrics_set(&checks, 2, "b", "x");
    metrics_set(&checks, 3, "a", "y");
    metrics_forget_all(&checks, "a");
    assert_int_equal(checks.count, 1);
    assert_true(metrics_value(&checks, "b", "x") == 2);
    metrics_forget_all(&checks, "b", "x");
    assert_int_equal(checks.count, 0);
    assert_null(checks.samples);
}

/* Different lists of label values never share a sample. */
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
        metrics_add(&requests, i + 1, pairs[i][0], pairs[i][1]);
    metrics_add(&requests, 100, text, "1");
    metrics_add(&requests, 200, text, "2");
    for (int i = 0; i < PAIRS; i++)
        assert_float_equal(metrics_value(&requests, pairs[i][0], pairs[i][1]), i + 1, 0);
    assert_float_equal(metrics_value(&requests, text, "1"), 100, 0);
    metrics_forget(&requests, text, "1");
    assert_float_equal(metrics_value(&requests, text, "1"), 0, 0);
    assert_float_equal(metrics_value(&requests, text, "2"), 200, 0);
}

CASE(reset_forgets_all)
{
    metrics_add(&requests, 1, "/", "200");
    metrics_observe(&seconds, 1, "x");
    metrics_reset();
    assert_true(metrics_value(&requests, "/", "200") == 0);
    assert_string_equal(written(arena), DROPPED("0"));
    metrics_add(&requests, 2, "/", "200");
    assert_true(metrics_value(&requests, "/", "200") == 2);
    metrics_reset();
    metrics_reset();
}

static double value_of(const char *name)
{
    struct buf out;
    buf_init(&out, SIZE_MAX);
    metrics_write(&out);
    char *line = heap_printf("\n%s ", name);
    const char *found = strstr(out.data, line);
    assert_non_null(found);
    double value = strtod(found + strlen(line), NULL);
    free(line);
    buf_fini(&out);
    return value;
}

CASE(memory_is_plausible)
{
    double bytes = value_of("process_resident_memory_bytes");
    assert_true(bytes > 100e3 && bytes < 100e9);
}

CASE(open_descriptors_are_counted)
{
    double before = value_of("process_open_fds");
    int fd = dup(STDERR_FILENO);
    assert_true(value_of("process_open_fds") == before + 1);
    close(fd);
    assert_true(value_of("process_open_fds") == before);
}

CASE(cpu_time_grows)
{
    double before = value_of("process_cpu_seconds_total");
    int64_t deadline = clock_monotonic_ms() + 20000;
    while (value_of("process_cpu_seconds_total") <= before)
        assert_true(clock_monotonic_ms() < deadline);
}

CASE(the_start_is_in_the_past)
{
    double now = (double)clock_wall_ms() / 1000, start = value_of("process_start_time_seconds");
    assert_true(start <= now + 2 && start > now - 3600);
}
