#include "test/pretend.h"

#include <string.h>

enum { NODES = 2 };

/* --- objects */

/* As a server does, which keeps no map without keys. */
static void drop_empty_maps(struct json_object *object)
{
    static const char *const maps[] = {"labels", "annotations"};
    struct json_object *metadata = json_at(object, "metadata", NULL);

    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        struct json_object *map = json_at(metadata, maps[i], NULL);
        if (map && json_object_object_length(map) == 0)
            json_object_object_del(metadata, maps[i]);
    }
}

struct json_object *pretend_merged(struct arena *arena, struct json_object *object,
                                   struct json_object *patch)
{
    struct json_object *after = json_merge(arena, object, patch);

    drop_empty_maps(after);
    if (object && json_same(object, after))
        return object;
    if (!json_same(json_at(object, "spec", NULL), json_at(after, "spec", NULL)))
        json_set_int(json_sub(after, "metadata"), "generation",
                     json_int_at(object, 0, "metadata", "generation", NULL) + 1);
    return after;
}

static bool is_of_group(struct json_object *object, const char *group)
{
    const char *version = json_str_at(object, "apiVersion", NULL);
    size_t len = strlen(group);

    if (!version)
        return true;
    return len == 0 ? !strchr(version, '/')
                    : strncmp(version, group, len) == 0 && version[len] == '/';
}

struct json_object *pretend_list(struct arena *arena, struct json_object *objects,
                                 const char *plural, const char *group)
{
    struct json_object *list = json_own(arena, json_object_new_object());
    struct json_object *items = json_object_new_array();
    size_t len = strlen(plural);

    json_object_object_add(list, "items", items);
    json_object_object_foreach(objects, key, object)
    {
        if (strncmp(key, plural, len) != 0 || key[len] != '/' || !is_of_group(object, group))
            continue;
        struct json_object *copy = json_copy(arena, object);
        json_set_str(json_sub(copy, "metadata"), "name", key + len + 1);
        json_object_array_add(items, json_object_get(copy));
    }
    return list;
}

struct json_object *pretend_left(struct arena *arena, struct json_object *objects, const char *uid)
{
    struct json_object *left = json_own(arena, json_object_new_object());

    json_object_object_foreach(objects, key, object)
    {
        struct json_object *owners = json_at(object, "metadata", "ownerReferences", NULL);
        const char *owner = json_str_at(json_elem(owners, 0), "uid", NULL);
        if (!owner || strcmp(owner, uid) != 0)
            json_set(left, key, object);
    }
    return left;
}

/* --- workloads */

static bool is_daemonset(struct json_object *workload)
{
    const char *kind = json_str_at(workload, "kind", NULL);

    return kind && strcmp(kind, "DaemonSet") == 0;
}

static int64_t replicas_of(struct json_object *deployment)
{
    return json_int_at(deployment, 1, "spec", "replicas", NULL);
}

bool pretend_is_observed(struct json_object *workload)
{
    return json_int_at(workload, 0, "metadata", "generation", NULL) <=
           json_int_at(workload, 0, "status", "observedGeneration", NULL);
}

bool pretend_at_zero(struct json_object *workload)
{
    if (!is_daemonset(workload))
        return replicas_of(workload) == 0;
    return json_at(workload, "spec", "template", "spec", "nodeSelector",
                   "flagger.app/scale-to-zero", NULL) != NULL;
}

bool pretend_serves(struct json_object *workload)
{
    return json_int_at(workload, 0, "status",
                       is_daemonset(workload) ? "numberAvailable" : "availableReplicas", NULL) > 0;
}

static void add_condition(struct json_object *list, const char *type, bool good, const char *reason,
                          const char *now)
{
    struct json_object *condition = json_object_new_object();

    json_set_str(condition, "type", type);
    json_set_str(condition, "status", good ? "True" : "False");
    json_set_str(condition, "reason", reason);
    if (now) {
        json_set_str(condition, "lastUpdateTime", now);
        json_set_str(condition, "lastTransitionTime", now);
    }
    json_object_array_add(list, condition);
}

struct json_object *pretend_template(struct json_object *workload)
{
    const char *note =
        json_str_at(workload, "metadata", "annotations", "flagger.app/pinned-template", NULL);
    struct json_object *pinned = note && json_bool_at(workload, false, "spec", "paused", NULL)
                                     ? json_tokener_parse(note)
                                     : NULL;

    return pinned ? pinned : json_object_get(json_at(workload, "spec", "template", NULL));
}

/* A template that was pushed while it is pinned has no pods. */
static bool is_behind(struct json_object *deployment)
{
    struct json_object *template = pretend_template(deployment);
    bool behind = !json_same(template, json_at(deployment, "spec", "template", NULL));

    json_object_put(template);
    return behind;
}

static void settle_deployment(struct json_object *deployment, struct json_object *status,
                              enum health health, const char *now)
{
    static const char *const reasons[] = {"NewReplicaSetAvailable", "ReplicaSetUpdated",
                                          "ProgressDeadlineExceeded", "ProgressDeadlineExceeded"};
    bool answer = health == HEALTH_READY || health == HEALTH_KEPT, good = health == HEALTH_READY;
    struct json_object *conditions = json_object_new_array();
    int64_t replicas = replicas_of(deployment);

    json_set_int(status, "replicas", replicas);
    json_set_int(status, "updatedReplicas", is_behind(deployment) ? 0 : replicas);
    json_set_int(status, "availableReplicas", answer ? replicas : 0);
    add_condition(conditions, "Progressing", health < HEALTH_STUCK, reasons[health], now);
    if (now)
        add_condition(conditions, "Available", good,
                      good ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable", now);
    json_set(status, "conditions", conditions);
    json_object_put(conditions);
}

/* Nothing but time tells one that is stuck from one that starts. */
static void settle_daemonset(struct json_object *daemonset, struct json_object *status,
                             enum health health)
{
    static const char *const counts[] = {"desiredNumberScheduled", "currentNumberScheduled",
                                         "updatedNumberScheduled"};
    int pods = pretend_at_zero(daemonset) ? 0 : NODES;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_set_int(status, counts[i], pods);
    json_set_int(status, "numberMisscheduled", 0);
    json_set_int(status, "numberAvailable", health == HEALTH_READY ? pods : 0);
}

void pretend_settle(struct json_object *workload, enum health health, const char *now)
{
    struct json_object *status = json_object_new_object();

    json_set_int(status, "observedGeneration",
                 json_int_at(workload, 1, "metadata", "generation", NULL));
    if (is_daemonset(workload))
        settle_daemonset(workload, status, health);
    else
        settle_deployment(workload, status, pretend_at_zero(workload) ? HEALTH_READY : health, now);
    json_set(workload, "status", status);
    json_object_put(status);
}

int64_t pretend_keda(struct json_object *scaler, struct json_object *target)
{
    const char *paused =
        json_str_at(scaler, "metadata", "annotations", "autoscaling.keda.sh/paused-replicas", NULL);
    int64_t least = json_int_at(scaler, 0, "spec", "minReplicaCount", NULL);
    int64_t replicas = replicas_of(target);

    return paused ? 0 : replicas < least ? least : replicas;
}

bool pretend_scales(struct json_object *scaler, struct json_object *workload)
{
    struct json_object *ref = json_at(scaler, "spec", "scaleTargetRef", NULL);
    const char *kind = json_str_at(ref, "kind", NULL), *name = json_str_at(ref, "name", NULL);
    const char *is = json_str_at(workload, "metadata", "name", NULL);

    return name && is && strcmp(name, is) == 0 && (!kind || strcmp(kind, "Deployment") == 0) &&
           !is_daemonset(workload);
}

bool pretend_overwrites(struct json_object *scaler, struct json_object *before,
                        struct json_object *after)
{
    int64_t was = replicas_of(before), is = replicas_of(after);
    struct json_object *spec = json_at(scaler, "spec", NULL);
    bool is_hpa = json_at(spec, "maxReplicas", NULL) != NULL;
    int64_t most = json_int_at(spec, 100, is_hpa ? "maxReplicas" : "maxReplicaCount", NULL);

    if (!before || !after || was == is || was == 0 || is == 0 || !pretend_scales(scaler, after))
        return false;
    return is < was || is > most;
}
