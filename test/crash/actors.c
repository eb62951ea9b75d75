#include "crash/actors.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/route.h"
#include "test/pretend.h"

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

static int64_t generation_of(struct json_object *object)
{
    return json_int_at(object, 1, "metadata", "generation", NULL);
}

static bool is_current(struct json_object *object)
{
    return json_int_at(object, 0, "status", "observedGeneration", NULL) == generation_of(object);
}

static enum health health_of(struct json_object *workload)
{
    const char *image = first_image(workload);
    const char *name = json_str_at(workload, "metadata", "name", NULL);

    /* the primary's old pods stay until new ones are ready */
    if (strstr(image, "canary-only") && strcmp(name, "podinfo-primary") == 0)
        return HEALTH_KEPT;
    return strstr(image, "stuck") ? HEALTH_STUCK : HEALTH_READY;
}

static struct json_object *workload_status(struct arena *arena, struct json_object *workload)
{
    struct json_object *settled = json_copy(arena, workload);
    char now[CLOCK_TEXT];

    pretend_settle(settled, health_of(workload), clock_rfc3339(clock_wall_ms(), now));
    return json_at(settled, "status", NULL);
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
    int64_t wanted = pretend_keda(scaler, target);
    struct objcall call = {.arena = arena, .manager = "keda"};
    struct json_object *patch = json_own(arena, json_object_new_object());

    if (!scaler || !target || wanted == json_int_at(target, 1, "spec", "replicas", NULL))
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
    {"Deployment", workload_status, is_current, true},
    {"DaemonSet", workload_status, is_current, true},
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
