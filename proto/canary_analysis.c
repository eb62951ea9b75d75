/*
 * The analysis of a Canary: metrics, webhooks, alerts, judge, and its numbers.
 *
 * spec.analysis has exactly one of iterations, stepWeight, stepWeights and steps.
 * spec.canaryAnalysis is older than that rule and may have several of them, or none.
 */
#include "proto/canary.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/quantity.h"
#include "proto/canary_parts.h"
#include "proto/webhook_message.h"
#include "proto/weight.h"

/* --- metrics whose queries the router supplies */

bool canary_metric_is_success_rate(const struct canary_metric *metric)
{
    return metric->name != NULL && strcmp(metric->name, "request-success-rate") == 0;
}

bool canary_metric_is_duration(const struct canary_metric *metric)
{
    return metric->name != NULL && strcmp(metric->name, "request-duration") == 0;
}

bool canary_metric_is_builtin(const struct canary_metric *metric)
{
    return canary_metric_is_success_rate(metric) || canary_metric_is_duration(metric);
}

bool canary_metric_is_latency(const struct canary_metric *metric)
{
    return metric->compares && canary_metric_is_duration(metric);
}

/* --- spec.analysis.judge, and the judge of a metric */

enum {
    SECOND_MS = 1000,
    LEAST_EVERY_MS = 5 * SECOND_MS,
    MOST_METRICS = 10,
    TOLERANCE_DIGITS = 20,
};
static const double default_rate = 0.01, largest_rate = 0.5, percent = 100, most_times = 10;

/* "10 %" is relative to the primary's share, "0.2 %-points" is a share of all requests. */
static bool parse_tolerance(const char *text, double most, struct canary_tolerance *out)
{
    size_t len = strspn(text, "0123456789.");
    char *end;

    if (len == 0 || len > TOLERANCE_DIGITS || !isdigit((unsigned char)text[0]))
        return false;
    double value = strtod(text, &end) / percent;
    if (end != text + len || value > most)
        return false;
    end += strspn(end, " ");
    if (strcmp(end, "%") == 0)
        *out = (struct canary_tolerance){.ratio = value};
    else if (strcmp(end, "%-points") == 0)
        *out = (struct canary_tolerance){.points = value};
    else
        return false;
    return true;
}

static bool read_tolerance(struct json_reader *r, struct json_object *json, const char *key,
                           struct canary_tolerance *out)
{
    const char *text = canary_read_name(r, json, key, JSON_OPTIONAL);

    if (text == NULL)
        return false;
    if (!parse_tolerance(text, 1, out))
        json_reader_fail(r, json, key,
                         "expected a part of the primary's share such as \"10 %%\", or of all "
                         "requests such as \"0.2 %%-points\", of at most 100, found \"%s\"",
                         text);
    return true;
}

/* For a compared number: "10 %" of the primary's, or an amount such as "5Mi". */
static bool parse_amount(const char *text, struct canary_tolerance *out)
{
    struct quantity quantity;
    struct errinfo ignored;

    if (parse_tolerance(text, most_times, out))
        return out->points == 0;
    if (!isdigit((unsigned char)text[0]) || quantity_parse(text, &quantity, &ignored) != ERR_OK)
        return false;
    *out = (struct canary_tolerance){.points = (double)quantity.wide * pow(10, quantity.scale)};
    return isfinite(out->points);
}

static bool read_amount(struct json_reader *r, struct json_object *json, bool latency,
                        struct canary_tolerance *out)
{
    const char *text = canary_read_name(r, json, "tolerate", JSON_OPTIONAL);

    if (text == NULL)
        return false;
    if (latency && (!parse_tolerance(text, most_times, out) || out->points > 0))
        json_reader_fail(r, json, "tolerate",
                         "expected a part of the primary's latency such as \"10 %%\", of at most "
                         "1000, found \"%s\"",
                         text);
    else if (!latency && !parse_amount(text, out))
        json_reader_fail(r, json, "tolerate",
                         "expected a part of the primary's number such as \"10 %%\", of at most "
                         "1000, or an amount such as \"20\" or \"5Mi\", found \"%s\"",
                         text);
    return true;
}

static void check(struct json_reader *r, struct json_object *json, const struct canary_judge *judge)
{
    const char *type = json_read_str(r, json, "type", JSON_REQUIRED);

    if (r->err != ERR_OK)
        return;
    if (strcmp(type, "sequential") != 0)
        json_reader_fail(r, json, "type", "expected sequential, found \"%s\"", type);
    else if (!(judge->false_alarm_rate > 0 && judge->false_alarm_rate <= largest_rate))
        json_reader_fail(r, json, "falseAlarmRate",
                         "expected a number above 0 and not above %g, found %g", largest_rate,
                         judge->false_alarm_rate);
    else if (judge->every_ms < LEAST_EVERY_MS || judge->every_ms % SECOND_MS != 0)
        json_reader_fail(r, json, "every", "expected whole seconds, at least %ds, found \"%s\"",
                         LEAST_EVERY_MS / SECOND_MS, json_str_at(json, "every", NULL));
}

static void canary_read_judge(struct json_reader *r, struct json_object *analysis,
                              struct canary_judge *out)
{
    struct json_object *json = json_read_obj(r, analysis, "judge", JSON_OPTIONAL);
    struct json_object *tolerate = json_read_obj(r, json, "tolerate", JSON_OPTIONAL);

    *out = (struct canary_judge){.given = json != NULL};
    if (json == NULL)
        return;
    out->false_alarm_rate = json_read_num(r, json, "falseAlarmRate", default_rate);
    read_tolerance(r, tolerate, "errorRate", &out->error_rate);
    read_tolerance(r, tolerate, "latency", &out->latency);
    canary_read_fields(r, json, FIELDS_JUDGE, out);
    check(r, json, out);
}

static bool has_own_query(const struct canary_metric *metric)
{
    return !canary_metric_is_builtin(metric) &&
           (metric->template_ref.name != NULL || (metric->query != NULL && *metric->query));
}

static void read_compare(struct json_reader *r, struct json_object *metric, bool judged,
                         struct canary_metric *out)
{
    const char *to = canary_read_name(r, metric, "compare", JSON_OPTIONAL);

    out->compares = to != NULL;
    if (to == NULL)
        return;
    out->past = strcmp(to, "past") == 0;
    if (!out->past && strcmp(to, "primary") != 0)
        json_reader_fail(r, metric, "compare", "expected primary or past, found \"%s\"", to);
    else if (out->past && !has_own_query(out))
        json_reader_fail(r, metric, "compare",
                         "expected primary, or past on a metric with a query or a templateRef, "
                         "found past on \"%s\"",
                         out->name);
    else if (!out->past && !canary_metric_is_duration(out) &&
             (canary_metric_is_success_rate(out) || out->template_ref.name == NULL))
        json_reader_fail(r, metric, "compare",
                         "expected on request-duration or a metric with a templateRef, which are "
                         "asked for canary and primary, found on \"%s\"",
                         out->name);
    else if (!judged)
        json_reader_fail(r, metric, "compare", "expected only with spec.analysis.judge");
}

/* worse: only for a compared number. */
static void read_worse(struct json_reader *r, struct json_object *json, struct canary_metric *out)
{
    const char *worse = canary_read_name(r, json, "worse", JSON_OPTIONAL);

    if (worse == NULL)
        return;
    out->judge.lower = strcmp(worse, "lower") == 0;
    if (!out->judge.lower && strcmp(worse, "higher") != 0)
        json_reader_fail(r, json, "worse", "expected higher or lower, found \"%s\"", worse);
    else if (!out->compares)
        json_reader_fail(r, json, "worse", "expected only with compare");
    else if (canary_metric_is_duration(out) && out->judge.lower)
        json_reader_fail(r, json, "worse", "expected higher on request-duration, found \"lower\"");
}

static void canary_read_metric_judge(struct json_reader *r, struct json_object *metric, bool judged,
                                     struct canary_metric *out)
{
    struct json_object *json = json_read_obj(r, metric, "judge", JSON_OPTIONAL);

    out->judge = (struct canary_metric_judge){.given = json != NULL};
    if (json == NULL)
        return;
    out->judge.off = !json_read_bool(r, json, "enabled", true);
    out->judge.has_tolerance =
        out->compares ? read_amount(r, json, canary_metric_is_duration(out), &out->judge.tolerate)
                      : read_tolerance(r, json, "tolerate", &out->judge.tolerate);
    read_worse(r, json, out);
    if (out->judge.off && out->compares)
        json_reader_fail(r, metric, "compare", "expected without judge.enabled: false");
    else if (!judged)
        json_reader_fail(r, metric, "judge", "expected only with spec.analysis.judge");
    else if (!out->judge.off && !out->past && !canary_metric_is_builtin(out) &&
             out->template_ref.name == NULL)
        json_reader_fail(r, metric, "judge",
                         "expected on request-success-rate, request-duration or a metric with a "
                         "templateRef, whose counts can be asked for, found on \"%s\"",
                         out->name);
}

static void check_duration(struct json_reader *r, struct json_object *array, int index,
                           const struct canary_metric *metric)
{
    double most = metric->has_range ? metric->max : metric->threshold;
    bool has_most = metric->has_range ? metric->has_max : metric->has_threshold;

    if (metric->judge.off || !canary_metric_is_duration(metric) || metric->compares)
        return;
    if (!has_most || !(most > 0) || !isfinite(most))
        json_reader_fail(r, json_read_elem(r, array, (size_t)index), NULL,
                         "expected with thresholdRange.max above 0: spec.analysis.judge counts the "
                         "requests that are slower");
}

static void canary_check_judge(struct json_reader *r, struct json_object *analysis,
                               const struct canary_analysis *out)
{
    int judged = 0;

    if (!out->judge.given || r->err != ERR_OK)
        return;
    struct json_object *array = json_read_array(r, analysis, "metrics", JSON_OPTIONAL);
    for (int i = 0; i < out->n_metrics && r->err == ERR_OK; i++) {
        const struct canary_metric *metric = &out->metrics[i];
        judged += !metric->judge.off && (canary_metric_is_builtin(metric) ||
                                         metric->template_ref.name != NULL || metric->past);
        check_duration(r, array, i, metric);
    }
    if (judged > MOST_METRICS)
        json_reader_fail(r, analysis, "judge",
                         "expected at most %d metrics without judge.enabled: false, found %d",
                         MOST_METRICS, judged);
    if (judged == 0)
        json_reader_fail(r, analysis, "judge",
                         "expected a metric that it can judge: request-success-rate, "
                         "request-duration or a MetricTemplate with queries or compare: primary, "
                         "found none");
}

/* --- metrics, webhooks, alerts */

enum { DEFAULT_TIMEOUT_MS = 10 * 1000, MAX_HEADERS_FROM = 8 };

static const struct {
    const char *name;
    bool gate;
} hook_types[] = {
#define HOOK_TYPE(id, name, gate) [HOOK_##id] = {name, gate},
#include "proto/hook_type.def"
#undef HOOK_TYPE
};
enum { N_HOOK_TYPES = sizeof hook_types / sizeof hook_types[0] };

const char *hook_type_name(enum hook_type type)
{
    return hook_types[type].name;
}

bool hook_type_find(const char *name, enum hook_type *out)
{
    *out = HOOK_ROLLOUT;
    if (name == NULL || name[0] == '\0')
        return true;
    for (int i = 0; i < N_HOOK_TYPES; i++) {
        *out = (enum hook_type)i;
        if (strcmp(hook_types[i].name, name) == 0)
            return true;
    }
    return false;
}

bool hook_type_is_gate(enum hook_type type)
{
    return hook_types[type].gate;
}

static double read_bound(struct json_reader *r, struct json_object *obj, const char *key, bool *has)
{
    *has = json_at(obj, key, NULL) != NULL;
    return json_read_num(r, obj, key, 0);
}

static void read_load_test(struct json_reader *r, struct json_object *metric,
                           struct canary_metric *out)
{
    struct json_object *json = json_read_obj(r, metric, "loadTest", JSON_OPTIONAL);

    out->load_test = (struct canary_load_test){.given = json != NULL};
    if (json == NULL)
        return;
    (void)json_read_str(r, json, "figure", JSON_REQUIRED);
    canary_read_fields(r, json, FIELDS_LOAD_TEST, &out->load_test);
    if (canary_metric_is_builtin(out) || out->query != NULL || out->template_ref.name != NULL)
        json_reader_fail(
            r, metric, "loadTest",
            "expected without query and templateRef, and not on %s, which ask a metric "
            "server",
            "request-success-rate or request-duration");
}

const char *load_figure_key(enum load_figure figure)
{
    static const char *const keys[] = {
        [FIGURE_FAILURE_RATE] = "failureRate",
        [FIGURE_FAILURES] = "failures",
        [FIGURE_REQUESTS] = "requests",
        [FIGURE_P50] = "p50",
        [FIGURE_P90] = "p90",
        [FIGURE_P95] = "p95",
        [FIGURE_P99] = "p99",
        [FIGURE_MAX] = "max",
    };

    return keys[figure];
}

int canary_load_webhook(const struct canary_analysis *analysis,
                        const struct canary_load_test *load_test)
{
    int found = -1;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        if (hook->type != HOOK_ROLLOUT || !webhook_is_load(hook->metadata))
            continue;
        if (load_test->webhook != NULL && strcmp(load_test->webhook, hook->name) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* Must be called after the webhooks were read. */
static void check_load_tests(struct json_reader *r, struct json_object *analysis,
                             const struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, analysis, "metrics", JSON_OPTIONAL);

    for (int i = 0; i < out->n_metrics && r->err == ERR_OK; i++) {
        const struct canary_load_test *test = &out->metrics[i].load_test;
        if (!test->given || canary_load_webhook(out, test) >= 0)
            continue;
        if (test->webhook != NULL)
            json_reader_fail(r, json_read_elem(r, array, (size_t)i), "loadTest",
                             "expected one webhook of type rollout with metadata.type job or k6 "
                             "and the name \"%.80s\"",
                             test->webhook);
        else
            json_reader_fail(r, json_read_elem(r, array, (size_t)i), "loadTest",
                             "expected one webhook of type rollout with metadata.type job or k6, "
                             "or the name of one (webhook)");
    }
}

static void read_metric(struct json_reader *r, struct json_object *json, bool judged,
                        struct canary_metric *out)
{
    out->name = json_read_str(r, json, "name", JSON_REQUIRED);
    out->interval = canary_read_name(r, json, "interval", JSON_OPTIONAL);
    out->interval_ms =
        out->interval != NULL ? json_read_duration(r, json, "interval", 0) : CANARY_UNSET;
    canary_read_fields(r, json, FIELDS_METRIC, out);
    out->template_ref = canary_read_ref(r, json, "templateRef", JSON_OPTIONAL);
    out->variables = canary_read_map(r, json, "templateVariables");
    out->threshold = read_bound(r, json, "threshold", &out->has_threshold);
    read_load_test(r, json, out);
    read_compare(r, json, judged, out);
    canary_read_metric_judge(r, json, judged, out);
    struct json_object *range = json_read_obj(r, json, "thresholdRange", JSON_OPTIONAL);
    if (range == NULL)
        return;
    out->has_range = true;
    out->min = read_bound(r, range, "min", &out->has_min);
    out->max = read_bound(r, range, "max", &out->has_max);
    if (out->has_min && out->has_max && out->min > out->max)
        json_reader_fail(r, range, NULL, "expected min not above max, found min %g and max %g",
                         out->min, out->max);
}

static void canary_read_metrics(struct json_reader *r, struct json_object *analysis,
                                struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, analysis, "metrics", JSON_OPTIONAL);
    size_t n = json_len(array);
    out->on_unreachable =
        json_at(analysis, "onMetricError", NULL) ? out->on_metric_error : POLICY_WAIT;
    out->metrics = arena_array(r->arena, n, sizeof *out->metrics);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json != NULL)
            read_metric(r, json, out->judge.given, &out->metrics[i]);
    }
    out->n_metrics = (int)n;
    canary_check_judge(r, analysis, out);
}

static enum hook_type read_hook_type(struct json_reader *r, struct json_object *json)
{
    const char *text = json_read_str(r, json, "type", JSON_OPTIONAL);
    enum hook_type type = HOOK_ROLLOUT;
    const char *known = "";

    if (hook_type_find(text, &type))
        return type;
    for (int i = 0; i < N_HOOK_TYPES; i++)
        known = arena_printf(r->arena, "%s%s%s", known, i > 0 ? ", " : "", hook_types[i].name);
    json_reader_fail(r, json, "type", "expected one of %s, found \"%s\"", known, text);
    return HOOK_ROLLOUT;
}

static const char *read_url(struct json_reader *r, struct json_object *json)
{
    const char *url = json_read_str(r, json, "url", JSON_REQUIRED);
    if (url == NULL)
        return NULL;
    size_t scheme = strncasecmp(url, "http://", 7) == 0    ? 7
                    : strncasecmp(url, "https://", 8) == 0 ? 8
                                                           : 0;
    if (scheme == 0 || url[scheme] == '\0' || strchr("/?#", url[scheme]) != NULL)
        json_reader_fail(r, json, "url",
                         "expected a URL such as http://flagger-loadtester.test/, found \"%s\"",
                         url);
    return url;
}

int64_t hook_type_max_ms(enum hook_type type)
{
    bool informs = type == HOOK_EVENT || type == HOOK_POST_ROLLOUT;
    return informs ? HOOK_INFORMING_MAX_MS : HOOK_MAX_MS;
}

static int64_t read_timeout(struct json_reader *r, struct json_object *json)
{
    const char *text = json_read_str(r, json, "timeout", JSON_OPTIONAL);
    if (text == NULL || strlen(text) < 2)
        return DEFAULT_TIMEOUT_MS;
    int64_t ms = json_read_duration(r, json, "timeout", DEFAULT_TIMEOUT_MS);
    if (ms <= 0)
        json_reader_fail(r, json, "timeout", "expected a duration above 0s, found \"%s\"", text);
    return ms;
}

/* Deadline of a gate, and what happens then. Other hooks have none. */
static void read_deadline(struct json_reader *r, struct json_object *json,
                          struct canary_webhook *out)
{
    const char *text = canary_read_name(r, json, "deadline", JSON_OPTIONAL);
    const char *then = canary_read_name(r, json, "onDeadline", JSON_OPTIONAL);

    if ((text != NULL || then != NULL) && !hook_type_is_gate(out->type)) {
        json_reader_fail(r, json, text != NULL ? "deadline" : "onDeadline",
                         "expected on a webhook of type confirm-rollout, "
                         "confirm-traffic-increase or confirm-promotion only, found on one of "
                         "type %s",
                         hook_type_name(out->type));
        return;
    }
    if (then != NULL && text == NULL) {
        json_reader_fail(r, json, "onDeadline", "expected with a deadline, found none");
        return;
    }
    out->deadline_ms = text != NULL ? json_read_duration(r, json, "deadline", 0) : 0;
    if (text != NULL && r->err == ERR_OK && out->deadline_ms <= 0)
        json_reader_fail(r, json, "deadline", "expected a duration above 0s, found \"%s\"", text);
    out->approve_at_deadline = then != NULL && strcmp(then, "approve") == 0;
    if (then != NULL && !out->approve_at_deadline && strcmp(then, "rollback") != 0)
        json_reader_fail(r, json, "onDeadline", "expected approve or rollback, found \"%s\"", then);
}

/* Like envFrom of a container: [{secretRef: {name}}]. */
static void read_headers_from(struct json_reader *r, struct json_object *json,
                              struct canary_webhook *out)
{
    struct json_object *array = json_read_array(r, json, "headersFrom", JSON_OPTIONAL);
    size_t n = json_len(array);
    if (n > MAX_HEADERS_FROM) {
        json_reader_fail(r, json, "headersFrom", "expected at most %d Secrets, found %zu",
                         (int)MAX_HEADERS_FROM, n);
        return;
    }
    out->headers_from = arena_array(r->arena, n, sizeof *out->headers_from);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *source = canary_read_element(r, array, i);
        struct json_object *ref =
            source != NULL ? json_read_obj(r, source, "secretRef", JSON_REQUIRED) : NULL;
        if (ref == NULL)
            return;
        out->headers_from[i] = canary_read_name(r, ref, "name", JSON_REQUIRED);
        /* A Canary must not give access to the Secrets of other namespaces. */
        if (json_at(ref, "namespace", NULL) != NULL)
            json_reader_fail(r, ref, "namespace",
                             "expected none, the Secret is one of the Canary's namespace");
    }
    out->n_headers_from = (int)n;
}

/* A CA that would never be used is a mistake that gives a false sense of security. */
static void read_ca(struct json_reader *r, struct json_object *json, struct canary_webhook *out)
{
    struct json_object *ref = json_read_obj(r, json, "caSecretRef", JSON_OPTIONAL);
    if (ref == NULL)
        return;
    out->ca_secret = canary_read_name(r, ref, "name", JSON_REQUIRED);
    out->ca_key = canary_read_name(r, ref, "key", JSON_OPTIONAL);
    if (json_at(ref, "namespace", NULL) != NULL)
        json_reader_fail(r, ref, "namespace",
                         "expected none, the Secret is one of the Canary's namespace");
    if (r->err == ERR_OK && out->disable_tls)
        json_reader_fail(r, json, "caSecretRef",
                         "expected without disableTLS, which believes everybody");
    if (r->err == ERR_OK && strncasecmp(out->url, "https://", 8) != 0)
        json_reader_fail(r, json, "caSecretRef", "expected with a url that begins with https://");
}

static void read_webhook(struct json_reader *r, struct json_object *json,
                         struct canary_webhook *out)
{
    out->type = read_hook_type(r, json);
    out->name = json_read_str(r, json, "name", JSON_REQUIRED);
    out->url = read_url(r, json);
    out->metadata = canary_read_map(r, json, "metadata");
    out->timeout_ms = read_timeout(r, json);
    if (out->timeout_ms > hook_type_max_ms(out->type)) {
        out->longer_ms = out->timeout_ms;
        out->timeout_ms = hook_type_max_ms(out->type);
    }
    canary_read_fields(r, json, FIELDS_WEBHOOK, out);
    if (out->retries > CANARY_MAX_RETRIES) {
        out->more_retries = out->retries;
        out->retries = CANARY_MAX_RETRIES;
    }
    read_deadline(r, json, out);
    read_headers_from(r, json, out);
    read_ca(r, json, out);
}

static void canary_read_webhooks(struct json_reader *r, struct json_object *analysis,
                                 struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, analysis, "webhooks", JSON_OPTIONAL);
    size_t n = json_len(array);
    out->webhooks = arena_array(r->arena, n, sizeof *out->webhooks);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json != NULL)
            read_webhook(r, json, &out->webhooks[i]);
    }
    out->n_webhooks = (int)n;
}

static const char *read_severity(struct json_reader *r, struct json_object *json)
{
    static const char *const known[] = {"info", "warn", "error"};
    /* Flagger never sends an alert without a severity, although it documents "info" as the
     * default. */
    const char *text = canary_read_name(r, json, "severity", JSON_OPTIONAL);
    if (text == NULL)
        return known[0];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i], text) == 0)
            return known[i];
    }
    json_reader_fail(r, json, "severity", "expected one of info, warn, error, found \"%s\"", text);
    return NULL;
}

static void canary_read_alerts(struct json_reader *r, struct json_object *analysis,
                               struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, analysis, "alerts", JSON_OPTIONAL);
    size_t n = json_len(array);
    out->alerts = arena_array(r->arena, n, sizeof *out->alerts);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json == NULL)
            break;
        out->alerts[i] = (struct canary_alert){
            .name = json_read_str(r, json, "name", JSON_REQUIRED),
            .severity = read_severity(r, json),
            .provider = canary_read_ref(r, json, "providerRef", JSON_REQUIRED),
        };
    }
    out->n_alerts = (int)n;
}

/* --- the analysis */

enum { MOST_STEPS = 100, MAX_CHECKS = 200, FULL_WEIGHT = 100, DEFAULT_MAX_AGE_S = 24 * 60 * 60 };

static void read_step_weights(struct json_reader *r, struct json_object *json,
                              struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, json, "stepWeights", JSON_OPTIONAL);
    if (array == NULL)
        return;
    size_t n = json_len(array);
    if (n == 0 || n > FULL_WEIGHT) {
        json_reader_fail(r, json, "stepWeights", "expected 1 to %d rising weights, found %zu",
                         (int)FULL_WEIGHT, n);
        return;
    }
    out->step_weights = arena_array(r->arena, n, sizeof *out->step_weights);
    int below = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *element = json_elem(array, i);
        int64_t weight;
        if (!json_to_int(element, &weight) || weight < 1 || weight > FULL_WEIGHT) {
            canary_fail_element(r, array, i, "a whole number from 1 to 100");
            return;
        }
        if (weight <= below) {
            canary_fail_element(r, array, i, arena_printf(r->arena, "a weight above %d", below));
            return;
        }
        below = (int)weight;
        out->step_weights[i] = below * WEIGHT_PERCENT;
    }
    out->n_step_weights = (int)n;
}

/* "a and b": those of the keys (NULL-terminated) that `json` has. Returns their number. */
static int find_keys(struct json_reader *r, struct json_object *json, const char *const *keys,
                     const char **found)
{
    int n = 0;

    *found = "none of them";
    for (; *keys != NULL; keys++) {
        if (json_at(json, *keys, NULL) != NULL)
            *found = n++ == 0 ? *keys : arena_printf(r->arena, "%s and %s", *found, *keys);
    }
    return n;
}

static struct json_object *read_match(struct json_reader *r, struct json_object *json)
{
    struct json_object *match = json_read_array(r, json, "match", JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(match); i++)
        canary_read_element(r, match, i);
    return json_len(match) > 0 ? match : NULL;
}

/* Reads one of weight, match and mirror, and the fields that every step may have. */
static void read_step(struct json_reader *r, struct json_object *json, struct canary_step *out)
{
    static const char *const kinds[] = {"weight", "match", "mirror", NULL};
    const char *found;

    if (find_keys(r, json, kinds, &found) != 1)
        json_reader_fail(r, json, NULL, "expected one of weight, match and mirror, found %s",
                         found);
    canary_read_fields(r, json, FIELDS_STEP, out);
    out->match = read_match(r, json);
    if (r->err == ERR_OK && json_at(json, "match", NULL) != NULL && out->match == NULL)
        json_reader_fail(r, json, "match", "expected 1 to 100 entries, found none");
}

/* The copy comes first, then the requests that match, then weights for all requests. */
static void place_step(struct json_reader *r, struct json_object *json, int index,
                       struct canary_analysis *out)
{
    const struct canary_step *step = &out->steps[index];
    int below = out->n_step_weights > 0 ? out->step_weights[out->n_step_weights - 1] : 0;

    if (step->mirror > 0 && index > 0) {
        json_reader_fail(r, json, "mirror", "expected in the first step alone, found in step %d",
                         index + 1);
    } else if (step->mirror > 0) {
        out->mirror_step = step;
    } else if (step->match != NULL && (out->match_step != NULL || out->n_step_weights > 0)) {
        json_reader_fail(r, json, "match",
                         "expected in one step, before the first weight, found in step %d%s",
                         index + 1, out->match_step != NULL ? " once more" : "");
    } else if (step->match != NULL) {
        out->match_step = step;
    } else if (step->weight <= below) {
        json_reader_fail(r, json, "weight", "expected a weight above %s, found %s",
                         weight_text(r->arena, below), weight_text(r->arena, step->weight));
    } else {
        out->step_weights[out->n_step_weights++] = step->weight;
    }
}

/*
 * Steps are read as stepWeights with times and gates, so that the rules know only one kind of
 * steps, and with a step's match and mirror, which routers read as the analysis' own.
 */
static void read_steps(struct json_reader *r, struct json_object *json, struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, json, "steps", JSON_OPTIONAL);
    size_t n = json_len(array);

    if (array == NULL)
        return;
    if (n == 0 || n > MOST_STEPS) {
        json_reader_fail(r, json, "steps", "expected 1 to %d steps, found %zu", (int)MOST_STEPS, n);
        return;
    }
    out->steps = arena_array(r->arena, n, sizeof *out->steps);
    out->step_weights = arena_array(r->arena, n, sizeof *out->step_weights);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *element = canary_read_element(r, array, i);
        if (element == NULL)
            return;
        read_step(r, element, &out->steps[i]);
        if (r->err == ERR_OK)
            place_step(r, element, (int)i, out);
    }
    if (r->err == ERR_OK && out->n_step_weights == 0)
        json_reader_fail(r, json, "steps", "expected a step with a weight at the end, found none");
    out->n_steps = (int)n;
}

/* Reads a way from the canary to the primary, the object `key`. */
static void read_return(struct json_reader *r, struct json_object *json, const char *key,
                        enum canary_fields fields, struct canary_return *out)
{
    struct json_object *object = json_read_obj(r, json, key, JSON_OPTIONAL);
    struct json_object *array =
        object != NULL ? json_read_array(r, object, "steps", JSON_REQUIRED) : NULL;
    size_t n = json_len(array);
    int below = 0;

    if (object == NULL || r->err != ERR_OK)
        return;
    if (n == 0 || n > MOST_STEPS)
        json_reader_fail(r, object, "steps", "expected 1 to %d steps, found %zu", (int)MOST_STEPS,
                         n);
    out->steps = arena_array(r->arena, n, sizeof *out->steps);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *element = canary_read_element(r, array, i);
        if (element == NULL)
            return;
        canary_read_fields(r, element, fields, &out->steps[i]);
        if (r->err == ERR_OK && out->steps[i].weight <= below)
            json_reader_fail(r, element, "weight", "expected a weight above %s, found %s",
                             weight_text(r->arena, below),
                             weight_text(r->arena, out->steps[i].weight));
        below = out->steps[i].weight;
    }
    out->n_steps = (int)n;
}

/* The ways from the canary to the primary: once the primary has the new version, and in a
 * rollback. */
static void read_returns(struct json_reader *r, struct json_object *json,
                         struct canary_analysis *out)
{
    read_return(r, json, "promotion", FIELDS_PROMOTION_STEP, &out->promotion);
    if (out->promotion.n_steps > 0 && out->step_weight_promotion > 0)
        json_reader_fail(r, json, "promotion",
                         "expected one of promotion and stepWeightPromotion, found both");
    read_return(r, json, "rollback", FIELDS_ROLLBACK_STEP, &out->rollback);
}

/* The match and mirror of the whole analysis, or of a step. */
static void read_match_and_mirror(struct json_reader *r, struct json_object *json,
                                  struct canary_analysis *out)
{
    const struct canary_step *match = out->match_step, *mirror = out->mirror_step;
    const char *at = out->legacy ? "spec.canaryAnalysis" : "spec.analysis";

    out->match = read_match(r, json);
    out->match_at = "spec.analysis.match";
    out->mirror_at = "spec.analysis.mirror";
    if (match != NULL && out->match != NULL)
        json_reader_fail(r, json, "match", "expected here or in a step, found in both");
    if (mirror != NULL && (out->mirror || out->mirror_weight > 0))
        json_reader_fail(r, json, out->mirror ? "mirror" : "mirrorWeight",
                         "expected here or mirror in a step, found both");
    if (match != NULL) {
        out->match = match->match;
        out->match_at = arena_printf(r->arena, "%s.steps[%d].match", at, (int)(match - out->steps));
    }
    if (mirror != NULL) {
        out->mirror = true;
        out->mirror_weight = mirror->mirror;
        out->mirror_at = arena_printf(r->arena, "%s.steps[0].mirror", at);
    }
}

bool canary_step_checks(const struct canary_step *step, const char *name)
{
    bool found = step == NULL || step->checks == NULL;

    for (size_t i = 0; !found && i < json_len(step->checks); i++)
        found = strcmp(json_object_get_string(json_elem(step->checks, i)), name) == 0;
    return found;
}

bool canary_bake_checks(const struct canary_bake *bake, const char *name)
{
    bool found = bake->metrics == NULL;

    for (size_t i = 0; !found && i < json_len(bake->metrics); i++)
        found = strcmp(json_object_get_string(json_elem(bake->metrics, i)), name) == 0;
    return found;
}

static bool is_metric(const struct canary_analysis *analysis, const char *name)
{
    for (int i = 0; i < analysis->n_metrics; i++) {
        if (strcmp(analysis->metrics[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_check(const struct canary_analysis *analysis, const char *name)
{
    if (is_metric(analysis, name))
        return true;
    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        if (hook->type == HOOK_ROLLOUT && strcmp(hook->name, name) == 0)
            return true;
    }
    return false;
}

/* Reads the checks of all steps, once the metrics and webhooks are known. */
static void read_step_checks(struct json_reader *r, struct json_object *json,
                             struct canary_analysis *out)
{
    struct json_object *steps = json_at(json, "steps", NULL);

    for (int i = 0; i < out->n_steps && r->err == ERR_OK; i++) {
        struct json_object *step = json_elem(steps, (size_t)i);
        struct json_object *checks = canary_read_strings(r, step, "checks");
        size_t n = json_len(checks);
        if (checks != NULL && (n == 0 || n > MAX_CHECKS))
            json_reader_fail(r, step, "checks", "expected 1 to %d names of checks, found %zu",
                             (int)MAX_CHECKS, n);
        for (size_t k = 0; k < n && r->err == ERR_OK; k++) {
            if (!is_check(out, json_object_get_string(json_elem(checks, k))))
                canary_fail_element(r, checks, k,
                                    "the name of a metric or of a webhook of the type rollout");
        }
        out->steps[i].checks = checks;
    }
}

/* Reads the bake, once the metrics are known. */
static void read_bake(struct json_reader *r, struct json_object *json, struct canary_analysis *out)
{
    struct json_object *bake = json_read_obj(r, json, "bake", JSON_OPTIONAL);

    if (bake == NULL || r->err != ERR_OK)
        return;
    (void)json_read_str(r, bake, "for", JSON_REQUIRED);
    canary_read_fields(r, bake, FIELDS_BAKE, &out->bake);
    struct json_object *names = canary_read_strings(r, bake, "metrics");
    size_t n = json_len(names);
    if (names != NULL && (n == 0 || n > MAX_CHECKS))
        json_reader_fail(r, bake, "metrics", "expected 1 to %d names of metrics, found %zu",
                         (int)MAX_CHECKS, n);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        if (!is_metric(out, json_object_get_string(json_elem(names, i))))
            canary_fail_element(r, names, i, "the name of a metric");
    }
    out->bake.metrics = names;
}

static void check_one_strategy(struct json_reader *r, struct json_object *json)
{
    static const char *const keys[] = {"iterations", "stepWeight", "stepWeights", "steps", NULL};
    const char *found;

    if (find_keys(r, json, keys, &found) != 1)
        json_reader_fail(r, json, NULL,
                         "expected one of iterations, stepWeight, stepWeights and steps, found %s",
                         found);
}

/* RFC 6265: the name of a cookie is a token, and the value of an attribute has neither a semicolon
 * nor the end of a header. */
static const char *read_cookie_text(struct json_reader *r, struct json_object *obj, const char *key,
                                    enum json_need need, const char *forbidden)
{
    const char *text = canary_read_name(r, obj, key, need);
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        if ((unsigned char)*at < 0x21 || (unsigned char)*at > 0x7e || strchr(forbidden, *at)) {
            json_reader_fail(r, obj, key, "expected a text that a cookie can carry, found \"%s\"",
                             text);
            return NULL;
        }
    }
    return text;
}

static void read_affinity(struct json_reader *r, struct json_object *json,
                          struct canary_affinity *out)
{
    static const char separators[] = "()<>@,;:\\\"/[]?={}", end[] = ";";
    struct json_object *affinity = json_read_obj(r, json, "sessionAffinity", JSON_OPTIONAL);
    if (affinity == NULL)
        return;
    const char *cookie = read_cookie_text(r, affinity, "cookieName", JSON_REQUIRED, separators);
    const char *primary =
        read_cookie_text(r, affinity, "primaryCookieName", JSON_OPTIONAL, separators);
    if (cookie != NULL && primary != NULL && strcmp(cookie, primary) == 0)
        json_reader_fail(r, affinity, "primaryCookieName",
                         "expected another name than cookieName, found \"%s\" twice", primary);
    *out = (struct canary_affinity){
        .cookie_name = cookie,
        .primary_cookie_name = primary,
        .domain = read_cookie_text(r, affinity, "domain", JSON_OPTIONAL, end),
        .path = read_cookie_text(r, affinity, "path", JSON_OPTIONAL, end),
        .same_site = read_cookie_text(r, affinity, "sameSite", JSON_OPTIONAL, end),
    };
    canary_read_fields(r, affinity, FIELDS_AFFINITY, out);
    if (out->max_age_s == 0)
        out->max_age_s = DEFAULT_MAX_AGE_S;
}

static void read_scale(struct json_reader *r, struct json_object *analysis,
                       struct canary_scale *out)
{
    struct json_object *json = json_read_obj(r, analysis, "canaryScale", JSON_OPTIONAL);
    int given = 0;

    *out = (struct canary_scale){.given = json != NULL};
    if (json == NULL)
        return;
    canary_read_fields(r, json, FIELDS_SCALE, out);
    given = (out->replicas > 0) + (out->percent > 0) + out->match_weight;
    if (given != 1)
        json_reader_fail(
            r, json, NULL,
            "expected one of replicas, percent and matchWeight: true, found %d of them", given);
}

static int effective_max_weight(const struct canary_analysis *analysis)
{
    if (analysis->n_step_weights > 0)
        return analysis->step_weights[analysis->n_step_weights - 1];
    return analysis->max_weight_given > 0 ? analysis->max_weight_given : WEIGHT_ALL;
}

void canary_read_analysis(struct json_reader *r, struct json_object *json, bool legacy,
                          struct canary_analysis *out)
{
    *out = (struct canary_analysis){.json = json, .legacy = legacy && json != NULL};
    if (json == NULL)
        json = json_own(r->arena, json_object_new_object());
    if (!legacy)
        check_one_strategy(r, json);
    canary_read_fields(r, json, FIELDS_ANALYSIS, out);
    if (out->threshold == 0)
        out->threshold = 1;
    read_step_weights(r, json, out);
    read_steps(r, json, out);
    if (r->err == ERR_OK)
        out->max_weight = effective_max_weight(out);
    read_returns(r, json, out);
    read_match_and_mirror(r, json, out);
    read_affinity(r, json, &out->affinity);
    canary_read_fields(r, json_read_obj(r, json, "capacity", JSON_OPTIONAL), FIELDS_CAPACITY, out);
    read_scale(r, json, &out->scale);
    canary_read_judge(r, json, &out->judge);
    canary_read_metrics(r, json, out);
    canary_read_webhooks(r, json, out);
    check_load_tests(r, json, out);
    read_step_checks(r, json, out);
    read_bake(r, json, out);
    canary_read_alerts(r, json, out);
}
