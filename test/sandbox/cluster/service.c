#include "cluster/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "cluster/forward.h"
#include "cluster/podspec.h"
#include "cluster/workload.h"
#include "object/form.h"
#include "object/meta.h"
#include "object/selector.h"

struct port {
    int number;
    struct forward *forward;
    bool failed; /* said so already */
};

struct service {
    LIST_ENTRY(service) others;
    char *ns, *name;
    char address[ADDRESS_TEXT]; /* "" for ExternalName */
    struct port *ports;
    size_t count;
};

enum { RETIRED_MAX = 256 };

struct services {
    struct cluster *cluster;
    void (*on_sync)(struct cluster *cluster, bool others);
    LIST_HEAD(, service) list;
    struct forward *retired[RETIRED_MAX]; /* of ports that are gone; the oldest gives way */
    size_t retirements;
};

static const char *type_of(struct json_object *obj)
{
    const char *type = json_str_at(obj, "spec", "type", NULL);
    return type ? type : "ClusterIP";
}

/* ---- addresses ---- */

static void put_address(struct json_object *obj, const char *address)
{
    struct arena *arena = arena_new();
    struct json_object *spec = json_sub(obj, "spec");
    json_set_str(spec, "clusterIP", address);
    json_set(spec, "clusterIPs", form(arena, "[%s]", address));
    arena_free(arena);
}

static void put_families(struct json_object *obj)
{
    struct arena *arena = arena_new();
    struct json_object *spec = json_sub(obj, "spec");
    if (!json_at(spec, "ipFamilies", NULL)) {
        json_set(spec, "ipFamilies", form(arena, "[IPv4]"));
        json_set_str(spec, "ipFamilyPolicy", "SingleStack");
    }
    arena_free(arena);
}

/* As the API server: an address on create, the old one kept on update. */
static void on_admit(void *arg, struct objfail *fail, const struct objkind *kind, enum objop op,
                     bool dry_run, struct json_object *obj, struct json_object *old)
{
    struct cluster *cluster = arg;
    char address[ADDRESS_TEXT];

    (void)kind;
    if (!obj || op == OBJOP_DELETE || op == OBJOP_STATUS ||
        strcmp(type_of(obj), "ExternalName") == 0)
        return;
    put_families(obj);
    if (endpoints_headless(obj)) {
        put_address(obj, "None");
        return;
    }
    const char *asked = json_str_at(obj, "spec", "clusterIP", NULL);
    const char *kept =
        old && !endpoints_headless(old) ? json_str_at(old, "spec", "clusterIP", NULL) : NULL;
    if (kept && *kept) {
        if (asked && *asked && strcmp(asked, kept) != 0)
            objfail_cause(fail, CAUSE_INVALID, "spec.clusterIPs[0]",
                          "may not change once set (was %s)", kept);
        else
            put_address(obj, kept);
    } else if (asked && *asked) {
        if (strncmp(asked, "127.", 4) != 0)
            objfail_cause(fail, CAUSE_INVALID, "spec.clusterIPs",
                          "the sandbox has loopback addresses only (127.0.0.0/8)");
        else if (!dry_run && !address_claim(&cluster->service_addresses, asked))
            objfail_cause(fail, CAUSE_INVALID, "spec.clusterIPs",
                          "the address %s is already allocated", asked);
    } else if (!dry_run) {
        if (address_take(&cluster->service_addresses, address))
            put_address(obj, address);
        else
            objfail_set(fail, 500, "InternalError", "no Service address is left");
    }
}

/* ---- listening ---- */

/* As on a node, where connections outlive the rule by which they were made. */
static void retire(struct services *services, struct forward *forward)
{
    struct forward **place = &services->retired[services->retirements % RETIRED_MAX];
    struct errinfo ei;

    if (!forward)
        return;
    forward_free(*place);
    *place = forward;
    services->retirements++;
    (void)!forward_set(forward, NULL, 0, &ei); /* nobody to listen for: nothing can fail */
}

static void drop_ports(struct services *services, struct service *service)
{
    for (size_t i = 0; i < service->count; i++)
        retire(services, service->ports[i].forward);
    free(service->ports);
    service->ports = NULL;
    service->count = 0;
}

static void drop(struct services *services, struct service *service)
{
    LIST_REMOVE(service, others);
    drop_ports(services, service);
    if (service->address[0])
        address_give_back(&services->cluster->service_addresses, service->address);
    free(service->ns);
    free(service->name);
    free(service);
}

static struct service *find(const struct services *services, const char *ns, const char *name)
{
    struct service *service = LIST_FIRST(&services->list);
    while (service && (strcmp(service->name, name) != 0 || strcmp(service->ns, ns) != 0))
        service = LIST_NEXT(service, others);
    return service;
}

static struct service *add(struct services *services, const char *ns, const char *name)
{
    struct service *service = heap_alloc(sizeof(*service));
    *service = (struct service){.ns = heap_strdup(ns), .name = heap_strdup(name)};
    LIST_INSERT_HEAD(&services->list, service, others);
    return service;
}

/* The address of the object, or one of our own while it has none that could be listened on. */
static void settle_address(struct services *services, struct service *service,
                           struct json_object *obj)
{
    const char *ip = json_str_at(obj, "spec", "clusterIP", NULL);
    bool external = strcmp(type_of(obj), "ExternalName") == 0;

    if (external || (ip && *ip && strcmp(ip, "None") != 0)) {
        if (external || strcmp(service->address, ip) == 0)
            return;
        drop_ports(services, service);
        if (service->address[0])
            address_give_back(&services->cluster->service_addresses, service->address);
        (void)address_claim(&services->cluster->service_addresses, ip);
        snprintf(service->address, sizeof(service->address), "%s", ip);
    } else if (!service->address[0]) {
        (void)address_take(&services->cluster->service_addresses, service->address);
    }
}

/* Makes the list of ports what the object says, keeping the forwards that stay. */
static void settle_ports(struct services *services, struct service *service,
                         struct json_object *obj)
{
    struct json_object *ports = json_at(obj, "spec", "ports", NULL);
    size_t wanted = service->address[0] ? json_len(ports) : 0;
    struct port *list = heap_array(wanted + 1, sizeof(*list));

    for (size_t i = 0; i < wanted; i++) {
        list[i] = (struct port){.number = (int)json_int_at(json_elem(ports, i), 0, "port", NULL)};
        for (size_t k = 0; k < service->count; k++)
            if (service->ports[k].number == list[i].number && service->ports[k].forward) {
                list[i] = service->ports[k];
                service->ports[k].forward = NULL;
            }
        if (!list[i].forward)
            list[i].forward =
                forward_new(services->cluster->loop, service->address, list[i].number);
    }
    drop_ports(services, service);
    service->ports = list;
    service->count = wanted;
}

static void forward_to(struct service *service, size_t index, struct forward_target *targets,
                       size_t count)
{
    struct port *port = &service->ports[index];
    struct errinfo ei = {0};
    if (forward_set(port->forward, targets, count, &ei) == ERR_OK) {
        port->failed = false;
    } else if (!port->failed) {
        port->failed = true;
        log_error("service_port", NULL, ei.text, LOG_STR("service", service->name),
                  LOG_STR("namespace", service->ns));
    }
}

/* ---- endpoints ---- */

size_t services_pods(struct cluster *cluster, struct arena *arena, struct json_object *obj,
                     struct json_object ***out)
{
    struct json_object **all;
    const struct selector *selector;
    struct errinfo ei;
    size_t count = context_list(cluster, arena, KIND_POD, meta_ns(obj), &all), found = 0;

    *out = all;
    if (selector_from_map(arena, json_at(obj, "spec", "selector", NULL), &selector, &ei) != ERR_OK)
        return 0;
    for (size_t i = 0; i < count && found < ENDPOINTS_MAX; i++)
        if (selector_match(selector, meta_labels(all[i])))
            all[found++] = all[i];
    return found;
}

static void sync_selected(struct cluster *cluster, struct arena *arena, struct service *service,
                          struct json_object *obj)
{
    struct json_object **pods;
    size_t count = services_pods(cluster, arena, obj, &pods);
    struct forward_target *targets = arena_array(arena, count, sizeof(*targets));
    struct json_object *wanted = endpoints_object(arena, obj, pods, count);
    struct json_object *live =
        context_get(cluster, arena, KIND_ENDPOINTS, service->ns, service->name);

    for (size_t i = 0; i < service->count; i++)
        forward_to(service, i, targets, endpoints_targets(obj, i, pods, count, targets));
    if (!live)
        context_create(cluster, arena, KIND_ENDPOINTS, service->ns, wanted, NULL);
    else if (!json_same(json_at(live, "subsets", NULL), json_at(wanted, "subsets", NULL)))
        context_merge(cluster, arena, KIND_ENDPOINTS, service->ns, service->name,
                      form(arena, "{subsets: %p}", json_at(wanted, "subsets", NULL)));
}

static void sync_given(struct cluster *cluster, struct arena *arena, struct service *service,
                       struct json_object *obj)
{
    struct json_object *endpoints =
        context_get(cluster, arena, KIND_ENDPOINTS, service->ns, service->name);
    struct forward_target *targets = arena_array(arena, ENDPOINTS_MAX, sizeof(*targets));
    for (size_t i = 0; i < service->count; i++)
        forward_to(service, i, targets, endpoints_given(obj, i, endpoints, targets, ENDPOINTS_MAX));
}

void services_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    struct json_object *obj = context_get(cluster, arena, KIND_SERVICE, ns, name);
    struct service *service = find(cluster->services, ns, name);

    bool others = !obj || !service;

    if (!obj) {
        if (service)
            drop(cluster->services, service);
    } else {
        if (!service)
            service = add(cluster->services, ns, name);
        settle_address(cluster->services, service, obj);
        settle_ports(cluster->services, service, obj);
        struct json_object *selector = json_at(obj, "spec", "selector", NULL);
        if (selector && json_object_object_length(selector) > 0)
            sync_selected(cluster, arena, service, obj);
        else
            sync_given(cluster, arena, service, obj);
    }
    cluster->services->on_sync(cluster, others);
}

void services_touch(struct cluster *cluster, const char *ns)
{
    for (const struct service *s = LIST_FIRST(&cluster->services->list); s;
         s = LIST_NEXT(s, others))
        if (strcmp(s->ns, ns) == 0)
            context_queue(cluster, services_sync, ns, s->name);
}

const char *services_address(const struct services *services, const char *ns, const char *name)
{
    const struct service *service = find(services, ns, name);
    return service && service->address[0] ? service->address : NULL;
}

struct services *services_new(struct cluster *cluster,
                              void (*on_sync)(struct cluster *cluster, bool others))
{
    struct services *services = heap_alloc(sizeof(*services));
    *services = (struct services){.cluster = cluster, .on_sync = on_sync};
    objstore_on_admit(cluster->store, cluster->kinds[KIND_SERVICE], on_admit, cluster);
    return services;
}

void services_stop(struct services *services)
{
    while (!LIST_EMPTY(&services->list))
        drop(services, LIST_FIRST(&services->list));
    for (size_t i = 0; i < RETIRED_MAX; i++) {
        forward_free(services->retired[i]);
        services->retired[i] = NULL;
    }
}

void services_free(struct services *services)
{
    if (!services)
        return;
    services_stop(services);
    free(services);
}
