#include "torture/actors.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/route.h"

/* A workload that gets ready. */
struct slow {
    struct actors *actors;
    struct slow *next;
    struct timer *timer;
    const struct objkind *kind;
    char *name;
};

struct actors {
    struct loop *loop;
    struct objstore *store;
    struct objwatch *watch;
    int slow_ms;
    struct slow *slow;
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
    const char *image = first_image(deployment);
    const char *name = json_str_at(deployment, "metadata", "name", NULL);
    /* the primary's old pods stay until new ones are ready */
    bool keeps_old = strstr(image, "canary-only") && strcmp(name, "podinfo-primary") == 0;
    bool good = replicas == 0 || (!strstr(image, "stuck") && !keeps_old);
    int64_t available = good || keeps_old ? replicas : 0;
    char text[CLOCK_TEXT];
    const char *now = clock_rfc3339(clock_wall_ms(), text);

    json_set_int(status, "observedGeneration", generation_of(deployment));
    json_set_int(status, "replicas", replicas);
    json_set_int(status, "updatedReplicas", replicas);
    json_set_int(status, "readyReplicas", available);
    json_set_int(status, "availableReplicas", available);
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

/* KEDA: a target that is paused goes to zero, another one does not stay there. */
static void run_keda(struct actors *actors, struct arena *arena)
{
    const struct objkind *scalers = objstore_kind(actors->store, "keda.sh", "scaledobjects");
    const struct objkind *deployments = objstore_kind(actors->store, "apps", "deployments");
    struct json_object *scaler =
        scalers ? objstore_get(actors->store, scalers, "test", "podinfo") : NULL;
    struct json_object *target = objstore_get(actors->store, deployments, "test", "podinfo");
    const char *paused =
        json_str_at(scaler, "metadata", "annotations", "autoscaling.keda.sh/paused-replicas", NULL);
    int64_t least = json_int_at(scaler, 0, "spec", "minReplicaCount", NULL);
    int64_t replicas = json_int_at(target, 1, "spec", "replicas", NULL);
    int64_t wanted = paused ? 0 : replicas < least ? least : replicas;
    struct objcall call = {.arena = arena, .manager = "keda"};
    struct json_object *patch = json_own(arena, json_object_new_object());

    if (!scaler || !target || wanted == replicas)
        return;
    json_set_int(json_sub(patch, "spec"), "replicas", wanted);
    if (objstore_merge(actors->store, &call, deployments, "test", "podinfo", OBJSUB_NONE, patch,
                       NULL) != ERR_OK)
        log_debug("keda", NULL, call.fail.message);
}

static const struct {
    const char *kind;
    struct json_object *(*make)(struct arena *arena, struct json_object *object);
    bool (*is_current)(struct json_object *object);
    bool slow;
} works[] = {
    {"Deployment", deployment_status, is_current, true},
    {"DaemonSet", daemonset_status, is_current, true},
    {"HTTPRoute", route_status, is_route_current, false},
};
enum { WORKS = sizeof(works) / sizeof(works[0]) };

static void work_on(struct actors *actors, const struct objkind *kind, struct json_object *object)
{
    for (int i = 0; i < WORKS; i++) {
        if (strcmp(works[i].kind, kind->kind) != 0 || works[i].is_current(object))
            continue;
        struct arena *arena = arena_new();
        write_status(actors, arena, kind, object, works[i].make(arena, object));
        arena_free(arena);
    }
}

static void drop(struct slow *slow)
{
    struct slow **at = &slow->actors->slow;

    while (*at != slow)
        at = &(*at)->next;
    *at = slow->next;
    timer_stop(slow->timer);
    free(slow->name);
    free(slow);
}

static void on_ready(void *arg)
{
    struct slow *slow = arg;
    struct actors *actors = slow->actors;
    struct json_object *object = objstore_get(actors->store, slow->kind, "test", slow->name);

    slow->timer = NULL;
    if (object) {
        json_object_get(object);
        work_on(actors, slow->kind, object);
        json_object_put(object);
    }
    drop(slow);
}

/* False: it is done at once. */
static bool takes_long(struct actors *actors, const struct objkind *kind,
                       struct json_object *object)
{
    const char *name = json_str_at(object, "metadata", "name", NULL);
    bool may = false;

    for (int i = 0; i < WORKS; i++)
        may = may || (strcmp(works[i].kind, kind->kind) == 0 && works[i].slow);
    if (!may || actors->slow_ms == 0)
        return false;
    for (struct slow *slow = actors->slow; slow; slow = slow->next) {
        if (slow->kind == kind && strcmp(slow->name, name) == 0)
            return true; /* what it is by then is what gets ready */
    }
    struct slow *slow = heap_alloc(sizeof(*slow));
    *slow = (struct slow){
        .actors = actors, .next = actors->slow, .kind = kind, .name = heap_strdup(name)};
    slow->timer = timer_start(actors->loop, actors->slow_ms, 0, on_ready, slow);
    actors->slow = slow;
    return true;
}

static void on_event(void *arg, const struct objevent *event)
{
    struct actors *actors = arg;

    if (event->type != OBJ_ADDED && event->type != OBJ_MODIFIED)
        return;
    if (!takes_long(actors, event->kind, event->object))
        work_on(actors, event->kind, event->object);
    if (strcmp(event->kind->kind, "ScaledObject") == 0 ||
        strcmp(event->kind->kind, "Deployment") == 0) {
        struct arena *arena = arena_new();
        run_keda(actors, arena);
        arena_free(arena);
    }
}

struct actors *actors_new(struct loop *loop, struct objstore *store, int slow_ms)
{
    struct actors *actors = heap_alloc(sizeof(*actors));

    *actors = (struct actors){.loop = loop, .store = store, .slow_ms = slow_ms};
    actors->watch = objstore_watch(store, NULL, NULL, on_event, actors);
    return actors;
}

void actors_free(struct actors *actors)
{
    if (!actors)
        return;
    objwatch_stop(actors->watch);
    while (actors->slow)
        drop(actors->slow);
    free(actors);
}
