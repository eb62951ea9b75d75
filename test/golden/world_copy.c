#include "world.h"

struct world *world_copy(const struct world *from)
{
    struct arena *arena = arena_new();
    struct world *copy = ARENA_NEW(arena, struct world);

    *copy = *from;
    copy->arena = arena;
    copy->objects = json_copy(arena, from->objects);
    copy->canary = json_copy(arena, from->canary);
    copy->metrics = json_copy(arena, from->metrics);
    copy->asked = json_copy(arena, from->asked);
    copy->dropped_spec = json_copy(arena, from->dropped_spec);
    copy->depends = json_copy(arena, from->depends);
    return copy;
}
