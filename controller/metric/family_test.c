/*
 * The built-in queries, put to Prometheus itself (promtool): of each family what two workloads have
 * been asked and how long it took, a third that has a name of the same beginning, and one of
 * another
 * namespace; the query of one workload and that of all say the same of each.
 */
#include "metric/family.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "metric/template.h"
#include "test/unit.h"

enum { MAX_TEXT = 1024 * 1024, WORKLOADS = 3 };

extern char **environ;

static const struct render_model workloads[WORKLOADS] = {
    {.name = "a",
     .namespace_ = "test",
     .target = "a",
     .service = "a",
     .ingress = "a",
     .route = "a"},
    {.name = "a1",
     .namespace_ = "test",
     .target = "a1",
     .service = "a1",
     .ingress = "a1",
     .route = "a1"},
    {.name = "a",
     .namespace_ = "next",
     .target = "a",
     .service = "a",
     .ingress = "a",
     .route = "a"},
};

#define POD_SUFFIX "-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"

/* A text that matches the expression after a key. */
static const char *behind(const struct metric_family *family)
{
    static const char *const samples[][2] = {
        {"contour", "-canary_80"}, {"gloo", "-canaryupstream-80_"},
        {"kuma", "_80"},           {"traefik", "-canary-80@kubernetescrd"},
        {"apisix", "-canary_80"},  {"skipper", ""},
    };

    if (family->pods)
        return "-6f7d9c5b4-xx2zz";
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        if (strcmp(samples[i][0], family->name) == 0)
            return samples[i][1];
    }
    return "";
}

static const char *rendered(struct arena *arena, const struct metric_family *family,
                            const char *template, int number)
{
    struct render_model model = workloads[number];
    const char *out;
    struct errinfo ei;

    model.interval = "1m";
    model.plain_words = family->plain_words;
    model.pods = arena_printf(arena, "%s" POD_SUFFIX, model.target);
    if (render_query(arena, template, &model, &out, &ei) != ERR_OK)
        fail_msg("%s: %s", family->name, ei.text);
    return out;
}

static const char *key_of(struct arena *arena, const struct metric_family *family, int number)
{
    return family->plain_words ? arena_printf(arena, "kube_%s__%s_canary__0__%s_canary",
                                              workloads[number].namespace_,
                                              workloads[number].ingress, workloads[number].service)
                               : rendered(arena, family, family->key, number);
}

/* A series with this rate per minute. `are` is written as matchers; for negative matchers, `is` has
 * a sample that matches. */
static void put_series(struct arena *arena, struct buf *buf, const struct metric_family *family,
                       int number, const char *metric, const char *is, int a_minute)
{
    const char *namespace_ = family->namespace_label
                                 ? arena_printf(arena, "%s=\"%s\",", family->namespace_label,
                                                workloads[number].namespace_)
                                 : "";

    /* Gloo's series end with the namespace of the Upstream. */
    const char *end = strcmp(family->name, "gloo") == 0 ? workloads[number].namespace_ : "";

    buf_printf(buf, "      - series: '%s{%s%s=\"%s%s%s\",%s}'\n        values: '0+%dx10'\n", metric,
               namespace_, family->label, key_of(arena, family, number), behind(family), end, is,
               a_minute);
}

/* The label of a matcher such as code!~"5..", with this value; "" if there is no matcher. */
static const char *with_value(struct arena *arena, const char *matcher, const char *value)
{
    return matcher
               ? arena_printf(arena, "%.*s=\"%s\",", (int)strcspn(matcher, "!=~"), matcher, value)
               : "";
}

static const char *fixed(struct arena *arena, const char *are)
{
    const char *value = are ? strchr(are, '"') : NULL;

    if (!are)
        return "";
    return with_value(
        arena, are, strstr(are, "!=") ? "yes" : arena_strndup(arena, value + 1, strlen(value) - 2));
}

static const char *bad_value(const struct metric_family *family)
{
    return strcmp(family->name, "linkerd") == 0 ? "failure"
           : strcmp(family->name, "grpc") == 0  ? "Internal"
                                                : "503";
}

/* Series of another namespace whose names consist of the same words: "te" with the workload
 * "st-a". */
static void put_stranger(struct arena *arena, struct buf *buf, const struct metric_family *family)
{
    if (strcmp(family->name, "gloo") != 0)
        return;
    buf_printf(buf,
               "      - series: '%s{%s=\"%s%ste\",%s}'\n        values: '0+500x10'\n"
               "      - series: '%s{%s=\"%s%ste\",le=\"9\"}'\n        values: '0+500x10'\n",
               family->requests, family->label, key_of(arena, family, 0), behind(family),
               with_value(arena, family->good, bad_value(family)), family->times, family->label,
               key_of(arena, family, 0), behind(family));
}

static void put_input(struct arena *arena, struct buf *buf, const struct metric_family *family)
{
    put_stranger(arena, buf, family);
    for (int i = 0; i < WORKLOADS; i++) {
        const char *are = fixed(arena, family->requests_are);
        put_series(arena, buf, family, i, family->requests,
                   arena_printf(arena, "%s%s", are, with_value(arena, family->good, "200")),
                   90 + i);
        put_series(
            arena, buf, family, i, family->requests,
            arena_printf(arena, "%s%s", are, with_value(arena, family->good, bad_value(family))),
            10);
        are = fixed(arena, family->times_are);
        if (!family->times) {
            put_series(arena, buf, family, i, family->sum, are, 30 * (i + 1));
            put_series(arena, buf, family, i, family->count, are, 100);
            continue;
        }
        if (strcmp(family->times, family->requests) == 0)
            are = with_value(arena, family->good, "200");
        put_series(arena, buf, family, i, family->times,
                   arena_printf(arena, "%sle=\"%d\"", are, i + 1), 50);
        if (strcmp(family->times, family->requests) != 0)
            put_series(arena, buf, family, i, family->times,
                       arena_printf(arena, "%sle=\"+Inf\"", are), 50);
    }
}

/* A text after the key of a primary. */
static const char *behind_primary(const struct metric_family *family)
{
    static const char *const samples[][2] = {{"contour", "-primary_80"},
                                             {"gloo", "-primaryupstream-80_"},
                                             {"traefik", "-primary-80@kubernetescrd"}};

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        if (strcmp(samples[i][0], family->name) == 0)
            return samples[i][1];
    }
    return behind(family);
}

/* The primary of the first workload: 60 good and 20 bad requests a minute. */
static void put_primary(struct arena *arena, struct buf *buf, const struct metric_family *family)
{
    static const struct {
        bool bad;
        int a_minute;
    } rows[] = {{false, 60}, {true, 20}};
    const char *are = family->primary_are ? "" : fixed(arena, family->requests_are);
    const char *namespace_ =
        family->namespace_label ? arena_printf(arena, "%s=\"test\",", family->namespace_label) : "";

    if (family->incomparable)
        return;
    EACH_ROW (row, rows)
        buf_printf(buf, "      - series: '%s{%s%s=\"%s%s\",%s%s}'\n        values: '0+%dx10'\n",
                   family->requests, namespace_, family->label,
                   rendered(arena, family, family->primary_key, 0),
                   arena_printf(arena, "%s%s", behind_primary(family),
                                strcmp(family->name, "gloo") == 0 ? "test" : ""),
                   are, with_value(arena, family->good, row->bad ? bad_value(family) : "200"),
                   row->a_minute);
}

static const char *in_quotes(struct arena *arena, const char *text)
{
    char *out = arena_alloc(arena, 2 * strlen(text) + 1), *to = out;

    for (const char *at = text; *at; at++) {
        if (*at == '\'')
            *to++ = '\'';
        *to++ = *at;
    }
    *to = '\0';
    return out;
}

/* The number of equal values is the number of workloads. */
static void put_equal(struct arena *arena, struct buf *buf, const struct metric_family *family,
                      enum metric_kind kind)
{
    const char *label = metric_family_key_label(family), *each = "";
    const char *template = metric_family_query(arena, family, kind);
    struct metric_member members[WORKLOADS];

    for (int i = 0; i < WORKLOADS; i++) {
        members[i] = (struct metric_member){family->namespace_label ? workloads[i].namespace_ : "",
                                            key_of(arena, family, i)};
        each = arena_printf(
            arena,
            "%s%slabel_replace( label_replace( %s, \"%s\", \"%s\", \"\", \"\" ), "
            "\"%s\", \"%s\", \"\", \"\" )",
            each, *each ? " or " : "", rendered(arena, family, template, i), label, members[i].key,
            family->namespace_label ? family->namespace_label : "nothing", members[i].namespace_);
    }
    const char *all = metric_family_group_query(arena, family, kind,
                                                family->pods    ? POD_SUFFIX
                                                : family->after ? family->after
                                                                : "",
                                                "1m", members, WORKLOADS);
    buf_printf(
        buf, "      - {eval_time: 5m, expr: 'count( (%s) == (%s) )', exp_samples: [{value: %d}]}\n",
        in_quotes(arena, all), in_quotes(arena, each), WORKLOADS);
}

/* The value of the first workload's own query. */
static void put_value(struct arena *arena, struct buf *buf, const struct metric_family *family,
                      enum metric_kind kind)
{
    const char *query = rendered(arena, family, metric_family_query(arena, family, kind), 0);
    bool same = family->times && strcmp(family->times, family->requests) == 0; /* half in +Inf */
    const char *value = kind == METRIC_SUCCESS_RATE ? "90"
                        : same                      ? "1"
                        : family->times             ? "0.99"
                                                    : "0.3";

    const char *unit = kind == METRIC_DURATION && family->in_ms ? " * 1000" : "";
    buf_printf(
        buf,
        "      - {eval_time: 5m, expr: 'abs( (%s) - %s%s ) < bool 1e-9', exp_samples: [{labels: "
        "'{}', value: 1}]}\n",
        in_quotes(arena, query), value, unit);
}

/* Counts of the last minute, from raw counters. */
static void put_counts(struct arena *arena, struct buf *buf, const struct metric_family *family)
{
    static const struct {
        struct metric_count count;
        int is;
    } rows[] = {{{.kind = METRIC_SUCCESS_RATE, .primary = false, .good = false}, 100},
                {{.kind = METRIC_SUCCESS_RATE, .primary = false, .good = true}, 90},
                {{.kind = METRIC_SUCCESS_RATE, .primary = true, .good = false}, 80},
                {{.kind = METRIC_SUCCESS_RATE, .primary = true, .good = true}, 60}};

    if (metric_family_incomparable(arena, family, METRIC_SUCCESS_RATE))
        return;
    EACH_ROW (row, rows) {
        struct render_model model = workloads[0];
        const char *query;
        struct errinfo ei;
        model.interval = "60s";
        model.plain_words = family->plain_words;
        model.pods = row->count.primary ? "a-primary" POD_SUFFIX : "a" POD_SUFFIX;
        if (render_query(arena, metric_family_count_query(arena, family, &row->count), &model,
                         &query, &ei) != ERR_OK)
            fail_msg("%s: %s", family->name, ei.text);
        buf_printf(buf, "      - {eval_time: 5m, expr: '%s', exp_samples: [{value: %d}]}\n",
                   in_quotes(arena, query), row->is);
    }
}

/* One-minute samples of two pods, whose counters are in promtool's notation. In every case each
 * request is in exactly one sample. */
static const struct looks {
    const char *pods[2];
    int from_min, is[10]; /* ends with -1; earlier samples count nothing, or are not taken */
} looks_rows[] = {
    /* a failed scrape, a counter that was reset, a pod that was added later */
    {{"0 100 200 stale 300 20 50", "_ _ _ _ 7 9 9"}, 1, {100, 100, 0, 107, 22, 30, -1}},
    /* a pod that is not scraped for longer than its last value is kept has no new requests in that
     * time */
    {{"0 100 200 _x9 900 950", "0+1x13"}, 6, {1, 1, 1, 1, 1, 1, 701, 51, -1}},
};

static void put_looks(struct arena *arena, struct buf *buf, const struct looks *row)
{
    const char *pod = "http_request_duration_seconds_count{kubernetes_namespace=\"test\",status="
                      "\"200\",kubernetes_pod_name=\"a-1-";
    struct render_model model = workloads[0];
    const char *query;
    struct errinfo ei;

    model.interval = "60s";
    model.pods = "a" POD_SUFFIX;
    if (render_query(arena,
                     metric_family_count_query(arena, metric_family_find("http"),
                                               &(struct metric_count){.kind = METRIC_SUCCESS_RATE}),
                     &model, &query, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    buf_printf(buf,
               "  - interval: 1m\n    input_series:\n"
               "      - series: '%sx\"}'\n        values: '%s'\n"
               "      - series: '%sy\"}'\n        values: '%s'\n"
               "    promql_expr_test:\n",
               pod, row->pods[0], pod, row->pods[1]);
    for (int i = 0; row->is[i] >= 0; i++)
        buf_printf(buf, "      - {eval_time: %dm, expr: '%s', exp_samples: [{value: %d}]}\n",
                   row->from_min + i, in_quotes(arena, query), row->is[i]);
}

static int run_promtool(const char *path)
{
    char *argv[] = {"promtool", "test", "rules", (char *)path, NULL};
    pid_t pid;
    int status;

    if (posix_spawnp(&pid, "promtool", NULL, NULL, argv, environ) != 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

CASE(prometheus_answers_for_all_what_it_answers_for_each)
{
    const struct metric_family *family = NULL;
    struct buf buf;

    buf_init(&buf, MAX_TEXT);
    buf_puts(&buf, "tests:\n");
    while ((family = metric_family_next(family))) {
        buf_puts(&buf, "  - interval: 1m\n    input_series:\n");
        put_input(arena, &buf, family);
        put_primary(arena, &buf, family);
        buf_puts(&buf, "    promql_expr_test:\n");
        put_value(arena, &buf, family, METRIC_SUCCESS_RATE);
        put_value(arena, &buf, family, METRIC_DURATION);
        put_counts(arena, &buf, family);
        if (family->alone)
            continue;
        put_equal(arena, &buf, family, METRIC_SUCCESS_RATE);
        put_equal(arena, &buf, family, METRIC_DURATION);
    }
    EACH_ROW (row, looks_rows)
        put_looks(arena, &buf, row);
    assert_false(buf.truncated);
    int status = run_promtool(unit_put("families.yaml", buf.data));
    buf_fini(&buf);
    if (status == -1 || status == 127) {
        print_message("promtool is not there, the queries are not put to Prometheus\n");
        skip();
    }
    assert_int_equal(status, 0);
}

CASE(what_cannot_be_told_apart_is_asked_apart)
{
    const struct metric_member a = {"test", "a"}, ab = {"test", "a-b"}, a1 = {"test", "a1"},
                               dot = {"test", "a.b"}, none = {"test", ""};

    assert_true(metric_members_clash(&a, &ab));
    assert_true(metric_members_clash(&ab, &a));
    assert_false(metric_members_clash(&a, &a1));
    assert_true(metric_member_is_plain(&ab));
    assert_false(metric_member_is_plain(&dot));
    assert_false(metric_member_is_plain(&none));
}

/* One native histogram has what its series by `le`, or its count, have. */
CASE(native_histograms_are_asked_for_by_name)
{
    static const struct {
        const char *family;
        enum metric_kind kind;
        const char *query; /* NULL: none */
    } rows[] = {
        {"http", METRIC_DURATION,
         "histogram_quantile( 0.99, sum( rate( http_request_duration_seconds{ "
         "kubernetes_namespace=\"{{ namespace }}\", kubernetes_pod_name=~\"{{ pods }}\" "
         "}[{{ interval }}] ) ) )"},
        {"http", METRIC_SUCCESS_RATE,
         "histogram_count( sum( rate( http_request_duration_seconds{ "
         "kubernetes_namespace=\"{{ namespace }}\", kubernetes_pod_name=~\"{{ pods }}\", "
         "status!~\"5.*\" }[{{ interval }}] ) ) ) / histogram_count( sum( rate( "
         "http_request_duration_seconds{ kubernetes_namespace=\"{{ namespace }}\", "
         "kubernetes_pod_name=~\"{{ pods }}\" }[{{ interval }}] ) ) ) * 100"},
        {"istio", METRIC_DURATION,
         "histogram_quantile( 0.99, sum( rate( istio_request_duration_milliseconds{ "
         "destination_workload_namespace=\"{{ namespace }}\", destination_workload=~\"{{ target "
         "}}\", reporter=\"destination\" }[{{ interval }}] ) ) )"},
        {"istio", METRIC_SUCCESS_RATE, NULL},
        {"traefik", METRIC_DURATION,
         "histogram_quantile( 0.99, sum( rate( traefik_service_request_duration_seconds{ "
         "service=~\"{{ namespace }}-{{ target }}-canary-[0-9a-zA-Z-]+@kubernetescrd\" }[{{ "
         "interval }}] ) ) ) * 1000"},
        {"skipper", METRIC_SUCCESS_RATE,
         "histogram_count( sum( rate( skipper_response_duration_seconds{ route=~\"kube(ew)?_{{ "
         "namespace }}__{{ ingress }}_canary__.*__{{ service }}_canary(_[0-9]+)?\", "
         "code!~\"5..\" }[{{ interval }}] ) ) ) / histogram_count( sum( rate( "
         "skipper_response_duration_seconds{ route=~\"kube(ew)?_{{ namespace }}__{{ ingress "
         "}}_canary__.*__{{ service }}_canary(_[0-9]+)?\" }[{{ interval }}] ) ) ) * 100"},
        {"nginx", METRIC_DURATION, NULL},
        {"nginx", METRIC_SUCCESS_RATE, NULL},
    };

    EACH_ROW (row, rows) {
        const struct metric_family *family = metric_family_find(row->family);
        const char *query = metric_family_native_query(arena, family, row->kind);
        assert_int_equal(metric_family_has_native(family, row->kind), row->query != NULL);
        if (row->query)
            assert_string_equal(query, row->query);
        else
            assert_null(query);
    }
}

CASE(counts_of_native_histograms_are_of_all_requests)
{
    static const struct {
        const char *family;
        struct metric_count count;
        const char *series;
    } rows[] = {
        {"http",
         {.kind = METRIC_DURATION, .primary = true},
         "http_request_duration_seconds{ kubernetes_namespace=\"{{ namespace }}\", "
         "kubernetes_pod_name=~\"{{ pods }}\" }"},
        {"http",
         {.kind = METRIC_SUCCESS_RATE, .good = true},
         "http_request_duration_seconds{ kubernetes_namespace=\"{{ namespace }}\", "
         "kubernetes_pod_name=~\"{{ pods }}\", status!~\"5.*\" }"},
        {"traefik",
         {.kind = METRIC_SUCCESS_RATE, .primary = true},
         "traefik_service_request_duration_seconds{ service=~\"{{ namespace }}-{{ target "
         "}}-primary-[0-9a-zA-Z-]+@kubernetescrd\" }"},
    };

    EACH_ROW (row, rows) {
        struct metric_count count = row->count;
        count.native = true;
        assert_string_equal(
            metric_family_count_query(arena, metric_family_find(row->family), &count),
            arena_printf(arena,
                         "sum( increase( %s[{{ interval }}1ms:1s] ) and count_over_time( %s[1h] "
                         "offset {{ interval }} ) or %s )",
                         row->series, row->series, row->series));
    }
}
