#include <string.h>

#include "object/intstr.h"
#include "test/unit.h"

CASE(int_or_percent)
{
    struct json_object *value = NULL;
    static const struct {
        const char *percent;
        int total;
        bool up;
        int out;
    } cases[] = {
        {"25%", 4, true, 1},   {"25%", 4, false, 1},   {"25%", 5, true, 2},   {"25%", 5, false, 1},
        {"0%", 10, true, 0},   {"100%", 7, false, 7},  {"150%", 3, false, 4}, {"150%", 3, true, 5},
        {"-50%", 3, true, -1}, {"-50%", 3, false, -2}, {"1%", 1, true, 1},    {"1%", 1, false, 0},
    };
    int out = -1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        value = json_object_new_string(cases[i].percent);
        assert_int_equal(intstr_scaled(value, cases[i].total, cases[i].up, -1, &out, NULL), ERR_OK);
        assert_int_equal(out, cases[i].out);
        json_object_put(value);
    }
    assert_int_equal(intstr_scaled(NULL, 10, true, 42, &out, NULL), ERR_OK);
    assert_int_equal(out, 42);
    value = json_object_new_int(3);
    assert_int_equal(intstr_scaled(value, 10, true, 0, &out, NULL), ERR_OK);
    assert_int_equal(out, 3);
    json_object_put(value);
}

CASE(int_or_percent_refuses)
{
    struct json_object *cases[] = {
        json_object_new_string("25"),
        json_object_new_string("25%%"),
        json_object_new_string("%"),
        json_object_new_string("2.5%"),
        json_object_new_string(" 5%"),
        json_object_new_string("9999999999%"),
        json_object_new_string("999999999%"),
        json_object_new_double(1.5),
        json_object_new_boolean(1),
        json_object_new_array(),
        json_object_new_int64(INT64_C(3000000000)),
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int out = -1;
        struct errinfo ei = {0};
        assert_int_equal(intstr_scaled(cases[i], 1000000, true, 7, &out, &ei), ERR_INVALID);
        assert_true(strlen(ei.text) > 10);
        json_object_put(cases[i]);
    }
}
