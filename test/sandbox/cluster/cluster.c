#include "cluster/cluster.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/context.h"
#include "cluster/node.h"
#include "cluster/workload.h"
#include "object/meta.h"

static const struct {
    const char *group, *plural;
} kind_names[KIND_COUNT] = {
    [KIND_NAMESPACE] = {"", "namespaces"},
    [KIND_POD] = {"", "pods"},
    [KIND_SERVICE] = {"", "services"},
    [KIND_ENDPOINTS] = {"", "endpoints"},
    [KIND_CONFIGMAP] = {"", "configmaps"},
    [KIND_SECRET] = {"", "secrets"},
    [KIND_DEPLOYMENT] = {"apps", "deployments"},
    [KIND_REPLICASET] = {"apps", "replicasets"},
    [KIND_DAEMONSET] = {"apps", "daemonsets"},
    [KIND_HPA] = {"autoscaling", "horizontalpodautoscalers"},
    [KIND_NODE] = {"", "nodes"},
};

/* The controllers of single objects. */
static const struct {
    enum kind kind;
    const char *name;
    work_fn sync;
} controllers[] = {
    {KIND_DEPLOYMENT, "Deployment", deployment_sync},
    {KIND_REPLICASET, "ReplicaSet", replicaset_sync},
    {KIND_DAEMONSET, "DaemonSet", daemonset_sync},
    {KIND_HPA, "HorizontalPodAutoscaler", hpa_sync},
};
enum { CONTROLLERS = sizeof(controllers) / sizeof(controllers[0]) };

static void queue_owner(struct cluster *cluster, struct json_object *obj)
{
    struct json_object *owner = meta_controller(obj);
    const char *kind = json_str_at(owner, "kind", NULL), *name = json_str_at(owner, "name", NULL);
    for (size_t i = 0; kind && name && i < CONTROLLERS; i++)
        if (strcmp(kind, controllers[i].name) == 0)
            context_queue(cluster, controllers[i].sync, meta_ns(obj), name);
}

/* A Recreate rollout waits for the end of old pods, whose owner is a ReplicaSet. */
static void queue_owners_owner(struct cluster *cluster, struct json_object *pod)
{
    const char *name = json_str_at(meta_controller(pod), "name", NULL);
    struct json_object *set =
        name ? objstore_get(cluster->store, cluster->kinds[KIND_REPLICASET], meta_ns(pod), name)
             : NULL;
    if (set)
        queue_owner(cluster, set);
}

static void on_pod(struct cluster *cluster, const struct objevent *event)
{
    context_queue(cluster, pods_sync, meta_ns(event->object), meta_name(event->object));
    queue_owner(cluster, event->object);
    if (event->type == OBJ_DELETED)
        queue_owners_owner(cluster, event->object);
    services_touch(cluster, meta_ns(event->object));
    context_queue(cluster, prometheus_sync, "", "");
}

static void on_hpa_target(struct cluster *cluster, const char *ns)
{
    struct arena *arena = arena_new();
    struct json_object **items;
    size_t count = context_list(cluster, arena, KIND_HPA, ns, &items);
    for (size_t i = 0; i < count; i++)
        context_queue(cluster, hpa_sync, ns, meta_name(items[i]));
    arena_free(arena);
}

static void on_service(struct cluster *cluster, bool others)
{
    if (others)
        context_queue(cluster, gateway_sync, "", "");
    context_queue(cluster, hosts_sync, "", "");
}

static void on_event(void *arg, const struct objevent *event)
{
    struct cluster *cluster = arg;
    if (event->type == OBJ_SYNCED) {
        context_queue(cluster, hosts_sync, "", "");
        context_queue(cluster, gateway_sync, "", "");
        context_queue(cluster, prometheus_sync, "", "");
        return;
    }
    const struct objkind *kind = event->kind;
    const char *ns = meta_ns(event->object), *name = meta_name(event->object);
    for (size_t i = 0; i < CONTROLLERS; i++)
        if (kind == cluster->kinds[controllers[i].kind])
            context_queue(cluster, controllers[i].sync, ns, name);
    if (kind == cluster->kinds[KIND_POD]) {
        on_pod(cluster, event);
    } else if (kind == cluster->kinds[KIND_REPLICASET]) {
        queue_owner(cluster, event->object);
    } else if (kind == cluster->kinds[KIND_DEPLOYMENT]) {
        on_hpa_target(cluster, ns);
    } else if (kind == cluster->kinds[KIND_SERVICE] || kind == cluster->kinds[KIND_ENDPOINTS]) {
        if (!cluster->options.no_services)
            context_queue(cluster, services_sync, ns, name);
        context_queue(cluster, prometheus_sync, "", "");
    } else if (strcmp(kind->group, "gateway.networking.k8s.io") == 0) {
        context_queue(cluster, gateway_sync, "", "");
        context_queue(cluster, hosts_sync, "", "");
    } else if (kind == cluster->kinds[KIND_NAMESPACE]) {
        context_queue(cluster, hosts_sync, "", "");
    }
}

static void on_drain(void *arg)
{
    struct cluster *cluster = arg;
    cluster->draining = true;
    objwatch_stop(cluster->watch);
    cluster->watch = NULL;
    work_free(cluster->work);
    cluster->work = NULL;
    if (cluster->gateway)
        gateway_stop(cluster->gateway);
    if (cluster->prometheus)
        prometheus_stop(cluster->prometheus);
    pods_stop(cluster->pods);
    services_stop(cluster->services);
    http_client_free(cluster->probes);
    cluster->probes = NULL;
}

static enum err start(struct cluster *cluster, struct errinfo *ei)
{
    int slot;
    enum err err = address_slot(&slot, &cluster->slot_fd, ei);
    if (err != ERR_OK)
        return err;
    address_init(&cluster->pod_addresses, 64, slot);
    address_init(&cluster->service_addresses, 96, slot);
    for (int i = 0; i < KIND_COUNT; i++) {
        cluster->kinds[i] =
            objstore_kind(cluster->store, kind_names[i].group, kind_names[i].plural);
        if (!cluster->kinds[i])
            return err_set(ei, ERR_INVALID, "the object store does not know %s",
                           kind_names[i].plural);
    }
    nodes_make(cluster);
    cluster->work = work_new(cluster->loop);
    cluster->probes = http_client_new(
        cluster->loop, &(struct http_client_options){.max_per_host = 2, .max_total = 256});
    cluster->pods = pods_new(cluster);
    cluster->services = services_new(cluster, on_service);
    if (cluster->options.gateway_port >= 0 &&
        (err = gateway_new(cluster, &cluster->gateway, ei)) != ERR_OK)
        return err;
    if (cluster->options.prometheus_port > 0 &&
        (err = prometheus_new(cluster, &cluster->prometheus, ei)) != ERR_OK)
        return err;
    cluster->watch = objstore_watch(cluster->store, NULL, NULL, on_event, cluster);
    loop_on_drain(cluster->loop, on_drain, cluster);
    return ERR_OK;
}

enum err cluster_new(struct loop *loop, struct objstore *store,
                     const struct cluster_options *options, struct cluster **out,
                     struct errinfo *ei)
{
    struct cluster *cluster = heap_alloc(sizeof(*cluster));
    *cluster = (struct cluster){.loop = loop, .store = store, .options = *options, .slot_fd = -1};
    enum err err = start(cluster, ei);
    if (err != ERR_OK) {
        http_client_free(cluster->probes);
        cluster->probes = NULL;
        cluster_free(cluster);
        return err;
    }
    *out = cluster;
    return ERR_OK;
}

void cluster_free(struct cluster *cluster)
{
    if (!cluster)
        return;
    objwatch_stop(cluster->watch);
    work_free(cluster->work);
    gateway_free(cluster->gateway);
    prometheus_free(cluster->prometheus);
    pods_free(cluster->pods);
    services_free(cluster->services);
    if (cluster->slot_fd >= 0)
        close(cluster->slot_fd);
    free(cluster);
}

const char *cluster_gateway_address(const struct cluster *cluster)
{
    return cluster->gateway ? gateway_address(cluster->gateway) : "";
}

const char *cluster_trouble(const struct cluster *cluster)
{
    if (cluster->gateway && !gateway_live(cluster->gateway))
        return "the gateway is not up yet";
    if (cluster->prometheus && !prometheus_ready(cluster->prometheus))
        return "Prometheus is not up yet";
    return NULL;
}

void cluster_pod_log(void *arg, const char *ns, const char *pod, struct buf *out)
{
    pods_log(((struct cluster *)arg)->pods, ns, pod, out);
}
