#include "api/objkind.h"

#include <string.h>

#include "api/objconvert.h"
#include "api/objdefaults.h"
#include "api/objvalidate.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define NO_NAMES   NAMES()
#define ALL        NAMES("all")
/* The sandbox keeps one shape per kind: all versions of a built-in kind have the same subresources.
 */
#define VERSIONS(...) ((const struct objversion[]){__VA_ARGS__, {0}})
#define V1            VERSIONS({.name = "v1", .served = true})
#define V1_STATUS     VERSIONS({.name = "v1", .served = true, .flags = OBJKIND_STATUS})
#define V1_SCALE      VERSIONS({.name = "v1", .served = true, .flags = OBJKIND_STATUS, .scale = SCALE})
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

static const struct objkind builtin[] = {
    KIND("", "Namespace", "namespaces", "namespace", V1_STATUS, NAMES("ns"), NO_NAMES,
         OBJKIND_STATUS, .defaults = objdefaults_namespace, .validate = objvalidate_namespace),
    KIND("", "Node", "nodes", "node", V1_STATUS, NAMES("no"), NO_NAMES, OBJKIND_STATUS),
    KIND("", "Pod", "pods", "pod", V1_STATUS, NAMES("po"), ALL, OBJKIND_NAMESPACED | OBJKIND_STATUS,
         .defaults = objdefaults_pod, .validate = objvalidate_pod),
    KIND("", "Service", "services", "service", V1_STATUS, NAMES("svc"), ALL,
         OBJKIND_NAMESPACED | OBJKIND_STATUS, .defaults = objdefaults_service,
         .validate = objvalidate_service),
    KIND("", "Endpoints", "endpoints", "endpoints", V1, NAMES("ep"), NO_NAMES, OBJKIND_NAMESPACED),
    KIND("", "ConfigMap", "configmaps", "configmap", V1, NAMES("cm"), NO_NAMES, OBJKIND_NAMESPACED,
         .validate = objvalidate_configmap),
    KIND("", "Secret", "secrets", "secret", V1, NO_NAMES, NO_NAMES, OBJKIND_NAMESPACED,
         .defaults = objdefaults_secret, .validate = objvalidate_secret),
    KIND("", "ServiceAccount", "serviceaccounts", "serviceaccount", V1, NAMES("sa"), NO_NAMES,
         OBJKIND_NAMESPACED),
    KIND("", "Event", "events", "event", V1, NAMES("ev"), NO_NAMES, OBJKIND_NAMESPACED,
         .validate = objvalidate_event),
    KIND("events.k8s.io", "Event", "events", "event", V1, NAMES("ev"), NO_NAMES, OBJKIND_NAMESPACED,
         .storage_group = "", .validate = objvalidate_event, .convert = objconvert_event),
    KIND("discovery.k8s.io", "EndpointSlice", "endpointslices", "endpointslice", V1, NO_NAMES,
         NO_NAMES, OBJKIND_NAMESPACED | OBJKIND_GENERATION),
    KIND("coordination.k8s.io", "Lease", "leases", "lease", V1, NO_NAMES, NO_NAMES,
         OBJKIND_NAMESPACED, .validate = objvalidate_lease),
    KIND("apps", "Deployment", "deployments", "deployment", V1_SCALE, NAMES("deploy"), ALL,
         OBJKIND_NAMESPACED | OBJKIND_STATUS | OBJKIND_GENERATION | OBJKIND_ANNOTATIONS,
         .defaults = objdefaults_deployment, .validate = objvalidate_workload),
    KIND("apps", "ReplicaSet", "replicasets", "replicaset", V1_SCALE, NAMES("rs"), ALL,
         OBJKIND_NAMESPACED | OBJKIND_STATUS | OBJKIND_GENERATION,
         .defaults = objdefaults_replicaset, .validate = objvalidate_workload),
    KIND("apps", "DaemonSet", "daemonsets", "daemonset", V1_STATUS, NAMES("ds"), ALL,
         OBJKIND_NAMESPACED | OBJKIND_STATUS | OBJKIND_GENERATION,
         .defaults = objdefaults_daemonset, .validate = objvalidate_workload),
    KIND("apps", "ControllerRevision", "controllerrevisions", "controllerrevision", V1, NO_NAMES,
         NO_NAMES, OBJKIND_NAMESPACED),
    KIND_KEPT_AS(
        "v2", "autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers",
        "horizontalpodautoscaler",
        VERSIONS({.name = "v2", .served = true, .flags = OBJKIND_STATUS},
                 {.name = "v1", .served = true, .flags = OBJKIND_STATUS},
                 {.name = "v2beta2", .served = true, .flags = OBJKIND_STATUS, .deprecated = true}),
        NAMES("hpa"), ALL, OBJKIND_NAMESPACED | OBJKIND_STATUS, .defaults = objdefaults_hpa,
        .validate = objvalidate_hpa, .convert = objconvert_hpa),
    KIND("networking.k8s.io", "Ingress", "ingresses", "ingress", V1_STATUS, NAMES("ing"), NO_NAMES,
         OBJKIND_NAMESPACED | OBJKIND_STATUS | OBJKIND_GENERATION, .validate = objvalidate_ingress),
    KIND("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions",
         "customresourcedefinition", V1_STATUS, NAMES("crd", "crds"), NAMES("api-extensions"),
         OBJKIND_STATUS | OBJKIND_GENERATION, .defaults = objdefaults_crd,
         .validate = objvalidate_crd),
    KIND("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", "clusterrole", V1, NO_NAMES,
         NO_NAMES, 0),
    KIND("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings",
         "clusterrolebinding", V1, NO_NAMES, NO_NAMES, 0),
    KIND("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
         "selfsubjectaccessreview", V1, NO_NAMES, NO_NAMES, OBJKIND_REVIEW),
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
