/*
 * SuperGloo, for old documents: RoutingRules of the mesh that the provider names,
 * `supergloo:MESH.NAMESPACE` (router/OBJECTS.md). One rule splits, the others do everything else.
 * Backends are the Upstreams that SuperGloo discovers in its own namespace.
 */
#include <string.h>

#include "base/clock.h"
#include "router/router.h"
#include "router/shared/route.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

static const struct kube_resource rules = {.group = "supergloo.solo.io",
                                           .version = "v1",
                                           .plural = "routingrules",
                                           .kind = "RoutingRule",
                                           .meshed = true};

#define PREFIX "supergloo:"
/* The rules besides the split. */
enum { RETRIES, HEADERS, CORS, MORE };
static const char *const suffixes[MORE] = {"retries", "headers", "cors"};

static const char *const *names(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource)
{
    const char **out = arena_array(arena, MORE + 2, sizeof *out);

    (void)resource;
    out[0] = canary->target.name;
    for (int i = 0; i < MORE; i++)
        out[i + 1] = arena_printf(arena, "%s-%s", canary->target.name, suffixes[i]);
    out[MORE + 1] = NULL;
    return out;
}

static const char *upstream(struct arena *arena, const struct canary *canary, const char *service,
                            const char *port)
{
    return arena_printf(arena, "%s-%s-%s", canary->namespace_, service, port);
}

static struct split_sides sides(struct arena *arena, const struct canary *canary)
{
    return (struct split_sides){upstream(arena, canary, canary->service.primary_name, "*"),
                                upstream(arena, canary, canary->service.canary_name, "*")};
}

static const struct split_format *format(const struct canary *canary)
{
    static const struct split_format format = {
        .rules = {"spec", "spec", "trafficShifting"},
        .backends = {"destinations", "destinations"},
        .name = {"destination", "upstream", "name"},
        .may_leave_out = true,
        .leaves_either = true,
    };

    (void)canary;
    return &format;
}

/* --- checks of a spec */

static const char *duration_mistake(struct arena *arena, struct json_object *from, const char *key,
                                    const char *at)
{
    const char *text = json_str_at(from, key, NULL);
    struct errinfo ei;
    int64_t ms;

    if (!text || !*text || duration_parse_ms(text, &ms, &ei) == ERR_OK)
        return NULL;
    return arena_printf(arena, "%s.%s: %s", at, key, ei.text);
}

/* "MESH.NAMESPACE" */
static bool names_mesh(const char *text)
{
    const char *dot = strchr(text, '.');

    return dot && dot > text && dot[1] && !strchr(dot + 1, '.');
}

static const char *check(struct arena *arena, const struct canary *canary)
{
    struct json_object *service = canary->service.json;

    if (canary->provider && !names_mesh(canary->provider + strlen(PREFIX)))
        return arena_printf(arena, "spec.provider: expected supergloo:MESH.NAMESPACE, found \"%s\"",
                            canary->provider);
    const char *why = route_check(arena, canary);
    if (!why)
        why = duration_mistake(arena, json_at(service, "retries", NULL), "perTryTimeout",
                               "spec.service.retries");
    return why ? why
               : duration_mistake(arena, json_at(service, "corsPolicy", NULL), "maxAge",
                                  "spec.service.corsPolicy");
}

static const char *ignored(struct arena *arena, const struct canary *canary)
{
    static const char *const keys[] = {"match",  "rewrite",       "timeout", "backendTimeout",
                                       "mirror", "trafficPolicy", NULL};
    static const char *const set[] = {"set", NULL}, *const cors[] = {"allowOrigins", NULL};
    struct json_object *headers = json_at(canary->service.json, "headers", NULL);
    struct ignored list = {.arena = arena, .text = ignored_of_service(arena, canary, keys, NULL)};

    ignored_add(&list, json_at(headers, "request", NULL), "spec.service.headers.request", set);
    ignored_add(&list, json_at(headers, "response", NULL), "spec.service.headers.response", set);
    ignored_add(&list, json_at(canary->service.json, "corsPolicy", NULL), "spec.service.corsPolicy",
                cors);
    return list.text;
}

/* --- rules */

/* The namespace after the dot in the provider; *mesh: the part before the dot. */
static const char *mesh_of(struct tick *tick, const char **mesh)
{
    const char *name = tick->provider + strlen(PREFIX);
    size_t len = strcspn(name, ".");

    *mesh = arena_strndup(tick->arena, name, len);
    return name[len] ? name + len + 1 : "";
}

static struct json_object *reference(struct tick *tick, const char *name)
{
    struct json_object *out = edit_object(tick->arena);
    const char *mesh, *namespace_ = mesh_of(tick, &mesh);

    json_set_str(out, "name", name ? name : mesh);
    json_set_str(out, "namespace", namespace_);
    return out;
}

static struct json_object *upstream_ref(struct tick *tick, const char *service, int port)
{
    const char *text = arena_printf(tick->arena, "%d", port);

    return reference(tick, upstream(tick->arena, tick->canary, service, text));
}

/* A rule for requests to the apex Service. what: its purpose. */
static struct json_object *rule(struct tick *tick, const char *what, struct json_object *value)
{
    struct json_object *out = edit_object(tick->arena), *spec = json_sub(out, "spec");
    struct json_object *list = edit_array(tick->arena);

    edit_add(list, upstream_ref(tick, tick->canary->service.name, tick_apex_port(tick)));
    json_set(spec, "targetMesh", reference(tick, NULL));
    json_set(json_sub(json_sub(spec, "destinationSelector"), "upstreamSelector"), "upstreams",
             list);
    json_set(json_sub(spec, "spec"), what, value);
    return out;
}

/* --- the split */

static void add_destination(struct tick *tick, struct json_object *list, const char *service,
                            int weight, struct json_object *live)
{
    struct json_object *out = edit_object(tick->arena);

    if (weight == 0)
        return;
    json_set(json_sub(out, "destination"), "upstream",
             upstream_ref(tick, service, tick_route_port(tick)));
    json_set_int(out, "weight", weight);
    edit_pair(out, live);
    edit_add(list, out);
}

static struct json_object *shifting(struct tick *tick, struct json_object *destinations)
{
    struct json_object *out = edit_object(tick->arena);

    json_set(json_sub(out, "destinations"), "destinations", destinations);
    return rule(tick, "trafficShifting", out);
}

static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    add_destination(tick, list, service->primary_name, weight_relative(weights->primary),
                    split->primary);
    add_destination(tick, list, service->canary_name, weight_relative(weights->canary),
                    split->canary);
    *out = shifting(tick, list);
    return RULE_CONTINUE;
}

static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    add_destination(tick, list, tick->canary->service.name, 100, NULL);
    *out = shifting(tick, list);
    return RULE_CONTINUE;
}

/* --- the others */

/* A duration as protocol buffers write it in JSON: in seconds. */
static void set_duration(struct tick *tick, struct json_object *out, const char *key,
                         const char *text)
{
    struct errinfo ei;
    int64_t ms;

    if (!text || !*text || duration_parse_ms(text, &ms, &ei) != ERR_OK)
        return;
    json_set_str(out, key,
                 ms % 1000 ? arena_printf(tick->arena, "%lld.%03llds", (long long)ms / 1000,
                                          (long long)ms % 1000)
                           : arena_printf(tick->arena, "%llds", (long long)ms / 1000));
}

static struct json_object *retries(struct tick *tick, struct json_object *given)
{
    struct json_object *out = edit_object(tick->arena), *most = json_sub(out, "maxRetries");

    edit_put(tick->arena, most, "attempts", json_at(given, "attempts", NULL));
    edit_put(tick->arena, most, "retryOn", json_at(given, "retryOn", NULL));
    set_duration(tick, most, "perTryTimeout", json_str_at(given, "perTryTimeout", NULL));
    return rule(tick, "retries", out);
}

static struct json_object *headers(struct tick *tick, struct json_object *given)
{
    static const char *const keys[][3] = {{"request", "add", "appendRequestHeaders"},
                                          {"request", "remove", "removeRequestHeaders"},
                                          {"response", "add", "appendResponseHeaders"},
                                          {"response", "remove", "removeResponseHeaders"}};
    struct json_object *out = edit_object(tick->arena);

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        edit_put(tick->arena, out, keys[i][2], json_at(given, keys[i][0], keys[i][1], NULL));
    return rule(tick, "headerManipulation", out);
}

static struct json_object *cors(struct tick *tick, struct json_object *given)
{
    static const char *const keys[] = {"allowOrigin", "allowMethods", "allowHeaders",
                                       "exposeHeaders", "allowCredentials"};
    struct json_object *out = edit_object(tick->arena);

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        edit_put(tick->arena, out, keys[i], json_at(given, keys[i], NULL));
    set_duration(tick, out, "maxAge", json_str_at(given, "maxAge", NULL));
    return rule(tick, "corsPolicy", out);
}

/* Removes rules that the spec no longer needs. */
static enum rule_result reconcile(struct tick *tick)
{
    static struct json_object *(*const make[MORE])(struct tick *,
                                                   struct json_object *) = {retries, headers, cors};
    static const char *const keys[MORE] = {"retries", "headers", "corsPolicy"};
    const char *const *name = names(tick->arena, tick->canary, &rules);
    const char *namespace_ = tick->canary->namespace_;
    struct json_object *live[MORE];
    bool known = true;

    for (int i = 0; i < MORE; i++)
        known = need_object(tick, &rules, namespace_, name[i + 1], &live[i]) && known;
    if (!known)
        return RULE_NEEDS_FACTS;
    for (int i = 0; i < MORE; i++) {
        struct json_object *given = json_at(tick->canary->service.json, keys[i], NULL);
        if (given)
            route_beside(tick, &rules, name[i + 1], live[i], make[i](tick, given), false);
        else if (live[i] && edit_is_owned(tick, live[i]))
            plan_delete(tick, &rules, live[i]);
    }
    return route_reconcile(tick);
}

static const struct route route = {.resource = &rules,
                                   .format = format,
                                   .sides = sides,
                                   .wanted = wanted,
                                   .plain = plain,
                                   .bare = true};
static const char *const providers[] = {PREFIX "*", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &rules, NULL};

const struct router router_supergloo = {
    .providers = providers,
    .about = "SuperGloo, RoutingRule",
    .resources = resources,
    .names = names,
    .metric_family = "istio",
    .route = &route,
    .weighted = true,
    .check = check,
    .ignored = ignored,
    .reconcile = reconcile,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = route_revert,
    .disown = route_disown,
};
