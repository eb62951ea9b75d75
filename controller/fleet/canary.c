/* The Canary of a member cluster. */
#include <math.h>

#include "fleet/derive.h"
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

/* 99 and not 99.0, as a person writes it. */
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

/* Some meshes read of each Service what its port speaks. */
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

/* An analysis that is skipped is still to be one: Flagger's CRD asks for its steps. */
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
    /* Without the Service, what was known when it was there. */
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
    /* False would leave the workload without pods when the Canary goes: only where somebody says so. */
    json_set_bool(spec, "revertOnDeletion", rollout->revert != REVERT_NO);
    if (rollout->suspend)
        json_set_bool(spec, "suspend", true);
    return out;
}
