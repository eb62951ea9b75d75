/* The objects of the simulated cluster, and who writes them. */
#include "world_store.h"
#include "test/pretend.h"
#include "test/rows.h"
#include "test/unit.h"
#include "world_wake.h"

#include <string.h>

#include "base/clock.h"

struct json_object *world_json(struct world *world, const char *quoted)
{
    return rows_json(world->arena, quoted);
}

static void stamp(struct world *world, struct json_object *object)
{
    json_set_str(json_sub(object, "metadata"), "resourceVersion",
                 arena_printf(world->arena, "%d", ++world->versions));
}

void world_patch_canary(struct world *world, const char *patch)
{
    struct json_object *before = world->canary;

    world->canary = json_merge(world->arena, before, world_json(world, patch));
    stamp(world, world->canary);
    world_wake_changed(world, "canaries/podinfo", before, world->canary);
}

struct json_object *world_get(struct world *world, const char *key)
{
    struct json_object *object = NULL;

    json_object_object_get_ex(world->objects, key, &object);
    return object;
}

void world_merge(struct world *world, const char *key, struct json_object *patch)
{
    struct json_object *before = world_get(world, key);
    struct json_object *after = pretend_merged(world->arena, before, patch);

    if (after == before)
        return; /* nothing was written, and nothing hears of it */
    stamp(world, after);
    world_wake_changed(world, key, before, after);
    json_set(world->objects, key, after);
}

void world_put(struct world *world, const char *key, const char *object)
{
    json_object_object_del(world->objects, key);
    world_merge(world, key, world_json(world, object));
    struct json_object *metadata = json_sub(world_get(world, key), "metadata");
    json_set_str(metadata, "namespace", "test");
    json_set_str(metadata, "name", strchr(key, '/') + 1);
}

void world_patch(struct world *world, const char *key, const char *patch)
{
    if (patch) {
        world_merge(world, key, world_json(world, patch));
        return;
    }
    world_wake_changed(world, key, world_get(world, key), NULL);
    if (world->remembers)
        json_set(world->last, key, world_get(world, key));
    json_object_object_del(world->objects, key);
}

/* The garbage collector: what belongs to the Canary and to nobody else. A route that goes in the
 * same moment as the Services that it leads to leads nowhere until the mesh has heard of it. */
static void collect(struct world *world)
{
    struct json_object *left = pretend_left(world->arena, world->objects,
                                            json_str_at(world->canary, "metadata", "uid", NULL));

    json_object_object_foreach(world->objects, key, object)
    {
        (void)object;
        if (!json_at(left, key, NULL) && strncmp(key, "httproutes/", strlen("httproutes/")) == 0)
            world->lost_route = arena_strdup(world->arena, key);
    }
    world->objects = left;
}

void world_merge_canary(struct world *world, struct json_object *patch)
{
    const char *expected = json_str_at(patch, "metadata", "resourceVersion", NULL);
    const char *version = json_str_at(world->canary, "metadata", "resourceVersion", NULL);

    if (world->gone)
        fail_msg("the Canary is written after it has gone");
    if (expected && strcmp(expected, version) != 0)
        fail_msg("the Canary is patched at version %s, it has %s", expected, version);
    world->canary = json_merge(world->arena, world->canary, patch);
    stamp(world, world->canary);
    if (json_at(world->canary, "metadata", "deletionTimestamp", NULL) &&
        !json_at(world->canary, "metadata", "finalizers", NULL)) {
        world->gone = true;
        collect(world);
    }
}

void world_delete(struct world *world)
{
    char now[CLOCK_TEXT];

    world_patch_canary(world, arena_printf(world->arena, "{'metadata':{'deletionTimestamp':'%s'}}",
                                           clock_rfc3339(world->now_ms, now)));
    world_merge_canary(world, world_json(world, "{}"));
}

const char *world_version_after(struct world *world, const struct effect *effect)
{
    struct json_object *object =
        strcmp(effect->resource->plural, "canaries") == 0
            ? world->canary
            : world_get(world, arena_printf(world->arena, "%s/%s", effect->resource->plural,
                                            effect->name));

    return json_str_at(object, "metadata", "resourceVersion", NULL);
}
