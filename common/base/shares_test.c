#include "base/shares.h"

#include <stdio.h>
#include <string.h>

#include "test/unit.h"

CASE(the_greediest_gives_way)
{
    struct shares shares;

    shares_init(&shares, BUDGET_ANSWERS, 100);
    shares_take(&shares, "a", 60);
    shares_take(&shares, "b", 30);
    assert_null(shares_yields(&shares, "c", 10));
    assert_string_equal(shares_yields(&shares, "c", 11), "a");
    assert_string_equal(shares_yields(&shares, "b", 11), "a");
    assert_string_equal(shares_yields(&shares, "a", 11), "a"); /* itself */
    /* more than any other, by one request */
    assert_string_equal(shares_yields(&shares, "c", 60), "c");
    shares_give_back(&shares, "a", 60);
    assert_int_equal(shares_of(&shares, "a"), 0);
    assert_null(shares_yields(&shares, "c", 70));
    assert_int_equal(shares.taken, 30);
    shares_fini(&shares);
}

/* Parts of one owner count together as one owner, and separately among themselves. */
CASE(parts_of_an_owner)
{
    struct shares shares;

    shares_init(&shares, BUDGET_MEMBERS, 100);
    for (int i = 0; i < 9; i++) {
        char name[8];
        snprintf(name, sizeof(name), "a/%d", i);
        shares_take(&shares, name, i == 4 ? 14 : 7);
    }
    shares_take(&shares, "b/0", 20);
    assert_int_equal(shares_of(&shares, "a"), 70);
    assert_string_equal(shares_yields(&shares, "b/1", 11), "a/4");
    assert_string_equal(shares_yields(&shares, "c", 11), "a/4");
    assert_string_equal(shares_yields(&shares, "a/9", 11), "a/4"); /* it has less */
    assert_string_equal(shares_yields(&shares, "a/3", 11), "a/3"); /* it would have more */
    shares_give_back(&shares, "a/4", 14);
    assert_int_equal(shares_of(&shares, "a"), 56);
    for (int i = 0; i < 9; i++) {
        char name[8];
        snprintf(name, sizeof(name), "a/%d", i);
        shares_give_back(&shares, name, i == 4 ? 0 : 7);
    }
    assert_int_equal(shares.owners.count, 2); /* b and its part */
    assert_string_equal(shares_yields(&shares, "c", 90), "c");
    shares_fini(&shares);
}

CASE(what_is_our_own_stays)
{
    struct shares shares;

    shares_init(&shares, BUDGET_ANSWERS, 100);
    shares_take(&shares, NULL, 90);
    shares_take(&shares, "a", 10);
    assert_string_equal(shares_yields(&shares, "", 5), "a");
    assert_string_equal(shares_yields(&shares, "a", 5), "a");
    shares_give_back(&shares, "a", 10);
    assert_string_equal(shares_yields(&shares, NULL, 20), ""); /* nothing else can be taken */
    assert_int_equal(shares_of(&shares, ""), 90);
    shares_fini(&shares);
}

/* An owner always gets at least an equal share, even if other owners take all they can. */
CASE(an_equal_part_is_always_had)
{
    enum { OWNERS = 8, MOST = 1000 };
    unsigned seed = 7;
    struct shares shares;

    shares_init(&shares, BUDGET_ANSWERS, MOST);
    for (int turn = 0; turn < 20000; turn++) {
        char name[4];
        const char *greedy;
        seed = seed * 1103515245u + 12345u;
        snprintf(name, sizeof(name), "%u", (seed >> 8) % OWNERS);
        size_t amount = 1 + (seed >> 16) % 40;
        while ((greedy = shares_yields(&shares, name, amount)) && strcmp(greedy, name) != 0) {
            size_t most = shares_of(&shares, greedy);
            shares_give_back(&shares, greedy, most < 10 ? most : 10);
        }
        if (!greedy)
            shares_take(&shares, name, amount);
        else
            assert_true(shares_of(&shares, name) + amount >= MOST / OWNERS);
        assert_true(shares.taken <= MOST);
    }
    shares_fini(&shares);
}

CASE(every_budget_has_a_name_of_its_own)
{
    for (int i = 0; i < BUDGETS; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(budget_name((enum budget)i), budget_name((enum budget)k));
}

/* If nothing can be taken back, an owner gets at most three quarters, so another always has
 * room. */
CASE(there_is_room_for_one_more_owner)
{
    struct shares shares;

    shares_init(&shares, BUDGET_TASKS_RUNNING, 256);
    for (int owner = 0; owner < 4; owner++) {
        const char *name = arena_printf(arena, "%d", owner);
        assert_true(shares_admit(&shares, name, 1));
        while (shares_admit(&shares, name, 1))
            shares_take(&shares, name, 1);
    }
    assert_in_range(shares_of(&shares, "0"), 180, 200);
    assert_in_range(shares_of(&shares, "1"), 40, 50);
    assert_true(shares_admit(&shares, "another", 1));
    assert_true(!shares_admit(&shares, "another", 1000));
    shares_fini(&shares);
    /* a small budget can be used up entirely */
    shares_init(&shares, BUDGET_TASKS_RUNNING, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(shares_admit(&shares, "a", 1));
        shares_take(&shares, "a", 1);
    }
    assert_true(!shares_admit(&shares, "a", 1));
    shares_fini(&shares);
}
