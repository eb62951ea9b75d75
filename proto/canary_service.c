#include "proto/canary_parts.h"

/* The keys of an array of strings as a NULL-ended list, which is never NULL itself. */
static const char **key_list(struct json_reader *r, struct json_object *obj, const char *key)
{
    struct json_object *array = obj != NULL ? canary_read_strings(r, obj, key) : NULL;
    const char **list = arena_array(r->arena, json_len(array) + 1, sizeof *list);
    for (size_t i = 0; i < json_len(array); i++)
        list[i] = json_object_get_string(json_elem(array, i));
    return list;
}

/* {labels, annotations}: checked here so that nobody needs to check again. */
static struct json_object *read_metadata(struct json_reader *r, struct json_object *json,
                                         const char *key)
{
    struct json_object *metadata = json_read_obj(r, json, key, JSON_OPTIONAL);
    if (metadata != NULL) {
        canary_read_map(r, metadata, "labels");
        canary_read_map(r, metadata, "annotations");
    }
    return metadata;
}

/* Flagger's own objects hold 0 or "" where nothing was said, which is none. */
static struct json_object *read_target_port(struct json_reader *r, struct json_object *json)
{
    struct json_object *port = json_at(json, "targetPort", NULL);
    int64_t number;
    if (port == NULL)
        return NULL;
    if (json_object_is_type(port, json_type_string))
        return json_object_get_string_len(port) > 0 ? port : NULL;
    if (!json_to_int(port, &number)) {
        json_reader_fail(r, json, "targetPort", "expected a port number or a port name, found %s",
                         json_text(r->arena, port));
        return NULL;
    }
    return canary_read_int(r, json, "targetPort", 0, 65535, 0) > 0 ? port : NULL;
}

static void read_given(struct json_reader *r, struct json_object *json, struct canary_service *out)
{
    const char *name = canary_read_name(r, json, "name", JSON_OPTIONAL);
    const char *port_name = canary_read_name(r, json, "portName", JSON_OPTIONAL);
    if (name != NULL)
        out->name = name;
    if (port_name != NULL)
        out->port_name = port_name;
    out->port = canary_read_int(r, json, "port", 0, 65535, 0);
    out->target_port = read_target_port(r, json);
    out->app_protocol = canary_read_name(r, json, "appProtocol", JSON_OPTIONAL);
    out->port_discovery = json_read_bool(r, json, "portDiscovery", false);
    out->headless = json_read_bool(r, json, "headless", false);
    out->traffic_distribution = canary_read_name(r, json, "trafficDistribution", JSON_OPTIONAL);
    out->apex = read_metadata(r, json, "apex");
    out->primary = read_metadata(r, json, "primary");
    out->canary = read_metadata(r, json, "canary");
    out->gateway_refs = json_read_array(r, json, "gatewayRefs", JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(out->gateway_refs); i++)
        canary_read_element(r, out->gateway_refs, i);
    out->hosts = canary_read_strings(r, json, "hosts");
}

void canary_read_service(struct json_reader *r, struct json_object *spec, struct canary *out)
{
    struct canary_service service = {.name = out->target.name, .port_name = "http"};
    service.json = json_read_obj(r, spec, "service", JSON_OPTIONAL);
    struct json_object *unmanaged = NULL;
    if (service.json != NULL) {
        read_given(r, service.json, &service);
        unmanaged = json_read_obj(r, service.json, "unmanagedMetadata", JSON_OPTIONAL);
    }
    service.unmanaged_labels = key_list(r, unmanaged, "labels");
    service.unmanaged_annotations = key_list(r, unmanaged, "annotations");
    if (r->err == ERR_OK) {
        service.primary_name = arena_printf(r->arena, "%s-primary", service.name);
        service.canary_name = arena_printf(r->arena, "%s-canary", service.name);
    }
    out->service = service;
}
