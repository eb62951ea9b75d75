/*
 * Gloo: a RouteTable that the user's VirtualService delegates to, and an Upstream for each side
 * (router/OBJECTS.md).
 */
#include <string.h>

#include "router/router.h"
#include "router/shared/route.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

static const struct kube_resource route_tables = {.group = "gateway.solo.io",
                                                  .version = "v1",
                                                  .plural = "routetables",
                                                  .kind = "RouteTable",
                                                  .meshed = true};
static const struct kube_resource upstreams = {.group = "gloo.solo.io",
                                               .version = "v1",
                                               .plural = "upstreams",
                                               .kind = "Upstream",
                                               .meshed = true};

/* --- UpstreamGroup, which predates RouteTable: used if one with the target's name exists */

#define DEFAULT_NAMESPACE "gloo-system"

static const struct kube_resource gloo_groups = {.group = "gloo.solo.io",
                                                 .version = "v1",
                                                 .plural = "upstreamgroups",
                                                 .kind = "UpstreamGroup",
                                                 .meshed = true};

/* Upstreams that Gloo has discovered; "*" for any port. */
static const char *group_upstream(struct arena *arena, const struct canary *canary,
                                  const char *service, const char *port)
{
    return arena_printf(arena, "%s-%s-%s", canary->namespace_, service, port);
}

static struct split_sides group_sides(struct arena *arena, const struct canary *canary)
{
    return (struct split_sides){group_upstream(arena, canary, canary->service.primary_name, "*"),
                                group_upstream(arena, canary, canary->service.canary_name, "*")};
}

static const struct split_format *group_format(const struct canary *canary)
{
    static const struct split_format format = {.rules = {"spec"},
                                               .backends = {"destinations"},
                                               .name = {"destination", "upstream", "name"}};

    (void)canary;
    return &format;
}

static const char *group_name(struct tick *tick)
{
    return tick->canary->target.name;
}

/* Gloo's namespace, which the provider may name: "gloo:NAMESPACE". */
static const char *namespace_of(struct tick *tick)
{
    const char *colon = strchr(tick->provider, ':');

    return colon && colon[1] ? colon + 1 : DEFAULT_NAMESPACE;
}

static void add_group_destination(struct tick *tick, struct json_object *list, const char *service,
                                  int weight, struct json_object *live)
{
    const char *port = arena_printf(tick->arena, "%d", tick_route_port(tick));
    struct json_object *out = edit_object(tick->arena);
    struct json_object *to = json_sub(json_sub(out, "destination"), "upstream");

    json_set_str(to, "name", group_upstream(tick->arena, tick->canary, service, port));
    json_set_str(to, "namespace", namespace_of(tick));
    json_set_int(out, "weight", weight);
    edit_pair(out, live);
    edit_add(list, out);
}

static struct json_object *group_spec(struct tick *tick, struct json_object *destinations)
{
    struct json_object *out = edit_object(tick->arena);

    json_set(json_sub(out, "spec"), "destinations", destinations);
    return out;
}

static enum rule_result group_wanted(struct tick *tick, const struct weights *weights,
                                     const struct split *split, struct json_object *live,
                                     struct json_object **out)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    if (weights->matched && weights->canary > 0)
        return plan_block(tick,
                          "%s: an UpstreamGroup splits every request; delete UpstreamGroup %s.%s, "
                          "and a RouteTable is made, which can match",
                          tick->canary->analysis.match_at, group_name(tick),
                          tick->canary->namespace_);
    add_group_destination(tick, list, service->primary_name, weight_relative(weights->primary),
                          split->primary);
    add_group_destination(tick, list, service->canary_name, weight_relative(weights->canary),
                          split->canary);
    *out = group_spec(tick, list);
    return RULE_CONTINUE;
}

static enum rule_result group_plain(struct tick *tick, struct json_object *live,
                                    struct json_object **out)
{
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    add_group_destination(tick, list, tick->canary->service.name, 100, NULL);
    *out = group_spec(tick, list);
    return RULE_CONTINUE;
}

static const struct route gloo_group = {.resource = &gloo_groups,
                                        .format = group_format,
                                        .sides = group_sides,
                                        .wanted = group_wanted,
                                        .plain = group_plain,
                                        .name = group_name,
                                        .bare = true};

/* --- names */

enum { MAX_HEADERS = 64 };

/* side: "primary" or "canary". The port is that of its Service, or "*" for any. */
static const char *upstream_name(struct arena *arena, const struct canary *canary, const char *side,
                                 const char *port)
{
    return arena_printf(arena, "%s-%s-%supstream-%s", canary->namespace_, canary->service.name,
                        side, port);
}

static const char *const *gloo_names(struct arena *arena, const struct canary *canary,
                                     const struct kube_resource *resource)
{
    const char **names = arena_array(arena, 3, sizeof *names);
    const char *port = arena_printf(arena, "%d", canary->service.port);
    bool sides = kube_resource_same(resource, &upstreams);

    names[0] = sides ? upstream_name(arena, canary, "primary", port) : canary->service.name;
    if (kube_resource_same(resource, &gloo_groups))
        names[0] = canary->target.name;
    names[1] = sides ? upstream_name(arena, canary, "canary", port) : NULL;
    names[2] = NULL;
    return names;
}

/* Of the Upstreams that the routes lead to. */
static const char *side_upstream(struct tick *tick, const char *side)
{
    return upstream_name(tick->arena, tick->canary, side,
                         arena_printf(tick->arena, "%d", tick_route_port(tick)));
}

static struct split_sides gloo_sides(struct arena *arena, const struct canary *canary)
{
    return (struct split_sides){upstream_name(arena, canary, "primary", "*"),
                                upstream_name(arena, canary, "canary", "*")};
}

/* --- checks of a spec */

/* spec.upstreamRef; name is NULL if missing. */
static struct canary_ref settings_ref(const struct canary *canary)
{
    struct json_object *given = json_at(canary->json, "spec", "upstreamRef", NULL);
    const char *namespace_ = json_str_at(given, "namespace", NULL);

    return (struct canary_ref){.name = json_str_at(given, "name", NULL),
                               .namespace_ =
                                   namespace_ && *namespace_ ? namespace_ : canary->namespace_};
}

static const char *gloo_check(struct arena *arena, const struct canary *canary)
{
    static const char *const ways[] = {"exact", "regex", NULL};
    const char *why = route_check(arena, canary);

    return why ? why : headers_mistake(arena, canary, "Gloo", ways, MAX_HEADERS);
}

/* --- RouteTable */

/* A weight of 0 is omitted, as Gloo's own tools do. */
static const struct split_format *gloo_format(const struct canary *canary)
{
    static const struct split_format format = {.rules = {"spec", "routes"},
                                               .backends = {"routeAction", "multi", "destinations"},
                                               .name = {"destination", "upstream", "name"}};

    (void)canary;
    return &format;
}

static void add_destination(struct tick *tick, struct json_object *list, const char *upstream,
                            int weight, struct json_object *live)
{
    struct json_object *out = edit_object(tick->arena);
    struct json_object *to = json_sub(json_sub(out, "destination"), "upstream");

    json_set_str(to, "name", upstream);
    json_set_str(to, "namespace", tick->canary->namespace_);
    json_set(out, "weight", NULL);
    if (weight > 0)
        json_set_int(out, "weight", weight);
    edit_pair(out, live);
    edit_add(list, out);
}

static struct json_object *destinations(struct tick *tick, const struct route_rule *rule)
{
    const struct split_sides sides = gloo_sides(tick->arena, tick->canary);
    const struct split_format *format = gloo_format(tick->canary);
    struct json_object *out = edit_array(tick->arena);

    add_destination(tick, out, side_upstream(tick, "primary"), rule->primary,
                    split_backend(format, rule->live, sides.primary));
    if (rule->canary >= 0)
        add_destination(tick, out, side_upstream(tick, "canary"), rule->canary,
                        split_backend(format, rule->live, sides.canary));
    return out;
}

static struct json_object *matchers(struct tick *tick)
{
    struct json_object *out = edit_array(tick->arena), *matcher = edit_object(tick->arena);
    struct json_object *list = edit_array(tick->arena);
    struct header_match *headers;
    size_t count = headers_of_test(tick->arena, tick->canary, &headers);

    for (size_t i = 0; i < count; i++) {
        struct json_object *header = edit_object(tick->arena);
        json_set_str(header, "name", headers[i].name);
        json_set_str(header, "value", headers[i].value);
        if (strcmp(headers[i].how, "regex") == 0)
            json_set_bool(header, "regex", true);
        edit_pair(header, NULL);
        edit_add(list, header);
    }
    json_set(matcher, "headers", list);
    edit_add(out, matcher);
    return out;
}

/* key: "multi" or "single", the kind of destination of the action. */
static struct json_object *one_route(struct tick *tick, const char *key, struct json_object *to)
{
    struct json_object *out = edit_object(tick->arena), *action = json_sub(out, "routeAction");

    json_set_bool(out, "inheritablePathMatchers", true);
    json_set(out, "matchers", NULL);
    json_set(action, "multi", NULL);
    json_set(action, "single", NULL);
    json_set(action, "upstreamGroup", NULL);
    json_set(action, key, to);
    return out;
}

static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    struct json_object *routes = edit_array(tick->arena);
    struct route_rule rules[ROUTE_MAX_RULES];
    int count = route_rules(tick, weights, split, rules);

    (void)live;
    for (int i = 0; i < count; i++) {
        struct json_object *multi = edit_object(tick->arena);
        json_set(multi, "destinations", destinations(tick, &rules[i]));
        struct json_object *one = one_route(tick, "multi", multi);
        if (rules[i].matched)
            json_set(one, "matchers", matchers(tick));
        edit_pair(one, rules[i].live);
        edit_add(routes, one);
    }
    *out = route_metadata(tick);
    json_set(json_sub(*out, "spec"), "routes", routes);
    return RULE_CONTINUE;
}

/* Leads to the Service itself, since the Upstreams are deleted with the Canary. */
static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    struct json_object *routes = edit_array(tick->arena), *to = edit_object(tick->arena);
    struct json_object *kube = json_sub(to, "kube");

    (void)live;
    json_set_str(json_sub(kube, "ref"), "name", tick->canary->service.name);
    json_set_str(json_sub(kube, "ref"), "namespace", tick->canary->namespace_);
    json_set_int(kube, "port", tick_apex_port(tick));
    edit_add(routes, one_route(tick, "single", to));
    *out = route_metadata(tick);
    json_set(json_sub(*out, "spec"), "routes", routes);
    return RULE_CONTINUE;
}

/* --- Upstreams */

/* settings: the object to take the settings from, NULL if none. */
static struct json_object *upstream(struct tick *tick, const char *service,
                                    struct json_object *selector, struct json_object *settings,
                                    struct json_object *live)
{
    static const char *const keys[] = {"sslConfig",
                                       "circuitBreakers",
                                       "connectionConfig",
                                       "loadBalancerConfig",
                                       "useHttp2",
                                       "initialStreamWindowSize",
                                       "initialConnectionWindowSize",
                                       "httpProxyHostname"};
    struct json_object *out = edit_object(tick->arena), *spec = json_sub(out, "spec");
    struct json_object *kube = json_sub(spec, "kube");

    json_set_str(kube, "serviceName", service);
    json_set_str(kube, "serviceNamespace", tick->canary->namespace_);
    json_set_int(kube, "servicePort", tick_route_port(tick));
    if (selector)
        json_set(
            kube, "selector",
            route_whole(tick->arena, selector, json_at(live, "spec", "kube", "selector", NULL)));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct json_object *given = json_at(settings, "spec", keys[i], NULL);
        struct json_object *had = json_at(live, "spec", keys[i], NULL);
        if (settings)
            json_set(spec, keys[i], route_whole(tick->arena, given, had));
    }
    return out;
}

struct found {
    struct json_object *live[2], *selectors[2], *settings;
};

static bool need_found(struct tick *tick, const char *const *names, struct found *found)
{
    const struct canary_service *service = &tick->canary->service;
    const struct canary_ref ref = settings_ref(tick->canary);
    bool known = true;

    *found = (struct found){.settings = NULL};
    for (int i = 0; i < 2; i++) {
        const char *side = i == 0 ? service->primary_name : service->canary_name;
        known =
            need_object(tick, &upstreams, tick->canary->namespace_, names[i], &found->live[i]) &&
            known;
        known = route_selector(tick, side, &found->selectors[i]) && known;
    }
    if (ref.name)
        known = need_object(tick, &upstreams, ref.namespace_, ref.name, &found->settings) && known;
    return known;
}

/* An object in another namespace that names certificates or a proxy is read only if it is about a
 * Service of the Canary, as discovered ones are: other objects may belong to another tenant. */
static bool may_read(const struct tick *tick, struct json_object *settings)
{
    const char *of = json_str_at(settings, "spec", "kube", "serviceNamespace", NULL);
    const char *own = tick->canary->namespace_;
    const struct canary_ref ref = settings_ref(tick->canary);

    return strcmp(ref.namespace_, own) == 0 || (of && strcmp(of, own) == 0) ||
           (!json_at(settings, "spec", "sslConfig", NULL) &&
            !json_at(settings, "spec", "httpProxyHostname", NULL));
}

/* The Upstreams come before the RouteTable, which leads to them. An Upstream is not created without
 * its settings; an existing one keeps its own. */
static enum rule_result reconcile_table(struct tick *tick)
{
    const struct canary_service *service = &tick->canary->service;
    const char *const names[] = {side_upstream(tick, "primary"), side_upstream(tick, "canary")};
    const struct canary_ref ref = settings_ref(tick->canary);
    struct found found;

    if (!need_found(tick, names, &found))
        return RULE_NEEDS_FACTS;
    bool made = found.live[0] && found.live[1];
    if (found.settings && !may_read(tick, found.settings)) {
        if (!made)
            return plan_block(tick,
                              "spec.upstreamRef: Upstream %s.%s names certificates or a proxy and "
                              "is not about this namespace; expected one with "
                              "spec.kube.serviceNamespace: %s",
                              ref.name, ref.namespace_, tick->canary->namespace_);
        found.settings = NULL;
    }
    if (ref.name && !found.settings && !made)
        return plan_block(tick, "spec.upstreamRef: Upstream %s.%s not found", ref.name,
                          ref.namespace_);
    for (int i = 0; i < 2; i++) {
        const char *side = i == 0 ? service->primary_name : service->canary_name;
        struct json_object *live = found.live[i];
        struct json_object *settings = found.settings ? found.settings : live;
        route_beside(tick, &upstreams, names[i], live,
                     upstream(tick, side, found.selectors[i], ref.name ? settings : NULL, live),
                     false);
    }
    return route_reconcile(tick);
}

/* --- choice */

static const struct route route;

/* An existing UpstreamGroup already serves. */
static const struct route *choose(struct tick *tick)
{
    struct json_object *group;

    if (!need_object(tick, &gloo_groups, tick->canary->namespace_, tick->canary->target.name,
                     &group))
        return NULL;
    return group ? &gloo_group : &route;
}

static enum rule_result reconcile(struct tick *tick)
{
    const struct route *chosen = choose(tick);

    if (!chosen)
        return RULE_NEEDS_FACTS;
    return chosen == &gloo_group ? route_reconcile(tick) : reconcile_table(tick);
}

static const struct route route = {.resource = &route_tables,
                                   .format = gloo_format,
                                   .sides = gloo_sides,
                                   .wanted = wanted,
                                   .plain = plain,
                                   .choose = choose};
static const char *const providers[] = {"gloo", "gloo:*", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &upstreams, &route_tables,
                                                        &gloo_groups, NULL};

const struct router router_gloo = {
    .providers = providers,
    .about = "Gloo, RouteTable and Upstream",
    .resources = resources,
    .names = gloo_names,
    .metric_family = "gloo",
    .route = &route,
    .weighted = true,
    .finest = 1,
    .matches = true,
    .check = gloo_check,
    .ignored = ignored_but_weights,
    .reconcile = reconcile,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = route_revert,
    .disown = route_disown,
};
