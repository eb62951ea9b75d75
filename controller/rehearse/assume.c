#include "rehearse/assume.h"

#include <stdlib.h>
#include <string.h>

#include "metric/backend.h"
#include "metric/family.h"
#include "router/router.h"

static struct json_object *parse(struct arena *arena, const char *text)
{
    struct json_object *out;
    struct errinfo ignored;

    return json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &out, &ignored) == ERR_OK ? out
                                                                                           : NULL;
}

/* --- what a Canary names; $NAME is its name, $APP the app, and $PORT its port */

static const struct {
    const char *group, *kind, *body;
} bodies[] = {
    {"apps", "Deployment",
     "{\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"$NAME\"}},\"template\":{"
     "\"metadata\":{\"labels\":{\"app\":\"$NAME\"}},\"spec\":{\"containers\":[{\"name\":\"app\","
     "\"image\":\"$NAME\",\"ports\":[{\"name\":\"http\",\"containerPort\":$PORT}]}]}}}}"},
    {"apps", "DaemonSet",
     "{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"$NAME\"}},\"template\":{\"metadata\":{"
     "\"labels\":{\"app\":\"$NAME\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":"
     "\"$NAME\",\"ports\":[{\"name\":\"http\",\"containerPort\":$PORT}]}]}}}}"},
    {"serving.knative.dev", "Service",
     "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"$NAME\"}]}}}"
     "}"},
    {"", "Service",
     "{\"spec\":{\"type\":\"ClusterIP\",\"selector\":{\"app\":\"$NAME\"},\"ports\":[{\"port\":$"
     "PORT,"
     "\"protocol\":\"TCP\",\"targetPort\":$PORT}]}}"},
    {"autoscaling", "HorizontalPodAutoscaler",
     "{\"spec\":{\"minReplicas\":1,\"maxReplicas\":4,\"scaleTargetRef\":{\"apiVersion\":"
     "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"$APP\"}}}"},
    {"keda.sh", "ScaledObject",
     "{\"spec\":{\"scaleTargetRef\":{\"name\":\"$APP\"},\"triggers\":[]}}"},
    {"policy", "PodDisruptionBudget",
     "{\"spec\":{\"minAvailable\":1}}"}, /* cluster.c: its selector */
    {"networking.k8s.io", "Ingress",
     "{\"spec\":{\"rules\":[{\"host\":\"app.example\",\"http\":{\"paths\":[{\"path\":\"/\","
     "\"pathType\":\"Prefix\",\"backend\":{\"service\":{\"name\":\"$APP\",\"port\":{\"number\":$"
     "PORT"
     "}}}}]}}]}}"},
    {"apisix.apache.org", "ApisixRoute",
     "{\"spec\":{\"http\":[{\"name\":\"root\",\"match\":{\"paths\":[\"/*\"]},\"backends\":[{"
     "\"serviceName\":\"$APP\",\"servicePort\":$PORT}]}]}}"},
    {"gloo.solo.io", "Upstream", "{\"spec\":{}}"},
    {"flagger.app", "MetricTemplate",
     "{\"spec\":{\"provider\":{\"type\":\"prometheus\",\"address\":\"http://prometheus:9090\"},"
     "\"query\":\"up\"}}"},
    {"", "Secret", "{}"},
    {"", "ConfigMap", "{}"},
};

/* The body with each word that begins with '$' replaced. */
static const char *fill(struct arena *arena, const char *body, const char *name, const char *app,
                        int port)
{
    const char *const words[] = {"NAME", "APP", "PORT"};
    const char *const values[] = {name, app, arena_printf(arena, "%d", port)};
    const char *out = "", *dollar;

    while ((dollar = strchr(body, '$'))) {
        size_t i = 0;
        while (i < 2 && strncmp(dollar + 1, words[i], strlen(words[i])) != 0)
            i++;
        out = arena_printf(arena, "%s%.*s%s", out, (int)(dollar - body), body, values[i]);
        body = dollar + 1 + strlen(words[i]);
    }
    return arena_printf(arena, "%s%s", out, body);
}

static bool is_named(const char *one, const char *other)
{
    return one && strcmp(one, other) == 0;
}

/* The rules make objects of their own beside those that a Canary names. */
static bool is_named_by(const struct canary *canary, const struct kube_resource *resource,
                        const char *name)
{
    const struct canary_ref *const refs[] = {&canary->target, &canary->autoscaler, &canary->ingress,
                                             &canary->route};
    const char *upstream = json_str_at(canary->json, "spec", "upstreamRef", "name", NULL);
    size_t len = strlen(name);

    if (strcmp(resource->kind, "MetricTemplate") == 0)
        return true;
    if (strcmp(resource->kind, "Secret") == 0 || strcmp(resource->kind, "ConfigMap") == 0)
        return len < 8 || strcmp(name + len - 8, "-primary") != 0;
    if (strcmp(resource->kind, "Upstream") == 0)
        return is_named(upstream, name);
    for (int i = 0; i < canary->n_companions; i++)
        if (is_named(canary->companions[i].name, name) &&
            is_named(canary->companions[i].kind, resource->kind))
            return true;
    for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++)
        if (is_named(refs[i]->name, name) && is_named(refs[i]->kind, resource->kind) &&
            strncmp(refs[i]->api_version, resource->group, strlen(resource->group)) == 0)
            return *resource->group || !strchr(refs[i]->api_version, '/');
    return false;
}

struct json_object *assumed_object(struct arena *arena, const struct canary *canary,
                                   const struct kube_resource *resource, const char *namespace_,
                                   const char *name)
{
    int64_t port = canary->service.port > 0 ? canary->service.port : 80;
    struct json_object *object = NULL;

    (void)json_to_int(canary->service.target_port, &port);
    if (!is_named_by(canary, resource, name))
        return NULL;
    for (size_t i = 0; !object && i < sizeof(bodies) / sizeof(bodies[0]); i++)
        if (strcmp(bodies[i].group, resource->group) == 0 &&
            strcmp(bodies[i].kind, resource->kind) == 0)
            object =
                parse(arena, fill(arena, bodies[i].body, name, canary->service.name, (int)port));
    if (!object)
        return NULL;
    struct json_object *metadata = json_sub(object, "metadata");
    json_set_str(object, "apiVersion", kube_api_version(arena, resource));
    json_set_str(object, "kind", resource->kind);
    json_set_str(metadata, "name", name);
    json_set_str(metadata, "namespace", namespace_);
    json_set_str(metadata, "uid", arena_printf(arena, "assumed-%s", name));
    json_set_int(metadata, "generation", 1);
    return object;
}

/* --- metrics */

/* Within the range of the metric. */
static double good_value(const struct canary_metric *metric)
{
    if (metric->has_range && metric->has_min && metric->has_max)
        return metric->min + (metric->max - metric->min) / 2;
    if (metric->has_range)
        return metric->has_min ? metric->min : metric->has_max ? metric->max : 0;
    return metric->threshold;
}

/* The built-in duration is compared in milliseconds, whatever the mesh measures. */
static double unit_of(const struct tick *tick, const struct canary_metric *metric,
                      const char *question)
{
    const struct router *router = router_find(tick->provider);
    bool builtin = canary_metric_is_duration(metric) && !strchr(question, '.');

    return builtin && router ? metric_family_find(router->metric_family)->duration_to_ms : 1;
}

bool assumed_is_count(const struct metric_question *question)
{
    return strncmp(question->id, "judge[", strlen("judge[")) == 0;
}

/* Counts of the judge (decide/ask/counts.h): requests enough, of which none is bad. */
static double good_count(const struct canary_metric *metric, const char *question)
{
    bool is_bad = !canary_metric_is_builtin(metric) && strstr(question, ".part");

    return is_bad ? 0 : 1000;
}

struct metric_answer assumed_metric(const struct tick *tick, const struct metric_question *question)
{
    const struct canary_analysis *analysis = &tick->canary->analysis;
    const char *at = strchr(question->id, '[');
    int index = at ? (int)strtol(at + 1, NULL, 10) : -1;
    struct metric_answer answer = {.outcome = METRIC_VALUE};

    if (index < 0 || index >= analysis->n_metrics || !question->query)
        return answer;
    const struct canary_metric *metric = &analysis->metrics[index];
    answer.value = assumed_is_count(question)
                       ? good_count(metric, question->id)
                       : good_value(metric) / unit_of(tick, metric, question->id);
    return answer;
}
