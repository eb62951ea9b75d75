#include "lint/canary.h"

#include <string.h>

#include "decide/decide.h"
#include "lint/facts.h"
#include "lint/names.h"
#include "lint/others.h"
#include "lint/repair.h"
#include "lint/schema.h"
#include "metric/backend.h"
#include "metric/render.h"
#include "metric/template.h"
#include "target/target.h"

enum { NOW_MS = 1000 };

static void found(void *arg, const char *sentence)
{
    verdicts_add(arg, sentence);
}

static void ask(void *arg, struct json_object *object, struct verdicts *out)
{
    struct document *document = arg;
    struct canary *canary = ARENA_NEW(out->arena, struct canary);
    struct errinfo ei;

    if (canary_view(out->arena, object, canary, &ei) != ERR_OK) {
        out->unread = true;
        verdicts_add(out, ei.text);
        return;
    }
    struct tick *tick = tick_new(out->arena, canary, document->lint->settings, NOW_MS, true);
    facts_ask(document->lint, tick, accept_judge, found, out);
}

/* --- metrics: the queries are rendered as they will be */

static bool renders(struct document *document, const struct canary *canary, int index,
                    const struct template_means *means, const char *query, struct errinfo *ei)
{
    const struct canary_metric *metric = &canary->analysis.metrics[index];
    const char *interval = metric->interval ? metric->interval : metric->query ? "1m" : "";
    struct render_model model = render_model_of(canary, interval, metric->variables);
    const char *out;

    model.means = means;
    return render_query(document->lint->arena, query, &model, &out, ei) == ERR_OK;
}

static void check_metric(struct document *document, const struct canary *canary, int index,
                         const struct template_means *means)
{
    struct arena *arena = document->lint->arena;
    const struct canary_metric *metric = &canary->analysis.metrics[index];
    const char *namespace_ = metric->template_ref.namespace_, *query;
    const char *at = arena_printf(arena, "spec.%s.metrics[%d]",
                                  canary->analysis.legacy ? "canaryAnalysis" : "analysis", index);
    struct errinfo ei;

    if (metric->query && !renders(document, canary, index, means, metric->query, &ei))
        document_sentence(document, arena_printf(arena, "%s.query: %s", at, ei.text));
    if (!metric->template_ref.name)
        return;
    const struct document *template =
        document_find(document->lint, metric_templates.group, metric_templates.kind,
                      namespace_ ? namespace_ : document->namespace_, metric->template_ref.name);
    query = template ? json_str_at(template->json, "spec", "query", NULL) : NULL;
    /* What is wrong with the template itself is told there. */
    if (query && template_query(arena, query, &ei) &&
        !renders(document, canary, index, means, query, &ei))
        document_sentence(document, arena_printf(arena, "%s.templateRef: MetricTemplate %s: %s", at,
                                                 metric->template_ref.name, ei.text));
}

static void check_metrics(struct document *document, const struct canary *canary)
{
    struct template_budget budget = {.steps = TEMPLATE_TICK_STEPS, .bytes = TEMPLATE_TICK_BYTES};
    const struct template_means means = {.budget = &budget};

    for (int i = 0; i < canary->analysis.n_metrics; i++)
        check_metric(document, canary, i, &means);
}

/* --- the target, where it is in the files */

static enum verdict read_target(struct tick *tick, void (*tell)(void *arg, const char *sentence),
                                void *arg)
{
    const struct canary_ref *ref = &tick->canary->target;
    const struct target *target = target_find(ref->api_version, ref->kind);
    struct target_info info = {0};
    enum verdict verdict = target->read(tick, &info);

    if (verdict == VERDICT_STOP && info.unusable)
        tell(arg, arena_printf(tick->arena, "spec.targetRef: %s", info.unusable));
    return verdict == VERDICT_NEED_FACTS ? verdict : VERDICT_GO;
}

static void check_target(struct document *document, struct tick *tick)
{
    const struct canary_ref *ref = &tick->canary->target;
    const struct target *target = target_find(ref->api_version, ref->kind);
    struct verdicts verdicts = {.arena = document->lint->arena};

    if (!target || !document_find(document->lint, target->resource->group, target->resource->kind,
                                  document->namespace_, ref->name))
        return;
    facts_ask(document->lint, tick, read_target, found, &verdicts);
    for (size_t i = 0; i < verdicts.count; i++)
        document_sentence(document, verdicts.sentences[i]);
}

void canary_check(struct document *document)
{
    struct arena *arena = document->lint->arena;
    struct json_object *schema = schema_of(document);
    struct json_object *object = json_copy(arena, document->json);
    struct errinfo ignored;

    json_object_object_del(object, "status");
    schema_check(document, schema, object);
    repair_tell_all(document, schema, object, ask, document);
    struct canary *canary = ARENA_NEW(arena, struct canary);
    if (canary_view(arena, object, canary, &ignored) != ERR_OK)
        return;
    struct tick *tick = tick_new(arena, canary, document->lint->settings, NOW_MS, true);
    check_metrics(document, canary);
    check_target(document, tick);
    canary_warn(document, canary, tick);
    names_warn(document, canary);
}
