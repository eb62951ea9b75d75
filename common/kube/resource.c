#include "kube/resource.h"

#include <string.h>

#include "kube/kept_object.h"
#include "net/client.h"

const struct kube_resource kube_deployments = {
    .group = "apps", .version = "v1", .plural = "deployments", .kind = "Deployment"};
const struct kube_resource kube_daemonsets = {
    .group = "apps", .version = "v1", .plural = "daemonsets", .kind = "DaemonSet"};
const struct kube_resource kube_replicasets = {
    .group = "apps", .version = "v1", .plural = "replicasets", .kind = "ReplicaSet"};
const struct kube_resource kube_controllerrevisions = {.group = "apps",
                                                       .version = "v1",
                                                       .plural = "controllerrevisions",
                                                       .kind = "ControllerRevision"};
const struct kube_resource kube_services = {
    .group = "", .version = "v1", .plural = "services", .kind = "Service"};
const struct kube_resource kube_configmaps = {
    .group = "", .version = "v1", .plural = "configmaps", .kind = "ConfigMap"};
const struct kube_resource kube_secrets = {
    .group = "", .version = "v1", .plural = "secrets", .kind = "Secret"};
const struct kube_resource kube_events = {
    .group = "", .version = "v1", .plural = "events", .kind = "Event"};
/* Before Kubernetes 1.23. */
static const struct kube_version also_hpas[] = {{"autoscaling", "v2beta2"}, {NULL, NULL}};
const struct kube_resource kube_hpas = {.group = "autoscaling",
                                        .version = "v2",
                                        .plural = "horizontalpodautoscalers",
                                        .kind = "HorizontalPodAutoscaler",
                                        .scales = true,
                                        .also = also_hpas};
const struct kube_resource kube_scaledobjects = {.group = "keda.sh",
                                                 .version = "v1alpha1",
                                                 .plural = "scaledobjects",
                                                 .kind = "ScaledObject",
                                                 .scales = true};
const struct kube_resource kube_leases = {
    .group = "coordination.k8s.io", .version = "v1", .plural = "leases", .kind = "Lease"};
const struct kube_resource kube_knative_services = {.group = "serving.knative.dev",
                                                    .version = "v1",
                                                    .plural = "services",
                                                    .kind = "Service",
                                                    .news = "latestCreatedRevisionName"};
const struct kube_resource kube_knative_revisions = {
    .group = "serving.knative.dev", .version = "v1", .plural = "revisions", .kind = "Revision"};

const char *kube_api_version(struct arena *arena, const struct kube_resource *resource)
{
    if (!resource->group[0])
        return arena_strdup(arena, resource->version);
    return arena_printf(arena, "%s/%s", resource->group, resource->version);
}

const char *kube_path(struct arena *arena, const struct kube_resource *resource,
                      const char *namespace_, const char *name, const char *sub)
{
    const char *root = resource->group[0] ? "/apis" : "/api";
    const char *path = arena_printf(arena, "%s/%s", root, kube_api_version(arena, resource));

    if (namespace_ && !resource->cluster_scoped)
        path = arena_printf(arena, "%s/namespaces/%s", path, url_encode(arena, namespace_));
    path = arena_printf(arena, "%s/%s", path, resource->plural);
    if (name)
        path = arena_printf(arena, "%s/%s", path, url_encode(arena, name));
    if (name && sub)
        path = arena_printf(arena, "%s/%s", path, sub);
    return path;
}

bool kube_resource_same(const struct kube_resource *a, const struct kube_resource *b)
{
    return strcmp(a->group, b->group) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->plural, b->plural) == 0;
}

static bool is_part(const char *text, size_t len)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

    return len > 0 && strspn(text, inner) >= len && text[0] != '-' && text[len - 1] != '-';
}

bool kube_is_label(const char *text)
{
    enum { LONGEST = 63 };
    size_t len = strlen(text);

    return len <= LONGEST && is_part(text, len);
}

bool kube_is_name(const char *text)
{
    enum { LONGEST = 253 };

    if (strlen(text) > LONGEST)
        return false;
    for (;; text++) {
        size_t len = strcspn(text, ".");
        if (!is_part(text, len))
            return false;
        text += len;
        if (!*text)
            return true;
    }
}

enum { MAX_DIGITS = 18 }; /* fewer than the bits of a mark */

static const uint64_t NO_NUMBER = UINT64_C(1) << 63;

uint64_t version_mark(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    uint64_t number = 0;

    if (len == 0 || len > MAX_DIGITS || text[0] == '0' || text[strspn(text, "0123456789")])
        return name_hash(NULL, text) | NO_NUMBER;
    for (size_t i = 0; i < len; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    return number;
}

uint64_t version_number(uint64_t mark)
{
    return mark & NO_NUMBER ? 0 : mark;
}
