#include "search.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tick/wake.h"

void search_init(struct search *search, struct model *model)
{
    *search = (struct search){.model = model};
    pool_init(&search->nodes, offsetof(struct node, parent), sizeof(struct node));
}

void search_fini(struct search *search)
{
    pool_fini(&search->nodes);
}

struct state search_state(const struct search *search, uint32_t number)
{
    const struct node *node = pool_at(&search->nodes, number);

    return (struct state){.cluster =
                              *(struct cluster *)pool_at(&search->model->clusters, node->cluster),
                          .ghost = node->ghost,
                          .rest = node->rest};
}

/* --- one move */

enum wrote { WROTE, CONFLICT, REFUSED };

/* As the API server would. own: what this plan has left there before, if it has. */
static enum wrote write_step(struct model *model, struct cluster *cluster, const struct step *step,
                             const uint16_t *own)
{
    uint16_t *at = &cluster->at[step->place];
    uint16_t expects = step->expects != ABSENT && own ? *own : step->expects;
    const char *refused = model_refused(model, cluster);

    if (refused && step->kind != EFFECT_STATUS &&
        strcmp(refused, objects_key(model->objects, step->place)) == 0)
        return REFUSED;
    if (step->kind == EFFECT_DELETE) {
        *at = ABSENT;
        return WROTE;
    }
    if ((step->kind == EFFECT_CREATE) != (*at == ABSENT) || (expects != ABSENT && expects != *at))
        return CONFLICT;
    *at = objects_apply(model->objects, step->place, *at, step->patch);
    return WROTE;
}

/* Something else than a tick has changed the cluster: a sleeper is woken if that is news. */
static void wake(struct model *model, struct state *state, const struct cluster *before)
{
    uint32_t rest = state->rest;

    if (rest & REST_ASLEEP &&
        model_is_news(model, before, &state->cluster, rest, rest & REST_HEARS_STATUS))
        state->rest = 0;
}

/* After a whole tick. What happened between its writes is news to a job that runs. */
static uint32_t rest_after(struct model *model, const struct state *state,
                           const struct outcome *outcome, const struct cluster *happened)
{
    const struct canary *canary = model_canary(model, &state->cluster);

    if (!canary || !outcome->sleeps ||
        model_is_news(model, &happened[0], &happened[1], outcome->reads, true))
        return 0;
    struct wake ran = {.phase = canary->status.phase, .reads_status = outcome->reads_status};
    return REST_ASLEEP | outcome->reads | (wake_hears_status(&ran) ? REST_HEARS_STATUS : 0);
}

static const char *tick(struct model *model, struct state *state, struct move move, int *went)
{
    struct cluster facts = state->cluster;
    int count;

    const struct outcome outcome =
        ticks_outcomes(model->ticks, &facts, move.due, &count)[move.outcome];
    bool calm = move.event == NO_EVENT, written[SLOTS] = {false};
    uint16_t own[SLOTS];
    const char *broken = rules_decided(model, &facts, &outcome, &state->ghost);
    struct cluster happened[2] = {{{0}}, {{0}}};
    *went = 0;
    state->rest = 0;
    for (int i = 0; !broken && i < outcome.steps && i != move.cut; i++) {
        const struct step step = *ticks_step(model->ticks, &outcome, i);
        if (move.event != NO_EVENT && i == move.at) {
            happened[0] = state->cluster;
            model_happen(model, move.event, &state->cluster);
            happened[1] = state->cluster;
            rules_happened(model, &happened[0], &happened[1], &state->ghost);
            if (move.event == EVENT_MINUTES || move.event == EVENT_DAYS)
                rules_waited(model, &state->cluster, &state->ghost);
        }
        struct cluster before = state->cluster;
        enum wrote wrote = write_step(model, &state->cluster, &step,
                                      written[step.place] ? &own[step.place] : NULL);
        if (wrote == REFUSED) {
            model_meet(model, &state->cluster);
            return calm ? rules_refused(model, &facts, &state->cluster, &outcome, &state->ghost)
                        : NULL;
        }
        if (wrote == CONFLICT)
            return calm ? "a plan is not in conflict with itself" : NULL;
        written[step.place] = true;
        own[step.place] = state->cluster.at[step.place];
        broken =
            rules_step(model, &facts, &before, &state->cluster, &outcome, &step, &state->ghost);
        (*went)++;
    }
    if (!broken && calm && move.cut == WHOLE)
        broken = rules_done(model, &facts, &state->cluster, &outcome, move.due, &state->ghost);
    if (move.cut == WHOLE)
        model_planned(model, &state->cluster, outcome.held);
    if (move.cut == WHOLE && !outcome.held)
        state->rest = rest_after(model, state, &outcome, happened);
    return broken;
}

const char *search_move(struct model *model, struct state *state, struct move move, int *went)
{
    int steps;

    if (move.kind == MOVE_TICK)
        return tick(model, state, move, went ? went : &steps);
    if (move.kind == MOVE_EVENT) {
        const struct cluster before = state->cluster;
        model_happen(model, move.event, &state->cluster);
        rules_happened(model, &before, &state->cluster, &state->ghost);
        if (move.event == EVENT_MINUTES || move.event == EVENT_DAYS)
            rules_waited(model, &state->cluster, &state->ghost);
        else if (move.event != EVENT_LOOK)
            wake(model, state, &before);
    }
    if (move.kind == MOVE_WAIT) {
        model_wait(model, &state->cluster);
        rules_waited(model, &state->cluster, &state->ghost);
    }
    return NULL;
}

void search_settle(struct model *model, struct state *state, enum health target,
                   enum health primary)
{
    const struct cluster before = state->cluster;

    model_settle(model, &state->cluster, target, primary);
    wake(model, state, &before);
}

/* --- all moves */

static uint32_t put(struct search *search, const struct state *state, uint32_t parent,
                    struct move move)
{
    struct node identity = {.cluster = pool_put(&search->model->clusters, &state->cluster, NULL),
                            .ghost = state->ghost,
                            .rest = state->rest};
    bool is_new;
    uint32_t number = pool_put(&search->nodes, &identity, &is_new);

    if (is_new) {
        struct node *node = pool_at(&search->nodes, number);
        node->parent = parent;
        node->move = move;
    }
    return number;
}

/* True: a rule does not hold. */
static bool try(struct search *search, uint32_t from, const struct state *state, struct move move,
                int *went)
{
    struct state next = *state;
    const char *broken = search_move(search->model, &next, move, went);

    search->moves++;
    if (broken) {
        search->violation = (struct violation){.rule = broken, .node = from, .n_moves = 1};
        search->violation.moves[0] = move;
        return true;
    }
    put(search, &next, from, move);
    return false;
}

static bool can_happen(const struct model *model, int event)
{
    unsigned world = model->scenario->world;
    static const unsigned needs[] = {0,
                                     WORLD_CANARY_FAILS,
                                     WORLD_CANARY_FAILS,
                                     0,
                                     WORLD_PRIMARY_FAILS,
                                     WORLD_PRIMARY_FAILS,
                                     WORLD_GATEWAY_LAGS,
                                     0,
                                     WORLD_TIME_PASSES,
                                     0};
    if (event == EVENT_LOOK)
        return model->scenario->judged;
    return event >= EVENT_DEEDS || needs[event] == 0 || world & needs[event];
}

/* Each event before each write of a tick. */
static bool try_races(struct search *search, uint32_t from, const struct state *state,
                      struct move move, int steps)
{
    const struct model *model = search->model;

    for (int event = 0; event < model->n_events; event++) {
        struct cluster cluster = state->cluster;
        /* that pods come and go is in no conflict with a write, nor is a moment */
        if (event < EVENT_GATEWAY || event == EVENT_LOOK || !can_happen(model, event) ||
            !model_happen(search->model, event, &cluster))
            continue;
        for (int at = 0; at < steps; at++) {
            move.event = (uint8_t)event;
            move.at = (uint8_t)at;
            if (try(search, from, state, move, NULL))
                return true;
        }
    }
    return false;
}

static bool try_tick(struct search *search, uint32_t from, const struct state *state,
                     struct move move, int steps)
{
    for (int cut = 0; cut < steps; cut++) {
        move.cut = (uint8_t)cut;
        if (try(search, from, state, move, NULL))
            return true;
    }
    move.cut = WHOLE;
    if (try(search, from, state, move, NULL))
        return true;
    return search->model->scenario->world & RACES && try_races(search, from, state, move, steps);
}

static bool try_ticks(struct search *search, uint32_t from, const struct state *state)
{
    struct model *model = search->model;
    const struct cluster facts = state->cluster;

    for (int due = 1; due >= 0; due--) {
        int count;
        ticks_outcomes(model->ticks, &facts, due, &count);
        for (int i = 0; i < count; i++) {
            struct move move = {
                .kind = MOVE_TICK, .due = (uint8_t)due, .outcome = (uint8_t)i, .event = NO_EVENT};
            const struct outcome *outcomes = ticks_outcomes(model->ticks, &facts, due, &count);
            if (try_tick(search, from, state, move, outcomes[i].steps))
                return true;
        }
    }
    return false;
}

/* Whoever sleeps must have nothing to do, whatever its hooks and metrics say now. */
static bool is_missed(struct search *search, uint32_t from, const struct state *state)
{
    struct model *model = search->model;
    const struct cluster facts = state->cluster;
    enum phase phase = model_canary(model, &facts)->status.phase;

    for (int due = 1; due >= (wake_rests(phase) ? 1 : 0); due--) {
        int count;
        const struct outcome *outcomes = ticks_outcomes(model->ticks, &facts, due, &count);
        for (int i = 0; i < count; i++) {
            if (outcomes[i].steps == 0 && outcomes[i].sleeps && !outcomes[i].broken)
                continue;
            search->violation = (struct violation){
                .rule = "nobody sleeps while the rules would act", .node = from, .n_moves = 1};
            search->violation.moves[0] = (struct move){.kind = MOVE_TICK,
                                                       .due = (uint8_t)due,
                                                       .outcome = (uint8_t)i,
                                                       .cut = WHOLE,
                                                       .event = NO_EVENT};
            return true;
        }
    }
    return false;
}

static bool try_events(struct search *search, uint32_t from, const struct state *state)
{
    for (int event = 0; event < search->model->n_events; event++) {
        struct move move = {.kind = MOVE_EVENT, .event = (uint8_t)event};
        if (can_happen(search->model, event) && try(search, from, state, move, NULL))
            return true;
    }
    return false;
}

static void show_progress(const struct search *search, uint32_t done)
{
    if (done % 20000 == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %u of %u states \033[K", search->model->scenario->name, done,
                search->nodes.count);
}

uint32_t search_start(struct search *search, const struct state *start)
{
    return put(search, start, NOBODY, (struct move){.kind = MOVE_START});
}

bool search_run(struct search *search, const struct state *start, uint32_t limit)
{
    struct model *model = search->model;

    search_fini(search);
    search_init(search, model);
    search_start(search, start);
    for (uint32_t i = 0; i < search->nodes.count; i++) {
        struct state state = search_state(search, i);
        show_progress(search, i);
        if (!model_canary(model, &state.cluster))
            continue;
        bool sleeps = state.rest & REST_ASLEEP;
        if (sleeps ? is_missed(search, i, &state) : try_ticks(search, i, &state))
            return false;
        if (try_events(search, i, &state))
            return false;
        search->bounded = limit > 0 && search->nodes.count >= limit && i + 1 < search->nodes.count;
        if (search->bounded)
            break;
    }
    return true;
}

/* --- in words */

static const char *tell_move(struct model *model, struct arena *arena, const struct state *state,
                             struct move move)
{
    struct cluster facts = state->cluster;
    int count;

    if (move.kind == MOVE_START)
        return "";
    if (move.kind == MOVE_SETTLE)
        return "everything settles\n";
    if (move.kind == MOVE_WAIT)
        return "time passes\n";
    if (move.kind == MOVE_EVENT)
        return arena_printf(arena, "%s\n", model->events[move.event].what);
    const struct outcome outcome =
        ticks_outcomes(model->ticks, &facts, move.due, &count)[move.outcome];
    const char *text = ticks_tell(model->ticks, arena, &facts, move.due, &outcome);
    if (move.event != NO_EVENT)
        text = arena_printf(arena, "%sbefore write %d of it: %s\n", text, move.at + 1,
                            model->events[move.event].what);
    if (move.cut != WHOLE)
        text = arena_printf(arena, "%scut off before write %d of it\n", text, move.cut + 1);
    return text;
}

static const char *tell_one(struct search *search, struct arena *arena, const char *text,
                            int number, struct state *state, struct move move)
{
    text = arena_printf(arena, "%s%3d. %s", text, number,
                        tell_move(search->model, arena, state, move));
    if (move.kind == MOVE_SETTLE)
        search_settle(search->model, state, (enum health)move.outcome, (enum health)move.cut);
    else
        search_move(search->model, state, move, NULL);
    return arena_printf(arena, "%s     -> %s%s\n", text,
                        model_tell(search->model, arena, &state->cluster),
                        state->rest & REST_ASLEEP ? "; asleep" : "");
}

const char *search_tell(struct search *search, struct arena *arena)
{
    struct violation *violation = &search->violation;
    uint32_t path[4096];
    int n = 0;

    for (uint32_t at = violation->node; at != NOBODY && n < 4096;
         at = ((struct node *)pool_at(&search->nodes, at))->parent)
        path[n++] = at;
    assert(n > 0);
    struct state state = search_state(search, path[n - 1]);
    const char *text =
        arena_printf(arena, "  0. start: %s\n", model_tell(search->model, arena, &state.cluster));
    for (int i = n - 2; i >= 0; i--) {
        const struct node *node = pool_at(&search->nodes, path[i]);
        text = tell_one(search, arena, text, n - 1 - i, &state, node->move);
    }
    for (int i = 0; i < violation->n_moves; i++)
        text = tell_one(search, arena, text, n + i, &state, violation->moves[i]);
    return arena_printf(arena, "%sbroken: %s\n", text, violation->rule);
}
