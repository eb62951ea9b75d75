/*
 * All states of a scenario, breadth first, so that the way to a violation is the shortest.
 */
#ifndef MODEL_SEARCH_H
#define MODEL_SEARCH_H

#include "rules.h"

enum { WHOLE = 255, NO_EVENT = 255, MAX_MOVES = 200, NOBODY = UINT32_MAX };

/* One move from a state to the next. */
enum move_kind { MOVE_START, MOVE_TICK, MOVE_EVENT, MOVE_SETTLE, MOVE_WAIT };
struct move {
    uint8_t kind;
    uint8_t due;
    uint8_t outcome; /* number among ticks_outcomes() */
    uint8_t cut;     /* cut off before this write; WHOLE: not */
    uint8_t event;   /* NO_EVENT, or what happened */
    uint8_t at;      /* before which write of the tick the event happens */
};

/* A state as it is kept. */
struct node {
    uint32_t cluster; /* in model->clusters */
    struct ghost ghost;
    uint32_t rest;
    /* --- identity ends */
    uint32_t parent;
    struct move move;
};

struct violation {
    const char *rule; /* NULL if none */
    uint32_t node;    /* where the last moves begin */
    struct move moves[MAX_MOVES];
    int n_moves;
};

struct search {
    struct model *model;
    struct pool nodes;
    uint64_t moves;
    bool bounded; /* stopped at the limit, not at the end */
    struct violation violation;
};

void search_init(struct search *search, struct model *model);
void search_fini(struct search *search);
/* The first state, when search_run() is not called. */
uint32_t search_start(struct search *search, const struct state *start);
/* From this state on, and nothing that was before; `limit`: how many states at most, 0 for all. False:
 * a rule does not hold, see violation. */
bool search_run(struct search *search, const struct state *start, uint32_t limit);
struct state search_state(const struct search *search, uint32_t node);

/* Makes a move on *state. Returns the rule that is broken by it, or NULL. `went`: how many writes
 * of a tick were done (may be NULL). */
const char *search_move(struct model *model, struct state *state, struct move move, int *went);
/* Everything settles, see model_settle(). */
void search_settle(struct model *model, struct state *state, enum health target,
                   enum health primary);
/* The way to the violation in words; owned by the arena. */
const char *search_tell(struct search *search, struct arena *arena);

#endif
