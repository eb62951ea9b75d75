#include "decide/compared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metric/backend.h"

enum { SIDES = 2, DAY_S = 24 * 3600, HOUR_S = 3600 };

static const char prometheus[] = "prometheus";
static const char *const side_names[SIDES] = {[SIDE_PRIMARY] = "primary", [SIDE_CANARY] = "canary"};

struct render_model compared_model(const struct release *r, const struct canary_metric *metric,
                                   enum side side)
{
    const char *otherwise = metric->template_ref.name ? "" : "1m";
    struct render_model model =
        metrics_model(r, metric, metric->interval ? metric->interval : otherwise);

    if (side == SIDE_PRIMARY)
        model.target = arena_printf(r->tick->arena, "%s-primary", r->canary->target.name);
    model.workload = model.target;
    return model;
}

/* Of an inline query, which is asked of the Canary's Prometheus. */
static enum rule_result inline_question(struct release *r, const struct canary_metric *metric,
                                        enum side side, struct metric_question *question,
                                        const char **why)
{
    const struct render_model model = compared_model(r, metric, side);
    struct errinfo ei;

    question->backend = prometheus;
    question->address =
        r->canary->metrics_server ? r->canary->metrics_server : r->tick->settings->metrics_server;
    question->interval_ms = metric->interval_ms;
    if (render_query(r->tick->arena, metric->query, &model, &question->query, &ei) == ERR_OK)
        return RULE_CONTINUE;
    *why = arena_printf(r->tick->arena, "its query cannot be made: %s", ei.text);
    return RULE_DONE;
}

/* One query, without its id. */
static enum rule_result question_of(struct release *r, int index, enum side side,
                                    struct metric_question *question, const char **why)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const struct render_model model = compared_model(r, metric, side);
    struct json_object *template;
    struct errinfo ei;

    if (!metric->template_ref.name)
        return inline_question(r, metric, side, question, why);
    enum rule_result verdict = metrics_template_question(r, index, question, &template, why);

    if (verdict != RULE_CONTINUE)
        return verdict;
    const char *failed = metrics_render(r->tick->arena, template, &model, question, &ei);
    if (!failed)
        return RULE_CONTINUE;
    *why =
        arena_printf(r->tick->arena, "the %s of its template cannot be made: %s", failed, ei.text);
    return RULE_DONE;
}

static bool has_times(const struct metric_question *question)
{
    return strcmp(question->backend, prometheus) == 0;
}

/* A century, which is an int64_t in nanoseconds too: durations of more are taken for it. */
static const int64_t LONGEST_MS = 100LL * 365 * DAY_S * 1000;

/* The milliseconds of a duration as Prometheus writes it ("1h30m"), and where it ends; 0: none. */
static int64_t prometheus_duration(const char *text, const char **end)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1},
                 {"s", 1000},
                 {"m", 60 * 1000},
                 {"h", HOUR_S * 1000},
                 {"d", DAY_S * 1000},
                 {"w", 7 * DAY_S * 1000},
                 {"y", 365LL * DAY_S * 1000}};
    int64_t sum = 0;

    while (*text >= '0' && *text <= '9') {
        char *after;
        long number = strtol(text, &after, 10);
        size_t i = 0, n = sizeof(units) / sizeof(units[0]);
        while (i < n && strncmp(after, units[i].unit, strlen(units[i].unit)) != 0)
            i++;
        if (i == n)
            return 0;
        sum = number > (LONGEST_MS - sum) / units[i].ms ? LONGEST_MS : sum + number * units[i].ms;
        text = after + strlen(units[i].unit);
    }
    *end = text;
    return sum;
}

/* The longest range ("[5m]"), and the subqueries ("[1h:1m]"), which reach back from one another. */
static int64_t ranges_of(const char *query)
{
    int64_t longest = 0, subqueries = 0;

    for (const char *at = strchr(query, '['); at; at = strchr(at + 1, '[')) {
        const char *end = at;
        int64_t ms = prometheus_duration(at + 1, &end);
        if (ms > 0 && *end == ':')
            subqueries = ms > LONGEST_MS - subqueries ? LONGEST_MS : subqueries + ms;
        else if (ms > longest && *end == ']')
            longest = ms;
    }
    return longest + subqueries < LONGEST_MS ? longest + subqueries : LONGEST_MS;
}

enum rule_result compared_reach(struct release *r, int index, int64_t *ms)
{
    enum { MINUTE_MS = 60 * 1000 };
    struct metric_question question = {0};
    const char *why;
    enum rule_result verdict = question_of(r, index, SIDE_CANARY, &question, &why);
    int64_t given_ms = r->canary->analysis.metrics[index].interval_ms;

    *ms = 0;
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (has_times(&question))
        *ms = ranges_of(question.query);
    else
        *ms = given_ms > 0 ? given_ms : MINUTE_MS;
    return RULE_CONTINUE;
}

/* "judge[0].canary.value" */
static enum rule_result ask_side(struct release *r, int index, enum side side, int64_t at_s,
                                 const struct metric_answer **answer, const char **why)
{
    struct metric_question question = {
        .id = arena_printf(r->tick->arena, "judge[%d].%s.value", index, side_names[side])};
    enum rule_result verdict = question_of(r, index, side, &question, why);

    if (verdict != RULE_CONTINUE)
        return verdict;
    question.at_s = has_times(&question) ? at_s : 0;
    return need_metric(r->tick, &question, answer) ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* Why it is no number; NULL if it is one. */
static const char *fault_of(struct release *r, enum side side, const struct metric_answer *answer)
{
    if (answer->outcome == METRIC_VALUE && isfinite(answer->value))
        return NULL;
    return arena_printf(r->tick->arena, "the %s has no value: %s", side_names[side],
                        answer->outcome == METRIC_VALUE ? "it is infinite" : answer->text);
}

enum rule_result compared_ask(struct release *r, int index, int64_t at_s, struct compared *out)
{
    const struct metric_answer *answers[SIDES];
    enum rule_result verdict = RULE_CONTINUE;

    /* both are requested before the first is waited for */
    for (int side = 0; side < SIDES && verdict != RULE_DONE; side++) {
        enum rule_result one = ask_side(r, index, (enum side)side, at_s, &answers[side], &out->why);
        verdict = one != RULE_CONTINUE ? one : verdict;
    }
    for (int side = 0; side < SIDES && verdict == RULE_CONTINUE; side++) {
        out->why = fault_of(r, (enum side)side, answers[side]);
        verdict = out->why ? RULE_DONE : RULE_CONTINUE;
    }
    if (verdict != RULE_CONTINUE)
        return verdict;
    out->canary = answers[SIDE_CANARY]->value;
    out->primary = answers[SIDE_PRIMARY]->value;
    return RULE_CONTINUE;
}

enum rule_result compared_learn(struct release *r, int index, const struct counts_window *window,
                                struct judge_numbers *numbers)
{
    struct metric_question question = {
        .id = arena_printf(r->tick->arena, "judge[%d].before.primary.value", index)};
    const struct metric_answer *answer;
    const char *ignored;
    enum rule_result verdict = question_of(r, index, SIDE_PRIMARY, &question, &ignored);

    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    if (verdict == RULE_DONE || !has_times(&question))
        return RULE_CONTINUE; /* the looks will say it, or teach it */
    question.at_s = window->end_s;
    question.times = window->before;
    question.every_s = window->length_s;
    if (!need_metric(r->tick, &question, &answer))
        return RULE_NEEDS_FACTS;
    if (answer->outcome == METRIC_VALUE)
        judge_numbers_learn(numbers, answer->values, answer->n_values);
    return RULE_CONTINUE;
}

/* --- the past */

/* The primary's values at this time of so many days, today the last: "judge[0].days.value". */
static enum rule_result ask_days(struct release *r, int index, const char *id, int64_t at_s,
                                 int days, const struct metric_answer **answer, const char **why)
{
    struct metric_question question = {
        .id = arena_printf(r->tick->arena, "judge[%d].%s.value", index, id)};
    enum rule_result verdict = question_of(r, index, SIDE_PRIMARY, &question, why);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!has_times(&question)) {
        *why = "its past cannot be asked for";
        return RULE_DONE;
    }
    question.at_s = at_s;
    question.times = days;
    question.every_s = DAY_S;
    return need_metric(r->tick, &question, answer) ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* The value of so many days ago; the last one of the answer is of `first` days ago. */
static double value_ago(const struct metric_answer *answer, int ago, int first)
{
    int at = answer->n_values - 1 - (ago - first);

    return answer->outcome == METRIC_VALUE && at >= 0 ? answer->values[at] : NAN;
}

static void set_days(struct judge_past_look *look, const struct metric_answer *answer, int first)
{
    for (int i = 0; i < PAST_DAYS; i++)
        look->days[i] = value_ago(answer, i + 1, first);
}

enum rule_result compared_past_ask(struct release *r, int index, int64_t at_s,
                                   struct judge_past_look *out, const char **why)
{
    const struct metric_answer *today, *days;
    enum rule_result verdict = ask_side(r, index, SIDE_CANARY, at_s, &today, why);

    if (verdict == RULE_DONE)
        return verdict;
    enum rule_result past = ask_days(r, index, "days", at_s - DAY_S, PAST_DAYS, &days, why);
    if (past != RULE_CONTINUE || verdict != RULE_CONTINUE)
        return past == RULE_CONTINUE ? verdict : past;
    *why = fault_of(r, SIDE_CANARY, today);
    if (!*why && days->outcome == METRIC_ERROR)
        *why = arena_printf(r->tick->arena, "the last days cannot be had: %s", days->text);
    if (*why)
        return RULE_DONE;
    out->today = today->value;
    set_days(out, days, 1);
    return RULE_CONTINUE;
}

enum rule_result compared_past_learn(struct release *r, int index, int64_t at_s,
                                     struct judge_past *past)
{
    const struct metric_answer *answers[PAST_BEFORE];
    enum rule_result verdict = RULE_CONTINUE;
    const char *ignored;

    for (int i = 0; i < PAST_BEFORE && verdict != RULE_DONE; i++) {
        const char *id = arena_printf(r->tick->arena, "before%d", i);
        enum rule_result one = ask_days(r, index, id, at_s - i * (HOUR_S / PAST_BEFORE),
                                        PAST_DAYS + 1, &answers[i], &ignored);
        verdict = one != RULE_CONTINUE ? one : verdict;
    }
    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    for (int i = 0; i < PAST_BEFORE && verdict == RULE_CONTINUE; i++) {
        struct judge_past_look point = {.today = value_ago(answers[i], 0, 0)};
        set_days(&point, answers[i], 0);
        judge_past_before(past, &point);
    }
    return RULE_CONTINUE;
}

/* --- refusals */

/* The rendered texts of one side; false if one cannot be rendered, which its check reports. */
static bool texts_of(struct release *r, const struct canary_metric *metric,
                     struct json_object *template, enum side side, struct metric_question *out)
{
    const struct render_model model = compared_model(r, metric, side);
    struct errinfo ignored;

    if (!metric->template_ref.name)
        return render_query(r->tick->arena, metric->query, &model, &out->query, &ignored) == ERR_OK;
    out->spec = json_at(template, "spec", "provider", NULL);
    out->backend = json_str_at(out->spec, "type", NULL);
    return metric_backend_find(out->backend) &&
           !metrics_render(r->tick->arena, template, &model, out, &ignored);
}

static bool is_same(const char *one, const char *other)
{
    return strcmp(one ? one : "", other ? other : "") == 0;
}

/* False also if one of them cannot be rendered. */
static bool asks_the_same(struct release *r, const struct canary_metric *metric,
                          struct json_object *template)
{
    struct metric_question canary = {0}, primary = {0};

    return texts_of(r, metric, template, SIDE_CANARY, &canary) &&
           texts_of(r, metric, template, SIDE_PRIMARY, &primary) &&
           is_same(canary.query, primary.query) && is_same(canary.path, primary.path) &&
           is_same(canary.body, primary.body);
}

enum rule_result compared_is_of_side(struct release *r, int index, bool *is)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct json_object *template = NULL;

    *is = false;
    if (metric->template_ref.name &&
        !need_object(r->tick, &metric_templates, metrics_template_namespace(r, metric),
                     metric->template_ref.name, &template))
        return RULE_NEEDS_FACTS;
    *is = (template || !metric->template_ref.name) && !asks_the_same(r, metric, template);
    return RULE_CONTINUE;
}

static const char *past_refusal(struct release *r, int index, struct json_object *template)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const char *type = json_str_at(template, "spec", "provider", "type", NULL);

    if (type && strcmp(type, prometheus) == 0)
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.analysis.metrics[%d].compare: MetricTemplate %s.%s has provider %s; "
                        "expected prometheus with compare: past, the only one that can be asked "
                        "for the last days",
                        index, metric->template_ref.name, metrics_template_namespace(r, metric),
                        type ? type : "\"\"");
}

const char *compared_refusal(struct release *r, int index, struct json_object *template)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];

    if (!template)
        return NULL; /* its check reports it */
    if (metric->past)
        return past_refusal(r, index, template);
    if (!asks_the_same(r, metric, template))
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.analysis.metrics[%d].compare: MetricTemplate %s.%s asks the same for "
                        "canary and primary; expected {{ workload }} or {{ target }} in its query, "
                        "which are the names of the side",
                        index, metric->template_ref.name, metrics_template_namespace(r, metric));
}
