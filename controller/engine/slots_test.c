#include <string.h>

#include "engine/job.h"
#include "test/unit.h"

enum { TURNS = 6 };

static struct release_slot slots_of[TURNS];
static char called[64];

static void on_called(struct release_slot *slot)
{
    size_t len = strlen(called);

    assert_true(len + 1 < sizeof(called));
    called[len] = (char)('a' + (slot - slots_of));
    called[len + 1] = '\0';
}

/* Turns a to d are of namespace x, e and f of y. */
static struct release_slots *begin_slots(int max, int max_per_namespace)
{
    *called = '\0';
    for (int i = 0; i < TURNS; i++)
        slots_of[i] = (struct release_slot){.namespace_ = i < 4 ? "x" : "y"};
    return release_slots_new(max, max_per_namespace, on_called);
}

static void set(struct release_slots *slots, char name, enum slot_state state)
{
    release_slots_set(slots, &slots_of[name - 'a'], state);
}

static bool may(const struct release_slots *slots, char name)
{
    return release_slots_may_begin(slots, &slots_of[name - 'a']);
}

CASE(test_no_limit)
{
    struct release_slots *slots = begin_slots(0, 0);
    for (int name = 'a'; name <= 'f'; name++) {
        assert_true(may(slots, (char)name));
        set(slots, (char)name, SLOT_HELD);
    }
    assert_int_equal(release_slots_under_way(slots), TURNS);
    release_slots_free(slots);
}

CASE(test_first_come_first_served)
{
    struct release_slots *slots = begin_slots(2, 0);
    set(slots, 'a', SLOT_HELD);
    set(slots, 'b', SLOT_HELD);
    assert_true(may(slots, 'a')); /* a release under way is never held up */
    assert_false(may(slots, 'e'));
    set(slots, 'e', SLOT_WAITING);
    set(slots, 'c', SLOT_WAITING);
    set(slots, 'e', SLOT_WAITING); /* asking again costs no place */
    assert_int_equal(release_slots_place(slots, &slots_of[4]), 1);
    assert_int_equal(release_slots_place(slots, &slots_of[2]), 2);
    assert_int_equal(release_slots_waiting(slots), 2);
    assert_string_equal(called, "");
    set(slots, 'b', SLOT_NONE);
    assert_string_equal(called, "e");
    assert_int_equal(release_slots_under_way(slots), 2);
    assert_true(may(slots, 'e'));
    assert_false(may(slots, 'd')); /* the offered slot is kept */
    set(slots, 'e', SLOT_HELD);
    assert_int_equal(release_slots_under_way(slots), 2);
    set(slots, 'e', SLOT_NONE);
    assert_string_equal(called, "ec");
    release_slots_free(slots);
}

CASE(test_who_does_not_begin)
{
    struct release_slots *slots = begin_slots(1, 0);
    set(slots, 'a', SLOT_HELD);
    set(slots, 'b', SLOT_WAITING);
    set(slots, 'c', SLOT_WAITING);
    set(slots, 'a', SLOT_NONE);
    set(slots, 'b', SLOT_NONE); /* its gate is closed */
    assert_string_equal(called, "bc");
    set(slots, 'c', SLOT_NONE); /* deleted */
    assert_int_equal(release_slots_under_way(slots), 0);
    assert_true(may(slots, 'b'));
    release_slots_free(slots);
}

/* A Canary that waits because of its namespace lets others pass. */
CASE(test_namespaces)
{
    struct release_slots *slots = begin_slots(3, 1);
    set(slots, 'a', SLOT_HELD);
    assert_false(may(slots, 'b'));
    set(slots, 'b', SLOT_WAITING);
    assert_true(may(slots, 'e'));
    set(slots, 'e', SLOT_HELD);
    assert_false(may(slots, 'f'));
    set(slots, 'f', SLOT_WAITING);
    set(slots, 'c', SLOT_WAITING);
    set(slots, 'e', SLOT_NONE);
    assert_string_equal(called, "f");
    set(slots, 'a', SLOT_NONE);
    assert_string_equal(called, "fb");
    release_slots_free(slots);
}

/* More releases are under way than allowed: none begins before enough have ended. */
CASE(test_more_than_may_be)
{
    struct release_slots *slots = begin_slots(1, 0);
    set(slots, 'a', SLOT_HELD);
    set(slots, 'b', SLOT_HELD);
    set(slots, 'c', SLOT_WAITING);
    set(slots, 'a', SLOT_NONE);
    assert_string_equal(called, "");
    set(slots, 'b', SLOT_NONE);
    assert_string_equal(called, "c");
    release_slots_free(slots);
}
