#include "page/page.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "decide/waiting.h"
#include "engine/cache.h"
#include "engine/job.h"
#include "engine/recent.h"
#include "engine/snapshot.h"
#include "judge/judge.h"
#include "metric/family.h"
#include "metric/render.h"
#include "metric/template.h"
#include "net/client.h"
#include "proto/canary.h"
#include "router/router.h"
#include "target/target.h"

/* --- the judge's evidence */

enum { MAX_METRICS = 10 };

static struct json_object *pair(struct judge_counts counts)
{
    struct json_object *list = json_object_new_array();

    json_object_array_add(list, json_object_new_int64((int64_t)counts.total));
    json_object_array_add(list, json_object_new_int64((int64_t)counts.bad));
    return list;
}

/* Fraction of the evidence needed. */
static struct json_object *part(double log_won, const struct judge_policy *policy)
{
    double enough = -log(policy->false_alarm_rate * policy->share);

    return json_object_new_double(enough > 0 ? fmin(fmax(log_won / enough, 0), 1) : 0);
}

static double number_at(struct json_object *object, const char *key)
{
    return json_object_get_double(json_at(object, key, NULL));
}

static struct json_object *show_metric(struct json_object *from, struct judge_policy policy)
{
    static const char *const verdicts[] = {
        [JUDGE_UNDECIDED] = "undecided", [JUDGE_WORSE] = "worse", [JUDGE_NOT_WORSE] = "not worse"};
    struct json_object *out = json_object_new_object();
    struct judge_evidence evidence;

    policy.tolerate =
        (struct judge_tolerance){.points = number_at(json_at(from, "tolerate", NULL), "points"),
                                 .ratio = number_at(json_at(from, "tolerate", NULL), "ratio")};
    (void)judge_read(json_at(from, "evidence", NULL),
                     &evidence); /* unreadable evidence starts anew */
    json_set_str(out, "name", json_str_at(from, "name", NULL));
    json_set_str(out, "says", json_str_at(from, "says", NULL));
    json_set_str(out, "lastLook", json_str_at(from, "lastLook", NULL));
    json_object_object_add(out, "canary", pair(evidence.canary));
    json_object_object_add(out, "primary", pair(evidence.primary));
    json_set_str(out, "verdict", verdicts[judge_verdict(&evidence, &policy)]);
    json_object_object_add(out, "worse", part(judge_log_worse(&evidence, &policy), &policy));
    json_object_object_add(out, "notWorse", part(judge_log_not_worse(&evidence, &policy), &policy));
    return out;
}

/*
 * [{name, says, lastLook, canary, primary, verdict, worse, notWorse}], one per judged metric.
 * canary and primary are [requests, bad ones]; verdict is "worse", "not worse" or "undecided".
 * worse and notWorse: from 0 to 1, how far the evidence is toward each verdict. NULL if the spec
 * has no judge, or there is no sample yet. Owned by the arena.
 */
static struct json_object *show_judge(struct arena *arena, const struct canary *canary)
{
    struct json_object *from = json_at(canary->status.json, "judge", "metrics", NULL);
    size_t count = json_len(from) < MAX_METRICS ? json_len(from) : MAX_METRICS;

    if (!canary->analysis.judge.given || count == 0)
        return NULL;
    struct json_object *out = json_own(arena, json_object_new_array());
    const struct judge_policy policy = {.false_alarm_rate = canary->analysis.judge.false_alarm_rate,
                                        .share = 1 / (double)count};
    for (size_t i = 0; i < count; i++)
        json_object_array_add(out, show_metric(json_elem(from, i), policy));
    return out;
}

/* --- the queries of its metrics */

enum { LINK_MAX = 8 * 1024 };

/* The text of its query; NULL if it is a MetricTemplate's, or missing. */
static const char *template_of(struct arena *arena, const struct settings *settings,
                               const struct canary *canary, const struct canary_metric *metric,
                               struct render_model *model)
{
    const char *provider = canary->provider ? canary->provider : settings->mesh_provider;
    const struct router *router = router_find(provider);
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    bool rate = canary_metric_is_success_rate(metric);

    if (metric->query && *metric->query)
        return metric->query;
    if (!router || !target || !canary_metric_is_builtin(metric))
        return NULL;
    const struct metric_family *family = metric_family_find(router->metric_family);
    model->plain_words = family->plain_words;
    model->pods = arena_printf(arena, "%s%s", canary->target.name, target->pod_suffix);
    return metric_family_query(arena, family, rate ? METRIC_SUCCESS_RATE : METRIC_DURATION);
}

enum err show_link_read(struct arena *arena, const char *option, const char *text, const char **out,
                        struct errinfo *ei)
{
    const char *scheme = text ? strstr(text, "://") : NULL;
    bool web = text && (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0);

    *out = NULL;
    if (!text || !*text)
        return ERR_OK;
    if (!web || !scheme[3] || scheme[3] == '/' || strpbrk(text, " \"<>?#@"))
        return err_set(ei, ERR_INVALID,
                       "%s: expected an address as https://prometheus.example.com/path, without "
                       "credentials and without a question mark, found \"%.80s\"",
                       option, text);
    size_t len = strlen(text);
    *out = arena_strndup(arena, text, text[len - 1] == '/' ? len - 1 : len);
    return ERR_OK;
}

/* NULL if it is too long for a browser. */
static const char *bounded(const char *link)
{
    return strlen(link) <= LINK_MAX ? link : NULL;
}

/*
 * Only the host of a metric server's address, since the rest may be secret. The option is about
 * the controller's own server.
 */
static const char *prometheus_link(struct arena *arena, const struct settings *settings,
                                   const struct show_links *links, const struct canary *canary,
                                   const char *query)
{
    const char *own = canary->metrics_server;
    const char *server = own ? own : settings->metrics_server;
    const char *base = links->prometheus && (!own || strcmp(own, settings->metrics_server) == 0)
                           ? links->prometheus
                           : url_origin(arena, server);

    if (strncmp(base, "http://", 7) != 0 && strncmp(base, "https://", 8) != 0)
        return NULL;
    return bounded(
        arena_printf(arena, "%s/graph?g0.tab=0&g0.expr=%s", base, url_encode(arena, query)));
}

/* Grafana's Explore, with its default data source. */
static const char *grafana_link(struct arena *arena, const struct show_links *links,
                                const char *query)
{
    if (!links->grafana)
        return NULL;
    struct json_object *left = json_own(arena, json_object_new_object());
    struct json_object *list = json_object_new_array(), *one = json_object_new_object();
    struct json_object *range = json_sub(left, "range");

    json_set_str(range, "from", "now-1h");
    json_set_str(range, "to", "now");
    json_object_object_add(left, "queries", list);
    json_object_array_add(list, one);
    json_set_str(one, "refId", "A");
    json_set_str(one, "expr", query);
    return bounded(arena_printf(arena, "%s/explore?left=%s", links->grafana,
                                url_encode(arena, json_text(arena, left))));
}

static void set_query(struct json_object *out, struct arena *arena, const struct settings *settings,
                      const struct show_links *links, const struct canary *canary,
                      const struct canary_metric *metric, const struct template_means *means)
{
    const char *interval = metric->interval && *metric->interval ? metric->interval : "1m";
    struct render_model model = render_model_of(canary, interval, metric->variables);
    const char *template = template_of(arena, settings, canary, metric, &model), *query;
    struct errinfo ei;

    model.means = means;
    if (!template || render_query(arena, template, &model, &query, &ei) != ERR_OK)
        return;
    json_set_str(out, "query", query);
    json_set_str(out, "link", prometheus_link(arena, settings, links, canary, query));
    json_set_str(out, "grafana", grafana_link(arena, links, query));
}

/*
 * [{name, query, link, grafana}], one per metric. query and links (to Prometheus' graph, and to
 * Grafana's Explore if known) only for metrics with a built-in name or an inline query; those of a
 * MetricTemplate are in the template. Owned by the arena.
 */
static struct json_object *show_queries(struct arena *arena, const struct settings *settings,
                                        const struct show_links *links, const struct canary *canary)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    struct template_budget budget = {.steps = TEMPLATE_TICK_STEPS, .bytes = TEMPLATE_TICK_BYTES};
    const struct template_means means = {.budget = &budget};

    for (int i = 0; i < canary->analysis.n_metrics; i++) {
        const struct canary_metric *metric = &canary->analysis.metrics[i];
        struct json_object *one = json_object_new_object();
        json_object_array_add(list, one);
        json_set_str(one, "name", metric->name);
        set_query(one, arena, settings, links, canary, metric, &means);
    }
    return list;
}

enum { TREND = 20, MAX_CONDITIONS = 40 };

static void copy(struct json_object *out, const char *key, struct json_object *value)
{
    if (value)
        json_set(out, key, value);
}

static struct json_object *status_of(struct json_object *tree, const char *key)
{
    return json_at(tree, "status", key, NULL);
}

static struct json_object *analysis_of(struct json_object *tree)
{
    struct json_object *analysis = json_at(tree, "spec", "analysis", NULL);

    return analysis ? analysis : json_at(tree, "spec", "canaryAnalysis", NULL);
}

static struct json_object *show_condition(struct json_object *condition)
{
    static const char *const shown[][2] = {{"type", "type"},
                                           {"status", "status"},
                                           {"reason", "reason"},
                                           {"message", "message"},
                                           {"lastTransitionTime", "since"}};
    struct json_object *out = json_object_new_object();

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        json_set_str(out, shown[i][1], json_str_at(condition, shown[i][0], NULL));
    return out;
}

/* --- why it does not continue: {kind: person, waits or note, text, since} */

struct place {
    struct arena *arena;
    const struct recent_events *events;
    const char *namespace_, *name;
};

static void put_waits(struct json_object *out, const char *kind, const char *text,
                      const char *since)
{
    struct json_object *waits = json_sub(out, "waits");

    json_set_str(waits, "kind", kind);
    json_set_str(waits, "text", text);
    json_set_str(waits, "since", since);
}

static bool is_under_way(struct json_object *tree)
{
    switch (phase_parse(json_str_at(tree, "status", "phase", NULL))) {
    case PHASE_Initializing:
    case PHASE_Waiting:
    case PHASE_Progressing:
    case PHASE_WaitingPromotion:
    case PHASE_Promoting:
    case PHASE_Finalising:
        return true;
    default:
        return false;
    }
}

/* Waits that have no condition, as that for the pods of a Deployment, are warned of. */
static bool set_warned(struct json_object *out, const struct place *at)
{
    struct json_object *list = recent_events_list(at->events, at->arena, at->namespace_, at->name);
    const char *type = json_str_at(json_elem(list, 0), "type", NULL);

    if (!type || strcmp(type, "Warning") != 0)
        return false;
    put_waits(out, waiting_kind_name(WAITING_WAITS), json_str_at(json_elem(list, 0), "text", NULL),
              NULL);
    return true;
}

static void set_waits(struct json_object *out, const struct place *at, struct json_object *tree)
{
    struct waiting waiting;

    waiting_of(at->arena, tree, &waiting);
    if (waiting.kind < WAITING_WAITS && is_under_way(tree) && set_warned(out, at))
        return;
    if (waiting.kind >= WAITING_NOTE)
        put_waits(out, waiting_kind_name(waiting.kind), waiting.text, waiting.since);
}

/* --- summary */

/* Weights, or else iterations, of the current release or the last one. */
static void set_trend(struct json_object *out, struct json_object *tree)
{
    struct json_object *steps = json_at(status_of(tree, "release"), "steps", NULL);
    struct json_object *trend = json_object_new_array();

    if (!steps)
        steps = json_at(json_elem(status_of(tree, "history"), 0), "steps", NULL);
    json_object_object_add(out, "trend", trend);
    for (size_t i = 0; i < json_len(steps) && i < TREND; i++) {
        struct json_object *step = json_elem(steps, i);
        struct json_object *weight = json_at(step, "weight", NULL);
        json_object_array_add(
            trend, weight ? json_object_get(weight)
                          : json_object_new_int64(json_int_at(step, 0, "iteration", NULL)));
    }
}

static void set_brief(struct json_object *out, const struct place *at, struct json_object *tree)
{
    static const char *const texts[] = {"phase", "lastTransitionTime", "lastAppliedSpec"};
    static const char *const numbers[] = {"failedChecks", "iterations"};
    struct json_object *last = json_elem(status_of(tree, "history"), 0);
    struct json_object *analysis = analysis_of(tree);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        json_set_str(out, texts[i], json_str_at(tree, "status", texts[i], NULL));
    weight_put(at->arena, out, "canaryWeight", weight_of_status(json_at(tree, "status", NULL)));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        json_set_int(out, numbers[i], json_int_at(tree, 0, "status", numbers[i], NULL));
    json_set_bool(out, "matches",
                  json_bool_at(tree, false, "status", "step", "match", NULL) &&
                      !json_str_at(tree, "status", "canaryServes", NULL));
    json_set_int(out, "copied", json_int_at(tree, 0, "status", "step", "mirror", NULL));
    json_set_int(out, "threshold", json_int_at(analysis, 1, "threshold", NULL));
    json_set_int(out, "ofIterations", json_int_at(analysis, 0, "iterations", NULL));
    json_set_bool(out, "suspended", json_bool_at(tree, false, "spec", "suspend", NULL));
    json_set_bool(out, "paused", status_of(tree, "paused") != NULL);
    json_set_str(out, "image", json_str_at(status_of(tree, "release"), "image", NULL));
    if (last) {
        struct json_object *ended = json_sub(out, "last");
        json_set_str(ended, "outcome", json_str_at(last, "outcome", NULL));
        json_set_str(ended, "ended", json_str_at(last, "ended", NULL));
    }
    set_trend(out, tree);
    set_waits(out, at, tree);
}

static const struct recent_events *events_of(const struct engine *engine)
{
    struct engine_snapshot look;

    engine_snapshot(engine, &look);
    return look.context->recent_events;
}

struct list_view {
    const struct engine *engine;
    struct arena *arena;
    const struct recent_events *events;
};

static bool add_brief(void *arg, const struct job *job, struct json_object *out)
{
    const struct list_view *view = arg;
    const struct place at = {.arena = view->arena,
                             .events = view->events,
                             .namespace_ = job_namespace(job),
                             .name = job_name(job)};

    json_set_str(out, "namespace", at.namespace_);
    json_set_str(out, "name", at.name);
    set_brief(out, &at, snapshot_tree(view->engine, view->arena, at.namespace_, at.name));
    return true;
}

struct json_object *show_list(const struct engine *engine, struct arena *arena, const char *after,
                              int limit)
{
    struct list_view view = {.engine = engine, .arena = arena, .events = events_of(engine)};

    return snapshot_page(engine, arena, after, limit, add_brief, &view);
}

/* --- details */

static void set_conditions(struct json_object *out, struct json_object *tree)
{
    struct json_object *from = status_of(tree, "conditions"), *list = json_object_new_array();

    json_object_object_add(out, "conditions", list);
    for (size_t i = 0; i < json_len(from) && i < MAX_CONDITIONS; i++)
        json_object_array_add(list, show_condition(json_elem(from, i)));
}

/* Of this process: a replica that does not lead has none. */
static void set_events(struct json_object *out, const struct engine *engine, struct arena *arena,
                       const char *namespace_, const char *name)
{
    struct engine_snapshot look;

    engine_snapshot(engine, &look);
    json_set(out, "events",
             recent_events_list(look.context->recent_events, arena, namespace_, name));
    json_set_bool(out, "leads", look.leads);
}

/* The steps that the spec wants; none for a spec that cannot be read. */
static void set_plan(struct json_object *out, const struct settings *settings,
                     const struct show_links *links, struct arena *arena,
                     const struct canary *canary)
{
    struct json_object *plan = json_sub(out, "plan"), *hooks = json_object_new_array();
    const struct canary_analysis *analysis = &canary->analysis;

    json_set_str(plan, "strategy", strategy_name(canary->strategy));
    json_set_str(plan, "provider", canary->provider ? canary->provider : settings->mesh_provider);
    json_set_str(plan, "target",
                 arena_printf(arena, "%s/%s", canary->target.kind, canary->target.name));
    json_set_int(plan, "intervalSeconds", analysis->interval_ms / 1000);
    weight_put(arena, plan, "maxWeight", analysis->max_weight);
    json_set_bool(plan, "skipAnalysis", canary->skip_analysis);
    json_object_object_add(plan, "hooks", hooks);
    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *webhook = &analysis->webhooks[i];
        struct json_object *hook = json_object_new_object();
        json_object_array_add(hooks, hook);
        json_set_str(hook, "name", webhook->name);
        json_set_str(hook, "type", hook_type_name(webhook->type));
        json_set_str(hook, "server", url_origin(arena, webhook->url));
    }
    json_set(plan, "metrics", show_queries(arena, settings, links, canary));
}

struct json_object *show_one(const struct engine *engine, const struct settings *settings,
                             const struct show_links *links, struct arena *arena,
                             const char *namespace_, const char *name)
{
    static const char *const whole[] = {"release", "history", "requests", "paused"};
    struct json_object *tree = snapshot_tree(engine, arena, namespace_, name);
    struct json_object *out = json_own(arena, json_object_new_object());
    const struct place at = {
        .arena = arena, .events = events_of(engine), .namespace_ = namespace_, .name = name};
    struct canary canary;
    struct errinfo ei;
    char now[CLOCK_TEXT];

    if (!tree)
        return NULL;
    json_set_str(out, "namespace", namespace_);
    json_set_str(out, "name", name);
    json_set_str(out, "now", clock_rfc3339(clock_wall_ms(), now));
    set_brief(out, &at, tree);
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        copy(out, whole[i], status_of(tree, whole[i]));
    set_conditions(out, tree);
    set_events(out, engine, arena, namespace_, name);
    if (canary_view(arena, tree, &canary, &ei) == ERR_OK) {
        set_plan(out, settings, links, arena, &canary);
        copy(out, "judged", show_judge(arena, &canary));
    }
    return out;
}
