/*
 * A fleet of four clusters with one Canary each, the controller of a ReleasePlan beside it, and all
 * that may happen to them, one small move at a time. Called by test/model/waves/run.
 *
 * A state is plain bytes, compared as such. What the controller sees of a cluster that it cannot
 * reach is what it saw last; what is told nobody (`seen`, `raced`, `freed`) serves the invariants
 * alone.
 */
#ifndef TEST_MODEL_WAVES_WORLD_H
#define TEST_MODEL_WAVES_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/rules/waves.h"

enum { CLUSTERS = 4, WAVES = 3, CARS = 2, NONE = 15, NAME_TEXT = 20 };

enum moment { RESTS, HAS_FAILED, BEGUN, ROUTED }; /* ROUTED: requests go to the canary */
enum pending { NOTHING, TO_HOLD, TO_GO };
enum when { NEVER, NOW, LONG_AGO };

struct place {
    uint8_t target; /* the revision of the workload */
    uint8_t promoted, applied, moment;
    uint8_t held, suspended; /* by the plan; by a person */
    uint8_t lost, unknown;   /* not reachable; and not seen since the controller began */
    struct {
        uint8_t promoted, applied, moment, held;
    } view;
    uint8_t pending,
        changed;   /* what the controller is about to do; the Canary is another one since */
    uint8_t freed; /* let go by the plan and not held since */
    uint8_t raced; /* got a revision while it was let go */
    /* its replicas: looked up since the controller began; and in the status */
    uint8_t weighed, noted;
};

struct world {
    struct place places[CLUSTERS];
    uint8_t revision[CARS], written; /* of the status; it was ever written */
    char name[NAME_TEXT];            /* of all of them */
    uint8_t let_go[CLUSTERS];
    uint8_t completed[WAVES], passed[WAVES];
    uint8_t approved; /* the revision that the gate lets through; NONE */
    uint8_t asked;    /* the last revision and what was answered: what the controller remembers */
    uint8_t accepted; /* by a person; NONE */
    uint8_t losses, crashes;
};

struct scenario {
    const char *name;
    const char *spec;   /* of the plan, with single quotes */
    const char *where;  /* the wave of each cluster; NULL: "0112" */
    const char *orders; /* which Application of the train it has; NULL: "0000" */
    int revisions;      /* 0 is there in the beginning */
    unsigned bad;       /* bits: those that fail wherever they get requests */
    int losses, crashes;
    int flaky;      /* any revision may fail in wave 1 or, if 2, in the first one */
    bool accepts;   /* a person may take failures as they are */
    bool suspended; /* a person has suspended the Canary of the third cluster */
    bool unheld;    /* in the beginning nothing is held */
    bool ends;      /* from each state there is a way to its end */
};

extern const struct scenario scenarios[];
extern const int n_scenarios;

/* Reads the plan of the scenario; it lives in the arena. */
void world_begin(struct arena *arena, const struct scenario *scenario, struct world *first);

enum { MAX_MOVES = 64, MOVE_TEXT = 160 };
struct move {
    struct world to;
    char what[MOVE_TEXT];
};
/* All that may happen next. *broken: one sentence about a rule that does not hold; NULL: all do. */
int world_moves(const struct world *from, struct move moves[MAX_MOVES], const char **broken);
/* Everything that was delivered is promoted everywhere, and what is to be held is. */
bool world_is_at_end(const struct world *world);

#endif
