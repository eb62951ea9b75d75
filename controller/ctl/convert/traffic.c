/* The provider, the Service and the references of a Canary, from the traffic routing of a
 * Rollout. */
#include <string.h>

#include "ctl/convert/parts.h"

/* A router in Argo: its key in trafficRouting, or in the plugins there. */
struct routing {
    const char *key, *provider;
    bool plugin, splits, tests, mirrors;
    void (*convert)(struct rollout *r, struct json_object *routing, struct json_object *spec);
};

/* --- the routers */

static void set_ref(struct json_object *spec, const char *key, const char *version,
                    const char *kind, const char *name)
{
    struct json_object *ref = json_sub(spec, key);

    json_set_str(ref, "apiVersion", version);
    json_set_str(ref, "kind", kind);
    json_set_str(ref, "name", name);
}

/* The name, given as {key: {name}}, {keys: [{name}]} or {key: NAME}; NULL if there is none. */
static const char *named(struct json_object *routing, const char *key, const char *keys)
{
    struct json_object *one = json_at(routing, key, NULL), *list = json_at(routing, keys, NULL);
    const char *name = json_str_at(routing, key, NULL);

    if (!name)
        name = json_str_at(one ? one : json_elem(list, 0), "name", NULL);
    if (!name && json_object_is_type(json_elem(list, 0), json_type_string))
        name = json_object_get_string(json_elem(list, 0));
    return name && *name ? name : NULL;
}

static void only_first(struct rollout *r, struct json_object *routing, const char *path,
                       const char *keys)
{
    if (json_len(json_at(routing, keys, NULL)) > 1)
        conversion_lose(r->conversion, r->label, arena_printf(r->arena, "%s.%s", path, keys),
                        "a Canary has one route, the first: let the others lead to it, or to the "
                        "Service of spec.service");
}

/* True if there is a member other than these names, which are NULL-terminated. */
static bool has_others(struct json_object *object, const char *const *names)
{
    if (!json_object_is_type(object, json_type_object))
        return false;
    json_object_object_foreach(object, key, value)
    {
        const char *const *name = names;
        while (*name && strcmp(*name, key) != 0)
            name++;
        if (!*name && value)
            return true;
    }
    return false;
}

static void lose_rules(struct rollout *r, const char *kind, const char *name,
                       struct json_object *rules, const char *const *known)
{
    for (size_t i = 0; i < json_len(rules); i++)
        if (json_len(rules) > 1 || has_others(json_elem(rules, i), known)) {
            conversion_lose(r->conversion, r->label, arena_printf(r->arena, "%s %s", kind, name),
                            "its rules have more than backends (matches, rewrites, time-outs, "
                            "retries, headers): write into spec.service what is to hold for the "
                            "route that the Canary makes");
            return;
        }
}

static void convert_istio(struct rollout *r, struct json_object *routing, struct json_object *spec)
{
    static const char *const known[] = {"name", "route", NULL};
    const char *name = named(routing, "virtualService", "virtualServices");
    struct json_object *service = json_sub(spec, "service"), *found;

    only_first(r, routing, "spec.strategy.canary.trafficRouting.istio", "virtualServices");
    if (!name)
        return;
    found = conversion_find(r->conversion, "networking.istio.io", "VirtualService", r->namespace_,
                            name);
    if (!found) {
        conversion_lose(r->conversion, r->label,
                        "spec.strategy.canary.trafficRouting.istio.virtualService",
                        "VirtualService %s %s: write its hosts and gateways into spec.service of "
                        "the Canary",
                        name,
                        conversion_absent(r->conversion, "networking.istio.io", "VirtualService",
                                          r->namespace_, name));
        return;
    }
    if (json_len(json_at(found, "spec", "hosts", NULL)) > 0)
        json_set(service, "hosts", json_at(found, "spec", "hosts", NULL));
    if (json_len(json_at(found, "spec", "gateways", NULL)) > 0)
        json_set(service, "gateways", json_at(found, "spec", "gateways", NULL));
    if (json_at(service, "hosts", NULL))
        commented_add(r->arena, r->out, "spec.service.hosts",
                      "of VirtualService %s, which is no longer written: the controller makes one "
                      "of the Service's name",
                      name);
    lose_rules(r, "VirtualService", name, json_at(found, "spec", "http", NULL), known);
}

static void convert_nginx(struct rollout *r, struct json_object *routing, struct json_object *spec)
{
    const char *name = named(routing, "stableIngress", "stableIngresses");

    only_first(r, routing, "spec.strategy.canary.trafficRouting.nginx", "stableIngresses");
    set_ref(spec, "ingressRef", "networking.k8s.io/v1", "Ingress", name ? name : r->target);
    commented_add(r->arena, r->out, "spec.ingressRef",
                  "the Ingress stays yours and leads to the Service of spec.service; the "
                  "controller makes a copy of it, NAME-canary, with the weights");
}

static void convert_traefik(struct rollout *r, struct json_object *routing,
                            struct json_object *spec)
{
    const char *name = json_str_at(routing, "weightedTraefikServiceName", NULL);

    (void)spec;
    commented_add(r->arena, r->out, "spec.provider",
                  "the controller writes the TraefikService of the Service's name (spec.service), "
                  "in place of %s: lead the IngressRoute to it",
                  name ? name : "the one that was named");
}

static void convert_smi(struct rollout *r, struct json_object *routing, struct json_object *spec)
{
    (void)routing;
    (void)spec;
    commented_add(r->arena, r->out, "spec.provider",
                  "TrafficSplits of v1alpha1, as Argo's; with Linkerd or Open Service Mesh write "
                  "linkerd or osm, whose own measurements are known");
}

/* Removes the canary's Service from the backends. False if it is not among them. */
static bool drop_backend(const struct rollout *r, struct json_object *rule)
{
    struct json_object *backends = json_at(rule, "backends", NULL);

    for (size_t i = 0; i < json_len(backends); i++) {
        const char *name = json_str_at(json_elem(backends, i), "serviceName", NULL);
        if (name && strcmp(name, r->canary_service) == 0)
            return json_object_array_del_idx(backends, i, 1) == 0;
    }
    return false;
}

/* The ApisixRoute from the files with one backend in each rule. False if it need not be written. */
static bool write_apisix(struct rollout *r, const char *name)
{
    static const char group[] = "apisix.apache.org";
    struct json_object *found =
        conversion_find(r->conversion, group, "ApisixRoute", r->namespace_, name);
    bool changed = false;

    if (!found || !r->canary_service)
        return false;
    struct json_object *route = object_as_written(r->arena, found);
    struct json_object *rules = json_at(route, "spec", "http", NULL);
    for (size_t i = 0; i < json_len(rules); i++)
        changed = drop_backend(r, json_elem(rules, i)) || changed;
    if (changed)
        commented_add(r->arena, conversion_add(r->conversion, route), "spec.http",
                      "without %s, which Argo's controller gave its share: this one makes a copy "
                      "of the rule, with a higher priority and the weights",
                      r->canary_service);
    return changed;
}

static void convert_apisix(struct rollout *r, struct json_object *routing, struct json_object *spec)
{
    const char *name = json_str_at(routing, "route", "name", NULL);

    name = name ? name : r->target;
    set_ref(spec, "routeRef", "apisix.apache.org/v2", "ApisixRoute", name);
    r->source_route = "ApisixRoute";
    if (!write_apisix(r, name))
        commented_add(
            r->arena, r->out, "spec.routeRef",
            "let its rule lead to the Service of spec.service alone: the controller makes a "
            "copy with a higher priority, which has the weights");
}

static void convert_appmesh(struct rollout *r, struct json_object *routing,
                            struct json_object *spec)
{
    (void)routing;
    (void)spec;
    commented_add(r->arena, r->out, "spec.provider",
                  "the controller makes VirtualNodes, a VirtualRouter and a VirtualService of the "
                  "Service's name; those that were named are not written");
}

/* --- the Gateway API */

static const char *const parent_keys[] = {"group",     "kind",        "name",
                                          "namespace", "sectionName", "port"};

static void take_parents(struct json_object *service, struct json_object *route)
{
    struct json_object *parents = json_at(route, "spec", "parentRefs", NULL);
    struct json_object *refs = json_object_new_array();

    for (size_t i = 0; i < json_len(parents); i++) {
        struct json_object *parent = json_elem(parents, i), *ref = json_object_new_object();
        for (size_t k = 0; k < sizeof(parent_keys) / sizeof(parent_keys[0]); k++) {
            struct json_object *value = json_at(parent, parent_keys[k], NULL);
            if (value)
                json_set(ref, parent_keys[k], value);
        }
        json_object_array_add(refs, ref);
    }
    if (json_len(refs) > 0)
        json_set(service, "gatewayRefs", refs);
    json_object_put(refs);
    if (json_len(json_at(route, "spec", "hostnames", NULL)) > 0)
        json_set(service, "hosts", json_at(route, "spec", "hostnames", NULL));
}

static void convert_gateway(struct rollout *r, struct json_object *routing,
                            struct json_object *spec)
{
    static const char path[] =
        "spec.strategy.canary.trafficRouting.plugins.argoproj-labs/gatewayAPI";
    static const char *const known[] = {"name", "backendRefs", NULL};
    const char *name = named(routing, "httpRoute", "httpRoutes"), *kind = "HTTPRoute";
    struct json_object *service = json_sub(spec, "service"), *route = NULL, *ref, *refs;

    only_first(r, routing, path, "httpRoutes");
    if (!name) {
        name = named(routing, "grpcRoute", "grpcRoutes");
        only_first(r, routing, path, "grpcRoutes");
        if (name) {
            kind = "GRPCRoute";
            r->provider = "gatewayapi:v1:grpc";
        } else {
            conversion_lose(r->conversion, r->label, path,
                            "expected an HTTPRoute or a GRPCRoute: routes of TCP and TLS have no "
                            "counterpart");
        }
    }
    if (name)
        route =
            conversion_find(r->conversion, "gateway.networking.k8s.io", kind, r->namespace_, name);
    if (route) {
        take_parents(service, route);
        lose_rules(r, kind, name, json_at(route, "spec", "rules", NULL), known);
    }
    if (json_at(service, "gatewayRefs", NULL)) {
        commented_add(r->arena, r->out, "spec.service.gatewayRefs",
                      "of %s %s, which is no longer written unless it has the Service's name: the "
                      "controller makes one of that name",
                      kind, name);
        return;
    }
    ref = json_object_new_object();
    refs = json_own(r->arena, json_object_new_array());
    json_set_str(ref, "name", "gateway");
    json_object_array_add(refs, ref);
    json_set(service, "gatewayRefs", refs);
    commented_add(r->arena, r->out, "spec.service.gatewayRefs",
                  "CHANGE THIS: the route is not in the files, and its parents and hosts are not "
                  "known");
    conversion_lose(r->conversion, r->label, path,
                    "%s %s %s: write its parentRefs and hostnames into spec.service.gatewayRefs "
                    "and hosts of the Canary",
                    kind, name ? name : "of the plugin",
                    name ? conversion_absent(r->conversion, "gateway.networking.k8s.io", kind,
                                             r->namespace_, name)
                         : "is not in the files");
}

static const struct routing routings[] = {
    {"istio", "istio", false, true, true, true, convert_istio},
    {"nginx", "nginx", false, true, true, false, convert_nginx},
    {"traefik", "traefik", false, true, false, false, convert_traefik},
    {"smi", "smi:v1alpha1", false, true, false, false, convert_smi},
    {"apisix", "apisix", false, true, false, false, convert_apisix},
    {"appMesh", "appmesh:v1beta2", false, true, true, false, convert_appmesh},
    {"argoproj-labs/gatewayAPI", "gatewayapi:v1", true, true, true, true, convert_gateway},
    {"argoproj-labs/contour", "contour", true, true, true, false, NULL},
};

/* --- the Service */

static void name_service(struct rollout *r)
{
    struct json_object *routing = json_at(r->canary, "trafficRouting", NULL);
    const char *const names[] = {json_str_at(r->green, "activeService", NULL),
                                 json_str_at(routing, "smi", "rootService", NULL),
                                 json_str_at(routing, "alb", "rootService", NULL),
                                 json_str_at(r->canary, "stableService", NULL),
                                 json_str_at(r->canary, "pingPong", "pingService", NULL)};

    r->canary_service = json_str_at(r->green ? r->green : r->canary,
                                    r->green ? "previewService" : "canaryService", NULL);
    for (size_t i = 0; !r->service && i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i] && *names[i])
            r->service = names[i];
    r->managed = r->service != NULL;
}

static bool on_service(void *arg, struct json_object *object)
{
    struct rollout *r = arg;
    const char *name = json_str_at(object, "metadata", "name", NULL);

    if (!name || (r->canary_service && strcmp(name, r->canary_service) == 0) ||
        !workload_selected(r, json_at(object, "spec", "selector", NULL)))
        return false;
    r->service = name;
    return true;
}

/* The port of a container, by name or number; NULL if none is declared. */
static struct json_object *container_port(const struct rollout *r)
{
    struct json_object *containers = json_at(r->template, "spec", "containers", NULL);

    for (size_t i = 0; i < json_len(containers); i++) {
        struct json_object *port = json_elem(json_at(json_elem(containers, i), "ports", NULL), 0);
        int64_t number;
        if (json_str_at(port, "name", NULL))
            return json_at(port, "name", NULL);
        if (json_to_int(json_at(port, "containerPort", NULL), &number))
            return json_at(port, "containerPort", NULL);
    }
    return NULL;
}

static bool is_port(struct json_object *value)
{
    int64_t port;

    return json_to_int(value, &port) && port >= 1 && port <= 65535;
}

static void assume_port(struct rollout *r, struct json_object *service)
{
    struct json_object *port = container_port(r);

    json_set_int(service, "port", 80);
    if (port)
        json_set(service, "targetPort", port);
    commented_add(r->arena, r->out, "spec.service.port",
                  "CHANGE THIS if it is another one: %s, and its port is not known",
                  r->service ? arena_printf(r->arena, "Service %s is not in the files", r->service)
                             : "no Service of these pods is in the files");
}

struct container_port {
    int64_t number;
    const char *name; /* "" if none */
};

/* Calls each() with the ports of all containers until it returns true. */
static bool each_port(const struct rollout *r,
                      bool (*each)(void *arg, const struct container_port *port), void *arg)
{
    struct json_object *containers = json_at(r->template, "spec", "containers", NULL);

    for (size_t i = 0; i < json_len(containers); i++) {
        struct json_object *ports = json_at(json_elem(containers, i), "ports", NULL);
        for (size_t k = 0; k < json_len(ports); k++) {
            const char *name = json_str_at(json_elem(ports, k), "name", NULL);
            const struct container_port port = {
                .number = json_int_at(json_elem(ports, k), 0, "containerPort", NULL),
                .name = name ? name : ""};
            if (each(arg, &port))
                return true;
        }
    }
    return false;
}

/* True for a port of a Service that discovery adds anyway: with the same number on both sides. */
static bool is_discovered(void *arg, const struct container_port *port)
{
    struct json_object *of_service = arg, *target = json_at(of_service, "targetPort", NULL);
    const char *name =
        json_object_is_type(target, json_type_string) ? json_object_get_string(target) : NULL;
    int64_t number;

    if (json_int_at(of_service, 0, "port", NULL) != port->number)
        return false;
    return !target || (name && strcmp(name, port->name) == 0) ||
           (json_to_int(target, &number) && number == port->number);
}

/* True for a container port that has the first port's name but is not its target. */
static bool is_namesake(void *arg, const struct container_port *port)
{
    struct json_object *first = arg, *target = json_at(first, "targetPort", NULL);
    const char *name = json_str_at(first, "name", NULL);
    const char *target_name =
        json_object_is_type(target, json_type_string) ? json_object_get_string(target) : "";
    int64_t number = 0;

    if (!json_to_int(target ? target : json_at(first, "port", NULL), &number))
        number = 0;
    return strcmp(port->name, name ? name : "http") == 0 && strcmp(port->name, target_name) != 0 &&
           number != port->number;
}

static void take_further_ports(struct rollout *r, struct json_object *service,
                               struct json_object *ports)
{
    bool all = !each_port(r, is_namesake, json_elem(ports, 0));

    for (size_t i = 1; i < json_len(ports); i++)
        all = all && each_port(r, is_discovered, json_elem(ports, i));
    if (!all) {
        conversion_lose(r->conversion, r->label, arena_printf(r->arena, "Service %s", r->service),
                        "it has further ports that no container declares under the same number: "
                        "lead to them by a Service of another name that selects %s-primary",
                        r->target);
        return;
    }
    json_set_bool(service, "portDiscovery", true);
    commented_add(r->arena, r->out, "spec.service.portDiscovery",
                  "the Service has further ports: those that the containers declare are served "
                  "under the same number");
}

/* Takes the ports from an existing Service; the first is the route's. */
static void take_ports(struct rollout *r, struct json_object *service, struct json_object *found)
{
    struct json_object *ports = json_at(found, "spec", "ports", NULL);
    struct json_object *first = json_elem(ports, 0);
    const char *type = json_str_at(found, "spec", "type", NULL);
    const char *cluster_ip = json_str_at(found, "spec", "clusterIP", NULL);

    json_set(service, "port", json_at(first, "port", NULL));
    if (json_at(first, "targetPort", NULL))
        json_set(service, "targetPort", json_at(first, "targetPort", NULL));
    if (json_str_at(first, "name", NULL))
        json_set_str(service, "portName", json_str_at(first, "name", NULL));
    if (json_str_at(first, "appProtocol", NULL))
        json_set_str(service, "appProtocol", json_str_at(first, "appProtocol", NULL));
    if (cluster_ip && strcmp(cluster_ip, "None") == 0)
        json_set_bool(service, "headless", true);
    if (type && (strcmp(type, "LoadBalancer") == 0 || strcmp(type, "NodePort") == 0))
        commented_add(r->arena, r->out, "spec.service",
                      "the Service is of type %s, and stays so while it is there; where it is not, "
                      "apply it before the Canary",
                      type);
    if (json_len(ports) > 1)
        take_further_ports(r, service, ports);
}

static void convert_service(struct rollout *r, struct json_object *spec)
{
    struct json_object *service = json_sub(spec, "service"), *found = NULL;

    name_service(r);
    if (!r->service)
        (void)conversion_each(r->conversion, "", "Service", r->namespace_, on_service, r);
    if (r->service)
        found = conversion_find(r->conversion, "", "Service", r->namespace_, r->service);
    if (r->service && strcmp(r->service, r->target) != 0)
        json_set_str(service, "name", r->service);
    if (is_port(json_at(json_elem(json_at(found, "spec", "ports", NULL), 0), "port", NULL)))
        take_ports(r, service, found);
    else
        assume_port(r, service);
    if (r->service)
        commented_add(r->arena, r->out, "spec.service",
                      "Service %s is adopted: its selector and ports are the Canary's from now on, "
                      "so no other tool may apply them again. Clients go on using it; %s-primary "
                      "and %s-canary are made beside it",
                      r->service, r->service, r->service);
    if (r->canary_service)
        commented_add(r->arena, r->out, "spec.service",
                      "%s-canary takes the place of %s: use that name in load tests and previews",
                      r->service ? r->service : r->target, r->canary_service);
}

/* --- the provider */

static void without_routing(struct rollout *r, struct json_object *spec)
{
    json_set_str(spec, "provider", "kubernetes");
    if (r->green)
        return;
    commented_add(r->arena, r->out, "spec.provider",
                  "%s. Here the release is blue/green: the new version is checked beside the live "
                  "traffic, and no user meets it before its promotion. A mesh, an ingress "
                  "controller or the Gateway API as the provider brings the weights back",
                  json_at(r->canary, "trafficRouting", NULL)
                      ? "no provider here knows that traffic routing"
                      : "without traffic routing the weights were numbers of pods");
}

static struct json_object *routing_of(const struct rollout *r, const struct routing *routing)
{
    struct json_object *all = json_at(r->canary, "trafficRouting", NULL);

    return json_at(routing->plugin ? json_at(all, "plugins", NULL) : all, routing->key, NULL);
}

void traffic_convert(struct rollout *r)
{
    struct json_object *spec = json_sub(r->out->object, "spec");
    const struct routing *found = NULL;

    for (size_t i = 0; i < sizeof(routings) / sizeof(routings[0]); i++) {
        if (!routing_of(r, &routings[i]))
            continue;
        if (found)
            conversion_lose(r->conversion, r->label, "spec.strategy.canary.trafficRouting",
                            "a Canary has one provider, here %s, and no %s beside it",
                            found->provider, routings[i].key);
        else
            found = &routings[i];
    }
    json_set_str(spec, "provider", "");
    struct json_object *target = json_sub(spec, "targetRef");
    json_set_str(target, "apiVersion", "apps/v1");
    json_set_str(target, "kind", "Deployment");
    json_set_str(target, "name", r->target);
    convert_service(r, spec);
    if (!found) {
        r->provider = "kubernetes";
        without_routing(r, spec);
        return;
    }
    r->provider = found->provider;
    r->splits = found->splits;
    r->tests = found->tests;
    r->mirrors = found->mirrors;
    if (found->convert)
        found->convert(r, routing_of(r, found), spec);
    json_set_str(spec, "provider", r->provider);
}
