#include "world_refuse.h"
#include "test/unit.h"

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
    world->requeue = REQUEUE_INTERVAL;
    return true;
}

static bool is_told(struct world *world)
{
    struct json_object *list = json_at(world->canary, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        const char *type = json_str_at(json_elem(list, i), "type", NULL);
        const char *status = json_str_at(json_elem(list, i), "status", NULL);
        if (strcmp(type, "WritesAccepted") == 0)
            return strcmp(status, "False") == 0;
    }
    return false;
}

/*
 * What is refused for good is told before anything else is done, and a release that is not written to the primary ends at
 * the deadline; but where it is suspended.
 */
static void check_refusal(struct world *world, const struct plan *plan)
{
    enum { SLACK_MS = 5 * 60 * 1000 };
    const char *phase = world_phase(world);
    bool analyses = strcmp(phase, "Progressing") == 0 || strcmp(phase, "WaitingPromotion") == 0;
    bool ends = analyses && *world->refuses && is_told(world) && !world->crashed &&
                !json_at(world->canary, "status", "paused", NULL) &&
                !json_bool_at(world->canary, false, "spec", "suspend", NULL);
    int64_t deadline =
        json_int_at(world->canary, 600, "spec", "progressDeadlineSeconds", NULL) * 1000;

    if (plan->held && world->refused.text && !world->refused_told && !world->crashed &&
        !is_told(world))
        fail_msg("a write of %s is refused for good, and not told", world->refused.name);
    if (!ends)
        world->refused_since = 0;
    else if (world->refused_since < world->stepped_at_ms || world->refused_since == 0 ||
             world->refused_since > world->now_ms)
        world->refused_since = world->now_ms; /* or since the clock was set */
    else if (world->now_ms - world->refused_since > deadline + SLACK_MS)
        fail_msg("writes of %s have been refused for %lld ms, and the release goes on",
                 world->refused.name, (long long)(world->now_ms - world->refused_since));
}

/* A write that a due tick did without is tried before the next one, as the plan's time says. */
static void try_between(struct world *world, const struct plan *plan)
{
    bool waits = world->due && !plan->held && !world->refuses_now && is_told(world);

    if (world->between)
        world->due = true;
    else if (waits && plan->wake_ms > 0)
        world->due = false;
    world->between = waits && !world->due;
}

void world_refusal_end(struct world *world, const struct plan *plan)
{
    try_between(world, plan);
    if (!world->safety_off)
        check_refusal(world, plan);
    if (plan->held)
        world->refused_told = true;
    else if (!world->refuses_now)
        world->refused = (struct refused_write){0};
}
