#include "engine/turns.h"

#include <string.h>

#include "test/unit.h"

enum { TURNS = 6 };

static struct turn turns_of[TURNS];
static char called[64];

static void on_called(struct turn *turn)
{
    size_t len = strlen(called);

    assert_true(len + 1 < sizeof(called));
    called[len] = (char)('a' + (turn - turns_of));
    called[len + 1] = '\0';
}

/* Turns a to d are of namespace x, e and f of y. */
static struct turns *begin(int max, int max_per_namespace)
{
    *called = '\0';
    for (int i = 0; i < TURNS; i++)
        turns_of[i] = (struct turn){.namespace_ = i < 4 ? "x" : "y"};
    return turns_new(max, max_per_namespace, on_called);
}

static void set(struct turns *turns, char name, enum turn_state state)
{
    turns_set(turns, &turns_of[name - 'a'], state);
}

static bool may(const struct turns *turns, char name)
{
    return turns_may_begin(turns, &turns_of[name - 'a']);
}

CASE(test_no_limit)
{
    struct turns *turns = begin(0, 0);
    for (int name = 'a'; name <= 'f'; name++) {
        assert_true(may(turns, (char)name));
        set(turns, (char)name, TURN_HAS);
    }
    assert_int_equal(turns_under_way(turns), TURNS);
    turns_free(turns);
}

CASE(test_first_come_first_served)
{
    struct turns *turns = begin(2, 0);
    set(turns, 'a', TURN_HAS);
    set(turns, 'b', TURN_HAS);
    assert_true(may(turns, 'a')); /* a release under way is never held up */
    assert_false(may(turns, 'e'));
    set(turns, 'e', TURN_WAITS);
    set(turns, 'c', TURN_WAITS);
    set(turns, 'e', TURN_WAITS); /* asking again costs no place */
    assert_int_equal(turns_place(turns, &turns_of[4]), 1);
    assert_int_equal(turns_place(turns, &turns_of[2]), 2);
    assert_int_equal(turns_waiting(turns), 2);
    assert_string_equal(called, "");
    set(turns, 'b', TURN_NONE);
    assert_string_equal(called, "e");
    assert_int_equal(turns_under_way(turns), 2);
    assert_true(may(turns, 'e'));
    assert_false(may(turns, 'd')); /* the place is kept for who was called */
    set(turns, 'e', TURN_HAS);
    assert_int_equal(turns_under_way(turns), 2);
    set(turns, 'e', TURN_NONE);
    assert_string_equal(called, "ec");
    turns_free(turns);
}

CASE(test_who_does_not_begin)
{
    struct turns *turns = begin(1, 0);
    set(turns, 'a', TURN_HAS);
    set(turns, 'b', TURN_WAITS);
    set(turns, 'c', TURN_WAITS);
    set(turns, 'a', TURN_NONE);
    set(turns, 'b', TURN_NONE); /* its gate is closed */
    assert_string_equal(called, "bc");
    set(turns, 'c', TURN_NONE); /* deleted */
    assert_int_equal(turns_under_way(turns), 0);
    assert_true(may(turns, 'b'));
    turns_free(turns);
}

/* Who waits for its namespace lets others by. */
CASE(test_namespaces)
{
    struct turns *turns = begin(3, 1);
    set(turns, 'a', TURN_HAS);
    assert_false(may(turns, 'b'));
    set(turns, 'b', TURN_WAITS);
    assert_true(may(turns, 'e'));
    set(turns, 'e', TURN_HAS);
    assert_false(may(turns, 'f'));
    set(turns, 'f', TURN_WAITS);
    set(turns, 'c', TURN_WAITS);
    set(turns, 'e', TURN_NONE);
    assert_string_equal(called, "f");
    set(turns, 'a', TURN_NONE);
    assert_string_equal(called, "fb");
    turns_free(turns);
}

/* More are found under way than may be: nobody begins before enough of them have ended. */
CASE(test_more_than_may_be)
{
    struct turns *turns = begin(1, 0);
    set(turns, 'a', TURN_HAS);
    set(turns, 'b', TURN_HAS);
    set(turns, 'c', TURN_WAITS);
    set(turns, 'a', TURN_NONE);
    assert_string_equal(called, "");
    set(turns, 'b', TURN_NONE);
    assert_string_equal(called, "c");
    turns_free(turns);
}
