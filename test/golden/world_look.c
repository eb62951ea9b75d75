/* What cases look at in the simulated cluster. */
#include "test/health.h"
#include "test/unit.h"
#include "world.h"

#include <string.h>

const char *world_phase(struct world *world)
{
    const char *phase = json_str_at(world->canary, "status", "phase", NULL);

    return phase ? phase : "";
}

int world_status_int(struct world *world, const char *key)
{
    return (int)json_int_at(world->canary, -1, "status", key, NULL);
}

static void drop_times(struct json_object *object)
{
    struct json_object *conditions = json_at(object, "status", "conditions", NULL);
    struct json_object *metadata = json_at(object, "metadata", NULL);
    struct json_object *status = json_at(object, "status", NULL);

    if (metadata) {
        json_object_object_del(metadata, "resourceVersion");
        json_object_object_del(metadata, "generation");
    }
    struct json_object *requests = json_at(status, "requests", NULL);
    for (size_t i = 0; i < json_len(requests); i++)
        json_object_object_del(json_elem(requests, i), "at");
    if (status) {
        json_object_object_del(status, "lastTransitionTime");
        json_object_object_del(status, "observedGeneration");
        json_object_object_del(status, "release"); /* and what is remembered with them */
        json_object_object_del(status, "history");
    }
    for (size_t i = 0; i < json_len(conditions); i++) {
        json_object_object_del(json_elem(conditions, i), "lastTransitionTime");
        json_object_object_del(json_elem(conditions, i), "lastUpdateTime");
    }
}

const char *world_state(struct world *world)
{
    struct json_object *objects = json_copy(world->arena, world->objects);
    struct json_object *canary = json_copy(world->arena, world->canary);

    drop_times(canary);
    json_object_object_foreach(objects, key, object)
    {
        (void)key;
        drop_times(object);
    }
    return arena_printf(world->arena, "%s\n%s", json_text_sorted(world->arena, canary),
                        json_text_sorted(world->arena, objects));
}

void world_check_status(struct world *world)
{
    const char *fault = health_fault(world->canary);

    if (fault)
        fail_msg("%s, not so: %s", fault,
                 json_text(world->arena, json_at(world->canary, "status", NULL)));
}
