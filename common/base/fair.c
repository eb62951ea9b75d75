#include "base/fair.h"

#include <stdlib.h>

#include "base/arena.h"

static void lane_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct fair_lane *)item)->owner;
    *second = NULL;
}

void fair_init(struct fair_queue *queue)
{
    TAILQ_INIT(&queue->lanes);
    queue->count = 0;
    table_init(&queue->owned, lane_key);
}

void fair_fini(struct fair_queue *queue)
{
    table_fini(&queue->owned);
}

void fair_lane_init(struct fair_lane *lane, struct fair_queue *queue)
{
    *lane = (struct fair_lane){.queue = queue};
    TAILQ_INIT(&lane->items);
}

void fair_add(struct fair_lane *lane, struct fair_item *item)
{
    if (lane->count++ == 0)
        TAILQ_INSERT_TAIL(&lane->queue->lanes, lane, link);
    lane->queue->count++;
    item->lane = lane;
    TAILQ_INSERT_TAIL(&lane->items, item, link);
}

void fair_add_of(struct fair_queue *queue, const char *owner, struct fair_item *item)
{
    struct fair_lane *lane = table_get(&queue->owned, owner ? owner : "", NULL);

    if (!lane) {
        lane = heap_alloc(sizeof(*lane));
        fair_lane_init(lane, queue);
        lane->owner = heap_strdup(owner ? owner : "");
        (void)table_put(&queue->owned, lane);
    }
    fair_add(lane, item);
}

static void drop_lane(struct fair_lane *lane)
{
    TAILQ_REMOVE(&lane->queue->lanes, lane, link);
    if (!lane->owner)
        return;
    (void)table_take(&lane->queue->owned, lane->owner, NULL);
    free(lane->owner);
    free(lane);
}

void fair_remove(struct fair_item *item)
{
    struct fair_lane *lane = item->lane;

    if (!lane)
        return;
    TAILQ_REMOVE(&lane->items, item, link);
    item->lane = NULL;
    lane->queue->count--;
    if (--lane->count == 0)
        drop_lane(lane);
}

struct fair_item *fair_take(struct fair_queue *queue)
{
    struct fair_lane *lane = TAILQ_FIRST(&queue->lanes);

    if (!lane)
        return NULL;
    struct fair_item *item = TAILQ_FIRST(&lane->items);
    TAILQ_REMOVE(&queue->lanes, lane, link);
    TAILQ_INSERT_TAIL(&queue->lanes, lane, link);
    fair_remove(item);
    return item;
}

int fair_before(const struct fair_item *item)
{
    const struct fair_lane *own = item->lane, *lane;
    const struct fair_item *at;
    int round = 0, before;
    bool passed = false;

    TAILQ_FOREACH(at, &own->items, link)
    {
        if (at == item)
            break;
        round++;
    }
    before = round;
    TAILQ_FOREACH(lane, &own->queue->lanes, link)
    {
        if (lane == own) {
            passed = true;
            continue;
        }
        int taken = passed ? round : round + 1;
        before += lane->count < taken ? lane->count : taken;
    }
    return before;
}
