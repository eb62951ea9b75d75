#include "proto/application.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/canary_parts.h"

/* --- names */

const char *application_read_name(struct json_reader *r, struct json_object *obj, const char *key,
                                  enum json_need need, size_t max)
{
    const char *text = canary_read_name(r, obj, key, need);
    if (text == NULL)
        return NULL;
    size_t len = strlen(text);
    bool fits = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == len &&
                strchr("-.", text[0]) == NULL && strchr("-.", text[len - 1]) == NULL;
    if (!fits)
        json_reader_fail(r, obj, key,
                         "expected a name of lower case letters, digits, '-' and '.', found "
                         "\"%.80s\"",
                         text);
    else if (len > max)
        json_reader_fail(r, obj, key, "expected at most %zu characters, found %zu", max, len);
    return text;
}

/* --- providers: one row each, with everything that is specific to one */

static const struct rollout_provider providers[] = {
    {.name = "istio",
     .injection = {.map = "labels",
                   .key = "istio-injection",
                   .also_map = "labels",
                   .also_key = "istio.io/rev"}},
    {.name = "kuma",
     .protocol_key = "service.kuma.io/protocol",
     .injection = {.map = "annotations",
                   .key = "kuma.io/sidecar-injection",
                   .also_map = "labels",
                   .also_key = "kuma.io/sidecar-injection",
                   .also = "enabled"}},
    {.name = "nginx", .ingress_class = "nginx"},
};
enum { N_PROVIDERS = sizeof providers / sizeof providers[0] };

/* name NULL: the default provider. Returns NULL if no provider has this name. */
static const struct rollout_provider *rollout_provider_find(const char *name)
{
    if (name == NULL)
        return &providers[0];
    for (int i = 0; i < N_PROVIDERS; i++) {
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    }
    return NULL;
}

/* "a, b or c" */
static const char *rollout_provider_names(struct arena *arena)
{
    const char *names = providers[0].name;
    for (int i = 1; i < N_PROVIDERS; i++)
        names = arena_printf(arena, "%s%s%s", names, i < N_PROVIDERS - 1 ? ", " : " or ",
                             providers[i].name);
    return names;
}

/*
 * --- rolloutPolicy.trafficRouting. Fields that are only for the mesh go into the Canary unchanged,
 * and are checked there.
 */

enum { FULL_WEIGHT = 100 };

static struct json_object *read_step_weights(struct json_reader *r, struct json_object *json)
{
    struct json_object *array = json_read_array(r, json, "stepWeights", JSON_OPTIONAL);
    int64_t weight, below = 0;
    if (json_len(array) == 0)
        return NULL;
    for (size_t i = 0; i < json_len(array); i++) {
        if (!json_to_int(json_elem(array, i), &weight) || weight <= below || weight > FULL_WEIGHT) {
            canary_fail_element(
                r, array, i,
                arena_printf(r->arena, "a whole number from %d to 100", (int)below + 1));
            return NULL;
        }
        below = weight;
    }
    return array;
}

static void read_weights(struct json_reader *r, struct json_object *json,
                         struct rollout_routing *out)
{
    struct json_object *strategy = json_read_obj(r, json, "canaryStrategy", JSON_OPTIONAL);
    if (strategy == NULL)
        return;
    out->weighted = true;
    out->max_weight = canary_read_int(r, strategy, "maxWeight", 0, FULL_WEIGHT, 0);
    out->step_weight = canary_read_int(r, strategy, "stepWeight", 0, FULL_WEIGHT, 0);
    out->step_weight_promotion =
        canary_read_int(r, strategy, "stepWeightPromotion", 0, FULL_WEIGHT, 0);
    out->step_weights = read_step_weights(r, strategy);
    if ((out->step_weight > 0) == (out->step_weights != NULL))
        json_reader_fail(r, strategy, NULL, "expected stepWeight or stepWeights, found %s",
                         out->step_weights != NULL ? "both" : "neither");
}

static void read_match(struct json_reader *r, struct json_object *json, struct rollout_routing *out)
{
    struct json_object *match = json_read_array(r, json, "match", JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(match); i++)
        (void)canary_read_element(r, match, i);
    out->match = json_len(match) > 0 ? match : NULL;
}

/* A release needs steps of exactly one kind; without an analysis it has none. */
static void check_strategy(struct json_reader *r, struct json_object *policy,
                           struct json_object *json, const struct rollout *out)
{
    const struct rollout_routing *routing = &out->routing;
    if (routing->weighted && routing->iterations > 0)
        json_reader_fail(r, json, NULL, "expected canaryStrategy or analysisTimes, found both");
    else if (!routing->weighted && routing->iterations == 0 && !out->skip_analysis)
        json_reader_fail(r, json != NULL ? json : policy, json != NULL ? NULL : "trafficRouting",
                         "expected canaryStrategy or analysisTimes, found neither");
    else if (routing->host == NULL && out->provider->ingress_class != NULL)
        json_reader_fail(r, json != NULL ? json : policy, json != NULL ? "host" : "trafficRouting",
                         "required with trafficRoutingProvider %s: expected a host name",
                         out->provider->name);
}

static void read_routing(struct json_reader *r, struct json_object *policy, struct rollout *out)
{
    struct rollout_routing *routing = &out->routing;
    struct json_object *json = json_read_obj(r, policy, "trafficRouting", JSON_OPTIONAL);
    if (json != NULL) {
        routing->timeout_s = canary_read_int(r, json, "timeoutSeconds", 0, INT_MAX, 0);
        routing->gateways = canary_read_strings(r, json, "gateways");
        routing->hosts = canary_read_strings(r, json, "hosts");
        routing->retries = json_read_obj(r, json, "retries", JSON_OPTIONAL);
        routing->headers = json_read_obj(r, json, "headers", JSON_OPTIONAL);
        routing->cors_policy = json_read_obj(r, json, "corsPolicy", JSON_OPTIONAL);
        routing->host = canary_read_name(r, json, "host", JSON_OPTIONAL);
        routing->protocol = canary_read_name(r, json, "protocol", JSON_OPTIONAL);
        routing->iterations = canary_read_int(r, json, "analysisTimes", 0, INT_MAX, 0);
        read_weights(r, json, routing);
        read_match(r, json, routing);
    }
    check_strategy(r, policy, json, out);
}

/* --- rolloutPolicy.trafficAnalysis */

enum { DEFAULT_S = 60 };

/* A number, or a number in a string: "99.5". */
static double read_bound(struct json_reader *r, struct json_object *range, const char *key,
                         bool *has)
{
    struct json_object *value = json_at(range, key, NULL);
    char *end;
    *has = value != NULL;
    if (!json_object_is_type(value, json_type_string))
        return json_read_num(r, range, key, 0);
    const char *text = json_object_get_string(value);
    *has = *text != '\0';
    double number = strtod(text, &end);
    bool decimal = strspn(text, "+-0123456789.eE") == strlen(text);
    if (*has && (!decimal || *end != '\0' || end == text || !isfinite(number)))
        json_reader_fail(r, range, key, "expected a number, found \"%.40s\"", text);
    return number;
}

static void read_range(struct json_reader *r, struct json_object *json, struct rollout_metric *out)
{
    struct json_object *range = json_read_obj(r, json, "thresholdRange", JSON_OPTIONAL);
    if (range == NULL)
        return;
    out->min = read_bound(r, range, "min", &out->has_min);
    out->max = read_bound(r, range, "max", &out->has_max);
    if (r->err == ERR_OK && out->has_min && out->has_max && out->min > out->max)
        json_reader_fail(r, range, NULL, "expected min not above max, found min %g and max %g",
                         out->min, out->max);
}

bool rollout_metric_is_builtin(const struct rollout_metric *metric)
{
    const struct canary_metric same = {.name = metric->name};
    return canary_metric_is_builtin(&same);
}

static void read_custom(struct json_reader *r, struct json_object *json, struct rollout_metric *out)
{
    out->custom = json_read_obj(r, json, "customMetric", JSON_OPTIONAL);
    if (out->custom == NULL)
        return;
    struct json_object *provider = json_read_obj(r, out->custom, "provider", JSON_REQUIRED);
    (void)canary_read_name(r, provider, "type", JSON_REQUIRED);
    (void)canary_read_name(r, out->custom, "query", JSON_REQUIRED);
    if (rollout_metric_is_builtin(out))
        json_reader_fail(r, json, "customMetric",
                         "expected none, %s is measured without a query of its own", out->name);
}

static void read_metric(struct json_reader *r, struct json_object *json,
                        struct rollout_analysis *out, int index)
{
    struct rollout_metric *metric = &out->metrics[index];
    metric->name = application_read_name(r, json, "name", JSON_REQUIRED, APPLICATION_MAX_NAME);
    metric->interval_s = canary_read_int(r, json, "intervalSeconds", 1, INT_MAX, DEFAULT_S);
    read_range(r, json, metric);
    if (r->err == ERR_OK)
        read_custom(r, json, metric);
    for (int i = 0; r->err == ERR_OK && i < index; i++) {
        const struct rollout_metric *other = &out->metrics[i];
        if (metric->custom != NULL && other->custom != NULL &&
            strcmp(metric->name, other->name) == 0)
            json_reader_fail(r, json, "name",
                             "expected another name than that of metrics[%d], whose customMetric "
                             "it would replace, found \"%s\"",
                             i, metric->name);
    }
}

static void read_metrics(struct json_reader *r, struct json_object *json,
                         struct rollout_analysis *out)
{
    struct json_object *array = json_read_array(r, json, "metrics", JSON_OPTIONAL);
    size_t n = json_len(array);
    if (n > ROLLOUT_MAX_METRICS) {
        json_reader_fail(r, json, "metrics", "expected at most %d of them, found %zu",
                         (int)ROLLOUT_MAX_METRICS, n);
        return;
    }
    out->metrics = arena_array(r->arena, n, sizeof *out->metrics);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *metric = canary_read_element(r, array, i);
        if (metric != NULL)
            read_metric(r, metric, out, (int)i);
    }
    out->n_metrics = (int)n;
}

/* The example in the design document has the misspelling "commend". */
static struct json_object *read_command(struct json_reader *r, struct json_object *json)
{
    struct json_object *command = canary_read_strings(r, json, "command");
    struct json_object *commend = canary_read_strings(r, json, "commend");
    if (command != NULL && commend != NULL)
        json_reader_fail(r, json, "commend", "expected command or commend, found both");
    return command != NULL ? command : commend;
}

static void read_webhook(struct json_reader *r, struct json_object *json,
                         struct rollout_analysis *out)
{
    int timeout_s = canary_read_int(r, json, "timeoutSeconds", 1, INT_MAX, DEFAULT_S);
    struct json_object *commands = read_command(r, json);
    size_t n = json_len(commands);
    if (r->err != ERR_OK)
        return;
    if (n + (size_t)out->n_commands > ROLLOUT_MAX_COMMANDS) {
        json_reader_fail(r, json, "command", "expected at most %d commands of all webhooks",
                         (int)ROLLOUT_MAX_COMMANDS);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *text = json_object_get_string(json_elem(commands, i));
        if (*text == '\0') {
            canary_fail_element(r, commands, i, "a command");
            return;
        }
        out->commands[out->n_commands++] =
            (struct rollout_command){.text = text, .timeout_s = timeout_s};
    }
}

/* One object, or a list of them. */
static void read_webhooks(struct json_reader *r, struct json_object *json,
                          struct rollout_analysis *out)
{
    struct json_object *value = json_at(json, "webhooks", NULL);
    out->commands = arena_array(r->arena, ROLLOUT_MAX_COMMANDS, sizeof *out->commands);
    if (value == NULL)
        return;
    if (json_object_is_type(value, json_type_object)) {
        read_webhook(r, json_read_obj(r, json, "webhooks", JSON_REQUIRED), out);
        return;
    }
    if (!json_object_is_type(value, json_type_array)) {
        json_reader_fail(r, json, "webhooks", "expected an object or a list of them, found %s",
                         json_text(r->arena, value));
        return;
    }
    struct json_object *array = json_read_array(r, json, "webhooks", JSON_REQUIRED);
    for (size_t i = 0; i < json_len(array) && r->err == ERR_OK; i++) {
        struct json_object *webhook = canary_read_element(r, array, i);
        if (webhook != NULL)
            read_webhook(r, webhook, out);
    }
}

static void read_affinity(struct json_reader *r, struct json_object *json,
                          struct rollout_analysis *out)
{
    struct json_object *affinity = json_read_obj(r, json, "sessionAffinity", JSON_OPTIONAL);
    if (affinity == NULL)
        return;
    out->cookie_name = canary_read_name(r, affinity, "cookieName", JSON_REQUIRED);
    out->cookie_max_age_s = json_read_int(r, affinity, "maxAge", 0, INT_MAX, 0);
}

static void read_analysis(struct json_reader *r, struct json_object *policy,
                          struct rollout_analysis *out)
{
    struct json_object *json = json_read_obj(r, policy, "trafficAnalysis", JSON_OPTIONAL);
    *out = (struct rollout_analysis){.interval_s = DEFAULT_S};
    if (json == NULL)
        return;
    out->interval_s = canary_read_int(r, json, "checkIntervalSeconds", 1, INT_MAX, DEFAULT_S);
    out->threshold = canary_read_int(r, json, "checkFailedTimes", 0, INT_MAX, 0);
    read_metrics(r, json, out);
    read_webhooks(r, json, out);
    read_affinity(r, json, out);
}

/* --- syncPolicies[].rollout */

static const char loader_suffix[] = "-testloader";

static void read_workload(struct json_reader *r, struct json_object *json, const char *namespace_,
                          struct rollout *out)
{
    struct json_object *ref = json_read_obj(r, json, "workload", JSON_REQUIRED);
    if (ref == NULL)
        return;
    const char *version = canary_read_name(r, ref, "apiVersion", JSON_OPTIONAL);
    const char *kind = canary_read_name(r, ref, "kind", JSON_OPTIONAL);
    const char *in =
        application_read_name(r, ref, "namespace", JSON_OPTIONAL, APPLICATION_MAX_LABEL);
    out->workload = (struct canary_ref){
        .api_version = version != NULL ? version : "apps/v1",
        .kind = kind != NULL ? kind : "Deployment",
        .name = application_read_name(r, ref, "name", JSON_REQUIRED, APPLICATION_MAX_NAME),
        .namespace_ = in != NULL ? in : namespace_,
    };
    if (strcmp(out->workload.kind, "Deployment") != 0 &&
        strcmp(out->workload.kind, "DaemonSet") != 0)
        json_reader_fail(r, ref, "kind", "expected Deployment or DaemonSet, found \"%s\"", kind);
}

/* true or false, or {testLoader, removeOnDelete}, where the default is true. */
static void read_loader(struct json_reader *r, struct json_object *json, struct rollout *out)
{
    struct json_object *value = json_at(json, "testLoader", NULL);
    if (value == NULL || json_object_is_type(value, json_type_boolean)) {
        out->loader = json_read_bool(r, json, "testLoader", false);
    } else if (json_object_is_type(value, json_type_object)) {
        struct json_object *loader = json_read_obj(r, json, "testLoader", JSON_REQUIRED);
        out->loader = json_read_bool(r, loader, "testLoader", true);
        out->keep_loader = !json_read_bool(r, loader, "removeOnDelete", false);
    } else {
        json_reader_fail(r, json, "testLoader", "expected true, false or an object, found %s",
                         json_text(r->arena, value));
    }
    size_t most = APPLICATION_MAX_LABEL - strlen(loader_suffix);
    if (r->err == ERR_OK && out->loader && strlen(out->workload.name) > most)
        json_reader_fail(r, json_at(json, "workload", NULL), "name",
                         "expected at most %zu characters, for its load tester is a Service of "
                         "that name and %s, found %zu",
                         most, loader_suffix, strlen(out->workload.name));
}

static struct json_object *read_service_metadata(struct json_reader *r, struct json_object *json,
                                                 const char *key)
{
    struct json_object *metadata = json_read_obj(r, json, key, JSON_OPTIONAL);
    if (metadata != NULL) {
        (void)canary_read_map(r, metadata, "labels");
        (void)canary_read_map(r, metadata, "annotations");
    }
    return metadata;
}

static const struct rollout_provider *read_provider(struct json_reader *r, struct json_object *json)
{
    const char *text = canary_read_name(r, json, "trafficRoutingProvider", JSON_OPTIONAL);
    const struct rollout_provider *provider = rollout_provider_find(text);
    if (provider != NULL)
        return provider;
    json_reader_fail(r, json, "trafficRoutingProvider", "expected %s, found \"%s\"",
                     rollout_provider_names(r->arena), text);
    return rollout_provider_find(NULL);
}

static void read_rollout_policy(struct json_reader *r, struct json_object *json,
                                struct rollout *out)
{
    struct json_object *policy = json_read_obj(r, json, "rolloutPolicy", JSON_REQUIRED);
    if (policy == NULL)
        return;
    out->skip_analysis = json_read_bool(r, policy, "skipTrafficAnalysis", false);
    out->suspend = json_read_bool(r, policy, "suspend", false);
    if (json_at(policy, "revertOnDeletion", NULL) != NULL)
        out->revert = json_read_bool(r, policy, "revertOnDeletion", true) ? REVERT_YES : REVERT_NO;
    out->deadline_s = canary_read_int(r, policy, "rolloutTimeoutSeconds", 0, INT_MAX, 0);
    read_routing(r, policy, out);
    read_analysis(r, policy, &out->analysis);
}

static struct rollout *read_rollout(struct json_reader *r, struct json_object *policy,
                                    const struct application *app)
{
    struct json_object *json = json_read_obj(r, policy, "rollout", JSON_OPTIONAL);
    if (json == NULL)
        return NULL;
    struct rollout *out = ARENA_NEW(r->arena, struct rollout);
    out->provider = read_provider(r, json);
    read_workload(r, json, app->namespace_, out);
    out->service_name =
        application_read_name(r, json, "serviceName", JSON_REQUIRED, APPLICATION_MAX_LABEL);
    if (json_at(json, "port", NULL) == NULL)
        json_reader_fail(r, json, "port", "required: expected a port of Service %s",
                         out->service_name != NULL ? out->service_name : "serviceName");
    out->port = canary_read_int(r, json, "port", 1, 65535, 0);
    read_loader(r, json, out);
    out->primary = read_service_metadata(r, json, "primary");
    out->preview = read_service_metadata(r, json, "preview");
    read_rollout_policy(r, json, out);
    return out;
}

/* --- the Application */

static const char *or_else(const char *text, const char *missing)
{
    return text != NULL ? text : missing;
}

static void read_metadata(struct json_reader *r, struct json_object *object,
                          struct application *out)
{
    const char *kind = json_read_str(r, object, "kind", JSON_OPTIONAL);
    if (kind != NULL && strcmp(kind, "Application") != 0)
        json_reader_fail(r, object, "kind", "expected Application, found \"%s\"", kind);
    const char *version = json_read_str(r, object, "apiVersion", JSON_OPTIONAL);
    /* Argo CD also has a kind Application. */
    if (version != NULL && strncmp(version, "apps.kurator.dev/", 17) != 0)
        json_reader_fail(r, object, "apiVersion",
                         "expected apps.kurator.dev/v1alpha1, found \"%s\"", version);
    struct json_object *metadata = json_read_obj(r, object, "metadata", JSON_REQUIRED);
    out->name = canary_read_name(r, metadata, "name", JSON_REQUIRED);
    out->namespace_ = or_else(
        application_read_name(r, metadata, "namespace", JSON_OPTIONAL, APPLICATION_MAX_LABEL),
        "default");
    out->uid = or_else(json_read_str(r, metadata, "uid", JSON_OPTIONAL), "");
    out->resource_version =
        or_else(json_read_str(r, metadata, "resourceVersion", JSON_OPTIONAL), "");
    out->generation = json_read_int(r, metadata, "generation", 0, INT64_MAX, 0);
    out->deleting = json_read_str(r, metadata, "deletionTimestamp", JSON_OPTIONAL) != NULL;
}

bool application_read_destination(struct json_reader *r, struct json_object *parent,
                                  struct application_destination *out)
{
    struct json_object *json = json_read_obj(r, parent, "destination", JSON_OPTIONAL);
    if (json == NULL)
        return false;
    out->fleet = application_read_name(r, json, "fleet", JSON_REQUIRED, APPLICATION_MAX_NAME);
    struct json_object *selector = json_read_obj(r, json, "clusterSelector", JSON_OPTIONAL);
    out->labels = selector != NULL ? canary_read_map(r, selector, "matchLabels") : NULL;
    return true;
}

/* The name of a policy must be unique, since it also identifies its objects on the clusters. */
static void check_name(struct json_reader *r, struct json_object *json,
                       const struct application *out, int index)
{
    for (int i = 0; r->err == ERR_OK && i < index; i++) {
        if (strcmp(out->policies[i].name, out->policies[index].name) == 0)
            json_reader_fail(r, json, "name",
                             "expected another name than that of syncPolicies[%d], found \"%s\"", i,
                             out->policies[index].name);
    }
}

static void read_policy(struct json_reader *r, struct json_object *json,
                        const struct application_destination *common, struct application *out,
                        int index)
{
    struct application_policy *policy = &out->policies[index];
    policy->name = application_read_name(r, json, "name", JSON_OPTIONAL, APPLICATION_MAX_NAME);
    if (policy->name == NULL)
        policy->name = arena_printf(r->arena, "%s-%d", or_else(out->name, ""), index);
    check_name(r, json, out, index);
    if (!application_read_destination(r, json, &policy->destination))
        policy->destination = *common;
    policy->rollout = read_rollout(r, json, out);
}

static void read_spec(struct json_reader *r, struct json_object *spec, struct application *out)
{
    struct application_destination common = {0};
    (void)application_read_destination(r, spec, &common);
    struct json_object *array = json_read_array(r, spec, "syncPolicies", JSON_REQUIRED);
    size_t n = json_len(array);
    if (n > APPLICATION_MAX_POLICIES) {
        json_reader_fail(r, spec, "syncPolicies", "expected at most %d of them, found %zu",
                         (int)APPLICATION_MAX_POLICIES, n);
        return;
    }
    out->policies = arena_array(r->arena, n, sizeof *out->policies);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json != NULL)
            read_policy(r, json, &common, out, (int)i);
    }
    out->n_policies = (int)n;
}

enum err application_view(struct arena *arena, struct json_object *object, struct application *out,
                          struct errinfo *ei)
{
    *out = (struct application){.json = object};
    if (!json_object_is_type(object, json_type_object))
        return err_set(ei, ERR_INVALID, "expected an Application object, found %.40s",
                       json_text(arena, object));
    struct json_reader r = {.arena = arena};
    read_metadata(&r, object, out);
    struct json_object *spec = json_read_obj(&r, object, "spec", JSON_REQUIRED);
    if (spec != NULL)
        read_spec(&r, spec, out);
    if (r.err != ERR_OK)
        return err_set(ei, r.err, "%s", r.info.text);
    return ERR_OK;
}
