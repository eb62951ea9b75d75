/*
 * The metrics of an analysis (contract/metrics.md §2): first the built-in and inline ones in list
 * order, then those of MetricTemplates. The first that fails ends the list; it is told here. One
 * that says nothing may hold the step instead (onMetricError, noData): the others are asked all the
 * same.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "decide/release.h"
#include "metric/backend.h"
#include "metric/family.h"
#include "metric/render.h"
#include "tick/edit.h"

static const char success_rate[] = "request-success-rate";
static const char request_duration[] = "request-duration";

static bool is_success_rate(const struct canary_metric *metric)
{
    return strcmp(metric->name, success_rate) == 0;
}

static bool is_duration(const struct canary_metric *metric)
{
    return strcmp(metric->name, request_duration) == 0;
}

static bool is_builtin(const struct canary_metric *metric)
{
    return is_success_rate(metric) || is_duration(metric);
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

/* --- against the threshold
 * ------------------------------------------------------------------------------- */

/* The shortest text that reads back as the same number, as Go prints it. */
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

/* How one kind of metric is compared and shown. */
struct shown {
    const char *what;                                        /* "success rate" */
    const char *(*value)(struct arena *arena, double value); /* "98.50%" */
    const char *(*bound)(struct arena *arena, double bound); /* "99%" */
    double (*round)(double bound); /* what a bound really is, NULL: as written */
    bool threshold_is_min;
};

static const char *percent_value(struct arena *arena, double value)
{
    return arena_printf(arena, "%.2f%%", value);
}

static const char *percent_bound(struct arena *arena, double bound)
{
    return arena_printf(arena, "%s%%", number_text(arena, bound));
}

static const char *duration_text(struct arena *arena, double ms)
{
    char text[DURATION_TEXT];

    return arena_strdup(arena, duration_format((int64_t)ms * 1000000, text));
}

static const char *plain_value(struct arena *arena, double value)
{
    return arena_printf(arena, "%.2f", value);
}

static struct shown shown_as(const struct canary_metric *metric)
{
    if (is_success_rate(metric))
        return (struct shown){.what = "success rate",
                              .value = percent_value,
                              .bound = percent_bound,
                              .threshold_is_min = true};
    if (is_duration(metric))
        return (struct shown){.what = "request duration",
                              .value = duration_text,
                              .bound = duration_text,
                              .round = trunc};
    return (struct shown){.what = metric->name, .value = plain_value, .bound = number_text};
}

static enum verdict out_of_bounds(struct release *r, const struct shown *shown, double value,
                                  const char *sign, double bound)
{
    struct arena *arena = r->tick->arena;

    release_warn(r, "Halt %s advancement %s %s %s %s", release_canary(r), shown->what,
                 shown->value(arena, value), sign, shown->bound(arena, bound));
    return VERDICT_STOP;
}

static enum verdict compare(struct release *r, const struct canary_metric *metric, double value)
{
    const struct shown shown = shown_as(metric);
    bool range = metric->has_range; /* an empty one lets every value pass: it is only recorded */
    bool min = range ? metric->has_min : shown.threshold_is_min;
    bool max = range ? metric->has_max : !shown.threshold_is_min;
    double least = range ? metric->min : metric->threshold;
    double most = range ? metric->max : metric->threshold;

    if (shown.round) {
        least = shown.round(least);
        most = shown.round(most);
    }
    if (min && value < least)
        return out_of_bounds(r, &shown, value, "<", least);
    if (max && value > most)
        return out_of_bounds(r, &shown, value, ">", most);
    return VERDICT_GO;
}

/* --- built-in and inline: Prometheus
 * --------------------------------------------------------------------- */

static enum verdict no_values(struct release *r, const struct canary_metric *metric,
                              const char *text)
{
    if (is_inline(metric) && !is_builtin(metric))
        return metrics_unmeasured(r, metric->no_data,
                                  "Halt advancement no values found for metric: %s", metric->name);
    const char *detail = is_success_rate(metric)
                             ? arena_printf(r->tick->arena, ": running query failed: %s", text)
                             : "";
    return metrics_unmeasured(
        r, metric->no_data,
        "Halt advancement no values found for %s metric %s probably %s is not "
        "receiving traffic%s",
        r->tick->provider, metric->name, release_target(r), detail);
}

static enum verdict query_failed(struct release *r, const struct canary_metric *metric,
                                 enum canary_policy policy, const char *text)
{
    if (is_builtin(metric))
        return metrics_unmeasured(r, policy, "Prometheus query failed: running query failed: %s",
                                  text);
    return metrics_unmeasured(r, policy, "Prometheus query failed for %s: %s", metric->name, text);
}

static const char *query_template(const struct canary_metric *metric,
                                  const struct metric_family *family)
{
    if (is_success_rate(metric))
        return family->success_rate;
    if (is_duration(metric))
        return family->duration;
    return metric->query;
}

static struct render_model model_of(const struct release *r, const struct canary_metric *metric,
                                    const char *interval)
{
    struct render_model model = render_model_of(r->canary, interval, metric->variables);

    if (r->info.revision)
        model.route = r->info.revision; /* what its metrics are about */
    return model;
}

static enum verdict check_builtin(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const struct metric_family *family = metric_family_find(r->router->metric_family);
    struct arena *arena = r->tick->arena;
    const char *interval = metric->interval && *metric->interval ? metric->interval : "1m";
    struct render_model model = model_of(r, metric, interval);
    struct metric_question question = {.id = arena_printf(arena, "metrics[%d]", index),
                                       .backend = "prometheus",
                                       .address = server(r),
                                       .interval_ms = metric->interval_ms};
    const struct metric_answer *answer;
    struct errinfo ei;

    model.plain_words = family->plain_words && is_builtin(metric);
    if (is_builtin(metric))
        model.pods = arena_printf(arena, "%s%s", r->canary->target.name, r->target->pod_suffix);
    if (render_query(arena, query_template(metric, family), &model, &question.query, &ei) != ERR_OK)
        return query_failed(r, metric, POLICY_FAIL, ei.text); /* no waiting mends a query */
    if (!need_metric(r->tick, &question, &answer))
        return VERDICT_NEED_FACTS;
    if (answer->outcome == METRIC_NO_VALUES)
        return no_values(r, metric, answer->text);
    if (answer->outcome == METRIC_ERROR)
        return query_failed(r, metric, r->canary->analysis.on_metric_error, answer->text);
    if (!is_duration(metric)) {
        plan_metric(r->tick, metric->name, answer->value);
        return compare(r, metric, answer->value);
    }
    double ms = trunc(answer->value * family->duration_to_ms);
    plan_metric(r->tick, metric->name, ms / 1000);
    return compare(r, metric, ms);
}

/* --- MetricTemplates
 * ------------------------------------------------------------------------------------- */

static const char *template_namespace(const struct release *r, const struct canary_metric *metric)
{
    const char *namespace_ = metric->template_ref.namespace_;

    return namespace_ && *namespace_ ? namespace_ : r->canary->namespace_;
}

/* Fills the question but for the query. STOP: *why says what is missing. */
static enum verdict template_question(struct release *r, int index, struct metric_question *out,
                                      struct json_object **template, const char **why)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const char *namespace_ = template_namespace(r, metric);
    const char *named = arena_printf(r->tick->arena, "metric template %s.%s",
                                     metric->template_ref.name, namespace_);

    if (!need_object(r->tick, &metric_templates, namespace_, metric->template_ref.name, template))
        return VERDICT_NEED_FACTS;
    if (!*template) {
        *why = arena_printf(r->tick->arena, "%s error: not found", named);
        return VERDICT_STOP;
    }
    out->spec = json_at(*template, "spec", "provider", NULL);
    out->backend = json_str_at(out->spec, "type", NULL);
    out->address = json_str_at(out->spec, "address", NULL);
    out->interval_ms = metric->interval_ms;
    if (!metric_backend_find(out->backend)) {
        *why = arena_printf(r->tick->arena,
                            "%s provider %s error: not served by this version, which has %s", named,
                            out->backend ? out->backend : "", metric_backend_names(r->tick->arena));
        return VERDICT_STOP;
    }
    const char *secret = json_str_at(out->spec, "secretRef", "name", NULL);
    if (!secret)
        return VERDICT_GO;
    if (!need_object(r->tick, &kube_secrets, namespace_, secret, &out->secret))
        return VERDICT_NEED_FACTS;
    if (out->secret)
        return VERDICT_GO;
    *why = arena_printf(r->tick->arena, "%s secret %s error: not found", named, secret);
    return VERDICT_STOP;
}

static const char *capitalised(struct arena *arena, const char *text)
{
    char *copy = arena_strdup(arena, text);

    copy[0] = (char)toupper((unsigned char)copy[0]);
    return copy;
}

static enum verdict check_template(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct render_model model = model_of(r, metric, metric->interval ? metric->interval : "");
    struct metric_question question = {.id = arena_printf(r->tick->arena, "metrics[%d]", index)};
    const struct metric_answer *answer;
    struct json_object *template;
    const char *why;
    struct errinfo ei;
    enum verdict verdict = template_question(r, index, &question, &template, &why);

    if (verdict == VERDICT_STOP)
        release_warn(r, "%s", capitalised(r->tick->arena, why));
    if (verdict != VERDICT_GO)
        return verdict;
    const char *query = json_str_at(template, "spec", "query", NULL);
    if (render_query(r->tick->arena, query ? query : "", &model, &question.query, &ei) != ERR_OK) {
        release_warn(r, "Metric template %s.%s query render error: %s", metric->template_ref.name,
                     template_namespace(r, metric), ei.text);
        return VERDICT_STOP;
    }
    if (!need_metric(r->tick, &question, &answer))
        return VERDICT_NEED_FACTS;
    if (answer->outcome == METRIC_VALUE) {
        plan_metric(r->tick, metric->name, answer->value);
        return compare(r, metric, answer->value);
    }
    if (answer->outcome == METRIC_NO_VALUES)
        return metrics_unmeasured(r, metric->no_data,
                                  "Halt advancement no values found for custom metric: %s: %s",
                                  metric->name, answer->text);
    return metrics_unmeasured(r, r->canary->analysis.on_metric_error,
                              "Metric query failed for %s: %s", metric->name, answer->text);
}

enum verdict metrics_check(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    enum verdict verdict = VERDICT_GO;

    for (int i = 0; verdict == VERDICT_GO && i < analysis->n_metrics; i++) {
        if (is_builtin(&analysis->metrics[i]) || is_inline(&analysis->metrics[i]))
            verdict = check_builtin(r, i);
    }
    for (int i = 0; verdict == VERDICT_GO && i < analysis->n_metrics; i++) {
        if (analysis->metrics[i].template_ref.name) {
            verdict = check_template(r, i);
        } else if (!is_builtin(&analysis->metrics[i]) && !is_inline(&analysis->metrics[i])) {
            release_warn(r, "Metric query failed for no usable metrics template and query were "
                            "configured");
            verdict = VERDICT_STOP;
        }
    }
    if (verdict == VERDICT_GO && !r->held)
        metrics_measured(r);
    return verdict;
}

/* --- before a release
 * ------------------------------------------------------------------------------------ */

static enum verdict probe_one(struct release *r, int index, const char **why)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct metric_question question = {.id = arena_printf(r->tick->arena, "probe[%d]", index),
                                       .backend = "prometheus",
                                       .address = server(r),
                                       .interval_ms = metric->interval_ms};
    const struct metric_answer *answer;
    struct json_object *template;

    if (!is_builtin(metric) && !metric->template_ref.name)
        return VERDICT_GO;
    if (!is_builtin(metric)) {
        enum verdict verdict = template_question(r, index, &question, &template, why);
        if (verdict != VERDICT_GO)
            return verdict;
    }
    if (!need_metric(r->tick, &question, &answer))
        return VERDICT_NEED_FACTS;
    if (answer->outcome == METRIC_VALUE)
        return VERDICT_GO;
    *why = arena_printf(r->tick->arena, "%s not available: %s", question.backend, answer->text);
    return VERDICT_STOP;
}

/* Either way the initialisation goes on: a metric server may come later than the first Canary. */
enum verdict metrics_probe(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    const char *why = NULL;
    enum verdict verdict = VERDICT_GO;

    for (int i = 0; verdict == VERDICT_GO && i < analysis->n_metrics; i++)
        verdict = probe_one(r, i, &why);
    if (verdict == VERDICT_NEED_FACTS)
        return verdict;
    if (verdict == VERDICT_STOP)
        release_warn(r, "Error checking metric providers: %s", why);
    else
        release_say(r, "all the metrics providers are available!");
    return VERDICT_GO;
}

enum verdict metrics_refusal(struct release *r, const char **sentence)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_metrics; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        struct json_object *template;
        if (!metric->template_ref.name)
            continue;
        if (!need_object(r->tick, &metric_templates, template_namespace(r, metric),
                         metric->template_ref.name, &template))
            return VERDICT_NEED_FACTS;
        const char *type = json_str_at(template, "spec", "provider", "type", NULL);
        if (!template || (type && metric_backend_find(type)))
            continue;
        *sentence = arena_printf(r->tick->arena,
                                 "spec.analysis.metrics[%d].templateRef: MetricTemplate %s.%s has "
                                 "provider %s, which is not served by this version; it has %s",
                                 i, metric->template_ref.name, template_namespace(r, metric),
                                 type ? type : "\"\"", metric_backend_names(r->tick->arena));
        return VERDICT_GO;
    }
    return VERDICT_GO;
}
