#include "ctl/simulate/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/companions.h"
#include "metric/backend.h"
#include "metric/family.h"
#include "proto/spechash.h"
#include "router/router.h"
#include "scaler/scaler.h"
#include "target/target.h"

static bool is_knative(const struct kube_resource *resource)
{
    return kube_resource_same(resource, &kube_knative_services);
}

static struct json_object *parse(struct arena *arena, const char *text)
{
    struct json_object *out;
    struct errinfo ignored;

    return json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &out, &ignored) == ERR_OK ? out
                                                                                           : NULL;
}

static void name_assumed(struct arena *arena, struct json_object *object,
                         const struct kube_resource *resource, const char *namespace_,
                         const char *name)
{
    struct json_object *metadata = json_sub(object, "metadata");

    json_set_str(object, "apiVersion", kube_api_version(arena, resource));
    json_set_str(object, "kind", resource->kind);
    json_set_str(metadata, "name", name);
    json_set_str(metadata, "namespace", namespace_);
    json_set_str(metadata, "uid", arena_printf(arena, "assumed-%s", name));
    json_set_int(metadata, "generation", 1);
}

static void note_assumed(struct cluster *cluster, const struct kube_resource *resource,
                         const char *namespace_, const char *name)
{
    json_object_array_add(cluster->assumed,
                          json_object_new_string(arena_printf(cluster->arena, "%s %s/%s",
                                                              resource->kind, namespace_, name)));
}

/* The labels by which the target selects its pods. */
static struct json_object *target_labels(struct cluster *cluster, const struct canary *canary)
{
    const struct simulation_source *source = cluster->source;
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    struct json_object *found = target
                                    ? json_at(source->find(source->arg, target->resource,
                                                           canary->namespace_, canary->target.name),
                                              "spec", "selector", "matchLabels", NULL)
                                    : NULL;
    struct json_object *labels = json_own(cluster->arena, json_object_new_object());

    if (found)
        return json_copy(cluster->arena, found);
    json_set_str(labels, "app", canary->target.name);
    return labels;
}

/* A ServiceMonitor finds a Service of the target that is not the apex, whose name it often has. */
static void assume_service(struct cluster *cluster, const struct canary *canary,
                           const char *monitor)
{
    const char *name = arena_printf(cluster->arena, "%s-metrics", monitor);
    const struct simulation_source *source = cluster->source;
    const char *namespace_ = canary->namespace_;

    if (source->find(source->arg, &kube_services, namespace_, name))
        return;
    struct json_object *service =
        parse(cluster->arena, "{\"spec\":{\"ports\":[{\"name\":\"http\",\"port\":80}]}}");
    json_set(json_sub(service, "spec"), "selector", target_labels(cluster, canary));
    name_assumed(cluster->arena, service, &kube_services, namespace_, name);
    copies_put(&cluster->copies, &kube_services, namespace_, name,
               settled(cluster->arena, service));
    note_assumed(cluster, &kube_services, namespace_, name);
}

/* Makes an assumed companion select the pods of the target. */
static void select_target(struct cluster *cluster, const struct canary *canary,
                          struct json_object *object)
{
    const char *field = companions_selector(json_str_at(object, "kind", NULL));

    if (field)
        json_set(json_sub(json_sub(object, "spec"), field), "matchLabels",
                 target_labels(cluster, canary));
    else
        assume_service(cluster, canary, json_str_at(object, "metadata", "name", NULL));
}

/* An object of the source, settled by its controllers. */
static struct json_object *found(struct cluster *cluster, const struct canary *canary,
                                 const struct kube_resource *resource, const char *namespace_,
                                 const char *name)
{
    const struct simulation_source *source = cluster->source;
    struct json_object *object = source->find(source->arg, resource, namespace_, name);

    if (object)
        return settled(cluster->arena, object);
    object = assumed_object(cluster->arena, canary, resource, namespace_, name);
    if (!object)
        return NULL;
    note_assumed(cluster, resource, namespace_, name);
    if (companions_resource(resource->kind))
        select_target(cluster, canary, object);
    return settled(cluster->arena, object);
}

/* A new Knative Service gets its first revision. */
static struct json_object *hold(struct cluster *cluster, const struct kube_resource *resource,
                                const char *namespace_, const char *name,
                                struct json_object *object)
{
    struct json_object *revision = NULL;

    if (object && is_knative(resource)) {
        object = settled_knative(cluster->arena, object, &revision);
        if (revision)
            copies_put(&cluster->copies, &kube_knative_revisions, namespace_,
                       json_str_at(revision, "metadata", "name", NULL), revision);
    }
    copies_put(&cluster->copies, resource, namespace_, name, object);
    return object;
}

static struct json_object *object_of(struct cluster *cluster, const struct canary *canary,
                                     const struct kube_resource *resource, const char *namespace_,
                                     const char *name)
{
    const struct copy *copy = copies_find(&cluster->copies, resource, namespace_, name);

    if (copy)
        return copy->now;
    struct json_object *object = found(cluster, canary, resource, namespace_, name);
    return hold(cluster, resource, namespace_, name, object);
}

/* The objects of the source, and those created since. */
static struct json_object *list_of(struct cluster *cluster, const struct kube_resource *resource,
                                   const char *namespace_)
{
    const struct simulation_source *source = cluster->source;
    struct json_object *given = source->list(source->arg, resource, namespace_);
    struct json_object *given_items = json_at(given, "items", NULL);
    struct json_object *list = json_own(cluster->arena, json_object_new_object());
    struct json_object *items = json_object_new_array();

    json_object_object_add(list, "items", items);
    for (const struct copy *copy = cluster->copies.first; copy; copy = copy->next)
        if (copy->now && kube_resource_same(copy->resource, resource) &&
            strcmp(copy->namespace_, namespace_) == 0)
            json_object_array_add(items, json_object_get(copy->now));
    for (size_t i = 0; i < json_len(given_items); i++) {
        struct json_object *item = json_elem(given_items, i);
        const char *name = json_str_at(item, "metadata", "name", NULL);
        if (name && !copies_find(&cluster->copies, resource, namespace_, name))
            json_object_array_add(items, json_object_get(item));
    }
    return list;
}

void cluster_answer(struct cluster *cluster, struct tick *tick, const struct need *need)
{
    const char *namespace_ = need->namespace_ ? need->namespace_ : "";

    if (need->kind == NEED_METRIC)
        fact_metric(tick, need, assumed_metric(tick, &need->metric));
    else if (need->kind == NEED_OBJECT && !need->name)
        fact_object(tick, need, list_of(cluster, need->resource, namespace_));
    else if (need->kind == NEED_OBJECT)
        fact_object(tick, need,
                    object_of(cluster, tick->canary, need->resource, namespace_, need->name));
}

/* Gives each Service its own address, which matters where a Service is copied. */
static void give_address(struct cluster *cluster, struct copy *copy)
{
    unsigned sum = 0;

    if (json_at(copy->now, "spec", "clusterIP", NULL))
        return;
    for (const char *at = copy->name; *at; at++)
        sum = (sum * 31 + (unsigned char)*at) & 0xffff;
    struct json_object *now = json_copy(cluster->arena, copy->now);
    json_set_str(json_sub(now, "spec"), "clusterIP",
                 arena_printf(cluster->arena, "10.0.%u.%u", sum >> 8, sum & 0xff));
    copy->now = now;
}

void cluster_settle(struct cluster *cluster, const struct canary *canary)
{
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    bool of_services = target && kube_resource_same(target->resource, &kube_services);

    for (struct copy *copy = cluster->copies.first; copy; copy = copy->next) {
        if (!copy->now)
            continue;
        if (is_knative(copy->resource))
            (void)hold(cluster, copy->resource, copy->namespace_, copy->name, copy->now);
        else if (of_services && kube_resource_same(copy->resource, &kube_services))
            give_address(cluster, copy);
        else
            copy->now = settled(cluster->arena, copy->now);
    }
}

void cluster_push(struct cluster *cluster, const struct canary *canary)
{
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    struct copy *copy =
        copies_find(&cluster->copies, target->resource, canary->namespace_, canary->target.name);

    copy->now = revised(cluster->arena, copy->now);
    cluster_settle(cluster, canary);
}

enum { NODES = 2 };

static bool is_kind(struct json_object *object, const char *kind)
{
    const char *found = json_str_at(object, "kind", NULL);

    return found && strcmp(found, kind) == 0;
}

static struct json_object *condition(struct arena *arena, const char *type, const char *reason)
{
    struct json_object *out = json_own(arena, json_object_new_object());

    json_set_str(out, "type", type);
    json_set_str(out, "status", "True");
    json_set_str(out, "reason", reason);
    json_set_str(out, "lastTransitionTime", "2020-01-01T00:00:00Z");
    json_set_str(out, "lastUpdateTime", "2020-01-01T00:00:00Z");
    return out;
}

static struct json_object *new_status(struct arena *arena, struct json_object *object)
{
    struct json_object *status = json_own(arena, json_object_new_object());

    json_set_int(status, "observedGeneration",
                 json_int_at(object, 1, "metadata", "generation", NULL));
    return status;
}

static struct json_object *deployment_status(struct arena *arena, struct json_object *object)
{
    static const char *const counts[] = {"replicas", "updatedReplicas", "readyReplicas",
                                         "availableReplicas"};
    struct json_object *status = new_status(arena, object);
    struct json_object *conditions = json_own(arena, json_object_new_array());

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_set_int(status, counts[i], json_int_at(object, 1, "spec", "replicas", NULL));
    json_object_array_add(
        conditions, json_object_get(condition(arena, "Available", "MinimumReplicasAvailable")));
    json_object_array_add(
        conditions, json_object_get(condition(arena, "Progressing", "NewReplicaSetAvailable")));
    json_set(status, "conditions", conditions);
    return status;
}

static struct json_object *daemonset_status(struct arena *arena, struct json_object *object)
{
    static const char *const counts[] = {"desiredNumberScheduled", "currentNumberScheduled",
                                         "updatedNumberScheduled", "numberReady",
                                         "numberAvailable"};
    struct json_object *status = new_status(arena, object);
    bool off = json_at(object, "spec", "template", "spec", "nodeSelector",
                       "flagger.app/scale-to-zero", NULL) != NULL;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_set_int(status, counts[i], off ? 0 : NODES);
    json_set_int(status, "numberMisscheduled", 0);
    return status;
}

struct json_object *settled(struct arena *arena, struct json_object *object)
{
    bool deployment = is_kind(object, "Deployment");

    if (!deployment && !is_kind(object, "DaemonSet"))
        return object;
    struct json_object *copy = json_copy(arena, object);
    json_set(copy, "status",
             deployment ? deployment_status(arena, copy) : daemonset_status(arena, copy));
    return copy;
}

/* --- Knative */

/* Named after its template, so that the same template gives the same revision. */
static const char *revision_name(struct arena *arena, struct json_object *service)
{
    char hash[SPECHASH_TEXT] = "0";
    struct json_object *template = json_at(service, "spec", "template", NULL);
    struct errinfo ignored;

    (void)!spechash_pod_template(arena, template, hash, &ignored);
    return arena_printf(arena, "%s-%s", json_str_at(service, "metadata", "name", NULL), hash);
}

static struct json_object *new_revision(struct arena *arena, struct json_object *service,
                                        const char *name)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *conditions = json_own(arena, json_object_new_array());
    struct json_object *metadata = json_sub(out, "metadata");

    json_set_str(out, "apiVersion", "serving.knative.dev/v1");
    json_set_str(out, "kind", "Revision");
    json_set_str(metadata, "name", name);
    json_set_str(metadata, "namespace", json_str_at(service, "metadata", "namespace", NULL));
    json_object_array_add(conditions, json_object_get(condition(arena, "Ready", "Ready")));
    json_set(json_sub(out, "status"), "conditions", conditions);
    return out;
}

struct json_object *settled_knative(struct arena *arena, struct json_object *service,
                                    struct json_object **revision)
{
    struct json_object *copy = json_copy(arena, service), *all;
    struct json_object *status = new_status(arena, copy);
    struct json_object *traffic = json_at(copy, "spec", "traffic", NULL);
    const char *name = revision_name(arena, copy);
    const char *before = json_str_at(copy, "status", "latestCreatedRevisionName", NULL);
    bool known = before && strcmp(before, name) == 0;

    all = json_own(arena, json_object_new_array());
    json_object_array_add(all, json_object_new_object());
    json_set_bool(json_elem(all, 0), "latestRevision", true);
    json_set_int(json_elem(all, 0), "percent", 100);
    json_set_bool(status, "latestIsReady", true);
    json_set_str(status, "latestCreatedRevisionName", name);
    json_set_str(status, "latestReadyRevisionName", name);
    json_set(status, "traffic", json_copy(arena, traffic ? traffic : all));
    json_set(copy, "status", status);
    *revision = known ? NULL : new_revision(arena, copy, name);
    return copy;
}

/* --- a new revision */

static void revise_template(struct json_object *target)
{
    struct json_object *template = json_sub(json_sub(target, "spec"), "template");
    struct json_object *containers = json_at(template, "spec", "containers", NULL);
    struct json_object *container = json_elem(containers, 0);

    /* A container's image identifies the revision; if there is none, any other field of the
     * template will do. */
    if (container)
        json_set_str(container, "image", "next");
    else
        json_set_str(json_sub(json_sub(template, "metadata"), "annotations"), "next", "next");
}

struct json_object *revised(struct arena *arena, struct json_object *target)
{
    struct json_object *copy = json_copy(arena, target);
    const char *version = json_str_at(copy, "apiVersion", NULL);

    if (is_kind(copy, "Service") && version && !strchr(version, '/'))
        json_set_str(json_sub(json_sub(copy, "spec"), "selector"), "next", "next");
    else
        revise_template(copy);
    json_set_int(json_sub(copy, "metadata"), "generation",
                 json_int_at(target, 1, "metadata", "generation", NULL) + 1);
    return copy;
}

/* --- objects that a Canary names; $NAME is the object's name, $APP the app, and $PORT the app's
 * port */

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
     "{\"spec\":{\"scaleTargetRef\":{\"name\":\"$APP\"},\"triggers\":[{\"type\":\"cpu\","
     "\"metadata\":{\"value\":\"80\"}}]}}"},
    {"policy", "PodDisruptionBudget",
     "{\"spec\":{\"minAvailable\":1}}"}, /* select_target() adds the selector of companions */
    {"networking.k8s.io", "NetworkPolicy", "{\"spec\":{\"ingress\":[{}]}}"},
    {"security.istio.io", "AuthorizationPolicy", "{\"spec\":{\"action\":\"ALLOW\"}}"},
    {"monitoring.coreos.com", "PodMonitor",
     "{\"spec\":{\"podMetricsEndpoints\":[{\"port\":\"http\"}]}}"},
    {"monitoring.coreos.com", "ServiceMonitor",
     "{\"spec\":{\"endpoints\":[{\"port\":\"http\"}],\"selector\":{}}}"},
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

/* The API version of a reference is ignored, as in the rules: a Deployment of extensions/v1beta1 is
 * the one of apps/v1. */
static bool is_referred_to(const struct canary *canary, const struct kube_resource *resource,
                           const char *name)
{
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    const struct scaler *scaler =
        canary->autoscaler.name ? scaler_find(canary->autoscaler.kind) : NULL;
    const struct canary_ref *const routes[] = {&canary->ingress, &canary->route};

    if (target && kube_resource_same(target->resource, resource) &&
        is_named(canary->target.name, name))
        return true;
    if (scaler && kube_resource_same(scaler->resource, resource) &&
        is_named(canary->autoscaler.name, name))
        return true;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const char *kind = routes[i]->kind && *routes[i]->kind ? routes[i]->kind : "Ingress";
        if (*resource->group && is_named(routes[i]->name, name) && is_named(kind, resource->kind))
            return true;
    }
    return false;
}

/* The rules create their own objects besides those that a Canary names. */
static bool is_named_by(const struct canary *canary, const struct kube_resource *resource,
                        const char *name)
{
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
    return is_referred_to(canary, resource, name);
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
    name_assumed(arena, object, resource, namespace_, name);
    return object;
}

/* --- metrics */

/* A value within the range of the metric. */
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

const char *assumed_load(struct arena *arena, const struct canary_analysis *analysis, int webhook)
{
    struct json_object *out = json_own(arena, json_object_new_object());

    json_set_str(out, "state", "succeeded");
    for (int i = 0; i < analysis->n_metrics; i++) {
        const struct canary_metric *metric = &analysis->metrics[i];
        if (metric->load_test.given && canary_load_webhook(analysis, &metric->load_test) == webhook)
            json_object_object_add(out, load_figure_key(metric->load_test.figure),
                                   json_object_new_double(good_value(metric)));
    }
    return json_text(arena, out);
}

bool assumed_is_count(const struct metric_question *question)
{
    return strncmp(question->id, "judge[", strlen("judge[")) == 0;
}

/* Counts for the judge (decide/counts.h): enough requests, none of them bad. */
static double good_count(const struct canary_metric *metric, const char *question)
{
    bool is_bad = !canary_metric_is_builtin(metric) && strstr(question, ".part");

    return is_bad ? 0 : 1000;
}

static const double SMALLEST = 1e-3;

/* For latency: as many requests, none of them slow. */
static struct metric_answer good_histogram(const struct metric_question *question)
{
    static const double bounds[] = {0.1, INFINITY}, counts[] = {1000, 1000};

    if (question->times > 0)
        return (struct metric_answer){.outcome = METRIC_NO_VALUES, .text = "no values found"};
    return (struct metric_answer){
        .outcome = METRIC_VALUE, .values = counts, .n_values = 2, .bounds = bounds, .n_bounds = 2};
}

/* A number before the release: it varies a little from look to look. */
static struct metric_answer good_past(const struct tick *tick, const struct metric_answer *now,
                                      int times)
{
    double *values = arena_array(tick->arena, (size_t)times, sizeof(*values));

    for (int i = 0; i < times; i++)
        values[i] = now->value + (i % 2 ? SMALLEST : 0);
    return (struct metric_answer){.outcome = METRIC_VALUE, .values = values, .n_values = times};
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
    if (question->histogram)
        return good_histogram(question);
    answer.value = assumed_is_count(question) && !metric->compares
                       ? good_count(metric, question->id)
                       : good_value(metric) / unit_of(tick, metric, question->id);
    if (question->times > 0 && metric->compares)
        return good_past(tick, &answer, question->times);
    return answer;
}
