#include "api/objdefaults.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/quantity.h"

static bool has(struct json_object *obj, const char *key)
{
    return json_at(obj, key, NULL) != NULL;
}

static void fill_str(struct json_object *obj, const char *key, const char *value)
{
    if (!has(obj, key))
        json_set_str(obj, key, value);
}

static void fill_int(struct json_object *obj, const char *key, int64_t value)
{
    if (!has(obj, key))
        json_set_int(obj, key, value);
}

/* The object under key if there is one: defaults of a part are set only where the part is. */
static struct json_object *part(struct json_object *obj, const char *key)
{
    struct json_object *found = json_at(obj, key, NULL);
    return json_object_is_type(found, json_type_object) ? found : NULL;
}

/* Kubernetes keeps quantities in canonical form ("1000m" is stored as "1"). */
static void canonical_quantities(struct json_object *list)
{
    if (!list)
        return;
    struct arena *arena = arena_new();
    struct json_object *fixed = json_own(arena, json_object_new_object());
    json_object_object_foreach(list, name, value)
    {
        struct quantity quantity;
        char text[QUANTITY_TEXT];
        if (quantity_parse(json_object_get_string(value), &quantity, NULL) == ERR_OK)
            json_set_str(fixed, name, quantity_format(&quantity, text));
    }
    json_object_object_foreach(fixed, fixed_name, fixed_value)
    {
        json_set(list, fixed_name, fixed_value);
    }
    arena_free(arena);
}

static void resources(struct json_object *holder)
{
    struct json_object *res = json_sub(holder, "resources");
    struct json_object *limits = part(res, "limits");
    canonical_quantities(limits);
    canonical_quantities(part(res, "requests"));
    if (!limits)
        return;
    struct json_object *requests = json_sub(res, "requests");
    json_object_object_foreach(limits, name, value)
    {
        if (!has(requests, name))
            json_set(requests, name, value);
    }
}

static void http_get(struct json_object *action)
{
    struct json_object *get = part(action, "httpGet");
    if (get) {
        fill_str(get, "path", "/");
        fill_str(get, "scheme", "HTTP");
    }
}

static void probe(struct json_object *container, const char *name)
{
    struct json_object *it = part(container, name);
    if (!it)
        return;
    http_get(it);
    if (part(it, "grpc"))
        fill_str(part(it, "grpc"), "service", "");
    fill_int(it, "timeoutSeconds", 1);
    fill_int(it, "periodSeconds", 10);
    fill_int(it, "successThreshold", 1);
    fill_int(it, "failureThreshold", 3);
}

/* ":latest" and no tag at all are pulled always; a digest or another tag only when missing. */
static const char *pull_policy(const char *image)
{
    const char *slash = image ? strrchr(image, '/') : NULL;
    const char *base = slash ? slash + 1 : image;
    if (!base || strchr(base, '@'))
        return "IfNotPresent";
    const char *tag = strchr(base, ':');
    return !tag || strcmp(tag, ":latest") == 0 ? "Always" : "IfNotPresent";
}

static void container_env(struct json_object *container)
{
    struct json_object *env = json_at(container, "env", NULL);
    for (size_t i = 0; i < json_len(env); i++) {
        struct json_object *ref = json_at(json_elem(env, i), "valueFrom", "fieldRef", NULL);
        if (json_object_is_type(ref, json_type_object))
            fill_str(ref, "apiVersion", "v1");
    }
}

static void container(struct json_object *it, bool host_network)
{
    fill_str(it, "imagePullPolicy", pull_policy(json_str_at(it, "image", NULL)));
    fill_str(it, "terminationMessagePath", "/dev/termination-log");
    fill_str(it, "terminationMessagePolicy", "File");
    resources(it);
    struct json_object *ports = json_at(it, "ports", NULL);
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_elem(ports, i);
        if (!json_object_is_type(port, json_type_object))
            continue;
        fill_str(port, "protocol", "TCP");
        if (host_network)
            fill_int(port, "hostPort", json_int_at(port, 0, "containerPort", NULL));
    }
    container_env(it);
    probe(it, "livenessProbe");
    probe(it, "readinessProbe");
    probe(it, "startupProbe");
    http_get(json_at(it, "lifecycle", "postStart", NULL));
    http_get(json_at(it, "lifecycle", "preStop", NULL));
}

static void containers(struct json_object *spec, const char *key)
{
    struct json_object *list = json_at(spec, key, NULL);
    for (size_t i = 0; i < json_len(list); i++)
        if (json_object_is_type(json_elem(list, i), json_type_object))
            container(json_elem(list, i), json_bool_at(spec, false, "hostNetwork", NULL));
}

static void volumes(struct json_object *spec)
{
    static const char *const with_mode[] = {"secret", "configMap", "downwardAPI", "projected"};
    enum { MODE_0644 = 420 };
    struct json_object *list = json_at(spec, "volumes", NULL);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *volume = json_elem(list, i);
        if (!json_object_is_type(volume, json_type_object))
            continue;
        for (size_t k = 0; k < sizeof(with_mode) / sizeof(with_mode[0]); k++)
            if (part(volume, with_mode[k]))
                fill_int(part(volume, with_mode[k]), "defaultMode", MODE_0644);
        if (part(volume, "hostPath"))
            fill_str(part(volume, "hostPath"), "type", "");
        if (json_object_object_length(volume) == 1 && has(volume, "name"))
            json_sub(volume, "emptyDir");
        struct json_object *sources = json_at(volume, "projected", "sources", NULL);
        for (size_t k = 0; k < json_len(sources); k++) {
            struct json_object *token = part(json_elem(sources, k), "serviceAccountToken");
            if (token)
                fill_int(token, "expirationSeconds", 3600);
        }
    }
}

static void pod_spec(struct json_object *spec)
{
    containers(spec, "initContainers");
    containers(spec, "containers");
    volumes(spec);
    fill_str(spec, "restartPolicy", "Always");
    fill_int(spec, "terminationGracePeriodSeconds", 30);
    fill_str(spec, "dnsPolicy", "ClusterFirst");
    /* The old and the new name of one field are kept equal. */
    fill_str(spec, "serviceAccountName", json_str_at(spec, "serviceAccount", NULL));
    fill_str(spec, "serviceAccount", json_str_at(spec, "serviceAccountName", NULL));
    json_sub(spec, "securityContext");
    fill_str(spec, "schedulerName", "default-scheduler");
}

/* The pod template's spec, and the labels that Kubernetes copies up to the workload itself. */
static struct json_object *workload_spec(struct json_object *obj)
{
    struct json_object *spec = json_sub(obj, "spec");
    pod_spec(json_sub(json_sub(spec, "template"), "spec"));
    return spec;
}

void objdefaults_namespace(struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *metadata = json_sub(obj, "metadata");
    json_set_str(json_sub(metadata, "labels"), "kubernetes.io/metadata.name",
                 json_str_at(metadata, "name", NULL));
    struct json_object *spec = json_sub(obj, "spec");
    if (!has(spec, "finalizers")) {
        struct json_object *finalizers = json_object_new_array();
        json_object_array_add(finalizers, json_object_new_string("kubernetes"));
        json_set(spec, "finalizers", finalizers);
        json_object_put(finalizers);
    }
    fill_str(json_sub(obj, "status"), "phase", "Active");
}

static const char *qos_class(struct json_object *spec)
{
    struct json_object *list = json_at(spec, "containers", NULL);
    bool any = false, all_equal = true;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *limits = json_at(json_elem(list, i), "resources", "limits", NULL);
        struct json_object *requests = json_at(json_elem(list, i), "resources", "requests", NULL);
        any = any || limits || requests;
        all_equal = all_equal && json_at(limits, "cpu", NULL) && json_at(limits, "memory", NULL) &&
                    json_same(limits, requests);
    }
    return !any ? "BestEffort" : all_equal ? "Guaranteed" : "Burstable";
}

void objdefaults_pod(struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = json_sub(obj, "spec");
    pod_spec(spec);
    fill_str(spec, "serviceAccountName", "default");
    fill_str(spec, "serviceAccount", "default");
    if (!has(spec, "enableServiceLinks"))
        json_set_bool(spec, "enableServiceLinks", true);
    fill_int(spec, "priority", 0);
    fill_str(spec, "preemptionPolicy", "PreemptLowerPriority");
    struct json_object *status = json_sub(obj, "status");
    fill_str(status, "phase", "Pending");
    fill_str(status, "qosClass", qos_class(spec));
}

/* What the server allocated stays when a client leaves it out, as kubectl replace does. */
static void keep_allocated(struct json_object *spec, struct json_object *old)
{
    static const char *const allocated[] = {"clusterIP", "clusterIPs", "ipFamilies",
                                            "ipFamilyPolicy"};
    for (size_t i = 0; i < sizeof(allocated) / sizeof(allocated[0]); i++) {
        struct json_object *value = json_at(old, "spec", allocated[i], NULL);
        if (value && !has(spec, allocated[i]))
            json_set(spec, allocated[i], value);
    }
}

void objdefaults_service(struct json_object *obj, struct json_object *old)
{
    struct json_object *spec = json_sub(obj, "spec");
    fill_str(spec, "type", "ClusterIP");
    fill_str(spec, "sessionAffinity", "None");
    bool external = strcmp(json_str_at(spec, "type", NULL) ?: "", "ExternalName") == 0;
    if (!external) {
        keep_allocated(spec, old);
        fill_str(spec, "internalTrafficPolicy", "Cluster");
    }
    struct json_object *ports = json_at(spec, "ports", NULL);
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_elem(ports, i);
        if (!json_object_is_type(port, json_type_object))
            continue;
        fill_str(port, "protocol", "TCP");
        struct json_object *target = json_at(port, "targetPort", NULL);
        bool empty = json_object_is_type(target, json_type_string) &&
                     *json_object_get_string(target) == '\0';
        if (!target || empty)
            json_set_int(port, "targetPort", json_int_at(port, 0, "port", NULL));
    }
    json_sub(json_sub(obj, "status"), "loadBalancer");
}

/* stringData is write-only: it goes into data and is not kept. */
void objdefaults_secret(struct json_object *obj, struct json_object *old)
{
    (void)old;
    fill_str(obj, "type", "Opaque");
    struct json_object *plain = part(obj, "stringData");
    if (plain) {
        struct arena *arena = arena_new();
        struct json_object *data = json_sub(obj, "data");
        json_object_object_foreach(plain, key, value)
        {
            const char *text = json_object_get_string(value);
            json_set_str(data, key,
                         base64_encode(arena, text ? text : "", text ? strlen(text) : 0));
        }
        arena_free(arena);
    }
    json_object_object_del(obj, "stringData");
}

void objdefaults_deployment(struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = workload_spec(obj);
    fill_int(spec, "replicas", 1);
    struct json_object *strategy = json_sub(spec, "strategy");
    fill_str(strategy, "type", "RollingUpdate");
    if (strcmp(json_str_at(strategy, "type", NULL) ?: "", "RollingUpdate") == 0) {
        struct json_object *rolling = json_sub(strategy, "rollingUpdate");
        fill_str(rolling, "maxUnavailable", "25%");
        fill_str(rolling, "maxSurge", "25%");
    }
    fill_int(spec, "revisionHistoryLimit", 10);
    fill_int(spec, "progressDeadlineSeconds", 600);
    json_sub(obj, "status");
}

void objdefaults_replicaset(struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = workload_spec(obj);
    fill_int(spec, "replicas", 1);
    fill_int(json_sub(obj, "status"), "replicas", 0);
}

void objdefaults_daemonset(struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = workload_spec(obj);
    struct json_object *strategy = json_sub(spec, "updateStrategy");
    fill_str(strategy, "type", "RollingUpdate");
    if (strcmp(json_str_at(strategy, "type", NULL) ?: "", "RollingUpdate") == 0) {
        struct json_object *rolling = json_sub(strategy, "rollingUpdate");
        fill_int(rolling, "maxUnavailable", 1);
        fill_int(rolling, "maxSurge", 0);
    }
    fill_int(spec, "revisionHistoryLimit", 10);
    struct json_object *status = json_sub(obj, "status");
    fill_int(status, "currentNumberScheduled", 0);
    fill_int(status, "desiredNumberScheduled", 0);
    fill_int(status, "numberMisscheduled", 0);
    fill_int(status, "numberReady", 0);
}

void objdefaults_hpa(struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = json_sub(obj, "spec");
    fill_int(spec, "minReplicas", 1);
    if (json_len(json_at(spec, "metrics", NULL)) == 0) {
        struct json_object *metrics = json_object_new_array();
        struct json_object *metric = json_object_new_object();
        json_object_array_add(metrics, metric);
        json_set_str(metric, "type", "Resource");
        struct json_object *resource = json_sub(metric, "resource");
        json_set_str(resource, "name", "cpu");
        struct json_object *target = json_sub(resource, "target");
        json_set_str(target, "type", "Utilization");
        json_set_int(target, "averageUtilization", 80);
        json_set(spec, "metrics", metrics);
        json_object_put(metrics);
    }
    struct json_object *status = json_sub(obj, "status");
    fill_int(status, "desiredReplicas", 0);
}

void objdefaults_crd(struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = json_sub(obj, "spec");
    struct json_object *names = json_sub(spec, "names");
    const char *kind = json_str_at(names, "kind", NULL);
    if (kind) {
        struct arena *arena = arena_new();
        fill_str(names, "listKind", arena_printf(arena, "%sList", kind));
        char *singular = arena_strdup(arena, kind);
        for (char *c = singular; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        fill_str(names, "singular", singular);
        arena_free(arena);
    }
    fill_str(json_sub(spec, "conversion"), "strategy", "None");
    json_sub(obj, "status");
}
