#include "cluster/daemonset.h"

#include <string.h>

#include "cluster/meta.h"
#include "cluster/podset.h"
#include "object/intstr.h"

#define HASH "controller-revision-hash"

bool daemonset_node_fits(struct json_object *node_selector, const char *node)
{
    if (!node_selector)
        return true;
    json_object_object_foreach(node_selector, key, value)
    {
        const char *have = NULL;
        if (strcmp(key, "kubernetes.io/hostname") == 0)
            have = node;
        else if (strcmp(key, "kubernetes.io/os") == 0)
            have = "linux";
        else if (strcmp(key, "kubernetes.io/arch") == 0)
#ifdef __aarch64__
            have = "arm64";
#else
            have = "amd64";
#endif
        if (!have || !json_object_is_type(value, json_type_string) ||
            strcmp(have, json_object_get_string(value)) != 0)
            return false;
    }
    return true;
}

struct run {
    struct cluster *cluster;
    struct arena *arena;
    struct json_object *obj;
    const char *hash;
    struct podset pods;
    int64_t desired, updated;
};

static struct json_object *pod_on(struct run *run, const char *node)
{
    for (size_t i = 0; i < run->pods.count; i++) {
        const char *at = json_str_at(run->pods.pods[i], "spec", "nodeName", NULL);
        if (at && strcmp(at, node) == 0)
            return run->pods.pods[i];
    }
    return NULL;
}

static bool is_current(const struct run *run, struct json_object *pod)
{
    const char *hash = meta_label(pod, HASH);
    return hash && strcmp(hash, run->hash) == 0;
}

/* How many pods may be taken down for the update now. */
static int64_t allowance(struct run *run)
{
    struct json_object *strategy = json_at(run->obj, "spec", "updateStrategy", NULL);
    int unavailable = 1;
    if (intstr_scaled(json_at(strategy, "rollingUpdate", "maxUnavailable", NULL), (int)run->desired,
                      true, 1, &unavailable, NULL) != ERR_OK ||
        unavailable < 1)
        unavailable = 1;
    return unavailable - (run->desired - (int64_t)run->pods.available);
}

static void place(struct run *run)
{
    struct json_object *selector =
        json_at(run->obj, "spec", "template", "spec", "nodeSelector", NULL);
    int nodes = run->cluster->options.nodes > 0 ? run->cluster->options.nodes : 1;

    for (int i = 0; i < nodes; i++) {
        const char *node = podset_node(run->arena, i);
        struct json_object *pod = pod_on(run, node);
        bool fits = daemonset_node_fits(selector, node);
        run->desired += fits;
        if (!fits && pod)
            context_delete(run->cluster, run->arena, KIND_POD, meta_ns(run->obj), meta_name(pod));
        else if (fits && !pod)
            podset_create(run->cluster, run->arena, run->obj, "DaemonSet", node, HASH, run->hash);
    }
}

/* Pods of an old template go; those that serve only as far as maxUnavailable allows. */
static void update(struct run *run)
{
    const char *type = json_str_at(run->obj, "spec", "updateStrategy", "type", NULL);
    int64_t left = allowance(run);

    if (type && strcmp(type, "OnDelete") == 0)
        return;
    for (size_t i = 0; i < run->pods.count; i++) {
        struct json_object *pod = run->pods.pods[i];
        if (is_current(run, pod) || (podset_ready(pod) && left-- <= 0))
            continue;
        context_delete(run->cluster, run->arena, KIND_POD, meta_ns(run->obj), meta_name(pod));
    }
}

static void write_status(struct run *run)
{
    struct json_object *status = json_own(run->arena, json_object_new_object());
    int64_t count = (int64_t)run->pods.count, available = (int64_t)run->pods.available;
    for (size_t i = 0; i < run->pods.count; i++)
        run->updated += is_current(run, run->pods.pods[i]);
    json_set_int(status, "currentNumberScheduled", count);
    json_set_int(status, "desiredNumberScheduled", run->desired);
    json_set_int(status, "numberMisscheduled", 0);
    json_set_int(status, "numberReady", (int64_t)run->pods.ready);
    json_set_int(status, "observedGeneration",
                 json_int_at(run->obj, 1, "metadata", "generation", NULL));
    if (run->updated)
        json_set_int(status, "updatedNumberScheduled", run->updated);
    if (available)
        json_set_int(status, "numberAvailable", available);
    if (run->desired > available)
        json_set_int(status, "numberUnavailable", run->desired - available);
    context_status(run->cluster, run->arena, run->cluster->kinds[KIND_DAEMONSET], meta_ns(run->obj),
                   meta_name(run->obj), status);
}

void daemonset_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct run run = {.cluster = arg, .arena = arena};
    run.obj = context_get(run.cluster, arena, KIND_DAEMONSET, ns, name);
    if (!run.obj || meta_deleting(run.obj))
        return;
    int64_t min_ready_s = json_int_at(run.obj, 0, "spec", "minReadySeconds", NULL);
    run.hash = meta_hash(arena, json_at(run.obj, "spec", "template", NULL));
    podset_list(run.cluster, arena, ns, meta_uid(run.obj), min_ready_s, &run.pods);
    place(&run);
    update(&run);
    podset_list(run.cluster, arena, ns, meta_uid(run.obj), min_ready_s, &run.pods);
    write_status(&run);
    if (run.pods.next_ms > 0)
        context_queue_after(run.cluster, daemonset_sync, ns, name, run.pods.next_ms + 5);
}
