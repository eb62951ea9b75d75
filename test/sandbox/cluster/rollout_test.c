#include <string.h>

#include "cluster/rollout.h"
#include "test/unit.h"

static void limits(void **state)
{
    static const struct {
        const char *surge, *unavailable;
        int desired, want_surge, want_unavailable;
    } cases[] = {
        {NULL, NULL, 1, 1, 0},     {NULL, NULL, 4, 1, 1},
        {NULL, NULL, 10, 3, 2},    {"0", "\"10%\"", 3, 0, 1},
        {"\"50%\"", "0", 3, 2, 0}, {"2", "1", 5, 2, 1},
        {"0", "9", 2, 0, 2},       {"\"100%\"", "\"100%\"", 3, 3, 3},
        {NULL, NULL, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_object *s = cases[i].surge ? json_tokener_parse(cases[i].surge) : NULL;
        struct json_object *u =
            cases[i].unavailable ? json_tokener_parse(cases[i].unavailable) : NULL;
        int surge, unavailable;
        struct errinfo ei;
        assert_int_equal(rollout_limits(s, u, cases[i].desired, &surge, &unavailable, &ei), ERR_OK);
        assert_int_equal(surge, cases[i].want_surge);
        assert_int_equal(unavailable, cases[i].want_unavailable);
        json_object_put(s);
        json_object_put(u);
    }
    struct json_object *bad = json_tokener_parse("\"many\"");
    struct errinfo ei = {0};
    int surge, unavailable;
    assert_int_equal(rollout_limits(bad, NULL, 1, &surge, &unavailable, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "maxSurge"));
    json_object_put(bad);
}

static void single_steps(void **state)
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
static void promises(void **state)
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

static void never_ready(void **state)
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

static void share(void **state)
{
    static const struct {
        int desired, surge, before, fresh, old, want_fresh, want_old;
    } cases[] = {
        {20, 0, 10, 5, 5, 10, 10}, {5, 0, 10, 5, 5, 2, 3},   {0, 1, 11, 5, 5, 0, 0},
        {10, 1, 11, 6, 5, 6, 5},   {15, 3, 13, 8, 5, 11, 7}, {0, 0, 4, 0, 4, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rollout_set old[] = {{cases[i].old, 0}};
        struct rollout r = {.desired = cases[i].desired,
                            .surge = cases[i].surge,
                            .fresh = {cases[i].fresh, 0},
                            .old = old,
                            .old_count = 1};
        bool same = cases[i].want_fresh == cases[i].fresh && cases[i].want_old == cases[i].old;
        assert_int_equal(rollout_share(&r, cases[i].before), !same);
        assert_int_equal(r.fresh.replicas + old[0].replicas,
                         cases[i].want_fresh + cases[i].want_old);
        assert_true(r.fresh.replicas >= 0 && old[0].replicas >= 0);
        assert_in_range(r.fresh.replicas, cases[i].want_fresh ? cases[i].want_fresh - 1 : 0,
                        cases[i].want_fresh + 1);
    }
}

UNIT_MAIN(cmocka_unit_test(limits), cmocka_unit_test(single_steps), cmocka_unit_test(promises),
          cmocka_unit_test(never_ready), cmocka_unit_test(share))
