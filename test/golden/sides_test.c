/*
 * The traffic of twelve pods behind an autoscaler of 2 to 20 moves to the canary and back, at once
 * and in steps: pods of both sides over time, printed, and no side with less than its share needs.
 * The autoscalers give each side what its share of the load needs, an interval late.
 */
#include <stdio.h>
#include <string.h>

#include "test/unit.h"
#include "world.h"

enum { LOAD = 12, MOST_TICKS = 90 };

/* A minimum of 0: nothing scales. */
struct sides {
    const char *title, *analysis;
    int minimum;
    int64_t largest; /* pods of the canary, found */
};

static int64_t pods_of(struct world *world, const char *name)
{
    struct json_object *workload = world_get(world, world_key(world, name));

    return json_int_at(workload, 0, "status", "availableReplicas", NULL);
}

static int needs(int share)
{
    return (LOAD * share + 99) / 100;
}

static const char *scaler_of(struct world *world, int minimum)
{
    return arena_printf(
        world->arena,
        "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','spec':{"
        "'minReplicas':%d,'maxReplicas':20,'scaleTargetRef':{'apiVersion':'apps/v1',"
        "'kind':'Deployment','name':'podinfo'}}}",
        minimum);
}

static int minimum_of(struct world *world)
{
    return (int)json_int_at(world_get(world, "horizontalpodautoscalers/podinfo"), 0, "spec",
                            "minReplicas", NULL);
}

static struct world *begin(const struct sides *sides)
{
    struct world *world =
        world_new(sides->minimum > 0 ? "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2',"
                                       "'kind':'HorizontalPodAutoscaler','name':'podinfo'}}}"
                                     : "{}");

    world_patch_canary(world, sides->analysis);
    world_patch(world, "deployments/podinfo",
                arena_printf(world->arena, "{'spec':{'replicas':%d}}", LOAD));
    if (sides->minimum > 0) {
        world_put(world, "horizontalpodautoscalers/podinfo", scaler_of(world, sides->minimum));
        world->load = LOAD;
    }
    world_initialise(world);
    world_settle(world);
    world_push(world, "podinfo:2");
    return world;
}

/* One release, a line for each change. */
static void play(struct sides *sides)
{
    struct world *world = begin(sides);
    const char *last = "";
    int64_t began = world->now_ms;

    print_message("%s\n  minute  phase        weights  primary  canary  least of the autoscaler\n",
                  sides->title);
    for (int i = 0; i < MOST_TICKS && strcmp(world_phase(world), "Succeeded") != 0; i++) {
        world_step(world);
        int share = world_status_int(world, "canaryWeight");
        int64_t primary = pods_of(world, "podinfo-primary"), canary = pods_of(world, "podinfo");
        const char *line =
            arena_printf(world->arena, "%-12s %-8s %7d %7d %7d", world_phase(world),
                         world_weights(world), (int)primary, (int)canary, minimum_of(world));
        if (strcmp(line, last) != 0)
            print_message("  %6d  %s\n", (int)((world->now_ms - began) / 60000), line);
        last = line;
        assert_true(share == 0 || canary >= needs(share));
        assert_true(share == 100 || primary >= needs(100 - share));
        sides->largest = canary > sides->largest ? canary : sides->largest;
    }
    assert_string_equal(world_phase(world), "Succeeded");
    world_run(world);
    assert_int_equal(minimum_of(world), sides->minimum);
    assert_int_equal(pods_of(world, "podinfo"), 0);
    world_free(world);
}

CASE(the_traffic_of_twelve_pods_moves)
{
    struct sides all = {"blue/green",
                        "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':2}}}",
                        .minimum = 2};
    struct sides half = {"steps of 10 to 50 %",
                         "{'spec':{'analysis':{'stepWeight':10,'maxWeight':50}}}", .minimum = 2};
    struct sides steps = {"steps of 25 to 100 %, promoted in steps of 50",
                          "{'spec':{'analysis':{'stepWeight':25,'maxWeight':100,"
                          "'stepWeightPromotion':50}}}",
                          .minimum = 2};

    play(&all);
    play(&half);
    play(&steps);
    assert_int_equal(all.largest, LOAD);
    /* a primary that has not shrunk to its share yet looks as if it needed a little more */
    assert_true(half.largest >= needs(50) && half.largest <= needs(50) + 2);
    assert_int_equal(steps.largest, LOAD);
}

/* With spec.analysis.canaryScale also beside an autoscaler whose minimum is half of all pods. */
CASE(a_canary_has_the_pods_of_its_share)
{
    static const struct {
        const char *scale;
        int least;
    } rows[] = {
        {"'matchWeight':true", 1},
        {"'replicas':2", 2},
        {"'percent':25", 3},
    };

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        char title[80], analysis[120];
        struct sides sides = {title, analysis, .minimum = i % 2 == 0 ? 0 : LOAD / 2};
        snprintf(title, sizeof(title), "steps of 5 to 20 %%, %s, %s", rows[i / 2].scale,
                 i % 2 == 0 ? "nothing scales" : "an autoscaler of 6 to 20");
        snprintf(analysis, sizeof(analysis),
                 "{'spec':{'analysis':{'stepWeight':5,'maxWeight':20,'canaryScale':{%s}}}}",
                 rows[i / 2].scale);
        play(&sides);
        assert_true(sides.largest <=
                    (needs(20) > rows[i / 2].least ? needs(20) : rows[i / 2].least) + 1);
    }
}
