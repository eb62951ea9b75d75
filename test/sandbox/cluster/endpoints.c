/* Whom a Service leads to: pure functions of the Service and of pods or Endpoints. */
#include <stdio.h>
#include <string.h>

#include "cluster/context.h"
#include "cluster/podspec.h"
#include "cluster/workload.h"
#include "object/form.h"
#include "object/meta.h"

bool endpoints_headless(struct json_object *obj)
{
    const char *ip = json_str_at(obj, "spec", "clusterIP", NULL);
    return ip && strcmp(ip, "None") == 0;
}

static const char *address_of(struct json_object *pod)
{
    const char *address = json_str_at(pod, "status", "podIP", NULL);
    return address && *address ? address : NULL;
}

bool endpoints_serves(struct json_object *pod, bool publish_unready)
{
    return !meta_deleting(pod) && address_of(pod) && (publish_unready || pod_is_ready(pod));
}

static bool publishes_unready(struct json_object *service)
{
    return json_bool_at(service, false, "spec", "publishNotReadyAddresses", NULL);
}

static struct json_object *port_at(struct json_object *service, size_t index)
{
    return json_elem(json_at(service, "spec", "ports", NULL), index);
}

static int target_port(struct json_object *service, size_t index, struct json_object *pod)
{
    struct json_object *port = port_at(service, index);
    struct json_object *target = json_at(port, "targetPort", NULL);
    if (!target || (json_object_is_type(target, json_type_int) && json_object_get_int(target) == 0))
        target = json_at(port, "port", NULL);
    return podspec_port(pod, target);
}

static bool target_set(struct forward_target *target, const char *address, int port)
{
    *target = (struct forward_target){.port = port};
    int len = snprintf(target->address, sizeof(target->address), "%s", address);
    return port > 0 && len > 0 && (size_t)len < sizeof(target->address);
}

size_t endpoints_targets(struct json_object *service, size_t index, struct json_object **pods,
                         size_t count, struct forward_target *targets)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (endpoints_serves(pods[i], publishes_unready(service)) &&
            target_set(&targets[found], address_of(pods[i]), target_port(service, index, pods[i])))
            found++;
    return found;
}

/* The port of a subset that belongs to a Service's port: the same name, or the only one there is.
 */
static int subset_port(struct json_object *subset, const char *name)
{
    struct json_object *ports = json_at(subset, "ports", NULL);
    for (size_t i = 0; i < json_len(ports); i++) {
        const char *found = json_str_at(json_elem(ports, i), "name", NULL);
        if (json_len(ports) == 1 || strcmp(found ? found : "", name ? name : "") == 0)
            return (int)json_int_at(json_elem(ports, i), 0, "port", NULL);
    }
    return 0;
}

size_t endpoints_given(struct json_object *service, size_t index, struct json_object *endpoints,
                       struct forward_target *targets, size_t max)
{
    struct json_object *subsets = json_at(endpoints, "subsets", NULL);
    const char *name = json_str_at(port_at(service, index), "name", NULL);
    size_t found = 0;

    for (size_t i = 0; i < json_len(subsets); i++) {
        struct json_object *addresses = json_at(json_elem(subsets, i), "addresses", NULL);
        int port = subset_port(json_elem(subsets, i), name);
        for (size_t k = 0; k < json_len(addresses) && found < max; k++) {
            const char *ip = json_str_at(json_elem(addresses, k), "ip", NULL);
            if (ip && target_set(&targets[found], ip, port))
                found++;
        }
    }
    return found;
}

/* Pods of one Service mostly have the same ports; the first that has an address speaks for all. */
static struct json_object *ports_list(struct arena *arena, struct json_object *service,
                                      struct json_object **pods, size_t count)
{
    struct json_object *list = form(arena, "[]");
    size_t speaker = 0, ports = json_len(json_at(service, "spec", "ports", NULL));
    while (speaker < count && !address_of(pods[speaker]))
        speaker++;
    for (size_t i = 0; i < ports && speaker < count; i++) {
        struct json_object *port = port_at(service, i);
        form_add(list, form(arena, "{name: %s, port: %d, protocol: %s, appProtocol: %s}",
                            json_str_at(port, "name", NULL), target_port(service, i, pods[speaker]),
                            json_str_at(port, "protocol", NULL) ?: "TCP",
                            json_str_at(port, "appProtocol", NULL)));
    }
    return list;
}

struct json_object *endpoints_object(struct arena *arena, struct json_object *service,
                                     struct json_object **pods, size_t count)
{
    struct json_object *ready = form(arena, "[]"), *unready = form(arena, "[]"), *subset = NULL;

    for (size_t i = 0; i < count; i++)
        if (!meta_deleting(pods[i]) && address_of(pods[i]))
            form_add(endpoints_serves(pods[i], publishes_unready(service)) ? ready : unready,
                     form(arena,
                          "{ip: %s, nodeName: %s, targetRef: {kind: Pod, namespace: %s, name: %s, "
                          "uid: %s}}",
                          address_of(pods[i]), json_str_at(pods[i], "spec", "nodeName", NULL),
                          meta_ns(pods[i]), meta_name(pods[i]), meta_uid(pods[i])));
    if (json_len(ready) + json_len(unready) > 0)
        subset = form(arena, "{addresses: %p, notReadyAddresses: %p, ports: %p}",
                      json_len(ready) ? ready : NULL, json_len(unready) ? unready : NULL,
                      ports_list(arena, service, pods, count));
    return form(arena,
                "{metadata: {name: %s, namespace: %s, labels: %p, ownerReferences: %p}, "
                "subsets: [%p]}",
                meta_name(service), meta_ns(service), json_copy(arena, meta_labels(service)),
                meta_owner_list(arena, service, "v1", "Service"), subset);
}
