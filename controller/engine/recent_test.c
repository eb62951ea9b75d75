/* Recent events and plans: bounded, newest first, repeated ones counted. */
#include <stdio.h>
#include <string.h>

#include "engine/recent.h"
#include "test/unit.h"

static const char *text_at(struct json_object *list, size_t i)
{
    return json_str_at(json_elem(list, i), "text", NULL);
}

CASE(events_are_told_newest_first_and_counted)
{
    struct recent_events *told = recent_events_new();

    recent_events_add(told, "test", "a", "Normal", "begins", 1000);
    recent_events_add(told, "test", "b", "Normal", "begins", 1500);
    recent_events_add(told, "test", "a", "Warning", "waits", 2000);
    recent_events_add(told, "test", "a", "Warning", "waits", 3000);
    struct json_object *list = recent_events_list(told, arena, "test", "a");
    assert_int_equal(json_len(list), 2);
    assert_string_equal(text_at(list, 0), "waits");
    assert_int_equal(json_int_at(json_elem(list, 0), 0, "count", NULL), 2);
    assert_string_equal(json_str_at(json_elem(list, 0), "at", NULL), "1970-01-01T00:00:03Z");
    assert_string_equal(json_str_at(json_elem(list, 0), "type", NULL), "Warning");
    assert_string_equal(text_at(list, 1), "begins");
    assert_int_equal(json_len(recent_events_list(told, arena, "other", "a")), 0);
    recent_events_add(NULL, "test", "a", "Normal", "nobody listens", 1);
    recent_events_free(told);
}

CASE(who_says_much_pushes_out_its_own)
{
    struct recent_events *told = recent_events_new();

    recent_events_add(told, "test", "quiet", "Normal", "once", 1);
    for (int i = 0; i < 3 * RECENT_EVENTS_MAX; i++)
        recent_events_add(told, "test", "loud", "Normal", arena_printf(arena, "step %d", i), i);
    struct json_object *list = recent_events_list(told, arena, "test", "loud");
    assert_int_equal(json_len(list), RECENT_EVENTS_PER_CANARY);
    assert_string_equal(text_at(list, 0),
                        arena_printf(arena, "step %d", 3 * RECENT_EVENTS_MAX - 1));
    assert_int_equal(json_len(recent_events_list(told, arena, "test", "quiet")), 1);
    for (int i = 0; i < RECENT_EVENTS_MAX; i++)
        recent_events_add(told, "test", arena_printf(arena, "c%d", i), "Normal", "one of many", i);
    assert_int_equal(json_len(recent_events_list(told, arena, "test", "quiet")), 0);
    recent_events_free(told);
}

CASE(a_long_text_is_cut_between_characters)
{
    struct recent_events *told = recent_events_new();
    char text[2 * RECENT_EVENTS_TEXT + 1];

    for (size_t i = 0; i < sizeof(text) - 1; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    text[sizeof(text) - 1] = '\0';
    recent_events_add(told, "test", "a", "Normal", text, 1);
    recent_events_add(told, "test", "a", "Normal", text, 2);
    struct json_object *list = recent_events_list(told, arena, "test", "a");
    assert_int_equal(json_len(list), 1);
    assert_int_equal(strlen(text_at(list, 0)), RECENT_EVENTS_TEXT);
    recent_events_free(told);
}

CASE(the_last_plan_is_kept)
{
    struct recent_plans *plans = recent_plans_new();
    int64_t at = 0;

    assert_null(recent_plans_find(plans, "ns", "a", &at));
    recent_plans_put(plans, "ns", "a", "status\n", 5);
    recent_plans_put(plans, "ns", "b", "event Normal\n", 6);
    recent_plans_put(plans, "ns", "a", "delete\n", 7);
    assert_string_equal(recent_plans_find(plans, "ns", "a", &at), "delete\n");
    assert_int_equal(at, 7);
    assert_int_equal(recent_plans_count(plans), 2);
    assert_int_equal(recent_plans_bytes(plans), strlen("event Normal\ndelete\n"));
    recent_plans_forget(plans, "ns", "a");
    recent_plans_forget(plans, "ns", "a");
    assert_null(recent_plans_find(plans, "ns", "a", &at));
    assert_int_equal(recent_plans_count(plans), 1);
    recent_plans_free(plans);
    recent_plans_free(NULL);
}

CASE(memory_ends)
{
    struct recent_plans *plans = recent_plans_new();
    char name[32], text[2 * RECENT_PLANS_TEXT];
    int64_t at = 0;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < RECENT_PLANS_MAX + 10; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        recent_plans_put(plans, "ns", name, text, i);
        recent_plans_put(plans, "ns", "busy", "again\n", i);
    }
    assert_int_equal(recent_plans_count(plans), RECENT_PLANS_MAX);
    assert_int_equal(recent_plans_bytes(plans),
                     (RECENT_PLANS_MAX - 1) * RECENT_PLANS_TEXT + strlen("again\n"));
    assert_null(recent_plans_find(plans, "ns", "c10", &at));
    assert_non_null(recent_plans_find(plans, "ns", "c11", &at));
    assert_string_equal(recent_plans_find(plans, "ns", "busy", &at), "again\n");
    recent_plans_free(plans);
}
