#include "object/cause.h"
#include "object/form.h"
#include "object/try.h"

CASE(test_text)
{
    struct causes causes = {.arena = arena};
    assert_string_equal(cause_text(&causes), "");
    cause_add(&causes, CAUSE_REQUIRED, "spec.targetRef", "Required value");
    assert_string_equal(cause_text(&causes), "spec.targetRef: Required value");
    cause_add_invalid(&causes, "spec.weight", try_json(arena, "101"), "at most %d", 100);
    assert_string_equal(cause_text(&causes), "[spec.targetRef: Required value, "
                                             "spec.weight: Invalid value: 101: at most 100]");
    cause_add(&causes, CAUSE_FORBIDDEN, NULL, "no");
    struct json_object *wanted = form(
        arena, "[{reason: FieldValueRequired, message: Required value, field: spec.targetRef}, "
               "{reason: FieldValueInvalid, message: 'Invalid value: 101: at most 100', "
               "field: spec.weight}, {reason: FieldValueForbidden, message: 'no'}]");
    assert_true(json_same(causes.list, wanted));
}

CASE(test_limits)
{
    struct causes causes = {.arena = arena};
    for (int i = 0; i < CAUSE_MAX + 7; i++)
        cause_add(&causes, CAUSE_REQUIRED, "f", "x");
    assert_int_equal(causes.count, CAUSE_MAX + 7);
    assert_int_equal(json_len(causes.list), CAUSE_MAX);
    assert_non_null(strstr(cause_text(&causes), ", and 7 more]"));

    char umlauts[1001] = {0};
    for (int i = 0; i < 1000; i += 2)
        memcpy(umlauts + i, "ä", 2);
    const char *cut = cause_value(arena, json_own(arena, json_object_new_string(umlauts)));
    assert_int_equal(strlen(cut), 255 + 3); /* a quote, 127 whole characters, three dots */
    assert_string_equal(cut + 253, "ä...");
}
