/* The objects that a rollout wants on a member cluster. */
#include "fleet/rules/fleet.h"

#include <math.h>
#include <string.h>

#include "tick/edit.h"

static void set_seconds(struct arena *arena, struct json_object *object, const char *key, int s)
{
    if (s > 0)
        json_set_str(object, key, arena_printf(arena, "%ds", s));
}

static void set_int(struct json_object *object, const char *key, int value)
{
    if (value > 0)
        json_set_int(object, key, value);
}

static void put_given(struct arena *arena, struct json_object *object, const char *key,
                      struct json_object *value)
{
    if (value)
        edit_put(arena, object, key, value);
}

/* Writes 99 and not 99.0, as a user would. */
static void set_number(struct json_object *object, const char *key, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        json_set_int(object, key, (int64_t)value);
    else
        json_object_object_add(object, key, json_object_new_double(value));
}

/* --- spec.service */

struct json_object *derive_port(const struct rollout *rollout, struct json_object *service)
{
    struct json_object *ports = json_at(service, "spec", "ports", NULL);

    for (size_t i = 0; i < json_len(ports); i++)
        if (json_int_at(json_elem(ports, i), 0, "port", NULL) == rollout->port)
            return json_elem(ports, i);
    return NULL;
}

/* Some meshes read from each Service which protocol its port speaks. */
static void tell_protocol(struct arena *arena, struct json_object *out,
                          const struct rollout *rollout)
{
    static const char *const services[] = {"apex", "primary", "canary"};
    const char *ending = rollout->provider->protocol_key;

    if (!rollout->routing.protocol || !ending)
        return;
    const char *key = arena_printf(arena, "%d.%s", rollout->port, ending);
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
        json_set_str(json_sub(json_sub(out, services[i]), "annotations"), key,
                     rollout->routing.protocol);
}

static void add_service(struct arena *arena, struct json_object *spec,
                        const struct rollout *rollout, struct json_object *target_port)
{
    const struct rollout_routing *routing = &rollout->routing;
    struct json_object *out = json_sub(spec, "service");

    json_set_str(out, "name", rollout->service_name);
    json_set_int(out, "port", rollout->port);
    put_given(arena, out, "targetPort", target_port);
    set_seconds(arena, out, "timeout", routing->timeout_s);
    put_given(arena, out, "gateways", routing->gateways);
    put_given(arena, out, "hosts", routing->hosts);
    put_given(arena, out, "retries", routing->retries);
    put_given(arena, out, "headers", routing->headers);
    put_given(arena, out, "corsPolicy", routing->cors_policy);
    put_given(arena, out, "primary", rollout->primary);
    put_given(arena, out, "canary", rollout->preview);
    tell_protocol(arena, out, rollout);
}

/* --- spec.analysis */

static void add_metric(struct json_object *list, const struct rollout *rollout,
                       const struct rollout_metric *metric, struct arena *arena)
{
    struct json_object *out = edit_object(arena);

    json_set_str(out, "name", metric->name);
    set_seconds(arena, out, "interval", metric->interval_s);
    if (metric->has_min)
        set_number(json_sub(out, "thresholdRange"), "min", metric->min);
    if (metric->has_max)
        set_number(json_sub(out, "thresholdRange"), "max", metric->max);
    if (!rollout_metric_is_builtin(metric)) {
        json_set_str(json_sub(out, "templateRef"), "name", metric->name);
        json_set_str(json_sub(out, "templateRef"), "namespace", rollout->workload.namespace_);
    }
    edit_add(list, out);
}

static void add_webhook(struct json_object *list, const struct rollout *rollout, int index,
                        struct arena *arena)
{
    const struct rollout_command *command = &rollout->analysis.commands[index];
    struct json_object *out = edit_object(arena);

    json_set_str(out, "name", arena_printf(arena, "generated-testload-%d", index));
    set_seconds(arena, out, "timeout", command->timeout_s);
    json_set_str(out, "url",
                 arena_printf(arena, "http://%s.%s/", derive_loader_name(arena, rollout),
                              rollout->workload.namespace_));
    json_set_str(json_sub(out, "metadata"), "type", "cmd");
    json_set_str(json_sub(out, "metadata"), "cmd", command->text);
    edit_add(list, out);
}

/* An analysis must be valid even if it is skipped: Flagger's CRD requires its steps. */
static void add_steps(struct arena *arena, struct json_object *out,
                      const struct rollout_routing *routing)
{
    if (!routing->weighted)
        json_set_int(out, "iterations", routing->iterations > 0 ? routing->iterations : 1);
    set_int(out, "maxWeight", routing->max_weight);
    set_int(out, "stepWeight", routing->step_weight);
    put_given(arena, out, "stepWeights", routing->step_weights);
    set_int(out, "stepWeightPromotion", routing->step_weight_promotion);
    put_given(arena, out, "match", routing->match);
}

static void add_analysis(struct arena *arena, struct json_object *spec,
                         const struct rollout *rollout)
{
    const struct rollout_analysis *analysis = &rollout->analysis;
    struct json_object *out = json_sub(spec, "analysis");
    struct json_object *metrics = edit_array(arena), *webhooks = edit_array(arena);

    set_seconds(arena, out, "interval", analysis->interval_s);
    json_set_int(out, "threshold", analysis->threshold > 0 ? analysis->threshold : 1);
    add_steps(arena, out, &rollout->routing);
    for (int i = 0; i < analysis->n_metrics; i++)
        add_metric(metrics, rollout, &analysis->metrics[i], arena);
    for (int i = 0; i < analysis->n_commands; i++)
        add_webhook(webhooks, rollout, i, arena);
    if (analysis->n_metrics > 0)
        json_set(out, "metrics", metrics);
    if (analysis->n_commands > 0)
        json_set(out, "webhooks", webhooks);
    if (analysis->cookie_name) {
        struct json_object *affinity = json_sub(out, "sessionAffinity");
        json_set_str(affinity, "cookieName", analysis->cookie_name);
        if (analysis->cookie_max_age_s > 0)
            json_set_int(affinity, "maxAge", analysis->cookie_max_age_s);
    }
}

/* --- the whole */

static void add_reference(struct json_object *spec, const char *key, const char *version,
                          const char *kind, const char *name)
{
    struct json_object *out = json_sub(spec, key);

    json_set_str(out, "apiVersion", version);
    json_set_str(out, "kind", kind);
    json_set_str(out, "name", name);
}

struct json_object *derive_canary(struct arena *arena, const struct rollout *rollout,
                                  const char *ingress, struct json_object *service,
                                  struct json_object *live)
{
    const struct canary_ref *workload = &rollout->workload;
    struct json_object *out = edit_object(arena), *spec = json_sub(out, "spec");
    struct json_object *port = derive_port(rollout, service);
    /* If the Service is gone, the last known port is used. */
    struct json_object *target_port = port ? json_at(port, "targetPort", NULL)
                                           : json_at(live, "spec", "service", "targetPort", NULL);

    json_set_str(spec, "provider", rollout->provider->name);
    add_reference(spec, "targetRef", workload->api_version, workload->kind, workload->name);
    if (ingress)
        add_reference(spec, "ingressRef", "networking.k8s.io/v1", "Ingress", ingress);
    set_int(spec, "progressDeadlineSeconds", rollout->deadline_s);
    add_service(arena, spec, rollout, target_port);
    add_analysis(arena, spec, rollout);
    if (rollout->skip_analysis)
        json_set_bool(spec, "skipAnalysis", true);
    /* False leaves the workload without pods when the Canary is deleted, so it must be set
     * explicitly. */
    json_set_bool(spec, "revertOnDeletion", rollout->revert != REVERT_NO);
    if (rollout->suspend)
        json_set_bool(spec, "suspend", true);
    return out;
}

/* --- the load tester, which runs the commands of the analysis (deploy/loadtester) */

enum { LOADER_PORT = 8080, SERVICE_PORT = 80 };

/* Only tools that make requests, because every client that can reach the port can run them. */
static const char policies[] =
    "--policy=/etc/flagger/policies/hey.yaml,/etc/flagger/policies/wrk.yaml,"
    "/etc/flagger/policies/ghz.yaml";

const char *derive_loader_name(struct arena *arena, const struct rollout *rollout)
{
    return arena_printf(arena, "%s-testloader", rollout->workload.name);
}

/* The labels of its pods. An existing Deployment keeps its labels, since its selector is
 * immutable. */
static struct json_object *pod_labels(struct arena *arena, const struct rollout *rollout,
                                      struct json_object *deployment)
{
    struct json_object *live = json_at(deployment, "spec", "selector", "matchLabels", NULL);
    struct json_object *labels = edit_object(arena);

    if (live)
        return json_copy(arena, live);
    json_set_str(labels, "app", derive_loader_name(arena, rollout));
    return labels;
}

static struct json_object *texts(struct arena *arena, const char *const *list)
{
    struct json_object *out = edit_array(arena);

    for (; *list; list++)
        json_object_array_add(out, json_object_new_string(*list));
    return out;
}

/* Root starts each task as a separate user, and has no other rights
 * (deploy/loadtester/README.md). */
static void bound(struct arena *arena, struct json_object *container)
{
    static const char *const add[] = {"SETUID", "SETGID", "KILL", NULL}, *const drop[] = {"ALL",
                                                                                          NULL};
    struct json_object *context = json_sub(container, "securityContext");

    json_set_bool(context, "allowPrivilegeEscalation", false);
    json_set(json_sub(context, "capabilities"), "add", texts(arena, add));
    json_set(json_sub(context, "capabilities"), "drop", texts(arena, drop));
    json_set_bool(context, "readOnlyRootFilesystem", true);
    json_set_int(context, "runAsUser", 0);
    json_set_str(json_sub(context, "seccompProfile"), "type", "RuntimeDefault");
}

static void probe(struct json_object *container, const char *key, const char *path)
{
    struct json_object *get = json_sub(json_sub(container, key), "httpGet");

    json_set_str(get, "path", path);
    json_set_str(get, "port", "http");
}

static struct json_object *container_of(struct arena *arena, const char *image)
{
    static const char *const command[] = {"flagger-loadtester", NULL};
    static const char *const args[] = {"--port=8080", policies, "--task-memory=512Mi", "--seccomp",
                                       NULL};
    struct json_object *out = edit_object(arena), *ports = edit_array(arena);
    struct json_object *port = edit_object(arena);

    json_set_str(out, "name", "loadtester");
    json_set_str(out, "image", image);
    json_set(out, "command", texts(arena, command));
    json_set(out, "args", texts(arena, args));
    json_set_str(port, "name", "http");
    json_set_int(port, "containerPort", LOADER_PORT);
    edit_add(ports, port);
    json_set(out, "ports", ports);
    probe(out, "livenessProbe", "/healthz");
    probe(out, "readinessProbe", "/readyz");
    json_set_str(json_sub(json_sub(out, "resources"), "limits"), "memory", "1Gi");
    json_set_str(json_sub(json_sub(out, "resources"), "requests"), "cpu", "100m");
    json_set_str(json_sub(json_sub(out, "resources"), "requests"), "memory", "64Mi");
    bound(arena, out);
    return out;
}

/* A writable volume, since the root file system is read-only. */
static void add_room(struct arena *arena, struct json_object *pod, struct json_object *container,
                     const char *name, const char *path)
{
    struct json_object *volume = edit_object(arena), *mount = edit_object(arena);
    struct json_object *volumes = json_at(pod, "volumes", NULL);
    struct json_object *mounts = json_at(container, "volumeMounts", NULL);

    json_set_str(volume, "name", name);
    (void)json_sub(volume, "emptyDir");
    json_set_str(mount, "name", name);
    json_set_str(mount, "mountPath", path);
    edit_add(volumes, volume);
    edit_add(mounts, mount);
}

struct json_object *derive_loader_deployment(struct arena *arena, const struct fleet_place *place,
                                             struct json_object *deployment)
{
    struct json_object *out = edit_object(arena), *spec = json_sub(out, "spec");
    struct json_object *labels = pod_labels(arena, place->policy->rollout, deployment);
    struct json_object *template = json_sub(spec, "template"), *pod = json_sub(template, "spec");
    struct json_object *container = container_of(arena, place->loader_image);
    struct json_object *containers = edit_array(arena);

    json_set(json_sub(spec, "selector"), "matchLabels", labels);
    json_set(json_sub(template, "metadata"), "labels", labels);
    json_set_bool(pod, "automountServiceAccountToken", false);
    json_set_bool(pod, "enableServiceLinks", false);
    json_set(pod, "volumes", edit_array(arena));
    json_set(container, "volumeMounts", edit_array(arena));
    add_room(arena, pod, container, "tmp", "/tmp");
    add_room(arena, pod, container, "home", "/home/app");
    edit_add(containers, container);
    json_set(pod, "containers", containers);
    return out;
}

struct json_object *derive_loader_service(struct arena *arena, const struct rollout *rollout,
                                          struct json_object *deployment)
{
    struct json_object *out = edit_object(arena), *spec = json_sub(out, "spec");
    struct json_object *ports = edit_array(arena), *port = edit_object(arena);

    json_set_str(port, "name", "http");
    json_set_int(port, "port", SERVICE_PORT);
    json_set_str(port, "protocol", "TCP");
    json_set_str(port, "targetPort", "http");
    edit_add(ports, port);
    json_set(spec, "ports", ports);
    json_set(spec, "selector", pod_labels(arena, rollout, deployment));
    return out;
}

/* --- the objects around a workload: Namespace, Ingress, MetricTemplates */

struct json_object *derive_template(struct arena *arena, const struct rollout_metric *metric)
{
    struct json_object *out = edit_object(arena);

    edit_put(arena, out, "spec", metric->custom);
    return out;
}

/* --- Ingress */

struct json_object *derive_ingress(struct arena *arena, const struct rollout *rollout)
{
    struct json_object *out = edit_object(arena), *rule = edit_object(arena);
    struct json_object *rules = edit_array(arena), *paths = edit_array(arena);
    struct json_object *path = edit_object(arena);
    struct json_object *service = json_sub(json_sub(path, "backend"), "service");

    json_set_str(path, "path", "/");
    json_set_str(path, "pathType", "Prefix");
    json_set_str(service, "name", rollout->service_name);
    json_set_int(json_sub(service, "port"), "number", rollout->port);
    edit_add(paths, path);
    json_set_str(rule, "host", rollout->routing.host);
    json_set(json_sub(rule, "http"), "paths", paths);
    edit_add(rules, rule);
    json_set(json_sub(out, "spec"), "rules", rules);
    return out;
}

static bool leads_to(struct json_object *rule, const char *service)
{
    struct json_object *paths = json_at(rule, "http", "paths", NULL);

    for (size_t i = 0; i < json_len(paths); i++) {
        const char *name = json_str_at(json_elem(paths, i), "backend", "service", "name", NULL);
        if (name && strcmp(name, service) == 0)
            return true;
    }
    return false;
}

bool derive_ingress_leads(struct json_object *ingress, const struct rollout *rollout)
{
    struct json_object *rules = json_at(ingress, "spec", "rules", NULL);

    for (size_t i = 0; i < json_len(rules); i++) {
        const char *host = json_str_at(json_elem(rules, i), "host", NULL);
        if (host && strcmp(host, rollout->routing.host) == 0 &&
            leads_to(json_elem(rules, i), rollout->service_name))
            return true;
    }
    return false;
}

/* --- Namespace */

struct json_object *derive_namespace(struct arena *arena, const struct rollout *rollout,
                                     struct json_object *namespace_, const char **mistake)
{
    const struct rollout_provider *provider = rollout->provider;
    const struct canary_ref *workload = &rollout->workload;

    *mistake = NULL;
    if (!provider->injection.map)
        return NULL;
    const char *map = provider->injection.map, *key = provider->injection.key;
    const char *also_map = provider->injection.also_map, *also_key = provider->injection.also_key;
    const char *leave = provider->injection.also;
    const char *said = json_str_at(namespace_, "metadata", map, key, NULL);
    const char *also = json_str_at(namespace_, "metadata", also_map, also_key, NULL);
    const char *against = NULL, *where = key;
    if (said && strcmp(said, "enabled") != 0) {
        against = said;
    } else if (also && leave && strcmp(also, leave) != 0) {
        against = also;
        where = also_key;
    }
    if (against)
        *mistake = arena_printf(arena,
                                "Namespace %s has %s: %s, so that %s does not see the requests of "
                                "%s %s; expected enabled",
                                workload->namespace_, where, against, provider->name,
                                workload->kind, workload->name);
    if (said || also)
        return NULL;
    struct json_object *out = edit_object(arena);
    json_set_str(json_sub(json_sub(out, "metadata"), map), key, "enabled");
    return out;
}
