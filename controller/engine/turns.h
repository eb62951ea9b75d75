/*
 * Whose turn it is to begin a release, where only so many may be under way at once. Those that wait
 * stand in a queue, and the first one whose namespace has room is called when one ends; nobody who
 * comes later may begin before it does. A release that is under way is never held up.
 */
#ifndef ENGINE_TURNS_H
#define ENGINE_TURNS_H

#include <stdbool.h>
#include <sys/queue.h>

enum turn_state {
    TURN_NONE,
    TURN_WAITS,  /* in the queue */
    TURN_CALLED, /* has a place, and is expected to begin */
    TURN_HAS,    /* a release is under way */
};

/* Of a Canary; part of what the caller keeps of it. All zero but for the namespace: it has none. */
struct turn {
    TAILQ_ENTRY(turn) link;
    const char *namespace_; /* borrowed, as long as the turn has a state */
    enum turn_state state;
};

struct turns;

/* Limits 0: none. called: from within the calls below, when it is its turn. */
struct turns *turns_new(int max, int max_per_namespace, void (*called)(struct turn *turn));
void turns_free(struct turns *turns); /* the turns are the callers' */

/* A release of it may begin now. */
bool turns_may_begin(const struct turns *turns, const struct turn *turn);
/*
 * How it stands: TURN_HAS: a release is under way, or begins; TURN_WAITS: one would begin if it
 * might; TURN_NONE: neither, also before the turn is freed. One that was called and does not begin
 * gives its place to the next.
 */
void turns_set(struct turns *turns, struct turn *turn, enum turn_state state);

/* Its place among those that wait, from 1; 0: it does not wait. */
int turns_place(const struct turns *turns, const struct turn *turn);
int turns_waiting(const struct turns *turns);
int turns_under_way(const struct turns *turns); /* with those that were called */

#endif
