#include "api/objkind.h"

#include <string.h>

#include "api/objbuiltin.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define NO_NAMES   NAMES()
#define ALL        NAMES("all")
/* The sandbox keeps one shape per kind: all versions of a built-in kind have the same subresources.
 */
#define VERSIONS(...)  ((const struct objversion[]){__VA_ARGS__, {0}})
#define V1             VERSIONS({.name = "v1", .served = true})
#define V1_COLUMNS(of) VERSIONS({.name = "v1", .served = true, .columns = (of)})
#define V1_STATUS(of)                                                                              \
    VERSIONS({.name = "v1", .served = true, .flags = OBJKIND_STATUS, .columns = (of)})
#define V1_SCALE(of)                                                                               \
    VERSIONS(                                                                                      \
        {.name = "v1", .served = true, .flags = OBJKIND_STATUS, .scale = SCALE, .columns = (of)})
#define SCALE                                                                                      \
    {                                                                                              \
        .spec_replicas = ".spec.replicas", .status_replicas = ".status.replicas",                  \
        .selector = ".spec.selector"                                                               \
    }

/* One served kind, its objects kept as version KEPT. What follows the flags are further members. */
#define KIND_KEPT_AS(kept, group_, kind_, plural_, singular_, versions_, short_names_,             \
                     categories_, flags_, ...)                                                     \
    {                                                                                              \
        .group = (group_), .kind = (kind_), .list_kind = kind_ "List", .plural = (plural_),        \
        .singular = (singular_), .versions = (versions_), .storage = (kept),                       \
        .short_names = (short_names_), .categories = (categories_), .flags = (flags_),             \
        .served = true, __VA_ARGS__                                                                \
    }
#define KIND(...) KIND_KEPT_AS("v1", __VA_ARGS__)

/* ---- what `kubectl get` prints, as far as one path tells it ---- */

#define COLUMNS(id, ...) static const struct table_column id[] = {__VA_ARGS__, {0}}
#define TEXT(name_, path_)                                                                         \
    {                                                                                              \
        .name = (name_), .type = "string", .path = (path_)                                         \
    }
#define NUMBER(name_, path_)                                                                       \
    {                                                                                              \
        .name = (name_), .type = "integer", .path = (path_)                                        \
    }
#define AGE                                                                                        \
    {                                                                                              \
        .name = "Age", .type = "date", .path = ".metadata.creationTimestamp"                       \
    }

COLUMNS(phases, TEXT("Status", ".status.phase"), AGE);
COLUMNS(pods, TEXT("Ready", ".status.conditions[?(@.type==\"Ready\")].status"),
        TEXT("Status", ".status.phase"),
        NUMBER("Restarts", ".status.containerStatuses[0].restartCount"), AGE,
        TEXT("IP", ".status.podIP"));
COLUMNS(services, TEXT("Type", ".spec.type"), TEXT("Cluster-IP", ".spec.clusterIP"),
        NUMBER("Port", ".spec.ports[0].port"), AGE);
COLUMNS(events, {.name = "Last Seen", .type = "date", .path = ".lastTimestamp"},
        TEXT("Type", ".type"), TEXT("Reason", ".reason"), TEXT("Object", ".involvedObject.name"),
        TEXT("Message", ".message"));
COLUMNS(deployments, NUMBER("Wanted", ".spec.replicas"), NUMBER("Ready", ".status.readyReplicas"),
        NUMBER("Up-to-date", ".status.updatedReplicas"),
        NUMBER("Available", ".status.availableReplicas"), AGE);
COLUMNS(replicasets, NUMBER("Desired", ".spec.replicas"), NUMBER("Current", ".status.replicas"),
        NUMBER("Ready", ".status.readyReplicas"), AGE);
COLUMNS(daemonsets, NUMBER("Desired", ".status.desiredNumberScheduled"),
        NUMBER("Ready", ".status.numberReady"),
        NUMBER("Up-to-date", ".status.updatedNumberScheduled"), AGE);
COLUMNS(hpas, TEXT("Target", ".spec.scaleTargetRef.name"), NUMBER("Min", ".spec.minReplicas"),
        NUMBER("Max", ".spec.maxReplicas"), NUMBER("Replicas", ".status.currentReplicas"), AGE);

static const struct objkind builtin[] = {
    KIND("", "Namespace", "namespaces", "namespace", V1_STATUS(phases), NAMES("ns"), NO_NAMES,
         OBJKIND_STATUS, .defaults = objbuiltin_namespace),
    KIND("", "Node", "nodes", "node", V1_STATUS(NULL), NAMES("no"), NO_NAMES, OBJKIND_STATUS),
    KIND("", "Pod", "pods", "pod", V1_STATUS(pods), NAMES("po"), ALL,
         OBJKIND_NAMESPACED | OBJKIND_STATUS),
    KIND("", "Service", "services", "service", V1_STATUS(services), NAMES("svc"), ALL,
         OBJKIND_NAMESPACED | OBJKIND_STATUS, .defaults = objbuiltin_service,
         .validate = objbuiltin_check_service),
    KIND("", "Endpoints", "endpoints", "endpoints", V1, NAMES("ep"), NO_NAMES, OBJKIND_NAMESPACED),
    KIND("", "ConfigMap", "configmaps", "configmap", V1, NAMES("cm"), NO_NAMES, OBJKIND_NAMESPACED),
    KIND("", "Secret", "secrets", "secret", V1, NO_NAMES, NO_NAMES, OBJKIND_NAMESPACED,
         .defaults = objbuiltin_secret),
    KIND("", "ServiceAccount", "serviceaccounts", "serviceaccount", V1, NAMES("sa"), NO_NAMES,
         OBJKIND_NAMESPACED),
    KIND("", "Event", "events", "event", V1_COLUMNS(events), NAMES("ev"), NO_NAMES,
         OBJKIND_NAMESPACED, .validate = objbuiltin_check_event),
    KIND("discovery.k8s.io", "EndpointSlice", "endpointslices", "endpointslice", V1, NO_NAMES,
         NO_NAMES, OBJKIND_NAMESPACED | OBJKIND_GENERATION),
    KIND("coordination.k8s.io", "Lease", "leases", "lease", V1, NO_NAMES, NO_NAMES,
         OBJKIND_NAMESPACED),
    KIND("apps", "Deployment", "deployments", "deployment", V1_SCALE(deployments), NAMES("deploy"),
         ALL, OBJKIND_NAMESPACED | OBJKIND_STATUS | OBJKIND_GENERATION | OBJKIND_ANNOTATIONS,
         .defaults = objbuiltin_workload, .validate = objbuiltin_check_workload),
    KIND("apps", "ReplicaSet", "replicasets", "replicaset", V1_SCALE(replicasets), NAMES("rs"), ALL,
         OBJKIND_NAMESPACED | OBJKIND_STATUS | OBJKIND_GENERATION, .defaults = objbuiltin_workload,
         .validate = objbuiltin_check_workload),
    KIND("apps", "DaemonSet", "daemonsets", "daemonset", V1_STATUS(daemonsets), NAMES("ds"), ALL,
         OBJKIND_NAMESPACED | OBJKIND_STATUS | OBJKIND_GENERATION, .defaults = objbuiltin_workload,
         .validate = objbuiltin_check_workload),
    KIND("apps", "ControllerRevision", "controllerrevisions", "controllerrevision", V1, NO_NAMES,
         NO_NAMES, OBJKIND_NAMESPACED),
    KIND_KEPT_AS(
        "v2", "autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers",
        "horizontalpodautoscaler",
        VERSIONS({.name = "v2", .served = true, .flags = OBJKIND_STATUS, .columns = hpas},
                 {.name = "v2beta2", .served = true, .flags = OBJKIND_STATUS, .deprecated = true}),
        NAMES("hpa"), ALL, OBJKIND_NAMESPACED | OBJKIND_STATUS, .validate = objbuiltin_check_hpa),
    KIND("networking.k8s.io", "Ingress", "ingresses", "ingress", V1_STATUS(NULL), NAMES("ing"),
         NO_NAMES, OBJKIND_NAMESPACED | OBJKIND_STATUS | OBJKIND_GENERATION),
    KIND("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions",
         "customresourcedefinition", V1_STATUS(NULL), NAMES("crd", "crds"), NAMES("api-extensions"),
         OBJKIND_STATUS | OBJKIND_GENERATION, .defaults = objbuiltin_crd,
         .validate = objbuiltin_check_crd),
    KIND("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", "clusterrole", V1, NO_NAMES,
         NO_NAMES, 0),
    KIND("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings",
         "clusterrolebinding", V1, NO_NAMES, NO_NAMES, 0),
    {0},
};

const struct objkind *objkind_builtin(void)
{
    return builtin;
}

const struct objversion *objkind_version(const struct objkind *kind, const char *version)
{
    for (const struct objversion *v = kind->versions; v->name; v++)
        if (strcmp(v->name, version) == 0)
            return v;
    return NULL;
}

const char *objkind_api_version(struct arena *arena, const struct objkind *kind,
                                const char *version)
{
    return *kind->group ? arena_printf(arena, "%s/%s", kind->group, version) : version;
}

const char *objkind_resource(struct arena *arena, const struct objkind *kind)
{
    return *kind->group ? arena_printf(arena, "%s.%s", kind->plural, kind->group) : kind->plural;
}
