#include "page/show_query.h"

#include <string.h>

#include "base/json.h"
#include "metric/family.h"
#include "metric/render.h"
#include "metric/template.h"
#include "net/client.h"
#include "router/router.h"
#include "target/target.h"

enum { LINK_MAX = 8 * 1024 };

/* The template of its query; NULL: a MetricTemplate's, or there is none. */
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

/* NULL: it is too long for a browser. */
static const char *bounded(const char *link)
{
    return strlen(link) <= LINK_MAX ? link : NULL;
}

/* Of a metric server's address no more than the host, for the rest may be secret. The option is about
 * the controller's own server. */
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

/* Explore, with the data source that Grafana takes where none is named. */
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

struct json_object *show_queries(struct arena *arena, const struct settings *settings,
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
