#include "engine/job.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/table.h"

/* A namespace with releases under way. */
struct room {
    char *namespace_;
    int under_way;
};

struct release_slots {
    int max, max_per_namespace;
    int under_way, waiting;
    void (*called)(struct release_slot *slot);
    struct table rooms; /* by namespace */
    TAILQ_HEAD(waiting_slots, release_slot) queue;
};

static void room_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct room *)item)->namespace_;
    *second = NULL;
}

struct release_slots *release_slots_new(int max, int max_per_namespace,
                                        void (*called)(struct release_slot *slot))
{
    struct release_slots *slots = heap_alloc(sizeof(*slots));

    *slots = (struct release_slots){
        .max = max, .max_per_namespace = max_per_namespace, .called = called};
    table_init(&slots->rooms, room_key);
    TAILQ_INIT(&slots->queue);
    return slots;
}

static void free_room(struct room *room)
{
    free(room->namespace_);
    free(room);
}

void release_slots_free(struct release_slots *slots)
{
    struct room *room;

    for (size_t i = 0; (room = table_next(&slots->rooms, &i));)
        free_room(room);
    table_fini(&slots->rooms);
    free(slots);
}

static bool has_room(const struct release_slots *slots, const char *namespace_)
{
    const struct room *room = table_get(&slots->rooms, namespace_, NULL);

    return (slots->max == 0 || slots->under_way < slots->max) &&
           (slots->max_per_namespace == 0 || !room || room->under_way < slots->max_per_namespace);
}

static bool has_place(const struct release_slot *slot)
{
    return slot->state == SLOT_OFFERED || slot->state == SLOT_HELD;
}

/*
 * A waiting slot has no room by definition: call_next() offers room as soon as there is any. So
 * free room is available to every Canary of its namespace.
 */
bool release_slots_may_begin(const struct release_slots *slots, const struct release_slot *slot)
{
    return has_place(slot) || has_room(slots, slot->namespace_);
}

static void take_place(struct release_slots *slots, const char *namespace_)
{
    struct room *room = table_get(&slots->rooms, namespace_, NULL);

    if (!room) {
        room = heap_alloc(sizeof(*room));
        *room = (struct room){.namespace_ = heap_strdup(namespace_)};
        (void)table_put(&slots->rooms, room);
    }
    room->under_way++;
    slots->under_way++;
}

static void give_place(struct release_slots *slots, const char *namespace_)
{
    struct room *room = table_get(&slots->rooms, namespace_, NULL);

    slots->under_way--;
    if (--room->under_way > 0)
        return;
    (void)table_take(&slots->rooms, namespace_, NULL);
    free_room(room);
}

/* Moves the slot between the queue and the holders. */
static void enter(struct release_slots *slots, struct release_slot *slot, enum slot_state state)
{
    bool had = has_place(slot);

    if (slot->state == SLOT_WAITING) {
        TAILQ_REMOVE(&slots->queue, slot, link);
        slots->waiting--;
    }
    slot->state = state;
    if (state == SLOT_WAITING) {
        TAILQ_INSERT_TAIL(&slots->queue, slot, link);
        slots->waiting++;
    }
    if (has_place(slot) && !had)
        take_place(slots, slot->namespace_);
    else if (!has_place(slot) && had)
        give_place(slots, slot->namespace_);
}

static void call_next(struct release_slots *slots)
{
    struct release_slot *slot = TAILQ_FIRST(&slots->queue);

    while (slot && (slots->max == 0 || slots->under_way < slots->max)) {
        struct release_slot *next = TAILQ_NEXT(slot, link);
        if (has_room(slots, slot->namespace_)) {
            enter(slots, slot, SLOT_OFFERED);
            slots->called(slot);
        }
        slot = next;
    }
}

void release_slots_set(struct release_slots *slots, struct release_slot *slot,
                       enum slot_state state)
{
    if (slot->state == state)
        return;
    enter(slots, slot, state);
    call_next(slots);
}

int release_slots_place(const struct release_slots *slots, const struct release_slot *slot)
{
    int place = 1;

    if (slot->state != SLOT_WAITING)
        return 0;
    for (const struct release_slot *at = TAILQ_FIRST(&slots->queue); at != slot;
         at = TAILQ_NEXT(at, link))
        place++;
    return place;
}

int release_slots_waiting(const struct release_slots *slots)
{
    return slots->waiting;
}

int release_slots_under_way(const struct release_slots *slots)
{
    return slots->under_way;
}
