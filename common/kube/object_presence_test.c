#include "kube/kept_object.h"

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
    struct object_presence set;
    char text[32];

    object_presence_init(&set);
    assert_false(object_presence_has(&set, "ns", "n1"));
    assert_false(object_presence_remove(&set, "ns", "n1"));
    for (int i = 0; i < MANY; i++)
        object_presence_add(&set, "ns", name_of(i, text));
    object_presence_add(&set, "ns", "n1");
    assert_int_equal(set.count, MANY);
    for (int i = 0; i < MANY; i += 2)
        assert_true(object_presence_remove(&set, "ns", name_of(i, text)));
    assert_int_equal(set.count, MANY / 2);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(object_presence_has(&set, "ns", name_of(i, text)), i % 2);
    object_presence_fini(&set);
    assert_false(object_presence_has(&set, "ns", "n1"));
}

CASE(namespace_and_name_are_told_apart)
{
    struct object_presence set;

    object_presence_init(&set);
    object_presence_add(&set, "a", "bc");
    object_presence_add(&set, NULL, "cluster");
    assert_false(object_presence_has(&set, "ab", "c"));
    assert_false(object_presence_has(&set, "bc", "a"));
    assert_true(object_presence_has(&set, "", "cluster"));
    assert_true(object_presence_remove(&set, "a", "bc"));
    assert_int_equal(set.count, 1);
    object_presence_fini(&set);
}
