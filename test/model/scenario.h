/*
 * What is explored: one row is one Canary in one cluster, and what the world may do to it. See
 * scenarios.yaml.
 */
#ifndef MODEL_SCENARIO_H
#define MODEL_SCENARIO_H

#include "ticks.h"

/* What the world does by itself, beside the deeds of people that a scenario lists. */
enum {
    WORLD_CANARY_FAILS = 1,  /* the target's pods become unready, or run into their deadline */
    WORLD_PRIMARY_FAILS = 2, /* the primary's */
    WORLD_GATEWAY_LAGS = 4,  /* the gateway takes over a route some time after it was written */
    WORLD_TIME_PASSES = 8, /* what is new becomes older than an interval, and than every deadline */
    FROM_SCRATCH = 16,     /* starts with a Canary that nobody has seen, not an initialised one */
    RACES = 32, /* what happens may also happen between the reading and the writes of a tick */
};

enum { MAX_DEEDS = 12, MAX_OBJECTS = 6 };

/* A person or another controller changes an object. Texts are JSON. */
struct deed {
    const char *what;  /* "suspends" */
    const char *key;   /* "canaries/podinfo" */
    const char *patch; /* NULL: deletes it */
    bool makes;        /* the patch is the whole object, made where there is none */
};

struct given {
    const char *key;
    const char *object;
};

struct scenario {
    const char *name;
    const char *canary; /* patch of the base Canary, NULL if none */
    const char *kind;   /* of the workload, see kind.h; NULL: Deployment */
    int revisions;      /* how many the target may hold, 1 is the first */
    unsigned world;
    uint32_t limit; /* how many states at most, where there is no end of them; 0 for all */
    bool sized;     /* "sizes" is in its name: shares grow with the pods that their side has */
    bool judged;    /* the analysis asks for the judge */
    int passes;     /* checks that a revision must pass before it may be promoted; 0: one, at the
                       maximal weight */
    struct deed deeds[MAX_DEEDS];
    struct given objects[MAX_OBJECTS];
};

extern struct scenario scenarios[];
extern int n_scenarios;
/* All of test/model/scenarios.yaml, below the working folder, as long as the arena lives. Where that
 * cannot be read, tells why and ends the program. */
void scenarios_read(struct arena *arena);
/* NULL: there is none of this name. */
const struct scenario *scenario_find(const char *name);

/* It has a hook of this type. */
bool scenario_has(const struct scenario *scenario, const char *hook);
/* The Canary before anybody has seen it. */
struct json_object *scenario_canary(struct arena *arena, const struct scenario *scenario);

#endif
