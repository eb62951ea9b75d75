#include "kill/actors.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/routestatus.h"

struct actors {
    struct objstore *store;
    struct objwatch *watch;
};

static void write_status(struct actors *actors, struct arena *arena, const struct objkind *kind,
                         struct json_object *object, struct json_object *status)
{
    struct objcall call = {.arena = arena, .manager = "kube-controller-manager"};
    struct json_object *copy = json_copy(arena, object);

    if (json_same(json_at(object, "status", NULL), status))
        return;
    json_set(copy, "status", status);
    /* A conflict: what changed meanwhile is told of next. */
    if (objstore_update(actors->store, &call, kind,
                        json_str_at(object, "metadata", "namespace", NULL), OBJSUB_STATUS, copy,
                        NULL) != ERR_OK &&
        call.fail.message)
        log_debug("status", NULL, call.fail.message);
}

static const char *first_image(struct json_object *object)
{
    struct json_object *containers =
        json_at(object, "spec", "template", "spec", "containers", NULL);
    const char *image = json_str_at(json_elem(containers, 0), "image", NULL);

    return image ? image : "";
}

static void add_condition(struct json_object *list, const char *type, bool good, const char *reason,
                          const char *now)
{
    struct json_object *condition = json_object_new_object();

    json_set_str(condition, "type", type);
    json_set_str(condition, "status", good ? "True" : "False");
    json_set_str(condition, "reason", reason);
    json_set_str(condition, "lastUpdateTime", now);
    json_set_str(condition, "lastTransitionTime", now);
    json_object_array_add(list, condition);
}

static int64_t generation_of(struct json_object *object)
{
    return json_int_at(object, 1, "metadata", "generation", NULL);
}

static bool is_current(struct json_object *object)
{
    return json_int_at(object, 0, "status", "observedGeneration", NULL) == generation_of(object);
}

static struct json_object *deployment_status(struct arena *arena, struct json_object *deployment)
{
    struct json_object *status = json_own(arena, json_object_new_object());
    struct json_object *conditions = json_own(arena, json_object_new_array());
    int64_t replicas = json_int_at(deployment, 1, "spec", "replicas", NULL);
    bool good = replicas == 0 || strstr(first_image(deployment), "stuck") == NULL;
    char text[CLOCK_TEXT];
    const char *now = clock_rfc3339(clock_wall_ms(), text);

    json_set_int(status, "observedGeneration", generation_of(deployment));
    json_set_int(status, "replicas", replicas);
    json_set_int(status, "updatedReplicas", replicas);
    json_set_int(status, "readyReplicas", good ? replicas : 0);
    json_set_int(status, "availableReplicas", good ? replicas : 0);
    add_condition(conditions, "Available", good,
                  good ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable", now);
    add_condition(conditions, "Progressing", good,
                  good ? "NewReplicaSetAvailable" : "ProgressDeadlineExceeded", now);
    json_set(status, "conditions", conditions);
    return status;
}

static struct json_object *daemonset_status(struct arena *arena, struct json_object *daemonset)
{
    static const char *const counts[] = {"currentNumberScheduled", "desiredNumberScheduled",
                                         "numberReady", "updatedNumberScheduled",
                                         "numberAvailable"};
    struct json_object *status = json_own(arena, json_object_new_object());
    bool none = json_at(daemonset, "spec", "template", "spec", "nodeSelector",
                        "flagger.app/scale-to-zero", NULL) != NULL;

    json_set_int(status, "observedGeneration", generation_of(daemonset));
    json_set_int(status, "numberMisscheduled", 0);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_set_int(status, counts[i], none ? 0 : 2);
    return status;
}

static struct json_object *route_status(struct arena *arena, struct json_object *route)
{
    struct route_result result = {.generation = generation_of(route),
                                  .parents = json_at(route, "spec", "parentRefs", NULL)};
    char now[CLOCK_TEXT];

    return routestatus_route(arena, &result, json_at(route, "status", NULL),
                             clock_rfc3339(clock_wall_ms(), now));
}

static bool is_route_current(struct json_object *route)
{
    struct json_object *parents = json_at(route, "status", "parents", NULL);
    struct json_object *conditions = json_at(json_elem(parents, 0), "conditions", NULL);

    return json_int_at(json_elem(conditions, 0), 0, "observedGeneration", NULL) ==
           generation_of(route);
}

static void on_event(void *arg, const struct objevent *event)
{
    struct actors *actors = arg;
    struct json_object *(*make)(struct arena * arena, struct json_object * object) = NULL;
    bool (*current)(struct json_object * object) = is_current;

    if (event->type != OBJ_ADDED && event->type != OBJ_MODIFIED)
        return;
    if (strcmp(event->kind->kind, "Deployment") == 0)
        make = deployment_status;
    else if (strcmp(event->kind->kind, "DaemonSet") == 0)
        make = daemonset_status;
    else if (strcmp(event->kind->kind, "HTTPRoute") == 0)
        make = route_status, current = is_route_current;
    if (!make || current(event->object))
        return;
    struct arena *arena = arena_new();
    write_status(actors, arena, event->kind, event->object, make(arena, event->object));
    arena_free(arena);
}

struct actors *actors_new(struct objstore *store)
{
    struct actors *actors = heap_alloc(sizeof(*actors));

    *actors = (struct actors){.store = store};
    actors->watch = objstore_watch(store, NULL, NULL, on_event, actors);
    return actors;
}

void actors_free(struct actors *actors)
{
    if (!actors)
        return;
    objwatch_stop(actors->watch);
    free(actors);
}
