#include "cluster/node.h"

#include "base/clock.h"
#include "object/form.h"
#include "object/meta.h"

int nodes_count(const struct cluster *cluster)
{
    return cluster->options.nodes > 0 ? cluster->options.nodes : 1;
}

const char *node_name(struct arena *arena, size_t index)
{
    return arena_printf(arena, "sandbox-%zu", index);
}

static void make(struct cluster *cluster, struct arena *arena, const char *name)
{
    struct json_object *node =
        form(arena, "{metadata: {name: %s, labels: {kubernetes.io/hostname: %s}}, spec: {}}", name,
             name);
    if (context_get(cluster, arena, KIND_NODE, NULL, name) ||
        !context_create(cluster, arena, KIND_NODE, NULL, node, NULL))
        return;
    context_status(cluster, arena, cluster->kinds[KIND_NODE], NULL, name,
                   form(arena,
                        "{conditions: [{type: Ready, status: 'True', reason: KubeletReady, "
                        "lastTransitionTime: %s}]}",
                        meta_time(arena, clock_wall_ms())));
}

void nodes_make(struct cluster *cluster)
{
    struct arena *arena = arena_new();
    for (int i = 0; i < nodes_count(cluster); i++)
        make(cluster, arena, node_name(arena, (size_t)i));
    arena_free(arena);
}

/* One that somebody has deleted takes pods as before: there is nobody else who would. */
static bool takes_pods(struct cluster *cluster, struct arena *arena, const char *name)
{
    struct json_object *node = context_get(cluster, arena, KIND_NODE, NULL, name);
    return !json_bool_at(node, false, "spec", "unschedulable", NULL);
}

const char *node_in_turn(struct cluster *cluster, struct arena *arena, size_t turn)
{
    size_t count = (size_t)nodes_count(cluster);
    for (size_t i = 0; i < count; i++) {
        const char *name = node_name(arena, (turn + i) % count);
        if (takes_pods(cluster, arena, name))
            return name;
    }
    return NULL;
}
