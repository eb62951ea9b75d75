#include "page/show_query.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "metric/family.h"
#include "metric/render.h"
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
    bool rate = strcmp(metric->name, "request-success-rate") == 0;

    if (metric->query && *metric->query)
        return metric->query;
    if (!router || !target || (!rate && strcmp(metric->name, "request-duration") != 0))
        return NULL;
    const struct metric_family *family = metric_family_find(router->metric_family);
    model->plain_words = family->plain_words;
    model->pods = arena_printf(arena, "%s%s", canary->target.name, target->pod_suffix);
    return metric_family_query(arena, family, rate ? METRIC_SUCCESS_RATE : METRIC_DURATION);
}

/* Of an address no more than the host, for the rest may be secret. */
static const char *link_to(struct arena *arena, const char *server, const char *query)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    struct buf out;
    const char *link = NULL;

    if (strncmp(server, "http://", 7) != 0 && strncmp(server, "https://", 8) != 0)
        return NULL;
    buf_init(&out, LINK_MAX);
    buf_printf(&out, "%s/graph?g0.tab=0&g0.expr=", url_origin(arena, server));
    for (const char *at = query; *at; at++) {
        if (strchr(plain, *at))
            buf_add(&out, at, 1);
        else
            buf_printf(&out, "%%%02X", (unsigned char)*at);
    }
    if (!out.truncated)
        link = arena_strdup(arena, out.data);
    buf_fini(&out);
    return link;
}

static void set_query(struct json_object *out, struct arena *arena, const struct settings *settings,
                      const struct canary *canary, const struct canary_metric *metric)
{
    const char *interval = metric->interval && *metric->interval ? metric->interval : "1m";
    const char *server = canary->metrics_server ? canary->metrics_server : settings->metrics_server;
    struct render_model model = render_model_of(canary, interval, metric->variables);
    const char *template = template_of(arena, settings, canary, metric, &model), *query;
    struct errinfo ei;

    if (!template || render_query(arena, template, &model, &query, &ei) != ERR_OK)
        return;
    json_set_str(out, "query", query);
    json_set_str(out, "link", link_to(arena, server, query));
}

struct json_object *show_queries(struct arena *arena, const struct settings *settings,
                                 const struct canary *canary)
{
    struct json_object *list = json_own(arena, json_object_new_array());

    for (int i = 0; i < canary->analysis.n_metrics; i++) {
        const struct canary_metric *metric = &canary->analysis.metrics[i];
        struct json_object *one = json_object_new_object();
        json_object_array_add(list, one);
        json_set_str(one, "name", metric->name);
        set_query(one, arena, settings, canary, metric);
    }
    return list;
}
