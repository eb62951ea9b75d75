/*
 * AWS App Mesh v1beta1: a VirtualService that splits, and a VirtualNode for each side and for the
 * apex (router/OBJECTS.md). VirtualServices have the name of a Service in the DNS; `A-canary` leads
 * load tests to the canary.
 */
#include "router/router.h"
#include "router/shared/appmesh_nodes.h"
#include "tick/edit.h"
#include "tick/need.h"

#define RESOURCE(plural_, kind_)                                                                   \
    {                                                                                              \
        .group = "appmesh.k8s.aws", .version = "v1beta1", .plural = (plural_), .kind = (kind_),    \
        .meshed = true                                                                             \
    }
static const struct kube_resource nodes = RESOURCE("virtualnodes", "VirtualNode");
static const struct kube_resource services = RESOURCE("virtualservices", "VirtualService");

enum { NODES = 3 };

static const char *host(struct arena *arena, const struct canary *canary, const char *service)
{
    return arena_printf(arena, "%s.%s", service, canary->namespace_);
}

static const char *const *names(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource)
{
    const struct canary_service *service = &canary->service;
    const char **out = arena_array(arena, NODES + 1, sizeof *out);

    out[0] = service->name;
    out[1] = service->canary_name;
    out[2] = service->primary_name;
    out[NODES] = NULL;
    if (kube_resource_same(resource, &nodes))
        return out;
    out[0] = host(arena, canary, service->name);
    out[1] = host(arena, canary, service->canary_name);
    out[2] = NULL;
    return out;
}

/* --- format of this version */

static const struct split_format format = {.rules = {"spec", "routes"},
                                           .backends = {"http", "action", "weightedTargets"},
                                           .name = {"virtualNodeName"}};

static const struct split_format *appmesh_format(const struct canary *canary)
{
    (void)canary;
    return &format;
}

static void write_target(struct json_object *target, const char *node)
{
    json_set_str(target, "virtualNodeName", node);
}

static void write_backend(struct json_object *backend, const char *service)
{
    json_set_str(backend, "virtualServiceName", service);
}

static void write_retries(struct json_object *policy, int64_t timeout_ms, int64_t attempts)
{
    json_set_int(policy, "maxRetries", attempts);
    json_set_int(policy, "perRetryTimeoutMillis", timeout_ms);
}

static const struct appmesh words = {.format = &format,
                                     .route = "http",
                                     .hostname = "hostName",
                                     .target = write_target,
                                     .backend = write_backend,
                                     .retries = write_retries};

static const char *mesh_of(const struct canary *canary)
{
    return json_str_at(canary->service.json, "meshName", NULL);
}

static const char *check(struct arena *arena, const struct canary *canary)
{
    if (!mesh_of(canary) || !*mesh_of(canary))
        return "spec.service.meshName: expected the name of a mesh; appmesh:v1beta2 needs none";
    return appmesh_check(arena, canary);
}

/* Its routes have no timeout. */
static const char *ignored(struct arena *arena, const struct canary *canary)
{
    static const char *const keys[] = {"timeout", NULL};
    struct ignored list = {.arena = arena, .text = appmesh_ignored(arena, canary)};

    ignored_add(&list, canary->service.json, "spec.service", keys);
    return list.text;
}

/* --- VirtualNodes */

/* A node with the endpoints of `service`. */
static struct json_object *node(struct tick *tick, const char *service)
{
    const struct canary *canary = tick->canary;
    struct json_object *out =
        appmesh_node(tick, &words, canary->service.port, host(tick->arena, canary, service));

    json_set_str(json_sub(out, "spec"), "meshName", mesh_of(canary));
    return out;
}

/* A proxy does not start before its node is known, so nodes are created before the primary's pods.
 * The node of the apex has the primary's endpoints. */
static enum rule_result prepare(struct tick *tick)
{
    const char *const *name = names(tick->arena, tick->canary, &nodes);
    struct json_object *live[NODES];
    bool known = true;

    for (int i = 0; i < NODES; i++)
        known = need_object(tick, &nodes, tick->canary->namespace_, name[i], &live[i]) && known;
    if (!known)
        return RULE_NEEDS_FACTS;
    for (int i = 0; i < NODES; i++) {
        const char *service = i == 0 ? tick->canary->service.primary_name : name[i];
        route_beside(tick, &nodes, name[i], live[i], node(tick, service), true);
    }
    return RULE_CONTINUE;
}

/* --- VirtualServices */

/* `router`: name of the routes and their router. */
static struct json_object *service(struct tick *tick, const char *router,
                                   const struct weights *weights, const struct split *split)
{
    struct json_object *out = edit_object(tick->arena), *spec = json_sub(out, "spec");
    struct json_object *given = json_sub(spec, "virtualRouter");

    json_set_str(spec, "meshName", mesh_of(tick->canary));
    json_set_str(given, "name", router);
    json_set(given, "listeners", appmesh_listeners(tick, tick->canary->service.port));
    json_set(spec, "routes",
             appmesh_routes(tick, &words, router, weights, split, tick->canary->service.name));
    return out;
}

static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    (void)live;
    *out = service(tick, tick->canary->service.name, weights, split);
    appmesh_gateway(tick, *out);
    return RULE_CONTINUE;
}

/* To the node of the apex, which then has the endpoints of its Service. */
static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    const struct split none = {.split = NULL};

    (void)live;
    *out = service(tick, tick->canary->service.name, NULL, &none);
    appmesh_gateway(tick, *out);
    return RULE_CONTINUE;
}

static enum rule_result reconcile(struct tick *tick)
{
    const char *router = tick->canary->service.canary_name;
    const struct split_sides sides = {tick->canary->service.primary_name, router};
    const char *name = host(tick->arena, tick->canary, router);
    const struct weights all = {.canary = WEIGHT_ALL};
    struct json_object *live;

    if (!need_object(tick, &services, tick->canary->namespace_, name, &live))
        return RULE_NEEDS_FACTS;
    enum rule_result verdict = route_reconcile(tick);
    if (verdict != RULE_CONTINUE)
        return verdict;
    struct split split = split_find(&format, &sides, live);
    route_beside(tick, &services, name, live, service(tick, router, &all, &split), false);
    return RULE_CONTINUE;
}

/* --- deletion of a Canary */

static bool need_apex(struct tick *tick, struct json_object **live)
{
    return need_object(tick, &nodes, tick->canary->namespace_, tick->canary->service.name, live);
}

static enum rule_result revert(struct tick *tick, bool recreate)
{
    const char *name = tick->canary->service.name;
    struct json_object *live;

    if (!need_apex(tick, &live))
        return RULE_NEEDS_FACTS;
    route_leave(tick, &nodes, name, live, node(tick, name), recreate);
    return route_revert(tick, recreate);
}

static enum rule_result disown(struct tick *tick)
{
    struct json_object *live;

    if (!need_apex(tick, &live))
        return RULE_NEEDS_FACTS;
    route_let_go(tick, &nodes, live);
    return route_disown(tick);
}

static const struct route route = {.resource = &services,
                                   .format = appmesh_format,
                                   .wanted = wanted,
                                   .plain = plain,
                                   .bare = true};
static const char *const providers[] = {"appmesh", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &nodes, &services, NULL};

const struct router router_appmesh = {
    .providers = providers,
    .about = "AWS App Mesh v1beta1",
    .resources = resources,
    .names = names,
    .metric_family = "appmesh",
    .route = &route,
    .weighted = true,
    .matches = true,
    .check = check,
    .ignored = ignored,
    .prepare = prepare,
    .reconcile = reconcile,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = revert,
    .disown = disown,
};
