#include "cluster/endpoints.h"

#include <stdio.h>
#include <string.h>

#include "cluster/meta.h"
#include "cluster/podset.h"
#include "cluster/podspec.h"

static const char *address_of(struct json_object *pod)
{
    const char *address = json_str_at(pod, "status", "podIP", NULL);
    return address && *address ? address : NULL;
}

bool endpoints_serves(struct json_object *pod, bool publish_unready)
{
    return !meta_deleting(pod) && address_of(pod) && (publish_unready || podset_ready(pod));
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

static struct json_object *pod_ref(struct json_object *pod)
{
    struct json_object *ref = json_object_new_object();
    json_set_str(ref, "kind", "Pod");
    json_set_str(ref, "namespace", meta_ns(pod));
    json_set_str(ref, "name", meta_name(pod));
    json_set_str(ref, "uid", meta_uid(pod));
    return ref;
}

static struct json_object *ports_list(struct arena *arena, struct json_object *service,
                                      struct json_object *pod)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    size_t count = json_len(json_at(service, "spec", "ports", NULL));
    for (size_t i = 0; i < count; i++) {
        struct json_object *port = port_at(service, i), *entry = json_object_new_object();
        const char *protocol = json_str_at(port, "protocol", NULL);
        json_set_str(entry, "name", json_str_at(port, "name", NULL));
        json_set_int(entry, "port", target_port(service, i, pod));
        json_set_str(entry, "protocol", protocol ? protocol : "TCP");
        json_set_str(entry, "appProtocol", json_str_at(port, "appProtocol", NULL));
        json_object_array_add(list, entry);
    }
    return list;
}

/* Pods of one Service mostly have the same ports; the first that has an address speaks for all. */
static struct json_object *speaker(struct json_object **pods, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (address_of(pods[i]))
            return pods[i];
    return NULL;
}

static void put_meta(struct arena *arena, struct json_object *obj, struct json_object *service,
                     const char *name)
{
    struct json_object *meta = json_sub(obj, "metadata");
    json_set_str(meta, "name", name);
    json_set_str(meta, "namespace", meta_ns(service));
    struct json_object *labels = json_copy(arena, meta_labels(service));
    if (labels)
        json_set(meta, "labels", labels);
    json_set(meta, "ownerReferences", json_own(arena, meta_owner_list(service, "v1", "Service")));
}

struct json_object *endpoints_object(struct arena *arena, struct json_object *service,
                                     struct json_object **pods, size_t count)
{
    struct json_object *obj = json_own(arena, json_object_new_object());
    struct json_object *ready = json_own(arena, json_object_new_array());
    struct json_object *unready = json_own(arena, json_object_new_array());
    struct json_object *subsets = json_own(arena, json_object_new_array());

    put_meta(arena, obj, service, meta_name(service));
    for (size_t i = 0; i < count; i++) {
        if (meta_deleting(pods[i]) || !address_of(pods[i]))
            continue;
        struct json_object *entry = json_object_new_object();
        json_set_str(entry, "ip", address_of(pods[i]));
        json_set_str(entry, "nodeName", json_str_at(pods[i], "spec", "nodeName", NULL));
        json_set(entry, "targetRef", json_own(arena, pod_ref(pods[i])));
        bool serves = endpoints_serves(pods[i], publishes_unready(service));
        json_object_array_add(serves ? ready : unready, entry);
    }
    if (json_len(ready) + json_len(unready) > 0) {
        struct json_object *subset = json_object_new_object();
        if (json_len(ready))
            json_set(subset, "addresses", ready);
        if (json_len(unready))
            json_set(subset, "notReadyAddresses", unready);
        json_set(subset, "ports", ports_list(arena, service, speaker(pods, count)));
        json_object_array_add(subsets, subset);
    }
    json_set(obj, "subsets", subsets);
    return obj;
}

static struct json_object *slice_entry(struct arena *arena, struct json_object *service,
                                       struct json_object *pod)
{
    struct json_object *entry = json_own(arena, json_object_new_object());
    struct json_object *addresses = json_own(arena, json_object_new_array());
    struct json_object *conditions = json_sub(entry, "conditions");

    json_object_array_add(addresses, json_object_new_string(address_of(pod)));
    json_set(entry, "addresses", addresses);
    json_set_bool(conditions, "ready", endpoints_serves(pod, publishes_unready(service)));
    json_set_bool(conditions, "serving", podset_ready(pod));
    json_set_bool(conditions, "terminating", meta_deleting(pod));
    json_set_str(entry, "nodeName", json_str_at(pod, "spec", "nodeName", NULL));
    json_set(entry, "targetRef", json_own(arena, pod_ref(pod)));
    return entry;
}

struct json_object *endpoints_slice(struct arena *arena, struct json_object *service,
                                    struct json_object **pods, size_t count)
{
    struct json_object *obj = json_own(arena, json_object_new_object());
    struct json_object *list = json_own(arena, json_object_new_array());

    put_meta(arena, obj, service, arena_printf(arena, "%s-sandbox", meta_name(service)));
    struct json_object *labels = json_sub(json_sub(obj, "metadata"), "labels");
    json_set_str(labels, "kubernetes.io/service-name", meta_name(service));
    json_set_str(labels, "endpointslice.kubernetes.io/managed-by", "flagger-sandbox");
    json_set_str(obj, "addressType", "IPv4");
    for (size_t i = 0; i < count; i++)
        if (address_of(pods[i]))
            json_object_array_add(list, json_object_get(slice_entry(arena, service, pods[i])));
    json_set(obj, "endpoints", list);
    struct json_object *first = speaker(pods, count);
    json_set(obj, "ports",
             first ? ports_list(arena, service, first) : json_own(arena, json_object_new_array()));
    return obj;
}
