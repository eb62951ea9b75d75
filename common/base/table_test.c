#include "base/table.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>

struct item {
    const char *first;
    char second[16];
    bool in;
};

static void key(const void *item, const char **first, const char **second)
{
    *first = ((const struct item *)item)->first;
    *second = ((const struct item *)item)->second;
}

CASE(pairs_are_told_apart)
{
    struct table table;
    struct item a = {.first = "x", .second = "yz"};
    struct item b = {.first = "xy", .second = "z"};
    struct item c = {.first = NULL, .second = "xyz"};
    struct item twin = {.first = "x", .second = "yz"};
    table_init(&table, key);
    assert_null(table_get(&table, "x", "yz"));
    assert_null(table_take(&table, "x", "yz"));
    assert_null(table_put(&table, &a));
    assert_null(table_put(&table, &b));
    assert_null(table_put(&table, &c));
    assert_ptr_equal(table_get(&table, "x", "yz"), &a);
    assert_ptr_equal(table_get(&table, "xy", "z"), &b);
    assert_ptr_equal(table_get(&table, NULL, "xyz"), &c);
    assert_ptr_equal(table_get(&table, "", "xyz"), &c);
    assert_ptr_equal(table_put(&table, &twin), &a);
    assert_int_equal(table.count, 3);
    assert_ptr_equal(table_take(&table, "x", "yz"), &twin);
    assert_null(table_get(&table, "x", "yz"));
    assert_int_equal(table.count, 2);
    table_fini(&table);
    assert_null(table_get(&table, "xy", "z"));
}

/* Random puts and takes, compared with a plain array. */
CASE(agrees_with_a_list)
{
    enum { ITEMS = 700, STEPS = 60000 };
    static struct item items[ITEMS];
    struct table table;
    size_t in = 0;

    table_init(&table, key);
    for (int i = 0; i < ITEMS; i++) {
        items[i].first = i % 2 ? "even" : "odd";
        snprintf(items[i].second, sizeof(items[i].second), "n%d", i);
    }
    srand(7);
    for (int step = 0; step < STEPS; step++) {
        struct item *item = &items[rand() % ITEMS];
        if (rand() % 2) {
            assert_ptr_equal(table_put(&table, item), item->in ? item : NULL);
            in += item->in ? 0 : 1;
            item->in = true;
        } else {
            assert_ptr_equal(table_take(&table, item->first, item->second), item->in ? item : NULL);
            in -= item->in ? 1 : 0;
            item->in = false;
        }
        assert_int_equal(table.count, in);
        if (step % 1000)
            continue;
        for (int i = 0; i < ITEMS; i++)
            assert_ptr_equal(table_get(&table, items[i].first, items[i].second),
                             items[i].in ? &items[i] : NULL);
        size_t seen = 0;
        for (size_t i = 0; table_next(&table, &i);)
            seen++;
        assert_int_equal(seen, in);
    }
    table_fini(&table);
}
