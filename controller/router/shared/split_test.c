#include "router/shared/route.h"

#include "tick/fixture_test.h"

static const struct split_format of_list = {
    .rules = {"spec", "http"}, .backends = {"route"}, .name = {"to", "host"}, .missing = 1};
static const struct split_format of_one = {
    .rules = {"spec"}, .backends = {"services"}, .name = {"name"}, .may_leave_out = true};
static const struct split_format of_either = {.rules = {"spec"},
                                              .backends = {"services"},
                                              .name = {"name"},
                                              .may_leave_out = true,
                                              .leaves_either = true};
static const struct split_sides sides = {"a-primary", "a-canary"};

#define TO(name, weight) "{'to':{'host':'a-" name "'},'weight':" weight "}"
#define RULE(backends)   "{'route':[" backends "]}"
#define BOTH(p, c)       RULE(TO("primary", p) "," TO("canary", c))
#define LONE(p, c)       "{'name':'a-primary','weight':" p "},{'name':'a-canary','weight':" c "}"

CASE(test_weights)
{
    static const struct {
        const struct split_format *format;
        const char *spec;
        int canary;
        bool found, rest;
    } cases[] = {
        {&of_list, "{}", 0, false, false},
        {&of_list, "{'http':7}", 0, false, false},
        {&of_list, "{'http':[" BOTH("80", "20") "]}", 2000, true, false},
        {&of_list, "{'http':[" BOTH("1", "2") "]}", 6667, true, false},
        {&of_list, "{'http':[" BOTH("0", "0") "]}", 0, true, false},
        {&of_list, "{'http':[" BOTH("-1", "2") "]}", 0, true, false},
        {&of_list, "{'http':[" BOTH("1", "2000000000000") "]}", 0, true, false},
        {&of_list, "{'http':[" BOTH("'80'", "'20'") "]}", 2000, true, false},
        {&of_list, "{'http':[" BOTH("'x'", "'20'") "]}", 0, true, false},
        /* cookies come before the split, and all other requests after it */
        {&of_list, "{'http':[" BOTH("0", "100") "," BOTH("60", "40") "]}", 4000, true, false},
        {&of_list, "{'http':[" BOTH("60", "40") "," RULE(TO("primary", "100")) "]}", 4000, true,
         true},
        {&of_list, "{'http':[" RULE(TO("primary", "100")) "]}", 0, false, false},
        /* a backend without a weight */
        {&of_list, "{'http':[{'route':[{'to':{'host':'a-primary'}}," TO("canary", "3") "]}]}", 7500,
         true, false},
        {&of_one, "{'services':[" LONE("70", "30") "]}", 3000, true, false},
        {&of_one, "{'services':[{'name':'a-primary','weight':100}]}", 0, true, false},
        {&of_one, "{'services':[{'name':'other','weight':100}]}", 0, false, false},
        {&of_one, "{'services':[{'name':'a-canary','weight':100}]}", 0, false, false},
        {&of_either, "{'services':[{'name':'a-canary','weight':100}]}", WEIGHT_ALL, true, false},
        {&of_either, "{'services':[{'name':'a-primary','weight':100}]}", 0, true, false},
        {&of_either, "{'services':[{'name':'a-canary','weight':0}]}", 0, true, false},
    };

    EACH_ROW (row, cases) {
        struct json_object *route = json_own(arena, json_object_new_object());
        struct weights weights = {0};
        json_set(route, "spec", fixture_json(arena, row->spec));
        struct split split = split_find(row->format, &sides, route);
        split_weights(row->format, &split, &weights);
        assert_int_equal(split.split != NULL, row->found);
        assert_int_equal(split.rest != NULL, row->rest);
        assert_int_equal(weights.canary, row->canary);
        assert_int_equal(weights.primary, WEIGHT_ALL - weights.canary);
    }
}

CASE(test_names_with_a_port)
{
    static const struct split_sides by_port = {"a-primary-*", "a-canary-*"};
    struct json_object *route =
        fixture_json(arena, "{'spec':{'http':[" BOTH("80", "20") "," RULE(
                                TO("primary-80", "70") "," TO("canary-81", "30")) "]}}");
    struct split split = split_find(&of_list, &by_port, route);

    assert_ptr_equal(split.split, json_elem(json_at(route, "spec", "http", NULL), 1));
    assert_ptr_equal(split_backend(&of_list, split.split, "a-canary-81"), split.canary);
    assert_null(split_backend(&of_list, split.split, "a-canary-8"));
    assert_true(split_is_name("*", ""));
    assert_false(split_is_name("", "a"));
}

CASE(test_sticky)
{
    struct json_object *route = fixture_json(arena, "{'spec':{'http':[" BOTH("0", "100") "," BOTH(
                                                        "100", "0") "," BOTH("60", "40") "]}}");
    struct json_object *rules = json_at(route, "spec", "http", NULL);
    struct split split = split_find(&of_list, &sides, route);

    assert_ptr_equal(split.sticky[0], json_elem(rules, 0));
    assert_ptr_equal(split.sticky[1], json_elem(rules, 1));
    assert_ptr_equal(split.split, json_elem(rules, 2));
    assert_ptr_equal(split_backend(&of_list, split.split, "a-canary"), split.canary);
    assert_null(split_backend(&of_list, split.split, "other"));
}
