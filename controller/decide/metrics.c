/*
 * Metrics of an analysis (metric/METRICS.md): built-in and inline ones in list order, then those of
 * MetricTemplates. A metric may be all three; then each is queried and must pass. The first failure
 * ends the list and is reported here. A metric without an answer may hold the step instead
 * (onMetricError, noData): the others are still queried.
 */
#include "decide/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "decide/checks.h"
#include "decide/compared.h"
#include "decide/condition.h"
#include "decide/counts.h"
#include "decide/release.h"
#include "metric/backend.h"
#include "metric/family.h"
#include "metric/template.h"
#include "tick/edit.h"

/*
 * A value against the bounds of its metric (metric/METRICS.md), and the message if it is outside.
 * The source determines the meaning of the value, not the name of the metric.
 */

enum { MS_NS = 1000000, STALE_WINDOWS = 2 };

/* The longest duration in ns that fits. */
static const double LONGEST_MS = 9e12;

/* The shortest text that parses to the same number, as Go prints it. */
static const char *number_text(struct arena *arena, double value)
{
    for (int digits = 1; digits < 17; digits++) {
        const char *text = arena_printf(arena, "%.*g", digits, value);
        double back = 0;
        if (sscanf(text, "%lf", &back) == 1 && back == value)
            return fabs(value) < 1e15 && strchr(text, 'e') ? arena_printf(arena, "%.0f", value)
                                                           : text;
    }
    return arena_printf(arena, "%.17g", value);
}

/* How the answer of one source is compared and shown. */
struct shown {
    const char *what;                                        /* "success rate" */
    const char *(*value)(struct arena *arena, double value); /* "98.50%" */
    const char *(*bound)(struct arena *arena, double bound); /* "99%" */
    double (*round)(double bound); /* the effective bound; NULL: the written one */
    bool threshold_is_min;
};

static const char *plain_value(struct arena *arena, double value)
{
    if (isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    return arena_printf(arena, "%.2f", value);
}

static const char *percent_value(struct arena *arena, double value)
{
    return arena_printf(arena, "%s%%", plain_value(arena, value));
}

static const char *percent_bound(struct arena *arena, double bound)
{
    return arena_printf(arena, "%s%%", number_text(arena, bound));
}

static const char *duration_text(struct arena *arena, double ms)
{
    char text[DURATION_TEXT];

    if (fabs(ms) > LONGEST_MS)
        return arena_printf(arena, "%sms", plain_value(arena, ms));
    return arena_strdup(arena, duration_format((int64_t)ms * 1000000, text));
}

static struct shown shown_as(const struct metric_check *check)
{
    if (check->source == SOURCE_SUCCESS_RATE)
        return (struct shown){.what = "success rate",
                              .value = percent_value,
                              .bound = percent_bound,
                              .threshold_is_min = true};
    if (check->source == SOURCE_DURATION)
        return (struct shown){.what = "request duration",
                              .value = duration_text,
                              .bound = duration_text,
                              .round = trunc};
    return (struct shown){.what = check->metric->name, .value = plain_value, .bound = number_text};
}

/* --- bounds */

struct bounds {
    bool has_min, has_max; /* neither: every value passes and is only recorded */
    double min, max;
};

static struct bounds bounds_of(const struct canary_metric *metric, const struct shown *shown)
{
    struct bounds bounds = {.has_min = shown->threshold_is_min,
                            .has_max = !shown->threshold_is_min,
                            .min = metric->threshold,
                            .max = metric->threshold};

    if (metric->has_range)
        bounds = (struct bounds){metric->has_min, metric->has_max, metric->min, metric->max};
    else if (metric->compares && !metric->has_threshold)
        bounds = (struct bounds){0}; /* its bound is the number of the primary */
    if (shown->round) {
        bounds.min = shown->round(bounds.min);
        bounds.max = shown->round(bounds.max);
    }
    return bounds;
}

static const char *bounds_text(struct arena *arena, const struct shown *shown,
                               const struct bounds *bounds)
{
    const char *min = bounds->has_min ? shown->bound(arena, bounds->min) : NULL;
    const char *max = bounds->has_max ? shown->bound(arena, bounds->max) : NULL;

    if (min && max)
        return arena_printf(arena, "%s to %s", min, max);
    if (min || max)
        return arena_printf(arena, "%s %s", min ? "at least" : "at most", min ? min : max);
    return "any value";
}

/* --- the message */

/* The interval used in its query: 1m if a metric without a template has none; otherwise "". */
static const char *metrics_interval(const struct metric_check *check)
{
    const char *given = check->metric->interval;

    if (given && *given)
        return given;
    return check->source == SOURCE_TEMPLATE ? "" : "1m";
}

/* " over 1m": the window of the value, unless the query defines it. */
static const char *window_text(struct arena *arena, const struct metric_check *check)
{
    const struct metric_backend *backend = metric_backend_find(check->question.backend);
    const char *interval = metrics_interval(check);
    char text[DURATION_TEXT];

    if (backend && backend->intervals > 1 && check->metric->interval_ms > 0)
        interval = duration_format(check->metric->interval_ms * backend->intervals * MS_NS, text);
    return *interval ? arena_printf(arena, " over %s", interval) : "";
}

/* ", from prometheus at http://p:9090": only the host of an address, since the rest may be secret.
 */
static const char *server_text(struct arena *arena, const struct metric_question *question)
{
    const char *address = question->address;

    if (!question->backend)
        return address ? arena_printf(arena, ", from %s", address) : "";
    return arena_printf(arena, ", from %s%s%s", question->backend,
                        address && *address ? " at " : "",
                        address && *address ? url_origin(arena, address) : "");
}

/* An old value is accepted, as in Flagger; the message shows its age. */
static const char *age_text(struct release *r, const struct metric_check *check)
{
    int64_t at = check->answer->at_ms, age = r->tick->now_ms - at;
    char text[DURATION_TEXT];

    if (at <= 0 || check->metric->interval_ms <= 0 ||
        age <= STALE_WINDOWS * check->metric->interval_ms)
        return "";
    return arena_printf(r->tick->arena, "%s old; ",
                        duration_format(age / 1000 * 1000 * MS_NS, text));
}

/*
 * " (NaN; errors over 1m, expected at most 1, from prometheus at http://p:9090)": the end of every
 * message about the metric.
 */
static const char *metrics_about(struct release *r, const struct metric_check *check)
{
    struct arena *arena = r->tick->arena;
    const struct shown shown = shown_as(check);
    const struct bounds bounds = bounds_of(check->metric, &shown);
    const char *note = "", *age = "";

    if (check->answer && check->answer->note)
        note = arena_printf(arena, "%s; ", check->answer->note);
    if (check->answer)
        age = age_text(r, check);
    return arena_printf(arena, " (%s%s%s%s, expected %s%s)", note, age, check->metric->name,
                        window_text(arena, check), bounds_text(arena, &shown, &bounds),
                        server_text(arena, &check->question));
}

/* Durations are shown in seconds. */
static void metrics_show(struct release *r, const struct metric_check *check, double value)
{
    const struct shown shown = shown_as(check);
    const struct bounds bounds = bounds_of(check->metric, &shown);
    double unit = check->source == SOURCE_DURATION ? 1000 : 1;
    struct effect *effect = plan_metric(r->tick, check->metric->name, value / unit);

    effect->has_min = bounds.has_min;
    effect->has_max = bounds.has_max;
    effect->min = bounds.min / unit;
    effect->max = bounds.max / unit;
}

static enum rule_result out_of_bounds(struct release *r, const struct metric_check *check,
                                      const struct shown *shown, double value, const char *fault)
{
    return checks_failed(r, "OutOfRange", "Halt %s advancement %s %s %s%s", release_canary(r),
                         shown->what, shown->value(r->tick->arena, value), fault,
                         metrics_about(r, check));
}

bool metrics_within(const struct metric_check *check, double value)
{
    const struct shown shown = shown_as(check);
    const struct bounds bounds = bounds_of(check->metric, &shown);

    if (isinf(value) && (bounds.has_min || bounds.has_max))
        return false; /* a division by zero */
    return !(bounds.has_min && value < bounds.min) && !(bounds.has_max && value > bounds.max);
}

/* DONE: the value is out of bounds, which was reported. A duration is in ms. */
static enum rule_result metrics_judge(struct release *r, const struct metric_check *check,
                                      double value)
{
    struct arena *arena = r->tick->arena;
    const struct shown shown = shown_as(check);
    const struct bounds bounds = bounds_of(check->metric, &shown);
    const char *fault = "is no measure";

    if (metrics_within(check, value))
        return RULE_CONTINUE;
    if (bounds.has_min && value < bounds.min)
        fault = arena_printf(arena, "< %s", shown.bound(arena, bounds.min));
    else if (bounds.has_max && value > bounds.max)
        fault = arena_printf(arena, "> %s", shown.bound(arena, bounds.max));
    return out_of_bounds(r, check, &shown, value, fault);
}

/*
 * Requests of the canary before its promotion. Metrics may look good because of requests that do
 * not come from users: probes, or a load test of the Service. If an older route gets the requests
 * meant for the Canary's route, or a label of the mesh is wrong, the canary gets none, and a bad
 * revision would be promoted without evidence. (Flagger promotes it, unless it checks a built-in
 * metric, which then has no values.) So before a promotion the built-in metrics of the mesh are
 * queried for the requests of both sides, unless such a metric is checked anyway. A canary without
 * any requests, although its share implies some, holds the release (onNoRequests). Where the mesh
 * does not count, or no server can be queried, the number is unknown and has no effect.
 */

/*
 * WINDOW_S: minimum, for servers that scrape rarely. ENOUGH: requests that the canary should have
 * had; by chance it gets none of them once in 20,000 times.
 */
enum { WINDOW_S = 180, SECOND_MS = 1000, ENOUGH = 10 };

/* True if a built-in metric is checked, which reports by itself that it has no values. */
static bool is_checked_anyway(const struct release *r)
{
    for (int i = 0; i < r->canary->analysis.n_metrics; i++) {
        const struct canary_metric *metric = &r->canary->analysis.metrics[i];
        if (canary_metric_is_builtin(metric) && metric->no_data != POLICY_PASS &&
            release_checks(r, metric->name))
            return true;
    }
    return false;
}

/* True if the step promotes a canary that gets requests. */
static bool is_promotion(const struct release *r)
{
    if (!r->router->weighted || r->weights.canary == 0)
        return false;
    if (r->strategy == STRATEGY_CANARY)
        return release_step_weight(r) >= r->canary->analysis.max_weight;
    return r->canary->status.iterations >= r->iterations;
}

static int64_t interval_s(const struct release *r)
{
    return tick_interval_ms(r->tick) / SECOND_MS;
}

static int64_t window_s(const struct release *r)
{
    return 2 * interval_s(r) > WINDOW_S ? 2 * interval_s(r) : WINDOW_S;
}

/* Requests of a side in the window; negative if unknown. False if not queried yet. */
static bool count(struct release *r, enum side side, double *out)
{
    struct arena *arena = r->tick->arena;
    const struct metric_family *family = metric_family_find(r->router->metric_family);
    const struct metric_count what = {.kind = METRIC_SUCCESS_RATE, .primary = side == SIDE_PRIMARY};
    struct render_model model =
        render_model_of(r->canary, arena_printf(arena, "%llds", (long long)window_s(r)), NULL);
    struct metric_question question = {
        .id = side == SIDE_PRIMARY ? "requests.primary" : "requests.canary",
        .backend = "prometheus",
        .address = r->canary->metrics_server ? r->canary->metrics_server
                                             : r->tick->settings->metrics_server,
        .interval_ms = window_s(r) * SECOND_MS};
    const struct metric_answer *answer;
    struct errinfo ignored;

    *out = -1;
    model.plain_words = family->plain_words;
    model.pods = arena_printf(arena, "%s%s%s", r->canary->target.name,
                              side == SIDE_PRIMARY ? "-primary" : "", r->target->pod_suffix);
    if (render_query(arena, metric_family_count_query(arena, family, &what), &model,
                     &question.query, &ignored) != ERR_OK)
        return true;
    if (!need_metric(r->tick, &question, &answer))
        return false;
    if (answer->outcome == METRIC_VALUE)
        *out = answer->value;
    else if (answer->outcome == METRIC_NO_VALUES)
        *out = 0; /* no series means no request */
    return true;
}

/* Requests that the canary should have had since the last step, derived from those of the
 * primary. */
static double expected(const struct release *r, double primary)
{
    int weight = r->weights.canary;
    double ratio = weight >= WEIGHT_ALL / 2 ? 1 : (double)weight / (WEIGHT_ALL - weight);

    return primary * ratio * (double)interval_s(r) / (double)window_s(r);
}

/* In an A/B test there may be no matching request: the release continues, with a report. */
static enum rule_result tell(struct release *r, const char *text)
{
    if (r->phase == PHASE_WaitingPromotion)
        return RULE_CONTINUE;
    event_warning(r, "%s; the release goes on", text);
    plan_alert(r->tick, "warn", false, "The canary has had no request")->reason = text;
    return RULE_CONTINUE;
}

/*
 * Called after the metrics of a step that promotes. CONTINUE, with r->held if the step waits; DONE:
 * counts as a failed check; NEEDS_FACTS.
 */
static enum rule_result requests_check(struct release *r)
{
    const struct metric_family *family = metric_family_find(r->router->metric_family);
    enum canary_policy policy = r->canary->analysis.on_no_requests;
    double canary, primary;

    if (policy == POLICY_PASS || !is_promotion(r) || is_checked_anyway(r) || !family ||
        metric_family_incomparable(r->tick->arena, family, METRIC_SUCCESS_RATE))
        return RULE_CONTINUE;
    bool known = count(r, SIDE_CANARY, &canary);
    if (!count(r, SIDE_PRIMARY, &primary) || !known)
        return RULE_NEEDS_FACTS;
    bool taken = condition_is_set(r, CONDITION_FIRST);
    if (canary != 0 || primary < 0 || (!taken && expected(r, primary) < ENOUGH))
        return RULE_CONTINUE;
    const char *text = arena_printf(
        r->tick->arena,
        "Halt %s advancement, its canary has had no request of its own for %llds, %s: what its "
        "checks measured says nothing of it",
        release_canary(r), (long long)window_s(r),
        primary > 0 ? arena_printf(r->tick->arena, "the primary %.0f", primary)
                    : "an older route takes them (RouteFirst)");
    if (r->weights.matched)
        return tell(r, text);
    return metrics_unmeasured(r, policy, "NoRequests", "%s", text);
}

static bool is_inline(const struct canary_metric *metric)
{
    return metric->query && *metric->query;
}

static const char *server(const struct release *r)
{
    return r->canary->metrics_server ? r->canary->metrics_server
                                     : r->tick->settings->metrics_server;
}

/* Each query of a metric has a name: "metrics[0]", "metrics[0].query". */
static const char *question_id(struct release *r, int index, enum metric_source source)
{
    static const char *const fields[] = {[SOURCE_SUCCESS_RATE] = "",
                                         [SOURCE_DURATION] = "",
                                         [SOURCE_QUERY] = ".query",
                                         [SOURCE_TEMPLATE] = ".templateRef",
                                         [SOURCE_LOAD_TEST] = ".loadTest"};

    return arena_printf(r->tick->arena, "metrics[%d]%s", index, fields[source]);
}

/* --- built-in names and inline queries: Prometheus */

/* Some of Flagger's observers do not say which of their queries failed. */
static const char *failure(struct release *r, enum metric_source source, const char *text)
{
    const struct metric_family *family = metric_family_find(r->router->metric_family);
    bool bare = source == SOURCE_SUCCESS_RATE && family->bare_rate_errors;

    return bare ? text : arena_printf(r->tick->arena, "running query failed: %s", text);
}

static enum rule_result no_values(struct release *r, const struct metric_check *check)
{
    const struct canary_metric *metric = check->metric;
    const char *text = check->answer->text;

    if (check->source == SOURCE_TEMPLATE)
        return metrics_unmeasured(r, metric->no_data, "NoValues",
                                  "Halt advancement no values found for custom metric: %s: %s%s",
                                  metric->name, text, metrics_about(r, check));
    if (check->source == SOURCE_QUERY)
        return metrics_unmeasured(r, metric->no_data, "NoValues",
                                  "Halt advancement no values found for metric: %s%s", metric->name,
                                  metrics_about(r, check));
    const char *detail = check->source == SOURCE_SUCCESS_RATE
                             ? arena_printf(r->tick->arena, ": %s", failure(r, check->source, text))
                             : "";
    return metrics_unmeasured(
        r, metric->no_data, "NoValues",
        "Halt advancement no values found for %s metric %s probably %s is not "
        "receiving traffic%s%s",
        r->tick->provider, metric->name, release_target(r), detail, metrics_about(r, check));
}

static enum rule_result query_failed(struct release *r, const struct metric_check *check,
                                     enum canary_policy policy, const char *text)
{
    const char *about = metrics_about(r, check);

    if (check->source == SOURCE_TEMPLATE)
        return metrics_unmeasured(r, policy, "QueryFailed", "Metric query failed for %s: %s%s",
                                  check->metric->name, text, about);
    if (check->source == SOURCE_LOAD_TEST)
        return metrics_unmeasured(r, policy, "QueryFailed", "The load test failed for %s: %s%s",
                                  check->metric->name, text, about);
    if (check->source == SOURCE_QUERY)
        return metrics_unmeasured(r, policy, "QueryFailed", "Prometheus query failed for %s: %s%s",
                                  check->metric->name, text, about);
    return metrics_unmeasured(r, policy, "QueryFailed", "Prometheus query failed: %s%s",
                              failure(r, check->source, text), about);
}

static enum metric_kind kind_of(const struct metric_check *check)
{
    return check->source == SOURCE_SUCCESS_RATE ? METRIC_SUCCESS_RATE : METRIC_DURATION;
}

/* The text of its query; the words of a family apply to its own queries only. */
static const char *query_template(struct release *r, const struct metric_check *check,
                                  struct render_model *model)
{
    const struct metric_family *family = metric_family_find(r->router->metric_family);

    if (check->source == SOURCE_QUERY)
        return check->metric->query;
    model->plain_words = family->plain_words;
    model->pods =
        arena_printf(r->tick->arena, "%s%s", r->canary->target.name, r->target->pod_suffix);
    return metric_family_query(r->tick->arena, family, kind_of(check));
}

/* The group of a built-in query for many workloads; NULL to query this workload alone. */
static const struct metric_group *group_of(struct release *r, const struct metric_check *check,
                                           const struct render_model *model)
{
    const struct metric_family *family = metric_family_find(r->router->metric_family);
    struct metric_group *group = ARENA_NEW(r->tick->arena, struct metric_group);
    struct errinfo ignored;

    if (!r->tick->settings->group_queries || check->source == SOURCE_QUERY || family->alone)
        return NULL;
    group->family = family;
    group->kind = kind_of(check);
    group->interval = model->interval;
    group->after = family->pods ? r->target->pod_suffix : family->after ? family->after : "";
    group->member.namespace_ = family->namespace_label ? model->namespace_ : "";
    if (render_query(r->tick->arena, family->key, model, &group->member.key, &ignored) != ERR_OK ||
        !metric_member_is_plain(&group->member))
        return NULL;
    return group;
}

static enum rule_result judge(struct release *r, const struct metric_check *check)
{
    double value = check->answer->value;

    if (check->source == SOURCE_DURATION)
        value = trunc(value * metric_family_find(r->router->metric_family)->duration_to_ms);
    metrics_show(r, check, value);
    return metrics_judge(r, check, value);
}

/*
 * Asks for the native histogram of a built-in metric without series. Only a value counts: a server
 * that has no native histograms may have any answer. NaN is of series without requests.
 */
static enum rule_result ask_native(struct release *r, struct metric_check *check)
{
    struct metric_question question = check->question;
    const struct metric_answer *answer, *classic = check->answer;

    if (!check->native || classic->outcome != METRIC_NO_VALUES ||
        (classic->note && strcmp(classic->note, "NaN") == 0))
        return RULE_CONTINUE;
    question.id = arena_printf(r->tick->arena, "%s.native", question.id);
    question.query = check->native;
    question.group = NULL;
    if (!need_metric(r->tick, &question, &answer))
        return RULE_NEEDS_FACTS;
    if (answer->outcome != METRIC_VALUE)
        return RULE_CONTINUE;
    check->question = question;
    check->answer = answer;
    return RULE_CONTINUE;
}

/* Sends the query and evaluates the answer. */
static enum rule_result ask(struct release *r, struct metric_check *check)
{
    if (!need_metric(r->tick, &check->question, &check->answer) ||
        ask_native(r, check) == RULE_NEEDS_FACTS)
        return RULE_NEEDS_FACTS;
    if (check->answer->outcome == METRIC_NO_VALUES)
        return no_values(r, check);
    if (check->answer->outcome == METRIC_ERROR)
        return query_failed(r, check,
                            check->answer->unreachable ? r->canary->analysis.on_unreachable
                                                       : r->canary->analysis.on_metric_error,
                            check->answer->text);
    return judge(r, check);
}

static enum rule_result check_prometheus(struct release *r, int index, enum metric_source source)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct metric_check check = {.metric = metric,
                                 .source = source,
                                 .question = {.id = question_id(r, index, source),
                                              .backend = "prometheus",
                                              .address = server(r),
                                              .interval_ms = metric->interval_ms}};
    struct render_model model = source == SOURCE_QUERY && metric->past
                                    ? compared_model(r, metric, SIDE_CANARY)
                                    : metrics_model(r, metric, metrics_interval(&check));
    const char *template = query_template(r, &check, &model);
    const char *native =
        source == SOURCE_QUERY
            ? NULL
            : metric_family_native_query(
                  r->tick->arena, metric_family_find(r->router->metric_family), kind_of(&check));
    struct errinfo ei;

    if (render_query(r->tick->arena, template, &model, &check.question.query, &ei) != ERR_OK ||
        (native && render_query(r->tick->arena, native, &model, &check.native, &ei) != ERR_OK))
        return query_failed(r, &check, POLICY_FAIL, ei.text); /* waiting does not help */
    check.question.group = group_of(r, &check, &model);
    return ask(r, &check);
}

/* --- load tests: the answer of the webhook that runs it (proto/openapi/loadtester.yaml) */

enum { MAX_LOAD_ANSWER = 16 * 1024 };

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

static enum rule_result judge_load(struct release *r, struct metric_check *check,
                                   struct json_object *figures)
{
    const char *key = load_figure_key(check->metric->load_test.figure);
    struct json_object *value = json_at(figures, key, NULL);
    struct metric_answer *answer = ARENA_NEW(r->tick->arena, struct metric_answer);

    *answer = (struct metric_answer){.outcome = METRIC_VALUE,
                                     .note = json_str_at(figures, "message", NULL)};
    check->answer = answer;
    if (!value)
        return metrics_unmeasured(r, check->metric->no_data, "NoValues",
                                  "Halt advancement the load test has no %s for metric: %s%s", key,
                                  check->metric->name, metrics_about(r, check));
    answer->value = json_object_get_double(value);
    return judge(r, check);
}

/* The load tester's reply: the test is created, runs, or has ended well or badly. */
static enum rule_result read_load(struct release *r, struct metric_check *check, const char *text)
{
    static const char *const running[] = {"creating", "running", "reading", NULL};
    struct json_object *reply = NULL;
    struct errinfo ei;
    bool is_json = text && json_parse(r->tick->arena, text, strlen(text), MAX_LOAD_ANSWER, &reply,
                                      &ei) == ERR_OK;
    const char *state = is_json ? json_str_at(reply, "state", NULL) : NULL;
    const char *message = is_json ? json_str_at(reply, "message", NULL) : NULL;

    if (state && is_one_of(state, running))
        return metrics_load_runs(r, "Halt %s advancement, its load test %s runs: %s",
                                 release_canary(r), check->question.address,
                                 message ? message : state);
    if (state && strcmp(state, "succeeded") == 0)
        return judge_load(r, check, reply);
    if (state && message)
        return query_failed(r, check, r->canary->analysis.on_metric_error, message);
    return query_failed(r, check, r->canary->analysis.on_metric_error,
                        arena_printf(r->tick->arena,
                                     "expected a load tester that knows the types job and k6, "
                                     "found the answer \"%.80s\"",
                                     text ? text : ""));
}

static enum rule_result check_load(struct release *r, int index)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    const struct canary_metric *metric = &analysis->metrics[index];
    int webhook = canary_load_webhook(analysis, &metric->load_test);
    struct metric_check check = {.metric = metric,
                                 .source = SOURCE_LOAD_TEST,
                                 .question = {.id = question_id(r, index, SOURCE_LOAD_TEST)}};
    const struct hook_answer *answer = webhook < 0 ? NULL : tick_hook_answer(r->tick, webhook);

    check.question.address = webhook < 0 ? NULL : analysis->webhooks[webhook].name;
    if (!answer)
        return checks_failed(r, "NotUsable",
                             "The load test of metric %s is not run at this step: its webhook is "
                             "in none of its checks%s",
                             metric->name, metrics_about(r, &check));
    return read_load(r, &check, answer->text);
}

/* --- MetricTemplates */

static const char *capitalised(struct arena *arena, const char *text)
{
    char *copy = arena_strdup(arena, text);

    copy[0] = (char)toupper((unsigned char)copy[0]);
    return copy;
}

static enum rule_result check_template(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct metric_check check = {.metric = metric,
                                 .source = SOURCE_TEMPLATE,
                                 .question = {.id = question_id(r, index, SOURCE_TEMPLATE)}};
    struct render_model model = metric->compares
                                    ? compared_model(r, metric, SIDE_CANARY)
                                    : metrics_model(r, metric, metrics_interval(&check));
    struct json_object *template;
    const char *why;
    struct errinfo ei;
    enum rule_result verdict =
        metrics_template_question(r, index, &check.question, &template, &why);

    if (verdict == RULE_DONE)
        return checks_failed(r, "NotUsable", "%s%s", capitalised(r->tick->arena, why),
                             metrics_about(r, &check));
    if (verdict != RULE_CONTINUE)
        return verdict;
    const char *failed = metrics_render(r->tick->arena, template, &model, &check.question, &ei);
    if (!failed)
        return ask(r, &check);
    return checks_failed(r, "NotUsable", "Metric template %s.%s %s render error: %s%s",
                         metric->template_ref.name, metrics_template_namespace(r, metric), failed,
                         ei.text, metrics_about(r, &check));
}

/*
 * Templates and Secrets are read before any query is sent, so that all can be sent together. A
 * missing one is reported when its metric's turn comes.
 */
static enum rule_result read_template(struct release *r, int index)
{
    struct metric_question question = {.id = ""};
    struct json_object *template;
    const char *why;

    if (!r->canary->analysis.metrics[index].template_ref.name)
        return RULE_CONTINUE;
    enum rule_result verdict = metrics_template_question(r, index, &question, &template, &why);
    return verdict == RULE_NEEDS_FACTS ? verdict : RULE_CONTINUE;
}

/* The built-in source, then the inline one. */
static enum rule_result check_own(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    enum rule_result verdict = RULE_CONTINUE, inline_verdict = RULE_CONTINUE;

    if (metric->load_test.given)
        return check_load(r, index);
    if (canary_metric_is_success_rate(metric))
        verdict = check_prometheus(r, index, SOURCE_SUCCESS_RATE);
    else if (canary_metric_is_duration(metric))
        verdict = check_prometheus(r, index, SOURCE_DURATION);
    if (verdict != RULE_DONE && is_inline(metric))
        inline_verdict = check_prometheus(r, index, SOURCE_QUERY);
    return verdict == RULE_CONTINUE ? inline_verdict : verdict;
}

static enum rule_result check_other(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];

    if (metric->template_ref.name)
        return check_template(r, index);
    if (canary_metric_is_builtin(metric) || is_inline(metric) || metric->load_test.given)
        return RULE_CONTINUE;
    const struct metric_check none = {.metric = metric, .source = SOURCE_TEMPLATE};
    return checks_failed(
        r, "NotUsable",
        "Metric query failed for no usable metrics template and query were configured%s",
        metrics_about(r, &none));
}

/* All unknown facts are requested before waiting for the first one. Metrics that the running step
 * does not check are not queried. */
static enum rule_result check_each(struct release *r,
                                   enum rule_result (*check)(struct release *r, int index),
                                   enum rule_result so_far)
{
    for (int i = 0; so_far != RULE_DONE && i < r->canary->analysis.n_metrics; i++) {
        if (!release_checks(r, r->canary->analysis.metrics[i].name))
            continue;
        enum rule_result verdict = check(r, i);
        if (so_far == RULE_CONTINUE)
            so_far = verdict;
        else if (verdict == RULE_DONE)
            break; /* it counts once the previous ones are known */
    }
    return so_far;
}

enum rule_result metrics_check(struct release *r)
{
    enum rule_result verdict = check_each(r, read_template, RULE_CONTINUE);

    if (verdict != RULE_CONTINUE)
        return verdict;
    verdict = check_each(r, check_own, RULE_CONTINUE);
    verdict = check_each(r, check_other, verdict);
    if (verdict == RULE_CONTINUE && !r->held)
        verdict = requests_check(r);
    if (verdict == RULE_CONTINUE && !r->held) {
        metrics_measured(r);
        checks_passed(r);
    }
    return verdict;
}

/* --- before a release */

static enum rule_result probe_one(struct release *r, int index, const char **why)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct metric_question question = {.id = arena_printf(r->tick->arena, "probe[%d]", index),
                                       .backend = "prometheus",
                                       .address = server(r),
                                       .interval_ms = metric->interval_ms};
    const struct metric_answer *answer;
    struct json_object *template;

    if (!canary_metric_is_builtin(metric) && !metric->template_ref.name)
        return RULE_CONTINUE;
    if (!canary_metric_is_builtin(metric)) {
        enum rule_result verdict = metrics_template_question(r, index, &question, &template, why);
        if (verdict != RULE_CONTINUE)
            return verdict;
    }
    if (!need_metric(r->tick, &question, &answer))
        return RULE_NEEDS_FACTS;
    if (answer->outcome == METRIC_VALUE)
        return RULE_CONTINUE;
    *why = arena_printf(r->tick->arena, "%s not available: %s", question.backend, answer->text);
    return RULE_DONE;
}

/* The initialisation continues either way: a metric server may start later than the first Canary.
 */
enum rule_result metrics_probe(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    const char *why = NULL;
    enum rule_result verdict = RULE_CONTINUE;

    for (int i = 0; verdict != RULE_DONE && i < analysis->n_metrics; i++) {
        enum rule_result one = probe_one(r, i, &why);
        verdict = verdict == RULE_CONTINUE || one == RULE_NEEDS_FACTS ? one : verdict;
    }
    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    if (verdict == RULE_DONE)
        event_warning(r, "Error checking metric providers: %s", why);
    else
        event_normal(r, "all the metrics providers are available!");
    return RULE_CONTINUE;
}

enum rule_result metrics_refusal(struct release *r, const char **sentence)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_metrics; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        struct json_object *template;
        if (!metric->template_ref.name)
            continue;
        if (!need_object(r->tick, &metric_templates, metrics_template_namespace(r, metric),
                         metric->template_ref.name, &template))
            return RULE_NEEDS_FACTS;
        struct json_object *provider = json_at(template, "spec", "provider", NULL);
        const char *type = json_str_at(provider, "type", NULL);
        const char *headers = backend_headers_refusal(r->tick->arena, provider);
        if (headers)
            *sentence = arena_printf(
                r->tick->arena, "spec.analysis.metrics[%d].templateRef: MetricTemplate %s.%s: %s",
                i, metric->template_ref.name, metrics_template_namespace(r, metric), headers);
        if (headers)
            return RULE_CONTINUE;
        if (!template || (type && metric_backend_find(type)))
            continue;
        *sentence =
            arena_printf(r->tick->arena,
                         "spec.analysis.metrics[%d].templateRef: MetricTemplate %s.%s has "
                         "provider %s, which is not served by this version; it has %s",
                         i, metric->template_ref.name, metrics_template_namespace(r, metric),
                         type ? type : "\"\"", metric_backend_names(r->tick->arena));
        return RULE_CONTINUE;
    }
    return counts_refusal(r, sentence);
}
