/*
 * Kuma: a TrafficRoute, or a MeshHTTPRoute if the cluster serves only that (router/OBJECTS.md).
 * Both describe the split of calls to one service.
 */
#include <string.h>

#include "router/router.h"
#include "router/shared/route.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

static const struct kube_resource traffic_routes = {.group = "kuma.io",
                                                    .version = "v1alpha1",
                                                    .plural = "trafficroutes",
                                                    .kind = "TrafficRoute",
                                                    .meshed = true,
                                                    .cluster_scoped = true};
static const struct kube_resource mesh_http_routes = {.group = "kuma.io",
                                                      .version = "v1alpha1",
                                                      .plural = "meshhttproutes",
                                                      .kind = "MeshHTTPRoute",
                                                      .meshed = true};
#define SERVICE_TAG "kuma.io/service"

/* A cluster-scoped name must include the namespace. (Flagger's does not: two Canaries with the same
 * name overwrite each other's routes.) */
static const char *const *kuma_names(struct arena *arena, const struct canary *canary,
                                     const struct kube_resource *resource)
{
    const char **names = arena_array(arena, 2, sizeof *names);
    const char *name = canary->service.name;

    names[0] =
        resource->cluster_scoped ? arena_printf(arena, "%s.%s", name, canary->namespace_) : name;
    names[1] = NULL;
    return names;
}

static const char *mesh_of(const struct canary *canary)
{
    const char *mesh = json_str_at(canary->json, "metadata", "annotations", "kuma.io/mesh", NULL);

    return mesh && *mesh ? mesh : "default";
}

/* --- TrafficRoute */

/* "podinfo_test_svc_80"; port "*" for any. */
static const char *tag(struct arena *arena, const struct canary *canary, const char *service,
                       const char *port)
{
    return arena_printf(arena, "%s_%s_svc_%s", service, canary->namespace_, port);
}

static const char *apex_tag(struct tick *tick)
{
    return tag(tick->arena, tick->canary, tick->canary->service.name,
               arena_printf(tick->arena, "%d", tick_apex_port(tick)));
}

static const char *side_tag(struct tick *tick, const char *service)
{
    return tag(tick->arena, tick->canary, service,
               arena_printf(tick->arena, "%d", tick_route_port(tick)));
}

static struct split_sides tags(struct arena *arena, const struct canary *canary)
{
    return (struct split_sides){tag(arena, canary, canary->service.primary_name, "*"),
                                tag(arena, canary, canary->service.canary_name, "*")};
}

static const struct split_format traffic_format = {
    .rules = {"spec", "conf"}, .backends = {"split"}, .name = {"destination", SERVICE_TAG}};

static const struct split_format *format_of_traffic(const struct canary *canary)
{
    (void)canary;
    return &traffic_format;
}

static void add_destination(struct tick *tick, struct json_object *list, const char *tagged,
                            int weight, struct json_object *live)
{
    struct json_object *out = edit_object(tick->arena);

    json_set_str(json_sub(out, "destination"), SERVICE_TAG, tagged);
    json_set_int(out, "weight", weight);
    edit_pair(out, live);
    edit_add(list, out);
}

static struct json_object *selectors(struct tick *tick, const char *service)
{
    struct json_object *out = edit_array(tick->arena), *one = edit_object(tick->arena);

    json_set_str(json_sub(one, "match"), SERVICE_TAG, service);
    edit_add(out, one);
    return out;
}

static struct json_object *traffic_route(struct tick *tick, struct json_object *destinations)
{
    struct json_object *out = route_metadata(tick), *spec = json_sub(out, "spec");
    struct json_object *conf = json_sub(spec, "conf");

    json_set_str(out, "mesh", mesh_of(tick->canary));
    json_set(spec, "sources", selectors(tick, "*"));
    json_set(spec, "destinations", selectors(tick, apex_tag(tick)));
    json_set(conf, "destination", NULL); /* not allowed together with a split */
    json_set(conf, "split", destinations);
    return out;
}

static enum rule_result wanted_traffic(struct tick *tick, const struct weights *weights,
                                       const struct split *split, struct json_object *live,
                                       struct json_object **out)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    add_destination(tick, list, side_tag(tick, service->primary_name),
                    weight_relative(weights->primary), split->primary);
    add_destination(tick, list, side_tag(tick, service->canary_name),
                    weight_relative(weights->canary), split->canary);
    *out = traffic_route(tick, list);
    return RULE_CONTINUE;
}

static enum rule_result plain_traffic(struct tick *tick, struct json_object *live,
                                      struct json_object **out)
{
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    add_destination(tick, list, apex_tag(tick), 100, NULL);
    *out = traffic_route(tick, list);
    return RULE_CONTINUE;
}

/* A route created by Flagger is named after the Service only, and its destinations match calls to
 * this Service. */
static bool is_for_us(struct tick *tick, struct json_object *live)
{
    struct json_object *first = json_elem(json_at(live, "spec", "destinations", NULL), 0);
    const char *service = json_str_at(first, "match", SERVICE_TAG, NULL);

    return service &&
           split_is_name(tag(tick->arena, tick->canary, tick->canary->service.name, "*"), service);
}

static const char *name_of_traffic(struct tick *tick)
{
    const char *own = kuma_names(tick->arena, tick->canary, &traffic_routes)[0];
    const char *flaggers = tick->canary->service.name;
    struct json_object *live, *found;
    bool known = need_object(tick, &traffic_routes, "", own, &live);

    known = need_object(tick, &traffic_routes, "", flaggers, &found) && known;
    if (!known)
        return NULL;
    return !live && found && is_for_us(tick, found) ? flaggers : own;
}

/* --- MeshHTTPRoute */

static const struct split_format http_format = {.rules = {"spec", "to", "0", "rules"},
                                                .backends = {"default", "backendRefs"},
                                                .name = {"labels", "kuma.io/display-name"},
                                                .missing = 1};

static const struct split_format *format_of_http(const struct canary *canary)
{
    (void)canary;
    return &http_format;
}

/* Refers to the Service by labels, which all versions of MeshHTTPRoute support. */
static struct json_object *mesh_service(struct tick *tick, const char *service)
{
    struct json_object *out = edit_object(tick->arena), *labels = json_sub(out, "labels");

    json_set_str(out, "kind", "MeshService");
    json_set_str(labels, "kuma.io/display-name", service);
    json_set_str(labels, "k8s.kuma.io/namespace", tick->canary->namespace_);
    return out;
}

static void add_backend(struct tick *tick, struct json_object *list, const char *service,
                        int weight, struct json_object *live)
{
    struct json_object *out = mesh_service(tick, service);

    json_set_int(out, "port", tick_route_port(tick));
    json_set_int(out, "weight", weight);
    edit_pair(out, live);
    edit_add(list, out);
}

static struct json_object *http_route(struct tick *tick, struct json_object *backends)
{
    struct json_object *out = route_metadata(tick), *to = edit_object(tick->arena);
    struct json_object *rule = edit_object(tick->arena), *match = edit_object(tick->arena);
    struct json_object *lists[] = {edit_array(tick->arena), edit_array(tick->arena),
                                   edit_array(tick->arena)};

    json_set_str(json_sub(json_sub(out, "metadata"), "labels"), "kuma.io/mesh",
                 mesh_of(tick->canary));
    json_set_str(json_sub(match, "path"), "type", "PathPrefix");
    json_set_str(json_sub(match, "path"), "value", "/");
    edit_add(lists[0], match);
    json_set(rule, "matches", lists[0]);
    json_set(json_sub(rule, "default"), "backendRefs", backends);
    edit_add(lists[1], rule);
    json_set(to, "targetRef", mesh_service(tick, tick->canary->service.name));
    json_set(to, "rules", lists[1]);
    edit_add(lists[2], to);
    json_set(json_sub(out, "spec"), "to", lists[2]);
    json_set_str(json_sub(json_sub(out, "spec"), "targetRef"), "kind", "Mesh");
    return out;
}

static enum rule_result wanted_http(struct tick *tick, const struct weights *weights,
                                    const struct split *split, struct json_object *live,
                                    struct json_object **out)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    add_backend(tick, list, service->primary_name, weight_relative(weights->primary),
                split->primary);
    add_backend(tick, list, service->canary_name, weight_relative(weights->canary), split->canary);
    *out = http_route(tick, list);
    return RULE_CONTINUE;
}

static enum rule_result plain_http(struct tick *tick, struct json_object *live,
                                   struct json_object **out)
{
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    add_backend(tick, list, tick->canary->service.name, 100, NULL);
    *out = http_route(tick, list);
    return RULE_CONTINUE;
}

static const struct route http = {.resource = &mesh_http_routes,
                                  .format = format_of_http,
                                  .wanted = wanted_http,
                                  .plain = plain_http};

/* --- choice */

static const struct route traffic;

/* Uses whichever exists. Only if neither does, asks the cluster for the served versions: listing an
 * unserved kind is an error, not an empty list. */
static const struct route *choose(struct tick *tick)
{
    const char *name = name_of_traffic(tick);
    struct json_object *live = NULL, *list;
    bool known = name && need_object(tick, &traffic_routes, "", name, &live);

    if (live)
        return &traffic;
    known = need_object(tick, &mesh_http_routes, tick->canary->namespace_,
                        tick->canary->service.name, &live) &&
            known;
    if (!known)
        return NULL;
    if (live)
        return &http;
    if (!need_objects(tick, &traffic_routes, "", &list))
        return NULL;
    return list ? &traffic : &http;
}

static const struct route traffic = {.resource = &traffic_routes,
                                     .format = format_of_traffic,
                                     .sides = tags,
                                     .wanted = wanted_traffic,
                                     .plain = plain_traffic,
                                     .choose = choose,
                                     .name = name_of_traffic};

/* --- deletion of a Canary */

/* A route of ours first leads to the apex Service, and is deleted once that is in effect: calls
 * then go where they went before. Hence it is never created again. */
static enum rule_result kuma_revert(struct tick *tick, bool recreate)
{
    (void)recreate;
    return route_revert(tick, false);
}

static enum rule_result kuma_disown(struct tick *tick)
{
    const struct route *route = choose(tick);
    struct json_object *live;

    if (!route || !route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    if (!live || !edit_is_owned(tick, live))
        return route_disown(tick);
    plan_delete(tick, route->resource, live);
    return RULE_CONTINUE;
}

static const char *const providers[] = {"kuma", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &traffic_routes,
                                                        &mesh_http_routes, NULL};

const struct router router_kuma = {
    .providers = providers,
    .about = "Kuma, TrafficRoute or MeshHTTPRoute",
    .resources = resources,
    .names = kuma_names,
    .metric_family = "kuma",
    .route = &traffic,
    .weighted = true,
    .finest = 1,
    .check = route_check,
    .ignored = ignored_but_weights,
    .reconcile = route_reconcile,
    .get = route_get,
    .settled = route_settled,
    .set = route_set,
    .revert = kuma_revert,
    .disown = kuma_disown,
};
