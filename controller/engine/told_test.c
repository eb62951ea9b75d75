/* The last events of this process: bounded, newest first, counted when they are told again. */
#include "engine/told.h"

#include <string.h>

#include "test/unit.h"

static const char *text_at(struct json_object *list, size_t i)
{
    return json_str_at(json_elem(list, i), "text", NULL);
}

CASE(events_are_told_newest_first_and_counted)
{
    struct told *told = told_new();

    told_add(told, "test", "a", "Normal", "begins", 1000);
    told_add(told, "test", "b", "Normal", "begins", 1500);
    told_add(told, "test", "a", "Warning", "waits", 2000);
    told_add(told, "test", "a", "Warning", "waits", 3000);
    struct json_object *list = told_list(told, arena, "test", "a");
    assert_int_equal(json_len(list), 2);
    assert_string_equal(text_at(list, 0), "waits");
    assert_int_equal(json_int_at(json_elem(list, 0), 0, "count", NULL), 2);
    assert_string_equal(json_str_at(json_elem(list, 0), "at", NULL), "1970-01-01T00:00:03Z");
    assert_string_equal(json_str_at(json_elem(list, 0), "type", NULL), "Warning");
    assert_string_equal(text_at(list, 1), "begins");
    assert_int_equal(json_len(told_list(told, arena, "other", "a")), 0);
    told_add(NULL, "test", "a", "Normal", "nobody listens", 1);
    told_free(told);
}

CASE(who_says_much_pushes_out_its_own)
{
    struct told *told = told_new();

    told_add(told, "test", "quiet", "Normal", "once", 1);
    for (int i = 0; i < 3 * TOLD_MAX; i++)
        told_add(told, "test", "loud", "Normal", arena_printf(arena, "step %d", i), i);
    struct json_object *list = told_list(told, arena, "test", "loud");
    assert_int_equal(json_len(list), TOLD_OF_ONE);
    assert_string_equal(text_at(list, 0), arena_printf(arena, "step %d", 3 * TOLD_MAX - 1));
    assert_int_equal(json_len(told_list(told, arena, "test", "quiet")), 1);
    for (int i = 0; i < TOLD_MAX; i++)
        told_add(told, "test", arena_printf(arena, "c%d", i), "Normal", "one of many", i);
    assert_int_equal(json_len(told_list(told, arena, "test", "quiet")), 0);
    told_free(told);
}

CASE(a_long_text_is_cut_between_characters)
{
    struct told *told = told_new();
    char text[2 * TOLD_TEXT + 1];

    for (size_t i = 0; i < sizeof(text) - 1; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    text[sizeof(text) - 1] = '\0';
    told_add(told, "test", "a", "Normal", text, 1);
    told_add(told, "test", "a", "Normal", text, 2);
    struct json_object *list = told_list(told, arena, "test", "a");
    assert_int_equal(json_len(list), 1);
    assert_int_equal(strlen(text_at(list, 0)), TOLD_TEXT);
    told_free(told);
}
