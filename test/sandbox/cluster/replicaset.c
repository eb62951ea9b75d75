#include "cluster/replicaset.h"

#include "cluster/meta.h"
#include "cluster/podset.h"

enum { MAX_BURST = 100 }; /* pods made or deleted in one go */

/* Node of the next pod: they are dealt out in turn. */
static int node_of(const struct cluster *cluster, size_t index)
{
    return (int)(index % (size_t)(cluster->options.nodes > 0 ? cluster->options.nodes : 1));
}

static void adjust(struct cluster *cluster, struct arena *arena, struct json_object *set,
                   struct podset *pods, size_t wanted)
{
    for (size_t i = 0; pods->count + i < wanted && i < MAX_BURST; i++)
        if (!podset_create(cluster, arena, set, "ReplicaSet",
                           podset_node(arena, node_of(cluster, pods->count + i)), NULL, NULL))
            return;
    if (pods->count <= wanted)
        return;
    podset_order(pods);
    for (size_t i = 0; i < pods->count - wanted && i < MAX_BURST; i++)
        context_delete(cluster, arena, KIND_POD, meta_ns(set), meta_name(pods->pods[i]));
}

void replicaset_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    struct json_object *set = context_get(cluster, arena, KIND_REPLICASET, ns, name);
    struct podset pods;

    if (!set || meta_deleting(set))
        return;
    int64_t min_ready_s = json_int_at(set, 0, "spec", "minReadySeconds", NULL);
    int64_t wanted = json_int_at(set, 1, "spec", "replicas", NULL);
    podset_list(cluster, arena, ns, meta_uid(set), min_ready_s, &pods);
    if ((int64_t)pods.count != wanted) {
        adjust(cluster, arena, set, &pods, wanted > 0 ? (size_t)wanted : 0);
        podset_list(cluster, arena, ns, meta_uid(set), min_ready_s, &pods);
    }

    struct json_object *status = json_own(arena, json_object_new_object());
    json_set_int(status, "replicas", (int64_t)pods.count);
    json_set_int(status, "observedGeneration", json_int_at(set, 1, "metadata", "generation", NULL));
    if (pods.count)
        json_set_int(status, "fullyLabeledReplicas", (int64_t)pods.count);
    if (pods.ready)
        json_set_int(status, "readyReplicas", (int64_t)pods.ready);
    if (pods.available)
        json_set_int(status, "availableReplicas", (int64_t)pods.available);
    context_status(cluster, arena, cluster->kinds[KIND_REPLICASET], ns, name, status);
    if (pods.next_ms > 0)
        context_queue_after(cluster, replicaset_sync, ns, name, pods.next_ms + 5);
    if ((int64_t)pods.count != wanted)
        context_queue_after(cluster, replicaset_sync, ns, name, 50);
}
