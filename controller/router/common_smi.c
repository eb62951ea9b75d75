#include "router/common_smi.h"

#include <string.h>

#include "tick/edit.h"

/* From v1alpha2 on, what we write of a split has one shape. The last CRD of the SMI serves v1alpha4
 * alone. */
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
const struct kube_resource smi_v1alpha1 = SMI("v1alpha1", NULL);
const struct kube_resource smi_v1alpha2 = SMI("v1alpha2", also_v1alpha2);
const struct kube_resource smi_v1alpha3 = SMI("v1alpha3", also_v1alpha3);

static const struct split_format *smi_format(const struct canary *canary)
{
    static const struct split_format format = {
        .rules = {"spec"}, .backends = {"backends"}, .name = {"service"}};

    (void)canary;
    return &format;
}

/* In v1alpha1, weights are quantities, which are texts. */
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

/* For the adapter of Istio, which makes a VirtualService of the split: "smi:v1alpha1:istio". */
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

static enum verdict wanted(struct tick *tick, const struct weights *weights,
                           const struct split *split, struct json_object *live,
                           struct json_object **out)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *backends = edit_array(tick->arena);

    (void)live;
    add_backend(tick, backends, service->canary_name, weights->canary, split->canary);
    add_backend(tick, backends, service->primary_name, weights->primary, split->primary);
    *out = with_backends(tick, backends);
    return VERDICT_GO;
}

static enum verdict plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    struct json_object *backends = edit_array(tick->arena);

    (void)live;
    add_backend(tick, backends, tick->canary->service.name, 100, NULL);
    *out = with_backends(tick, backends);
    return VERDICT_GO;
}

#define ROUTE(version)                                                                             \
    {                                                                                              \
        .resource = &(version), .format = smi_format, .wanted = wanted, .plain = plain,            \
        .bare = true                                                                               \
    }
const struct route smi_route_v1alpha1 = ROUTE(smi_v1alpha1);
const struct route smi_route_v1alpha2 = ROUTE(smi_v1alpha2);
const struct route smi_route_v1alpha3 = ROUTE(smi_v1alpha3);
