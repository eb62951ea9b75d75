/*
 * Release slots limit the number of concurrent releases. Canaries without a slot wait in a queue;
 * when a release ends, the slot is offered to the first one with room in its namespace, and later
 * arrivals cannot overtake it. A release under way never waits.
 */
#ifndef ENGINE_SLOTS_H
#define ENGINE_SLOTS_H

#include <stdbool.h>
#include <sys/queue.h>

enum slot_state {
    SLOT_NONE,
    SLOT_WAITING, /* in the queue */
    SLOT_OFFERED, /* has a slot and is expected to begin */
    SLOT_HELD,    /* its release is under way */
};

/* One per Canary, embedded in the caller's object. All zero but for the namespace: no slot. */
struct release_slot {
    TAILQ_ENTRY(release_slot) link;
    const char *namespace_; /* borrowed while the state is not SLOT_NONE */
    enum slot_state state;
};

struct release_slots;

/* A limit of 0 is no limit. called: from within the functions below, when a slot is offered. */
struct release_slots *release_slots_new(int max, int max_per_namespace,
                                        void (*called)(struct release_slot *slot));
void release_slots_free(struct release_slots *slots); /* the slots belong to the callers */

/* True if a release may begin now. */
bool release_slots_may_begin(const struct release_slots *slots, const struct release_slot *slot);
/*
 * SLOT_HELD: a release is under way, or begins. SLOT_WAITING: one would begin if it could.
 * SLOT_NONE: neither; required before the slot is freed. A slot that was offered and is not used
 * goes to the next one.
 */
void release_slots_set(struct release_slots *slots, struct release_slot *slot,
                       enum slot_state state);

/* Position among the waiting, from 1; 0 if not waiting. */
int release_slots_place(const struct release_slots *slots, const struct release_slot *slot);
int release_slots_waiting(const struct release_slots *slots);
int release_slots_under_way(const struct release_slots *slots); /* including offered slots */

#endif
