/*
 * TrafficSplit of the Service Mesh Interface (router/OBJECTS.md): its versions, and the meshes that
 * read it.
 */
#include <string.h>

#include "router/router.h"
#include "router/shared/route.h"
#include "tick/edit.h"

/* From v1alpha2 on, the part of a split that we write has the same format. The last release of the
 * SMI's CRD serves only v1alpha4. */
#define GROUP "split.smi-spec.io"
static const struct kube_version also_v1alpha2[] = {
    {GROUP, "v1alpha4"}, {GROUP, "v1alpha3"}, {NULL, NULL}};
static const struct kube_version also_v1alpha3[] = {
    {GROUP, "v1alpha4"}, {GROUP, "v1alpha2"}, {NULL, NULL}};

#define SMI(v, others)                                                                             \
    {                                                                                              \
        .group = GROUP, .version = (v), .plural = "trafficsplits", .kind = "TrafficSplit",         \
        .also = (others), .meshed = true                                                           \
    }
static const struct kube_resource smi_v1alpha1 = SMI("v1alpha1", NULL);
static const struct kube_resource smi_v1alpha2 = SMI("v1alpha2", also_v1alpha2);
static const struct kube_resource smi_v1alpha3 = SMI("v1alpha3", also_v1alpha3);

static const struct split_format *smi_format(const struct canary *canary)
{
    static const struct split_format format = {
        .rules = {"spec"}, .backends = {"backends"}, .name = {"service"}};

    (void)canary;
    return &format;
}

/* Weights in v1alpha1 are quantities, which are strings. */
static void add_backend(struct tick *tick, struct json_object *backends, const char *name,
                        int weight, struct json_object *live)
{
    const struct route *route = router_find(tick->provider)->route;
    struct json_object *backend = edit_object(tick->arena);

    json_set_str(backend, "service", name);
    if (route->resource == &smi_v1alpha1)
        json_set_str(backend, "weight", arena_printf(tick->arena, "%d", weight));
    else
        json_set_int(backend, "weight", weight);
    edit_pair(backend, live);
    edit_add(backends, backend);
}

/* For the Istio adapter, which turns the split into a VirtualService: "smi:v1alpha1:istio". */
static void set_gateways(struct tick *tick, struct json_object *out)
{
    static const char key[] = "VirtualService.v1alpha3.networking.istio.io/spec.gateways";
    struct json_object *gateways = json_at(tick->canary->service.json, "gateways", NULL);
    const char *mesh = strrchr(tick->provider, ':');

    if (mesh && strcmp(mesh, ":istio") == 0 && json_len(gateways) > 0)
        json_set_str(json_sub(json_sub(out, "metadata"), "annotations"), key,
                     json_text(tick->arena, gateways));
}

static struct json_object *with_backends(struct tick *tick, struct json_object *backends)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *out = edit_object(tick->arena);
    struct json_object *host = json_elem(service->hosts, 0);
    struct json_object *spec = json_sub(out, "spec");

    json_set_str(spec, "service", host ? json_object_get_string(host) : service->name);
    json_set(spec, "backends", backends);
    set_gateways(tick, out);
    return out;
}

static enum rule_result wanted(struct tick *tick, const struct weights *weights,
                               const struct split *split, struct json_object *live,
                               struct json_object **out)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *backends = edit_array(tick->arena);

    (void)live;
    add_backend(tick, backends, service->canary_name, weight_relative(weights->canary),
                split->canary);
    add_backend(tick, backends, service->primary_name, weight_relative(weights->primary),
                split->primary);
    *out = with_backends(tick, backends);
    return RULE_CONTINUE;
}

static enum rule_result plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    struct json_object *backends = edit_array(tick->arena);

    (void)live;
    add_backend(tick, backends, tick->canary->service.name, 100, NULL);
    *out = with_backends(tick, backends);
    return RULE_CONTINUE;
}

#define ROUTE(version)                                                                             \
    {                                                                                              \
        .resource = &(version), .format = smi_format, .wanted = wanted, .plain = plain,            \
        .bare = true                                                                               \
    }
static const struct route route_v1alpha1 = ROUTE(smi_v1alpha1);
static const struct route route_v1alpha2 = ROUTE(smi_v1alpha2);
static const struct route route_v1alpha3 = ROUTE(smi_v1alpha3);

/* --- the meshes: provider names, version, metrics and description */

#define SMI_ROUTER(names, version, family, line)                                                   \
    {                                                                                              \
        .providers = (names), .about = (line), .resources = kinds_##version,                       \
        .metric_family = (family), .route = &route_##version, .weighted = true, .finest = 1,       \
        .check = route_check, .ignored = ignored_but_weights, .reconcile = route_reconcile,        \
        .get = route_get, .settled = route_settled, .set = route_set, .revert = route_revert,      \
        .disown = route_disown                                                                     \
    }
#define KINDS(version)                                                                             \
    static const struct kube_resource *const kinds_##version[] = {&kube_services, &smi_##version,  \
                                                                  NULL}
KINDS(v1alpha1);
KINDS(v1alpha2);
KINDS(v1alpha3);

static const char *const names_v1alpha1[] = {"smi:v1alpha1*", NULL};
static const char *const names_v1alpha2[] = {"smi:v1alpha2*", NULL};
static const char *const names_v1alpha3[] = {"smi:v1alpha3*", NULL};
static const char *const names_linkerd[] = {"linkerd", NULL};
static const char *const names_osm[] = {"osm", NULL};
static const char *const names_crossover[] = {
    "smi:crossover", "envoy:smi", "crossover", "crossover:service", "envoy", "envoy:service", NULL};

const struct router router_smi_v1alpha1 =
    SMI_ROUTER(names_v1alpha1, v1alpha1, "istio", "Service Mesh Interface, TrafficSplit v1alpha1");
const struct router router_smi_v1alpha2 =
    SMI_ROUTER(names_v1alpha2, v1alpha2, "istio", "Service Mesh Interface, TrafficSplit v1alpha2");
const struct router router_smi_v1alpha3 =
    SMI_ROUTER(names_v1alpha3, v1alpha3, "istio", "Service Mesh Interface, TrafficSplit v1alpha3");
const struct router router_linkerd = SMI_ROUTER(
    names_linkerd, v1alpha1, "linkerd", "Linkerd with the SMI extension, TrafficSplit v1alpha1");
const struct router router_osm =
    SMI_ROUTER(names_osm, v1alpha2, "osm", "Open Service Mesh, TrafficSplit v1alpha2");
const struct router router_crossover = SMI_ROUTER(names_crossover, v1alpha1, "crossover",
                                                  "Envoy with Crossover, TrafficSplit v1alpha1");
