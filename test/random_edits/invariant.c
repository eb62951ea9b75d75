#include "random_edits/invariant.h"

#include <string.h>

#include "proto/weight.h"

#define CONTROLLER "flagger-controller"

static const char *name_of(struct json_object *object)
{
    const char *name = json_str_at(object, "metadata", "name", NULL);
    return name ? name : "";
}

/* --- whose pods */

static bool is_own(struct arena *arena, const struct app *app, const char *deployment)
{
    static const char *const own[] = {"NAME", "NAME-primary", "NAME-two", "NAME-two-primary"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(deployment, user_name(arena, own[i], app->name)) == 0)
            return true;
    return false;
}

static const char *stranger_of(struct arena *arena, const struct view *view, const struct app *app,
                               struct json_object *selector)
{
    size_t count;
    struct json_object *const *pods = view_list(view, &user_pods, &count);
    for (size_t i = 0; i < count; i++) {
        const char *owner = view_pod_owner(arena, pods[i]);
        if (view_selects(selector, pods[i]) && !is_own(arena, app, owner))
            return name_of(pods[i]);
    }
    return NULL;
}

const char *invariant_owner(struct arena *arena, const struct view *view, const struct app *app)
{
    static const char *const services[] = {"NAME", "NAME-primary", "NAME-canary"};
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        const char *name = user_name(arena, services[i], app->name);
        struct json_object *selector =
            json_at(view_get(view, &kube_services, name), "spec", "selector", NULL);
        const char *pod = selector ? stranger_of(arena, view, app, selector) : NULL;
        if (pod)
            return arena_printf(arena, "Service %s selects %s, a pod of another workload", name,
                                pod);
    }
    return NULL;
}

const char *invariant_emptied(struct arena *arena, const struct view *view, const char *service,
                              struct json_object *former)
{
    struct json_object *now =
        json_at(view_get(view, &kube_services, service), "spec", "selector", NULL);
    size_t had = view_pods(view, former, true);
    if (!now || had == 0 || view_pods(view, now, true) > 0)
        return NULL;
    return arena_printf(arena,
                        "Service %s was written, and selects no ready pod any more; by %s it had "
                        "%zu",
                        service, json_text(arena, former), had);
}

/* --- shares */

static struct json_object *backend(struct json_object *rule, size_t index)
{
    return json_elem(json_at(rule, "backendRefs", NULL), index);
}

static int64_t weight(struct json_object *rule, size_t index)
{
    return json_int_at(backend(rule, index), 1, "weight", NULL);
}

static size_t ready(const struct view *view, struct json_object *rule, size_t index)
{
    const char *name = json_str_at(backend(rule, index), "name", NULL);
    return name ? view_ready(view, name) : 0;
}

static size_t sides_of(struct json_object *rule)
{
    return json_len(json_at(rule, "backendRefs", NULL));
}

enum share invariant_share(const struct view *view, const struct app *app)
{
    struct json_object *rules =
        json_at(view_get(view, &user_routes, app->name), "spec", "rules", NULL);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_elem(rules, i);
        if (sides_of(rule) != 2)
            continue;
        size_t primary = ready(view, rule, 0), canary = ready(view, rule, 1);
        if (weight(rule, 1) > 0 && canary == 0 && primary > 0)
            return SHARE_OF_CANARY;
        if (weight(rule, 0) > 0 && primary == 0 && canary > 0 && weight(rule, 1) > 0)
            return SHARE_OF_PRIMARY;
    }
    return SHARE_SERVED;
}

/* The rule for all requests that no other one names. */
static struct json_object *rest_of(struct json_object *route)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_elem(rules, i);
        if (sides_of(rule) == 2 &&
            !json_at(json_elem(json_at(rule, "matches", NULL), 0), "headers", NULL))
            return rule;
    }
    return NULL;
}

/* That of the canary. */
static int share_of(struct json_object *rule)
{
    return weight_of_total(weight(rule, 1), weight(rule, 0) + weight(rule, 1));
}

const char *invariant_capacity(struct arena *arena, struct json_object *before,
                               struct json_object *now, const struct sides *sides, int64_t most)
{
    struct json_object *old = rest_of(before), *rule = rest_of(now);
    if (!old || !rule)
        return NULL;
    int share = share_of(rule), was = share_of(old);
    int64_t need = ((int64_t)sides->primary_least * share + WEIGHT_ALL - 1) / WEIGHT_ALL;
    if (most > 0 && need > most)
        need = most;
    if (share > was && (int64_t)sides->canary_most < need)
        return arena_printf(arena,
                            "the canary gets %s %% of the traffic with %zu ready pods, of %zu of "
                            "the primary that are %lld",
                            weight_text(arena, share), sides->canary_most, sides->primary_least,
                            (long long)need);
    if (share < was && sides->primary_most == 0 && sides->canary_least > 0)
        return arena_printf(arena, "the primary gets %s %% of the traffic without a ready pod",
                            weight_text(arena, WEIGHT_ALL - share));
    return NULL;
}

bool invariant_any_capacity(struct json_object *canary)
{
    return json_at(canary, "spec", "analysis", "capacity", NULL) ||
           json_at(canary, "status", "acceptedSpec", "analysis", "capacity", NULL) ||
           json_bool_at(canary, false, "spec", "skipAnalysis", NULL) ||
           json_bool_at(canary, false, "status", "acceptedSpec", "skipAnalysis", NULL);
}

bool invariant_is_by_controller(struct json_object *before, struct json_object *now)
{
    const char *writer = before ? view_writer(before, now) : NULL;
    return writer && strcmp(writer, CONTROLLER) == 0;
}

/* --- numbers */

/* The first autoscaler of the Deployment but `own`, which a Canary has made or names. */
static struct json_object *scaler_of(const struct view *view, const char *deployment,
                                     const char *own)
{
    size_t count;
    struct json_object *const *scalers = view_list(view, &kube_hpas, &count);
    for (size_t i = 0; i < count; i++) {
        const char *target = json_str_at(scalers[i], "spec", "scaleTargetRef", "name", NULL);
        if (target && strcmp(target, deployment) == 0 &&
            (!own || strcmp(name_of(scalers[i]), own) != 0))
            return scalers[i];
    }
    return NULL;
}

int64_t invariant_most(const struct view *view, const char *deployment)
{
    return json_int_at(scaler_of(view, deployment, NULL), 0, "spec", "maxReplicas", NULL);
}

const char *invariant_number(struct arena *arena, const struct view *view, const char *own,
                             struct json_object *before, struct json_object *now)
{
    const char *name = name_of(now), *writer = view_writer(before, now);
    int64_t from = json_int_at(before, 1, "spec", "replicas", NULL);
    int64_t to = json_int_at(now, 1, "spec", "replicas", NULL);
    /* to bring it up and to take it down is the Canary's */
    if (!before || from == to || from == 0 || to == 0 || !writer || strcmp(writer, CONTROLLER) != 0)
        return NULL;
    struct json_object *scaler = scaler_of(view, name, own);
    /* the least number of the scaler is raised for a release, and the number with it */
    if (!scaler || to == json_int_at(scaler, 1, "spec", "minReplicas", NULL))
        return NULL;
    return arena_printf(arena, "%s has %lld replicas in place of %lld, which autoscaler %s owns",
                        name, (long long)to, (long long)from, name_of(scaler));
}

/* --- what is told, and what is left */

const char *invariant_told(struct arena *arena, const struct warning *warning, int64_t now_ms)
{
    enum { WITHIN_MS = 20 * 1000 };
    for (size_t i = 0; warning && i < WARNING_KEPT; i++) {
        const struct told *told = &warning->told[i];
        if (told->count < TOLD_MAX || now_ms - told->at_ms[told->count % TOLD_MAX] > WITHIN_MS)
            continue;
        return arena_printf(arena, "told %d times within %d s: %s", TOLD_MAX, WITHIN_MS / 1000,
                            told->message);
    }
    return NULL;
}

static bool begins_and_ends(const char *name, const char *begin, const char *end)
{
    size_t len = strlen(name), head = strlen(begin), tail = strlen(end);
    return len > head + tail && strncmp(name, begin, head) == 0 &&
           strcmp(name + len - tail, end) == 0;
}

const char *invariant_copies(struct arena *arena, const struct view *view, const struct app *app)
{
    const char *primary = user_name(arena, "NAME-primary", app->name);
    const char *begin = user_name(arena, "NAME-settings-", app->name);
    const char *template = json_text(
        arena, json_at(view_get(view, &kube_deployments, primary), "spec", "template", NULL));
    size_t count;
    struct json_object *const *maps = view_list(view, &kube_configmaps, &count);
    for (size_t i = 0; i < count; i++) {
        const char *name = name_of(maps[i]);
        if (begins_and_ends(name, begin, "-primary") &&
            !strstr(template, arena_printf(arena, "\"%s\"", name)))
            return arena_printf(arena, "ConfigMap %s is a copy that nothing reads", name);
    }
    return NULL;
}
