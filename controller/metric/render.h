/*
 * Query templates (metric/METRICS.md): Go templates (metric/template.h) with the functions name,
 * namespace, target, service, ingress, route and interval, and the map `variables`. A missing
 * variable is an error as `variables.KEY`, and empty by `index`, as in Flagger.
 */
#ifndef METRIC_RENDER_H
#define METRIC_RENDER_H

#include "base/json.h"
#include "proto/canary.h"

struct template_means;

struct render_model {
    const char *name, *namespace_, *target, *service, *ingress, *route, *interval;
    const char *
        /* Regular expression of the canary's pods, for the families' `{{ pods }}`; NULL in
         * queries of users, which do not have it. */
        pods;
    const char *workload;               /* counted workload; NULL in queries without it */
    struct json_object *variables;      /* object of strings or NULL */
    const struct template_means *means; /* metric/template.h; NULL if none */
    bool plain_words; /* every non-word character of the names becomes '_' (Skipper) */
};

struct render_model render_model_of(const struct canary *canary, const char *interval,
                                    struct json_object *variables);
/* The query, owned by the arena, at most 64 KiB. ERR_INVALID with the part of the template that
 * cannot be rendered. */
enum err render_query(struct arena *arena, const char *query, const struct render_model *model,
                      const char **out, struct errinfo *ei) MUST_USE;

#endif
