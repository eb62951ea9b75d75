#include "decide/ask/metrics_template.h"

#include "kube/secret_ca.h"
#include "metric/backend.h"
#include "metric/template.h"
#include "tick/edit.h"

const char *metrics_template_namespace(const struct release *r, const struct canary_metric *metric)
{
    const char *namespace_ = metric->template_ref.namespace_;

    return namespace_ && *namespace_ ? namespace_ : r->canary->namespace_;
}

/* What a Secret holds that the template names; *why says that it is missing. */
static enum verdict need_secret(struct release *r, const char *namespace_, const char *name,
                                const char *named, struct json_object **secret, const char **why)
{
    if (!need_object_surely(r->tick, &kube_secrets, namespace_, name, secret))
        return VERDICT_NEED_FACTS;
    if (*secret)
        return VERDICT_GO;
    *why = arena_printf(r->tick->arena, "%s secret %s error: not found", named, name);
    return VERDICT_STOP;
}

/* A template whose caSecretRef cannot be used is not asked for at all: nothing else is believed. */
static enum verdict question_ca(struct release *r, const char *namespace_, const char *named,
                                struct metric_question *out, const char **why)
{
    struct json_object *ref = json_at(out->spec, "caSecretRef", NULL);
    const char *name = json_str_at(ref, "name", NULL);
    const char *key = json_str_at(ref, "key", NULL);
    struct json_object *secret;
    struct errinfo ei;

    if (!ref)
        return VERDICT_GO;
    if (!name || !*name) {
        *why = arena_printf(r->tick->arena,
                            "%s error: spec.provider.caSecretRef.name: expected a name", named);
        return VERDICT_STOP;
    }
    enum verdict verdict = need_secret(r, namespace_, name, named, &secret, why);
    if (verdict != VERDICT_GO)
        return verdict;
    const char *label = arena_printf(r->tick->arena, "%s.%s", name, namespace_);
    if (secret_ca_read(r->tick->arena, label, secret, key && *key ? key : NULL, &out->ca_pem,
                       &ei) == ERR_OK)
        return VERDICT_GO;
    *why = arena_printf(r->tick->arena, "%s error: caSecretRef: %s", named, ei.text);
    return VERDICT_STOP;
}

enum verdict metrics_template_question(struct release *r, int index, struct metric_question *out,
                                       struct json_object **template, const char **why)
{
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    const char *namespace_ = metrics_template_namespace(r, metric);
    const char *named = arena_printf(r->tick->arena, "metric template %s.%s",
                                     metric->template_ref.name, namespace_);

    if (!need_object_surely(r->tick, &metric_templates, namespace_, metric->template_ref.name,
                            template))
        return VERDICT_NEED_FACTS;
    if (!*template) {
        *why = arena_printf(r->tick->arena, "%s error: not found", named);
        return VERDICT_STOP;
    }
    out->spec = json_at(*template, "spec", "provider", NULL);
    out->backend = json_str_at(out->spec, "type", NULL);
    out->address = json_str_at(out->spec, "address", NULL);
    out->interval_ms = metric->interval_ms;
    if (r->tick->settings->no_cross_namespace_refs)
        out->only_namespace = namespace_;
    if (!metric_backend_find(out->backend)) {
        *why = arena_printf(r->tick->arena,
                            "%s provider %s error: not served by this version, which has %s", named,
                            out->backend ? out->backend : "", metric_backend_names(r->tick->arena));
        return VERDICT_STOP;
    }
    const char *secret = json_str_at(out->spec, "secretRef", "name", NULL);
    if (secret) {
        enum verdict verdict = need_secret(r, namespace_, secret, named, &out->secret, why);
        if (verdict != VERDICT_GO)
            return verdict;
    }
    return question_ca(r, namespace_, named, out, why);
}

const struct template_means *metrics_means(const struct release *r)
{
    struct template_means *means = ARENA_NEW(r->tick->arena, struct template_means);

    if (!r->tick->budget) {
        r->tick->budget = ARENA_NEW(r->tick->arena, struct template_budget);
        *r->tick->budget =
            (struct template_budget){.steps = TEMPLATE_TICK_STEPS, .bytes = TEMPLATE_TICK_BYTES};
    }
    *means = (struct template_means){
        .budget = r->tick->budget, .kept = r->tick->templates, .owner = r->canary->namespace_};
    return means;
}
