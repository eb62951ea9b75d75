#include "test/statistics/world.h"

#include <math.h>

static const double OUTAGE_SHARE = 1.0 / 3, DAY_SECONDS = 1200;

double scene_seconds(const struct scene *scene)
{
    return (double)scene->steps * STEP_SECONDS;
}

/* Up to a half, in equal steps. */
double scene_weight(const struct scene *scene, int step)
{
    return 0.5 * (step + 1) / scene->steps;
}

static double wave(double seconds)
{
    return sin(2 * M_PI * seconds / DAY_SECONDS);
}

static double changed(const struct scene *scene, double share, double seconds)
{
    const struct world *world = scene->world;

    if (world->drift > 0)
        share *= pow(world->drift, seconds / scene_seconds(scene));
    return fmin(share * (1 + world->day * wave(seconds)), 1);
}

/* Clumps are as frequent as it takes that the share stays what it is. */
static double clumps(struct dice *dice, double mean, double total, double share)
{
    double count = dice_poisson(dice, total * share / mean), bad = 0;

    for (int64_t i = 0; (double)i < count; i++)
        bad += dice_geometric(dice, mean);
    return fmin(bad, total);
}

static double bad_of(const struct world *world, struct dice *dice, double total, double share,
                     double outage)
{
    double failing = dice_binomial(dice, total, outage / LOOK_SECONDS);
    double bad = dice_binomial(dice, failing, OUTAGE_SHARE), rest = total - failing;

    return bad + (world->clump > 0 ? clumps(dice, world->clump, rest, share)
                                   : dice_binomial(dice, rest, share));
}

void world_bad(const struct scene *scene, struct dice *dice, double seconds, struct both *look)
{
    const struct world *world = scene->world;
    double share = seconds < scene->onset * 60 ? scene->primary : scene->canary;
    double outage = dice_binomial(dice, LOOK_SECONDS, world->outages);

    look->canary.bad =
        bad_of(world, dice, look->canary.total, changed(scene, share, seconds), outage);
    look->primary.bad =
        bad_of(world, dice, look->primary.total, changed(scene, scene->primary, seconds), outage);
}

struct both world_look(const struct scene *scene, struct dice *dice, double seconds, double weight)
{
    double requests = scene->per_second * LOOK_SECONDS * (1 - scene->world->day * wave(seconds));
    struct both look = {0};

    look.canary.total = dice_poisson(dice, requests * weight);
    look.primary.total = dice_poisson(dice, requests * (1 - weight));
    return look;
}
