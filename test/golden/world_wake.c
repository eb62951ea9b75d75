#include "world_wake.h"

#include <string.h>

#include "tick/need.h"

static uint64_t hash_of(const char *key, struct json_object *object)
{
    bool is_knative = strncmp(key, "services/", 9) == 0;

    return wake_spec_hash(object, is_knative ? kube_knative_services.news : NULL);
}

/* A label of its selector was asked for (need_labelled()). */
static bool is_labelled(struct world *world, const char *key, struct json_object *object)
{
    struct json_object *labels = json_at(object, "spec", "selector", "matchLabels", NULL);

    if (!json_object_is_type(labels, json_type_object))
        return false;
    json_object_object_foreach(labels, label, value)
    {
        if (json_at(world->depends,
                    arena_printf(world->arena, "%.*s/?%s/%s=%s", (int)strcspn(key, "/"), key,
                                 TICK_LABELLED, label, json_object_get_string(value)),
                    NULL))
            return true;
    }
    return false;
}

/* It scales, or has scaled, a workload whose scalers were asked for. */
static bool is_of_list(struct world *world, const char *key, struct json_object *object)
{
    struct json_object *ref = json_at(object, "spec", "scaleTargetRef", NULL);
    const char *kind = json_str_at(ref, "kind", NULL), *name = json_str_at(ref, "name", NULL);

    if (!name)
        return is_labelled(world, key, object);
    return json_at(world->depends,
                   arena_printf(world->arena, "%.*s/?%s/%s", (int)strcspn(key, "/"), key,
                                kind ? kind : "Deployment", name),
                   NULL);
}

void world_wake_changed(struct world *world, const char *key, struct json_object *before,
                        struct json_object *after)
{
    struct wake_change change = {
        .known = 1,
        .now = world->performing ? 1 : 2,
        .status_only = before && after && hash_of(key, before) == hash_of(key, after),
        .is_canary = strcmp(key, "canaries/podinfo") == 0,
    };

    if (before && after && json_same(before, after))
        return;
    if (!world->performing && is_of_list(world, key, before) != is_of_list(world, key, after))
        world->woken = true;
    if (!change.is_canary && !json_at(world->depends, key, NULL))
        return;
    if (wake_news(&change, wake_hears_status(&world->wake)) == WAKE_NEWS)
        world->woken = true;
}

void world_wake_begin(struct world *world)
{
    world->depends = json_own(world->arena, json_object_new_object());
    world->woken = false;
    world->timer_at = -1;
}

void world_wake_asked(struct world *world, const char *key)
{
    json_set_bool(world->depends, key, true);
}

void world_wake_planned(struct world *world, const struct tick *tick)
{
    world->plan = *tick->plan;
    world->performing = true;
}

void world_wake_end(struct world *world, int64_t interval_ms)
{
    enum phase phase = phase_parse(world_phase(world));
    int64_t now = world->now_ms;

    world->performing = false;
    wake_ran(&world->wake, &world->plan, phase, now, interval_ms);
    int64_t wait = wake_after(&world->wake, &world->plan, now, now, interval_ms);
    world->timer_at = wait < 0 ? -1 : now + wait;
    /* A tick that was cut off is another process's first. */
    world->woken = world->crashed;
}
