#include "crash/safety.h"

#include <string.h>

static struct json_object *find(struct objstore *store, const char *group, const char *plural,
                                const char *name)
{
    const struct objkind *kind = objstore_kind(store, group, plural);

    return kind ? objstore_get(store, kind, "test", name) : NULL;
}

static bool has_pods(struct objstore *store, const char *workload)
{
    struct json_object *deployment = find(store, "apps", "deployments", workload);
    struct json_object *daemonset = find(store, "apps", "daemonsets", workload);

    return json_int_at(deployment, 0, "status", "availableReplicas", NULL) > 0 ||
           json_int_at(daemonset, 0, "status", "numberAvailable", NULL) > 0;
}

/* A workload that stands in for a primary which is recreated has its labels. */
static bool answers(struct arena *arena, struct objstore *store, const char *workload)
{
    const char *end = strrchr(workload, '-');

    if (has_pods(store, workload))
        return true;
    return end && strcmp(end, "-primary") == 0 &&
           has_pods(store, arena_printf(arena, "%.*s-renewal", (int)(end - workload), workload));
}

/* Of one rule. Services that are gone, or not of this release, say nothing. */
static const char *check_rule(struct arena *arena, struct objstore *store, struct json_object *rule)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);
    int64_t sum = 0;

    for (size_t i = 0; i < json_len(backends); i++) {
        const char *name = json_str_at(json_elem(backends, i), "name", NULL);
        int64_t weight = json_int_at(json_elem(backends, i), 1, "weight", NULL);
        const char *workload =
            json_str_at(find(store, "", "services", name), "spec", "selector", "app", NULL);
        sum += weight;
        if (weight > 0 && workload && !answers(arena, store, workload))
            return arena_printf(arena, "%s had %lld %% of the traffic and no pod that is ready",
                                name, (long long)weight);
    }
    return json_len(backends) < 2 || sum == 100
               ? NULL
               : arena_printf(arena, "the weights added up to %lld", (long long)sum);
}

const char *safety_breach(struct arena *arena, struct objstore *store)
{
    struct json_object *route = find(store, "gateway.networking.k8s.io", "httproutes", "podinfo");
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    const char *breach = NULL;

    for (size_t i = 0; i < json_len(rules) && !breach; i++)
        breach = check_rule(arena, store, json_elem(rules, i));
    return breach;
}
