#include "api/objvalidate.h"

#include <string.h>

#include "api/objname.h"
#include "api/objpodspec.h"
#include "base/json.h"
#include "object/schema.h"
#include "object/selector.h"

#define PATH(...) arena_printf(fail->arena, __VA_ARGS__)

static bool is_str(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) == 0;
}

static void require(struct objfail *fail, struct json_object *obj, const char *key,
                    const char *field)
{
    const char *value = json_str_at(obj, key, NULL);
    if (!value || !*value)
        objfail_cause(fail, CAUSE_REQUIRED, field, "Required value");
}

static void immutable(struct objfail *fail, struct json_object *value, struct json_object *before,
                      const char *field)
{
    if (!json_same(value, before)) {
        objfail_cause(fail, CAUSE_INVALID, field, "Invalid value: %s: field is immutable",
                      json_text(fail->arena, value));
    }
}

/* An integer of at least min, where it is set. */
static void at_least(struct objfail *fail, struct json_object *obj, const char *key,
                     const char *field, int64_t min)
{
    struct json_object *value = json_at(obj, key, NULL);
    if (value && !json_object_is_type(value, json_type_int)) {
        objfail_cause(fail, CAUSE_TYPE_INVALID, field, "Invalid value: %s: must be an integer",
                      json_text(fail->arena, value));
    } else if (value && json_object_get_int64(value) < min) {
        objfail_cause(fail, CAUSE_INVALID, field,
                      "Invalid value: %lld: must be greater than or equal to %lld",
                      (long long)json_object_get_int64(value), (long long)min);
    }
}

void objvalidate_namespace(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    (void)old;
    objname_check(fail, "metadata.name", json_str_at(obj, "metadata", "name", NULL), OBJNAME_LABEL);
}

void objvalidate_pod(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    struct json_object *spec = json_at(obj, "spec", NULL);
    objpodspec_check(fail, spec, "spec", false);
    if (old && !objpodspec_may_become(json_at(old, "spec", NULL), spec)) {
        objfail_cause(fail, CAUSE_FORBIDDEN, "spec",
                      "Forbidden: pod updates may not change fields other than "
                      "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                      "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                      "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 "
                      "if it was previously negative)");
    }
}

static void service_port(struct objfail *fail, struct json_object *ports, size_t i)
{
    struct json_object *port = json_elem(ports, i);
    const char *at = PATH("spec.ports[%zu]", i);
    const char *name = json_str_at(port, "name", NULL);
    if (json_len(ports) > 1 && (!name || !*name))
        objfail_cause(fail, CAUSE_REQUIRED, PATH("%s.name", at), "Required value");
    else if (name && *name)
        objname_check(fail, PATH("%s.name", at), name, OBJNAME_LABEL);
    for (size_t k = 0; name && k < i; k++) {
        if (is_str(json_str_at(json_elem(ports, k), "name", NULL), name)) {
            objfail_cause(fail, CAUSE_DUPLICATE, PATH("%s.name", at), "Duplicate value: \"%s\"",
                          name);
        }
    }
    objpodspec_check_port(fail, json_at(port, "port", NULL), PATH("%s.port", at));
    struct json_object *target = json_at(port, "targetPort", NULL);
    if (json_object_is_type(target, json_type_int))
        objpodspec_check_port(fail, target, PATH("%s.targetPort", at));
    const char *protocol = json_str_at(port, "protocol", NULL);
    if (!is_str(protocol, "TCP") && !is_str(protocol, "UDP") && !is_str(protocol, "SCTP")) {
        objfail_cause(fail, CAUSE_NOT_SUPPORTED, PATH("%s.protocol", at),
                      "Unsupported value: \"%s\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
                      protocol ? protocol : "");
    }
}

void objvalidate_service(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    objname_check(fail, "metadata.name", json_str_at(obj, "metadata", "name", NULL),
                  OBJNAME_LABEL_1035);
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *ports = json_at(spec, "ports", NULL);
    const char *type = json_str_at(spec, "type", NULL);
    const char *ip = json_str_at(spec, "clusterIP", NULL);
    bool external = is_str(type, "ExternalName");
    if (!external && !is_str(type, "ClusterIP") && !is_str(type, "NodePort") &&
        !is_str(type, "LoadBalancer")) {
        objfail_cause(fail, CAUSE_NOT_SUPPORTED, "spec.type",
                      "Unsupported value: \"%s\": supported values: \"ClusterIP\", "
                      "\"ExternalName\", \"LoadBalancer\", \"NodePort\"",
                      type ? type : "");
    }
    if (external)
        require(fail, spec, "externalName", "spec.externalName");
    else if (json_len(ports) == 0 && !is_str(ip, "None"))
        objfail_cause(fail, CAUSE_REQUIRED, "spec.ports", "Required value");
    for (size_t i = 0; i < json_len(ports); i++)
        service_port(fail, ports, i);
    struct json_object *old_ip = json_at(old, "spec", "clusterIP", NULL);
    if (old_ip && !external)
        immutable(fail, json_at(spec, "clusterIP", NULL), old_ip, "spec.clusterIP");
}

static void data_map(struct objfail *fail, struct json_object *obj, const char *key)
{
    struct json_object *map = json_at(obj, key, NULL);
    if (!map)
        return;
    if (!json_object_is_type(map, json_type_object)) {
        objfail_cause(fail, CAUSE_TYPE_INVALID, key, "Invalid value: must be a map of strings");
        return;
    }
    json_object_object_foreach(map, name, value)
    {
        if (!*name ||
            strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") !=
                strlen(name)) {
            objfail_cause(fail, CAUSE_INVALID, PATH("%s[%s]", key, name),
                          "Invalid value: \"%s\": a valid config key must consist of alphanumeric "
                          "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
                          "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
                          name);
        }
        if (!json_object_is_type(value, json_type_string)) {
            objfail_cause(fail, CAUSE_TYPE_INVALID, PATH("%s[%s]", key, name),
                          "Invalid value: %s: must be a string", json_text(fail->arena, value));
        }
    }
}

static void frozen_data(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    static const char *const keys[] = {"data", "binaryData"};
    if (!json_bool_at(old, false, "immutable", NULL))
        return;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!json_same(json_at(obj, keys[i], NULL), json_at(old, keys[i], NULL))) {
            objfail_cause(fail, CAUSE_FORBIDDEN, keys[i],
                          "Forbidden: field is immutable when `immutable` is set");
        }
    }
}

void objvalidate_configmap(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    data_map(fail, obj, "data");
    data_map(fail, obj, "binaryData");
    frozen_data(fail, obj, old);
}

void objvalidate_secret(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    data_map(fail, obj, "data");
    frozen_data(fail, obj, old);
    if (old)
        immutable(fail, json_at(obj, "type", NULL), json_at(old, "type", NULL), "type");
}

void objvalidate_event(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    (void)old;
    const char *own = json_str_at(obj, "metadata", "namespace", NULL);
    const char *of = json_str_at(obj, "involvedObject", "namespace", NULL);
    bool cluster_wide = !of || !*of;
    if (own && (cluster_wide ? strcmp(own, "default") != 0 && strcmp(own, "kube-system") != 0
                             : strcmp(own, of) != 0)) {
        objfail_cause(fail, CAUSE_INVALID, "involvedObject.namespace",
                      "Invalid value: \"%s\": does not match event.namespace", of ? of : "");
    }
}

void objvalidate_lease(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *seconds = json_at(spec, "leaseDurationSeconds", NULL);
    if (seconds && json_object_get_int64(seconds) <= 0) {
        objfail_cause(fail, CAUSE_INVALID, "spec.leaseDurationSeconds",
                      "Invalid value: %s: must be greater than 0", json_text(fail->arena, seconds));
    }
    at_least(fail, spec, "leaseTransitions", "spec.leaseTransitions", 0);
}

static void workload_selector(struct objfail *fail, struct json_object *spec,
                              struct json_object *old)
{
    struct json_object *selector = json_at(spec, "selector", NULL);
    struct json_object *labels = json_at(spec, "template", "metadata", "labels", NULL);
    if (!selector) {
        objfail_cause(fail, CAUSE_REQUIRED, "spec.selector", "Required value");
        return;
    }
    if (json_object_is_type(selector, json_type_object) &&
        json_object_object_length(selector) == 0) {
        objfail_cause(fail, CAUSE_INVALID, "spec.selector",
                      "Invalid value: {}: empty selector is invalid for deployment");
        return;
    }
    const struct selector *compiled = NULL;
    struct errinfo ei;
    if (selector_from_object(fail->arena, selector, &compiled, &ei) != ERR_OK) {
        objfail_cause(fail, CAUSE_INVALID, "spec.selector", "Invalid value: %s: %s",
                      json_text(fail->arena, selector), ei.text);
    } else if (!selector_match_labels(compiled, labels)) {
        objfail_cause(fail, CAUSE_INVALID, "spec.template.metadata.labels",
                      "Invalid value: %s: `selector` does not match template `labels`",
                      labels ? json_text(fail->arena, labels) : "null");
    }
    if (old)
        immutable(fail, selector, json_at(old, "spec", "selector", NULL), "spec.selector");
}

static void rolling_update(struct objfail *fail, struct json_object *spec)
{
    struct json_object *strategy = json_at(spec, "strategy", NULL);
    const char *type = json_str_at(strategy, "type", NULL);
    if (strategy && !is_str(type, "RollingUpdate") && !is_str(type, "Recreate")) {
        objfail_cause(fail, CAUSE_NOT_SUPPORTED, "spec.strategy.type",
                      "Unsupported value: \"%s\": supported values: \"Recreate\", "
                      "\"RollingUpdate\"",
                      type ? type : "");
    }
    if (is_str(type, "Recreate") && json_at(strategy, "rollingUpdate", NULL)) {
        objfail_cause(fail, CAUSE_FORBIDDEN, "spec.strategy.rollingUpdate",
                      "Forbidden: may not be specified when strategy `type` is 'Recreate'");
    }
}

void objvalidate_workload(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    struct json_object *spec = json_at(obj, "spec", NULL);
    workload_selector(fail, spec, old);
    at_least(fail, spec, "replicas", "spec.replicas", 0);
    at_least(fail, spec, "minReadySeconds", "spec.minReadySeconds", 0);
    at_least(fail, spec, "revisionHistoryLimit", "spec.revisionHistoryLimit", 0);
    int64_t deadline = json_int_at(spec, INT64_MAX, "progressDeadlineSeconds", NULL);
    if (deadline <= json_int_at(spec, 0, "minReadySeconds", NULL)) {
        objfail_cause(fail, CAUSE_INVALID, "spec.progressDeadlineSeconds",
                      "Invalid value: %lld: must be greater than minReadySeconds",
                      (long long)deadline);
    }
    rolling_update(fail, spec);
    objpodspec_check(fail, json_at(spec, "template", "spec", NULL), "spec.template.spec", true);
}

void objvalidate_hpa(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *target = json_at(spec, "scaleTargetRef", NULL);
    require(fail, target, "kind", "spec.scaleTargetRef.kind");
    require(fail, target, "name", "spec.scaleTargetRef.name");
    at_least(fail, spec, "minReplicas", "spec.minReplicas", 1);
    int64_t max = json_int_at(spec, 0, "maxReplicas", NULL);
    if (max < 1) {
        objfail_cause(fail, CAUSE_INVALID, "spec.maxReplicas",
                      "Invalid value: %lld: must be greater than 0", (long long)max);
    } else if (max < json_int_at(spec, 1, "minReplicas", NULL)) {
        objfail_cause(fail, CAUSE_INVALID, "spec.maxReplicas",
                      "Invalid value: %lld: must be greater than or equal to `minReplicas`",
                      (long long)max);
    }
}

void objvalidate_ingress(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *rules = json_at(spec, "rules", NULL);
    if (json_len(rules) == 0 && !json_at(spec, "defaultBackend", NULL)) {
        objfail_cause(fail, CAUSE_INVALID, "spec",
                      "Invalid value: []: either `defaultBackend` or `rules` must be specified");
    }
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *paths = json_at(json_elem(rules, i), "http", "paths", NULL);
        for (size_t k = 0; k < json_len(paths); k++) {
            const char *at = PATH("spec.rules[%zu].http.paths[%zu]", i, k);
            require(fail, json_elem(paths, k), "pathType", PATH("%s.pathType", at));
            struct json_object *service = json_at(json_elem(paths, k), "backend", "service", NULL);
            if (service)
                require(fail, service, "name", PATH("%s.backend.service.name", at));
        }
    }
}

static void crd_version(struct objfail *fail, struct json_object *version, const char *at)
{
    objname_check(fail, PATH("%s.name", at), json_str_at(version, "name", NULL),
                  OBJNAME_LABEL_1035);
    struct json_object *schema = json_at(version, "schema", "openAPIV3Schema", NULL);
    if (!schema) {
        objfail_cause(fail, CAUSE_REQUIRED, PATH("%s.schema.openAPIV3Schema", at),
                      "Required value: schemas are required");
        return;
    }
    struct schema *compiled = NULL;
    struct errinfo ei;
    if (schema_compile(schema, &compiled, &ei) != ERR_OK) {
        objfail_cause(fail, CAUSE_INVALID, PATH("%s.schema.openAPIV3Schema", at),
                      "Invalid value: %s", ei.text);
    }
    schema_free(compiled);
}

void objvalidate_crd(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *names = json_at(spec, "names", NULL);
    require(fail, spec, "group", "spec.group");
    require(fail, names, "plural", "spec.names.plural");
    require(fail, names, "kind", "spec.names.kind");
    const char *scope = json_str_at(spec, "scope", NULL);
    if (!is_str(scope, "Namespaced") && !is_str(scope, "Cluster")) {
        objfail_cause(fail, CAUSE_NOT_SUPPORTED, "spec.scope",
                      "Unsupported value: \"%s\": supported values: \"Cluster\", \"Namespaced\"",
                      scope ? scope : "");
    }
    const char *name = json_str_at(obj, "metadata", "name", NULL);
    const char *expected = PATH("%s.%s", json_str_at(names, "plural", NULL) ?: "",
                                json_str_at(spec, "group", NULL) ?: "");
    if (!is_str(name, expected)) {
        objfail_cause(fail, CAUSE_INVALID, "metadata.name",
                      "Invalid value: \"%s\": must be spec.names.plural+\".\"+spec.group",
                      name ? name : "");
    }
    struct json_object *versions = json_at(spec, "versions", NULL);
    size_t stored = 0;
    for (size_t i = 0; i < json_len(versions); i++) {
        struct json_object *version = json_elem(versions, i);
        stored += json_bool_at(version, false, "storage", NULL) ? 1 : 0;
        crd_version(fail, version, PATH("spec.versions[%zu]", i));
    }
    if (stored != 1) {
        objfail_cause(fail, CAUSE_INVALID, "spec.versions",
                      "Invalid value: must have exactly one version marked as storage version");
    }
    if (old) {
        immutable(fail, json_at(spec, "group", NULL), json_at(old, "spec", "group", NULL),
                  "spec.group");
        immutable(fail, json_at(spec, "scope", NULL), json_at(old, "spec", "scope", NULL),
                  "spec.scope");
    }
}
