#include "engine/plans.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

CASE(the_last_plan_is_kept)
{
    struct plans *plans = plans_new();
    int64_t at = 0;

    assert_null(plans_find(plans, "ns", "a", &at));
    plans_keep(plans, "ns", "a", "status\n", 5);
    plans_keep(plans, "ns", "b", "event Normal\n", 6);
    plans_keep(plans, "ns", "a", "delete\n", 7);
    assert_string_equal(plans_find(plans, "ns", "a", &at), "delete\n");
    assert_int_equal(at, 7);
    assert_int_equal(plans_count(plans), 2);
    assert_int_equal(plans_bytes(plans), strlen("event Normal\ndelete\n"));
    plans_forget(plans, "ns", "a");
    plans_forget(plans, "ns", "a");
    assert_null(plans_find(plans, "ns", "a", &at));
    assert_int_equal(plans_count(plans), 1);
    plans_free(plans);
    plans_free(NULL);
}

CASE(memory_ends)
{
    struct plans *plans = plans_new();
    char name[32], text[2 * PLANS_TEXT];
    int64_t at = 0;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < PLANS_KEPT + 10; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        plans_keep(plans, "ns", name, text, i);
        plans_keep(plans, "ns", "busy", "again\n", i);
    }
    assert_int_equal(plans_count(plans), PLANS_KEPT);
    assert_int_equal(plans_bytes(plans), (PLANS_KEPT - 1) * PLANS_TEXT + strlen("again\n"));
    assert_null(plans_find(plans, "ns", "c10", &at));
    assert_non_null(plans_find(plans, "ns", "c11", &at));
    assert_string_equal(plans_find(plans, "ns", "busy", &at), "again\n");
    plans_free(plans);
}
