#include "world_refuse.h"

#include <string.h>

void world_refusal_show(struct world *world, struct tick *tick)
{
    world->refuses_now = false;
    if (world->restarted)
        world->refused = (struct refused_write){0};
    if (!world->refused_told)
        tick->refused_write = world->refused;
}

static bool is_same(const struct refused_write *refused, const struct effect *effect)
{
    return refused->text && strcmp(refused->name, effect->name) == 0 &&
           strcmp(refused->resource, effect->resource->plural) == 0;
}

bool world_refuses(struct world *world, const struct effect *effect)
{
    if (!effect_writes(effect) || !*world->refuses)
        return false;
    const char *key = arena_printf(world->arena, "%s/%s", effect->resource->plural, effect->name);
    if (!strstr(arena_printf(world->arena, " %s ", world->refuses),
                arena_printf(world->arena, " %s ", key)))
        return false;
    if (!is_same(&world->refused, effect)) {
        world->refused = (struct refused_write){
            .resource = effect->resource->plural,
            .name = arena_strdup(world->arena, effect->name),
            .text = arena_printf(world->arena, "%s: the policy does not like it", key)};
        world->refused_told = false;
    }
    world->refuses_now = true;
    world->due = true;
    world->again = AGAIN_INTERVAL;
    return true;
}

void world_refusal_end(struct world *world, const struct plan *plan)
{
    if (plan->held)
        world->refused_told = true;
    else if (!world->refuses_now)
        world->refused = (struct refused_write){0};
}
