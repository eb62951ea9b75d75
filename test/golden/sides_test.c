/*
 * The traffic of twelve pods behind an autoscaler of 2 to 20 moves to the canary and back, at once
 * and in steps: pods of both sides over time, printed, and no side with less than its share needs.
 * The autoscalers give each side what its share of the load needs, an interval late.
 */
#include <string.h>

#include "test/unit.h"
#include "world.h"

enum { LOAD = 12, MOST_TICKS = 90 };

static const char hpa[] =
    "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','spec':{'minReplicas':2,"
    "'maxReplicas':20,'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment',"
    "'name':'podinfo'}}}";

static int64_t pods_of(struct world *world, const char *name)
{
    struct json_object *workload = world_get(world, world_key(world, name));

    return json_int_at(workload, 0, "status", "availableReplicas", NULL);
}

static int needs(int share)
{
    return (LOAD * share + 99) / 100;
}

/* One release, a line for each change. Returns how many pods the canary had with most of the traffic.
 */
static int64_t play(const char *title, const char *analysis)
{
    struct world *world = world_new("{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2',"
                                    "'kind':'HorizontalPodAutoscaler','name':'podinfo'}}}");
    const char *last = "";
    int64_t largest = 0;
    int64_t began;

    world_patch_canary(world, analysis);
    world_put(world, "horizontalpodautoscalers/podinfo", hpa);
    world->load = LOAD;
    world_initialise(world);
    world_settle(world);
    world_push(world, "podinfo:2");
    began = world->now_ms;
    print_message("%s\n  minute  phase        weights  primary  canary  least of the autoscaler\n",
                  title);
    for (int i = 0; i < MOST_TICKS && strcmp(world_phase(world), "Succeeded") != 0; i++) {
        world_step(world);
        int share = world_status_int(world, "canaryWeight");
        int64_t primary = pods_of(world, "podinfo-primary"), canary = pods_of(world, "podinfo");
        const char *line =
            arena_printf(world->arena, "%-12s %-8s %7d %7d %7d", world_phase(world),
                         world_weights(world), (int)primary, (int)canary,
                         (int)json_int_at(world_get(world, "horizontalpodautoscalers/podinfo"), 0,
                                          "spec", "minReplicas", NULL));
        if (strcmp(line, last) != 0)
            print_message("  %6d  %s\n", (int)((world->now_ms - began) / 60000), line);
        last = line;
        assert_true(share == 0 || canary >= needs(share));
        assert_true(share == 100 || primary >= needs(100 - share));
        largest = canary > largest ? canary : largest;
    }
    assert_string_equal(world_phase(world), "Succeeded");
    world_run(world);
    assert_int_equal(json_int_at(world_get(world, "horizontalpodautoscalers/podinfo"), 0, "spec",
                                 "minReplicas", NULL),
                     2);
    world_free(world);
    return largest;
}

CASE(the_traffic_of_twelve_pods_moves)
{
    int64_t all = play("blue/green",
                       "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':2}}}");
    int64_t half =
        play("steps of 10 to 50 %", "{'spec':{'analysis':{'stepWeight':10,'maxWeight':50}}}");
    int64_t steps = play("steps of 25 to 100 %, promoted in steps of 50",
                         "{'spec':{'analysis':{'stepWeight':25,'maxWeight':100,"
                         "'stepWeightPromotion':50}}}");

    assert_int_equal(all, LOAD);
    /* a primary that has not shrunk to its share yet looks as if it needed a little more */
    assert_true(half >= needs(50) && half <= needs(50) + 2);
    assert_int_equal(steps, LOAD);
}
