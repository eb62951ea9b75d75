#include "engine/turns.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"

/* A namespace with releases that are under way. */
struct room {
    char *namespace_;
    int under_way;
};

struct turns {
    int max, max_per_namespace;
    int under_way, waiting;
    void (*called)(struct turn *turn);
    struct table rooms; /* by namespace */
    TAILQ_HEAD(waiting_turns, turn) queue;
};

static void room_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct room *)item)->namespace_;
    *second = NULL;
}

struct turns *turns_new(int max, int max_per_namespace, void (*called)(struct turn *turn))
{
    struct turns *turns = heap_alloc(sizeof(*turns));

    *turns = (struct turns){.max = max, .max_per_namespace = max_per_namespace, .called = called};
    table_init(&turns->rooms, room_key);
    TAILQ_INIT(&turns->queue);
    return turns;
}

static void free_room(struct room *room)
{
    free(room->namespace_);
    free(room);
}

void turns_free(struct turns *turns)
{
    struct room *room;

    for (size_t i = 0; (room = table_next(&turns->rooms, &i));)
        free_room(room);
    table_fini(&turns->rooms);
    free(turns);
}

static bool has_room(const struct turns *turns, const char *namespace_)
{
    const struct room *room = table_get(&turns->rooms, namespace_, NULL);

    return (turns->max == 0 || turns->under_way < turns->max) &&
           (turns->max_per_namespace == 0 || !room || room->under_way < turns->max_per_namespace);
}

static bool has_place(const struct turn *turn)
{
    return turn->state == TURN_CALLED || turn->state == TURN_HAS;
}

/* Who waits and has room was called: whoever is in the queue has none, and a place that is free is
 * free for all of its namespace. */
bool turns_may_begin(const struct turns *turns, const struct turn *turn)
{
    return has_place(turn) || has_room(turns, turn->namespace_);
}

static void take_place(struct turns *turns, const char *namespace_)
{
    struct room *room = table_get(&turns->rooms, namespace_, NULL);

    if (!room) {
        room = heap_alloc(sizeof(*room));
        *room = (struct room){.namespace_ = heap_strdup(namespace_)};
        (void)table_put(&turns->rooms, room);
    }
    room->under_way++;
    turns->under_way++;
}

static void give_place(struct turns *turns, const char *namespace_)
{
    struct room *room = table_get(&turns->rooms, namespace_, NULL);

    turns->under_way--;
    if (--room->under_way > 0)
        return;
    (void)table_take(&turns->rooms, namespace_, NULL);
    free_room(room);
}

/* Moves it between the queue and those that have a place. */
static void enter(struct turns *turns, struct turn *turn, enum turn_state state)
{
    bool had = has_place(turn);

    if (turn->state == TURN_WAITS) {
        TAILQ_REMOVE(&turns->queue, turn, link);
        turns->waiting--;
    }
    turn->state = state;
    if (state == TURN_WAITS) {
        TAILQ_INSERT_TAIL(&turns->queue, turn, link);
        turns->waiting++;
    }
    if (has_place(turn) && !had)
        take_place(turns, turn->namespace_);
    else if (!has_place(turn) && had)
        give_place(turns, turn->namespace_);
}

static void call_next(struct turns *turns)
{
    struct turn *turn = TAILQ_FIRST(&turns->queue);

    while (turn && (turns->max == 0 || turns->under_way < turns->max)) {
        struct turn *next = TAILQ_NEXT(turn, link);
        if (has_room(turns, turn->namespace_)) {
            enter(turns, turn, TURN_CALLED);
            turns->called(turn);
        }
        turn = next;
    }
}

void turns_set(struct turns *turns, struct turn *turn, enum turn_state state)
{
    if (turn->state == state)
        return;
    enter(turns, turn, state);
    call_next(turns);
}

int turns_place(const struct turns *turns, const struct turn *turn)
{
    int place = 1;

    if (turn->state != TURN_WAITS)
        return 0;
    for (const struct turn *at = TAILQ_FIRST(&turns->queue); at != turn; at = TAILQ_NEXT(at, link))
        place++;
    return place;
}

int turns_waiting(const struct turns *turns)
{
    return turns->waiting;
}

int turns_under_way(const struct turns *turns)
{
    return turns->under_way;
}
