/*
 * AWS App Mesh (router/OBJECTS.md), in two API versions with the same content in different formats.
 * Names that end in _v1 belong to v1beta1, names in _v2 to v1beta2, and all others to both.
 *
 *   v1beta1  a VirtualService that splits, and a VirtualNode for each side and for the apex.
 *            VirtualServices have the DNS name of a Service; `A-canary` leads load tests to the
 *            canary.
 *   v1beta2  a VirtualRouter that splits, the VirtualService that clients in the mesh call, and a
 *            VirtualNode for each side. Router and service `A-canary` lead load tests to the
 *            canary.
 */
#include <string.h>

#include "base/clock.h"
#include "router/router.h"
#include "router/shared/route.h"
#include "tick/edit.h"
#include "tick/need.h"

/* The format of a version. */
struct appmesh {
    const struct split_format *format;
    const char *route;    /* key of a route for HTTP */
    const char *hostname; /* key of a node's DNS name */
    /* Each writes one thing: the node into a weighted target; a called service into a backend; the
     * retries of spec.service into a route. */
    void (*target)(struct json_object *target, const char *node);
    void (*backend)(struct json_object *backend, const char *service);
    void (*retries)(struct json_object *policy, int64_t timeout_ms, int64_t attempts);
    bool times_out; /* routes support a timeout */
};

#define ACCESS_LOG "appmesh.flagger.app/accesslog"
enum { MAX_HEADERS = 10, TRY_MS = 250, FIRST = 10, SECOND = 20 };

/* --- checks of a spec */

static const char *duration_mistake(struct arena *arena, const char *text, const char *at)
{
    struct errinfo ei;
    int64_t ms;

    if (!text || !*text || duration_parse_ms(text, &ms, &ei) == ERR_OK)
        return NULL;
    return arena_printf(arena, "%s: %s", at, ei.text);
}

/* The next word between commas and blanks; NULL after the last one. */
static const char *next_event(struct arena *arena, const char **text)
{
    *text += strspn(*text, ", ");
    size_t len = strcspn(*text, ", ");
    const char *word = len > 0 ? arena_strndup(arena, *text, len) : NULL;

    *text += len;
    return word;
}

/* Other events are Envoy's; the API server would reject the route. */
static const char *events_mistake(struct arena *arena, const char *text)
{
    static const char *const known[] = {"server-error", "gateway-error", "client-error",
                                        "stream-error"};
    const char *word;

    while (text && (word = next_event(arena, &text))) {
        size_t i = 0;
        while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i], word) != 0)
            i++;
        if (i == sizeof(known) / sizeof(known[0]))
            return arena_printf(arena,
                                "spec.service.retries.retryOn: App Mesh knows server-error, "
                                "gateway-error, client-error and stream-error, found \"%.80s\"",
                                word);
    }
    return NULL;
}

/* NULL, or what is wrong with a spec. */
static const char *appmesh_check(struct arena *arena, const struct canary *canary)
{
    static const char *const ways[] = {"exact", "prefix", "suffix", "regex", NULL};
    struct json_object *service = canary->service.json;

    if (canary->service.port <= 0)
        return "spec.service.port: expected a port number";
    const char *why =
        duration_mistake(arena, json_str_at(service, "timeout", NULL), "spec.service.timeout");
    if (!why)
        why = duration_mistake(arena, json_str_at(service, "retries", "perTryTimeout", NULL),
                               "spec.service.retries.perTryTimeout");
    if (!why)
        why = events_mistake(arena, json_str_at(service, "retries", "retryOn", NULL));
    return why ? why : headers_mistake(arena, canary, "App Mesh", ways, MAX_HEADERS);
}

/* Only the prefix of the first element of `match` is used. */
static const char *appmesh_ignored(struct arena *arena, const struct canary *canary)
{
    static const char *const keys[] = {"rewrite", "backendTimeout", "headers", "corsPolicy",
                                       "mirror",  "trafficPolicy",  NULL};
    static const char *const of_match[] = {
        "headers",   "withoutHeaders", "queryParams",     "method",
        "authority", "scheme",         "ignoreUriCase",   "port",
        "gateways",  "sourceLabels",   "sourceNamespace", NULL};
    static const char *const of_uri[] = {"exact", "regex", NULL};
    struct json_object *match = json_at(canary->service.json, "match", NULL);
    struct ignored list = {.arena = arena,
                           .text = ignored_of_service(arena, canary, keys, of_match)};

    ignored_add(&list, json_at(json_elem(match, 0), "uri", NULL), "spec.service.match[0].uri",
                of_uri);
    for (size_t i = 1; i < json_len(match); i++) {
        static const char *const uri[] = {"uri", NULL};
        ignored_add(&list, json_elem(match, i), arena_printf(arena, "spec.service.match[%zu]", i),
                    uri);
    }
    return list.text;
}

static int64_t ms_of(const char *text, int64_t missing)
{
    struct errinfo ei;
    int64_t ms;

    return text && *text && duration_parse_ms(text, &ms, &ei) == ERR_OK ? ms : missing;
}

/* --- nodes */

/* {unit: ms, value}, or NULL if there is no spec.service.timeout. */
static struct json_object *appmesh_timeout(struct tick *tick)
{
    int64_t ms = ms_of(json_str_at(tick->canary->service.json, "timeout", NULL), -1);
    struct json_object *out = edit_object(tick->arena);

    if (ms < 0)
        return NULL;
    json_set_str(out, "unit", "ms");
    json_set_int(out, "value", ms);
    return out;
}

/* [{portMapping}] */
static struct json_object *appmesh_listeners(struct tick *tick, int64_t port)
{
    struct json_object *out = edit_array(tick->arena), *listener = edit_object(tick->arena);
    struct json_object *mapping = json_sub(listener, "portMapping");
    bool grpc = strstr(tick->canary->service.port_name, "grpc");

    json_set_int(mapping, "port", port);
    json_set_str(mapping, "protocol", grpc ? "grpc" : "http");
    edit_add(out, listener);
    return out;
}

static struct json_object *backends(struct tick *tick, const struct appmesh *words)
{
    struct json_object *given = json_at(tick->canary->service.json, "backends", NULL);
    struct json_object *out = edit_array(tick->arena);

    for (size_t i = 0; i < json_len(given); i++) {
        struct json_object *backend = edit_object(tick->arena);
        words->backend(json_sub(backend, "virtualService"),
                       json_object_get_string(json_elem(given, i)));
        edit_add(out, backend);
    }
    return out;
}

/*
 * The node of a side: metadata, listeners, DNS name, called services, access log. The caller may
 * edit the listener that it passes.
 */
static struct json_object *appmesh_node(struct tick *tick, const struct appmesh *words,
                                        int64_t port, const char *hostname)
{
    const char *log = json_str_at(tick->canary->json, "metadata", "annotations", ACCESS_LOG, NULL);
    struct json_object *out = route_metadata(tick), *spec = json_sub(out, "spec");
    struct json_object *called = backends(tick, words);

    json_set(spec, "listeners", appmesh_listeners(tick, port));
    json_set_str(json_sub(json_sub(spec, "serviceDiscovery"), "dns"), words->hostname, hostname);
    if (json_len(called) > 0)
        json_set(spec, "backends", called);
    if (log && strcmp(log, "enabled") == 0)
        json_set_str(json_sub(json_sub(json_sub(spec, "logging"), "accessLog"), "file"), "path",
                     "/dev/stdout");
    return out;
}

/* --- routes */

static struct json_object *target(struct tick *tick, const struct appmesh *words,
                                  struct json_object *live, const char *node, int weight)
{
    struct json_object *out = edit_object(tick->arena);

    words->target(out, node);
    json_set_int(out, "weight", weight);
    edit_pair(out, split_backend(words->format, live, node));
    return out;
}

static struct json_object *targets(struct tick *tick, const struct appmesh *words,
                                   const struct route_rule *rule)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_array(tick->arena);

    if (rule->canary >= 0)
        edit_add(out, target(tick, words, rule->live, service->canary_name, rule->canary));
    edit_add(out, target(tick, words, rule->live, service->primary_name, rule->primary));
    return out;
}

/* The events on which a failed request is retried. */
static struct json_object *retry_events(struct tick *tick, const char *text)
{
    struct json_object *out = edit_array(tick->arena);
    const char *word;

    for (text = text && *text ? text : "gateway-error"; (word = next_event(tick->arena, &text));)
        edit_add(out, json_own(tick->arena, json_object_new_string(word)));
    return out;
}

static void set_retries(struct tick *tick, const struct appmesh *words, struct json_object *http)
{
    struct json_object *given = json_at(tick->canary->service.json, "retries", NULL);
    int64_t attempts = json_int_at(given, 0, "attempts", NULL);

    json_set(http, "retryPolicy", NULL);
    if (!given)
        return;
    struct json_object *policy = json_sub(http, "retryPolicy");
    json_set(policy, "httpRetryEvents", retry_events(tick, json_str_at(given, "retryOn", NULL)));
    words->retries(policy, ms_of(json_str_at(given, "perTryTimeout", NULL), TRY_MS),
                   attempts > 0 ? attempts : 1);
}

/* The API server rejects an empty list, so it is removed. */
static struct json_object *headers(struct tick *tick)
{
    struct json_object *out = edit_array(tick->arena);
    struct header_match *test;
    size_t count = headers_of_test(tick->arena, tick->canary, &test);

    for (size_t i = 0; i < count; i++) {
        struct json_object *header = edit_object(tick->arena);
        json_set_str(header, "name", test[i].name);
        json_set_str(json_sub(header, "match"), test[i].how, test[i].value);
        edit_pair(header, NULL);
        edit_add(out, header);
    }
    return out;
}

static struct json_object *one_route(struct tick *tick, const struct appmesh *words,
                                     const char *name, const struct route_rule *rule,
                                     struct json_object *to)
{
    struct json_object *matches = json_at(tick->canary->service.json, "match", NULL);
    const char *prefix = json_str_at(json_elem(matches, 0), "uri", "prefix", NULL);
    struct json_object *out = edit_object(tick->arena), *http = json_sub(out, words->route);

    json_set_str(out, "name", name);
    json_set(out, "priority", NULL);
    json_set_str(json_sub(http, "match"), "prefix", prefix && *prefix ? prefix : "/");
    json_set(json_sub(http, "match"), "headers", rule->matched ? headers(tick) : NULL);
    json_set(json_sub(http, "action"), "weightedTargets", to);
    set_retries(tick, words, http);
    if (words->times_out && appmesh_timeout(tick))
        json_set(json_sub(http, "timeout"), "perRequest", appmesh_timeout(tick));
    edit_pair(out, rule->live);
    return out;
}

/* Routes for `weights`; the two routes of an A/B test are named NAME-a and NAME-b. If weights is
 * NULL, everything goes to the node `plain`. */
static struct json_object *appmesh_routes(struct tick *tick, const struct appmesh *words,
                                          const char *name, const struct weights *weights,
                                          const struct split *split, const char *plain)
{
    const struct route_rule whole = {.primary = 100, .live = split->split};
    struct json_object *out = edit_array(tick->arena), *apex = edit_array(tick->arena);
    struct route_rule rules[ROUTE_MAX_RULES];
    int count = weights ? route_rules(tick, weights, split, rules) : 0;

    edit_add(apex, target(tick, words, NULL, plain, 100));
    if (!weights)
        edit_add(out, one_route(tick, words, name, &whole, apex));
    for (int i = 0; i < count; i++) {
        const char *called = count > 1 ? arena_printf(tick->arena, "%s-%c", name, 'a' + i) : name;
        struct json_object *one =
            one_route(tick, words, called, &rules[i], targets(tick, words, &rules[i]));
        if (count > 1)
            json_set_int(one, "priority", i == 0 ? FIRST : SECOND);
        edit_add(out, one);
    }
    return out;
}

/* Sets the annotations for the ingress gateway of this VirtualService. */
static void appmesh_gateway(struct tick *tick, struct json_object *wanted)
{
    struct json_object *service = tick->canary->service.json, *hosts = tick->canary->service.hosts;
    int64_t attempts = json_int_at(service, 0, "retries", "attempts", NULL);
    const char *timeout = json_str_at(service, "timeout", NULL), *domain = "";

    for (size_t i = 0; i < json_len(hosts); i++)
        domain =
            arena_printf(tick->arena, "%s%s,", domain, json_object_get_string(json_elem(hosts, i)));
    if (!*domain)
        return;
    struct json_object *annotations = json_sub(json_sub(wanted, "metadata"), "annotations");
    json_set_str(annotations, "gateway.appmesh.k8s.aws/expose", "true");
    json_set_str(annotations, "gateway.appmesh.k8s.aws/domain", domain);
    if (timeout && *timeout)
        json_set_str(annotations, "gateway.appmesh.k8s.aws/timeout", timeout);
    if (attempts > 0)
        json_set_str(annotations, "gateway.appmesh.k8s.aws/retries",
                     arena_printf(tick->arena, "%lld", (long long)attempts));
}

/* --- v1beta1: its objects */

#define RESOURCE_V1(plural_, kind_)                                                                \
    {                                                                                              \
        .group = "appmesh.k8s.aws", .version = "v1beta1", .plural = (plural_), .kind = (kind_),    \
        .meshed = true                                                                             \
    }
static const struct kube_resource nodes_v1 = RESOURCE_V1("virtualnodes", "VirtualNode");
static const struct kube_resource services_v1 = RESOURCE_V1("virtualservices", "VirtualService");

enum { NODES = 3 };

static const char *host_v1(struct arena *arena, const struct canary *canary, const char *service)
{
    return arena_printf(arena, "%s.%s", service, canary->namespace_);
}

static const char *const *names_v1(struct arena *arena, const struct canary *canary,
                                   const struct kube_resource *resource)
{
    const struct canary_service *service = &canary->service;
    const char **out = arena_array(arena, NODES + 1, sizeof *out);

    out[0] = service->name;
    out[1] = service->canary_name;
    out[2] = service->primary_name;
    out[NODES] = NULL;
    if (kube_resource_same(resource, &nodes_v1))
        return out;
    out[0] = host_v1(arena, canary, service->name);
    out[1] = host_v1(arena, canary, service->canary_name);
    out[2] = NULL;
    return out;
}

/* --- v1beta1: format */

static const struct split_format format_v1 = {.rules = {"spec", "routes"},
                                              .backends = {"http", "action", "weightedTargets"},
                                              .name = {"virtualNodeName"}};

static const struct split_format *format_of_v1(const struct canary *canary)
{
    (void)canary;
    return &format_v1;
}

static void write_target_v1(struct json_object *target, const char *node)
{
    json_set_str(target, "virtualNodeName", node);
}

static void write_backend_v1(struct json_object *backend, const char *service)
{
    json_set_str(backend, "virtualServiceName", service);
}

static void write_retries_v1(struct json_object *policy, int64_t timeout_ms, int64_t attempts)
{
    json_set_int(policy, "maxRetries", attempts);
    json_set_int(policy, "perRetryTimeoutMillis", timeout_ms);
}

static const struct appmesh words_v1 = {.format = &format_v1,
                                        .route = "http",
                                        .hostname = "hostName",
                                        .target = write_target_v1,
                                        .backend = write_backend_v1,
                                        .retries = write_retries_v1};

static const char *mesh_of_v1(const struct canary *canary)
{
    return json_str_at(canary->service.json, "meshName", NULL);
}

static const char *check_v1(struct arena *arena, const struct canary *canary)
{
    if (!mesh_of_v1(canary) || !*mesh_of_v1(canary))
        return "spec.service.meshName: expected the name of a mesh; appmesh:v1beta2 needs none";
    return appmesh_check(arena, canary);
}

/* Routes have no timeout in this version. */
static const char *ignored_v1(struct arena *arena, const struct canary *canary)
{
    static const char *const keys[] = {"timeout", NULL};
    struct ignored list = {.arena = arena, .text = appmesh_ignored(arena, canary)};

    ignored_add(&list, canary->service.json, "spec.service", keys);
    return list.text;
}

/* --- v1beta1: VirtualNodes */

/* A node with the endpoints of `service`. */
static struct json_object *node_v1(struct tick *tick, const char *service)
{
    const struct canary *canary = tick->canary;
    struct json_object *out =
        appmesh_node(tick, &words_v1, tick_route_port(tick), host_v1(tick->arena, canary, service));

    json_set_str(json_sub(out, "spec"), "meshName", mesh_of_v1(canary));
    return out;
}

/* A proxy does not start before its node is known, so nodes are created before the primary's pods.
 * The node of the apex has the endpoints of the primary. */
static enum rule_result prepare_v1(struct tick *tick)
{
    const char *const *name = names_v1(tick->arena, tick->canary, &nodes_v1);
    struct json_object *live[NODES];
    bool known = true;

    for (int i = 0; i < NODES; i++)
        known = need_object(tick, &nodes_v1, tick->canary->namespace_, name[i], &live[i]) && known;
    if (!known)
        return RULE_NEEDS_FACTS;
    for (int i = 0; i < NODES; i++) {
        const char *service = i == 0 ? tick->canary->service.primary_name : name[i];
        route_beside(tick, &nodes_v1, name[i], live[i], node_v1(tick, service), true);
    }
    return RULE_CONTINUE;
}

/* --- v1beta1: VirtualServices */

/* `router`: name of the routes and their router. */
static struct json_object *service_v1(struct tick *tick, const char *router,
                                      const struct weights *weights, const struct split *split)
{
    struct json_object *out = edit_object(tick->arena), *spec = json_sub(out, "spec");
    struct json_object *given = json_sub(spec, "virtualRouter");

    json_set_str(spec, "meshName", mesh_of_v1(tick->canary));
    json_set_str(given, "name", router);
    json_set(given, "listeners", appmesh_listeners(tick, tick_route_port(tick)));
    json_set(spec, "routes",
             appmesh_routes(tick, &words_v1, router, weights, split, tick->canary->service.name));
    return out;
}

static enum rule_result wanted_v1(struct tick *tick, const struct weights *weights,
                                  const struct split *split, struct json_object *live,
                                  struct json_object **out)
{
    (void)live;
    *out = service_v1(tick, tick->canary->service.name, weights, split);
    appmesh_gateway(tick, *out);
    return RULE_CONTINUE;
}

/* Leads to the node of the apex, which then has the endpoints of its Service. */
static enum rule_result plain_v1(struct tick *tick, struct json_object *live,
                                 struct json_object **out)
{
    const struct split none = {.split = NULL};

    (void)live;
    *out = service_v1(tick, tick->canary->service.name, NULL, &none);
    appmesh_gateway(tick, *out);
    return RULE_CONTINUE;
}

static enum rule_result reconcile_v1(struct tick *tick)
{
    const char *router = tick->canary->service.canary_name;
    const struct split_sides sides = {tick->canary->service.primary_name, router};
    const char *name = host_v1(tick->arena, tick->canary, router);
    const struct weights all = {.canary = WEIGHT_ALL};
    struct json_object *live;

    if (!need_object(tick, &services_v1, tick->canary->namespace_, name, &live))
        return RULE_NEEDS_FACTS;
    enum rule_result verdict = route_reconcile(tick);
    if (verdict != RULE_CONTINUE)
        return verdict;
    struct split split = split_find(&format_v1, &sides, live);
    route_beside(tick, &services_v1, name, live, service_v1(tick, router, &all, &split), false);
    return RULE_CONTINUE;
}

/* --- v1beta1: deletion of a Canary */

static bool need_apex_v1(struct tick *tick, struct json_object **live)
{
    return need_object(tick, &nodes_v1, tick->canary->namespace_, tick->canary->service.name, live);
}

static enum rule_result revert_v1(struct tick *tick, bool recreate)
{
    const char *name = tick->canary->service.name;
    struct json_object *live;

    if (!need_apex_v1(tick, &live))
        return RULE_NEEDS_FACTS;
    route_leave(tick, &nodes_v1, name, live, node_v1(tick, name), recreate);
    return route_revert(tick, recreate);
}

static enum rule_result disown_v1(struct tick *tick)
{
    struct json_object *live;

    if (!need_apex_v1(tick, &live))
        return RULE_NEEDS_FACTS;
    route_let_go(tick, &nodes_v1, live);
    return route_disown(tick);
}

static const struct route route_v1 = {.resource = &services_v1,
                                      .format = format_of_v1,
                                      .wanted = wanted_v1,
                                      .plain = plain_v1,
                                      .bare = true};
static const char *const providers_v1[] = {"appmesh", NULL};
static const struct kube_resource *const resources_v1[] = {&kube_services, &nodes_v1, &services_v1,
                                                           NULL};

const struct router router_appmesh = {
    .providers = providers_v1,
    .about = "AWS App Mesh v1beta1",
    .resources = resources_v1,
    .names = names_v1,
    .metric_family = "appmesh",
    .route = &route_v1,
    .weighted = true,
    .matches = true,
    .check = check_v1,
    .ignored = ignored_v1,
    .prepare = prepare_v1,
    .reconcile = reconcile_v1,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = revert_v1,
    .disown = disown_v1,
};

/* --- v1beta2: its objects */

#define RESOURCE_V2(plural_, kind_)                                                                \
    {                                                                                              \
        .group = "appmesh.k8s.aws", .version = "v1beta2", .plural = (plural_), .kind = (kind_),    \
        .meshed = true                                                                             \
    }
static const struct kube_resource nodes_v2 = RESOURCE_V2("virtualnodes", "VirtualNode");
static const struct kube_resource routers_v2 = RESOURCE_V2("virtualrouters", "VirtualRouter");
static const struct kube_resource services_v2 = RESOURCE_V2("virtualservices", "VirtualService");

static const char *const *names_v2(struct arena *arena, const struct canary *canary,
                                   const struct kube_resource *resource)
{
    const char **out = arena_array(arena, 3, sizeof *out);
    bool sides = kube_resource_same(resource, &nodes_v2);

    out[0] = sides ? canary->service.primary_name : canary->service.name;
    out[1] = canary->service.canary_name;
    out[2] = NULL;
    return out;
}

/* --- v1beta2: format */

static const struct split_format format_v2 = {
    .rules = {"spec", "routes"},
    .backends = {"httpRoute", "action", "weightedTargets"},
    .name = {"virtualNodeRef", "name"}};

static const struct split_format *format_of_v2(const struct canary *canary)
{
    (void)canary;
    return &format_v2;
}

static void write_target_v2(struct json_object *target, const char *node)
{
    json_set_str(json_sub(target, "virtualNodeRef"), "name", node);
}

static void write_backend_v2(struct json_object *backend, const char *service)
{
    if (strncmp(service, "arn:aws", strlen("arn:aws")) == 0)
        json_set_str(backend, "virtualServiceARN", service);
    else
        json_set_str(json_sub(backend, "virtualServiceRef"), "name", service);
}

static void write_retries_v2(struct json_object *policy, int64_t timeout_ms, int64_t attempts)
{
    json_set_int(policy, "maxRetries", attempts);
    json_set_str(json_sub(policy, "perRetryTimeout"), "unit", "ms");
    json_set_int(json_sub(policy, "perRetryTimeout"), "value", timeout_ms);
}

static const struct appmesh words_v2 = {.format = &format_v2,
                                        .route = "httpRoute",
                                        .hostname = "hostname",
                                        .target = write_target_v2,
                                        .backend = write_backend_v2,
                                        .retries = write_retries_v2,
                                        .times_out = true};

/* --- v1beta2: VirtualNodes */

static const char *hostname_v2(struct tick *tick, const char *service)
{
    return arena_printf(tick->arena, "%s.%s.svc.cluster.local.", service, tick->canary->namespace_);
}

/* A node with the endpoints of `service`; its members are the pods that `selector` matches. */
static struct json_object *node_v2(struct tick *tick, const char *service,
                                   struct json_object *selector)
{
    struct json_object *out =
        appmesh_node(tick, &words_v2, tick_route_target_port(tick), hostname_v2(tick, service));
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
static enum rule_result prepare_v2(struct tick *tick)
{
    const char *const *sides = names_v2(tick->arena, tick->canary, &nodes_v2);
    const char *namespace_ = tick->canary->namespace_;
    struct json_object *live[2], *selectors[2];
    bool known = true;

    for (int i = 0; i < 2; i++) {
        known = need_object(tick, &nodes_v2, namespace_, sides[i], &live[i]) && known;
        known = route_selector(tick, sides[i], &selectors[i]) && known;
    }
    if (!known)
        return RULE_NEEDS_FACTS;
    for (int i = 0; i < 2; i++)
        route_beside(tick, &nodes_v2, sides[i], live[i], node_v2(tick, sides[i], selectors[i]),
                     true);
    return RULE_CONTINUE;
}

/* --- v1beta2: VirtualRouters and VirtualServices */

static struct json_object *router_v2(struct tick *tick, const char *name,
                                     const struct weights *weights, const struct split *split)
{
    struct json_object *out = edit_object(tick->arena), *spec = json_sub(out, "spec");

    json_set(spec, "listeners", appmesh_listeners(tick, tick_route_target_port(tick)));
    json_set(
        spec, "routes",
        appmesh_routes(tick, &words_v2, name, weights, split, tick->canary->service.canary_name));
    return out;
}

static enum rule_result wanted_v2(struct tick *tick, const struct weights *weights,
                                  const struct split *split, struct json_object *live,
                                  struct json_object **out)
{
    (void)live;
    *out = router_v2(tick, tick->canary->service.name, weights, split);
    return RULE_CONTINUE;
}

/* Leads to the node of the canary, which then has the endpoints of the apex Service: the target's
 * pods are members of that node, and without it their proxies would lose their configuration. */
static enum rule_result plain_v2(struct tick *tick, struct json_object *live,
                                 struct json_object **out)
{
    const struct split none = {.split = NULL};

    (void)live;
    *out = router_v2(tick, tick->canary->service.name, NULL, &none);
    return RULE_CONTINUE;
}

static struct json_object *service_v2(struct tick *tick, const char *name)
{
    struct json_object *out = edit_object(tick->arena);
    struct json_object *provider = json_sub(json_sub(out, "spec"), "provider");

    json_set_str(json_sub(json_sub(provider, "virtualRouter"), "virtualRouterRef"), "name", name);
    if (strcmp(name, tick->canary->service.name) == 0)
        appmesh_gateway(tick, out);
    return out;
}

/* The mesh's objects except the nodes. */
struct live {
    struct json_object *router; /* router of the canary */
    struct json_object *services[2];
};

static bool need_live_v2(struct tick *tick, struct live *live)
{
    const char *const *both = names_v2(tick->arena, tick->canary, &services_v2);
    const char *namespace_ = tick->canary->namespace_;
    bool known = need_object(tick, &routers_v2, namespace_, both[1], &live->router);

    for (int i = 0; i < 2; i++)
        known = need_object(tick, &services_v2, namespace_, both[i], &live->services[i]) && known;
    return known;
}

static enum rule_result reconcile_v2(struct tick *tick)
{
    const struct weights all = {.canary = WEIGHT_ALL};
    const struct split_sides sides = {tick->canary->service.primary_name,
                                      tick->canary->service.canary_name};
    const char *const *both = names_v2(tick->arena, tick->canary, &services_v2);
    struct live live;

    if (!need_live_v2(tick, &live))
        return RULE_NEEDS_FACTS;
    enum rule_result verdict = route_reconcile(tick);
    if (verdict != RULE_CONTINUE)
        return verdict;
    struct split split = split_find(&format_v2, &sides, live.router);
    route_beside(tick, &routers_v2, both[1], live.router, router_v2(tick, both[1], &all, &split),
                 false);
    for (int i = 0; i < 2; i++)
        route_beside(tick, &services_v2, both[i], live.services[i], service_v2(tick, both[i]),
                     false);
    return RULE_CONTINUE;
}

/* --- v1beta2: deletion of a Canary */

static enum rule_result revert_v2(struct tick *tick, bool recreate)
{
    const struct canary_service *named = &tick->canary->service;
    struct json_object *live, *found, *selector;
    bool known = need_object(tick, &nodes_v2, tick->canary->namespace_, named->canary_name, &live);

    known = need_object(tick, &services_v2, tick->canary->namespace_, named->name, &found) && known;
    known = route_selector(tick, named->canary_name, &selector) && known;
    if (!known)
        return RULE_NEEDS_FACTS;
    if (!selector)
        selector = json_at(live, "spec", "podSelector", "matchLabels", NULL);
    route_leave(tick, &nodes_v2, named->canary_name, live, node_v2(tick, named->name, selector),
                recreate);
    route_leave(tick, &services_v2, named->name, found, service_v2(tick, named->name), recreate);
    return route_revert(tick, recreate);
}

static enum rule_result disown_v2(struct tick *tick)
{
    const struct canary_service *named = &tick->canary->service;
    struct json_object *live, *found;
    bool known = need_object(tick, &nodes_v2, tick->canary->namespace_, named->canary_name, &live);

    known = need_object(tick, &services_v2, tick->canary->namespace_, named->name, &found) && known;
    if (!known)
        return RULE_NEEDS_FACTS;
    route_let_go(tick, &nodes_v2, live);
    route_let_go(tick, &services_v2, found);
    return route_disown(tick);
}

static const struct route route_v2 = {.resource = &routers_v2,
                                      .format = format_of_v2,
                                      .wanted = wanted_v2,
                                      .plain = plain_v2,
                                      .bare = true};
static const char *const providers_v2[] = {"appmesh:v1beta2", NULL};
static const struct kube_resource *const resources_v2[] = {&kube_services, &nodes_v2, &routers_v2,
                                                           &services_v2, NULL};

const struct router router_appmesh_v1beta2 = {
    .providers = providers_v2,
    .about = "AWS App Mesh v1beta2",
    .resources = resources_v2,
    .names = names_v2,
    .metric_family = "appmesh",
    .route = &route_v2,
    .weighted = true,
    .matches = true,
    .check = appmesh_check,
    .ignored = appmesh_ignored,
    .prepare = prepare_v2,
    .reconcile = reconcile_v2,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = revert_v2,
    .disown = disown_v2,
};
