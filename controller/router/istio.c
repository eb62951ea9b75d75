/*
 * Istio: a VirtualService of the apex Service's name, and a DestinationRule for each side
 * (router/OBJECTS.md).
 */
#include <string.h>

#include "router/common_ignored.h"
#include "router/common_istio.h"
#include "tick/edit.h"

/* All have one schema; the newest is asked for first. A table each: a cluster may serve them
 * differently. */
#define ALSO                                                                                       \
    {                                                                                              \
        {"networking.istio.io", "v1beta1"}, {"networking.istio.io", "v1alpha3"},                   \
        {                                                                                          \
            NULL, NULL                                                                             \
        }                                                                                          \
    }
static const struct kube_version also_virtual[] = ALSO, also_rules[] = ALSO;
static const struct kube_resource virtual_services = {.group = "networking.istio.io",
                                                      .version = "v1",
                                                      .plural = "virtualservices",
                                                      .kind = "VirtualService",
                                                      .also = also_virtual,
                                                      .meshed = true};
static const struct kube_resource destination_rules = {.group = "networking.istio.io",
                                                       .version = "v1",
                                                       .plural = "destinationrules",
                                                       .kind = "DestinationRule",
                                                       .also = also_rules,
                                                       .meshed = true};

static const char *const *istio_names(struct arena *arena, const struct canary *canary,
                                      const struct kube_resource *resource)
{
    const char **names = arena_array(arena, 3, sizeof *names);
    bool sides = kube_resource_same(resource, &destination_rules);

    names[0] = sides ? canary->service.canary_name : canary->service.name;
    names[1] = sides ? canary->service.primary_name : NULL;
    names[2] = NULL;
    return names;
}

/* --- what a spec may ask */

static bool delegates(const struct canary *canary)
{
    return json_bool_at(canary->service.json, false, "delegation", NULL);
}

static const char *check_tcp(struct arena *arena, const struct canary *canary)
{
    static const char why[] = "is not possible for a TCP service, which has no requests";

    if (canary->analysis.match)
        return arena_printf(arena, "spec.analysis.match: A/B testing %s", why);
    if (canary->analysis.mirror)
        return arena_printf(arena, "spec.analysis.mirror: mirroring %s", why);
    if (canary->analysis.affinity.cookie_name)
        return arena_printf(arena, "spec.analysis.sessionAffinity: %s", why);
    return NULL;
}

static const char *istio_check(struct arena *arena, const struct canary *canary)
{
    const char *why = route_check(arena, canary);

    if (why)
        return why;
    if (delegates(canary) && (json_len(canary->service.hosts) > 0 ||
                              json_len(json_at(canary->service.json, "gateways", NULL)) > 0))
        return "spec.service.delegation: a VirtualService that others delegate to has no hosts and "
               "no gateways of its own; leave those out";
    return istio_is_tcp(canary) ? check_tcp(arena, canary) : istio_match_mistake(arena, canary);
}

static const char *istio_ignored(struct arena *arena, const struct canary *canary)
{
    static const char *const http[] = {"backendTimeout", "mirror", NULL};
    static const char *const tcp[] = {"backendTimeout", "mirror",  "rewrite",    "timeout",
                                      "retries",        "headers", "corsPolicy", NULL};

    static const char *const of_match[] = {
        "uri",      "method",       "authority",       "scheme",
        "headers",  "queryParams",  "withoutHeaders",  "ignoreUriCase",
        "gateways", "sourceLabels", "sourceNamespace", NULL};
    static const char *const rewrite[] = {"type", NULL};
    bool is_tcp = istio_is_tcp(canary);
    struct ignored list = {
        .arena = arena,
        .text = ignored_of_service(arena, canary, is_tcp ? tcp : http, is_tcp ? of_match : NULL)};

    if (!is_tcp)
        ignored_add(&list, json_at(canary->service.json, "rewrite", NULL), "spec.service.rewrite",
                    rewrite);
    return list.text;
}

/* --- VirtualService */

static struct json_object *hosts(struct tick *tick)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_array(tick->arena);
    bool has_own = false;

    for (size_t i = 0; i < json_len(service->hosts); i++) {
        const char *host = json_object_get_string(json_elem(service->hosts, i));
        has_own = has_own || strcmp(host, service->name) == 0 || strcmp(host, "*") == 0;
        edit_add(out, json_elem(service->hosts, i));
    }
    if (!has_own)
        edit_add(out, json_own(tick->arena, json_object_new_string(service->name)));
    return out;
}

static struct json_object *gateways(struct tick *tick)
{
    struct json_object *given = json_at(tick->canary->service.json, "gateways", NULL);
    struct json_object *out = edit_array(tick->arena);

    if (json_len(given) > 0)
        return given;
    edit_add(out, json_own(tick->arena, json_object_new_string("mesh")));
    return out;
}

static struct json_object *frame(struct tick *tick)
{
    struct json_object *out = route_metadata(tick);
    struct json_object *spec = json_sub(out, "spec");
    bool part = delegates(tick->canary);

    json_set(spec, "hosts", part ? edit_array(tick->arena) : hosts(tick));
    json_set(spec, "gateways", part ? NULL : gateways(tick));
    return out;
}

static enum verdict wanted(struct tick *tick, const struct weights *weights,
                           const struct split *split, struct json_object *live,
                           struct json_object **out)
{
    *out = frame(tick);
    istio_wanted_rules(tick, weights, split, live, json_sub(*out, "spec"));
    return VERDICT_GO;
}

static enum verdict plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    const struct split none = {.split = NULL};

    *out = frame(tick);
    istio_wanted_rules(tick, NULL, &none, live, json_sub(*out, "spec"));
    return VERDICT_GO;
}

static const struct route route = {.resource = &virtual_services,
                                   .format = istio_format,
                                   .read = istio_read,
                                   .wanted = wanted,
                                   .plain = plain};

/* --- DestinationRules */

/* The policy is ours as a whole, and also that there is none; subsets are others'. */
static void reconcile_rule(struct tick *tick, const char *name, struct json_object *live)
{
    struct json_object *policy = json_at(tick->canary->service.json, "trafficPolicy", NULL);
    struct json_object *wanted = edit_object(tick->arena);
    struct json_object *spec = json_sub(wanted, "spec");

    json_set_str(spec, "host", name);
    json_set(spec, "trafficPolicy",
             route_whole(tick->arena, policy, json_at(live, "spec", "trafficPolicy", NULL)));
    route_beside(tick, &destination_rules, name, live, wanted, false);
}

/* Before the VirtualService, which leads to them. */
static enum verdict istio_reconcile(struct tick *tick)
{
    const char *const *names = istio_names(tick->arena, tick->canary, &destination_rules);
    const char *namespace_ = tick->canary->namespace_;
    struct json_object *live[2];
    bool known = true;

    for (int i = 0; i < 2; i++)
        known = need_object(tick, &destination_rules, namespace_, names[i], &live[i]) && known;
    if (!known)
        return VERDICT_NEED_FACTS;
    for (int i = 0; i < 2; i++)
        reconcile_rule(tick, names[i], live[i]);
    return route_reconcile(tick);
}

/* A VirtualService for every match, or for these. */
static void add_claims(struct arena *arena, struct json_object *claims, const char *where,
                       struct json_object *rules)
{
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *match = json_at(json_elem(rules, i), "match", NULL);
        json_object_array_add(
            claims, json_object_new_string(arena_printf(
                        arena, "%s, %s", where,
                        json_len(match) > 0 ? json_text_sorted(arena, match) : "every path")));
    }
}

static struct json_object *istio_claims(struct arena *arena, struct json_object *service)
{
    struct json_object *claims = edit_array(arena);
    struct json_object *hosts = json_at(service, "spec", "hosts", NULL);
    struct json_object *gateways = json_at(service, "spec", "gateways", NULL);
    size_t n = json_len(gateways);

    for (size_t i = 0; i < json_len(hosts); i++) {
        for (size_t k = 0; k < (n > 0 ? n : 1); k++) {
            const char *gateway = n > 0 ? json_object_get_string(json_elem(gateways, k)) : "mesh";
            add_claims(arena, claims,
                       arena_printf(arena, "gateway %s, host %s", gateway,
                                    json_object_get_string(json_elem(hosts, i))),
                       json_at(service, "spec", "http", NULL));
        }
    }
    return claims;
}

static const char *const providers[] = {"istio", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &destination_rules,
                                                        &virtual_services, NULL};

const struct router router_istio = {
    .providers = providers,
    .about = "Istio, VirtualService and DestinationRule",
    .resources = resources,
    .names = istio_names,
    .metric_family = "istio",
    .route = &route,
    .weighted = true,
    .matches = true,
    .mirrors = true,
    .session_affinity = true,
    .check = istio_check,
    .ignored = istio_ignored,
    .claims = istio_claims,
    .reconcile = istio_reconcile,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = route_revert,
    .disown = route_disown,
};
