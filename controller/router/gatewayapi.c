/*
 * Gateway API (router/OBJECTS.md): HTTPRoute v1 and v1beta1, and GRPCRoute v1, which has its own
 * provider name: Flagger writes an HTTPRoute for gRPC too, and manifests with gatewayapi:v1 must
 * keep working that way. router/shared/httproute.c writes the rules of a route.
 */
#include <string.h>

#include "router/router.h"
#include "router/shared/httproute.h"
#include "router/shared/route_refs.h"
#include "tick/edit.h"
#include "tick/plan.h"

static const struct httproute_version *httproute_version_of(const struct tick *tick)
{
    return router_find(tick->provider)->route->more;
}

static const char *httproute_check(struct arena *arena, const struct canary *canary,
                                   const struct httproute_version *version)
{
    const char *why;

    if (json_len(canary->service.gateway_refs) == 0)
        return "spec.service.gatewayRefs: must be specified when using Gateway API as a provider";
    if (canary->service.port <= 0)
        return "spec.service.port: expected a port number";
    httproute_matches(arena, &canary->service, version, &why);
    if (!why && canary->analysis.match)
        httproute_test_matches(arena, canary, version, &why);
    return why;
}

static struct json_object *wanted_parents(struct tick *tick)
{
    static const char *const optional[] = {"namespace", "sectionName", "port"};
    struct json_object *out = edit_array(tick->arena);
    struct json_object *given = tick->canary->service.gateway_refs;

    for (size_t i = 0; i < json_len(given); i++) {
        struct json_object *parent = json_copy(tick->arena, json_elem(given, i));
        for (size_t j = 0; j < sizeof(optional) / sizeof(optional[0]); j++) {
            if (!json_at(parent, optional[j], NULL))
                json_set(parent, optional[j], NULL);
        }
        json_object_array_add(out, json_object_get(parent));
    }
    return out;
}

static struct json_object *httproute_frame(struct tick *tick)
{
    struct json_object *route = route_metadata(tick);
    struct json_object *hosts = tick->canary->service.hosts;
    struct json_object *spec = json_sub(route, "spec");

    json_set(spec, "parentRefs", wanted_parents(tick));
    json_set(spec, "hostnames", json_len(hosts) > 0 ? hosts : NULL);
    return route;
}

static enum rule_result httproute_wanted(struct tick *tick, const struct weights *weights,
                                         const struct split *split, struct json_object *live,
                                         struct json_object **out)
{
    (void)live;
    *out = httproute_frame(tick);
    json_set(json_sub(*out, "spec"), "rules",
             httproute_wanted_rules(tick, httproute_version_of(tick), weights, split));
    return RULE_CONTINUE;
}

static struct json_object *accepted_condition(struct json_object *parent_status)
{
    return json_find(json_at(parent_status, "conditions", NULL), "type", "Accepted", NULL);
}

/* True if the status is about this parent: it repeats every field of the reference in the spec. */
static bool is_same_parent(struct json_object *parent, struct json_object *status)
{
    struct json_object *ref = json_at(status, "parentRef", NULL);

    return ref && json_same(parent, ref);
}

/* CONTINUE if every parent that reports on the route has accepted it as this plan leaves it. */
static enum rule_result parents_settled(struct tick *tick, const struct kube_resource *resource,
                                        struct json_object *live, const char **why)
{
    const char *name = json_str_at(live, "metadata", "name", NULL);
    int64_t generation = json_int_at(live, 0, "metadata", "generation", NULL) +
                         plan_writes(tick, resource, tick->canary->namespace_, name);
    struct json_object *parents = json_at(live, "spec", "parentRefs", NULL);
    struct json_object *statuses = json_at(live, "status", "parents", NULL);

    for (size_t i = 0; i < json_len(parents); i++) {
        for (size_t j = 0; j < json_len(statuses); j++) {
            struct json_object *parent = json_elem(parents, i);
            struct json_object *accepted = accepted_condition(json_elem(statuses, j));
            const char *status = json_str_at(accepted, "status", NULL);
            int64_t observed = json_int_at(accepted, 0, "observedGeneration", NULL);
            if (!accepted || !is_same_parent(parent, json_elem(statuses, j)))
                continue;
            if (status && strcmp(status, "True") == 0 && observed >= generation)
                continue;
            *why = arena_printf(
                tick->arena,
                "%s %s.%s parent %s is not ready (status: %s, observed generation: %lld, "
                "current generation: %lld)",
                resource->kind, name, tick->canary->namespace_, json_str_at(parent, "name", NULL),
                status ? status : "", (long long)observed, (long long)generation);
            return RULE_DONE;
        }
    }
    return RULE_CONTINUE;
}

static enum rule_result httproute_settled(struct tick *tick, const char **why)
{
    struct json_object *live;

    if (!route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    return live ? parents_settled(tick, httproute_version_of(tick)->resource, live, why)
                : RULE_CONTINUE;
}

/* --- reading: weights, mirroring and cookies of a live route */

static bool has_text(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

static const struct split_format *httproute_format(const struct canary *canary)
{
    static const struct split_format format = {
        .rules = {"spec", "rules"}, .backends = {"backendRefs"}, .name = {"name"}, .missing = 1};

    (void)canary;
    return &format;
}

/* The cookie that a list of filters sets or, if `taken_back`, deletes. */
static const char *cookie_of(struct arena *arena, struct json_object *filters, bool taken_back)
{
    for (size_t i = 0; i < json_len(filters); i++) {
        struct json_object *added =
            json_at(json_elem(filters, i), "responseHeaderModifier", "add", NULL);
        for (size_t j = 0; j < json_len(added); j++) {
            const char *cookie = NULL;
            if (has_text(json_elem(added, j), "name", "Set-Cookie"))
                cookie =
                    cookie_read(arena, json_str_at(json_elem(added, j), "value", NULL), taken_back);
            if (cookie)
                return cookie;
        }
    }
    return NULL;
}

static const char *backend_cookie(struct arena *arena, struct json_object *backend, bool taken_back)
{
    return cookie_of(arena, json_at(backend, "filters", NULL), taken_back);
}

/* Flagger deletes a cookie with a filter of the rule; we use a filter of the backend. */
static const char *previous_cookie(struct arena *arena, const struct canary *canary,
                                   struct json_object *rule)
{
    struct json_object *primary =
        split_backend(httproute_format(canary), rule, canary->service.primary_name);
    const char *cookie = backend_cookie(arena, primary, true);

    return cookie ? cookie : cookie_of(arena, json_at(rule, "filters", NULL), true);
}

static void httproute_read(struct arena *arena, const struct canary *canary,
                           const struct split *split, struct weights *out)
{
    struct json_object *mirror = httproute_mirror(canary, split->split);

    out->mirrored = mirror;
    out->mirrors_all = mirror && HTTPROUTE_MIRROR_PERCENT(canary) > 0 &&
                       !json_at(mirror, "percent", NULL) && !json_at(mirror, "fraction", NULL);
    out->cookies = (struct cookies){.canary = backend_cookie(arena, split->canary, false),
                                    .primary = backend_cookie(arena, split->primary, false),
                                    .previous = previous_cookie(arena, canary, split->sticky[0])};
}

/*
 * Fields of spec.service that a route cannot express. They have no effect, as in Flagger, which
 * logs this for `allowOrigins` only; here the author of the Canary gets a message
 * (decide/accept.c).
 */

/* Not listed, since nothing is lost: the name of a match, and fields of other meshes (Istio's
 * gateways and delegation, App Mesh's backends). */
static const char *const of_match[] = {
    "withoutHeaders", "authority",       "scheme", "ignoreUriCase", "port", "gateways",
    "sourceLabels",   "sourceNamespace", NULL};
static const char *const of_service[] = {"retries", "trafficPolicy", NULL};
/* Fields that the old version and GRPCRoute lack, then fields that only GRPCRoute lacks. */
static const char *const of_rich[] = {"timeout", "backendTimeout", "corsPolicy", NULL};
static const char *const of_http[] = {"rewrite", NULL};
static const char *const patterns[] = {"prefix", "regex", NULL};

static const char *httproute_ignored(struct arena *arena, const struct canary *canary,
                                     const struct httproute_version *version)
{
    struct json_object *service = canary->service.json;
    struct ignored list = {.arena = arena,
                           .text = ignored_of_service(arena, canary, of_service, of_match)};

    if (version->rich)
        ignored_add_each(&list, json_at(service, "corsPolicy", "allowOrigins", NULL),
                         "spec.service.corsPolicy.allowOrigins", patterns);
    else
        ignored_add(&list, service, "spec.service", of_rich);
    if (version->calls)
        ignored_add(&list, service, "spec.service", of_http);
    return list.text;
}

/*
 * The route of a deleted Canary: one rule that leads to the apex Service, as spec.service
 * describes. It outlives the Canary. (Flagger leaves a route to two Services that are about to be
 * deleted, and the garbage collector deletes the route as well.)
 */

static struct json_object *plain_rule(struct tick *tick)
{
    const struct httproute_version *version = httproute_version_of(tick);
    const struct canary_service *service = &tick->canary->service;
    struct json_object *rule = edit_object(tick->arena);
    struct json_object *backends = edit_array(tick->arena);
    const char *why;

    json_set(rule, "matches", httproute_matches(tick->arena, service, version, &why));
    json_set(rule, "filters", httproute_filters(tick->arena, service, version));
    if (version->rich)
        json_set(rule, "timeouts", httproute_timeouts(tick->arena, service));
    json_object_array_add(backends, json_object_get(httproute_backend(tick, service->name, 100)));
    json_set(rule, "backendRefs", backends);
    return rule;
}

static bool is_reverted(struct tick *tick, struct json_object *rule)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);
    const char *name = json_str_at(json_elem(backends, 0), "name", NULL);

    return json_len(backends) == 1 && name && strcmp(name, tick->canary->service.name) == 0;
}

/*
 * The live rule that the plain one is applied to, so that additions by others and the server's
 * defaults stay. An analysis may have left several rules, or filters of its own.
 */
static struct json_object *base_rule(struct tick *tick, struct json_object *live)
{
    struct json_object *rules = json_at(live, "spec", "rules", NULL);
    struct json_object *rule = json_len(rules) == 1 ? json_elem(rules, 0) : NULL;

    if (!rule || is_reverted(tick, rule))
        return rule;
    struct json_object *copy = json_copy(tick->arena, rule);
    json_object_object_del(copy, "filters");
    return copy;
}

static struct json_object *reverted(struct tick *tick, struct json_object *live)
{
    struct json_object *to = json_copy(tick->arena, live);
    struct json_object *rules = edit_array(tick->arena);
    struct json_object *applied = json_at(applied_of(tick->arena, live), "spec", "rules", NULL);

    edit_add(rules, edit_merge(tick->arena, base_rule(tick, live), plain_rule(tick),
                               json_elem(applied, 0)));
    json_set(json_sub(to, "spec"), "rules", rules);
    return to;
}

static enum rule_result httproute_revert(struct tick *tick, bool recreate)
{
    const struct kube_resource *resource = httproute_version_of(tick)->resource;
    const char *name = tick->canary->service.name;
    struct json_object *live;

    if (!route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    if (live) {
        if (plan_update(tick, resource, live, reverted(tick, live)))
            plan_why(tick, "-> %s", name);
        return RULE_CONTINUE;
    }
    if (!recreate)
        return RULE_CONTINUE;
    struct json_object *body =
        edit_overlay(tick->arena, edit_new(tick, resource, name), httproute_frame(tick));
    body = reverted(tick, edit_released(tick, body, true));
    plan_create(tick, resource, tick->canary->namespace_, body);
    plan_why(tick, "-> %s", name);
    return RULE_CONTINUE;
}

/* --- routes of the user */

/* A backend without group and kind is a Service; without a namespace it is in the route's. */
static const char *ref_service(struct arena *arena, const struct canary *canary,
                               struct json_object *backend)
{
    const char *group = json_str_at(backend, "group", NULL);
    const char *kind = json_str_at(backend, "kind", NULL);
    const char *namespace_ = json_str_at(backend, "namespace", NULL);

    (void)arena;
    if ((group && *group) || (kind && strcmp(kind, "Service") != 0) ||
        (namespace_ && strcmp(namespace_, canary->namespace_) != 0))
        return NULL;
    return json_str_at(backend, "name", NULL);
}

#define GATEWAY_API "gateway.networking.k8s.io"

#define REF_KIND(of)                                                                               \
    {                                                                                              \
        .resource = (of), .rules = "rules", .backends = "backendRefs", .missing = 1,               \
        .service = ref_service, .settled = parents_settled                                         \
    }

static const struct kube_version before_v1[] = {{GATEWAY_API, "v1beta1"}, {NULL, NULL}};
static const struct kube_resource kind_v1 = {.group = GATEWAY_API,
                                             .version = "v1",
                                             .plural = "httproutes",
                                             .kind = "HTTPRoute",
                                             .also = before_v1,
                                             .meshed = true};
static const struct kube_resource kind_grpc = {.group = GATEWAY_API,
                                               .version = "v1",
                                               .plural = "grpcroutes",
                                               .kind = "GRPCRoute",
                                               .meshed = true};
/* Versions in the experimental channel, before these kinds became part of v1. */
static const struct kube_version before_tls[] = {
    {GATEWAY_API, "v1alpha3"}, {GATEWAY_API, "v1alpha2"}, {NULL, NULL}};
static const struct kube_resource kind_tls = {.group = GATEWAY_API,
                                              .version = "v1",
                                              .plural = "tlsroutes",
                                              .kind = "TLSRoute",
                                              .also = before_tls,
                                              .meshed = true};
static const struct kube_version before_tcp[] = {{GATEWAY_API, "v1alpha2"}, {NULL, NULL}};
static const struct kube_resource kind_tcp = {.group = GATEWAY_API,
                                              .version = "v1",
                                              .plural = "tcproutes",
                                              .kind = "TCPRoute",
                                              .also = before_tcp,
                                              .meshed = true};

static const struct route_refs_kind ref_http = REF_KIND(&kind_v1), ref_grpc = REF_KIND(&kind_grpc),
                                    ref_tls = REF_KIND(&kind_tls), ref_tcp = REF_KIND(&kind_tcp);
static const struct route_refs_kind *const ref_kinds[] = {&ref_http, &ref_grpc, &ref_tls, &ref_tcp,
                                                          NULL};
static const struct kube_resource *const ref_resources[] = {&kube_services, &kind_v1,  &kind_grpc,
                                                            &kind_tls,      &kind_tcp, NULL};

static const struct router refs_http, refs_grpc;

static const char *refs_check(struct arena *arena, const struct canary *canary)
{
    return route_refs_check(arena, canary, &refs_http);
}

#define REFS_ROUTER(served, family)                                                                \
    {                                                                                              \
        .providers = (served), .about = "Gateway API, routes of the user",                         \
        .resources = ref_resources, .ref_kinds = ref_kinds, .metric_family = (family),             \
        .check = refs_check, ROUTE_REFS_ROUTER                                                     \
    }

static const char *const providers_http[] = {"gatewayapi:v1*", NULL};
static const char *const providers_grpc[] = {"gatewayapi:v1:grpc", NULL};
static const struct router refs_http = REFS_ROUTER(providers_http, "http");
static const struct router refs_grpc = REFS_ROUTER(providers_grpc, "grpc");

/* --- the routers: the route of each version, and the table row of a router with such a route */

#define HTTPROUTE_ROUTE(kind, version)                                                             \
    {                                                                                              \
        .resource = (kind), .format = httproute_format, .read = httproute_read,                    \
        .wanted = httproute_wanted, .more = (version)                                              \
    }
#define HTTPROUTE_ROUTER(names, kinds, version_route, checks, ignores, cookies, family, line,      \
                         of_refs)                                                                  \
    {                                                                                              \
        .providers = (names), .about = (line), .resources = (kinds), .metric_family = (family),    \
        .route = (version_route), .weighted = true, .finest = 1, .matches = true, .mirrors = true, \
        .refs = (of_refs), .session_affinity = (cookies), .check = (checks), .ignored = (ignores), \
        .claims = httproute_claims, .reconcile = route_reconcile, .get = route_get,                \
        .settled = httproute_settled, .set = route_set, .revert = httproute_revert,                \
        .disown = route_disown                                                                     \
    }

/* Served before v1; the timeouts are all that it lacks. */
static const struct httproute_version version_v1 = {.resource = &kind_v1, .rich = true};
static const struct route route_v1 = HTTPROUTE_ROUTE(&kind_v1, &version_v1);

static const char *check_v1(struct arena *arena, const struct canary *canary)
{
    return httproute_check(arena, canary, &version_v1);
}

static const char *ignored_v1(struct arena *arena, const struct canary *canary)
{
    return httproute_ignored(arena, canary, &version_v1);
}

static const char *const providers_v1[] = {"gatewayapi:v1*", NULL};
static const struct kube_resource *const kinds_v1[] = {&kube_services, &kind_v1, NULL};
const struct router router_gatewayapi =
    HTTPROUTE_ROUTER(providers_v1, kinds_v1, &route_v1, check_v1, ignored_v1, true, "http",
                     "Gateway API, HTTPRoute v1", &refs_http);

/* A superset of v1beta1. */
static const struct kube_version after_v1beta1[] = {{GATEWAY_API, "v1"}, {NULL, NULL}};
static const struct kube_resource kind_v1beta1 = {.group = GATEWAY_API,
                                                  .version = "v1beta1",
                                                  .plural = "httproutes",
                                                  .kind = "HTTPRoute",
                                                  .also = after_v1beta1,
                                                  .meshed = true};
static const struct httproute_version version_v1beta1 = {.resource = &kind_v1beta1};
static const struct route route_v1beta1 = HTTPROUTE_ROUTE(&kind_v1beta1, &version_v1beta1);

static const char *check_v1beta1(struct arena *arena, const struct canary *canary)
{
    return httproute_check(arena, canary, &version_v1beta1);
}

static const char *ignored_v1beta1(struct arena *arena, const struct canary *canary)
{
    return httproute_ignored(arena, canary, &version_v1beta1);
}

static const char *const providers_v1beta1[] = {"gatewayapi:v1beta1*", NULL};
static const struct kube_resource *const kinds_v1beta1[] = {&kube_services, &kind_v1beta1, NULL};
const struct router router_gatewayapi_v1beta1 =
    HTTPROUTE_ROUTER(providers_v1beta1, kinds_v1beta1, &route_v1beta1, check_v1beta1,
                     ignored_v1beta1, true, "http", "Gateway API, HTTPRoute v1beta1", &refs_http);

/* gRPC clients store no cookies. */
static const struct httproute_version version_grpc = {.resource = &kind_grpc, .calls = true};
static const struct route route_grpc = HTTPROUTE_ROUTE(&kind_grpc, &version_grpc);

static const char *check_grpc(struct arena *arena, const struct canary *canary)
{
    return httproute_check(arena, canary, &version_grpc);
}

static const char *ignored_grpc(struct arena *arena, const struct canary *canary)
{
    return httproute_ignored(arena, canary, &version_grpc);
}

static const struct kube_resource *const kinds_grpc[] = {&kube_services, &kind_grpc, NULL};
const struct router router_gatewayapi_grpc =
    HTTPROUTE_ROUTER(providers_grpc, kinds_grpc, &route_grpc, check_grpc, ignored_grpc, false,
                     "grpc", "Gateway API, GRPCRoute v1", &refs_grpc);
