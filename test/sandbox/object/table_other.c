/* The columns of services, configuration, events and the rest, as `kubectl get` prints them. */
#include <ctype.h>
#include <string.h>

#include "object/selector.h"
#include "object/table_column.h"

enum { SHOWN_MAX = 3 }; /* of long lists: "a,b,c + 2 more..." */

static const char *with_more(const struct table_row *row, const char *text, size_t count)
{
    if (count <= SHOWN_MAX)
        return text;
    return arena_printf(row->arena, "%s + %zu more...", text, count - SHOWN_MAX);
}

/* ---- services, endpoints, ingresses ---- */

static const char *ingress_points(const struct table_row *row)
{
    struct json_object *points = json_at(row->obj, "status", "loadBalancer", "ingress", NULL);
    const char *text = "";
    for (size_t i = 0; i < json_len(points); i++) {
        const char *ip = json_str_at(json_elem(points, i), "ip", NULL);
        const char *host = json_str_at(json_elem(points, i), "hostname", NULL);
        text = table_join(row, text, ",", ip && ip[0] ? ip : host ? host : "");
    }
    return text;
}

static struct json_object *service_external(const struct table_row *row)
{
    const char *type = json_str_at(row->obj, "spec", "type", NULL) ?: "ClusterIP";
    struct json_object *ips = json_at(row->obj, "spec", "externalIPs", NULL);
    bool balanced = strcmp(type, "LoadBalancer") == 0;
    const char *text = balanced ? ingress_points(row) : "";
    if (strcmp(type, "ExternalName") == 0)
        return table_or_none(row, json_str_at(row->obj, "spec", "externalName", NULL));
    for (size_t i = 0; i < json_len(ips); i++)
        text = table_join(row, text, ",", json_object_get_string(json_elem(ips, i)));
    return balanced && !text[0] ? table_text(row, "<pending>") : table_or_none(row, text);
}

static struct json_object *service_ports(const struct table_row *row)
{
    struct json_object *ports = json_at(row->obj, "spec", "ports", NULL);
    const char *text = "";
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_elem(ports, i);
        long long number = json_int_at(port, 0, "port", NULL);
        long long node = json_int_at(port, 0, "nodePort", NULL);
        const char *protocol = json_str_at(port, "protocol", NULL) ?: "TCP";
        text = table_join(row, text, ",",
                          node ? arena_printf(row->arena, "%lld:%lld/%s", number, node, protocol)
                               : arena_printf(row->arena, "%lld/%s", number, protocol));
    }
    return table_or_none(row, text);
}

static struct json_object *service_selector(const struct table_row *row)
{
    const struct selector *selector;
    if (selector_from_map(row->arena, json_at(row->obj, "spec", "selector", NULL), &selector, NULL))
        return table_text(row, "<invalid>");
    return table_or_none(row, selector_text(row->arena, selector));
}

static const struct table_column service_columns[] = {
    TABLE_NAME,
    TABLE_TEXT("Type", 0, "ClusterIP", "spec", "type"),
    TABLE_TEXT("Cluster-IP", 0, "<none>", "spec", "clusterIP"),
    TABLE_CELL("External-IP", 0, service_external),
    TABLE_CELL("Port(s)", 0, service_ports),
    TABLE_AGE_COLUMN,
    TABLE_CELL("Selector", 1, service_selector),
};

/* Adds the addresses of one subset of Endpoints for one port (or NULL) to *text. */
static void add_addresses(const struct table_row *row, struct json_object *addresses,
                          struct json_object *port, const char **text, size_t *count)
{
    for (size_t i = 0; i < json_len(addresses); i++) {
        const char *ip = json_str_at(json_elem(addresses, i), "ip", NULL) ?: "";
        if ((*count)++ >= SHOWN_MAX)
            continue;
        if (port)
            ip = arena_printf(row->arena, "%s:%lld", ip,
                              (long long)json_int_at(port, 0, "port", NULL));
        *text = table_join(row, *text, ",", ip);
    }
}

static struct json_object *endpoints_text(const struct table_row *row)
{
    struct json_object *subsets = json_at(row->obj, "subsets", NULL);
    const char *text = "";
    size_t count = 0;
    for (size_t i = 0; i < json_len(subsets); i++) {
        struct json_object *addresses = json_at(json_elem(subsets, i), "addresses", NULL);
        struct json_object *ports = json_at(json_elem(subsets, i), "ports", NULL);
        if (json_len(ports) == 0)
            add_addresses(row, addresses, NULL, &text, &count);
        for (size_t k = 0; k < json_len(ports); k++)
            add_addresses(row, addresses, json_elem(ports, k), &text, &count);
    }
    return table_or_none(row, with_more(row, text, count));
}

static const struct table_column endpoints_columns[] = {
    TABLE_NAME,
    TABLE_CELL("Endpoints", 0, endpoints_text),
    TABLE_AGE_COLUMN,
};

static struct json_object *slice_type(const struct table_row *row)
{
    return json_at(row->obj, "addressType", NULL);
}

static struct json_object *slice_ports(const struct table_row *row)
{
    struct json_object *ports = json_at(row->obj, "ports", NULL);
    const char *text = "";
    for (size_t i = 0; i < json_len(ports) && i < SHOWN_MAX; i++)
        text =
            table_join(row, text, ",",
                       arena_printf(row->arena, "%lld",
                                    (long long)json_int_at(json_elem(ports, i), 0, "port", NULL)));
    return table_text(row, text[0] ? with_more(row, text, json_len(ports)) : "<unset>");
}

static struct json_object *slice_endpoints(const struct table_row *row)
{
    struct json_object *endpoints = json_at(row->obj, "endpoints", NULL);
    const char *text = "";
    size_t count = 0;
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *addresses = json_at(json_elem(endpoints, i), "addresses", NULL);
        for (size_t k = 0; k < json_len(addresses); k++)
            if (count++ < SHOWN_MAX)
                text = table_join(row, text, ",", json_object_get_string(json_elem(addresses, k)));
    }
    return table_text(row, text[0] ? with_more(row, text, count) : "<unset>");
}

static const struct table_column slice_columns[] = {
    TABLE_NAME,
    TABLE_CELL("AddressType", 0, slice_type),
    TABLE_CELL("Ports", 0, slice_ports),
    TABLE_CELL("Endpoints", 0, slice_endpoints),
    TABLE_AGE_COLUMN,
};

static struct json_object *ingress_class(const struct table_row *row)
{
    const char *name = json_str_at(row->obj, "spec", "ingressClassName", NULL);
    if (!name)
        name =
            json_str_at(row->obj, "metadata", "annotations", "kubernetes.io/ingress.class", NULL);
    return table_or_none(row, name);
}

static struct json_object *ingress_hosts(const struct table_row *row)
{
    struct json_object *rules = json_at(row->obj, "spec", "rules", NULL);
    const char *text = "";
    size_t count = 0;
    for (size_t i = 0; i < json_len(rules); i++) {
        const char *host = json_str_at(json_elem(rules, i), "host", NULL);
        if (host && host[0] && count++ < SHOWN_MAX)
            text = table_join(row, text, ",", host);
    }
    return table_text(row, text[0] ? with_more(row, text, count) : "*");
}

static struct json_object *ingress_address(const struct table_row *row)
{
    return table_text(row, ingress_points(row));
}

static struct json_object *ingress_ports(const struct table_row *row)
{
    return table_text(row, json_len(json_at(row->obj, "spec", "tls", NULL)) ? "80, 443" : "80");
}

static const struct table_column ingress_columns[] = {
    TABLE_NAME,
    TABLE_CELL("Class", 0, ingress_class),
    TABLE_CELL("Hosts", 0, ingress_hosts),
    TABLE_CELL("Address", 0, ingress_address),
    TABLE_CELL("Ports", 0, ingress_ports),
    TABLE_AGE_COLUMN,
};

/* ---- configuration ---- */

static struct json_object *data_count(const struct table_row *row)
{
    int count = 0;
    static const char *const keys[] = {"data", "binaryData"};
    for (size_t i = 0; i < 2; i++) {
        struct json_object *data = json_at(row->obj, keys[i], NULL);
        if (json_object_is_type(data, json_type_object))
            count += json_object_object_length(data);
    }
    return table_int(row, count);
}

static struct json_object *account_secrets(const struct table_row *row)
{
    return table_int(row, (int64_t)json_len(json_at(row->obj, "secrets", NULL)));
}

static const struct table_column configmap_columns[] = {
    TABLE_NAME,
    TABLE_CELL("Data", 0, data_count),
    TABLE_AGE_COLUMN,
};

static const struct table_column secret_columns[] = {
    TABLE_NAME,
    TABLE_TEXT("Type", 0, "Opaque", "type"),
    TABLE_CELL("Data", 0, data_count),
    TABLE_AGE_COLUMN,
};

static const struct table_column account_columns[] = {
    TABLE_NAME,
    TABLE_CELL("Secrets", 0, account_secrets),
    TABLE_AGE_COLUMN,
};

static const struct table_column namespace_columns[] = {
    TABLE_NAME,
    TABLE_TEXT("Status", 0, "Active", "status", "phase"),
    TABLE_AGE_COLUMN,
};

static const struct table_column lease_columns[] = {
    TABLE_NAME,
    TABLE_TEXT("Holder", 0, "", "spec", "holderIdentity"),
    TABLE_AGE_COLUMN,
};

static const struct table_column crd_columns[] = {
    TABLE_NAME,
    TABLE_AS_IT_IS("Created At", "date", "metadata", "creationTimestamp"),
};

/* ---- events ---- */

static const char *event_first(const struct table_row *row)
{
    const char *first = json_str_at(row->obj, "firstTimestamp", NULL);
    return first ? first : json_str_at(row->obj, "eventTime", NULL);
}

static struct json_object *event_last_seen(const struct table_row *row)
{
    const char *last = json_str_at(row->obj, "series", "lastObservedTime", NULL);
    if (!last)
        last = json_str_at(row->obj, "lastTimestamp", NULL);
    return table_text(row, table_since(row, last ? last : event_first(row)));
}

static struct json_object *event_first_seen(const struct table_row *row)
{
    return table_text(row, table_since(row, event_first(row)));
}

static struct json_object *event_object(const struct table_row *row)
{
    const char *name = json_str_at(row->obj, "involvedObject", "name", NULL);
    char *kind =
        arena_strdup(row->arena, json_str_at(row->obj, "involvedObject", "kind", NULL) ?: "");
    for (char *p = kind; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return table_text(row, name ? arena_printf(row->arena, "%s/%s", kind, name) : kind);
}

static struct json_object *event_source(const struct table_row *row)
{
    const char *component = json_str_at(row->obj, "source", "component", NULL);
    const char *host = json_str_at(row->obj, "source", "host", NULL);
    const char *instance = json_str_at(row->obj, "reportingInstance", NULL);
    if (!component || !component[0]) {
        component = json_str_at(row->obj, "reportingComponent", NULL) ?: "";
        host = instance;
    }
    return table_text(row, host && host[0] ? table_join(row, component, ", ", host) : component);
}

static struct json_object *event_message(const struct table_row *row)
{
    const char *text = json_str_at(row->obj, "message", NULL) ?: "";
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    return table_text(row, arena_strndup(row->arena, text, len));
}

static struct json_object *event_count(const struct table_row *row)
{
    int64_t count = json_int_at(row->obj, 1, "count", NULL);
    return table_int(row, json_int_at(row->obj, count, "series", "count", NULL));
}

static const struct table_column event_columns[] = {
    TABLE_CELL("Last Seen", 0, event_last_seen),
    TABLE_AS_IT_IS("Type", "string", "type"),
    TABLE_AS_IT_IS("Reason", "string", "reason"),
    TABLE_CELL("Object", 0, event_object),
    TABLE_TEXT("Subobject", 1, "", "involvedObject", "fieldPath"),
    TABLE_CELL("Source", 1, event_source),
    TABLE_CELL("Message", 0, event_message),
    TABLE_CELL("First Seen", 1, event_first_seen),
    TABLE_CELL("Count", 1, event_count),
    {.name = "Name",
     .type = "string",
     .format = "name",
     .priority = 1,
     .field = {"metadata", "name"}},
};

/* ---- autoscalers ---- */

static struct json_object *hpa_reference(const struct table_row *row)
{
    struct json_object *ref = json_at(row->obj, "spec", "scaleTargetRef", NULL);
    return table_text(row, arena_printf(row->arena, "%s/%s", json_str_at(ref, "kind", NULL) ?: "",
                                        json_str_at(ref, "name", NULL) ?: ""));
}

/* A number of a metric's target or current value: "80%", "500m", or "" when there is none. */
static const char *hpa_value(const struct table_row *row, struct json_object *value)
{
    struct json_object *share = json_at(value, "averageUtilization", NULL);
    struct json_object *average = json_at(value, "averageValue", NULL);
    struct json_object *plain = json_at(value, "value", NULL);
    if (share)
        return arena_printf(row->arena, "%lld%%", (long long)json_object_get_int64(share));
    if (average)
        return json_object_get_string(average);
    return plain ? json_object_get_string(plain) : "";
}

/* Autoscaler v2 names the part of a metric after its type, in camel case: ContainerResource,
 * containerResource. */
static struct json_object *hpa_part(const struct table_row *row, struct json_object *metric)
{
    char *key = arena_strdup(row->arena, json_str_at(metric, "type", NULL) ?: "");
    key[0] = (char)tolower((unsigned char)key[0]);
    return json_at(metric, key, NULL);
}

static const char *hpa_metric(const struct table_row *row, struct json_object *metric,
                              struct json_object *status)
{
    struct json_object *part = hpa_part(row, metric);
    struct json_object *target = json_at(part, "target", NULL);
    const char *name = json_str_at(part, "name", NULL);
    const char *current =
        hpa_value(row, json_at(status ? hpa_part(row, status) : NULL, "current", NULL));
    bool resource = name != NULL;
    const char *average = !resource && json_at(target, "averageValue", NULL) ? " (avg)" : "";
    return arena_printf(row->arena, "%s%s%s/%s%s", resource ? name : "", resource ? ": " : "",
                        current[0] ? current : "<unknown>", hpa_value(row, target), average);
}

static struct json_object *hpa_targets(const struct table_row *row)
{
    struct json_object *metrics = json_at(row->obj, "spec", "metrics", NULL);
    struct json_object *current = json_at(row->obj, "status", "currentMetrics", NULL);
    const char *text = "";
    size_t count = json_len(metrics);
    for (size_t i = 0; i < count && i < 2; i++)
        text = table_join(row, text, ", ",
                          hpa_metric(row, json_elem(metrics, i), json_elem(current, i)));
    if (count > 2)
        text = arena_printf(row->arena, "%s + %zu more...", text, count - 2);
    return table_or_none(row, text);
}

static const struct table_column hpa_columns[] = {
    TABLE_NAME,
    TABLE_CELL("Reference", 0, hpa_reference),
    TABLE_CELL("Targets", 0, hpa_targets),
    TABLE_TEXT("MinPods", 0, "<unset>", "spec", "minReplicas"),
    TABLE_NUMBER("MaxPods", "string", 0, "spec", "maxReplicas"),
    TABLE_NUMBER("Replicas", "string", 0, "status", "currentReplicas"),
    TABLE_AGE_COLUMN,
};

/* ---- nodes ---- */

static struct json_object *node_status(const struct table_row *row)
{
    struct json_object *conditions = json_at(row->obj, "status", "conditions", NULL);
    const char *text = "Unknown";
    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        if (type && status && strcmp(type, "Ready") == 0)
            text = strcmp(status, "True") == 0 ? "Ready" : "NotReady";
    }
    if (json_bool_at(row->obj, false, "spec", "unschedulable", NULL))
        text = arena_printf(row->arena, "%s,SchedulingDisabled", text);
    return table_text(row, text);
}

static struct json_object *node_roles(const struct table_row *row)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    struct json_object *labels = json_at(row->obj, "metadata", "labels", NULL);
    const char *text = "";
    if (!json_object_is_type(labels, json_type_object))
        return table_or_none(row, NULL);
    json_object_object_foreach(labels, key, value)
    {
        (void)value;
        if (strncmp(key, prefix, strlen(prefix)) == 0)
            text = table_join(row, text, ",", arena_strdup(row->arena, key + strlen(prefix)));
    }
    return table_or_none(row, text);
}

static struct json_object *node_ip(const struct table_row *row)
{
    struct json_object *addresses = json_at(row->obj, "status", "addresses", NULL);
    for (size_t i = 0; i < json_len(addresses); i++) {
        const char *type = json_str_at(json_elem(addresses, i), "type", NULL);
        if (type && strcmp(type, "InternalIP") == 0)
            return table_or_none(row, json_str_at(json_elem(addresses, i), "address", NULL));
    }
    return table_or_none(row, NULL);
}

static const struct table_column node_columns[] = {
    TABLE_NAME,
    TABLE_CELL("Status", 0, node_status),
    TABLE_CELL("Roles", 0, node_roles),
    TABLE_AGE_COLUMN,
    TABLE_TEXT("Version", 0, "", "status", "nodeInfo", "kubeletVersion"),
    TABLE_CELL("Internal-IP", 1, node_ip),
};

const struct table_kind table_others[] = {
    TABLE_KIND("", "Service", service_columns),
    TABLE_KIND("", "Endpoints", endpoints_columns),
    TABLE_KIND("discovery.k8s.io", "EndpointSlice", slice_columns),
    TABLE_KIND("networking.k8s.io", "Ingress", ingress_columns),
    TABLE_KIND("", "ConfigMap", configmap_columns),
    TABLE_KIND("", "Secret", secret_columns),
    TABLE_KIND("", "ServiceAccount", account_columns),
    TABLE_KIND("", "Namespace", namespace_columns),
    TABLE_KIND("", "Event", event_columns),
    TABLE_KIND("events.k8s.io", "Event", event_columns),
    TABLE_KIND("autoscaling", "HorizontalPodAutoscaler", hpa_columns),
    TABLE_KIND("coordination.k8s.io", "Lease", lease_columns),
    TABLE_KIND("apiextensions.k8s.io", "CustomResourceDefinition", crd_columns),
    TABLE_KIND("", "Node", node_columns),
    {0},
};
