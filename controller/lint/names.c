#include "lint/names.h"

#include <string.h>

#include "decide/act/companions.h"
#include "lint/guess.h"
#include "metric/backend.h"
#include "notify/notify.h"
#include "scaler/scaler.h"
#include "target/target.h"

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
    if (document_find(document->lint, resource->group, resource->kind, namespace_, name))
        return;
    for (const struct document *d = document->lint->first; d; d = d->next)
        if (document_find(document->lint, resource->group, resource->kind, namespace_, d->name) ==
            d)
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
    look_at_analysis(&names, &canary->analysis);
}
