/* Warnings: settings of a Canary that are accepted, but are hardly intended. */
#include <string.h>

#include "base/clock.h"
#include "base/guess.h"
#include "ctl/lint/document.h"
#include "decide/companions.h"
#include "metric/backend.h"
#include "notify/notify.h"
#include "router/router.h"
#include "router/shared/route_refs.h"
#include "router/shared/services.h"
#include "scaler/scaler.h"
#include "target/target.h"

struct look {
    struct document *document;
    struct arena *arena;
    const struct canary *canary;
    const struct canary_analysis *analysis;
    const struct router *router; /* NULL if none serves the provider, which has been reported */
    const char *provider;
    const char *at; /* "spec.analysis" */
};

static const char *field(const struct look *look, const char *name)
{
    return arena_printf(look->arena, "%s.%s", look->at, name);
}

/* True if the manifest itself sets the field; look->analysis also contains defaults. */
static bool given(const struct look *look, const char *key)
{
    const char *name = look->analysis->legacy ? "canaryAnalysis" : "analysis";

    return json_at(look->document->json, "spec", name, key, NULL) != NULL;
}

static const char *duration(struct arena *arena, int64_t ms)
{
    char text[DURATION_TEXT];

    return arena_strdup(arena, duration_format(ms * 1000000, text));
}

/* --- time */

static void warn_interval(const struct look *look)
{
    int64_t floor = look->document->lint->settings->min_analysis_interval_ms;

    if (given(look, "interval") && look->analysis->interval_ms < floor)
        document_warn(look->document, field(look, "interval"),
                      "%s is shorter than the controller's floor of %s, which counts instead",
                      duration(look->arena, look->analysis->interval_ms),
                      duration(look->arena, floor));
    if (given(look, "threshold") && json_int_at(look->analysis->json, 1, "threshold", NULL) == 0)
        document_warn(look->document, field(look, "threshold"),
                      "0 counts as 1: the first failed check rolls the release back");
    if (look->canary->progress_deadline_s * 1000LL < look->analysis->interval_ms)
        document_warn(look->document, "spec.progressDeadlineSeconds",
                      "%d s are over before an interval of %s is, so nothing is waited for",
                      look->canary->progress_deadline_s,
                      duration(look->arena, look->analysis->interval_ms));
}

/* Minimum number of intervals of an analysis, including the one before the promotion. */
static int64_t least_intervals(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;
    int step = analysis->step_weight;
    bool all_traffic = look->canary->strategy == STRATEGY_BLUE_GREEN && look->router &&
                       look->router->weighted && /* traffic to the canary, a step of its own */
                       analysis->bake.for_ms == 0;

    if (analysis->iterations > 0)
        return analysis->iterations + 1LL + all_traffic;
    if (analysis->n_steps > 0)
        return analysis->n_steps + 1LL;
    if (analysis->n_step_weights > 0)
        return analysis->n_step_weights + 1LL;
    return step > 0 ? (analysis->max_weight + step - 1) / step + 1LL : 1;
}

/* The same as a duration: a step may last longer than an interval. */
static int64_t least_ms(const struct look *look)
{
    int64_t interval = tick_canary_interval_ms(look->canary, look->document->lint->settings);
    int64_t out = least_intervals(look) * interval;

    for (int i = 0; i < look->analysis->n_steps; i++) {
        int64_t longer = look->analysis->steps[i].for_ms - interval;
        out += longer > 0 ? longer : 0;
    }
    return out;
}

static void warn_duration(const struct look *look)
{
    int64_t least = least_ms(look);

    if (look->analysis->max_duration_ms == 0 || look->analysis->max_duration_ms > least)
        return;
    document_warn(look->document, field(look, "maxDuration"),
                  "%s are over before the steps are, which take %s: every release is rolled back",
                  duration(look->arena, look->analysis->max_duration_ms),
                  duration(look->arena, least));
}

static void warn_bake(const struct look *look)
{
    if (look->analysis->bake.for_ms > 0 && look->canary->skip_analysis)
        document_warn(look->document, field(look, "bake"),
                      "has no effect with skipAnalysis: nothing is checked, and nothing bakes");
}

static void warn_webhooks(const struct look *look)
{
    for (int i = 0; i < look->analysis->n_webhooks; i++) {
        const struct canary_webhook *webhook = &look->analysis->webhooks[i];
        const char *at = arena_printf(look->arena, "webhooks[%d]", i);
        if (webhook->longer_ms > 0)
            document_warn(
                look->document, field(look, arena_printf(look->arena, "%s.timeout", at)),
                "%s is without effect beyond %s, the longest that a call of the type %s may take",
                duration(look->arena, webhook->longer_ms),
                duration(look->arena, webhook->timeout_ms), hook_type_name(webhook->type));
        else if (webhook->timeout_ms > look->analysis->interval_ms)
            document_warn(look->document, field(look, arena_printf(look->arena, "%s.timeout", at)),
                          "%s is longer than the interval of %s: a slow answer delays the steps",
                          duration(look->arena, webhook->timeout_ms),
                          duration(look->arena, look->analysis->interval_ms));
        if (webhook->more_retries > 0)
            document_warn(look->document, field(look, arena_printf(look->arena, "%s.retries", at)),
                          "%d is without effect beyond %d, the most that there are",
                          webhook->more_retries, webhook->retries);
        for (int k = 0; k < i; k++)
            if (strcmp(look->analysis->webhooks[k].name, webhook->name) == 0)
                document_warn(look->document, field(look, arena_printf(look->arena, "%s.name", at)),
                              "webhooks[%d] has the name \"%s\" as well: events do not tell which "
                              "one is meant",
                              k, webhook->name);
    }
}

/* --- steps */

static void warn_steps(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;
    int step = analysis->step_weight, most = analysis->max_weight;
    const char *max = weight_text(look->arena, most);

    for (int i = 0; i < analysis->n_steps; i++) {
        int64_t interval = tick_canary_interval_ms(look->canary, look->document->lint->settings);
        if (analysis->steps[i].for_ms > 0 && analysis->steps[i].for_ms < interval)
            document_warn(
                look->document, field(look, arena_printf(look->arena, "steps[%d].for", i)),
                "%s is shorter than the interval of %s, which a step lasts at least",
                duration(look->arena, analysis->steps[i].for_ms), duration(look->arena, interval));
    }
    if (look->canary->strategy != STRATEGY_CANARY || analysis->n_step_weights > 0 || step <= 0)
        return;
    if (step > most)
        document_warn(look->document, field(look, "stepWeight"),
                      "the first step of %s is above maxWeight %s: the only step is one of %s",
                      weight_text(look->arena, step), max, max);
    else if (most % step != 0)
        document_warn(look->document, field(look, "stepWeight"),
                      "steps of %s do not end at maxWeight %s: after %s comes %s",
                      weight_text(look->arena, step), max,
                      weight_text(look->arena, most - most % step), max);
}

/* Warns about a field that has no effect unless another one is set. */
static void warn_unused(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;
    bool stepped = look->canary->strategy == STRATEGY_CANARY;
    const char *other = given(look, "iterations")    ? "iterations"
                        : given(look, "stepWeights") ? "stepWeights"
                                                     : NULL;

    if (given(look, "maxWeight") && !given(look, "stepWeight") && other)
        document_warn(look->document, field(look, "maxWeight"), "has no effect beside %s", other);
    if (json_at(analysis->json, "capacity", "matchedShare", NULL) && !analysis->match)
        document_warn(look->document, field(look, "capacity"),
                      "matchedShare has no effect without match");
    if (given(look, "mirrorWeight") && !analysis->mirror)
        document_warn(look->document, field(look, "mirrorWeight"), "has no effect without mirror");
    if (analysis->match && !analysis->match_step && stepped &&
        !(look->router && look->router->matches_whole))
        document_warn(look->document, field(look, "match"),
                      "without iterations it does not choose who reaches the canary; set "
                      "iterations for an A/B test");
    if (json_at(look->canary->json, "spec", "canaryAnalysis", NULL) && !analysis->legacy)
        document_warn(look->document, "spec.canaryAnalysis", "has no effect beside spec.analysis");
}

/* About the first of them: the version of the mesh is not in a manifest. */
static void warn_fractions(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;

    for (int i = 0; look->router && look->router->finest_since && i < analysis->n_steps; i++) {
        if (analysis->steps[i].weight % WEIGHT_PERCENT == 0)
            continue;
        document_warn(look->document, field(look, arena_printf(look->arena, "steps[%d].weight", i)),
                      "parts of a percent are what %s", look->router->finest_since);
        return;
    }
}

/* A way to the primary. has: the share that the primary already has. */
static void warn_return(const struct look *look, const struct canary_return *way, const char *name,
                        int has, int64_t least_ms)
{
    for (int i = 0; i < way->n_steps; i++) {
        const struct canary_return_step *step = &way->steps[i];
        const char *at = arena_printf(look->arena, "%s.steps[%d]", name, i);
        if (step->weight <= has)
            document_warn(look->document, field(look, at),
                          "has no effect: the primary has %s percent of the traffic already",
                          weight_text(look->arena, has));
        if (step->for_ms > 0 && step->for_ms < least_ms)
            document_warn(look->document, field(look, arena_printf(look->arena, "%s.for", at)),
                          "%s is shorter than the interval of %s, which a step lasts at least",
                          duration(look->arena, step->for_ms), duration(look->arena, least_ms));
    }
}

/* The last weight of the analysis leaves the primary a share, unless it bakes; a rollback may start
 * at any weight. */
static void warn_returns(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;
    int64_t interval = tick_canary_interval_ms(look->canary, look->document->lint->settings);
    bool weights = look->canary->strategy == STRATEGY_CANARY, bakes = analysis->bake.for_ms > 0;
    bool matches = look->canary->strategy == STRATEGY_AB_TESTING;
    int has = weights && !bakes ? WEIGHT_ALL - analysis->max_weight : 0;

    warn_return(look, &analysis->promotion, "promotion", has, interval);
    warn_return(look, &analysis->rollback, "rollback", has, 0);
    if ((matches || (!weights && !bakes)) && analysis->rollback.n_steps > 0)
        document_warn(look->document, field(look, "rollback"),
                      "has no effect: only weights go back in steps");
}

static bool is_checked_somewhere(const struct canary_analysis *analysis, const char *name)
{
    for (int i = 0; i < analysis->n_steps; i++) {
        if (canary_step_checks(&analysis->steps[i], name))
            return true;
    }
    return analysis->n_steps == 0;
}

/* A metric or hook that no step lists in its checks is never checked. */
static void warn_unchecked(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;
    bool bakes = analysis->bake.for_ms > 0; /* a bake calls every hook */

    for (int i = 0; i < analysis->n_metrics; i++) {
        const char *name = analysis->metrics[i].name;
        if (!is_checked_somewhere(analysis, name) &&
            !(bakes && canary_bake_checks(&analysis->bake, name)))
            document_warn(look->document, field(look, arena_printf(look->arena, "metrics[%d]", i)),
                          "%s is in the checks of no step, and is never checked",
                          analysis->metrics[i].name);
    }
    for (int i = 0; !bakes && i < analysis->n_webhooks; i++) {
        if (analysis->webhooks[i].type == HOOK_ROLLOUT &&
            !is_checked_somewhere(analysis, analysis->webhooks[i].name))
            document_warn(look->document, field(look, arena_printf(look->arena, "webhooks[%d]", i)),
                          "%s is in the checks of no step, and is never called",
                          analysis->webhooks[i].name);
    }
}

/* If a step is judged by a load test that it does not run, every check fails. */
static void warn_load_tests(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;

    for (int i = 0; i < analysis->n_metrics; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        int webhook =
            metric->load_test.given ? canary_load_webhook(analysis, &metric->load_test) : -1;
        for (int s = 0; webhook >= 0 && s < analysis->n_steps; s++) {
            const char *hook = analysis->webhooks[webhook].name;
            if (canary_step_checks(&analysis->steps[s], metric->name) &&
                !canary_step_checks(&analysis->steps[s], hook))
                document_warn(look->document,
                              field(look, arena_printf(look->arena, "steps[%d].checks", s)),
                              "%s is judged by the load test of %s, which is not in them: every "
                              "check of this step fails",
                              metric->name, hook);
        }
    }
}

/* --- the provider */

static bool is_weighted(const struct router *router)
{
    return router->weighted;
}

/* "a.b, c.d" */
static void warn_ignored(const struct look *look)
{
    const char *at =
        look->router->ignored ? look->router->ignored(look->arena, look->canary) : NULL;

    while (at && *at) {
        size_t len = strcspn(at, ",");
        document_warn(look->document, arena_strndup(look->arena, at, len),
                      "has no effect with provider %s", look->provider);
        at += len + strspn(at + len, ", ");
    }
}

static void warn_provider(const struct look *look)
{
    bool steps = given(look, "stepWeight") || given(look, "stepWeights");

    warn_ignored(look);
    if (router_splits(look->router) || (!steps && !look->analysis->match))
        return;
    document_warn(look->document,
                  field(look, look->analysis->match       ? "match"
                              : given(look, "stepWeight") ? "stepWeight"
                                                          : "stepWeights"),
                  "provider %s cannot split traffic, and makes it a blue/green release of %d "
                  "iterations; it can %swith %s",
                  look->provider, look->analysis->iterations > 0 ? look->analysis->iterations : 10,
                  look->analysis->match ? "" : "by number of pods with steps, and ",
                  router_names_that(look->arena, is_weighted));
}

/* --- metrics */

static void warn_metric(const struct look *look, int index)
{
    const struct canary_metric *metric = &look->analysis->metrics[index];
    const char *at = field(look, arena_printf(look->arena, "metrics[%d]", index));

    if (!canary_metric_is_builtin(metric) && !metric->query && !metric->template_ref.name &&
        !metric->load_test.given)
        document_warn(
            look->document, at,
            "neither query nor templateRef, and \"%s\" is no built-in metric: every check "
            "fails; built in are request-success-rate and request-duration",
            metric->name);
    else if (!metric->has_range && !metric->has_threshold && !metric->compares)
        document_warn(look->document, at,
                      canary_metric_is_success_rate(metric)
                          ? "no thresholdRange: every value passes"
                          : "no thresholdRange: every value above 0 fails");
    else if (metric->has_range && !metric->has_min && !metric->has_max)
        document_warn(look->document, arena_printf(look->arena, "%s.thresholdRange", at),
                      "neither min nor max: every value passes");
    if (metric->has_range && metric->has_threshold)
        document_warn(look->document, arena_printf(look->arena, "%s.threshold", at),
                      "has no effect beside thresholdRange");
}

/* True if users' requests reach the canary, which they do not in a blue/green test. */
static bool has_traffic(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;
    bool split = look->router->weighted &&
                 (look->canary->strategy != STRATEGY_BLUE_GREEN || analysis->mirror);

    for (int i = 0; i < analysis->n_webhooks; i++)
        split = split || analysis->webhooks[i].type == HOOK_ROLLOUT ||
                analysis->webhooks[i].type == HOOK_PRE_ROLLOUT;
    return split;
}

static void warn_metrics(const struct look *look)
{
    const struct canary_analysis *analysis = look->analysis;

    for (int i = 0; i < analysis->n_metrics; i++)
        warn_metric(look, i);
    if (analysis->n_metrics > 0 && look->router && !has_traffic(look))
        document_warn(look->document, field(look, "metrics"),
                      "nobody sends requests to the canary of a blue/green release: add a webhook "
                      "of type rollout that makes traffic, or mirror: true");
    if (analysis->json && !look->canary->skip_analysis && analysis->n_metrics == 0 &&
        analysis->n_webhooks == 0)
        document_warn(look->document, look->at,
                      "neither metrics nor webhooks: nothing is checked, and every version passes "
                      "that gets ready");
}

/* --- other objects in the files */

/* Warns about pods that would never become ready, so that the release is rolled back. */
static void warn_pods(const struct look *look)
{
    const struct canary_ref *ref = &look->canary->target;
    const struct document *target =
        document_find(look->document->lint, "apps", ref->kind, look->canary->namespace_, ref->name);
    struct json_object *spec = target ? json_at(target->json, "spec", NULL) : NULL;
    int64_t least = json_int_at(spec, 0, "minReadySeconds", NULL);

    if (least >= look->canary->progress_deadline_s)
        document_warn(look->document, "spec.progressDeadlineSeconds",
                      "%d s are over before a pod of %s %s counts as available, which takes %lld s "
                      "(minReadySeconds): every release would be rolled back",
                      look->canary->progress_deadline_s, ref->kind, ref->name, (long long)least);
    if (json_bool_at(spec, false, "paused", NULL))
        document_warn(look->document, "spec.targetRef",
                      "%s %s is paused (spec.paused): no pod of a new revision is made, and its "
                      "release is rolled "
                      "back at the deadline",
                      ref->kind, ref->name);
}

/* Shares by number of pods: warns about labels that primary and canary have in common. */
static void warn_labels(const struct look *look)
{
    const struct canary_ref *ref = &look->canary->target;
    const struct document *target =
        document_find(look->document->lint, "apps", ref->kind, look->canary->namespace_, ref->name);
    struct json_object *labels =
        json_at(target ? target->json : NULL, "spec", "template", "metadata", "labels", NULL);

    if (look->router && look->router->by_pods && !canary_is_worker(look->canary) &&
        json_count(labels) == 1)
        document_warn(look->document, field(look, "steps"),
                      "the pods of %s %s have one label alone, in which the primary's differ; with "
                      "provider %s their Service needs one in common, such as "
                      "app.kubernetes.io/name",
                      ref->kind, ref->name, look->provider);
}

static void warn_scaler(const struct look *look)
{
    const struct canary_ref *ref = &look->canary->target;
    const struct target *target = target_find(ref->api_version, ref->kind);

    if (look->canary->autoscaler.name || !target || !target->has_replicas)
        return;
    for (const struct document *d = look->document->lint->first; d; d = d->next) {
        const char *name = json_str_at(d->json, "spec", "scaleTargetRef", "name", NULL);
        if (scaler_find(d->kind) && name && strcmp(name, ref->name) == 0 &&
            strcmp(d->namespace_, look->document->namespace_) == 0)
            document_warn(look->document, "spec.targetRef",
                          "%s %s scales it: name it in spec.autoscalerRef, or the primary is not "
                          "scaled",
                          d->kind, d->name);
    }
}

/* --- other workloads with the labels of the target's pods */

/* The target in the files, and the label whose value is different on the primary. */
struct owned {
    const struct document *target;
    struct json_object *selector; /* matchLabels of the target */
    const char *label, *value;
};

static bool find_owned(const struct look *look, struct owned *out)
{
    const struct canary_ref *ref = &look->canary->target;
    const struct lint *lint = look->document->lint;

    out->target = document_find(lint, "apps", ref->kind, look->canary->namespace_, ref->name);
    out->selector =
        out->target ? json_at(out->target->json, "spec", "selector", "matchLabels", NULL) : NULL;
    out->label = NULL;
    for (const char *const *label = lint->settings->selector_labels; label && *label; label++) {
        out->value = json_str_at(out->selector, *label, NULL);
        if (out->value) {
            out->label = *label;
            break;
        }
    }
    return out->target && out->label &&
           !json_at(out->target->json, "spec", "selector", "matchExpressions", NULL);
}

/* The template of the pods that an object of this kind creates, or a pod itself; NULL: it creates
 * none. */
static struct json_object *pods_of(const struct document *document)
{
    static const char *const makers[] = {"Deployment", "DaemonSet", "StatefulSet", "ReplicaSet",
                                         "Job"};

    if (strcmp(document->kind, "Pod") == 0)
        return document->json;
    if (strcmp(document->kind, "CronJob") == 0)
        return json_at(document->json, "spec", "jobTemplate", "spec", "template", NULL);
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
        if (strcmp(document->kind, makers[i]) == 0)
            return json_at(document->json, "spec", "template", NULL);
    return NULL;
}

static void warn_shared(const struct look *look, const struct owned *owned,
                        const struct document *other)
{
    const char *name = look->canary->target.name;

    if (services_select(owned->selector, pods_of(other)))
        document_warn(look->document, "spec.targetRef",
                      "pods of %s %s have all labels of the selector of %s, and would get requests "
                      "that are meant for it; give %s a selector with a label that no other "
                      "workload has",
                      other->kind, other->name, name, name);
}

static void warn_companion(const struct look *look, const struct owned *owned,
                           const struct document *other)
{
    const char *name = look->canary->target.name;
    struct json_object *labels =
        json_at(owned->target->json, "spec", "template", "metadata", "labels", NULL);
    struct json_object *primary = json_copy(look->arena, labels);
    const char *value = arena_printf(look->arena, "%s-primary", owned->value);

    if (!primary || companions_are_named(look->canary, other->kind, other->name))
        return;
    json_set_str(primary, owned->label, value);
    if (companions_unfit(other->kind, other->json, labels, primary))
        document_warn(look->document, "spec.targetRef",
                      "%s %s selects the pods of %s and not those of %s-primary, which will serve; "
                      "have it select both values of the label %s: %s and %s%s",
                      other->kind, other->name, name, name, owned->label, owned->value, value,
                      companions_way_out(look->arena, other->kind));
}

static void warn_others(const struct look *look)
{
    const char *namespace_ = look->document->namespace_;
    struct owned owned;

    if (!find_owned(look, &owned))
        return;
    for (const struct document *d = look->document->lint->first; d; d = d->next) {
        if (d == owned.target || strcmp(d->namespace_, namespace_) != 0)
            continue;
        warn_shared(look, &owned, d);
        warn_companion(look, &owned, d);
    }
}

/* The object in these files, in any of its groups; NULL if none. */
static const struct document *find_object(const struct lint *lint,
                                          const struct kube_resource *resource,
                                          const char *namespace_, const char *name)
{
    const struct document *found =
        document_find(lint, resource->group, resource->kind, namespace_, name);

    for (const struct kube_version *at = resource->also; !found && at && at->group; at++)
        found = document_find(lint, at->group, resource->kind, namespace_, name);
    return found;
}

/* Warns about a user's route in these files that cannot be written: a release would wait for it. */
static void warn_refs(const struct look *look, struct tick *tick)
{
    const struct canary_service *service = &look->canary->service;

    for (int i = 0; look->router && look->router->ref_kinds && i < service->n_route_refs; i++) {
        const struct canary_route_ref *ref = &service->route_refs[i];
        const struct route_refs_kind *kind = route_refs_kind_of(look->router, ref->kind);
        const struct document *route = kind ? find_object(look->document->lint, kind->resource,
                                                          look->document->namespace_, ref->name)
                                            : NULL;
        const char *mistake = route ? route_refs_mistake(tick, i, route->json) : NULL;
        const char *text = mistake ? strstr(mistake, ": ") : NULL;
        if (text)
            document_warn(look->document,
                          arena_printf(look->arena, "%.*s", (int)(text - mistake), mistake), "%s",
                          text + strlen(": "));
    }
}

void canary_warn(struct document *document, const struct canary *canary, struct tick *tick)
{
    struct look look = {.document = document,
                        .arena = document->lint->arena,
                        .canary = canary,
                        .analysis = &canary->analysis,
                        .router = router_of(tick->provider, canary),
                        .provider = tick->provider,
                        .at = canary->analysis.legacy ? "spec.canaryAnalysis" : "spec.analysis"};

    if (canary->analysis.json) {
        warn_interval(&look);
        warn_duration(&look);
        warn_bake(&look);
        warn_webhooks(&look);
        warn_steps(&look);
        warn_unused(&look);
        warn_unchecked(&look);
        warn_load_tests(&look);
        warn_fractions(&look);
        warn_returns(&look);
        warn_metrics(&look);
        if (look.router)
            warn_provider(&look);
    }
    warn_pods(&look);
    warn_labels(&look);
    warn_scaler(&look);
    warn_refs(&look, tick);
    warn_others(&look);
}

struct names {
    struct document *document;
    struct arena *arena;
    const char *at; /* "spec.analysis" */
};

static void look_for(const struct names *names, const struct kube_resource *resource,
                     const char *namespace_, const char *name, const char *field)
{
    struct document *document = names->document;
    struct guess guess = {.word = name};

    namespace_ = namespace_ && *namespace_ ? namespace_ : document->namespace_;
    if (find_object(document->lint, resource, namespace_, name))
        return;
    for (const struct document *d = document->lint->first; d; d = d->next)
        if (find_object(document->lint, resource, namespace_, d->name) == d)
            guess_consider(&guess, d->name);
    if (guess.best)
        document_warn(document, field, "%s %s is not in these files; did you mean %s?",
                      resource->kind, name, guess.best);
}

static const char *field_of(const struct names *names, const char *list, int index,
                            const char *field)
{
    return arena_printf(names->arena, "%s.%s[%d].%s", names->at, list, index, field);
}

static void look_at_analysis(const struct names *names, const struct canary_analysis *analysis)
{
    for (int i = 0; i < analysis->n_metrics; i++) {
        const struct canary_ref *ref = &analysis->metrics[i].template_ref;
        if (ref->name)
            look_for(names, &metric_templates, ref->namespace_, ref->name,
                     field_of(names, "metrics", i, "templateRef.name"));
    }
    for (int i = 0; i < analysis->n_alerts; i++) {
        const struct canary_ref *ref = &analysis->alerts[i].provider;
        look_for(names, &alert_providers, ref->namespace_, ref->name,
                 field_of(names, "alerts", i, "providerRef.name"));
    }
    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *webhook = &analysis->webhooks[i];
        for (int k = 0; k < webhook->n_headers_from; k++)
            look_for(names, &kube_secrets, NULL, webhook->headers_from[k],
                     field_of(names, "webhooks", i,
                              arena_printf(names->arena, "headersFrom[%d].secretRef.name", k)));
        if (webhook->ca_secret)
            look_for(names, &kube_secrets, NULL, webhook->ca_secret,
                     field_of(names, "webhooks", i, "caSecretRef.name"));
    }
}

static void look_for_routes(const struct names *names, const struct canary *canary)
{
    const struct router *router = canary->provider ? router_of(canary->provider, canary) : NULL;

    for (int i = 0; router && router->ref_kinds && i < canary->service.n_route_refs; i++) {
        const struct canary_route_ref *ref = &canary->service.route_refs[i];
        const struct route_refs_kind *kind = route_refs_kind_of(router, ref->kind);
        if (kind)
            look_for(names, kind->resource, NULL, ref->name,
                     arena_printf(names->arena, "spec.service.routeRefs[%d].name", i));
    }
}

void names_warn(struct document *document, const struct canary *canary)
{
    const struct names names = {.document = document,
                                .arena = document->lint->arena,
                                .at = canary->analysis.legacy ? "spec.canaryAnalysis"
                                                              : "spec.analysis"};
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    const struct scaler *scaler =
        canary->autoscaler.name ? scaler_find(canary->autoscaler.kind) : NULL;

    if (target)
        look_for(&names, target->resource, NULL, canary->target.name, "spec.targetRef.name");
    if (scaler)
        look_for(&names, scaler->resource, NULL, canary->autoscaler.name,
                 "spec.autoscalerRef.name");
    for (int i = 0; i < canary->n_companions; i++)
        if (companions_resource(canary->companions[i].kind))
            look_for(&names, companions_resource(canary->companions[i].kind), NULL,
                     canary->companions[i].name,
                     arena_printf(names.arena, "spec.companions[%d].name", i));
    look_for_routes(&names, canary);
    look_at_analysis(&names, &canary->analysis);
}
