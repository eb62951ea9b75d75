#include "decide/compared.h"

#include <math.h>
#include <string.h>

#include "metric/backend.h"

enum { SIDES = 2 };

static const char prometheus[] = "prometheus";
static const char *const side_names[SIDES] = {[SIDE_PRIMARY] = "primary", [SIDE_CANARY] = "canary"};

struct render_model compared_model(const struct release *r, const struct canary_metric *metric,
                                   enum side side)
{
    struct render_model model = metrics_model(r, metric, metric->interval ? metric->interval : "");

    if (side == SIDE_PRIMARY)
        model.target = arena_printf(r->tick->arena, "%s-primary", r->canary->target.name);
    model.workload = model.target;
    return model;
}

/* One query, without its id. */
static enum rule_result question_of(struct release *r, int index, enum side side,
                                    struct metric_question *question, const char **why)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const struct render_model model = compared_model(r, metric, side);
    struct json_object *template;
    struct errinfo ei;
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

/* --- refusals */

/* The rendered texts of one side; false if one cannot be rendered, which its check reports. */
static bool texts_of(struct release *r, const struct canary_metric *metric,
                     struct json_object *template, enum side side, struct metric_question *out)
{
    const struct render_model model = compared_model(r, metric, side);
    struct errinfo ignored;

    out->spec = json_at(template, "spec", "provider", NULL);
    out->backend = json_str_at(out->spec, "type", NULL);
    return metric_backend_find(out->backend) &&
           !metrics_render(r->tick->arena, template, &model, out, &ignored);
}

static bool is_same(const char *one, const char *other)
{
    return strcmp(one ? one : "", other ? other : "") == 0;
}

const char *compared_refusal(struct release *r, int index, struct json_object *template)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    struct metric_question canary = {0}, primary = {0};

    if (!template || !texts_of(r, metric, template, SIDE_CANARY, &canary) ||
        !texts_of(r, metric, template, SIDE_PRIMARY, &primary) ||
        !is_same(canary.query, primary.query) || !is_same(canary.path, primary.path) ||
        !is_same(canary.body, primary.body))
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.analysis.metrics[%d].compare: MetricTemplate %s.%s asks the same for "
                        "canary and primary; expected {{ workload }} or {{ target }} in its query, "
                        "which are the names of the side",
                        index, metric->template_ref.name, metrics_template_namespace(r, metric));
}
