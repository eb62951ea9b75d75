#include "cluster/podset.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/meta.h"

bool podset_ready(struct json_object *pod)
{
    return meta_condition_true(json_at(pod, "status", "conditions", NULL), "Ready");
}

/* Milliseconds until the pod counts as available; 0: it does; -1: it is not ready. */
static int64_t until_available(struct json_object *pod, int64_t min_ready_s)
{
    if (!podset_ready(pod))
        return -1;
    struct json_object *c = meta_condition(json_at(pod, "status", "conditions", NULL), "Ready");
    const char *text = json_str_at(c, "lastTransitionTime", NULL);
    int64_t since;
    if (min_ready_s <= 0 || !text || clock_parse(text, &since, NULL) != ERR_OK)
        return 0;
    int64_t left = since + min_ready_s * 1000 - clock_wall_ms();
    return left > 0 ? left : 0;
}

static bool ended(struct json_object *pod)
{
    const char *phase = json_str_at(pod, "status", "phase", NULL);
    return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

void podset_list(struct cluster *cluster, struct arena *arena, const char *ns,
                 const char *owner_uid, int64_t min_ready_s, struct podset *out)
{
    struct json_object **all;
    size_t count = context_list(cluster, arena, KIND_POD, ns, &all);

    *out = (struct podset){.pods = arena_array(arena, count + 1, sizeof(struct json_object *))};
    for (size_t i = 0; i < count; i++) {
        if (!meta_owned_by(all[i], owner_uid) || meta_deleting(all[i]) || ended(all[i]))
            continue;
        out->pods[out->count++] = all[i];
        int64_t left = until_available(all[i], min_ready_s);
        out->ready += left >= 0;
        out->available += left == 0;
        if (left > 0 && (out->next_ms == 0 || left < out->next_ms))
            out->next_ms = left;
    }
}

static int delete_order(const void *a, const void *b)
{
    struct json_object *left = *(struct json_object *const *)a;
    struct json_object *right = *(struct json_object *const *)b;
    if (podset_ready(left) != podset_ready(right))
        return podset_ready(left) ? 1 : -1;
    int64_t l = meta_created(left), r = meta_created(right);
    if (l != r)
        return l > r ? -1 : 1;
    return strcmp(meta_name(left), meta_name(right));
}

void podset_order(struct podset *set)
{
    qsort(set->pods, set->count, sizeof(struct json_object *), delete_order);
}

const char *podset_node(struct arena *arena, int index)
{
    return arena_printf(arena, "sandbox-%d", index);
}

bool podset_create(struct cluster *cluster, struct arena *arena, struct json_object *owner,
                   const char *owner_kind, const char *node, const char *hash_label,
                   const char *hash)
{
    struct json_object *template = json_at(owner, "spec", "template", NULL);
    struct json_object *pod = json_own(arena, json_object_new_object());
    struct json_object *meta = json_sub(pod, "metadata");
    struct json_object *labels = json_copy(arena, meta_labels(template));

    if (labels)
        json_set(meta, "labels", labels);
    if (hash_label)
        json_set_str(json_sub(meta, "labels"), hash_label, hash);
    json_set(meta, "annotations", json_at(template, "metadata", "annotations", NULL));
    if (!json_at(meta, "annotations", NULL))
        json_object_object_del(meta, "annotations");
    json_set_str(meta, "generateName", arena_printf(arena, "%s-", meta_name(owner)));
    json_set(meta, "ownerReferences",
             json_own(arena, meta_owner_list(owner, "apps/v1", owner_kind)));
    json_set(pod, "spec", json_copy(arena, json_at(template, "spec", NULL)));
    json_set_str(json_sub(pod, "spec"), "nodeName", node);
    return context_create(cluster, arena, KIND_POD, meta_ns(owner), pod, NULL);
}
