/* What may happen to the requests of a release: worlds, and what is counted in them. */
#ifndef JUDGE_WORLD_H
#define JUDGE_WORLD_H

#include "judge/dice.h"
#include "judge/judge.h"

enum { LOOK_SECONDS = 10, STEP_SECONDS = 60 };

/* How the share of bad requests of both versions changes, and what else is not as in a book. */
struct world {
    const char *name;
    double drift;   /* it is that many times as large in the end as at the beginning; 0: no drift */
    double day;     /* it goes up and down by this part of itself, and the traffic against it */
    double outages; /* chance of a second in which a third of all requests fails */
    double clump;   /* bad requests come in clumps of this mean size; 0: each alone */
};

/* A release. Shares are those of bad requests. */
struct scene {
    const struct world *world;
    double per_second, primary, canary;
    int steps;    /* of a minute; the weight goes up to half of the traffic */
    double onset; /* in minutes: until then the canary is as the primary */
};

struct both {
    struct judge_counts canary, primary;
};

double scene_seconds(const struct scene *scene);
double scene_weight(const struct scene *scene, int step);

/* The requests of one look: seconds since the release began, and the canary's weight then. */
struct both world_look(const struct scene *scene, struct dice *dice, double seconds, double weight);
/* Those of one of several metrics, of the same requests. */
void world_bad(const struct scene *scene, struct dice *dice, double seconds, struct both *look);

#endif
