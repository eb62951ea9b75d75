#include <string.h>

#include "base/shares.h"
#include "test/unit.h"

enum { MANY = 10000 };

static struct fair_item many[MANY], few[3];
static struct fair_lane greedy, modest, other;

static void begin(struct fair_queue *queue)
{
    fair_init(queue);
    fair_lane_init(&greedy, queue);
    fair_lane_init(&modest, queue);
    fair_lane_init(&other, queue);
    memset(many, 0, sizeof(many));
    memset(few, 0, sizeof(few));
    for (int i = 0; i < MANY; i++)
        fair_add(&greedy, &many[i]);
}

/* The greedy namespace queued all of its entries first: the other one waits for only one of
 * them. */
CASE(test_one_beside_ten_thousand)
{
    struct fair_queue queue;
    begin(&queue);
    fair_add(&modest, &few[0]);
    assert_int_equal(queue.count, MANY + 1);
    assert_int_equal(fair_before(&few[0]), 1);
    assert_ptr_equal(fair_take(&queue), &many[0]);
    assert_ptr_equal(fair_take(&queue), &few[0]);
    for (int i = 1; i < MANY; i++)
        assert_ptr_equal(fair_take(&queue), &many[i]);
    assert_null(fair_take(&queue));
    assert_int_equal(queue.count, 0);
}

/* A namespace that queues again at once, as a release does, waits for one turn of each other
 * namespace. */
CASE(test_rounds)
{
    struct fair_queue queue;
    begin(&queue);
    fair_add(&modest, &few[0]);
    fair_add(&other, &few[1]);
    fair_add(&other, &few[2]);
    assert_int_equal(fair_before(&few[2]), 4);
    assert_int_equal(fair_before(&many[1]), 3);
    for (int round = 0; round < 50; round++) {
        assert_ptr_equal(fair_take(&queue), &many[round]);
        assert_ptr_equal(fair_take(&queue), &few[0]);
        fair_add(&modest, &few[0]);
        struct fair_item *of_other = fair_take(&queue);
        assert_ptr_equal(of_other, &few[1 + round % 2]);
        fair_add(&other, of_other);
    }
}

CASE(test_removed)
{
    struct fair_queue queue;
    begin(&queue);
    fair_add(&modest, &few[0]);
    fair_add(&modest, &few[1]);
    for (int i = 0; i < MANY; i++)
        fair_remove(&many[i]);
    fair_remove(&many[0]); /* it has already left the queue */
    assert_int_equal(queue.count, 2);
    assert_int_equal(fair_before(&few[1]), 1);
    fair_remove(&few[0]);
    assert_ptr_equal(fair_take(&queue), &few[1]);
    assert_null(fair_take(&queue));
    fair_add(&greedy, &many[7]);
    assert_ptr_equal(fair_take(&queue), &many[7]);
}

/* Lanes owned by the queue appear and disappear with their entries. */
CASE(test_lanes_by_owner)
{
    struct fair_queue queue;

    fair_init(&queue);
    memset(many, 0, sizeof(many));
    memset(few, 0, sizeof(few));
    for (int i = 0; i < 4; i++)
        fair_add_of(&queue, "greedy", &many[i]);
    fair_add_of(&queue, "modest", &few[0]);
    fair_add_of(&queue, NULL, &few[1]);
    fair_remove(&many[1]);
    struct fair_item *const order[] = {&many[0], &few[0], &few[1], &many[2], &many[3]};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        assert_ptr_equal(fair_take(&queue), order[i]);
    assert_null(fair_take(&queue));
    assert_int_equal(queue.owned.count, 0);
    fair_add_of(&queue, "modest", &few[2]);
    fair_remove(&few[2]);
    assert_int_equal(queue.count, 0);
    fair_fini(&queue);
}
