#include "decide/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/compared.h"
#include "kube/secret.h"
#include "metric/backend.h"
#include "metric/family.h"
#include "metric/template.h"
#include "tick/edit.h"

enum { SIDES = 2, ASKED = 2 };

static const char prometheus[] = "prometheus";

/* The queries for one side: all requests, and the good ones (families) or the bad ones
 * (templates). */
enum asked { ASKED_TOTAL, ASKED_PART };

struct asking {
    struct release *r;
    int index;
    const struct canary_metric *metric;
    const struct counts_window *window;
    struct metric_question question; /* without id and query */
    struct json_object *queries;     /* of a template; NULL for a built-in metric */
};

static enum metric_kind kind_of(const struct canary_metric *metric)
{
    return canary_metric_is_duration(metric) ? METRIC_DURATION : METRIC_SUCCESS_RATE;
}

static double slowest_ms(const struct canary_metric *metric)
{
    return metric->has_range ? metric->max : metric->threshold;
}

static bool may_be_judged(const struct canary_metric *metric)
{
    return !metric->judge.off &&
           (canary_metric_is_builtin(metric) || metric->template_ref.name != NULL || metric->past);
}

enum rule_result counts_judged(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct json_object *template;

    if (!may_be_judged(metric))
        return RULE_DONE;
    if (canary_metric_is_builtin(metric) || metric->compares)
        return RULE_CONTINUE;
    if (!need_object(r->tick, &metric_templates, metrics_template_namespace(r, metric),
                     metric->template_ref.name, &template))
        return RULE_NEEDS_FACTS;
    return metric->judge.given || json_at(template, "spec", "queries", NULL) ? RULE_CONTINUE
                                                                             : RULE_DONE;
}

/* --- one query */

static const char *workload_of(const struct asking *a, enum side side)
{
    return side == SIDE_CANARY
               ? a->r->canary->target.name
               : arena_printf(a->r->tick->arena, "%s-primary", a->r->canary->target.name);
}

static const char *template_of(const struct asking *a, enum side side,
                               const struct metric_count *what)
{
    struct metric_count count = *what;

    if (a->queries) {
        const char *text = json_str_at(a->queries, what->good ? "bad" : "total", NULL);
        return text ? text : "";
    }
    count.kind = kind_of(a->metric);
    count.primary = side == SIDE_PRIMARY;
    return metric_family_count_query(a->r->tick->arena,
                                     metric_family_find(a->r->router->metric_family), &count);
}

static enum err query_of(const struct asking *a, enum side side, const struct metric_count *what,
                         const char **query, struct errinfo *ei)
{
    struct release *r = a->r;
    const char *seconds = arena_printf(r->tick->arena, "%llds", (long long)a->window->length_s);
    struct render_model model = render_model_of(r->canary, seconds, a->metric->variables);

    model.means = metrics_means(r);
    if (a->queries) {
        model.workload = workload_of(a, side);
    } else {
        model.plain_words = metric_family_find(r->router->metric_family)->plain_words;
        model.pods =
            arena_printf(r->tick->arena, "%s%s", workload_of(a, side), r->target->pod_suffix);
    }
    return render_query(r->tick->arena, template_of(a, side, what), &model, query, ei);
}

/* Completes the question by its query and times: before > 0, that many windows. */
static enum rule_result ask(const struct asking *a, enum side side, const struct metric_count *what,
                            int before, struct metric_question *question,
                            const struct metric_answer **answer, const char **why)
{
    struct errinfo ei;

    question->at_s = a->window->end_s;
    if (before > 0) {
        question->times = before;
        question->every_s = a->window->length_s;
    }
    if (query_of(a, side, what, &question->query, &ei) != ERR_OK) {
        *why = arena_printf(a->r->tick->arena, "the query of its %s cannot be made: %s",
                            question->histogram ? "histogram" : "counts", ei.text);
        return RULE_DONE;
    }
    return need_metric(a->r->tick, question, answer) ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* In the unit of the buckets. */
static double threshold_of(const struct asking *a)
{
    return metric_family_bucket(metric_family_find(a->r->router->metric_family),
                                slowest_ms(a->metric));
}

/* "judge[0].canary.total", "judge[0].before.primary.total" */
static enum rule_result ask_one(const struct asking *a, enum side side, enum asked asked,
                                const struct metric_answer **answer, const char **why)
{
    static const char *const parts[] = {[ASKED_TOTAL] = "total", [ASKED_PART] = "part"};
    struct metric_question question = a->question;

    question.id = arena_printf(a->r->tick->arena, "judge[%d]%s.%s.%s", a->index,
                               a->window->before > 0 ? ".before" : "",
                               side == SIDE_CANARY ? "canary" : "primary", parts[asked]);
    if (!a->queries && asked == ASKED_PART && kind_of(a->metric) == METRIC_DURATION)
        question.bucket = threshold_of(a);
    return ask(a, side, &(struct metric_count){.good = asked == ASKED_PART}, a->window->before,
               &question, answer, why);
}

/* The past of the canary is not asked for. */
static bool is_asked(const struct asking *a, enum side side)
{
    return a->window->before == 0 || side == SIDE_PRIMARY;
}

/* --- native histograms */

/* Windows before the release: their answers are large. */
enum { NATIVE_BEFORE = 24 };

/* The answers of all sides; NULL if not asked. */
struct answered {
    const struct metric_answer *classic[SIDES][ASKED];
    const struct metric_answer *native[SIDES][ASKED];
};

static int windows_of(const struct asking *a, bool native)
{
    return native && a->window->before > NATIVE_BEFORE ? NATIVE_BEFORE : a->window->before;
}

/* "judge[0].canary.native", "judge[0].canary.native.part": durations need no second one. */
static enum rule_result ask_native(const struct asking *a, enum side side, enum asked asked,
                                   const struct metric_answer **answer, const char **why)
{
    struct metric_question question = a->question;

    question.id = arena_printf(a->r->tick->arena, "judge[%d]%s.%s.native%s", a->index,
                               a->window->before > 0 ? ".before" : "",
                               side == SIDE_CANARY ? "canary" : "primary",
                               asked == ASKED_PART ? ".part" : "");
    question.histogram = true;
    return ask(a, side, &(struct metric_count){.good = asked == ASKED_PART, .native = true},
               windows_of(a, true), &question, answer, why);
}

static int native_queries(const struct asking *a)
{
    return kind_of(a->metric) == METRIC_DURATION ? 1 : ASKED;
}

/* True if there is no series by `le`, or no counter, or in the last window only those of pods that
 * are gone. */
static bool is_empty(const struct asking *a, const struct metric_answer *answer)
{
    int times = a->window->before > 0 ? a->window->before : 1;

    if (answer->outcome != METRIC_VALUE)
        return answer->outcome == METRIC_NO_VALUES;
    for (int i = times - 1; i < answer->n_values; i += times) {
        if (answer->values[i] > 0)
            return false;
    }
    return answer->n_values > 0 || answer->value == 0;
}

static bool may_be_native(const struct asking *a, const struct metric_answer *classic)
{
    return canary_metric_is_builtin(a->metric) && is_empty(a, classic) &&
           metric_family_has_native(metric_family_find(a->r->router->metric_family),
                                    kind_of(a->metric));
}

/*
 * The native histograms of the sides that are known to have them, or that have answered without a
 * request. Only a histogram makes a side native.
 */
static enum rule_result ask_natives(const struct asking *a, struct answered *answers,
                                    const char **why)
{
    enum rule_result verdict = RULE_CONTINUE;

    for (int side = 0; verdict != RULE_DONE && side < SIDES; side++) {
        const struct metric_answer *classic = answers->classic[side][ASKED_TOTAL];
        if (!is_asked(a, (enum side)side) ||
            !(a->window->native[side] || (classic && may_be_native(a, classic))))
            continue;
        for (int i = 0; verdict != RULE_DONE && i < native_queries(a); i++) {
            enum rule_result one =
                ask_native(a, (enum side)side, (enum asked)i, &answers->native[side][i], why);
            verdict = one != RULE_CONTINUE ? one : verdict;
        }
    }
    for (int side = 0; verdict == RULE_CONTINUE && side < SIDES; side++) {
        const struct metric_answer *native = answers->native[side][ASKED_TOTAL];
        a->window->native[side] =
            a->window->native[side] ||
            (native && native->outcome == METRIC_VALUE && native->n_bounds > 0);
    }
    return verdict;
}

/* An increase of a little more than the window, of whole requests. */
static double whole(const struct asking *a, double count)
{
    double length_s = (double)a->window->length_s;

    return round(count * length_s / (length_s + METRIC_NATIVE_SLACK_S));
}

/* The histogram at the i-th of several times; no series, or a bucket without a value, means no
 * request. */
static struct judge_histogram histogram_at(const struct asking *a,
                                           const struct metric_answer *answer, bool native, int i)
{
    int n = answer->outcome == METRIC_VALUE ? answer->n_bounds : 0;
    int times = a->window->before > 0 ? windows_of(a, native) : 1;
    double *counts = arena_array(a->r->tick->arena, (size_t)n, sizeof(*counts));

    for (int b = 0; b < n; b++) {
        counts[b] = answer->values[b * times + i];
        if (!isfinite(counts[b]))
            return (struct judge_histogram){0};
        if (native)
            counts[b] = whole(a, counts[b]);
    }
    return (struct judge_histogram){.n = n, .bounds = answer->bounds, .counts = counts};
}

/* --- the counts of a metric */

/* Requests of a side: all, and the good ones, or those up to the bound `at`; 0 if there is none. */
struct side_counts {
    double total, part, at;
    struct judge_histogram histogram; /* native durations */
};

/* No series means no request. */
static double number_of(const struct metric_answer *answer)
{
    return answer->outcome == METRIC_VALUE ? answer->value : 0;
}

/* Likewise, for the i-th of the windows before the release. */
static double number_at(const struct metric_answer *answer, int i)
{
    return answer->outcome == METRIC_VALUE && i < answer->n_values && !isnan(answer->values[i])
               ? answer->values[i]
               : 0;
}

static double total_of(const struct judge_histogram *histogram)
{
    return histogram->n > 0 ? histogram->counts[histogram->n - 1] : 0;
}

/* The requests up to a bound that is not below (or, with `up` false, not above) this value. */
static void cut(struct side_counts *side, double bound, bool up)
{
    if (side->histogram.n > 0)
        side->part = judge_histogram_count(&side->histogram, bound, up, &side->at);
}

/* The i-th window, or the only one. */
static struct side_counts side_counts(const struct asking *a, const struct answered *answers,
                                      enum side side, int i)
{
    const struct metric_answer *const *classic = answers->classic[side];
    const struct metric_answer *const *native = answers->native[side];
    bool past = a->window->before > 0;
    struct side_counts out = {0};

    if (!a->window->native[side]) {
        out.total = past ? number_at(classic[ASKED_TOTAL], i) : number_of(classic[ASKED_TOTAL]);
        out.part = past ? number_at(classic[ASKED_PART], i) : number_of(classic[ASKED_PART]);
        out.at = classic[ASKED_PART]->note ? strtod(classic[ASKED_PART]->note, NULL) : 0;
        return out;
    }
    out.histogram = histogram_at(a, native[ASKED_TOTAL], true, i);
    out.total = total_of(&out.histogram);
    if (kind_of(a->metric) == METRIC_DURATION) {
        cut(&out, threshold_of(a), true);
        return out;
    }
    const struct judge_histogram good = histogram_at(a, native[ASKED_PART], true, i);
    out.part = total_of(&good);
    return out;
}

/*
 * Slow requests of both sides are those beyond one bound. Where the resolutions of native histograms
 * differ it is one that both have, or else a higher one of the canary: fewer of its requests are
 * beyond it.
 */
static void align(struct side_counts *canary, struct side_counts *primary)
{
    if (primary->at > canary->at && canary->histogram.n > 0)
        cut(canary, primary->at, true);
    else if (primary->at > canary->at && canary->at > 0)
        cut(primary, canary->at, false);
}

static struct judge_counts counts_of(const struct asking *a, const struct side_counts *side)
{
    return judge_clean((struct judge_counts){
        .total = side->total, .bad = a->queries ? side->part : side->total - side->part});
}

/* The bound actually used: the histogram has a fixed set. */
static const char *bad_of(const struct asking *a, double bound)
{
    if (a->queries)
        return arena_printf(a->r->tick->arena, "were bad by %s", a->metric->name);
    if (kind_of(a->metric) != METRIC_DURATION)
        return "failed";
    double ms = slowest_ms(a->metric);
    if (bound > 0 && isfinite(bound))
        ms = bound * ms / threshold_of(a);
    return arena_printf(a->r->tick->arena, "took longer than %g ms", ms);
}

static bool is_without_bucket(const struct asking *a, const struct answered *answers,
                              enum side side)
{
    const struct metric_answer *part = answers->classic[side][ASKED_PART];

    return !a->queries && kind_of(a->metric) == METRIC_DURATION && !a->window->native[side] &&
           part->outcome == METRIC_NO_VALUES && number_of(answers->classic[side][ASKED_TOTAL]) > 0;
}

/* Of all that were asked about a side. */
static const char *error_of(const struct answered *answers, int side)
{
    const struct metric_answer *const all[] = {
        answers->classic[side][ASKED_TOTAL], answers->classic[side][ASKED_PART],
        answers->native[side][ASKED_TOTAL], answers->native[side][ASKED_PART]};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i] && all[i]->outcome == METRIC_ERROR)
            return all[i]->text;
    }
    return NULL;
}

/*
 * A sentence about an answer that is not a count, or about requests without a bucket at the bound,
 * since the number of slow ones is then unknown; NULL if all are counts.
 */
static const char *fault_of(const struct asking *a, const struct answered *answers)
{
    for (int side = 0; side < SIDES; side++) {
        const char *error = error_of(answers, side);
        if (error)
            return error;
        if (is_asked(a, (enum side)side) && is_without_bucket(a, answers, (enum side)side))
            return arena_printf(a->r->tick->arena,
                                "the histogram of request-duration has no bucket of %g ms or more",
                                slowest_ms(a->metric));
    }
    return NULL;
}

static enum rule_result begin(struct release *r, struct asking *a, const char **why)
{
    struct json_object *template;

    if (canary_metric_is_builtin(a->metric)) {
        *why = metric_family_incomparable(
            r->tick->arena, metric_family_find(r->router->metric_family), kind_of(a->metric));
        if (*why)
            return RULE_DONE;
        a->question = (struct metric_question){.backend = prometheus,
                                               .address = r->canary->metrics_server
                                                              ? r->canary->metrics_server
                                                              : r->tick->settings->metrics_server,
                                               .interval_ms = a->metric->interval_ms};
        return RULE_CONTINUE;
    }
    enum rule_result verdict = metrics_template_question(r, a->index, &a->question, &template, why);
    if (verdict != RULE_CONTINUE)
        return verdict;
    a->queries = json_at(template, "spec", "queries", NULL);
    if (a->queries && strcmp(a->question.backend, prometheus) == 0)
        return RULE_CONTINUE;
    *why = arena_printf(r->tick->arena, "metric template %s.%s has no queries of counts for %s",
                        a->metric->template_ref.name, metrics_template_namespace(r, a->metric),
                        prometheus);
    return RULE_DONE;
}

/* All are requested before the first is waited for. */
static enum rule_result ask_all(const struct asking *a, struct answered *answers, const char **why)
{
    enum rule_result verdict = RULE_CONTINUE;

    for (int i = 0; verdict != RULE_DONE && i < SIDES * ASKED; i++) {
        enum side side = i / ASKED ? SIDE_CANARY : SIDE_PRIMARY;
        if (!is_asked(a, side) || a->window->native[side])
            continue;
        enum rule_result one =
            ask_one(a, side, (enum asked)(i % ASKED), &answers->classic[side][i % ASKED], why);
        verdict = one != RULE_CONTINUE ? one : verdict;
    }
    if (verdict == RULE_DONE)
        return verdict;
    enum rule_result natives = ask_natives(a, answers, why);
    return natives != RULE_CONTINUE ? natives : verdict;
}

enum rule_result counts_ask(struct release *r, int index, const struct counts_window *window,
                            struct counts *out)
{
    struct answered answers = {0};
    struct asking a = {
        .r = r, .index = index, .metric = &r->canary->analysis.metrics[index], .window = window};
    enum rule_result verdict = begin(r, &a, &out->why);

    if (verdict == RULE_CONTINUE)
        verdict = ask_all(&a, &answers, &out->why);
    if (verdict != RULE_CONTINUE)
        return verdict;
    out->why = fault_of(&a, &answers);
    if (out->why)
        return RULE_DONE;
    struct side_counts primary = side_counts(&a, &answers, SIDE_PRIMARY, 0);
    if (window->before > 0) {
        out->n_before = windows_of(&a, window->native[SIDE_PRIMARY]);
        out->before = arena_array(r->tick->arena, (size_t)out->n_before, sizeof(*out->before));
        for (int i = 0; i < out->n_before; i++) {
            primary = side_counts(&a, &answers, SIDE_PRIMARY, i);
            out->before[i] = counts_of(&a, &primary);
        }
        return RULE_CONTINUE;
    }
    struct side_counts canary = side_counts(&a, &answers, SIDE_CANARY, 0);
    align(&canary, &primary);
    out->bad = bad_of(&a, primary.at);
    out->canary = counts_of(&a, &canary);
    out->primary = counts_of(&a, &primary);
    return RULE_CONTINUE;
}

/* --- histograms */

/* "judge[0].canary.histogram" */
static enum rule_result ask_histogram(const struct asking *a, enum side side,
                                      const struct metric_answer **answer, const char **why)
{
    struct metric_question question = a->question;

    question.id = arena_printf(a->r->tick->arena, "judge[%d]%s.%s.histogram", a->index,
                               a->window->before > 0 ? ".before" : "",
                               side == SIDE_CANARY ? "canary" : "primary");
    question.histogram = true;
    return ask(a, side, &(struct metric_count){.good = true}, a->window->before, &question, answer,
               why);
}

static enum rule_result ask_histograms(const struct asking *a, struct answered *answers,
                                       const char **why)
{
    enum rule_result verdict = RULE_CONTINUE;

    for (int side = 0; verdict != RULE_DONE && side < SIDES; side++) {
        if (!is_asked(a, (enum side)side) || a->window->native[side])
            continue;
        enum rule_result one =
            ask_histogram(a, (enum side)side, &answers->classic[side][ASKED_TOTAL], why);
        verdict = one != RULE_CONTINUE ? one : verdict;
    }
    if (verdict == RULE_DONE)
        return verdict;
    enum rule_result natives = ask_natives(a, answers, why);
    return natives != RULE_CONTINUE ? natives : verdict;
}

/* The answer of a side, by its kind; NULL if it was not asked. */
static const struct metric_answer *chosen(const struct asking *a, const struct answered *answers,
                                          enum side side)
{
    return a->window->native[side] ? answers->native[side][ASKED_TOTAL]
                                   : answers->classic[side][ASKED_TOTAL];
}

static const char *histogram_fault(const struct metric_answer *answer)
{
    if (answer->n_bounds > 0 && answer->bounds[answer->n_bounds - 1] != INFINITY)
        return "the histogram of request-duration has no bucket +Inf";
    return NULL;
}

static struct judge_histogram side_histogram(const struct asking *a, const struct answered *answers,
                                             enum side side, int i)
{
    return histogram_at(a, chosen(a, answers, side), a->window->native[side], i);
}

enum rule_result counts_histograms(struct release *r, int index, const struct counts_window *window,
                                   struct histograms *out)
{
    struct answered answers = {0};
    struct asking a = {
        .r = r, .index = index, .metric = &r->canary->analysis.metrics[index], .window = window};
    enum rule_result verdict = begin(r, &a, &out->why);

    if (verdict == RULE_CONTINUE)
        verdict = ask_histograms(&a, &answers, &out->why);
    if (verdict != RULE_CONTINUE)
        return verdict;
    for (int side = 0; side < SIDES && !out->why; side++) {
        out->why = error_of(&answers, side);
        if (!out->why && is_asked(&a, (enum side)side))
            out->why = histogram_fault(chosen(&a, &answers, (enum side)side));
    }
    if (out->why)
        return RULE_DONE;
    out->unit_ms = 1 / metric_family_bucket(metric_family_find(r->router->metric_family), 1);
    if (window->before == 0) {
        out->canary = side_histogram(&a, &answers, SIDE_CANARY, 0);
        out->primary = side_histogram(&a, &answers, SIDE_PRIMARY, 0);
        return RULE_CONTINUE;
    }
    out->n_before = windows_of(&a, window->native[SIDE_PRIMARY]);
    out->before = arena_array(r->tick->arena, (size_t)out->n_before, sizeof(*out->before));
    for (int i = 0; i < out->n_before; i++)
        out->before[i] = side_histogram(&a, &answers, SIDE_PRIMARY, i);
    return RULE_CONTINUE;
}

/* --- refusals */

static const char *refuse_template(struct release *r, int index, struct json_object *template,
                                   bool *judged)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const char *type = json_str_at(template, "spec", "provider", "type", NULL);
    bool has = json_at(template, "spec", "queries", NULL) != NULL;
    const char *missing = NULL;

    *judged = *judged || has || !template;
    if (!template)
        return NULL; /* its check reports it */
    if (!has && metric->judge.given)
        missing = "spec.queries, which count requests";
    else if (has && (!type || strcmp(type, prometheus) != 0))
        missing = "provider prometheus, the only one whose counts can be asked for at a time";
    else if (has && (!json_str_at(template, "spec", "queries", "total", NULL) ||
                     !json_str_at(template, "spec", "queries", "bad", NULL)))
        missing = "spec.queries.total and spec.queries.bad";
    if (!missing)
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.analysis.metrics[%d].judge: MetricTemplate %s.%s has not %s; add it, "
                        "or set enabled: false",
                        index, metric->template_ref.name, metrics_template_namespace(r, metric),
                        missing);
}

static const char *refuse_builtin(struct release *r, int index)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const struct metric_family *family =
        r->router ? metric_family_find(r->router->metric_family) : NULL;
    const char *why =
        family ? metric_family_incomparable(r->tick->arena, family, kind_of(metric)) : NULL;

    return why ? arena_printf(r->tick->arena,
                              "spec.analysis.metrics[%d].judge: %s cannot be judged, %s; set "
                              "enabled: false",
                              index, metric->name, why)
               : NULL;
}

enum rule_result counts_refusal(struct release *r, const char **sentence)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    bool judged = false;

    if (!analysis->judge.given)
        return RULE_CONTINUE;
    for (int i = 0; i < analysis->n_metrics && !*sentence; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        struct json_object *template;
        if (!may_be_judged(metric))
            continue;
        if (canary_metric_is_builtin(metric)) {
            judged = true;
            *sentence = refuse_builtin(r, i);
            continue;
        }
        judged = judged || metric->compares;
        if (!metric->template_ref.name)
            continue; /* an inline query is one of Prometheus */
        if (!need_object(r->tick, &metric_templates, metrics_template_namespace(r, metric),
                         metric->template_ref.name, &template))
            return RULE_NEEDS_FACTS;
        *sentence = metric->compares ? compared_refusal(r, i, template)
                                     : refuse_template(r, i, template, &judged);
    }
    if (!*sentence && !judged)
        *sentence =
            "spec.analysis.judge: no metric can be judged, because none of its MetricTemplates has "
            "queries; add spec.queries to one, or compare: primary, or a built-in metric";
    return RULE_CONTINUE;
}

const char *metrics_template_namespace(const struct release *r, const struct canary_metric *metric)
{
    const char *namespace_ = metric->template_ref.namespace_;

    return namespace_ && *namespace_ ? namespace_ : r->canary->namespace_;
}

/* A value from a Secret that the template names; *why reports a missing one. */
static enum rule_result need_secret(struct release *r, const char *namespace_, const char *name,
                                    const char *named, struct json_object **secret,
                                    const char **why)
{
    if (!need_object_surely(r->tick, &kube_secrets, namespace_, name, secret))
        return RULE_NEEDS_FACTS;
    if (*secret)
        return RULE_CONTINUE;
    *why = arena_printf(r->tick->arena, "%s secret %s error: not found", named, name);
    return RULE_DONE;
}

/* With an unusable caSecretRef the server is not queried at all: no other certificate is trusted.
 */
static enum rule_result question_ca(struct release *r, const char *namespace_, const char *named,
                                    struct metric_question *out, const char **why)
{
    struct json_object *ref = json_at(out->spec, "caSecretRef", NULL);
    const char *name = json_str_at(ref, "name", NULL);
    const char *key = json_str_at(ref, "key", NULL);
    struct json_object *secret;
    struct errinfo ei;

    if (!ref)
        return RULE_CONTINUE;
    if (!name || !*name) {
        *why = arena_printf(r->tick->arena,
                            "%s error: spec.provider.caSecretRef.name: expected a name", named);
        return RULE_DONE;
    }
    enum rule_result verdict = need_secret(r, namespace_, name, named, &secret, why);
    if (verdict != RULE_CONTINUE)
        return verdict;
    const char *label = arena_printf(r->tick->arena, "%s.%s", name, namespace_);
    if (secret_ca_read(r->tick->arena, label, secret, key && *key ? key : NULL, &out->ca_pem,
                       &ei) == ERR_OK)
        return RULE_CONTINUE;
    *why = arena_printf(r->tick->arena, "%s error: caSecretRef: %s", named, ei.text);
    return RULE_DONE;
}

enum rule_result metrics_template_question(struct release *r, int index,
                                           struct metric_question *out,
                                           struct json_object **template, const char **why)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const char *namespace_ = metrics_template_namespace(r, metric);
    const char *named = arena_printf(r->tick->arena, "metric template %s.%s",
                                     metric->template_ref.name, namespace_);

    if (!need_object_surely(r->tick, &metric_templates, namespace_, metric->template_ref.name,
                            template))
        return RULE_NEEDS_FACTS;
    if (!*template) {
        *why = arena_printf(r->tick->arena, "%s error: not found", named);
        return RULE_DONE;
    }
    out->spec = json_at(*template, "spec", "provider", NULL);
    out->backend = json_str_at(out->spec, "type", NULL);
    out->address = json_str_at(out->spec, "address", NULL);
    out->interval_ms = metric->interval_ms;
    if (r->tick->settings->no_cross_namespace_refs)
        out->only_namespace = namespace_;
    if (!metric_backend_find(out->backend)) {
        *why = arena_printf(r->tick->arena,
                            "%s provider %s error: not served by this version, which has %s", named,
                            out->backend ? out->backend : "", metric_backend_names(r->tick->arena));
        return RULE_DONE;
    }
    const char *secret = json_str_at(out->spec, "secretRef", "name", NULL);
    if (secret) {
        enum rule_result verdict = need_secret(r, namespace_, secret, named, &out->secret, why);
        if (verdict != RULE_CONTINUE)
            return verdict;
    }
    return question_ca(r, namespace_, named, out, why);
}

const struct template_means *metrics_means(const struct release *r)
{
    struct template_means *means = ARENA_NEW(r->tick->arena, struct template_means);

    if (!r->tick->budget) {
        r->tick->budget = ARENA_NEW(r->tick->arena, struct template_budget);
        *r->tick->budget =
            (struct template_budget){.steps = TEMPLATE_TICK_STEPS, .bytes = TEMPLATE_TICK_BYTES};
    }
    *means = (struct template_means){
        .budget = r->tick->budget, .kept = r->tick->templates, .owner = r->canary->namespace_};
    return means;
}

struct render_model metrics_model(const struct release *r, const struct canary_metric *metric,
                                  const char *interval)
{
    struct render_model model = render_model_of(r->canary, interval, metric->variables);

    model.means = metrics_means(r);
    if (r->info.revision)
        model.route = r->info.revision; /* the subject of its metrics */
    return model;
}

const char *metrics_render(struct arena *arena, struct json_object *template,
                           const struct render_model *model, struct metric_question *question,
                           struct errinfo *ei)
{
    const struct {
        const char *name, *text, **out;
    } fields[] = {
        {"query", json_str_at(template, "spec", "query", NULL), &question->query},
        {"path", json_str_at(question->spec, "path", NULL), &question->path},
        {"body", json_str_at(question->spec, "body", NULL), &question->body},
    };
    bool own_request = metric_backend_find(question->backend)->own_request;

    for (size_t i = 0; i < (own_request ? sizeof(fields) / sizeof(fields[0]) : 1); i++) {
        const char *text = fields[i].text ? fields[i].text : "";
        if (render_query(arena, text, model, fields[i].out, ei) != ERR_OK)
            return fields[i].name;
    }
    return NULL;
}
