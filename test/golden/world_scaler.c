#include "world_scaler.h"
#include "test/pretend.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "world_kind.h"

enum { WAIT_MS = 60000 };

/* A ScaledObject podinfo: a target that is paused goes to zero, another one does not stay there. */
static void run_keda(struct world *world)
{
    struct json_object *scaler = world_get(world, "scaledobjects/podinfo");
    struct json_object *target = world_get(world, "deployments/podinfo");

    if (scaler && target)
        world_patch(world, "deployments/podinfo",
                    arena_printf(world->arena, "{'spec':{'replicas':%d}}",
                                 (int)pretend_keda(scaler, target)));
}

/* The autoscaler of a workload: in proportion to its share of the load, at once in both directions.
 * (A real one is slower to shrink; this is the worst case.) */
static void run_autoscaler(struct world *world, const char *name, int share)
{
    struct json_object *hpa =
        world_get(world, arena_printf(world->arena, "horizontalpodautoscalers/%s", name));
    struct json_object *keda =
        world_get(world, arena_printf(world->arena, "scaledobjects/%s", name));
    struct json_object *spec = json_at(hpa ? hpa : keda, "spec", NULL);
    int64_t least = json_int_at(spec, 1, hpa ? "minReplicas" : "minReplicaCount", NULL);
    int64_t most = json_int_at(spec, 100, hpa ? "maxReplicas" : "maxReplicaCount", NULL);
    const char *key = arena_printf(world->arena, "deployments/%s", name);
    int64_t wanted = (world->load * (int64_t)share + WEIGHT_ALL - 1) / WEIGHT_ALL;

    if (!spec || world->load == 0 ||
        json_int_at(world_get(world, key), 0, "spec", "replicas", NULL) == 0)
        return;
    wanted = wanted < least ? least : wanted > most ? most : wanted;
    world_patch(world, key, arena_printf(world->arena, "{'spec':{'replicas':%d}}", (int)wanted));
}

void world_scale(struct world *world, int canary)
{
    run_autoscaler(world, "podinfo", world->measured);
    run_autoscaler(world, "podinfo-primary", WEIGHT_ALL - world->measured);
    run_keda(world);
    world->measured = canary;
}

void world_limit(struct world *world)
{
    static const char key[] = "deployments/podinfo-primary";
    struct json_object *primary = world_get(world, key);

    if (world->room > 0 &&
        json_int_at(primary, 0, "status", "availableReplicas", NULL) > world->room)
        world_patch(world, key,
                    arena_printf(world->arena, "{'status':{'availableReplicas':%d}}", world->room));
}

/* --- the safety rules */

/* A paused ScaledObject takes the pods of its workload. */
static void check_keda(struct world *world, int canary, bool primary_selected)
{
    static const char *const pauses[] = {"autoscaling.keda.sh/paused-replicas",
                                         "autoscaling.keda.sh/paused"};

    for (int i = 0; i < 2; i++) {
        if (json_at(world_get(world, "scaledobjects/podinfo-primary"), "metadata", "annotations",
                    pauses[i], NULL))
            fail_msg("the primary's ScaledObject is paused");
    }
    if (json_at(world_get(world, "scaledobjects/podinfo"), "metadata", "annotations", pauses[0],
                NULL) &&
        (canary > 0 || !primary_selected))
        fail_msg("the target's ScaledObject is paused while the target serves");
}

/* True when this Canary waits for its primary, and has done so for a minute. */
static bool has_waited(struct world *world)
{
    struct json_object *conditions = json_at(world->canary, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *since = json_str_at(json_elem(conditions, i), "lastTransitionTime", NULL);
        int64_t ms;
        if (type && strcmp(type, "PrimaryScaled") == 0 && since &&
            clock_parse(since, &ms, NULL) == ERR_OK && world->now_ms - ms >= WAIT_MS)
            return true;
    }
    return false;
}

/* All traffic at once goes to who has the pods for it, if that can be waited for. (An autoscaler
 * tolerates 10 % as well.) */
static void check_capacity(struct world *world, int was, int canary)
{
    struct json_object *primary = world_get(world, "deployments/podinfo-primary");
    struct json_object *target = world_get(world, "deployments/podinfo");
    struct json_object *hpa = world_get(world, "horizontalpodautoscalers/podinfo");
    int64_t has = json_int_at(primary, 0, "status", "availableReplicas", NULL);
    int64_t most = json_int_at(hpa, world->load, "spec", "maxReplicas", NULL);
    int64_t needs = world->load < most ? world->load : most;
    bool by_steps =
        json_int_at(world->canary, 0, "spec", "analysis", "stepWeightPromotion", NULL) > 0 ||
        json_at(world->canary, "spec", "analysis", "promotion", NULL);

    if (world->load == 0 || canary > 0 || was < 10 * WEIGHT_PERCENT || by_steps ||
        needs * 10 <= has * 11 ||
        json_int_at(target, 0, "status", "availableReplicas", NULL) == 0 || has_waited(world))
        return;
    if (!strstr(world_image(world, "podinfo"), "stuck") &&
        !strstr(world_image(world, "podinfo-primary"), "canary-only"))
        fail_msg("all traffic goes to %d pods, it needs %d", (int)has, (int)needs);
}

void world_check_number(struct world *world, const char *key, struct json_object *before)
{
    struct json_object *after = world_get(world, key);

    if (strncmp(key, "deployments/", strlen("deployments/")) != 0)
        return;
    json_object_object_foreach(world->objects, name, scaler)
    {
        if ((strncmp(name, "horizontalpodautoscalers/", 25) == 0 ||
             strncmp(name, "scaledobjects/", 14) == 0) &&
            pretend_overwrites(scaler, before, after))
            fail_msg("%s gets %d replicas, which %s has set to %d", key,
                     (int)json_int_at(after, 1, "spec", "replicas", NULL), name,
                     (int)json_int_at(before, 1, "spec", "replicas", NULL));
    }
}

/* The most that the target's autoscaler allows. */
static int64_t most_of_target(struct world *world)
{
    struct json_object *hpa = world_get(world, "horizontalpodautoscalers/podinfo");
    struct json_object *keda = world_get(world, "scaledobjects/podinfo");

    return hpa    ? json_int_at(hpa, 1, "spec", "maxReplicas", NULL)
           : keda ? json_int_at(keda, 100, "spec", "maxReplicaCount", NULL)
                  : INT64_MAX;
}

/* True if a share of 100 is one of the requests that match: no step has it as its weight. */
static bool is_of_matches(struct json_object *analysis, int canary)
{
    struct json_object *steps = json_at(analysis, "steps", NULL);
    bool matches = json_at(analysis, "match", NULL);

    for (size_t i = 0; canary == WEIGHT_ALL && i < json_len(steps); i++) {
        if (json_int_at(json_elem(steps, i), 0, "weight", NULL) == 100)
            return false;
        matches = matches || json_at(json_elem(steps, i), "match", NULL);
    }
    return matches;
}

/* No share grows beyond the pods of its side: of those that all traffic needs, or that a primary which
 * nothing scales has had for it. */
static void check_share(struct world *world, int was, int canary)
{
    struct json_object *target = world_get(world, "deployments/podinfo");
    struct json_object *primary = world_get(world, "deployments/podinfo-primary");
    struct json_object *analysis = json_at(world->canary, "spec", "analysis", NULL);
    const char *said = json_str_at(analysis, "capacity", "canary", NULL), *phase;
    int64_t has = json_int_at(target, 0, "status", "availableReplicas", NULL);
    int64_t all = json_int_at(primary, 0, "status", "availableReplicas", NULL);
    int64_t threshold = json_int_at(analysis, 100, "canaryReadyThreshold", NULL);
    int64_t share = is_of_matches(analysis, (int)canary)
                        ? WEIGHT_PERCENT * json_int_at(analysis, canary / WEIGHT_PERCENT,
                                                       "capacity", "matchedShare", NULL)
                        : canary;

    phase = world_phase(world);
    if (canary <= was || !target || !primary || all == 0 || strcmp(phase, "Progressing") != 0 ||
        (said && strcmp(said, "None") == 0))
        return;
    all = world->load > 0 ? world->load : all;
    int64_t needs = (all * share + WEIGHT_ALL - 1) / WEIGHT_ALL * threshold / 100;
    if (needs > most_of_target(world))
        needs = most_of_target(world);
    if (has < needs)
        fail_msg("the canary gets %s %% with %d pods, it needs %d",
                 weight_text(world->arena, canary), (int)has, (int)needs);
}

void world_check_scalers(struct world *world, int was, int canary, bool primary_selected)
{
    /* A deletion sends everything to the target. */
    if (!json_at(world->canary, "metadata", "deletionTimestamp", NULL)) {
        check_capacity(world, was, canary);
        check_share(world, was, canary);
    }
    check_keda(world, canary, primary_selected);
}

bool world_is_down(struct world *world, const char *name)
{
    struct json_object *target = world_get(world, world_key(world, name));

    return (target && world_kind_of(world)->at_zero(target)) ||
           json_at(world_get(world, "scaledobjects/podinfo"), "metadata", "annotations",
                   "autoscaling.keda.sh/paused-replicas", NULL);
}

void world_check_pause(struct world *world, const char *name, bool serves)
{
    if (serves)
        world->served_ms = world->now_ms;
    else if (!world->was_down && world_is_down(world, name) &&
             world->now_ms - world->served_ms < WAIT_MS)
        fail_msg("the target is scaled down %d ms after it had traffic",
                 (int)(world->now_ms - world->served_ms));
}
