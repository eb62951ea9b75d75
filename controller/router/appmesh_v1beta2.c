/*
 * AWS App Mesh v1beta2: a VirtualRouter that splits, the VirtualService that clients in the mesh
 * call, and a VirtualNode for each side (router/OBJECTS.md). Router and service `A-canary` lead
 * load tests to the canary.
 */
#include <string.h>

#include "router/shared/appmesh_nodes.h"
#include "tick/edit.h"
#include "tick/need.h"

#define RESOURCE(plural_, kind_)                                                                   \
    {                                                                                              \
        .group = "appmesh.k8s.aws", .version = "v1beta2", .plural = (plural_), .kind = (kind_),    \
        .meshed = true                                                                             \
    }
static const struct kube_resource nodes = RESOURCE("virtualnodes", "VirtualNode");
static const struct kube_resource routers = RESOURCE("virtualrouters", "VirtualRouter");
static const struct kube_resource services = RESOURCE("virtualservices", "VirtualService");

static const char *const *names(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource)
{
    const char **out = arena_array(arena, 3, sizeof *out);
    bool sides = kube_resource_same(resource, &nodes);

    out[0] = sides ? canary->service.primary_name : canary->service.name;
    out[1] = canary->service.canary_name;
    out[2] = NULL;
    return out;
}

/* --- format of this version */

static const struct split_format format = {.rules = {"spec", "routes"},
                                           .backends = {"httpRoute", "action", "weightedTargets"},
                                           .name = {"virtualNodeRef", "name"}};

static const struct split_format *appmesh_format(const struct canary *canary)
{
    (void)canary;
    return &format;
}

static void write_target(struct json_object *target, const char *node)
{
    json_set_str(json_sub(target, "virtualNodeRef"), "name", node);
}

static void write_backend(struct json_object *backend, const char *service)
{
    if (strncmp(service, "arn:aws", strlen("arn:aws")) == 0)
        json_set_str(backend, "virtualServiceARN", service);
    else
        json_set_str(json_sub(backend, "virtualServiceRef"), "name", service);
}

static void write_retries(struct json_object *policy, int64_t timeout_ms, int64_t attempts)
{
    json_set_int(policy, "maxRetries", attempts);
    json_set_str(json_sub(policy, "perRetryTimeout"), "unit", "ms");
    json_set_int(json_sub(policy, "perRetryTimeout"), "value", timeout_ms);
}

static const struct appmesh words = {.format = &format,
                                     .route = "httpRoute",
                                     .hostname = "hostname",
                                     .target = write_target,
                                     .backend = write_backend,
                                     .retries = write_retries,
                                     .times_out = true};

/* Port of the pods. */
static int64_t port_of(const struct canary *canary)
{
    int64_t port;

    return json_to_int(canary->service.target_port, &port) && port > 0 ? port
                                                                       : canary->service.port;
}

/* --- VirtualNodes */

static const char *hostname(struct tick *tick, const char *service)
{
    return arena_printf(tick->arena, "%s.%s.svc.cluster.local.", service, tick->canary->namespace_);
}

/* A node with the endpoints of `service`; its members are the pods that `selector` selects. */
static struct json_object *node(struct tick *tick, const char *service,
                                struct json_object *selector)
{
    struct json_object *out =
        appmesh_node(tick, &words, port_of(tick->canary), hostname(tick, service));
    struct json_object *spec = json_sub(out, "spec"), *timeout = appmesh_timeout(tick);

    if (selector)
        json_set(json_sub(spec, "podSelector"), "matchLabels", selector);
    if (timeout)
        json_set(
            json_sub(json_sub(json_elem(json_at(spec, "listeners", NULL), 0), "timeout"), "http"),
            "perRequest", timeout);
    return out;
}

/* A proxy is injected only into a pod that a node selects, so nodes are created before the
 * primary's pods. */
static enum rule_result prepare(struct tick *tick)
{
    const char *const *sides = names(tick->arena, tick->canary, &nodes);
    const char *namespace_ = tick->canary->namespace_;
    struct json_object *live[2], *selectors[2];
    bool known = true;

    for (int i = 0; i < 2; i++) {
        known = need_object(tick, &nodes, namespace_, sides[i], &live[i]) && known;
        known = route_selector(tick, sides[i], &selectors[i]) && known;
    }
    if (!known)
        return RULE_NEEDS_FACTS;
    for (int i = 0; i < 2; i++)
        route_beside(tick, &nodes, sides[i], live[i], node(tick, sides[i], selectors[i]), true);
    return RULE_CONTINUE;
}

/* --- VirtualRouters and VirtualServices */

static struct json_object *router(struct tick *tick, const char *name,
                                  const struct weights *weights, const struct split *split)
{
    struct json_object *out = edit_object(tick->arena), *spec = json_sub(out, "spec");

    json_set(spec, "listeners", appmesh_listeners(tick, port_of(tick->canary)));
    json_set(spec, "routes",
             appmesh_routes(tick, &words, name, weights, split, tick->canary->service.canary_name));
    return out;
}

static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    (void)live;
    *out = router(tick, tick->canary->service.name, weights, split);
    return RULE_CONTINUE;
}

/* To the node of the canary, which then has the endpoints of the apex Service: its pods are members
 * of that node, and would lose their proxies' configuration with it. */
static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    const struct split none = {.split = NULL};

    (void)live;
    *out = router(tick, tick->canary->service.name, NULL, &none);
    return RULE_CONTINUE;
}

static struct json_object *service(struct tick *tick, const char *name)
{
    struct json_object *out = edit_object(tick->arena);
    struct json_object *provider = json_sub(json_sub(out, "spec"), "provider");

    json_set_str(json_sub(json_sub(provider, "virtualRouter"), "virtualRouterRef"), "name", name);
    if (strcmp(name, tick->canary->service.name) == 0)
        appmesh_gateway(tick, out);
    return out;
}

/* The objects of the mesh except nodes. */
struct live {
    struct json_object *router; /* router of the canary */
    struct json_object *services[2];
};

static bool need_live(struct tick *tick, struct live *live)
{
    const char *const *both = names(tick->arena, tick->canary, &services);
    const char *namespace_ = tick->canary->namespace_;
    bool known = need_object(tick, &routers, namespace_, both[1], &live->router);

    for (int i = 0; i < 2; i++)
        known = need_object(tick, &services, namespace_, both[i], &live->services[i]) && known;
    return known;
}

static enum rule_result reconcile(struct tick *tick)
{
    const struct weights all = {.canary = WEIGHT_ALL};
    const struct split_sides sides = {tick->canary->service.primary_name,
                                      tick->canary->service.canary_name};
    const char *const *both = names(tick->arena, tick->canary, &services);
    struct live live;

    if (!need_live(tick, &live))
        return RULE_NEEDS_FACTS;
    enum rule_result verdict = route_reconcile(tick);
    if (verdict != RULE_CONTINUE)
        return verdict;
    struct split split = split_find(&format, &sides, live.router);
    route_beside(tick, &routers, both[1], live.router, router(tick, both[1], &all, &split), false);
    for (int i = 0; i < 2; i++)
        route_beside(tick, &services, both[i], live.services[i], service(tick, both[i]), false);
    return RULE_CONTINUE;
}

/* --- deletion of a Canary */

static enum rule_result revert(struct tick *tick, bool recreate)
{
    const struct canary_service *named = &tick->canary->service;
    struct json_object *live, *found, *selector;
    bool known = need_object(tick, &nodes, tick->canary->namespace_, named->canary_name, &live);

    known = need_object(tick, &services, tick->canary->namespace_, named->name, &found) && known;
    known = route_selector(tick, named->canary_name, &selector) && known;
    if (!known)
        return RULE_NEEDS_FACTS;
    if (!selector)
        selector = json_at(live, "spec", "podSelector", "matchLabels", NULL);
    route_leave(tick, &nodes, named->canary_name, live, node(tick, named->name, selector),
                recreate);
    route_leave(tick, &services, named->name, found, service(tick, named->name), recreate);
    return route_revert(tick, recreate);
}

static enum rule_result disown(struct tick *tick)
{
    const struct canary_service *named = &tick->canary->service;
    struct json_object *live, *found;
    bool known = need_object(tick, &nodes, tick->canary->namespace_, named->canary_name, &live);

    known = need_object(tick, &services, tick->canary->namespace_, named->name, &found) && known;
    if (!known)
        return RULE_NEEDS_FACTS;
    route_let_go(tick, &nodes, live);
    route_let_go(tick, &services, found);
    return route_disown(tick);
}

static const struct route route = {
    .resource = &routers, .format = appmesh_format, .wanted = wanted, .plain = plain, .bare = true};
static const char *const providers[] = {"appmesh:v1beta2", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &nodes, &routers, &services,
                                                        NULL};

const struct router router_appmesh_v1beta2 = {
    .providers = providers,
    .about = "AWS App Mesh v1beta2",
    .resources = resources,
    .names = names,
    .metric_family = "appmesh",
    .route = &route,
    .weighted = true,
    .matches = true,
    .check = appmesh_check,
    .ignored = appmesh_ignored,
    .prepare = prepare,
    .reconcile = reconcile,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = revert,
    .disown = disown,
};
