#include "proto/weight.h"

#include <string.h>

#include "base/yaml.h"
#include "test/rows.h"
#include "test/unit.h"

enum { MOST_BYTES = 64 * 1024 };

/* A number in a JSON or YAML document; NULL if it is not a number. */
static struct json_object *parsed(struct arena *arena, const char *text)
{
    struct json_object *value = NULL;
    struct errinfo ei;

    return json_parse(arena, text, strlen(text), MOST_BYTES, &value, &ei) == ERR_OK ? value : NULL;
}

CASE(test_each_hundredth_is_printed_and_read_back)
{
    for (int weight = 0; weight <= WEIGHT_ALL; weight++) {
        struct json_object *docs, *json = weight_json(arena, weight);
        const char *text = weight_text(arena, weight);
        struct errinfo ei;
        int64_t found = -1;
        assert_string_equal(json_text(arena, json), text);
        assert_true(weight_read(parsed(arena, text), WEIGHT_ALL, &found));
        assert_int_equal(found, weight);
        assert_int_equal(yaml_parse(arena, "weight", text, strlen(text), MOST_BYTES, &docs, &ei),
                         ERR_OK);
        assert_true(weight_read(json_elem(docs, 0), WEIGHT_ALL, &found));
        assert_int_equal(found, weight);
    }
}

CASE(test_texts)
{
    assert_string_equal(weight_text(arena, 0), "0");
    assert_string_equal(weight_text(arena, 1), "0.01");
    assert_string_equal(weight_text(arena, 50), "0.5");
    assert_string_equal(weight_text(arena, 105), "1.05");
    assert_string_equal(weight_text(arena, 1250), "12.5");
    assert_string_equal(weight_text(arena, 2000), "20");
    assert_string_equal(weight_text(arena, WEIGHT_ALL), "100");
}

CASE(test_what_is_no_weight)
{
    static const char *const texts[] = {"0.001", "0.505", "100.01", "101",   "-1",    "-0.5",
                                        "1e300", "\"1\"", "true",   "[0.5]", "1e-300"};
    int64_t found;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (weight_read(parsed(arena, texts[i]), WEIGHT_ALL, &found))
            fail_msg("%s is read as %lld hundredths", texts[i], (long long)found);
    assert_false(weight_read(NULL, WEIGHT_ALL, &found));
    assert_true(weight_read(parsed(arena, "2.5e-1"), WEIGHT_ALL, &found));
    assert_int_equal(found, 25);
    assert_true(weight_read(parsed(arena, "10.0"), WEIGHT_ALL, &found));
    assert_int_equal(found, 1000);
}

CASE(test_whole_percents_are_rounded_up_to_neither_nothing_nor_everything)
{
    static const struct {
        int weight, percent;
    } rows[] = {{0, 0},     {1, 1},     {50, 1},    {100, 1},   {101, 2},     {9800, 98},
                {9801, 99}, {9900, 99}, {9901, 99}, {9999, 99}, {10000, 100}, {1250, 13}};

    EACH_ROW (row, rows)
        assert_int_equal(weight_percent(row->weight), row->percent);
}

CASE(test_both_sides_have_one_total_that_is_exact)
{
    for (int weight = 0; weight <= WEIGHT_ALL; weight++) {
        int64_t canary = weight_relative(weight), primary = weight_relative(WEIGHT_ALL - weight);
        int64_t total = canary + primary;
        assert_true(total == 100 || total == 1000 || total == WEIGHT_ALL);
        assert_true(total == 100 || weight % WEIGHT_PERCENT != 0);
        assert_int_equal(weight_of_total(canary, total), weight);
    }
    assert_int_equal(weight_relative(50), 5);
    assert_int_equal(weight_relative(WEIGHT_ALL - 50), 995);
}

CASE(test_a_share_of_another_total)
{
    static const struct {
        int64_t part, total;
        int weight;
    } rows[] = {{0, 3, 0},     {1, 3, 3333}, {2, 3, 6667},      {1, 200, 50},
                {3, 3, 10000}, {0, 0, 0},    {1, 1000000, 1},   {999999, 1000000, 9999},
                {5, 0, 0},     {-1, 100, 0}, {120, 100, 10000}, {1, 32, 313}};

    EACH_ROW (row, rows)
        assert_int_equal(weight_of_total(row->part, row->total), row->weight);
}

CASE(test_rounded_to_what_a_mesh_can_say)
{
    assert_int_equal(weight_rounded(3333, WEIGHT_PERCENT), 3300);
    assert_int_equal(weight_rounded(3350, WEIGHT_PERCENT), 3400);
    assert_int_equal(weight_rounded(20, WEIGHT_PERCENT), 100);
    assert_int_equal(weight_rounded(9990, WEIGHT_PERCENT), 9900);
    assert_int_equal(weight_rounded(0, WEIGHT_PERCENT), 0);
    assert_int_equal(weight_rounded(WEIGHT_ALL, WEIGHT_PERCENT), WEIGHT_ALL);
    assert_int_equal(weight_rounded(57, 1), 57);
}

/* Each share is read as it was written, whatever the previous status; whole percentages leave no
 * trace. */
CASE(test_a_status_has_the_share)
{
    struct json_object *before = json_own(arena, json_object_new_object());

    for (int weight = 0; weight <= WEIGHT_ALL; weight++) {
        struct json_object *patch = json_own(arena, json_object_new_object());
        weight_to_status(arena, patch, before, weight);
        before = json_merge(arena, before, patch);
        assert_int_equal(weight_of_status(before), weight);
        assert_int_equal(json_int_at(before, -1, "canaryWeight", NULL), weight_percent(weight));
        assert_int_equal(json_at(before, "canaryShare", NULL) != NULL,
                         weight % WEIGHT_PERCENT != 0);
    }
}

/* Flagger writes only the integer, and users write anything. */
CASE(test_the_share_of_another_writer_does_not_count)
{
    static const struct {
        const char *status;
        int weight;
    } rows[] = {
        {"{\"canaryWeight\": 1, \"canaryShare\": \"0.5\"}", 50},
        {"{\"canaryWeight\": 10, \"canaryShare\": \"0.5\"}", 1000},
        {"{\"canaryWeight\": 0, \"canaryShare\": \"0.5\"}", 0},
        {"{\"canaryWeight\": 1, \"canaryShare\": \"0.505\"}", 100},
        {"{\"canaryWeight\": 1, \"canaryShare\": \"half\"}", 100},
        {"{\"canaryWeight\": 1, \"canaryShare\": \"0.5 \"}", 100},
        {"{\"canaryWeight\": 1, \"canaryShare\": 0.5}", 100},
        {"{\"canaryWeight\": 1, \"canaryShare\": \"0x1p-1\"}", 100},
        {"{\"canaryWeight\": -3}", 0},
        {"{\"canaryWeight\": 300}", WEIGHT_ALL},
        {"{}", 0},
    };

    EACH_ROW (row, rows)
        assert_int_equal(weight_of_status(parsed(arena, row->status)), row->weight);
    assert_int_equal(weight_of_status(NULL), 0);
}
