#include "kube/name_set.h"

#include <stdio.h>

#include "test/unit.h"

static const char *name_of(int i, char text[32])
{
    snprintf(text, 32, "n%d", i);
    return text;
}

CASE(what_was_added_is_there_until_it_is_removed)
{
    enum { MANY = 3000 };
    struct name_set set;
    char text[32];

    name_set_init(&set);
    assert_false(name_set_has(&set, "ns", "n1"));
    assert_false(name_set_remove(&set, "ns", "n1"));
    for (int i = 0; i < MANY; i++)
        name_set_add(&set, "ns", name_of(i, text));
    name_set_add(&set, "ns", "n1");
    assert_int_equal(set.count, MANY);
    for (int i = 0; i < MANY; i += 2)
        assert_true(name_set_remove(&set, "ns", name_of(i, text)));
    assert_int_equal(set.count, MANY / 2);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(name_set_has(&set, "ns", name_of(i, text)), i % 2);
    name_set_fini(&set);
    assert_false(name_set_has(&set, "ns", "n1"));
}

CASE(namespace_and_name_are_told_apart)
{
    struct name_set set;

    name_set_init(&set);
    name_set_add(&set, "a", "bc");
    name_set_add(&set, NULL, "cluster");
    assert_false(name_set_has(&set, "ab", "c"));
    assert_false(name_set_has(&set, "bc", "a"));
    assert_true(name_set_has(&set, "", "cluster"));
    assert_true(name_set_remove(&set, "a", "bc"));
    assert_int_equal(set.count, 1);
    name_set_fini(&set);
}
