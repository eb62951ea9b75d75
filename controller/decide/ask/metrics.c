/*
 * The metrics of an analysis (metric/METRICS.md): first the built-in and inline ones in list
 * order, then those of MetricTemplates. One metric may be all three, and then each is asked and
 * must hold. The first that fails ends the list; it is told here. One that says nothing may hold
 * the step instead (onMetricError, noData): the others are asked all the same.
 */
#include "decide/ask/metrics.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "decide/ask/checks.h"
#include "decide/ask/counts.h"
#include "decide/ask/metrics_judge.h"
#include "decide/ask/metrics_template.h"
#include "decide/ask/requests.h"
#include "decide/ask/unmeasured.h"
#include "decide/release/release.h"
#include "metric/ask.h"
#include "metric/family.h"
#include "metric/render.h"
#include "tick/edit.h"

static bool is_inline(const struct canary_metric *metric)
{
    return metric->query && *metric->query;
}

static const char *server(const struct release *r)
{
    return r->canary->metrics_server ? r->canary->metrics_server
                                     : r->tick->settings->metrics_server;
}

/* Each question of a metric has a name of its own: "metrics[0]", "metrics[0].query". */
static const char *question_id(struct release *r, int index, enum metric_source source)
{
    static const char *const fields[] = {[SOURCE_SUCCESS_RATE] = "",
                                         [SOURCE_DURATION] = "",
                                         [SOURCE_QUERY] = ".query",
                                         [SOURCE_TEMPLATE] = ".templateRef"};

    return arena_printf(r->tick->arena, "metrics[%d]%s", index, fields[source]);
}

/* --- built-in names and inline queries: Prometheus */

/* In Flagger some observers do not say which step of theirs failed. */
static const char *failure(struct release *r, enum metric_source source, const char *text)
{
    const struct metric_family *family = metric_family_find(r->router->metric_family);
    bool bare = source == SOURCE_SUCCESS_RATE && family->bare_rate_errors;

    return bare ? text : arena_printf(r->tick->arena, "running query failed: %s", text);
}

static enum verdict no_values(struct release *r, const struct metric_check *check)
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

static enum verdict query_failed(struct release *r, const struct metric_check *check,
                                 enum canary_policy policy, const char *text)
{
    const char *about = metrics_about(r, check);

    if (check->source == SOURCE_TEMPLATE)
        return metrics_unmeasured(r, policy, "QueryFailed", "Metric query failed for %s: %s%s",
                                  check->metric->name, text, about);
    if (check->source == SOURCE_QUERY)
        return metrics_unmeasured(r, policy, "QueryFailed", "Prometheus query failed for %s: %s%s",
                                  check->metric->name, text, about);
    return metrics_unmeasured(r, policy, "QueryFailed", "Prometheus query failed: %s%s",
                              failure(r, check->source, text), about);
}

static struct render_model model_of(const struct release *r, const struct canary_metric *metric,
                                    const char *interval)
{
    struct render_model model = render_model_of(r->canary, interval, metric->variables);

    model.means = metrics_means(r);
    if (r->info.revision)
        model.route = r->info.revision; /* what its metrics are about */
    return model;
}

static enum metric_kind kind_of(const struct metric_check *check)
{
    return check->source == SOURCE_SUCCESS_RATE ? METRIC_SUCCESS_RATE : METRIC_DURATION;
}

/* What its query is made of; the words of a family are those of its own queries alone. */
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

/* How a built-in query is asked for many workloads; NULL: it is asked for this one alone. */
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

static enum verdict judge(struct release *r, const struct metric_check *check)
{
    double value = check->answer->value;

    if (check->source == SOURCE_DURATION)
        value = trunc(value * metric_family_find(r->router->metric_family)->duration_to_ms);
    metrics_show(r, check, value);
    return metrics_judge(r, check, value);
}

/* Asks, and says what the answer means. */
static enum verdict ask(struct release *r, struct metric_check *check)
{
    if (!need_metric(r->tick, &check->question, &check->answer))
        return VERDICT_NEED_FACTS;
    if (check->answer->outcome == METRIC_NO_VALUES)
        return no_values(r, check);
    if (check->answer->outcome == METRIC_ERROR)
        return query_failed(r, check,
                            check->answer->unreachable ? r->canary->analysis.on_unreachable
                                                       : r->canary->analysis.on_metric_error,
                            check->answer->text);
    return judge(r, check);
}

static enum verdict check_prometheus(struct release *r, int index, enum metric_source source)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct metric_check check = {.metric = metric,
                                 .source = source,
                                 .question = {.id = question_id(r, index, source),
                                              .backend = "prometheus",
                                              .address = server(r),
                                              .interval_ms = metric->interval_ms}};
    struct render_model model = model_of(r, metric, metrics_interval(&check));
    const char *template = query_template(r, &check, &model);
    struct errinfo ei;

    if (render_query(r->tick->arena, template, &model, &check.question.query, &ei) != ERR_OK)
        return query_failed(r, &check, POLICY_FAIL, ei.text); /* no waiting mends it */
    check.question.group = group_of(r, &check, &model);
    return ask(r, &check);
}

/* --- MetricTemplates */

static const char *capitalised(struct arena *arena, const char *text)
{
    char *copy = arena_strdup(arena, text);

    copy[0] = (char)toupper((unsigned char)copy[0]);
    return copy;
}

static enum verdict check_template(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct metric_check check = {.metric = metric,
                                 .source = SOURCE_TEMPLATE,
                                 .question = {.id = question_id(r, index, SOURCE_TEMPLATE)}};
    struct render_model model = model_of(r, metric, metrics_interval(&check));
    struct json_object *template;
    const char *why;
    struct errinfo ei;
    enum verdict verdict = metrics_template_question(r, index, &check.question, &template, &why);

    if (verdict == VERDICT_STOP)
        return checks_failed(r, "NotUsable", "%s%s", capitalised(r->tick->arena, why),
                             metrics_about(r, &check));
    if (verdict != VERDICT_GO)
        return verdict;
    const char *query = json_str_at(template, "spec", "query", NULL);
    if (render_query(r->tick->arena, query ? query : "", &model, &check.question.query, &ei) ==
        ERR_OK)
        return ask(r, &check);
    return checks_failed(r, "NotUsable", "Metric template %s.%s query render error: %s%s",
                         metric->template_ref.name, metrics_template_namespace(r, metric), ei.text,
                         metrics_about(r, &check));
}

/* What templates and Secrets say is known before anybody is asked, so that all can be at once. What
 * is missing is told when its turn comes. */
static enum verdict read_template(struct release *r, int index)
{
    struct metric_question question = {.id = ""};
    struct json_object *template;
    const char *why;

    if (!r->canary->analysis.metrics[index].template_ref.name)
        return VERDICT_GO;
    enum verdict verdict = metrics_template_question(r, index, &question, &template, &why);
    return verdict == VERDICT_NEED_FACTS ? verdict : VERDICT_GO;
}

/* Built-in, then inline. */
static enum verdict check_own(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    enum verdict verdict = VERDICT_GO, inline_verdict = VERDICT_GO;

    if (canary_metric_is_success_rate(metric))
        verdict = check_prometheus(r, index, SOURCE_SUCCESS_RATE);
    else if (canary_metric_is_duration(metric))
        verdict = check_prometheus(r, index, SOURCE_DURATION);
    if (verdict != VERDICT_STOP && is_inline(metric))
        inline_verdict = check_prometheus(r, index, SOURCE_QUERY);
    return verdict == VERDICT_GO ? inline_verdict : verdict;
}

static enum verdict check_other(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];

    if (metric->template_ref.name)
        return check_template(r, index);
    if (canary_metric_is_builtin(metric) || is_inline(metric))
        return VERDICT_GO;
    const struct metric_check none = {.metric = metric, .source = SOURCE_TEMPLATE};
    return checks_failed(
        r, "NotUsable",
        "Metric query failed for no usable metrics template and query were configured%s",
        metrics_about(r, &none));
}

/* Whatever is not known yet is asked for before the first of it is waited for. */
static enum verdict check_each(struct release *r,
                               enum verdict (*check)(struct release *r, int index),
                               enum verdict so_far)
{
    for (int i = 0; so_far != VERDICT_STOP && i < r->canary->analysis.n_metrics; i++) {
        enum verdict verdict = check(r, i);
        if (so_far == VERDICT_GO)
            so_far = verdict;
        else if (verdict == VERDICT_STOP)
            break; /* it counts once those before it are known */
    }
    return so_far;
}

enum verdict metrics_check(struct release *r)
{
    enum verdict verdict = check_each(r, read_template, VERDICT_GO);

    if (verdict != VERDICT_GO)
        return verdict;
    verdict = check_each(r, check_own, VERDICT_GO);
    verdict = check_each(r, check_other, verdict);
    if (verdict == VERDICT_GO && !r->held)
        verdict = requests_check(r);
    if (verdict == VERDICT_GO && !r->held) {
        metrics_measured(r);
        checks_passed(r);
    }
    return verdict;
}

/* --- before a release */

static enum verdict probe_one(struct release *r, int index, const char **why)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct metric_question question = {.id = arena_printf(r->tick->arena, "probe[%d]", index),
                                       .backend = "prometheus",
                                       .address = server(r),
                                       .interval_ms = metric->interval_ms};
    const struct metric_answer *answer;
    struct json_object *template;

    if (!canary_metric_is_builtin(metric) && !metric->template_ref.name)
        return VERDICT_GO;
    if (!canary_metric_is_builtin(metric)) {
        enum verdict verdict = metrics_template_question(r, index, &question, &template, why);
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

    for (int i = 0; verdict != VERDICT_STOP && i < analysis->n_metrics; i++) {
        enum verdict one = probe_one(r, i, &why);
        verdict = verdict == VERDICT_GO || one == VERDICT_NEED_FACTS ? one : verdict;
    }
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
        if (!need_object(r->tick, &metric_templates, metrics_template_namespace(r, metric),
                         metric->template_ref.name, &template))
            return VERDICT_NEED_FACTS;
        struct json_object *provider = json_at(template, "spec", "provider", NULL);
        const char *type = json_str_at(provider, "type", NULL);
        const char *headers = ask_headers_refusal(r->tick->arena, provider);
        if (headers)
            *sentence = arena_printf(
                r->tick->arena, "spec.analysis.metrics[%d].templateRef: MetricTemplate %s.%s: %s",
                i, metric->template_ref.name, metrics_template_namespace(r, metric), headers);
        if (headers)
            return VERDICT_GO;
        if (!template || (type && metric_backend_find(type)))
            continue;
        *sentence =
            arena_printf(r->tick->arena,
                         "spec.analysis.metrics[%d].templateRef: MetricTemplate %s.%s has "
                         "provider %s, which is not served by this version; it has %s",
                         i, metric->template_ref.name, metrics_template_namespace(r, metric),
                         type ? type : "\"\"", metric_backend_names(r->tick->arena));
        return VERDICT_GO;
    }
    return counts_refusal(r, sentence);
}
