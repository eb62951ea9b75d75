#include "api/restproto_types.h"

#include <stddef.h>
#include <string.h>

#define FIELDS(...)                                                                                \
    (const struct proto_field[])                                                                   \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define MESSAGE(id, text, ...)                                                                     \
    const struct proto_message id = {.name = text, .fields = FIELDS(__VA_ARGS__)}
#define FIELD(type_, n, name_, ...)                                                                \
    {                                                                                              \
        .type = PROTO_##type_, .number = (n), .name = (name_), __VA_ARGS__                         \
    }
#define STR(n, name)      FIELD(STRING, n, name)
#define STRP(n, name)     FIELD(STRING, n, name, .pointer = true)
#define STRS(n, name)     FIELD(STRING, n, name, .shape = PROTO_LIST)
#define STRMAP(n, name)   FIELD(STRING, n, name, .shape = PROTO_MAP)
#define BYTESMAP(n, name) FIELD(BYTES, n, name, .shape = PROTO_MAP)
#define QUANTMAP(n, name) FIELD(QUANTITY, n, name, .shape = PROTO_MAP)
#define INT(n, name)      FIELD(INT, n, name)
#define INTP(n, name)     FIELD(INT, n, name, .pointer = true)
#define BOOL(n, name)     FIELD(BOOL, n, name)
#define BOOLP(n, name)    FIELD(BOOL, n, name, .pointer = true)
#define INTSTR(n, name)   FIELD(INT_OR_STRING, n, name, .pointer = true)
#define TIME(n, name)     FIELD(TIME, n, name)
#define SKIP(n, name)     FIELD(SKIP, n, name)
#define MSG(n, name, m)   FIELD(MESSAGE, n, name, .message = &(m))
#define MSGP(n, name, m)  FIELD(MESSAGE, n, name, .message = &(m), .pointer = true)
#define MSGS(n, name, m)  FIELD(MESSAGE, n, name, .message = &(m), .shape = PROTO_LIST)

MESSAGE(proto_type_meta, "TypeMeta", STR(1, "apiVersion"), STR(2, "kind"));

/* ---- meta/v1 ---- */

static MESSAGE(owner_reference, "OwnerReference", STR(1, "kind"), STR(3, "name"), STR(4, "uid"),
               STR(5, "apiVersion"), BOOLP(6, "controller"), BOOLP(7, "blockOwnerDeletion"));
static MESSAGE(object_meta, "ObjectMeta", STR(1, "name"), STR(2, "generateName"),
               STR(3, "namespace"), SKIP(4, "selfLink"), STR(5, "uid"), STR(6, "resourceVersion"),
               INT(7, "generation"), TIME(8, "creationTimestamp"), TIME(9, "deletionTimestamp"),
               INTP(10, "deletionGracePeriodSeconds"), STRMAP(11, "labels"),
               STRMAP(12, "annotations"), MSGS(13, "ownerReferences", owner_reference),
               STRS(14, "finalizers"), SKIP(17, "managedFields"));
static MESSAGE(requirement, "LabelSelectorRequirement", STR(1, "key"), STR(2, "operator"),
               STRS(3, "values"));
static MESSAGE(label_selector, "LabelSelector", STRMAP(1, "matchLabels"),
               MSGS(2, "matchExpressions", requirement));
static MESSAGE(preconditions, "Preconditions", STRP(1, "uid"), STRP(2, "resourceVersion"));
static MESSAGE(delete_options, "DeleteOptions", INTP(1, "gracePeriodSeconds"),
               MSGP(2, "preconditions", preconditions), BOOLP(3, "orphanDependents"),
               STRP(4, "propagationPolicy"), STRS(5, "dryRun"));

/* ---- core/v1 ---- */

static MESSAGE(namespace_spec, "NamespaceSpec", STRS(1, "finalizers"));
static MESSAGE(namespace_, "Namespace", MSG(1, "metadata", object_meta),
               MSG(2, "spec", namespace_spec), SKIP(3, "status"));
static MESSAGE(config_map, "ConfigMap", MSG(1, "metadata", object_meta), STRMAP(2, "data"),
               BYTESMAP(3, "binaryData"), BOOLP(4, "immutable"));
static MESSAGE(secret, "Secret", MSG(1, "metadata", object_meta), BYTESMAP(2, "data"),
               STR(3, "type"), STRMAP(4, "stringData"), BOOLP(5, "immutable"));
static MESSAGE(local_reference, "LocalObjectReference", STR(1, "name"));
static MESSAGE(object_reference, "ObjectReference", STR(1, "kind"), STR(2, "namespace"),
               STR(3, "name"), STR(4, "uid"), STR(5, "apiVersion"), STR(6, "resourceVersion"),
               STR(7, "fieldPath"));
static MESSAGE(service_account, "ServiceAccount", MSG(1, "metadata", object_meta),
               MSGS(2, "secrets", object_reference), MSGS(3, "imagePullSecrets", local_reference),
               BOOLP(4, "automountServiceAccountToken"));
static MESSAGE(service_port, "ServicePort", STR(1, "name"), STR(2, "protocol"), INT(3, "port"),
               INTSTR(4, "targetPort"), INT(5, "nodePort"), STRP(6, "appProtocol"));
static MESSAGE(service_spec, "ServiceSpec", MSGS(1, "ports", service_port), STRMAP(2, "selector"),
               STR(3, "clusterIP"), STR(4, "type"), STRS(5, "externalIPs"),
               STR(7, "sessionAffinity"), STR(8, "loadBalancerIP"),
               STRS(9, "loadBalancerSourceRanges"), STR(10, "externalName"),
               STR(11, "externalTrafficPolicy"), INT(12, "healthCheckNodePort"),
               BOOL(13, "publishNotReadyAddresses"), STRP(17, "ipFamilyPolicy"),
               STRS(18, "clusterIPs"), STRS(19, "ipFamilies"),
               BOOLP(20, "allocateLoadBalancerNodePorts"), STRP(21, "loadBalancerClass"),
               STRP(22, "internalTrafficPolicy"));
static MESSAGE(service, "Service", MSG(1, "metadata", object_meta), MSG(2, "spec", service_spec),
               SKIP(3, "status"));

/* ---- pods ---- */

static MESSAGE(container_port, "ContainerPort", STR(1, "name"), INT(2, "hostPort"),
               INT(3, "containerPort"), STR(4, "protocol"), STR(5, "hostIP"));
static MESSAGE(env_var, "EnvVar", STR(1, "name"), STR(2, "value"));
static MESSAGE(resources, "ResourceRequirements", QUANTMAP(1, "limits"), QUANTMAP(2, "requests"));
static MESSAGE(volume_mount, "VolumeMount", STR(1, "name"), BOOL(2, "readOnly"),
               STR(3, "mountPath"), STR(4, "subPath"));
static MESSAGE(container, "Container", STR(1, "name"), STR(2, "image"), STRS(3, "command"),
               STRS(4, "args"), STR(5, "workingDir"), MSGS(6, "ports", container_port),
               MSGS(7, "env", env_var), MSG(8, "resources", resources),
               MSGS(9, "volumeMounts", volume_mount), STR(13, "terminationMessagePath"),
               STR(14, "imagePullPolicy"), BOOL(16, "stdin"), BOOL(17, "stdinOnce"),
               BOOL(18, "tty"), STR(20, "terminationMessagePolicy"));
static MESSAGE(security_context, "PodSecurityContext", INTP(2, "runAsUser"),
               BOOLP(3, "runAsNonRoot"), INTP(5, "fsGroup"), INTP(6, "runAsGroup"));
static MESSAGE(pod_spec, "PodSpec", MSGS(2, "containers", container), STR(3, "restartPolicy"),
               INTP(4, "terminationGracePeriodSeconds"), INTP(5, "activeDeadlineSeconds"),
               STR(6, "dnsPolicy"), STRMAP(7, "nodeSelector"), STR(8, "serviceAccountName"),
               STR(9, "serviceAccount"), STR(10, "nodeName"), BOOL(11, "hostNetwork"),
               BOOL(12, "hostPID"), BOOL(13, "hostIPC"),
               MSGP(14, "securityContext", security_context),
               MSGS(15, "imagePullSecrets", local_reference), STR(16, "hostname"),
               STR(17, "subdomain"), STR(19, "schedulerName"),
               MSGS(20, "initContainers", container), STR(24, "priorityClassName"));
static MESSAGE(pod, "Pod", MSG(1, "metadata", object_meta), MSG(2, "spec", pod_spec),
               SKIP(3, "status"));
static MESSAGE(pod_template, "PodTemplateSpec", MSG(1, "metadata", object_meta),
               MSG(2, "spec", pod_spec));

/* ---- apps/v1 ---- */

static MESSAGE(rolling_update, "RollingUpdateDeployment", INTSTR(1, "maxUnavailable"),
               INTSTR(2, "maxSurge"));
static MESSAGE(strategy, "DeploymentStrategy", STR(1, "type"),
               MSGP(2, "rollingUpdate", rolling_update));
static MESSAGE(deployment_spec, "DeploymentSpec", INTP(1, "replicas"),
               MSGP(2, "selector", label_selector), MSG(3, "template", pod_template),
               MSG(4, "strategy", strategy), INT(5, "minReadySeconds"),
               INTP(6, "revisionHistoryLimit"), BOOL(7, "paused"),
               INTP(9, "progressDeadlineSeconds"));
static MESSAGE(deployment, "Deployment", MSG(1, "metadata", object_meta),
               MSG(2, "spec", deployment_spec), SKIP(3, "status"));

/* ---- the rest ---- */

static MESSAGE(hpa_target, "CrossVersionObjectReference", STR(1, "kind"), STR(2, "name"),
               STR(3, "apiVersion"));
static MESSAGE(hpa_spec_v1, "HorizontalPodAutoscalerSpec", MSG(1, "scaleTargetRef", hpa_target),
               INTP(2, "minReplicas"), INT(3, "maxReplicas"),
               INTP(4, "targetCPUUtilizationPercentage"));
static MESSAGE(hpa_v1, "HorizontalPodAutoscaler", MSG(1, "metadata", object_meta),
               MSG(2, "spec", hpa_spec_v1), SKIP(3, "status"));
static MESSAGE(rule, "PolicyRule", STRS(1, "verbs"), STRS(2, "apiGroups"), STRS(3, "resources"),
               STRS(4, "resourceNames"), STRS(5, "nonResourceURLs"));
static MESSAGE(cluster_role, "ClusterRole", MSG(1, "metadata", object_meta),
               MSGS(2, "rules", rule));
static MESSAGE(subject, "Subject", STR(1, "kind"), STR(2, "apiGroup"), STR(3, "name"),
               STR(4, "namespace"));
static MESSAGE(role_ref, "RoleRef", STR(1, "apiGroup"), STR(2, "kind"), STR(3, "name"));
static MESSAGE(cluster_role_binding, "ClusterRoleBinding", MSG(1, "metadata", object_meta),
               MSGS(2, "subjects", subject), MSG(3, "roleRef", role_ref));
static MESSAGE(resource_attributes, "ResourceAttributes", STR(1, "namespace"), STR(2, "verb"),
               STR(3, "group"), STR(4, "version"), STR(5, "resource"), STR(6, "subresource"),
               STR(7, "name"), SKIP(8, "fieldSelector"), SKIP(9, "labelSelector"));
static MESSAGE(url_attributes, "NonResourceAttributes", STR(1, "path"), STR(2, "verb"));
static MESSAGE(review_spec, "SelfSubjectAccessReviewSpec",
               MSGP(1, "resourceAttributes", resource_attributes),
               MSGP(2, "nonResourceAttributes", url_attributes));
static MESSAGE(access_review, "SelfSubjectAccessReview", MSG(1, "metadata", object_meta),
               MSG(2, "spec", review_spec), SKIP(3, "status"));
static MESSAGE(eviction, "Eviction", MSG(1, "metadata", object_meta),
               MSGP(2, "deleteOptions", delete_options));

const struct proto_message *proto_message_of(const char *kind)
{
    static const struct proto_message *const kinds[] = {
        &namespace_,
        &config_map,
        &secret,
        &service_account,
        &service,
        &pod,
        &deployment,
        &hpa_v1,
        &access_review,
        &cluster_role,
        &cluster_role_binding,
        &eviction,
        &delete_options,
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i]->name, kind) == 0)
            return kinds[i];
    return NULL;
}
