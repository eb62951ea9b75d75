#include <string.h>

#include "cluster/workload.h"
#include "test/unit.h"

CASE(single_steps)
{
    struct rollout_set old[] = {{3, 3}, {2, 1}};
    struct rollout r = {.desired = 4, .surge = 1, .unavailable = 1, .old = old, .old_count = 2};
    assert_false(rollout_grow(&r)); /* 5 of 5 */
    assert_true(rollout_shrink(&r));
    assert_int_equal(old[0].replicas, 2); /* 4 available, 3 must stay */
    assert_int_equal(old[1].replicas, 1); /* the unavailable one */
    assert_true(rollout_grow(&r));
    assert_int_equal(r.fresh.replicas, 2);
    assert_false(rollout_shrink(&r)); /* the fresh ones do not serve yet */
}

/* Pods come up and down in any order: the promises hold in every state, and it always ends. */
CASE(promises)
{
    for (int desired = 1; desired <= 6; desired++)
        for (int surge = 0; surge <= 3; surge++)
            for (int unavailable = surge ? 0 : 1; unavailable <= desired; unavailable++) {
                struct rollout_set old[] = {{desired, desired}};
                struct rollout r = {.desired = desired,
                                    .surge = surge,
                                    .unavailable = unavailable,
                                    .old = old,
                                    .old_count = 1};
                int rounds = 0;
                while (r.fresh.available < desired || old[0].replicas > 0) {
                    assert_true(++rounds < 100);
                    rollout_grow(&r);
                    rollout_shrink(&r);
                    if (old[0].available > old[0].replicas)
                        old[0].available = old[0].replicas;
                    assert_true(r.fresh.replicas + old[0].replicas <= desired + surge);
                    assert_true(r.fresh.available + old[0].available >= desired - unavailable);
                    if (r.fresh.available < r.fresh.replicas)
                        r.fresh.available++;
                }
                assert_int_equal(r.fresh.replicas, desired);
            }
}

CASE(never_ready)
{
    struct rollout_set old[] = {{4, 4}};
    struct rollout r = {.desired = 4, .surge = 1, .unavailable = 1, .old = old, .old_count = 1};
    for (int i = 0; i < 10; i++) {
        rollout_grow(&r);
        rollout_shrink(&r);
        old[0].available = old[0].replicas;
    }
    assert_int_equal(old[0].replicas, 3);
    assert_int_equal(r.fresh.replicas, 2);
}
