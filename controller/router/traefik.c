/*
 * Traefik: a TraefikService with weights, which the user's IngressRoute leads to
 * (router/OBJECTS.md).
 */
#include <string.h>

#include "router/router.h"
#include "router/shared/route.h"
#include "router/shared/route_refs.h"
#include "tick/edit.h"

/* The name of its group before Traefik 2.10. */
static const struct kube_version also[] = {{"traefik.containo.us", "v1alpha1"}, {NULL, NULL}};
static const struct kube_resource traefik_services = {.group = "traefik.io",
                                                      .version = "v1alpha1",
                                                      .plural = "traefikservices",
                                                      .kind = "TraefikService",
                                                      .also = also,
                                                      .meshed = true};

/* Traefik's default weight is 1. A canary without a share is omitted, as in Flagger. */
static const struct split_format *traefik_format(const struct canary *canary)
{
    static const struct split_format format = {.rules = {"spec", "weighted"},
                                               .backends = {"services"},
                                               .name = {"name"},
                                               .missing = 1,
                                               .may_leave_out = true};

    (void)canary;
    return &format;
}

/* (Flagger omits a weight of 0, which Traefik reads as 1.) */
static void add_service(struct tick *tick, struct json_object *services, const char *name,
                        int weight, struct json_object *live)
{
    struct json_object *service = edit_object(tick->arena);

    json_set_str(service, "name", name);
    json_set_str(service, "namespace", tick->canary->namespace_);
    json_set_int(service, "port", tick_route_port(tick));
    json_set_int(service, "weight", weight);
    json_set(service, "kind", NULL);
    edit_pair(service, live);
    edit_add(services, service);
}

static struct json_object *with_services(struct tick *tick, struct json_object *services)
{
    struct json_object *out = route_metadata(tick);
    struct json_object *spec = json_sub(out, "spec");

    json_set(json_sub(spec, "weighted"), "services", services);
    json_set(spec, "mirroring", NULL); /* not allowed together with weights */
    return out;
}

static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *services = edit_array(tick->arena);

    (void)live;
    add_service(tick, services, service->primary_name, weight_relative(weights->primary),
                split->primary);
    if (weights->canary > 0)
        add_service(tick, services, service->canary_name, weight_relative(weights->canary),
                    split->canary);
    *out = with_services(tick, services);
    return RULE_CONTINUE;
}

static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    struct json_object *services = edit_array(tick->arena);

    (void)live;
    add_service(tick, services, tick->canary->service.name, 100, NULL);
    *out = with_services(tick, services);
    return RULE_CONTINUE;
}

static const struct route route = {
    .resource = &traefik_services, .format = traefik_format, .wanted = wanted, .plain = plain};
static const char *const providers[] = {"traefik", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &traefik_services, NULL};

/* --- routes of the user */

#define TRAEFIK_ROUTE(names, of)                                                                   \
    {                                                                                              \
        .group = "traefik.io", .version = "v1alpha1", .plural = (names), .kind = (of),             \
        .also = also, .meshed = true                                                               \
    }

static const struct kube_resource ingress_routes = TRAEFIK_ROUTE("ingressroutes", "IngressRoute");
static const struct kube_resource tcp_routes = TRAEFIK_ROUTE("ingressroutetcps", "IngressRouteTCP");

/* A service without a kind is a Service; without a namespace it is in the route's. */
static const char *ref_service(struct arena *arena, const struct canary *canary,
                               struct json_object *backend)
{
    const char *kind = json_str_at(backend, "kind", NULL);
    const char *namespace_ = json_str_at(backend, "namespace", NULL);

    (void)arena;
    if ((kind && *kind && strcmp(kind, "Service") != 0) ||
        (namespace_ && *namespace_ && strcmp(namespace_, canary->namespace_) != 0))
        return NULL;
    return json_str_at(backend, "name", NULL);
}

#define REF_ROUTES(of)                                                                             \
    {                                                                                              \
        .resource = (of), .rules = "routes", .backends = "services", .missing = 1,                 \
        .unnamed = true, .service = ref_service                                                    \
    }

static const struct route_refs_kind ref_http = REF_ROUTES(&ingress_routes),
                                    ref_tcp = REF_ROUTES(&tcp_routes);
static const struct route_refs_kind ref_services = {.resource = &traefik_services,
                                                    .rules = "weighted",
                                                    .backends = "services",
                                                    .missing = 1,
                                                    .single = true,
                                                    .service = ref_service};
static const struct route_refs_kind *const ref_kinds[] = {&ref_http, &ref_tcp, &ref_services, NULL};
static const struct kube_resource *const ref_resources[] = {&kube_services, &ingress_routes,
                                                            &tcp_routes, &traefik_services, NULL};
static const struct router refs;

static const char *refs_check(struct arena *arena, const struct canary *canary)
{
    return route_refs_check(arena, canary, &refs);
}

static const struct router refs = {
    .providers = providers,
    .about = "Traefik, routes of the user",
    .resources = ref_resources,
    .ref_kinds = ref_kinds,
    .metric_family = "traefik",
    .check = refs_check,
    ROUTE_REFS_ROUTER,
};

/* Through IngressRoutes, in any namespace. */
static bool led_to(struct json_object *object)
{
    (void)object;
    return true;
}

const struct router router_traefik = {
    .refs = &refs,
    .led_to = led_to,
    .providers = providers,
    .about = "Traefik, TraefikService",
    .resources = resources,
    .metric_family = "traefik",
    .route = &route,
    .weighted = true,
    .finest = 1,
    .check = route_check,
    .ignored = ignored_but_weights,
    .reconcile = route_reconcile,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = route_revert,
    .disown = route_disown,
};
